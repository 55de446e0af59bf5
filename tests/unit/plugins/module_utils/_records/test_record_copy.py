"""A copy whose source expires while it runs copies what is left, counts what has expired, and fails for a cut log only."""

import contextlib
import types

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import BacklogRange
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.copy_progress import Progress, Run
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import LogChanged
from ansible_collections.streamshift.kafka.plugins.module_utils._records import record_copy
from ansible_collections.streamshift.kafka.plugins.module_utils._records.consumer_client import Opened
from ansible_collections.streamshift.kafka.plugins.module_utils._records.jobs import Job
from tests.support.expiring_log import PARTITION, LogConsumer, records

NOWHERE = connection_from({"bootstrap_servers": "127.0.0.1:1", "request_timeout": 1}, "source cluster")
RANGE = BacklogRange(PARTITION, 100, 200, PARTITION, 0, (100, 150, 180))


class Destination:
    """A producer in one transaction after another, and the hold on the copy's progress; copies lie from offset 0 on."""

    def __init__(self, job):
        self.job, self.progress = job, {PARTITION: Progress(100)}
        self.producer = self.transactions = self
        self.throttled, self.written, self.ended, self.landings = 0, [], [], []
        self.begin = self.abort = lambda: None
        self.check_owned = lambda ranges: None
        self.renew = lambda: None
        self.held = [self]

    def produce(self, topic, value, key, partition, landed, *more):
        offset = len(self.written)
        self.written.append(value.decode())
        if landed is not None:
            self.landings.append((landed, offset))

    def poll(self, _timeout):
        for landed, offset in self.landings:
            landed(None, types.SimpleNamespace(offset=lambda offset=offset: offset))
        self.landings.clear()

    def flush(self, _lost):
        self.poll(0)

    def commit(self, ranges):
        self.ended.append(self.progress[PARTITION].position)


@pytest.fixture
def copied(monkeypatch):
    """Copies the range of a consumer's log, whose start was 100 when the job was made; -> what became of it."""

    def copy(consumer):
        job = Job("copy", 0, (RANGE,), Run("run", "host", 1, 1), ("progress",), {PARTITION: 100}, {"orders": 1 << 20})
        destination = Destination(job)
        opened = Opened(consumer, {"orders": 1}, [])
        monkeypatch.setattr(record_copy, "hold_ids", lambda *_: contextlib.nullcontext(destination))
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
