"""Small ranges and whole ones come back alike, whatever the log looks like, or an error says what is not there."""

import itertools
import os
import random
import time

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import BrokerError, NotFound
from ansible_collections.streamshift.kafka.plugins.module_utils._model.open_clients import keeping
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._records import scanning
from ansible_collections.streamshift.kafka.plugins.module_utils._records.fingerprint import fingerprint
from testbed.clients import Message, create_topic, delete_records, log_bounds, produce
from testbed.clients import read as read_all
from tests.support.consumers import open_transaction
from tests.support.logs import VARIED, compacted_log, log_with_gaps
from tests.support.numbered import numbered_topic
from tests.support.readers import in_small_ranges, scanned

READERS = (in_small_ranges, scanned)


def offsets(read, connection, topic, *spans, **options):
    """Those of the records of each range of partition 0."""
    found = read(connection, [(TopicPartition(topic, 0), *span) for span in spans], **options)
    return [[record.offset for record in records] for records in found]


def test_everything_that_matching_needs_is_told(cluster, connection, topic):
    stamped = f"{topic}-stamped"
    create_topic(cluster, topic, retention_ms=-1)
    create_topic(cluster, stamped, message_timestamp_type="LogAppendTime")
    for name in (topic, stamped):
        produce(cluster, name, VARIED)
    ranges = [(TopicPartition(name, 0), 0, 3) for name in (topic, stamped)]
    for read in READERS:
        kept, by_broker = read(connection, ranges)
        for offset, (message, *records) in enumerate(zip(VARIED, kept, by_broker, strict=True)):
            contents = fingerprint(message.key, message.value, message.headers)
            assert records[0] == (offset, message.timestamp, *contents, False)
            assert records[1] == (offset, records[1].timestamp, *contents, True)
            assert time.time() - records[1].timestamp / 1000 < 60
        for records in read(connection, ranges, parts=("key",)):
            assert [record.fingerprint for record in records] == [
                fingerprint(each.key, None, None)[0] for each in VARIED
            ]


def test_many_ranges_of_many_partitions_and_topics_come_in_one_go(cluster, connection, topic, monkeypatch):
    monkeypatch.setattr(scanning, "_SMALL_WIDTH", 8)  # partitions that wait for their turn, too
    choose = random.Random(1)
    ranges = []
    for name in (topic, f"{topic}-more"):
        create_topic(cluster, name, partitions=20)
        produce(cluster, name, [Message(b"%d" % n, partition=part) for n in range(1000) for part in range(20)])
        for where in (TopicPartition(name, part) for part in range(20)):
            starts = choose.sample(range(1001), 12)
            ranges += [(where, start, min(1000, start + choose.choice((0, 1, 8, 100, 1000)))) for start in starts]
    values = [fingerprint(None, b"%d" % number, None)[0] for number in range(1000)]
    for read in READERS:
        found = [[(record.offset, record.bare) for record in records] for records in read(connection, ranges)]
        assert found == [list(enumerate(values))[start:end] for _where, start, end in ranges]


def test_large_records_of_many_partitions_come_too(source, newest, topic):
    create_topic(source, topic, partitions=12, max_message_bytes=11_000_000)
    values = [[os.urandom(size) for size in (10_000_000, 1_000_000, 100)] for _unused in range(12)]
    for number in range(3):
        messages = [Message(its[number], partition=part) for part, its in enumerate(values)]
        produce(source, topic, messages, message_max_bytes=11_000_000)
    expected = [[fingerprint(None, value, None)[0] for value in its] for its in values]
    for read in READERS:
        found = read(newest, [(TopicPartition(topic, part), 0, 3) for part in range(12)])
        assert [[record.fingerprint for record in records] for records in found] == expected


def test_a_thousand_partitions_are_read_together(source, newest, topic):
    create_topic(source, topic, partitions=1000)
    messages = [Message(b"%d-%d" % (part, n), partition=part) for n in range(4) for part in range(1000)]
    produce(source, topic, messages, linger_ms=500, max_in_flight_requests_per_connection=100)
    found = in_small_ranges(newest, [(TopicPartition(topic, part), 1, 3) for part in range(1000)])
    assert [[record.fingerprint for record in records] for records in found] == [
        [fingerprint(None, b"%d-%d" % (part, n), None)[0] for n in (1, 2)] for part in range(1000)
    ]


