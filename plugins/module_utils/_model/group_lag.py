# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""How much a group has not consumed, in offsets. Pure."""

from __future__ import annotations

import typing as t

from .cluster_identity import LogRange
from .group_state import GroupReading
from .records import TopicPartition


class GroupLag(t.NamedTuple):
    """offsets: from the committed ones on, those that the logs still have. expired: those that they have lost before.

    kafka-consumer-groups counts the sum of both, and so lets consumers seem to have work that nobody can do any more.
    """

    offsets: int
    expired: int = 0

    @classmethod
    def of(cls, committed: int, log: LogRange) -> GroupLag:
        """The lag on one partition. A committed offset after the log's end lags by nothing."""
        start, end = log
        return cls(max(0, end - max(start, committed)), max(0, start - committed))

    def __str__(self) -> str:
        return f"{self.offsets:,}" + (f" ({self.expired:,} expired)" if self.expired else "")


def lag_members(lag: GroupLag | None, prefix: str = "") -> dict[str, int | None]:
    """A lag in a row: the members prefix + lag, None where it is not known, and prefix + expired."""
    offsets, expired = lag or (None, 0)
    return {f"{prefix}lag": offsets, f"{prefix}expired": expired}


def lag_on(
    group_partitions: t.Iterable[tuple[GroupReading, TopicPartition]], logs: t.Mapping[TopicPartition, LogRange]
) -> GroupLag | None:
    """The lag of groups on their partitions, as far as they have committed there and the logs are known; None without any."""
    return lag_sum(
        GroupLag.of(committed.offset, logs[partition])
        for reading, partition in group_partitions
        if partition in logs and (committed := reading.offsets.get(partition)) is not None
    )


def lag_sum(lags: t.Iterable[GroupLag | None]) -> GroupLag | None:
    """All of these together, without those that are not known; None where none is."""
    known = [lag for lag in lags if lag is not None]
    return GroupLag(sum(lag.offsets for lag in known), sum(lag.expired for lag in known)) if known else None
