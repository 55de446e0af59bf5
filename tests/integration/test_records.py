"""Many small ranges of records come back whole."""

import os
import random
import time

from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._records.fingerprint import fingerprint
from ansible_collections.streamshift.kafka.plugins.module_utils._records.range_reader import read_ranges
from testbed.clients import Message, create_topic, produce
from tests.support.logs import VARIED


def test_everything_that_matching_needs_is_kept(cluster, connection, topic):
    create_topic(cluster, topic, retention_ms=-1)
    produce(cluster, topic, VARIED)
    where = TopicPartition(topic, 0)
    (answer,) = read_ranges(connection, {where: [(0, 3)]})[where]
    for offset, (message, record) in enumerate(zip(VARIED, answer.records, strict=True)):
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
        assert [[record.offset for record in its.records] for its in answers[where]] == [
            list(range(*span)) for span in spans
        ]
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
