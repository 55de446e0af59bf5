"""A broker that deletes old commits leaves the progress that a running copy renews."""

from ansible_collections.streamshift.kafka.plugins.module_utils._control.admin_client import Request, exchange
from ansible_collections.streamshift.kafka.plugins.module_utils._control.attempts import attempt
from ansible_collections.streamshift.kafka.plugins.module_utils._control.commits import delete_offsets
from ansible_collections.streamshift.kafka.plugins.module_utils._control.configs import broker_number
from ansible_collections.streamshift.kafka.plugins.module_utils._control.coordinators import find_coordinators
from ansible_collections.streamshift.kafka.plugins.module_utils._control.groups import read_groups
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog import copy_state
from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import Backlog, BacklogRange
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.copy_progress import (
    Progress,
    Run,
    all_groups,
    progress_commits,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from testbed.clients import create_topic, until

KEPT_SECONDS = 15.0  # the first renewal comes after a quarter of it, and must come in time on a busy machine
MINE, OTHER = Run("mine", "here", 1, 1), Run("other", "there", 2, 2)


def test_what_is_renewed_is_kept_and_the_rest_goes(own_cluster):
    cluster = own_cluster("forgetful", settings={"offsets.retention.check.interval.ms": 500})
    connection = connection_from(cluster.plaintext, "destination cluster")
    assert broker_number(connection, "offsets.retention.minutes") == 7 * 24 * 60
    create_topic(cluster, "orders", 2)
    mine, others = (
        BacklogRange(TopicPartition("orders", at), 0, 100, TopicPartition("orders", at), 0) for at in range(2)
    )
    backlog = Backlog("streamshift-copy-1", "a", "b", "c", (), (mine, others))
    (name,) = all_groups(backlog)
    progress = {
        mine.destination: Progress(100, 99, end=100, run=MINE),
        others.destination: Progress(100, 99, end=100, run=OTHER),
    }
    (commits,) = progress_commits(backlog.ranges, progress, 1)
    commit_for(connection, name, dict(commits), KEPT_SECONDS)

    def left():
        return read_groups(connection, [name])[name].offsets

    with copy_state.renewed(backlog, connection, KEPT_SECONDS, MINE):
        until(lambda: len(left()) < 2, 10 * KEPT_SECONDS, "the broker deletes nothing")
        known = left()
    assert known == {mine.destination: dict(commits)[mine.destination]}
    # A rollback relies on it: a group without any offsets goes, too.
    assert delete_offsets(connection, {name: list(known)}) == {name: {}}
    gone = "the broker keeps a group without offsets"
    until(lambda: not read_groups(connection, [name])[name].exists, 10 * KEPT_SECONDS, gone)


def commit_for(connection, group, commits, seconds):
    """As old clients commit: with the time after which the broker deletes it."""
    its = [
        {
            "partition_index": where.partition,
            "committed_offset": commit.offset,
            "committed_metadata": commit.metadata,
        }
        for where, commit in commits.items()
    ]
    fields = {
        "group_id": group,
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "retention_time_ms": int(seconds * 1000),
        "topics": [{"name": "orders", "partitions": its}],
    }

    def send(client):
        node, _code = find_coordinators(client, [group])[group]
        return exchange(client, [Request("OffsetCommit", fields, node, lowest=2, highest=4)])[0]

    def accepted():
        codes = {each.error_code for topic in attempt(connection, send).topics for each in topic.partitions}
        assert codes <= {0, 14, 15, 16}, codes  # the coordinator may not be ready, or was not found yet
        return codes == {0}

    until(accepted, 30)
