# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""Places: one number for a partition of a cluster and an offset in it."""

from __future__ import annotations

import bisect
import dataclasses
import functools
import typing as t


@dataclasses.dataclass(frozen=True)
class Axis:
    """The logs of some partitions of one cluster, end to end, so that a place in any of them is one number.

    starts: the first offset of each log, as of when the axis was made. A place is number * step + offset - start, where number
    is the partition's, and step leaves room for every log to grow. Places are ordered by partition and offset.
    """

    starts: tuple[int, ...]
    step: int = dataclasses.field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "step", (1 << 62) // max(1, len(self.starts)))

    def place(self, number: int, offset: int) -> int:
        """The place of an offset of the partition with this number; offsets outside of the log's room count as its edges."""
        return number * self.step + min(max(0, offset - self.starts[number]), self.step - 1)

    def at(self, place: int) -> tuple[int, int]:
        """The number of the partition and the offset."""
        number, distance = divmod(place, self.step)
        return number, self.starts[number] + distance


@dataclasses.dataclass(frozen=True)
class Sides:
    """The partitions that are counted together: ranges of numbers on the axes of both clusters."""

    source: Axis
    sources: range
    destination: Axis
    destinations: range

    @property
    def are_single(self) -> bool:
        """Is there one partition on each side?"""
        return len(self.sources) == len(self.destinations) == 1

    @functools.cached_property
    def begins(self) -> list[int]:
        """Where the source partitions begin."""
        return [number * self.source.step for number in self.sources]

    @functools.cached_property
    def destination_begins(self) -> list[int]:
        """Where the destination partitions begin."""
        return [number * self.destination.step for number in self.destinations]

    def source_at(self, place: int) -> int:
        """The position of a place's source partition."""
        return bisect.bisect_right(self.begins, place) - 1

    def destination_at(self, place: int) -> int:
        """The position of a place's destination partition."""
        return bisect.bisect_right(self.destination_begins, place) - 1

    def before(self, places: t.Sequence[int], commits: t.Sequence[int]) -> list[int]:
        """For each source partition, how many of these ascending places are before the commit."""
        find = bisect.bisect_left
        return [find(places, commit) - find(places, begin) for commit, begin in zip(commits, self.begins, strict=True)]
