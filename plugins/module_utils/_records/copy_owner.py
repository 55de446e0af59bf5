# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Whose a copy is: the run that its progress names. Who finds another one there, or nothing, ends."""

from __future__ import annotations

import contextlib
import time
import typing as t

from .._model.backlog import BacklogRange
from .._model.connection import Connection
from .._model.copy_progress import Progress, Run
from .._model.errors import BrokerError, Locked, MigrationError, Refused
from .._model.failure_kinds import FailureKind
from .._model.records import TopicPartition
from .keepers import Keepers

_NAMED_SECONDS = 10.0  # between taking a transactional id over and claiming its partitions lie a few round trips


def check_owned(
    destination: Connection,
    group: str,
    run: Run,
    kept: t.Mapping[TopicPartition, Progress | None],
) -> dict[TopicPartition, Progress]:
    """The progress, which is this run's: raise Locked where that of a partition names another run, Refused where it is gone.

    group: the first progress group. Every run claims its partitions before it has anything copied.
    """
    owned = {}
    for partition, progress in kept.items():
        if progress is None:
            raise Refused(
                "the progress of the copy was removed or reset while it was running",
                cluster=str(destination),
                group=group,
                why="a run that was suspended for long, and begins again, would copy everything a second time",
                remedy="run again: what is there is compared with what is known of the copy before anything is written",
                **partition._asdict(),
                kind=FailureKind.PROGRESS_LOST,
            )
        if progress.run is None or progress.run.id != run.id:
            raise _locked(destination, progress.run)
        owned[partition] = progress
    return owned


def taken_over(destination: Connection, group: str, run: Run, ranges: t.Sequence[BacklogRange]) -> MigrationError:
    """The error for a run that was fenced, which names the other one as soon as that has claimed the copy.

    Brokers fence a run without another one, too: when they have aborted a transaction of it that took too long.
    """
    with contextlib.closing(Keepers(destination, [group], stable=False)) as keepers:
        end = time.monotonic() + _NAMED_SECONDS
        while time.monotonic() < end:
            try:
                check_owned(destination, group, run, keepers.progress(ranges))
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


def _locked(destination: Connection, other: Run | None) -> Locked:
    return Locked(
        "another run copies the same records, and has taken over" + (f": {other}" if other else ""),
        cluster=str(destination),
        remedy="let that run end, or stop it; then run again, which goes on where that one has ended",
    )
