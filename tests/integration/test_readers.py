"""Small ranges and whole ones come back alike, whatever the log looks like, or an error says what is not there."""

import time

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import BrokerError, NotFound
from ansible_collections.streamshift.kafka.plugins.module_utils._model.open_clients import keeping
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from testbed.clients import Message, create_topic, delete_records, log_bounds
from testbed.clients import read as read_all
from tests.support.consumers import open_transaction
from tests.support.logs import compacted_log, log_with_gaps
from tests.support.numbered import numbered_topic
from tests.support.readers import in_small_ranges, scanned


@pytest.fixture(params=[in_small_ranges, scanned])
def offsets(request):
    """``offsets(connection, topic, (start, end), ..., **options)`` are those of the records of each range of partition 0."""

    def read(connection, topic, *spans, **options):
        found = request.param(connection, [(TopicPartition(topic, 0), *span) for span in spans], **options)
        return [[record.offset for record in records] for records in found]

    return read


def test_markers_and_aborted_records_leave_gaps_anywhere(cluster, connection, topic, offsets):
    log_with_gaps(cluster, topic)
    spans = [(start, stop) for start in range(11) for stop in range(start, 11)]
    for committed, there in ((True, {0, 1, 5, 6}), (False, {0, 1, 3, 5, 6, 8})):
        for start in range(10):  # one by one, because each ends in its own way
            found = offsets(connection, topic, (start, start + 1), committed=committed)
            assert found == [sorted(there & {start})]
        found = offsets(connection, topic, *spans, committed=committed)
        assert found == [sorted(there & set(range(*span))) for span in spans]


def test_up_to_the_last_stable_offset_everything_comes_and_after_it_nothing(source, newest, topic, offsets):
    numbered_topic(source, topic, 4, partitions=1)
    with open_transaction(source, topic, [Message(b"open")]):
        assert offsets(newest, topic, (0, 4)) == [[0, 1, 2, 3]]
        with pytest.raises(BrokerError, match=f"topic {topic}, partition 0: the log ends at 4, and 5 was expected"):
            offsets(newest, topic, (2, 5))
        assert offsets(newest, topic, (2, 5), committed=False) == [[2, 3, 4]]


def test_a_topic_that_was_made_while_a_consumer_was_open_is_read(cluster, connection, topic, offsets):
    numbered_topic(cluster, topic, 2, partitions=1)
    with keeping():
        assert offsets(connection, topic, (0, 2)) == [[0, 1]]
        numbered_topic(cluster, f"{topic}-more", 3, partitions=1)
        assert offsets(connection, f"{topic}-more", (0, 3)) == [[0, 1, 2]]
        with pytest.raises(NotFound, match=f"topic {topic}-none: the topic does not exist"):
            offsets(connection, f"{topic}-none", (0, 3))


def test_a_compacted_log_answers_with_what_is_left(cluster, connection, topic, offsets):
    compacted_log(cluster, topic)
    before = {record.offset for record in read_all(cluster, topic)}
    _start, stop = log_bounds(cluster, topic)[0]
    spans = [(0, stop), (0, 5), (3, 150), (150, stop - 1), (stop - 1, stop)]
    found = offsets(connection, topic, *spans)
    after = {record.offset for record in read_all(cluster, topic)}  # compaction may go on
    assert found[0][-1] == stop - 1
    for span, its in zip(spans, found, strict=True):
        assert after & set(range(*span)) <= set(its) <= before & set(range(*span))


def test_what_has_left_the_log_is_an_error_that_names_the_partition(cluster, connection, topic, offsets):
    numbered_topic(cluster, topic, 6, partitions=1)
    delete_records(cluster, topic, {0: 3})
    for start, end, told in (
        (2, 6, "offset 2 is not in the log"),
        (8, 9, "offset 8 is not in the log"),
        (3, 7, "the log ends at 6, and 7 was expected"),
    ):
        with pytest.raises(BrokerError, match=f"topic {topic}, partition 0: {told}"):
            offsets(connection, topic, (start, end))
    assert offsets(connection, topic, (3, 6), (6, 6)) == [[3, 4, 5], []]


def test_what_does_not_exist_is_named_at_once(source, newest, topic):
    create_topic(source, topic)
    for read in (in_small_ranges, scanned):
        began = time.monotonic()
        with pytest.raises(NotFound, match=f"topic {topic}, partition 1: the topic has 1 partitions"):
            read(newest, [(TopicPartition(topic, 1), 0, 1)])
        with pytest.raises(NotFound, match=f"topic {topic}-none: the topic does not exist"):
            read(newest, [(TopicPartition(f"{topic}-none", 0), 0, 1)])
        assert time.monotonic() - began < 5


def test_nothing_that_was_asked_for_needs_no_cluster(offsets):
    nowhere = connection_from({"bootstrap_servers": "127.0.0.1:1"})
    assert offsets(nowhere, "orders") == []
    assert offsets(nowhere, "orders", (5, 5)) == [[]]
