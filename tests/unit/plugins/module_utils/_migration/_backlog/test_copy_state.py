"""How a copy is told of while it runs, and how it renews its progress, because brokers delete commits that nobody renews."""

import contextlib
import threading
import types

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog import copy_state
from ansible_collections.streamshift.kafka.plugins.module_utils._model import background
from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import Backlog, BacklogRange
from ansible_collections.streamshift.kafka.plugins.module_utils._model.copy_progress import (
    BOUNDARIES,
    Progress,
    Run,
    all_groups,
    progress_commits,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import BrokerError
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset, GroupReading
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import Note, NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._records import jobs
from tests.support.memory_brokers import DESTINATION

MINE, OTHER = Run("mine", "here", 1, 1), Run("other", "there", 2, 2)
HOUR = 3600.0


def a_range(number, boundaries=()):
    return BacklogRange(TopicPartition("here", number), 0, 100, TopicPartition("there", number), 0, boundaries)


COPIED, GOING_ON, THEIRS, DAMAGED = a_range(0, tuple(range(BOUNDARIES + 1))), a_range(1), a_range(2), a_range(3)
BACKLOG = Backlog("streamshift-copy-1", "a", "b", "c", (), (COPIED, GOING_ON, THEIRS, DAMAGED))


class TestTold:
    @pytest.fixture
    def told(self, monkeypatch):
        def ask(minutes, size, bytes_per_second=None):
            monkeypatch.setattr(copy_state, "broker_number", lambda _connection, name: asked.append(name) or minutes)
            asked, said = [], []
            seconds, notes = copy_state.seconds_kept(DESTINATION, size, bytes_per_second, said.append)
            assert asked == ["offsets.retention.minutes"]
            return seconds, said, notes

        return ask

    def test_a_copy_that_ends_in_time_says_nothing(self, told):
        assert told(60, 10**9, 10**6) == (HOUR, [], [])

    def test_one_that_does_not_says_so_and_warns(self, told):
        seconds, (line,), notes = told(60, 10**10, 10**6)
        assert seconds == HOUR and notes == [Note(NoteKind.PROGRESS_EXPIRES, line)]
        assert "delete progress that is 1 h old (offsets.retention.minutes), and the copy may take 2.8 h" in line
        assert "renews its progress while it runs. If it is killed, run it again" in line

    def test_where_nobody_can_know_one_day_is_assumed_and_said(self, told):
        seconds, (line,), notes = told(None, 0)
        assert seconds == 24 * HOUR and not notes
        assert "24 h old (assumed, because this user may not read offsets.retention.minutes)" in line


class Brokers:
    """What the progress groups hold, and what is committed to them."""

    def __init__(self, monkeypatch):
        progress = {
            COPIED.destination: Progress(100, 100, places=dict.fromkeys(COPIED.boundaries, 7), end=100, run=MINE),
            GOING_ON.destination: Progress(99, 99, end=100, run=MINE),
            THEIRS.destination: Progress(100, 100, end=100, run=OTHER),
        }
        self.names = all_groups(BACKLOG)
        held = progress_commits(BACKLOG.ranges[:3], progress, len(self.names))
        self.offsets = {name: dict(commits) for name, commits in zip(self.names, held, strict=True)}
        self.offsets[self.names[0]][DAMAGED.destination] = CommittedOffset(100, "of nobody")
        self.committed, self.failures = [], 0
        monkeypatch.setattr(copy_state.groups, "read_groups", self.read)
        self.during = dict  # what happens while a commit is tried, and which errors that has
        monkeypatch.setattr(copy_state.commits, "commit_offsets", self.commit)
        monkeypatch.setattr(copy_state.time, "sleep", lambda _seconds: None)

    def commit(self, _connection, wanted, deadline):
        assert deadline == 0, "what was read is old by the second try"
        self.committed.append(wanted)
        return self.during()

    def read(self, _connection, names, stable=True):
        assert not stable, "workers have transactions open"
        if self.failures:
            self.failures -= 1
            raise BrokerError("not now")
        return {name: GroupReading(name, True, "Empty", "classic", "", self.offsets[name]) for name in names}


@pytest.fixture
def brokers(monkeypatch):
    return Brokers(monkeypatch)


class Clock:
    """Stands for the event that ends the renewing: time passes at once, so often."""

    def __init__(self, times):
        self.left, self.waited, self.over = times, [], False

    def wait(self, seconds):
        self.waited.append(seconds)
        self.left -= 1
        return self.left < 0

    def set(self):
        self.over = True


@pytest.fixture
def hours(monkeypatch, brokers):
    def pass_by(times):
        clock = Clock(times)
        fake = types.SimpleNamespace(Event=lambda: clock, Thread=threading.Thread)
        monkeypatch.setattr(background, "threading", fake)
        with copy_state.renewed(BACKLOG, DESTINATION, 4 * HOUR, MINE):
            pass
        assert clock.over
        return clock.waited

    return pass_by


class TestRenewed:
    def test_what_this_run_has_copied_in_every_group_and_nothing_else(self, brokers, hours):
        first, second = brokers.names
        hours(1)
        where = COPIED.destination
        assert brokers.committed == [
            {first: {where: brokers.offsets[first][where]}, second: {where: brokers.offsets[second][where]}}
        ]

    def test_well_before_the_retention_is_over_again_and_again(self, brokers, hours):
        assert hours(3) == [HOUR] * 4
        assert len(brokers.committed) == 3

    def test_what_fails_is_tried_again(self, brokers, hours):
        brokers.failures = 2
        hours(3)
        assert len(brokers.committed) == 1

    def test_what_another_run_has_taken_over_since_is_not_tried_again(self, brokers, hours):
        where, (first, second) = COPIED.destination, brokers.names

        def taken_over():
            progress = {where: Progress(100, 100, places=dict.fromkeys(COPIED.boundaries, 7), end=100, run=OTHER)}
            for name, commits in zip(brokers.names, progress_commits([COPIED], progress, 2), strict=True):
                brokers.offsets[name] |= dict(commits)
            brokers.during = dict
            return {first: {where: "NOT_COORDINATOR"}, second: {}}

        brokers.during = taken_over
        hours(1)
        assert [where in commits[first] for commits in brokers.committed] == [True, False]


class TestHeld:
    """What a worker has not finished, it renews itself, between its transactions."""

    class Held:
        def __init__(self, log):
            self.job = jobs.Job("copy", 0, (GOING_ON,), MINE, ("g",), {}, {}, {}, renew_seconds=HOUR)
            self.log, self.transactions = log, self

        @contextlib.contextmanager
        def transaction(self):
            self.log.append("begin")
            yield

        def check_owned(self, ranges):
            self.log.append(("owned", ranges))

        def commit(self, ranges):
            self.log.append(("commit", ranges))

    def test_when_it_is_time(self, monkeypatch):
        now, log = [1000.0], []
        monkeypatch.setattr(jobs.time, "monotonic", lambda: now[0])
        hold = jobs.Hold([self.Held(log), self.Held(log)], renewed=now[0])
        now[0] += HOUR - 1
        hold.renew()
        assert log == []
        now[0] += 1
        hold.renew()
        assert log == [("owned", (GOING_ON,)), "begin", ("commit", (GOING_ON,))] * 2
        hold.renew()
        assert len(log) == 6  # not again at once

    def test_never_without_a_limit(self, monkeypatch):
        log = []
        held = self.Held(log)
        held.job = held.job._replace(renew_seconds=None)
        monkeypatch.setattr(jobs.time, "monotonic", lambda: 1e12)
        jobs.Hold([held], renewed=0.0).renew()
        assert log == []


def test_speed_and_time_left_are_those_since_the_first_look():
    pace = copy_state.Pace()
    assert pace.lines({"orders": copy_state.Amount(100, 5_000_000, 100, 1000)}, 10.0) == [
        "orders: 100 records copied, 10 %"
    ]
    (line,) = pace.lines({"orders": copy_state.Amount(400, 20_000_000, 400, 1000)}, 13.0)
    assert line == "orders: 400 records copied, 40 %, 5.0 MB/s, 6 s left"


def test_only_what_has_moved_is_said():
    pace = copy_state.Pace()
    still, moving = copy_state.Amount(1, 1, 1, 2), copy_state.Amount(0, 0, 0, 7300)
    pace.lines({"a": still, "b": moving}, 0.0)
    lines = pace.lines({"a": still, "b": copy_state.Amount(1, 1_000_000, 1, 7300)}, 1.0)
    assert [line.split(":")[0] for line in lines] == ["b", "all 2 topics"]
    assert lines[0].endswith("1.0 MB/s, 2 h 1 min left")
    assert pace.lines({"a": still, "b": copy_state.Amount(1, 1_000_000, 1, 7300)}, 2.0) == []


def test_many_topics_are_told_by_few_lines():
    pace = copy_state.Pace()
    lines = pace.lines({f"topic{number}": copy_state.Amount(1, 1, 1, 2) for number in range(100)}, 0.0)
    assert len(lines) < 10 and lines[-1].startswith("all 100 topics: 100 records copied, 50 %")


def test_partitions_count_together_and_those_without_anything_to_copy_do_not():
    ranges = (
        BacklogRange(TopicPartition("here", 0), 10, 60, TopicPartition("there", 0), 0),
        BacklogRange(TopicPartition("here", 1), 10, 60, TopicPartition("there", 1), 0),
        BacklogRange(TopicPartition("empty", 0), 5, 5, TopicPartition("empty", 0), 0),
    )
    progress = {ranges[0].destination: Progress(20, 9, 90), ranges[1].destination: Progress(60, 49, 10)}
    assert copy_state.amounts(Backlog("copy", "a", "b", "c", (), ranges), progress) == {
        "there": copy_state.Amount(58, 100, 60, 100)
    }
