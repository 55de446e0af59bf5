# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What one worker copies, and its hold on it: the transactional ids of all its jobs, from its beginning to its end."""

from __future__ import annotations

import contextlib
import dataclasses
import time
import typing as t
from concurrent.futures import ThreadPoolExecutor

from .._model.backlog import BacklogRange
from .._model.connection import Connection
from .._model.copy_progress import Progress, Run, progress_commits, transactional_id
from .._model.errors import Fenced
from .._model.records import TopicPartition
from .keepers import Keepers, taken_over
from .transactions import Transactions


class Job(t.NamedTuple):
    """What is copied under one transactional id, and how. name: of the whole copy. number: see transactional_number().

    run: who copies. groups: the progress groups of the whole copy. log_starts: where the source's logs begin now, for records
    may have expired since the copy was planned. largest: what each of the destination's topics takes as a batch, in bytes,
    compressed. segments: their segment.bytes, which no batch may exceed either. renew_seconds: after which progress is
    committed again though nothing has changed; None for never.
    bytes_per_second: of keys, values and headers, None for as fast as it goes.
    """

    name: str
    number: int
    ranges: tuple[BacklogRange, ...]
    run: Run
    groups: tuple[str, ...]
    log_starts: dict[TopicPartition, int]
    largest: dict[str, int]
    segments: dict[str, int]
    renew_seconds: float | None = None
    bytes_per_second: float | None = None


@dataclasses.dataclass(slots=True)
class Held:
    """A job, its transactional producer, and how far its ranges are, by destination partition."""

    job: Job
    keepers: Keepers
    transactions: Transactions
    progress: dict[TopicPartition, Progress]

    def check_owned(self, ranges: t.Sequence[BacklogRange]) -> None:
        """Raise as Keepers.owned() where these ranges are this run's no longer."""
        self.keepers.owned(self.job.run, ranges)

    def commit(self, ranges: t.Sequence[BacklogRange]) -> None:
        """End the open transaction with the progress of these ranges."""
        self.transactions.commit(progress_commits(ranges, self.progress, len(self.job.groups)))


@dataclasses.dataclass(slots=True)
class Hold:
    """All that a worker holds."""

    held: list[Held]
    renewed: float = dataclasses.field(default_factory=time.monotonic)

    def renew(self) -> None:
        """Commit the progress of all jobs again, when it is time: brokers forget what is not committed for long.

        Only between transactions.
        """
        seconds = self.held[0].job.renew_seconds if self.held else None
        if seconds is None or time.monotonic() < self.renewed + seconds:
            return
        for held in self.held:
            held.check_owned(held.job.ranges)
            with held.transactions.transaction():
                held.commit(held.job.ranges)
        self.renewed = time.monotonic()


@contextlib.contextmanager
def hold_ids(destination: Connection, jobs: t.Sequence[Job], settings: t.Mapping[str, t.Any]) -> t.Iterator[Hold]:
    """Take over from whoever has copied these jobs for the same run; nobody else can write them, or their progress, any more.

    settings: librdkafka's properties for batches. Raises Locked and Refused as Keepers.owned(): before anybody is fenced where
    another run has the copy already.
    """
    first = jobs[0]
    ranges = [each for job in jobs for each in job.ranges]

    def take(job: Job) -> Held:
        transactions = Transactions(keepers, transactional_id(job.name, job.number), settings)
        return Held(job, keepers, transactions, {})

    with contextlib.closing(Keepers(destination, first.groups[:1], stable=False)) as glance:
        glance.owned(first.run, ranges)
    try:
        with contextlib.closing(Keepers(destination, first.groups)) as keepers:
            with ThreadPoolExecutor(len(jobs)) as pool:  # each waits for its coordinator most of the time
                held = list(pool.map(take, jobs))
            progress = keepers.owned(first.run, ranges)
            for held_job in held:
                held_job.progress = {each.destination: progress[each.destination] for each in held_job.job.ranges}
            yield Hold(held)
    except Fenced as exc:
        raise taken_over(destination, first.groups[0], first.run, ranges) from exc
