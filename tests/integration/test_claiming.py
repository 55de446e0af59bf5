"""Runs that claim one copy at the same moment: exactly one of them goes on."""

import collections
import threading
import typing as t
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import BacklogRange
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.copy_progress import (
    Progress,
    Run,
    progress_from_commits,
    transactional_id,
    transactional_number,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import Locked
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._records import claiming
from ansible_collections.streamshift.kafka.plugins.module_utils._records.transactions import Transactions
from testbed.clients import Servers, committed, create_topic

Waits = t.Callable[[int, int], None]  # is told the number of a run, and of a partition

PARTITIONS = 4
STARTED = 1_700_000_000


class Contest:
    """Two runs that claim one copy of PARTITIONS partitions, run 0 and run 1, each under its own connection."""

    def __init__(self, destination: Servers, topic: str, started: tuple[int, int]) -> None:
        create_topic(destination, topic, PARTITIONS)
        self.servers, self.name = destination, f"streamshift-copy-{topic}"
        self.runs = [Run(f"run-{number}", f"host-{number}", 7, its) for number, its in enumerate(started)]
        self.connections = [connection_from(destination.plaintext, "destination cluster") for _unused in started]
        self.opened: collections.Counter[tuple[int, int]] = collections.Counter()  # by run and number of the id
        self._changed = threading.Condition()
        self._ranges = [
            BacklogRange(TopicPartition("orders", at), 0, 10, TopicPartition(topic, at), 0) for at in range(PARTITIONS)
        ]
        self.ids = [transactional_id(self.name, transactional_number(each.destination)) for each in self._ranges]

    def wait(self, until: t.Callable[[], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(until, 30)

    def claims(self, before_opening: Waits, before_claiming: t.Callable[[int], None]) -> list[t.Any]:
        """What each run claims, or why it does not. Both functions are told the run's number, and may wait."""

        def opens(keepers: t.Any, id_: str) -> Transactions:
            number, at = int(keepers.destination is self.connections[1]), self.ids.index(id_)
            before_opening(number, at)
            transactions = Transactions(keepers, id_)
            with self._changed:
                self.opened[number, at] += 1
                self._changed.notify_all()
            return transactions

        with mock.patch.object(claiming, "Transactions", opens), ThreadPoolExecutor(2) as pool:
            return list(pool.map(lambda number: self.claim(number, before_claiming), range(2)))

    def claim(self, number: int, before_claiming: t.Callable[[int], None] = lambda _number: None) -> t.Any:
        """What one run claims, or why it does not."""

        def decide(kept: claiming.KnownProgress) -> claiming.Claimed:
            before_claiming(number)
            return claiming.Claimed({where: progress or Progress(0) for where, progress in kept.items()}, True)

        groups = [f"{self.name}-progress-0"]
        try:
            return claiming.claim(self.connections[number], self.name, groups, self._ranges, self.runs[number], decide)
        except Locked as exc:
            return str(exc)

    def owners(self) -> set[Run | None]:
        """Whose the partitions are in the end."""
        commits = committed(self.servers, f"{self.name}-progress-0").values()
        return {progress_from_commits(0, [CommittedOffset(*each)]).run for each in commits}

    def is_won_by(self, winner: int, said: list[t.Any]) -> None:
        assert isinstance(said[winner], claiming.Claimed), said
        assert "another run copies the same records" in said[1 - winner] and f"host-{winner}" in said[1 - winner]
        assert self.owners() == {self.runs[winner]}


@pytest.mark.parametrize("started", [(STARTED, STARTED + 1), (STARTED + 1, STARTED), (STARTED, STARTED)])
def test_of_two_that_fence_each_other_one_goes_on(destination, topic, started):
    """Each takes over half of the transactional ids after the other one has."""
    contest = Contest(destination, topic, started)

    def before_opening(number, at):
        if at % 2 != number and not contest.opened[number, at]:
            contest.wait(lambda: contest.opened[1 - number, at] > 0)

    def before_claiming(_number):
        contest.wait(lambda: len(contest.opened) == 2 * PARTITIONS)

    winner = max(range(2), key=lambda number: (started[number], number))
    contest.is_won_by(winner, contest.claims(before_opening, before_claiming))


def test_a_slow_run_that_fences_the_later_one_twice_does_not_end_both(destination, topic):
    """It takes over one transactional id, and the others when the later run has taken all of them for the second time."""
    contest = Contest(destination, topic, (STARTED, STARTED + 1))

    def before_opening(number, at):
        if number == 0:
            contest.wait(lambda: contest.opened[1, at] >= (2 if at else 1))

    def before_claiming(number):
        if number == 1:
            tries = contest.opened[1, 0]
            contest.wait(
                lambda: sum(contest.opened[0, at] for at in range(PARTITIONS)) >= {1: 1, 2: PARTITIONS}.get(tries, 0)
            )

    contest.is_won_by(1, contest.claims(before_opening, before_claiming))
    assert contest.opened[1, 0] == 3


def test_a_later_run_that_has_begun_to_copy_does_not_end_both(destination, topic, monkeypatch):
    """Its workers take all transactional ids but one back from a run that is claiming, and end because of that one."""
    monkeypatch.setattr(claiming, "_PATIENCE_SECONDS", 1.0)
    contest = Contest(destination, topic, (STARTED, STARTED + 1))
    assert isinstance(contest.claim(1), claiming.Claimed)
    workers = iter([contest.ids[1:]])
    said = contest.claim(0, lambda _number: claiming.fence(contest.connections[1], next(workers, [])))
    assert isinstance(said, claiming.Claimed), said
    assert contest.owners() == {contest.runs[0]}
