# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Claim a copy for one run, before any of its workers begins: whoever has it ends, and its progress names the new run."""

from __future__ import annotations

import contextlib
import time
import typing as t
from concurrent.futures import ThreadPoolExecutor

from .._model.backlog import BacklogRange
from .._model.connection import Connection
from .._model.copy_progress import Progress, Run, progress_commits, transactional_id, transactional_number
from .._model.errors import Fenced, Locked
from .._model.grouping import values_by_key
from .._model.records import TopicPartition
from .keepers import Keepers, taken_over
from .transactions import Transactions

KnownProgress: t.TypeAlias = "dict[TopicPartition, Progress | None]"


class Claimed(t.NamedTuple):
    """What a run claims. progress: what is known of each partition from now on.

    is_first: no earlier run has claimed any of it, as far as progress and logs show.
    """

    progress: dict[TopicPartition, Progress]
    is_first: bool


class Lost(t.NamedTuple):
    """Nothing is claimed, because the progress of these partitions is gone. ends: where their logs end."""

    ends: dict[TopicPartition, int]


Decide = t.Callable[[KnownProgress], "Claimed | Lost"]

_TRIES = 5  # a run that is slow to take the ids over may fence another one more than once
_SETTLED_SECONDS = 3.0  # between taking a transactional id over and claiming its partitions lie a few round trips
_PATIENCE_SECONDS = 10.0  # after these, the later run would have claimed everything, unless it has ended


def claim(
    destination: Connection,
    name: str,
    groups: t.Sequence[str],
    ranges: t.Sequence[BacklogRange],
    run: Run,
    decide: Decide,
) -> Claimed | Lost:
    """Fence whoever copies the same, and commit what is to be known of each partition from now on, as this run's.

    ranges: all of the copy, also those without anything to copy, of which another run may see it otherwise. decide: what is
    claimed, from what was kept, or that nothing is, which is the result then; it is called when nobody else writes to the
    destination under this name any more, and may raise. Raises as Transactions does, and Locked, or what taken_over()
    says, where yet another run has come between.

    Two runs that claim at the same moment may fence each other, each on some transactional ids. Then each finds claims of both,
    and the one that was started later tries again, until the other one gives up. If it has ended, the other one tries
    again. So one of them goes on, and never both.
    """
    copied = [each for each in ranges if each.copies]
    tries = 0
    with contextlib.closing(Keepers(destination, groups)) as keepers:
        while True:
            try:
                return _claimed(keepers, name, ranges, run, decide)
            except (Fenced, Locked) as exc:
                tries += 1
                if tries == _TRIES or not _goes_on(destination, groups[0], run, copied):
                    lost = taken_over(destination, groups[0], run, copied) if isinstance(exc, Fenced) else exc
                    raise lost from None


def _claimed(keepers: Keepers, name: str, ranges: t.Sequence[BacklogRange], run: Run, decide: Decide) -> Claimed | Lost:
    numbered = values_by_key((transactional_number(each.destination), each) for each in ranges)
    opened = _taken(keepers, [transactional_id(name, number) for number in numbered])
    copied = [each for each in ranges if each.copies]
    decision = decide(keepers.progress(copied))
    if isinstance(decision, Lost):
        return decision
    progress = decision.progress
    for backlog_range in copied:
        claimed = progress[backlog_range.destination]
        claimed.run, claimed.end, claimed.throttled = run, backlog_range.end, 0

    def commit(transactions: Transactions, ranges_of_id: t.Sequence[BacklogRange]) -> None:
        if own := [each for each in ranges_of_id if each.copies]:
            with transactions.transaction():
                transactions.commit(progress_commits(own, progress, len(keepers.consumers)))

    with ThreadPoolExecutor(max(1, len(numbered))) as pool:
        list(pool.map(commit, opened, numbered.values()))
    # A commit is answered before everybody sees what it holds; and a third run may have come between.
    keepers.owned(run, copied)
    return decision


def _goes_on(destination: Connection, group: str, run: Run, ranges: t.Sequence[BacklogRange]) -> bool:
    """Does this run, which was fenced while it claimed, try again? Then it has fenced the other one, too.

    Where the other one has claimed every partition, or does so in a moment, it is that one's copy. What a transaction has
    committed is seen a moment after its end. The one that was started later tries again at once. The other one waits for that:
    a run that has begun to copy ends when it is fenced, also if it was started later, and then nobody would go on.
    """
    with contextlib.closing(Keepers(destination, [group], stable=False)) as keepers:
        begin = time.monotonic()
        while True:
            named = [each.run if each else None for each in keepers.progress(ranges).values()]
            ids = {each.id if each else None for each in named}
            if len(ids) == 1 and None not in ids and run.id not in ids:
                return False
            is_later = all(
                (run.started, run.id) > (each.started, each.id) for each in named if each and each.id != run.id
            )
            if time.monotonic() > begin + _SETTLED_SECONDS + (0 if is_later else _PATIENCE_SECONDS):
                return run.id in ids
            time.sleep(0.2)


def fence(destination: Connection, ids: t.Sequence[str]) -> None:
    """Take these transactional ids over: nobody else can write under them any more, and their open transactions are aborted."""
    _taken(Keepers(destination, []), ids)


def _taken(keepers: Keepers, ids: t.Sequence[str]) -> list[Transactions]:
    with ThreadPoolExecutor(max(1, len(ids))) as pool:  # each waits for its coordinator most of the time
        return list(pool.map(lambda transactional_id: Transactions(keepers, transactional_id), ids))
