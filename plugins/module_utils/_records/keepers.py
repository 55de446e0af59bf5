# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Read the progress of a copy from its groups, which are never joined; and whose it is: the run that it names.

Who finds another run there, or nothing, ends.
"""

from __future__ import annotations

import contextlib
import time
import typing as t

from .._model.backlog import BacklogRange
from .._model.connection import Connection
from .._model.copy_progress import Progress, Run, progress_of
from .._model.errors import BrokerError, Locked, MigrationError, ProgressLost, Refused
from .._model.group_state import CommittedOffset
from .._model.records import TopicPartition
from . import refusals
from .confluent_library import Consumer, KafkaError, KafkaException
from .confluent_library import TopicPartition as Position
from .consumer_client import connected

_COMMITTED_SECONDS = 30.0
_NAMED_SECONDS = 10.0  # between taking a transactional id over and claiming its partitions lie a few round trips
_PASSING = (
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
)


class Keepers:
    """A consumer for each progress group, in order. close() in the end.

    stable: wait while a transaction that commits progress is open, instead of telling what was before it.
    """

    def __init__(self, destination: Connection, groups: t.Sequence[str], stable: bool = True) -> None:
        """Raises ConnectionFailed with the true reason where there is no connection."""
        self.destination, self._groups = destination, groups
        self.consumers: list[Consumer] = []
        level = {} if stable else {"isolation.level": "read_uncommitted"}
        try:
            for group in groups:
                self.consumers.append(connected(destination, {"group.id": group, **level}).consumer)
        except BaseException:
            self.close()
            raise

    def progress(self, ranges: t.Sequence[BacklogRange]) -> dict[TopicPartition, Progress | None]:
        """How far each range is, by destination partition; None where that was removed or changed.

        Final only for who has fenced all others.
        """
        partitions = [each.destination for each in ranges]
        kept: dict[TopicPartition, list[CommittedOffset | None]] = {partition: [] for partition in partitions}
        for keeper in self.consumers:
            for partition, commit in self._committed(keeper, partitions).items():
                kept[partition].append(commit)
        return {each.destination: progress_of(each, kept[each.destination]) for each in ranges}

    def owned(self, run: Run, ranges: t.Sequence[BacklogRange]) -> dict[TopicPartition, Progress]:
        """The progress, which is this run's: raise Locked where that of a range names another run, Refused where it is gone.

        Every run claims its partitions before it has anything copied.
        """
        owned = {}
        for partition, progress in self.progress(ranges).items():
            if progress is None:
                raise ProgressLost(
                    "the progress of the copy was removed or reset while it was running",
                    cluster=str(self.destination),
                    group=self._groups[0],
                    why="a run that was suspended for long, and begins again, would copy everything a second time",
                    remedy="run again: what is there is compared with what is known of the copy before anything is written",
                    **partition._asdict(),
                )
            if progress.run is None or progress.run.id != run.id:
                raise Locked(
                    "another run copies the same records, and has taken over"
                    + (f": {progress.run}" if progress.run else ""),
                    cluster=str(self.destination),
                    remedy="let that run end, or stop it; then run again, which goes on where that one has ended",
                )
            owned[partition] = progress
        return owned

    def close(self) -> None:
        """Let go of the connections."""
        for keeper in self.consumers:
            keeper.close()

    def _committed(
        self, keeper: Consumer, partitions: t.Sequence[TopicPartition]
    ) -> dict[TopicPartition, CommittedOffset | None]:
        commits: dict[TopicPartition, CommittedOffset | None] = {}
        for answer in self._asked(keeper, [Position(*partition) for partition in partitions]) if partitions else ():
            partition = TopicPartition(answer.topic, answer.partition)
            if answer.error is not None:
                raise refusals.unwritten(self.destination, answer.error, "the progress cannot be read", partition)
            known = answer.offset is not None and answer.offset >= 0
            commits[partition] = CommittedOffset(answer.offset, answer.metadata or "") if known else None
        return commits

    def _asked(self, keeper: Consumer, wanted: list[Position]) -> list[Position]:
        end = time.monotonic() + _COMMITTED_SECONDS
        while True:
            try:
                return keeper.committed(wanted, _COMMITTED_SECONDS)
            except KafkaException as exc:
                # A coordinator that moves, or is not there yet on a new cluster.
                if exc.args[0].code() not in _PASSING or time.monotonic() > end:
                    what = "the progress of an earlier attempt cannot be read"
                    raise refusals.unwritten(self.destination, exc.args[0], what) from exc
                time.sleep(0.2)


def taken_over(destination: Connection, group: str, run: Run, ranges: t.Sequence[BacklogRange]) -> MigrationError:
    """The error for a run that was fenced, which names the other one as soon as that has claimed the copy.

    Brokers fence a run without another one, too: when they have aborted a transaction of it that took too long.
    """
    with contextlib.closing(Keepers(destination, [group], stable=False)) as keepers:
        end = time.monotonic() + _NAMED_SECONDS
        while time.monotonic() < end:
            try:
                keepers.owned(run, ranges)
            except (Locked, Refused) as exc:
                return exc
            time.sleep(0.2)
    # Another attempt at the same task may have fenced this one, too: Spark may try again.
    return BrokerError(
        "the broker has ended this run's transaction, and no other run has claimed the copy",
        cluster=str(destination),
        group=group,
        why="this run, or its connection, stood still for longer than a transaction may take, as on a machine that was "
        "suspended; or another run is just beginning",
        remedy="run again: it goes on where this one has ended",
    )
