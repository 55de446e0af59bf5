"""Ranges of records come back whole, whatever the log looks like, or an error says what is not there."""

import os
import random
import signal
import time

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import (
    BrokerError,
    ConnectionFailed,
    NotFound,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import NO_TIMESTAMP, TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._records.fingerprint import fingerprint
from ansible_collections.streamshift.kafka.plugins.module_utils._records.range_reader import read_ranges
from testbed.clients import Message, create_topic, delete_records, log_bounds, produce, produce_in_transactions
from testbed.clients import read as read_all
from tests.support.consumers import open_transaction
from tests.support.logs import compacted_log
from tests.support.numbered import numbered_topic


def offsets(answers, where):
    return [[record.offset for record in answer.records] for answer in answers[where]]


def test_everything_that_matching_needs_is_kept(cluster, connection, topic):
    create_topic(cluster, topic, retention_ms=-1)
    messages = [
        Message(b"value", b"key", (("a", b"1"), ("a", None), ("b", b"")), 1_700_000_000_000),
        Message(None, None, (), 1),
        Message(b"", b"", (), NO_TIMESTAMP),
    ]
    produce(cluster, topic, messages)
    where = TopicPartition(topic, 0)
    (answer,) = read_ranges(connection, {where: [(0, 3)]})[where]
    for offset, (message, record) in enumerate(zip(messages, answer.records, strict=True)):
        digest, bare = fingerprint(message.key, message.value, message.headers)
        assert record == (offset, message.timestamp, digest, bare, False)
    (keys,) = read_ranges(connection, {where: [(0, 1)]}, parts=("key",))[where]
    assert keys.records[0].fingerprint == fingerprint(b"key", None, None)[0]


def test_the_brokers_own_time_is_known_as_such(cluster, connection, topic):
    create_topic(cluster, topic, message_timestamp_type="LogAppendTime")
    produce(cluster, topic, [Message(b"x", timestamp=1)])
    where = TopicPartition(topic, 0)
    (record,) = read_ranges(connection, {where: [(0, 1)]})[where][0].records
    assert record.log_append_time and time.time() - record.timestamp / 1000 < 60


def test_markers_and_aborted_records_leave_gaps_anywhere(cluster, connection, topic):
    create_topic(cluster, topic)
    one, two = [Message(b"1"), Message(b"2")], [Message(b"3")]
    written = produce_in_transactions(cluster, topic, [(one, True), (two, False), (one, True), (two, False)])
    assert written == [[0, 1], [3], [5, 6], [8]]  # markers at 2, 4, 7 and 9
    where, end = TopicPartition(topic, 0), 10
    spans = [(start, stop) for start in range(end + 1) for stop in range(start, end + 1)]
    visible, stored = {0, 1, 5, 6}, {0, 1, 3, 5, 6, 8}
    for committed, there in ((True, visible), (False, stored)):
        for start in range(end):  # one by one, for each ends in its own way
            answers = read_ranges(connection, {where: [(start, start + 1)]}, committed=committed)
            assert offsets(answers, where) == [sorted(there & {start})]
        answers = read_ranges(connection, {where: spans}, committed=committed)
        assert offsets(answers, where) == [sorted(there & set(range(*span))) for span in spans]


def test_up_to_the_last_stable_offset_everything_comes_and_after_it_nothing(source, newest, topic):
    numbered_topic(source, topic, 4, partitions=1)
    where = TopicPartition(topic, 0)
    with open_transaction(source, topic, [Message(b"open")]):
        assert offsets(read_ranges(newest, {where: [(0, 4)]}), where) == [[0, 1, 2, 3]]
        with pytest.raises(BrokerError, match="the log ends at 4, and 5 was expected"):
            read_ranges(newest, {where: [(2, 5)]})
        assert offsets(read_ranges(newest, {where: [(2, 5)]}, committed=False), where) == [[2, 3, 4]]


def test_a_compacted_log_answers_with_what_is_left(cluster, connection, topic):
    compacted_log(cluster, topic)
    left = [record.offset for record in read_all(cluster, topic)]
    _start, stop = log_bounds(cluster, topic)[0]
    where = TopicPartition(topic, 0)
    spans = [(0, stop), (0, 5), (3, 150), (150, stop - 1), (stop - 1, stop)]
    answers = read_ranges(connection, {where: spans})
    found = offsets(answers, where)
    assert [set(each) <= set(range(*span)) for each, span in zip(found, spans, strict=True)] == [True] * len(spans)
    assert found[0][-1] == stop - 1 and set(found[0]) <= set(left)


def test_far_spans_of_many_partitions_come_in_one_go(cluster, connection, topic):
    create_topic(cluster, topic, partitions=40)
    produce(cluster, topic, [Message(b"%d" % n, partition=part) for n in range(1000) for part in range(40)])
    choose = random.Random(1)
    wanted = {
        TopicPartition(topic, part): [
            (start, min(1000, start + choose.choice((0, 1, 8, 100)))) for start in choose.sample(range(1001), 12)
        ]
        for part in range(40)
    }
    answers = read_ranges(connection, wanted)
    assert list(answers) == list(wanted)
    for where, spans in wanted.items():
        assert [(answer.start, answer.end) for answer in answers[where]] == spans
        assert offsets(answers, where) == [list(range(*span)) for span in spans]
        for answer in answers[where]:
            assert [record.bare for record in answer.records] == [
                fingerprint(None, b"%d" % n, None)[0] for n in range(answer.start, answer.end)
            ]


def test_large_records_of_many_partitions_come_too(source, newest, topic):
    create_topic(source, topic, partitions=12, max_message_bytes=11_000_000)
    values = [[os.urandom(1_000_000 if n else 10_000_000) for n in range(3)] for _unused in range(12)]
    for number in range(3):
        messages = [Message(values[part][number], partition=part) for part in range(12)]
        produce(source, topic, messages, message_max_bytes=11_000_000)
    wanted = {TopicPartition(topic, part): [(0, 3)] for part in range(12)}
    answers = read_ranges(newest, wanted)
    for where in wanted:
        (answer,) = answers[where]
        assert [record.fingerprint for record in answer.records] == [
            fingerprint(None, value, None)[0] for value in values[where.partition]
        ]


def test_a_thousand_partitions_are_read_together(source, newest, topic):
    create_topic(source, topic, partitions=1000)
    messages = [Message(b"%d-%d" % (part, n), partition=part) for n in range(4) for part in range(1000)]
    produce(source, topic, messages, linger_ms=500, max_in_flight_requests_per_connection=100)
    wanted = {TopicPartition(topic, part): [(1, 3)] for part in range(1000)}
    answers = read_ranges(newest, wanted)
    assert sum(len(answer.records) for answers in answers.values() for answer in answers) == 2_000
    where = TopicPartition(topic, 987)
    assert answers[where][0].records[0].fingerprint == fingerprint(None, b"987-1", None)[0]


def test_what_has_left_the_log_is_an_error_that_names_the_partition(cluster, connection, topic):
    numbered_topic(cluster, topic, 6, partitions=1)
    delete_records(cluster, topic, {0: 3})
    where = TopicPartition(topic, 0)
    with pytest.raises(BrokerError, match=f"topic {topic}, partition 0: offset 2 is not in the log"):
        read_ranges(connection, {where: [(2, 6)]})
    with pytest.raises(BrokerError, match="partition 0: offset 8 is not in the log"):
        read_ranges(connection, {where: [(8, 9)]})
    with pytest.raises(BrokerError, match="the log ends at 6, and 7 was expected"):
        read_ranges(connection, {where: [(3, 7)]})
    assert offsets(read_ranges(connection, {where: [(3, 6), (6, 6)]}), where) == [[3, 4, 5], []]


def test_what_does_not_exist_is_named_at_once(source, newest, topic):
    create_topic(source, topic)
    began = time.monotonic()
    with pytest.raises(NotFound, match=f"topic {topic}, partition 1: the topic has 1 partitions"):
        read_ranges(newest, {TopicPartition(topic, 1): [(0, 1)]})
    with pytest.raises(NotFound, match=f"topic {topic}-none: the topic does not exist"):
        read_ranges(newest, {TopicPartition(f"{topic}-none", 0): [(0, 1)]})
    assert time.monotonic() - began < 5


def test_nothing_that_was_asked_for_needs_no_cluster():
    nowhere, where = connection_from({"bootstrap_servers": "127.0.0.1:1"}), TopicPartition("orders", 0)
    assert read_ranges(nowhere, {}) == {}
    assert read_ranges(nowhere, {where: [(5, 5)]}) == {where: [(5, 5, [])]}


def test_a_broker_that_falls_silent_is_not_waited_for_for_ever(own_cluster):
    frozen = own_cluster("frozen")
    create_topic(frozen, "orders")
    produce(frozen, "orders", [Message(b"1")])
    where = TopicPartition("orders", 0)
    connection = connection_from({**frozen.connection, "request_timeout": 3}, "source cluster")
    assert offsets(read_ranges(connection, {where: [(0, 1)]}), where) == [[0]]
    os.kill(frozen.cluster.pids["broker-1"], signal.SIGSTOP)
    began = time.monotonic()
    try:
        with pytest.raises(ConnectionFailed, match="source cluster 127.0.0.1:.*: cannot connect"):
            read_ranges(connection, {where: [(0, 1)]})
        assert time.monotonic() - began < 10
    finally:
        os.kill(frozen.cluster.pids["broker-1"], signal.SIGCONT)
