# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""The few ways to know that an offset skips nothing, though it may repeat: a blocked entry names an offset only with one.

As with the certificates of exact answers, each class takes the facts that it needs and refuses to be made without them, and
its docstring says what they show and what is assumed besides.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .certificates import DISTINCT, Comparison, require


@dataclasses.dataclass(frozen=True, slots=True)
class NoRecordBefore:
    """No visible record is before the offset: it is the log's start, or the log shows no record. Assumes nothing."""

    offset: int
    records: int

    def __post_init__(self) -> None:
        require(self.records == 0)


@dataclasses.dataclass(frozen=True, slots=True)
class CountedBefore:
    """Both logs were read whole and counted (counting.py): the first copy that the group needs is not before the offset.

    first_wanted: its offset, None where the destination has none. Assumes nothing of the tool. What the source has lost
    is outside of the promise.
    """

    offset: int
    first_wanted: int | None

    def __post_init__(self) -> None:
        require(self.first_wanted is None or self.offset <= self.first_wanted)


@dataclasses.dataclass(frozen=True, slots=True)
class ConsumedBefore:
    """The records before the offset are, one by one, the last consumed ones that have come to the destination.

    None of the compared ones has the content of an unconsumed record (`unconsumed`), and they hardly stand together anywhere
    else, or are all that is there. Assumes that the tool copies a partition in order, so that nothing unconsumed
    comes before consumed records.
    """

    offset: int
    neighbours: Comparison
    all_that_is_before: bool
    unconsumed: int

    def __post_init__(self) -> None:
        require(self.unconsumed == 0, self.all_that_is_before or self.neighbours.distinct >= DISTINCT)


@dataclasses.dataclass(frozen=True, slots=True)
class EndsBefore:
    """Offsets differ by one number where the destination begins and where it ends, and its end is before the committed one.

    See certificates.SameDifference, whose assumptions it shares. None of the last records has the content of one of the
    first unconsumed ones (`unconsumed`).
    """

    offset: int
    at_start: Comparison
    at_end: Comparison
    nowhere_else: bool
    unconsumed: int

    def __post_init__(self) -> None:
        places = (self.at_start, self.at_end)
        require(
            self.nowhere_else,
            self.unconsumed == 0,
            all(place.whole or place.distinct >= DISTINCT for place in places),
        )


Lossless: t.TypeAlias = "NoRecordBefore | CountedBefore | ConsumedBefore | EndsBefore"
