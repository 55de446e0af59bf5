# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Deal ranges of records out to tasks, so that all of them end at about the same time."""

from __future__ import annotations

import math
import typing as t

from .._records.scanning import Piece, Range
from .on_workers import dealt

# What the beginning of a range costs, told in records.
_BEGINNING = 50
# Fewer are not worth a task, whose beginning costs as much as reading some ten thousand records.
_FEWEST = 50_000
# More are lost when a task has to begin again.
_MOST = 20_000_000


def bins(ranges: t.Sequence[Range], cores: int) -> list[list[Piece]]:
    """The pieces that each task reads, the largest ranges dealt out first, each into the lightest bin.

    cores: how many tasks run at a time; there are some times as many bins, unless there is little to read. A long range is cut
    into several pieces, which stand in different bins. Empty ranges are left out.
    """
    wanted = [Piece(number, *each) for number, each in enumerate(ranges) if each.end > each.start]
    weight = sum(map(_weight, wanted))
    count = max(min(2 * cores, math.ceil(weight / _FEWEST)), math.ceil(weight / _MOST), 1)
    largest = max(_FEWEST, math.ceil(weight / count))
    return dealt([part for piece in wanted for part in _cut(piece, largest)], _weight, count)


def _weight(piece: Piece) -> int:
    return piece.end - piece.start + _BEGINNING


def _cut(piece: Piece, largest: int) -> t.Iterator[Piece]:
    parts = math.ceil((piece.end - piece.start) / largest)
    size = math.ceil((piece.end - piece.start) / parts)
    for start in range(piece.start, piece.end, size):
        yield piece._replace(start=start, end=min(start + size, piece.end))
