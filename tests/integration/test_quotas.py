"""Under quotas of the destination, everything is slow and nothing is impossible."""

import os
import time

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import commits, groups, positions
from ansible_collections.streamshift.kafka.plugins.module_utils._control.admin_client import Request, exchange
from ansible_collections.streamshift.kafka.plugins.module_utils._control.attempts import attempt
from ansible_collections.streamshift.kafka.plugins.module_utils._control.topic_changes import (
    add_partitions,
    create_topics,
    try_creation,
    try_partitions,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._control.topics import describe_topics
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog import copy_state
from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import Backlog, BacklogRange
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.copy_progress import (
    Progress,
    Run,
    progress_groups,
    transactional_number,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.new_topics import NewTopic
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._records import claiming, record_copy, transactions
from ansible_collections.streamshift.kafka.plugins.module_utils._records.jobs import Job
from testbed.clients import Message, commit, create_topic, produce, read
from testbed.sandbox import start, stop
from tests.support.clusters import KafkaCluster
from tests.support.modules import Migration, refuses

RECORDS = 12_000  # of 1 kB


@pytest.fixture(scope="module")
def limited(tmp_path_factory):
    """A destination; calling what this gives sets a quota for all clients."""
    windows = {"quota.window.num": 2, "controller.quota.window.num": 2}  # the burst that a quota lets pass: two seconds
    folder = tmp_path_factory.mktemp("limited")
    cluster = KafkaCluster(start("limited", folder, settings=windows))

    def limit(name, rate):
        every_client = {"entity_type": "client-id", "entity_name": None}
        operation = {"key": name, "value": rate, "remove": False}
        entries = [{"entity": [every_client], "ops": [operation]}]
        request = Request("AlterClientQuotas", {"entries": entries, "validate_only": False})
        (answer,) = attempt(
            connection_from(cluster.connection, "destination cluster"), lambda client: exchange(client, [request])
        )
        assert [each.error_code for each in answer.entries] == [0]

    yield cluster, limit
    stop("limited", folder)


def copy(source, destination, topic, records, say):
    """Copy the whole of a topic with one partition, in this process. -> the end of its log then. say: told how far it is."""
    its, where = connection_from(destination.connection, "destination cluster"), TopicPartition(topic, 0)
    ranges = [BacklogRange(where, 0, records, where, 0, (0, records // 2))]
    run, groups = Run("a", "b", 1, 1), tuple(progress_groups(topic, ranges))
    claimed = claiming.Claimed({where: Progress(0)}, True)
    claiming.claim(its, topic, groups, ranges, run, lambda _known: claimed)
    job = Job(topic, transactional_number(where), tuple(ranges), run, groups, {}, {topic: 1_000_000}, {topic: 1 << 30})
    backlog = Backlog(topic, "here", "there", "now", (), tuple(ranges))
    with copy_state.telling_progress(backlog, its, say):
        record_copy.copy_jobs(connection_from(source.connection, "source cluster"), its, [job])
    return positions.partition_bounds(its, [where])[where].high_watermark


def test_a_copy_of_more_than_a_quota_lets_pass_in_one_transaction(source, limited, topic, monkeypatch):
    destination, limit = limited
    for cluster in (source, destination):
        create_topic(cluster, topic)
    produce(source, topic, [Message(os.urandom(1000)) for _number in range(RECORDS)])
    monkeypatch.setitem(transactions._SETTINGS, "transaction.timeout.ms", 8000)
    monkeypatch.setattr(transactions, "_WAIT_SECONDS", 8.0)
    limit("producer_byte_rate", 1_000_000.0)
    begun = time.monotonic()
    said = []
    end = copy(source, destination, topic, RECORDS, said.append)
    assert any(
        "a quota (producer_byte_rate or request_percentage) makes the copy wait, up to " in line for line in said
    ), said
    assert time.monotonic() > begun + 8
    assert [each.value for each in read(destination, topic)] == [each.value for each in read(source, topic)]
    assert end < RECORDS * 1.2  # transaction markers, and nothing that was aborted


def test_a_consumer_quota_that_lets_no_batch_pass_is_named_and_a_larger_one_costs_only_time(
    source, limited, topic, tmp_path
):
    """Brokers send no part of a batch, and none that is more than the quota lets pass in its window of two seconds."""
    destination, limit = limited
    records = [Message(os.urandom(1000), b"%d" % number) for number in range(1500)]
    in_batches = {"linger_ms": 500, "batch_num_messages": 900, "batch_size": 950_000}
    for cluster in (source, destination):
        create_topic(cluster, topic)
    produce(destination, topic, [Message(b"of nobody")])
    for cluster in (source, destination):
        produce(cluster, topic, records, **in_batches)
    commit(source, topic, {(topic, 0): 1200})
    migration = Migration(tmp_path, source, destination)
    migration.snapshot(topic)
    try:
        limit("consumer_byte_rate", 100_000.0)
        said = migration.translate(refuses, destination={**destination.connection, "request_timeout": 5})
        assert said.startswith("destination cluster ") and f"topic {topic}, partition 0: no record" in said
        assert "(consumer_byte_rate, request_percentage) holds the user or client id back" in said
        limit("consumer_byte_rate", 600_000.0)
        (entry,) = migration.translate()["entries"]
        assert (entry["verdict"], entry["offset"]) == ("exact", 1201)
    finally:
        limit("consumer_byte_rate", 1e12)


def test_a_quota_of_request_time_makes_commits_slow_and_refuses_none(limited, topic):
    cluster, limit = limited
    create_topic(cluster, topic)
    connection = connection_from(cluster.connection, "destination cluster")
    where = TopicPartition(topic, 0)
    limit("request_percentage", 0.01)
    try:
        for offset in range(5):
            assert commits.commit_offsets(connection, {topic: {where: CommittedOffset(offset)}}) == {topic: {}}
        assert groups.read_groups(connection, [topic])[topic].offsets[where].offset == 4
    finally:
        limit("request_percentage", 1000.0)


def test_topics_are_made_at_the_rate_of_a_quota(limited):
    cluster, limit = limited
    limit("controller_mutation_rate", 20.0)
    connection = connection_from(cluster.connection, "destination cluster")
    wanted = {f"q{number:02}": NewTopic(4, 1, {}) for number in range(12)}
    assert try_creation(connection, wanted).refusals == {}
    assert create_topics(connection, wanted).made.keys() == wanted.keys()
    more = dict.fromkeys(list(wanted)[:3], 8)
    assert try_partitions(connection, more) == {}
    add_partitions(connection, more)
    found = {name: each.partitions for name, each in describe_topics(connection, list(wanted)).items()}
    assert found == dict.fromkeys(wanted, 4) | more
