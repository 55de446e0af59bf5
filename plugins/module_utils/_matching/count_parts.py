# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""What counted contents say: of some of them, as in a task of Spark, or of all, put together by lowest, highest and sum."""

from __future__ import annotations

import bisect
import typing as t

from .axis import Sides

Commits = t.Sequence[int]  # for each source partition the place of the first unconsumed offset
CopyAndRecord = tuple[int, int]  # a copy and a source record that it may stand for, as places
Ascending = t.Sequence[int]  # ascending, unless something else is said; also a column of numpy

# Whether a record has arrived at the destination: no; yes, as counts say; yes, and its copy is not that of an equal record.
NOT_ARRIVED, ARRIVED, SURELY_ARRIVED = range(3)

_Values = t.Sequence[t.Any]


def lowest(values: _Values) -> t.Any:
    """The lowest of those that are not None; None where all are."""
    return min((value for value in values if value is not None), default=None)


def highest(values: _Values) -> t.Any:
    """The highest of those that are not None; None where all are."""
    return max((value for value in values if value is not None), default=None)


class Facts(t.NamedTuple):
    """What does not depend on a commit. For each destination partition, and then for all together.

    surplus: the first copy that may be one too many. destination_only: the first record that the source does not have.
    last_by_time, last_pair: the last source record that is the only one of its content and has a single copy, which is surely
    its own (see Singles.timed), and any one. twice: whether anything has more copies than records. kept_times, kept_headers:
    have all copies those of a source record?
    """

    surplus: list[int | None]
    destination_only: list[int | None]
    last_by_time: list[int | None]
    last_pair: list[int | None]
    twice: list[bool]
    kept_times: list[bool]
    kept_headers: list[bool]

    @classmethod
    def of_all(cls, parts: t.Iterable[_Values]) -> Facts:
        """The facts of all contents, of those of some."""
        return cls(*_folded(parts, (lowest, lowest, highest, highest, max, min, min)))

    @property
    def arrived(self) -> int:
        """A source record that has surely arrived: the last one that tells."""
        return next((place for (place,) in (self.last_by_time, self.last_pair) if place is not None), -1)


class Reach(t.NamedTuple):
    """How far an offset may go, for one commit.

    For each destination partition: the first copy that has to follow, and the first one of unconsumed records with several.
    For each source partition: the last consumed record and whether it has arrived; the first unconsumed one; whether any
    unconsumed one has arrived for certain; how many consumed ones lack a copy. Whether: see NOT_ARRIVED.
    """

    firsts: list[CopyAndRecord | None]
    recopied: list[int | None]
    lasts: list[CopyAndRecord | None]
    nexts: list[int | None]
    surely: list[int]
    lacking: list[int]

    @classmethod
    def of_records(
        cls, sides: Sides, commits: Commits, lacking: list[int], columns: t.Iterable[tuple[Ascending, int]]
    ) -> Reach:
        """What records say, without their copies: columns, each with whether its records have arrived."""
        count, copies = len(commits), len(sides.destinations)
        reach = cls([None] * copies, [None] * copies, [None] * count, [None] * count, [NOT_ARRIVED] * count, lacking)
        for at, (begin, commit) in enumerate(zip(sides.begins, commits, strict=True)):
            for places, arrived in columns:
                following = bisect.bisect_left(places, commit)
                if following and places[following - 1] >= begin:
                    reach.lasts[at] = highest((reach.lasts[at], (int(places[following - 1]), arrived)))
                if following < len(places) and places[following] < begin + sides.source.step:
                    reach.nexts[at] = lowest((reach.nexts[at], int(places[following])))
                    reach.surely[at] = max(reach.surely[at], arrived)
        return reach

    @classmethod
    def of_all(cls, parts: t.Iterable[_Values]) -> Reach:
        """The same of all contents."""
        return cls(*_folded(parts, (lowest, lowest, highest, lowest, max, sum)))

    def not_arrived(self, enough: int) -> list[int]:
        """The source partitions of which neither the last consumed record nor anything after it has arrived.

        enough: which answer to that counts as yes.
        """
        both = enumerate(zip(self.lasts, self.surely, strict=True))
        return [at for at, (last, surely) in both if last is not None and max(last[1], surely) < enough]


class Placing(t.NamedTuple):
    """Offsets of a group that are tried, as places; none is after the first copy that has to follow.

    arrived: see Facts. stable: the last stable offsets of the source, where what they hide counts as if it were aborted.
    lost_until: see GroupPosition.
    """

    commits: Commits
    offsets: t.Sequence[int]
    arrived: int
    stable: Commits | None = None
    lost_until: int | None = None


class Placed(t.NamedTuple):
    """What is before and after an offset, for one commit; for each destination partition but for the last five.

    last: the last consumed copy before the offset. repeats: how many consumed records follow, at most; equal: how many of them
    have a content that is unconsumed as well; again: has one of them another copy before the offset? loose: do the repeats
    change between that last copy and the offset? if_lost: how many more consumed records may follow if copies before the offset
    are those of lost records. may_be_lost, absent, first_absent: see Answer. also_lacking: how many of all of these, but for
    may_be_lost, count as lacking a copy, too (Reach.lacking).
    """

    last: list[CopyAndRecord | None]
    repeats: list[int]
    equal: list[int]
    again: list[bool]
    loose: list[bool]
    also_lacking: list[int]
    if_lost: list[int]
    may_be_lost: list[int]
    absent: list[int]
    first_absent: list[int | None]

    @classmethod
    def nothing(cls, count: int) -> Placed:
        """What no contents say of so many destination partitions."""
        return cls(
            [None] * count, [0] * count, [0] * count, [False] * count, [False] * count, [0], [0], [0], [0], [None]
        )

    @classmethod
    def of_all(cls, parts: t.Iterable[_Values]) -> Placed:
        """The same of all contents."""
        return cls(*_folded(parts, (highest, sum, sum, max, max, sum, sum, sum, sum, lowest)))


class Counted(t.Protocol):
    """Contents of one kind, ready to be counted."""

    def reach(self, commits: Commits) -> Reach:
        """How far the offset of a group may go that has consumed what is before these places."""

    def placed(self, placing: Placing) -> Placed:
        """What is before and after these offsets."""


def _folded(parts: t.Iterable[_Values], how: t.Sequence[t.Callable[[_Values], t.Any]]) -> _Values:
    first, *others = parts
    if not others:  # each of these gives a single value back as it is
        return first
    fields = zip(first, *others, strict=True)
    return [[fold(values) for values in zip(*field, strict=True)] for field, fold in zip(fields, how, strict=True)]