def test_markers_and_aborted_records_leave_gaps_anywhere(cluster, connection, topic):
    log_with_gaps(cluster, topic)
    spans = [(start, stop) for start in range(11) for stop in range(start, 11)]
    for read, (committed, there) in itertools.product(READERS, ((True, {0, 1, 5, 6}), (False, {0, 1, 3, 5, 6, 8}))):
        for start in range(10):  # one by one, because each ends in its own way
            found = offsets(read, connection, topic, (start, start + 1), committed=committed)
            assert found == [sorted(there & {start})]
        found = offsets(read, connection, topic, *spans, committed=committed)
        assert found == [sorted(there & set(range(*span))) for span in spans]


def test_up_to_the_last_stable_offset_everything_comes_and_after_it_nothing(source, newest, topic):
    numbered_topic(source, topic, 4, partitions=1)
    told = f"topic {topic}, partition 0: the log ends at 4, and 5 was expected"
    with open_transaction(source, topic, [Message(b"open")]):
        for read in READERS:
            assert offsets(read, newest, topic, (0, 4)) == [[0, 1, 2, 3]]
            with pytest.raises(BrokerError, match=told):
                offsets(read, newest, topic, (2, 5))
            assert offsets(read, newest, topic, (2, 5), committed=False) == [[2, 3, 4]]


@pytest.mark.parametrize("read", READERS)
def test_a_topic_that_was_made_while_a_consumer_was_open_is_read(cluster, connection, topic, read):
    numbered_topic(cluster, topic, 2, partitions=1)
    with keeping():
        assert offsets(read, connection, topic, (0, 2)) == [[0, 1]]
        numbered_topic(cluster, f"{topic}-more", 3, partitions=1)
        assert offsets(read, connection, f"{topic}-more", (0, 3)) == [[0, 1, 2]]
        with pytest.raises(NotFound, match=f"topic {topic}-none: the topic does not exist"):
            offsets(read, connection, f"{topic}-none", (0, 3))


def test_a_compacted_log_answers_with_what_is_left(cluster, connection, topic):
    compacted_log(cluster, topic)
    before = {record.offset for record in read_all(cluster, topic)}
    _start, stop = log_bounds(cluster, topic)[0]
    spans = [(0, stop), (0, 5), (3, 150), (150, stop - 1), (stop - 1, stop)]
    found = [offsets(read, connection, topic, *spans) for read in READERS]
    after = {record.offset for record in read_all(cluster, topic)}  # compaction may go on
    for by_reader in found:
        assert by_reader[0][-1] == stop - 1
        for span, its in zip(spans, by_reader, strict=True):
            assert after & set(range(*span)) <= set(its) <= before & set(range(*span))


def test_what_has_left_the_log_is_an_error_that_names_the_partition(cluster, connection, topic):
    numbered_topic(cluster, topic, 6, partitions=1)
    delete_records(cluster, topic, {0: 3})
    for read in READERS:
        for start, end, told in (
            (2, 6, "offset 2 is not in the log"),
            (8, 9, "offset 8 is not in the log"),
            (3, 7, "the log ends at 6, and 7 was expected"),
        ):
            with pytest.raises(BrokerError, match=f"topic {topic}, partition 0: {told}"):
                offsets(read, connection, topic, (start, end))
        assert offsets(read, connection, topic, (3, 6), (6, 6)) == [[3, 4, 5], []]


def test_what_does_not_exist_is_named_at_once(source, newest, topic):
    create_topic(source, topic)
    for read in READERS:
        began = time.monotonic()
        with pytest.raises(NotFound, match=f"topic {topic}, partition 1: the topic has 1 partitions"):
            read(newest, [(TopicPartition(topic, 1), 0, 1)])
        with pytest.raises(NotFound, match=f"topic {topic}-none: the topic does not exist"):
            read(newest, [(TopicPartition(f"{topic}-none", 0), 0, 1)])
        assert time.monotonic() - began < 5


def test_nothing_that_was_asked_for_needs_no_cluster():
    nowhere = connection_from({"bootstrap_servers": "127.0.0.1:1"})
    for read in READERS:
        assert read(nowhere, []) == []
        assert offsets(read, nowhere, "orders", (5, 5)) == [[]]
