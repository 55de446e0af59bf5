"""Whoever reads records waits for what passes by itself, and takes no error for a sign of life."""

import contextlib
import types

import pytest
from confluent_kafka import KafkaError, Message

from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import BacklogRange
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.copy_progress import Progress
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import BrokerError, LogChanged
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._records import (
    range_reader,
    record_copy,
    scanning,
    whole_ranges,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._records.consumer_client import Opened
from ansible_collections.streamshift.kafka.plugins.module_utils._records.send_window import SendWindow

SOURCE = connection_from({"bootstrap_servers": "127.0.0.1:1", "request_timeout": 1}, "source cluster")
ORDERS = TopicPartition("orders", 0)


def error(offset, code=KafkaError.UNKNOWN):
    return Message(topic="orders", partition=0, offset=offset, error=KafkaError(code))


def record(offset):
    return Message(topic="orders", partition=0, offset=offset, value=b"%d" % offset, timestamp=(1, 1000 + offset))


class Consumer:
    """What librdkafka hands over, a batch for each call; then nothing, or the same for ever."""

    def __init__(self, *batches, log_end=None, forever=()):
        self.batches, self.forever, self.log_end = list(batches), list(forever), log_end

    def consume(self, _most, _seconds):
        return self.batches.pop(0) if self.batches else self.forever

    def get_watermark_offsets(self, _position, timeout, cached):
        return None if self.log_end is None else (0, self.log_end)

    def assign(self, _positions):
        pass

    incremental_assign = incremental_unassign = assign


def scanned(consumer, monkeypatch):
    opened = contextlib.nullcontext(Opened(SOURCE, consumer, {"orders": 1}, []))
    monkeypatch.setattr(scanning, "open_consumer", lambda *_given: opened)
    monkeypatch.setattr(scanning.refusals, "check_existence", lambda *_given: None)
    return [offset for rows in scanning.scan(SOURCE, [scanning.Piece(0, ORDERS, 0, 3)]) for offset in rows.offsets]


def ranges(consumer, monkeypatch):
    opened = contextlib.nullcontext(Opened(SOURCE, consumer, {"orders": 1}, []))
    monkeypatch.setattr(range_reader, "open_consumer", lambda *_given: opened)
    monkeypatch.setattr(range_reader.refusals, "check_existence", lambda *_given: None)
    (answer,) = range_reader.read_ranges(SOURCE, {ORDERS: [(0, 3)]})[ORDERS]
    return [each.offset for each in answer.records]


def whole(consumer, monkeypatch):
    monkeypatch.setattr(whole_ranges.refusals, "check_existence", lambda *_given: None)
    opened = Opened(SOURCE, consumer, {"orders": 1}, [])
    return [message.offset() for message in whole_ranges.messages(opened, [scanning.Range(ORDERS, 0, 3)])]


def copied(consumer, monkeypatch):
    """Its transactions are shorter than it waits."""
    monkeypatch.setattr(record_copy, "_SECONDS", 0.1)
    sent = []
    producer = types.SimpleNamespace(
        poll=lambda _seconds: None, produce=lambda _topic, value, *_rest: sent.append(int(value))
    )
    transactions = types.SimpleNamespace(
        producer=producer, transaction=contextlib.nullcontext, flush=lambda _lost: None, throttled=0
    )
    held = types.SimpleNamespace(
        transactions=transactions,
        job=types.SimpleNamespace(bytes_per_second=None),
        check_owned=lambda _ranges: None,
        commit=lambda _ranges: None,
    )
    task = record_copy._CopyTask(BacklogRange(ORDERS, 0, 3, ORDERS, 0), Progress(0), [])
    opened = Opened(SOURCE, consumer, {"orders": 1}, [])
    record_copy._Copy(SOURCE, opened, held, {ORDERS: task}, 1000, lambda: None, SendWindow()).run()
    return sent


@pytest.mark.parametrize("read", [scanned, ranges, whole, copied])
class TestReaders:
    @pytest.mark.parametrize(
        "code", [KafkaError.UNKNOWN, KafkaError.REQUEST_TIMED_OUT, KafkaError.NOT_LEADER_FOR_PARTITION]
    )
    def test_an_error_that_passes_is_waited_out(self, read, code, monkeypatch):
        """Of the errors as librdkafka hands them over, none says that it is retriable."""
        assert not KafkaError(code).retriable()
        consumer = Consumer([record(0), error(1, code)], [error(1, code)], [], [record(1), record(2)])
        assert read(consumer, monkeypatch) == [0, 1, 2]

    def test_an_error_that_comes_again_and_again_is_no_sign_of_life(self, read, monkeypatch):
        consumer = Consumer([record(0)], forever=[error(1)])
        with pytest.raises(BrokerError, match=r"partition 0: the records from offset 1 on .*(?i:unknown)"):
            read(consumer, monkeypatch)

    def test_an_error_after_which_nothing_comes_is_what_is_told(self, read, monkeypatch):
        with pytest.raises(BrokerError, match=r"partition 0: the records from offset 1 on cannot be read"):
            read(Consumer([record(0)], [error(1, KafkaError.REQUEST_TIMED_OUT)]), monkeypatch)

    def test_an_end_that_a_new_leader_shows_for_a_moment_is_waited_out(self, read, monkeypatch):
        consumer = Consumer([record(0), error(1, KafkaError._PARTITION_EOF)], [], [record(1), record(2)], log_end=3)
        assert read(consumer, monkeypatch) == [0, 1, 2]

    def test_a_truncation_is_told_at_once(self, read, monkeypatch):
        consumer = Consumer([record(0), error(1, KafkaError._PARTITION_EOF)], [record(1)], [record(2)], log_end=1)
        with pytest.raises(LogChanged, match="orders, partition 0: the log ends at 1, and 3 was expected"):
            read(consumer, monkeypatch)
        assert consumer.batches, "it is not waited for"

    def test_silence_is_told(self, read, monkeypatch):
        with pytest.raises(
            BrokerError, match="orders, partition 0: no record and no end of the log at offset 1 within"
        ):
            read(Consumer([record(0)]), monkeypatch)
