# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Committed offsets of a group that differ between two readings."""

from __future__ import annotations

import typing as t

from .progress import first_of
from .records import TopicPartition

Offsets = t.Mapping[TopicPartition, "int | None"]


class Move(t.NamedTuple):
    """A partition whose committed offset differs: at the first reading, and at the second; None for no commit."""

    partition: TopicPartition
    before: int | None
    after: int | None

    def __str__(self) -> str:
        return f"{self.partition} from {_shown(self.before)} to {_shown(self.after)}"


def moves(before: Offsets, after: Offsets) -> list[Move]:
    """The partitions whose offsets differ between two readings of one group, sorted. A missing one has no commit."""
    return [
        Move(partition, before.get(partition), after.get(partition))
        for partition in sorted(before.keys() | after.keys())
        if before.get(partition) != after.get(partition)
    ]


def moves_text(moved: t.Sequence[Move]) -> str:
    """The first of some moves for a message, with both offsets, and how many there are besides."""
    return first_of([str(move) for move in moved])


def _shown(offset: int | None) -> str:
    return "none" if offset is None else str(offset)
