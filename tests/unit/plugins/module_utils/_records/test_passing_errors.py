"""Whoever reads records waits for what passes by itself, and takes no error for a sign of life."""

import contextlib
import types

import pytest
from confluent_kafka import KafkaError, Message

from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import BacklogRange
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.copy_progress import Progress
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import (
    BrokerError,
    LogChanged,
    NotFound,
    Refused,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._records import (
    range_reader,
    record_copy,
    refusals,
    scanning,
    whole_ranges,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._records.consumer_client import Opened
from ansible_collections.streamshift.kafka.plugins.module_utils._records.send_window import SendWindow
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._records.test_record_copy import Destination

SOURCE = connection_from({"bootstrap_servers": "127.0.0.1:1", "request_timeout": 1}, "source cluster")
ORDERS, OTHERS = TopicPartition("orders", 0), TopicPartition("orders", 1)
END = KafkaError._PARTITION_EOF
UNREADABLE = "orders, partition 0: the records from offset 0 on cannot be read"


def error(offset, code=KafkaError.UNKNOWN):
    return Message(topic="orders", partition=0, offset=offset, error=KafkaError(code))


def record(offset, partition=0):
    return Message(
        topic="orders", partition=partition, offset=offset, value=b"%d" % offset, timestamp=(1, 1000 + offset)
    )


class Consumer:
    """What librdkafka hands over, a batch for each call; then nothing, or the same for ever.

    log_end: what the leader says, None if it does not answer.
    """

    def __init__(self, *batches, log_end=None, forever=()):
        self.batches, self.forever, self.log_end = list(batches), list(forever), log_end
        self.assigned, self.asked = set(), 0

    def consume(self, _most, _seconds):
        return self.batches.pop(0) if self.batches else self.forever

    def list_topics(self, timeout):
        orders = types.SimpleNamespace(topic="orders", partitions={0: None, 1: None}, error=None)
        return types.SimpleNamespace(topics={"orders": orders})

    def get_watermark_offsets(self, _position, timeout, cached):
        self.asked += 1
        assert timeout <= 1 and not cached
        return None if self.log_end is None else (0, self.log_end)

    def assign(self, positions):
        self.assigned |= {at.partition for at in positions}

    incremental_assign = assign

    def incremental_unassign(self, positions):
        self.assigned -= {at.partition for at in positions}


def opened(consumer):
    return Opened(SOURCE, consumer, {"orders": 2}, [])


def scanned(consumer, monkeypatch):
    monkeypatch.setattr(scanning, "open_consumer", lambda *_given: contextlib.nullcontext(opened(consumer)))
    return [offset for rows in scanning.scan(SOURCE, [scanning.Piece(0, ORDERS, 0, 3)]) for offset in rows.offsets]


def ranges(consumer, monkeypatch):
    monkeypatch.setattr(range_reader, "open_consumer", lambda *_given: contextlib.nullcontext(opened(consumer)))
    (answer,) = range_reader.read_ranges(SOURCE, {ORDERS: [(0, 3)]})[ORDERS]
    return [each.offset for each in answer.records]


def whole(consumer, _monkeypatch):
    return [offset for _partition, offset in messages(consumer, (ORDERS, 0, 3))]


def messages(consumer, *wanted):
    found = whole_ranges.messages(opened(consumer), [scanning.Range(*each) for each in wanted])
    return [(message.partition(), message.offset()) for message in found]


def copied(consumer, monkeypatch):
    """Its transactions are shorter than it waits."""
    monkeypatch.setattr(record_copy, "_SECONDS", 0.1)
    destination = Destination(types.SimpleNamespace(bytes_per_second=None))
    task = record_copy._CopyTask(BacklogRange(ORDERS, 0, 3, ORDERS, 0), Progress(0), [])
    record_copy._Copy(SOURCE, opened(consumer), destination, {ORDERS: task}, 1000, lambda: None, SendWindow()).run()
    return list(map(int, destination.written))


@pytest.mark.parametrize("read", [scanned, ranges, whole, copied])
class TestReaders:
    @pytest.mark.parametrize(
        "code", [KafkaError.UNKNOWN, KafkaError.REQUEST_TIMED_OUT, KafkaError.NOT_LEADER_FOR_PARTITION]
    )
    def test_an_error_that_passes_is_waited_out(self, read, code, monkeypatch):
        """Of the errors as librdkafka hands them over, none says that it is retriable. What nobody wants is left out."""
        assert not KafkaError(code).retriable()
        consumer = Consumer([record(0), record(0, 1), error(1, code)], [error(1, code)], [], [record(1), record(2)])
        assert read(consumer, monkeypatch) == [0, 1, 2]

    def test_an_error_that_comes_again_and_again_is_no_sign_of_life(self, read, monkeypatch):
        consumer = Consumer([record(0)], forever=[error(1)])
        with pytest.raises(BrokerError, match=r"partition 0: the records from offset 1 on .*(?i:unknown)"):
            read(consumer, monkeypatch)

    def test_an_error_after_which_nothing_comes_is_what_is_told(self, read, monkeypatch):
        with pytest.raises(BrokerError, match=r"partition 0: the records from offset 1 on cannot be read"):
            read(Consumer([record(0)], [error(1, KafkaError.REQUEST_TIMED_OUT)]), monkeypatch)

    @pytest.mark.parametrize("log_end", [3, None], ids=["the leader has more", "the leader does not tell its end yet"])
    def test_an_end_that_a_new_leader_shows_for_a_moment_is_waited_out(self, read, log_end, monkeypatch):
        """KIP-207: the high watermark of a new leader, or of a follower, may be lower than that of the leader before."""
        consumer = Consumer([record(0), error(1, END)], [], [record(1), record(2)], log_end=log_end)
        assert read(consumer, monkeypatch) == [0, 1, 2] and consumer.asked == 1

    def test_a_truncation_is_told_at_once(self, read, monkeypatch):
        consumer = Consumer([record(0), error(1, END)], [record(1)], [record(2)], log_end=1)
        with pytest.raises(LogChanged, match="orders, partition 0: the log ends at 1, and 3 was expected"):
            read(consumer, monkeypatch)
        assert consumer.batches, "it is not waited for"

    def test_silence_is_told(self, read, monkeypatch):
        with pytest.raises(
            BrokerError, match="orders, partition 0: no record and no end of the log at offset 1 within"
        ):
            read(Consumer([record(0)]), monkeypatch)


def test_ranges_of_several_partitions_end_each_for_itself():
    consumer = Consumer([record(5), record(0, 1), record(6)], [record(1, 1), record(7), record(2, 1)])
    assert messages(consumer, (ORDERS, 5, 7), (OTHERS, 0, 3)) == [(0, 5), (1, 0), (0, 6), (1, 1), (1, 2)]
    assert not consumer.assigned


@pytest.mark.parametrize("last", [error(4, END), error(9, END), record(6)], ids=["end", "later end", "later record"])
def test_gaps_at_the_end_of_a_range_end_it_and_nobody_is_asked(last):
    consumer = Consumer([record(1)], [last])
    assert messages(consumer, (ORDERS, 0, 4)) == [(0, 1)] and not consumer.asked


def test_an_end_that_does_not_pass_is_told_as_such():
    with pytest.raises(LogChanged, match="the log ends at 2, and 4 was expected"):
        messages(Consumer([record(1), error(2, END)]), (ORDERS, 0, 4))


def test_an_error_that_lasts_is_told_although_other_partitions_go_on():
    consumer = Consumer(forever=[record(0, 1), error(0)])
    with pytest.raises(BrokerError, match=UNREADABLE):
        messages(consumer, (ORDERS, 0, 2), (OTHERS, 0, 1 << 60))


@pytest.mark.parametrize(
    "code", [KafkaError._BAD_MSG, KafkaError.INVALID_MSG, KafkaError.MSG_SIZE_TOO_LARGE, KafkaError._BAD_COMPRESSION]
)
def test_records_that_cannot_be_read_are_not_waited_for(code):
    consumer = Consumer([error(0, code)], [record(0)])
    with pytest.raises(BrokerError, match=UNREADABLE):
        messages(consumer, (ORDERS, 0, 1))
    assert consumer.batches


@pytest.mark.parametrize("code", [KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_PARTITION])
def test_a_topic_that_one_broker_does_not_know_is_waited_for_if_its_leader_answers(code):
    assert messages(Consumer([error(0, code)], [record(0)], log_end=1), (ORDERS, 0, 1)) == [(0, 0)]
    gone = Consumer([error(0, code)], [record(0)])
    with pytest.raises(BrokerError, match=UNREADABLE):
        messages(gone, (ORDERS, 0, 1))
    assert gone.batches


def test_what_does_not_exist_is_not_waited_for_and_an_empty_range_asks_for_nothing():
    with pytest.raises(NotFound, match="the topic has 2 partitions"):
        messages(Consumer(), (TopicPartition("orders", 2), 0, 1))
    assert messages(Consumer(), (ORDERS, 3, 3)) == []


@pytest.mark.parametrize(
    ("cause", "raised", "told"),
    [
        (
            UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
            Refused,
            "orders, partition 0: the record at offset 3 has a header whose name is not UTF-8.*match_on, or .*exclude_topic",
        ),
        (None, SystemError, "^a fault of the library$"),
    ],
)
def test_a_record_whose_header_the_library_cannot_read_is_named_with_what_leaves_it_out(cause, raised, told):
    failed = SystemError("a fault of the library")
    failed.__cause__ = cause
    with pytest.raises(raised, match=told):
        refusals.raise_for_header(failed, SOURCE, record(3))
