"""Whole ranges come back as small ones do, whatever the log looks like, or an error says what is not there."""

import itertools
import os
import random
import signal
import time

import pytest
from kafka.admin import KafkaAdminClient

from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import (
    BrokerError,
    ConnectionFailed,
    NotAuthorized,
    NotFound,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import (
    NO_TIMESTAMP,
    Record,
    TopicPartition,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._records import scanning
from ansible_collections.streamshift.kafka.plugins.module_utils._records.fingerprint import plain_fingerprint
from ansible_collections.streamshift.kafka.plugins.module_utils._records.range_reader import read_ranges
from ansible_collections.streamshift.kafka.plugins.module_utils._records.scanning import Piece, scan
from testbed.clients import (
    Message,
    create_topic,
    delete_records,
    delete_topic,
    log_bounds,
    produce,
    produce_in_transactions,
)
from testbed.clients import read as read_all
from tests.support.consumers import open_transaction
from tests.support.logs import compacted_log
from tests.support.numbered import numbered_topic


@pytest.fixture(params=["source", "old"])
def cluster(request):
    """Kafka 4.3.0 and 2.8.2."""
    return request.getfixturevalue(request.param)


def scanned(connection, pieces, **options):
    """The records of each piece in order, and whether their ranks count them."""
    found = {piece: [] for piece in pieces}
    for rows in scan(connection, pieces, **options):
        columns = zip(rows.offsets, rows.timestamps, rows.fingerprints, rows.bare, strict=True)
        assert sum(run.length for run in rows.runs) == len(rows.offsets)
        for run in rows.runs:
            its = found[run.piece]
            assert run.rank == len(its)
            its += [Record(*next(columns), run.log_append_time) for _unused in range(run.length)]
    return [found[piece] for piece in pieces]


def as_read(connection, pieces, **options):
    """The same by the reader of small ranges."""
    answers = [read_ranges(connection, {p.partition: [(p.start, p.end)]}, **options) for p in pieces]
    return [answer[piece.partition][0].records for answer, piece in zip(answers, pieces, strict=True)]


def offsets(records):
    return [record.offset for record in records]


def test_everything_that_matching_needs_is_told(cluster, connection, topic):
    create_topic(cluster, topic, retention_ms=-1)
    messages = [
        Message(b"value", b"key", (("a", b"1"), ("a", None), ("b", b"")), 1_700_000_000_000),
        Message(None, None, (), 1),
        Message(b"", b"", (), NO_TIMESTAMP),
    ]
    produce(cluster, topic, messages)
    create_topic(cluster, f"{topic}-stamped", message_timestamp_type="LogAppendTime")
    produce(cluster, f"{topic}-stamped", messages)
    pieces = [Piece(7, TopicPartition(name, 0), 0, 3) for name in (topic, f"{topic}-stamped")]
    for parts in (("key", "value", "headers"), ("key",)):
        found = scanned(connection, pieces, parts=parts)
        assert found == as_read(connection, pieces, parts=parts)
        assert [[record.log_append_time for record in records] for records in found] == [[False] * 3, [True] * 3]


def test_markers_and_aborted_records_leave_gaps_anywhere(cluster, connection, topic):
    create_topic(cluster, topic)
    one, two = [Message(b"1"), Message(b"2")], [Message(b"3")]
    written = produce_in_transactions(cluster, topic, [(one, True), (two, False), (one, True), (two, False)])
    assert written == [[0, 1], [3], [5, 6], [8]]  # markers at 2, 4, 7 and 9
    pieces = [Piece(0, TopicPartition(topic, 0), start, end) for start in range(11) for end in range(start, 11)]
    for committed, there in ((True, {0, 1, 5, 6}), (False, {0, 1, 3, 5, 6, 8})):
        found = scanned(connection, pieces, committed=committed)  # of one partition: each is read for itself
        assert list(map(offsets, found)) == [sorted(there & set(range(p.start, p.end))) for p in pieces]


def test_a_compacted_log_answers_with_what_is_left(cluster, connection, topic):
    compacted_log(cluster, topic)
    _start, stop = log_bounds(cluster, topic)[0]
    bounds = ((0, stop), (0, 5), (3, 150), (150, stop - 1), (stop - 1, stop))
    found = scanned(connection, [Piece(0, TopicPartition(topic, 0), *each) for each in bounds])
    left = [record.offset for record in read_all(cluster, topic)]
    for (first, last), records in zip(bounds, found, strict=True):
        assert set(offsets(records)) >= {offset for offset in left if first <= offset < last}


def test_many_ranges_of_many_partitions_and_topics_come_in_one_go(cluster, connection, topic, monkeypatch):
    monkeypatch.setattr(scanning, "_SMALL_WIDTH", 8)  # partitions that wait for their turn, too
    choose = random.Random(1)
    pieces = []
    for name in (topic, f"{topic}-more"):
        create_topic(cluster, name, partitions=20)
        produce(cluster, name, [Message(b"%d" % n, partition=part) for n in range(500) for part in range(20)])
        for partition in range(20):
            bounds = [sorted(choose.sample(range(501), 2)) for _unused in range(3)]
            pieces += [Piece(len(pieces) + n, TopicPartition(name, partition), *each) for n, each in enumerate(bounds)]
    found = scanned(connection, pieces)
    assert [offsets(records) for records in found] == [list(range(piece.start, piece.end)) for piece in pieces]
    assert found == as_read(connection, pieces)


def test_large_records_come_too(source, newest, topic):
    create_topic(source, topic, partitions=3, max_message_bytes=11_000_000)
    for size in (1_000_000, 10_000_000, 100):
        messages = [Message(os.urandom(size), partition=part) for part in range(3)]
        produce(source, topic, messages, message_max_bytes=11_000_000)
    pieces = [Piece(part, TopicPartition(topic, part), 0, 3) for part in range(3)]
    assert scanned(newest, pieces) == as_read(newest, pieces)


def test_an_open_transaction_is_neither_waited_for_nor_skipped(source, newest, topic):
    numbered_topic(source, topic, 4, partitions=1)
    where = TopicPartition(topic, 0)
    with open_transaction(source, topic, [Message(b"open")]):
        assert offsets(scanned(newest, [Piece(0, where, 0, 4)])[0]) == [0, 1, 2, 3]
        with pytest.raises(BrokerError, match=f"topic {topic}, partition 0: the log ends at 4, and 5 was expected"):
            scanned(newest, [Piece(0, where, 2, 5)])
        assert offsets(scanned(newest, [Piece(0, where, 2, 5)], committed=False)[0]) == [2, 3, 4]


def test_what_has_left_the_log_is_an_error_that_names_the_partition(cluster, connection, topic):
    numbered_topic(cluster, topic, 6, partitions=1)
    delete_records(cluster, topic, {0: 3})
    where = TopicPartition(topic, 0)
    for start, end, told in (
        (2, 6, "offset 2 is not in the log"),
        (8, 9, "offset 8 is not in the log"),
        (3, 7, "the log ends at 6, and 7 was expected"),
    ):
        with pytest.raises(BrokerError, match=f"topic {topic}, partition 0: {told}"):
            scanned(connection, [Piece(0, where, start, end)])
    assert offsets(scanned(connection, [Piece(0, where, 3, 6)])[0]) == [3, 4, 5]


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


def test_what_does_not_exist_is_named_at_once(source, newest, topic):
    create_topic(source, topic)
    began = time.monotonic()
    with pytest.raises(NotFound, match=f"topic {topic}, partition 1: the topic has 1 partitions"):
        scanned(newest, [Piece(0, TopicPartition(topic, 1), 0, 1)])
    with pytest.raises(NotFound, match=f"topic {topic}-none: the topic does not exist"):
        scanned(newest, [Piece(0, TopicPartition(f"{topic}-none", 0), 0, 1)])
    assert time.monotonic() - began < 5


def test_nothing_that_was_asked_for_needs_no_cluster():
    nowhere = connection_from({"bootstrap_servers": "127.0.0.1:1"})
    assert scanned(nowhere, []) == []
    assert scanned(nowhere, [Piece(0, TopicPartition("orders", 0), 5, 5)]) == [[]]


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
    finally:
        os.kill(frozen.cluster.pids["broker-1"], signal.SIGCONT)


def test_a_missing_right_is_named(secured, topic):
    create_topic(secured, topic)
    produce(secured, topic, [Message(b"1")])
    stranger = connection_from(secured.connection_as("migrator"), "source cluster")
    with pytest.raises((NotAuthorized, NotFound), match=topic):
        scanned(stranger, [Piece(0, TopicPartition(topic, 0), 0, 1)])


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
    runs = [run for each in answers for run in each.runs]
    assert [run.rank for run in runs] == [0, *itertools.accumulate(run.length for run in runs[:-1])]


def leader_and_replicas(cluster, topic):
    """Of the topic's only partition, the nodes' numbers."""
    admin = KafkaAdminClient(bootstrap_servers=list(cluster.bootstrap_servers))
    try:
        ((partition,),) = (each["partitions"] for each in admin.describe_topics([topic]))
        return partition["leader_id"], set(partition["replica_nodes"])
    finally:
        admin.close()
