"""Whatever becomes of a log or a broker while whole ranges are read is told; that records come back whole: test_readers.py."""

import os
import signal
import time

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import (
    BrokerError,
    ConnectionFailed,
    NotAuthorized,
    NotFound,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._records import scanning
from ansible_collections.streamshift.kafka.plugins.module_utils._records.fingerprint import plain_fingerprint
from ansible_collections.streamshift.kafka.plugins.module_utils._records.range_reader import read_ranges
from ansible_collections.streamshift.kafka.plugins.module_utils._records.scanning import Piece, scan
from testbed.clients import Message, create_topic, delete_records, delete_topic, partitions_everywhere, produce
from tests.support.readers import scanned


@pytest.fixture
def little_ahead(monkeypatch):
    """Clients that fetch little ahead of what they are asked for."""
    for name, value in {
        "queued.max.messages.kbytes": 64,
        "fetch.max.bytes": 70_000,
        "message.max.bytes": 60_000,
    }.items():
        monkeypatch.setitem(scanning._SETTINGS, name, value)
    monkeypatch.setattr(scanning, "_FETCH_SIZE", 50_000)
    monkeypatch.setattr(scanning, "_TAKEN", 100)


def test_records_that_expire_while_they_are_read_are_told_of(source, newest, topic, little_ahead):
    create_topic(source, topic)
    produce(source, topic, [Message(os.urandom(1000)) for _unused in range(5000)])
    rows = scan(newest, [Piece(0, TopicPartition(topic, 0), 0, 5000)])
    next(rows)
    delete_records(source, topic, {0: 4999})
    with pytest.raises(BrokerError, match=f"topic {topic}, partition 0: offset \\d+ is not in the log"):
        list(rows)


def test_a_topic_that_is_deleted_while_it_is_read_is_told_of(source, topic, little_ahead):
    connection = connection_from({**source.connection, "request_timeout": 10}, "source cluster")
    create_topic(source, topic)
    produce(source, topic, [Message(os.urandom(1000)) for _unused in range(5000)])
    rows = scan(connection, [Piece(0, TopicPartition(topic, 0), 0, 5000)])
    next(rows)
    delete_topic(source, topic)
    began = time.monotonic()
    with pytest.raises((BrokerError, NotFound), match=f"topic {topic}, partition 0: "):
        list(rows)
    assert time.monotonic() - began < 25


def test_a_broker_that_falls_silent_is_not_waited_for_for_ever(own_cluster, little_ahead):
    frozen = own_cluster("frozen")
    create_topic(frozen, "orders")
    produce(frozen, "orders", [Message(os.urandom(1000)) for _unused in range(5000)])
    connection = connection_from({**frozen.connection, "request_timeout": 3}, "source cluster")
    rows = scan(connection, [Piece(0, TopicPartition("orders", 0), 0, 5000)])
    next(rows)
    os.kill(frozen.cluster.pids["broker-1"], signal.SIGSTOP)
    began = time.monotonic()
    try:
        with pytest.raises(BrokerError, match="topic orders, partition 0: no record and no end of the log at offset"):
            list(rows)
        with pytest.raises(ConnectionFailed, match="source cluster 127.0.0.1:.*: cannot connect"):
            list(scan(connection, [Piece(0, TopicPartition("orders", 0), 0, 5000)]))
        assert time.monotonic() - began < 20
        began = time.monotonic()
        with pytest.raises(ConnectionFailed, match="source cluster 127.0.0.1:.*: cannot connect"):
            read_ranges(connection, {TopicPartition("orders", 0): [(0, 1)]})
        assert time.monotonic() - began < 10
    finally:
        os.kill(frozen.cluster.pids["broker-1"], signal.SIGCONT)


def test_a_missing_right_is_named(secured, topic):
    create_topic(secured, topic)
    produce(secured, topic, [Message(b"1")])
    stranger = connection_from(secured.connection_as("migrator"), "source cluster")
    with pytest.raises((NotAuthorized, NotFound), match=topic):
        scanned(stranger, [(TopicPartition(topic, 0), 0, 1)])


def test_a_partition_whose_leader_dies_meanwhile_is_read_on_from_the_next_one(own_cluster, little_ahead):
    three = own_cluster("three", nodes=3)
    create_topic(three, "orders", min_insync_replicas=2)
    values = [b"%d " % number + os.urandom(1000) for number in range(5000)]
    produce(three, "orders", [Message(value, b"key") for value in values])
    leader, replicas = leader_and_replicas(three, "orders")
    assert replicas == {1, 2, 3}
    connection = connection_from(three.connection, "source cluster")
    rows = scan(connection, [Piece(0, TopicPartition("orders", 0), 0, len(values))])
    answers = [next(rows)]
    process = three.cluster.pids[f"broker-{leader}"]
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    answers += rows
    assert leader_and_replicas(three, "orders")[0] not in (leader, -1)
    assert [offset for each in answers for offset in each.offsets] == list(range(len(values)))
    found = [fingerprint for each in answers for fingerprint in each.fingerprints]
    assert found == [plain_fingerprint(b"key", value) for value in values]


def leader_and_replicas(cluster, topic):
    """Of the topic's only partition, the nodes' numbers."""
    (partition,) = partitions_everywhere(cluster, [topic])
    return partition.leader, partition.replicas
