"""Each record is copied once, and the place of every boundary is known, whatever happens to those who copy."""

import bisect
import contextlib
import dataclasses
import itertools
import random
import signal
import threading
import time
import typing as t

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import BacklogRange
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.copy_progress import (
    Run,
    progress_groups,
    transactional_number,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.copy_progress import (
    progress_from_commits as read_progress,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._records.jobs import Job
from testbed import clients
from testbed.background import Background
from tests.support.killing import Attempt, Step
from tests.support.logs import compacted_log

KILLS = 10
FOREIGN = b"FOREIGN"
HEADERS = ((), (("a", b"1"), ("a", b"2"), ("n", None), ("e", b"")), (("trace", b"x"),))


def message(random, number, partition, old):
    """Keys and values with every kind of nothing, and times out of order."""
    key = None if number % 7 == 0 else b"" if number % 103 == 0 else b"k%d" % number
    value = None if number % 17 == 0 else b"" if number % 101 == 0 else b"v%d" % number + b"x" * random.randrange(150)
    return clients.Message(value, key, HEADERS[number % 3], old + random.randrange(-(10**7), 10**7), partition)


def transactions(random, records, partition, old):
    """So many records in transactions, and a quarter of the transactions, with more records, aborted."""
    number = 0
    while number < records:
        count, ends_well = random.choice((1, 3, 40, 200)), random.random() >= 0.25
        messages = [message(random, number + each, partition, old) for each in range(count)]
        yield [each if ends_well else each._replace(value=b"ABORTED") for each in messages], ends_well
        number += count * ends_well


def with_gaps(cluster, topic, messages):
    """A topic of which compaction has left a third, with gaps everywhere."""
    keys = (b"once %d" % at if at % 3 == 0 else b"again %d" % (at % 7) for at in range(len(messages)))
    keyed = [each._replace(key=key) for each, key in zip(messages, keys, strict=True)]
    compacted_log(cluster, topic, keyed, left=len(messages) // 2)
    clients.change_topic(cluster, topic, cleanup_policy="delete", retention_ms=-1)  # what is left now stays


def number_of(each: BacklogRange) -> int:
    return transactional_number(each.destination)


class Copied:
    """What is copied: a plain partition, two transactional ones and a compacted one, with boundaries everywhere."""

    def __init__(self, source, destination, topic, seed, records):
        self.random = random.Random(seed)
        self.servers, self.source = destination, connection_from(source.connection, "source cluster")
        self.destination = connection_from(destination.connection, "destination cluster")
        old = int(time.time() * 1000) - 5 * 86_400_000
        self.topics = [topic, f"{topic}-compacted"]
        clients.create_topic(source, topic, 3, retention_ms=-1)
        clients.produce(source, topic, [message(self.random, number, 0, old) for number in range(records)])
        for partition in (1, 2):
            clients.produce_in_transactions(source, topic, transactions(self.random, records, partition, old))
        with_gaps(source, self.topics[1], [message(self.random, number, 0, old) for number in range(600)])
        clients.create_topic(destination, topic, 3, retention_ms=-1)
        clients.create_topic(destination, self.topics[1], 1, retention_ms=-1)
        self.wanted: dict[TopicPartition, list[clients.Stored]] = {}
        ranges = [
            self.some_of(where, its, boundaries=250 if where.partition == 1 else 60)
            for where, its in sorted(self.all_of(source).items())
        ]
        self.ranges, self.groups = ranges, tuple(progress_groups(topic, ranges))
        nobody = Run("", "", 0, 0)
        largest, segments = dict.fromkeys(self.topics, 1_000_000), dict.fromkeys(self.topics, 1 << 30)
        self.jobs = [
            Job(topic, number, tuple(its), nobody, self.groups, {}, largest, segments)
            for number, its in itertools.groupby(sorted(ranges, key=number_of), number_of)
        ]
        self.bytes = sum(len(each.key or b"") + len(each.value or b"") for its in self.wanted.values() for each in its)

    def all_of(self, cluster) -> dict[TopicPartition, list[clients.Stored]]:
        found: dict[TopicPartition, list[clients.Stored]] = {}
        for topic in self.topics:
            for each in clients.read(cluster, topic):
                found.setdefault(TopicPartition(topic, each.partition), []).append(each)
        return found

    def some_of(self, where, its, boundaries):
        """A range that begins and ends anywhere, and boundaries on records, in gaps, and on both sides of them."""
        start, end = self.random.randrange(40), its[-1].offset + 1 - self.random.randrange(30)
        self.wanted[where] = its = [each for each in its if start <= each.offset < end]
        offsets = [each.offset for each in its]
        edges = [at for one, two in itertools.pairwise(offsets) if two > one + 1 for at in (one + 1, two - 1, two)]
        chosen = {start, end - 1, *self.random.sample(edges, min(len(edges), boundaries // 2))}
        while len(chosen) < min(boundaries, end - start):
            chosen.add(self.random.randrange(start, end))
        return BacklogRange(where, start, end, where, 0, tuple(sorted(chosen)))

    def attempt(self, step: Step | None = None, seconds: float | None = None) -> Attempt:
        """seconds: how long it would take to copy everything; None for as fast as it goes."""
        limit = seconds and self.bytes / seconds
        return Attempt(self.source, self.destination, [job._replace(bytes_per_second=limit) for job in self.jobs], step)

    def places(self, each: BacklogRange) -> dict[int, int]:
        """Where each boundary came to lie, as the progress groups tell."""
        commits = []
        for group in self.groups:
            found = clients.committed(self.servers, group).get(tuple(each.destination))
            commits.append(CommittedOffset(*found) if found else None)
        done = dataclasses.replace(each, done=read_progress(each.start, commits).done())
        return {boundary: done.place(boundary) for boundary in each.boundaries}

    def check(self):
        """Everything is there once and in order, every boundary exact, nothing is left to do, and nobody held back."""
        for where in self.wanted:
            clients.produce(self.servers, where.topic, [clients.Message(FOREIGN, b"last", partition=where.partition)])
        found = self.all_of(self.servers)
        for each in self.ranges:
            its, wanted = found[each.destination], self.wanted[each.source]
            assert its[-1].key == b"last"
            copies = [copy for copy in its if copy.value != FOREIGN]
            assert [copy[2:] for copy in copies] == [record[2:] for record in wanted]
            offsets = [record.offset for record in wanted]
            after = copies[-1].offset + 1
            ranks = {boundary: bisect.bisect_left(offsets, boundary) for boundary in each.boundaries}
            assert self.places(each) == {
                boundary: copies[rank].offset if rank < len(copies) else after for boundary, rank in ranks.items()
            }
        assert self.attempt().outcome() == 0


@contextlib.contextmanager
def foreign_writer(copied: Copied) -> t.Iterator[None]:
    """Somebody writes to all partitions that are copied to."""

    def write(over: threading.Event) -> None:
        producer = clients.open_producer(copied.servers)
        while not over.wait(0.005):
            where = random.choice(list(copied.wanted))
            producer.produce(where.topic, FOREIGN, partition=where.partition)
            producer.poll(0)
        assert not producer.flush(30)

    with Background(write):
        yield


def killed_at_random(copied: Copied, kills: int) -> None:
    """Kill attempts at random moments, some of them before they have begun anything."""
    for number in range(kills):
        attempt = copied.attempt(seconds=20)
        if number % 5:
            attempt.begun()
        time.sleep(copied.random.uniform(0, 0.4))
        assert attempt.kill(), "all was copied before it could be killed"


def test_killed_at_random_moments(source, destination, topic):
    copied = Copied(source, destination, topic, seed=1, records=2500)
    assert len(copied.groups) == 3
    with foreign_writer(copied):
        killed_at_random(copied, KILLS)
        before = sum(len(its) for its in copied.wanted.values())
        assert 0 < copied.attempt().outcome() < before
    copied.check()


@pytest.mark.parametrize(("source_name", "destination_name"), [("old", "destination"), ("source", "old")])
def test_killed_on_other_versions(request, topic, source_name, destination_name):
    copied = Copied(
        request.getfixturevalue(source_name), request.getfixturevalue(destination_name), topic, seed=2, records=1000
    )
    with foreign_writer(copied):
        killed_at_random(copied, 8)
        copied.attempt().outcome()
    copied.check()


def test_what_expires_before_its_turn_comes_is_left_out(source, destination, topic):
    copied = Copied(source, destination, topic, seed=5, records=500)
    starts = {0: 200, 1: 300}
    clients.delete_records(source, topic, starts)
    for number, start in starts.items():
        where = TopicPartition(topic, number)
        copied.wanted[where] = [each for each in copied.wanted[where] if each.offset >= start]
    assert copied.attempt().outcome() == sum(map(len, copied.wanted.values()))
    copied.check()


STEPS = [
    Step("init_transactions", "before"),
    Step("init_transactions", "during"),
    Step("init_transactions", "after"),
    Step("begin_transaction", "after"),
    Step("produce", "after", 30),
    Step("flush", "before", 2),
    Step("flush", "during", 2),
    Step("flush", "after", 2),
    Step("send_offsets_to_transaction", "during", 2),
    Step("send_offsets_to_transaction", "after", 2),
    Step("commit_transaction", "before", 2),
    Step("commit_transaction", "during", 2),
    Step("commit_transaction", "after", 2),
]


def test_killed_at_every_step(source, destination, topic):
    copied = Copied(source, destination, topic, seed=3, records=2500)
    with foreign_writer(copied):
        for step in STEPS:
            assert copied.attempt(step).died(), step
        assert copied.attempt().outcome() > 0
    copied.check()


FREEZES = [
    Step("produce", "after", 150, signal.SIGSTOP),
    Step("flush", "after", 3, signal.SIGSTOP),
    Step("send_offsets_to_transaction", "after", 8, signal.SIGSTOP),
    Step("commit_transaction", "during", 3, signal.SIGSTOP),
]


def test_who_was_frozen_writes_nothing_when_another_has_taken_over(source, destination, topic):
    copied = Copied(source, destination, topic, seed=4, records=1500)
    with foreign_writer(copied):
        frozen = []
        for step in FREEZES:  # each takes over from the one before
            frozen.append(copied.attempt(step))
            frozen[-1].frozen()
        last = copied.attempt(seconds=5)
        last.begun()
        for attempt in frozen[::2]:
            assert_fenced(attempt)
        assert last.process.is_alive()
        assert last.outcome() > 0
        for attempt in frozen[1::2]:
            assert_fenced(attempt)
    copied.check()


def assert_fenced(attempt):
    attempt.thaw()
    assert "another run copies the same records, and has taken over" in attempt.outcome()
