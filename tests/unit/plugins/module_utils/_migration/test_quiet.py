"""The gate of a cut-over: groups are quiet when nobody is in them, and their commits stand still."""

import types
import typing as t

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration import quiet
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import ConnectionFailed, MigrationError
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import (
    CommittedOffset,
    GroupMember,
    GroupReading,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.selection import Selection

ONPREM = connection_from({"bootstrap_servers": ["127.0.0.1:1"]}, "source cluster")
ORDERS = TopicPartition("orders", 0)
WAIT = 5


class Groups:
    """One group, of which a test says when its members leave and when its commits stop; seconds pass by sleeping."""

    problem: MigrationError | None = None

    def __init__(self) -> None:
        self.now = 0.0
        self.leaves = 0.0
        self.stands = 0.0
        self.reads: list[float] = []
        self.asked: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def reading(self, name: str = "billing") -> GroupReading:
        offset = int(min(self.now, self.stands))
        state = "Stable" if self.now < self.leaves else "Empty"
        return GroupReading(name, True, state, "classic", "consumer", {ORDERS: CommittedOffset(offset)})

    def read_groups(self, _connection: object, names: t.Sequence[str], **_how: object) -> dict[str, GroupReading]:
        self.reads.append(self.now)
        return {name: self.reading(name) for name in names}

    def members(self, _connection: object, names: t.Sequence[str]) -> dict[str, list[GroupMember]]:
        self.asked.append(self.now)
        if self.problem:
            raise self.problem
        return {name: [GroupMember("worker-1", "10.0.0.7")] for name in names}

    def watch(self, idle_wait: float = WAIT, stop_timeout: float = 0, only_all: bool = False) -> quiet.Seen:
        self.lines: list[str] = []
        first = {"billing": self.reading()}
        return quiet.watch(
            ONPREM, first, Selection(groups=("billing",)), idle_wait, stop_timeout, self.lines.append, only_all
        )


@pytest.fixture
def groups(monkeypatch):
    fake = Groups()
    monkeypatch.setattr(quiet, "groups", fake)
    monkeypatch.setattr(quiet, "group_members", fake.members)
    monkeypatch.setattr(quiet, "time", types.SimpleNamespace(monotonic=fake.monotonic, sleep=fake.sleep))
    return fake


def test_quiet_groups_are_read_twice_and_no_longer_waited_for(groups):
    seen = groups.watch(stop_timeout=60)
    assert (seen.busy, groups.now, groups.lines) == (set(), WAIT, [])
    assert groups.reads == [WAIT]


def test_members_are_waited_for_and_named(groups):
    groups.leaves = 20
    seen = groups.watch(stop_timeout=60)
    assert seen.busy == set()
    assert groups.now == 20 + WAIT
    assert groups.lines[0] == (
        "waiting for consumers to stop: billing has members (its state is Stable): client worker-1 on 10.0.0.7 (60 s left)"
    )


def test_a_member_that_stays_is_named_when_the_time_is_up(groups):
    groups.leaves = 1000
    seen = groups.watch(stop_timeout=60, only_all=True)
    assert seen.active == ["billing"]
    assert seen.members == {"billing": [GroupMember("worker-1", "10.0.0.7")]}
    assert groups.now == 60


def test_members_that_stay_are_asked_for_when_the_wait_begins_and_when_it_ends(groups):
    groups.leaves = 1000
    groups.watch(stop_timeout=60, only_all=True)
    assert groups.asked == [0, 60]


def test_members_that_nobody_tells_end_no_wait(groups):
    groups.leaves, groups.problem = 20, ConnectionFailed("cannot connect")
    assert groups.watch(stop_timeout=60).active == []
    assert groups.lines[0] == "waiting for consumers to stop: billing has members (its state is Stable) (60 s left)"
    groups.leaves = 1000
    assert groups.watch(stop_timeout=30, only_all=True).members == {}


def test_commits_that_move_without_members_are_waited_for(groups):
    groups.stands = 20
    seen = groups.watch(stop_timeout=60)
    assert seen.busy == set()
    assert groups.now >= 20 + WAIT
    assert "billing has commits that move (orders-0 from" in groups.lines[0]


def test_commits_that_never_stand_still_are_told(groups):
    groups.stands = 1000
    assert [each.partition for each in groups.watch(stop_timeout=30).moving["billing"]] == [ORDERS]


def test_without_a_timeout_the_groups_are_looked_at_once(groups):
    groups.leaves = groups.stands = 1000
    seen = groups.watch()
    assert (seen.active, groups.now) == (["billing"], WAIT)
    assert groups.watch(only_all=True).active == ["billing"]
    assert groups.now == WAIT
