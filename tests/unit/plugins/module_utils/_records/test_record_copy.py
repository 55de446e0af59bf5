"""A copy whose source expires while it runs copies what is left, and names a record that the destination does not take."""

import contextlib
import types

import pytest
from confluent_kafka import KafkaError, KafkaException

from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import BacklogRange
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.copy_progress import Progress, Run
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import BrokerError, LogChanged, Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._records import record_copy
from ansible_collections.streamshift.kafka.plugins.module_utils._records.consumer_client import Opened
from ansible_collections.streamshift.kafka.plugins.module_utils._records.jobs import Job
from ansible_collections.streamshift.kafka.plugins.module_utils._records.transactions import Transactions
from tests.support.expiring_log import PARTITION, LogConsumer, records

NOWHERE = connection_from({"bootstrap_servers": "127.0.0.1:1", "request_timeout": 1}, "source cluster")
RANGE = BacklogRange(PARTITION, 100, 200, PARTITION, 0, (100, 150, 180))


class Destination:
    """A producer in one transaction after another, and the hold on the copy's progress; copies lie from offset 0 on."""

    def __init__(self, job):
        self.job, self.progress = job, {PARTITION: Progress(100)}
        self.producer = self.transactions = self
        self.aborts = 0
        self.throttled, self.written, self.ended, self.landings, self.told = 0, [], [], [], []
        self._throttled, self.begin_transaction = [], lambda: None
        self.check_owned = lambda ranges: None
        self.renew = lambda: None
        self.held = [self]

    transaction = Transactions.transaction

    def abort(self):
        self.aborts += 1

    def produce(self, topic, value, key, partition, landed, *more):
        offset = len(self.written)
        self.written.append(value.decode())
        if landed is not None:
            self.landings.append((landed, offset))
            self.told.append(offset)

    def poll(self, _timeout):
        for landed, offset in self.landings:
            landed(None, types.SimpleNamespace(offset=lambda offset=offset: offset))
        self.landings.clear()

    def flush(self, _lost):
        self.poll(0)

    def commit(self, ranges):
        self.ended.append(self.progress[PARTITION].position)


class Refusing(Destination):
    """Refuses the record at offset 180 unless it comes compressed, and tells of that only when the transaction is aborted."""

    refusal = KafkaError.MSG_SIZE_TOO_LARGE

    def __init__(self, job, settings):
        super().__init__(job)
        self.compresses = "compression.type" in settings

    def produce(self, topic, value, *more):
        super().produce(topic, value, *more)
        if value == b"record 180" and not self.compresses:
            raise KafkaException(KafkaError(KafkaError._STATE))

    def failure(self, _error):
        for landed, offset in self.landings:
            error = KafkaError(self.refusal) if offset == 80 else None
            landed(error, types.SimpleNamespace(offset=lambda offset=offset: offset))
        return BrokerError("records cannot be written")


@pytest.fixture
def copied(monkeypatch):
    """Copies the range of a consumer's log, whose start was 100 when the job was made; -> what became of it."""

    def copy(consumer, kind=lambda job, _settings: Destination(job), segment=1 << 30):
        largest, segments = {"orders": 1 << 20}, {"orders": segment}
        run = Run("run", "host", 1, 1)
        job = Job("copy", 0, (RANGE,), run, ("progress",), {PARTITION: 100}, largest, segments)
        destination = None

        def hold(_destination, _jobs, settings):
            nonlocal destination
            destination = kind(job, settings)
            return contextlib.nullcontext(destination)

        opened = Opened(NOWHERE, consumer, {"orders": 1}, [])
        monkeypatch.setattr(record_copy, "hold_ids", hold)
        monkeypatch.setattr(record_copy, "open_consumer", lambda *_: contextlib.nullcontext(opened))
        record_copy.copy_jobs(NOWHERE, NOWHERE, [job])
        return destination

    return copy


def log(start, end=200):
    return records({offset: f"record {offset}" for offset in range(start, end)})


