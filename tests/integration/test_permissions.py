"""Missing rights are named before they are missed, and when they are missed."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.commits import commit_offsets, delete_offsets
from ansible_collections.streamshift.kafka.plugins.module_utils._control.configs import (
    alter_topic_configs,
    broker_number,
    topic_configs,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._control.groups import list_groups, read_groups
from ansible_collections.streamshift.kafka.plugins.module_utils._control.permissions import (
    missing_acls,
    sees_every_topic,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._control.positions import epoch_ends, partition_bounds
from ansible_collections.streamshift.kafka.plugins.module_utils._control.storage import (
    log_sizes,
    partition_replicas,
    usable_bytes,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._control.topic_changes import (
    create_topics,
    try_creation,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._control.topics import topic_settings
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import NotAuthorized
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.new_topics import NewTopic
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._records.group_members import assigned_unseen
from ansible_collections.streamshift.kafka.plugins.module_utils._records.range_reader import read_ranges
from testbed.clients import Message, commit, create_topic, produce, until
from tests.support.consumers import member


@pytest.fixture
def migrator(secured):
    return connection_from(secured.connection_as("migrator"), "source cluster")


def everything(group, topic):
    return {
        "reads_groups": [group],
        "commits_groups": [group],
        "deletes_groups": [group],
        "reads_topics": [topic],
        "commits_topics": [topic],
    }


def test_each_missing_acl_is_named_until_it_is_granted(secured, migrator, topic, granted):
    create_topic(secured, topic)
    needed = [
        *(f"GROUP {operation} on {topic}" for operation in ("DELETE", "DESCRIBE", "READ")),
        *(f"TOPIC {operation} on {topic}" for operation in ("DESCRIBE_CONFIGS", "READ")),
    ]
    assert missing_acls(migrator, **everything(topic, topic)) == needed
    for right in (f"GROUP DESCRIBE on {topic}", f"TOPIC READ on {topic}", f"GROUP READ on {topic}"):
        granted(right)
        needed.remove(right)
        until(lambda: missing_acls(migrator, **everything(topic, topic)) == needed)
    granted(*needed)
    until(lambda: missing_acls(migrator, **everything(topic, topic)) == [])


def test_an_acl_that_is_there_is_not_named_where_the_topic_may_not_be_described(secured, migrator, topic, granted):
    create_topic(secured, topic)
    granted(f"TOPIC DESCRIBE_CONFIGS on {topic}")
    until(lambda: missing_acls(migrator, reads_topics=[topic]) == [f"TOPIC READ on {topic}"])


def test_who_may_do_everything_misses_nothing_and_sees_every_topic(secured, migrator, source, old, topic):
    """Also of a topic that does not exist."""
    for cluster in (secured, source, old):
        create_topic(cluster, topic)
        connection = connection_from(cluster.connection)
        names = [topic, f"{topic}-none"]
        wanted = everything(topic, topic) | {"reads_topics": names, "commits_topics": names, "writes_topics": names}
        assert missing_acls(connection, **wanted, transactional_ids=[topic]) == []
        assert sees_every_topic(connection)
    assert not sees_every_topic(migrator)


def test_each_acl_that_writing_misses_is_named_until_it_is_granted(secured, migrator, topic, granted):
    create_topic(secured, topic)
    needs = {"writes_topics": [topic], "transactional_ids": [f"{topic}-a", f"{topic}-b"]}
    needed = [
        *(f"TOPIC {operation} on {topic}" for operation in ("ALTER_CONFIGS", "DESCRIBE_CONFIGS", "READ", "WRITE")),
        *(f"TRANSACTIONAL_ID WRITE on {topic}-{each}" for each in "ab"),
    ]
    assert missing_acls(migrator, **needs) == needed
    for right in (f"TOPIC WRITE on {topic}", f"TRANSACTIONAL_ID WRITE on {topic}-a", f"TOPIC READ on {topic}"):
        granted(right)
        needed.remove(right)
        until(lambda: missing_acls(migrator, **needs) == needed)
    granted(f"TOPIC ALTER_CONFIGS on {topic}", f"TRANSACTIONAL_ID WRITE on {topic}-b")  # to alter implies to describe
    until(lambda: missing_acls(migrator, **needs) == [])


def test_rights_on_a_kip_848_group_are_told_as_well(secured, migrator, topic, granted):
    create_topic(secured, topic)
    produce(secured, topic, [Message(b"one")])
    with member(secured, topic, [topic], protocol="consumer"):
        granted(f"GROUP DESCRIBE on {topic}")
        until(
            lambda: missing_acls(migrator, reads_groups=[topic], commits_groups=[topic]) == [f"GROUP READ on {topic}"]
        )


def test_that_a_kip_848_group_consumes_what_may_not_be_described_is_told(
    secured, migrator, source, old, topic, granted
):
    create_topic(secured, topic)
    granted(f"GROUP DESCRIBE on {topic}", f"GROUP DESCRIBE on {topic}-none")
    with member(secured, topic, [topic], protocol="consumer", commits=False):
        until(lambda: assigned_unseen(migrator, [topic, f"{topic}-none"]) == [topic], 30)
        granted(f"TOPIC DESCRIBE on {topic}")
        until(lambda: assigned_unseen(migrator, [topic, f"{topic}-none"]) == [])
    for cluster in (source, old):  # where everybody may do everything, and where there are no such groups
        assert assigned_unseen(connection_from(cluster.connection), [topic]) == []


def test_a_denied_group_is_named(secured, migrator, topic, granted):
    create_topic(secured, topic)
    for group in (f"{topic}-a", f"{topic}-b", f"{topic}-c"):
        commit(secured, group, {(topic, 0): 0})
    granted(f"GROUP DESCRIBE on {topic}-b", f"TOPIC DESCRIBE on {topic}")
    # Other tests have let this user see other groups.
    until(lambda: [row.group for row in list_groups(migrator) if topic in row.group] == [f"{topic}-b"])
    with pytest.raises(NotAuthorized, match=f"needs ACL GROUP DESCRIBE on {topic}-a, {topic}-c"):
        read_groups(migrator, [f"{topic}-a", f"{topic}-b", f"{topic}-c"])
    assert read_groups(migrator, [f"{topic}-b"])[f"{topic}-b"].offsets == {TopicPartition(topic, 0): CommittedOffset(0)}


def test_a_denied_topic_is_named(secured, migrator, topic, granted):
    create_topic(secured, topic)
    produce(secured, topic, [Message(b"one")])
    where = TopicPartition(topic, 0)
    with pytest.raises(NotAuthorized, match=f"needs ACL TOPIC DESCRIBE on {topic}"):
        partition_bounds(migrator, [where])
    with pytest.raises(NotAuthorized, match=f"needs ACL TOPIC DESCRIBE_CONFIGS on {topic}"):
        topic_settings(migrator, [topic])
    granted(f"TOPIC DESCRIBE on {topic}")
    until(lambda: missing_acls(migrator, reads_topics=[topic]) != [])
    with pytest.raises(NotAuthorized, match=f"needs ACL TOPIC READ on {topic}"):
        read_ranges(migrator, {where: [(0, 1)]})
    granted(f"TOPIC READ on {topic}")
    until(lambda: missing_acls(migrator, commits_topics=[topic]) == [])
    assert len(read_ranges(migrator, {where: [(0, 1)]})[where][0].records) == 1


def test_every_topic_that_may_not_be_made_or_changed_is_named(secured, migrator, topic, granted):
    first, second = f"{topic}-a", f"{topic}-b"
    new = dict.fromkeys([first, second], NewTopic(1, 1, {}))
    with pytest.raises(NotAuthorized, match=f"needs ACL TOPIC CREATE on {first}, {second}"):
        create_topics(migrator, new)
    assert {each.error for each in try_creation(migrator, new).refusals.values()} == {"TOPIC_AUTHORIZATION_FAILED"}
    granted(f"TOPIC CREATE on {first}", f"TOPIC DESCRIBE on {first}")
    until(lambda: missing_acls(migrator, writes_topics=[first]) == [])  # it may be known not to exist
    create_topics(migrator, {first: new[first]})
    create_topic(secured, second)
    with pytest.raises(NotAuthorized, match=f"needs ACL TOPIC DESCRIBE_CONFIGS on {first}, {second}"):
        topic_configs(migrator, [first, second])
    changes = {name: {"retention.ms": "1000"} for name in (first, second)}
    with pytest.raises(NotAuthorized, match=f"needs ACL TOPIC ALTER_CONFIGS on {first}, {second}"):
        alter_topic_configs(migrator, changes)
    granted(f"TOPIC ALTER_CONFIGS on {first}")
    until(lambda: "ALTER_CONFIGS" not in str(missing_acls(migrator, writes_topics=[first])))
    with pytest.raises(NotAuthorized, match=rf"needs ACL TOPIC ALTER_CONFIGS on {second}\. "):
        alter_topic_configs(migrator, changes)
    assert topic_configs(migrator, [first])[first].own == {"retention.ms": "1000"}


def test_sizes_and_room_are_told_only_to_who_may_describe_the_cluster(secured, migrator, topic):
    create_topic(secured, topic)
    where = TopicPartition(topic, 0)
    assert log_sizes(migrator, [where]) is usable_bytes(migrator) is None
    with pytest.raises(NotAuthorized, match=f"needs ACL TOPIC DESCRIBE on {topic}"):
        partition_replicas(migrator, [topic])
    assert broker_number(migrator, "offset.metadata.max.bytes") is None
    admin = connection_from(secured.connection)
    assert broker_number(admin, "offset.metadata.max.bytes") == 4096
    assert log_sizes(admin, [where]) == {where: 0} and usable_bytes(admin)


def test_who_may_describe_a_topic_is_told_where_leader_epochs_end(secured, migrator, topic, granted):
    create_topic(secured, topic)
    produce(secured, topic, [Message(b"x")])
    granted(f"TOPIC DESCRIBE on {topic}")
    where = TopicPartition(topic, 0)
    until(lambda: epoch_ends(migrator, {(where, 0)}) == {(where, 0): 1})


def test_a_denied_commit_names_the_acl_and_touches_no_other(secured, migrator, topic, granted):
    denied = f"{topic}-denied"
    for name in (topic, denied):
        create_topic(secured, name)
    here, there = TopicPartition(topic, 0), TopicPartition(denied, 0)
    granted(f"GROUP DESCRIBE on {denied}", f"GROUP READ on {topic}", f"TOPIC READ on {topic}")
    until(lambda: missing_acls(migrator, commits_groups=[topic], reads_groups=[denied], commits_topics=[topic]) == [])
    wanted = {here: CommittedOffset(3), there: CommittedOffset(4)}
    assert commit_offsets(migrator, {topic: wanted, denied: {here: CommittedOffset(5)}}) == {
        topic: {there: f"TOPIC_AUTHORIZATION_FAILED: needs ACL TOPIC READ on {denied}"},
        denied: {here: f"GROUP_AUTHORIZATION_FAILED: needs ACL GROUP READ on {denied}"},
    }
    reading = read_groups(migrator, [topic, denied])
    assert (reading[topic].offsets, reading[denied].exists) == ({here: CommittedOffset(3)}, False)
    assert delete_offsets(migrator, {topic: [here]}) == {
        topic: {here: f"GROUP_AUTHORIZATION_FAILED: needs ACL GROUP DELETE on {topic}"}
    }