def test_what_expired_before_its_turn_came_is_counted_and_the_rest_is_copied(copied):
    destination = copied(LogConsumer(log(100), 150, 200))
    done = destination.progress[PARTITION].done()
    assert destination.written == [f"record {offset}" for offset in range(150, 200)]
    assert (done.records, done.expired, done.places) == (50, 50, {100: 0, 150: 0, 180: 30})
    assert destination.ended[-1] == 200


def test_what_expires_while_it_is_copied_is_counted_once(copied):
    destination = copied(LogConsumer(log(100), 100, 200, expires={3: 130, 4: 131, 6: 190}))
    numbers = [int(value.split()[1]) for value in destination.written]
    done = destination.progress[PARTITION].done()
    assert numbers == sorted(set(numbers)) and numbers[0] == 100 and numbers[-1] == 199
    assert done.records == len(numbers) < 100 and done.expired == 100 - len(numbers)
    assert destination.written[done.places[180]] == "record 190"


def test_a_range_that_has_expired_as_a_whole_ends(copied):
    destination = copied(LogConsumer([], 300, 400))
    done = destination.progress[PARTITION].done()
    assert (destination.written, done.records, done.expired, destination.ended) == ([], 0, 100, [200])


@pytest.mark.parametrize("end", [90, 150])
def test_a_log_that_was_cut_fails(copied, end):
    with pytest.raises(LogChanged):
        copied(LogConsumer(log(80, end), 80, end))


def test_nobody_asks_where_a_log_starts_that_keeps_its_records(copied):
    consumer = LogConsumer(log(100), 100, 200)
    assert copied(consumer).progress[PARTITION].done().records == 100
    assert consumer.asked == 0


def test_a_record_that_is_refused_while_others_follow_is_sent_compressed(copied):
    destination = copied(LogConsumer(log(100), 100, 200), Refusing)
    assert destination.compresses and len(destination.written) == 100


@pytest.mark.parametrize(
    "refusal, limit",
    [
        (KafkaError.MSG_SIZE_TOO_LARGE, "max.message.bytes is 1,048,576"),
        (KafkaError.RECORD_LIST_TOO_LARGE, "segment.bytes is 50,000"),
    ],
)
def test_a_record_that_is_refused_while_others_follow_is_named(copied, refusal, limit):
    def refuses(job, _settings):
        destination = Refusing(job, {})
        destination.refusal = refusal
        return destination

    with pytest.raises(Refused, match=f"the record at source offset 180 of orders-0 has 10 bytes, and {limit}"):
        copied(LogConsumer(log(100), 100, 200), refuses, segment=50_000)


@pytest.mark.parametrize("segment, batch", [(50_000, 45_000), (1 << 30, 943_718)])
def test_a_batch_is_no_larger_than_a_segment(copied, segment, batch):
    found = {}

    def destination(job, settings):
        found.update(settings)
        return Destination(job)

    copied(LogConsumer(log(100), 100, 200), destination, segment)
    assert found["batch.size"] == batch


def test_a_transaction_ends_early_where_headers_are_large(copied, monkeypatch):
    monkeypatch.setattr(record_copy, "_BYTES", 25_000)
    numbered = {offset: f"record {offset}" for offset in range(100, 200)}
    destination = copied(LogConsumer(records(numbered, headers=[("name", b"x" * 1000), ("empty", None)]), 100, 200))
    assert len(destination.ended) >= 4
    assert destination.progress[PARTITION].bytes == 100 * len("record 100")


def test_it_is_known_what_becomes_of_a_record_with_large_headers(copied):
    large = records({135: "record 135"}, headers=[("name", b"x" * (2 << 20))])
    destination = copied(LogConsumer([*log(100, 135), *large, *log(136)], 100, 200))
    assert 35 in destination.told


def test_what_fails_when_another_job_is_renewed_is_not_this_job_s(copied):
    destinations = []

    def renewing(job, _settings):
        destination = Destination(job)
        destinations.append(destination)

        def renew():
            raise KafkaException(KafkaError(KafkaError.COORDINATOR_NOT_AVAILABLE))

        destination.renew = renew
        return destination

    with pytest.raises(KafkaException):
        copied(LogConsumer(log(100), 100, 200), renewing)
    assert destinations[0].aborts == 0
