# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""What is counted together: the copies of one content, for one committed offset."""

from __future__ import annotations

import bisect
import collections
import dataclasses
import operator
import typing as t

Name = t.Hashable
Time: t.TypeAlias = "int | None"


class Tally(t.NamedTuple):
    """Copies that are counted together, for one committed offset.

    copies: their offsets, ascending. wanted, consumed: how many unconsumed and how many consumed source records they
    may stand for. hidden: how many of the wanted ones do not count against repeats, because the open transactions they
    are in may abort. by_time: whether the copies have the time of these records, so that they are not those of equal
    records.
    """

    copies: t.Sequence[int]
    wanted: int
    consumed: int
    hidden: int = 0
    by_time: bool = False

    @classmethod
    def at(cls, committed: int, originals: t.Sequence[int], copies: t.Sequence[int], by_time: bool) -> t.Self:
        """That of source offsets and copies which are counted together whatever is committed; both ascending."""
        consumed = bisect.bisect_left(originals, committed)
        return cls(copies, len(originals) - consumed, consumed, by_time=by_time)

    @property
    def first_wanted(self) -> int | None:
        """The largest offset from which on as many copies follow as are wanted; None where none has to follow."""
        need = min(self.wanted, len(self.copies))
        return self.copies[-need] if need else None

    def last_consumed(self, limit: int) -> int | None:
        """The offset of the last copy before the limit that may stand for a consumed record."""
        return last_before(self.copies, limit) if self.consumed else None

    @property
    def surely_unconsumed(self) -> bool:
        """Is one of the copies certainly an unconsumed record?"""
        return self.wanted > 0 and len(self.copies) > self.consumed

    @property
    def firmly_unconsumed(self) -> bool:
        """The same even if copies are those of equal records which the source has lost, or which were copied twice."""
        return self.by_time and self.wanted > 0 and not self.consumed and len(self.copies) > 0

    @property
    def lacking(self) -> int:
        """How many consumed records have no copy."""
        return max(0, self.consumed - len(self.copies))

    def skipped(self, offset: int) -> int:
        """How many unconsumed records a group that starts at this offset misses."""
        return max(0, min(self.wanted, len(self.copies)) - from_on(self.copies, offset))

    def repeated(self, offset: int) -> int:
        """How many consumed records a group that starts at this offset reads again, at most.

        Where copies are missing, nobody knows of which side: as many more of those that follow may be consumed ones.
        """
        if not self.consumed:
            return 0
        missing = max(0, self.consumed + self.wanted - len(self.copies)) if self.wanted else 0
        following = from_on(self.copies, offset)
        return min(following, max(0, following + missing - self.wanted) + self.hidden)

    def surely_repeated(self, offset: int) -> int:
        """How many consumed records it reads again, whichever copies are missing."""
        return max(0, from_on(self.copies, offset) - self.wanted) if self.consumed else 0

    @property
    def absent(self) -> int:
        """How many unconsumed records have no copy."""
        return max(0, self.wanted - len(self.copies))

    def comes_before(self, offset: int) -> bool:
        """Is one of the copies before this offset?"""
        return bool(self.copies) and self.copies[0] < offset


class Mixed:
    """The same for a content whose copies have different kinds of times: the source's own, stamped ones, others.

    An own-time copy stands for a record of its time, and one with another time for those that are not there with their own. So
    does a stamped one, but where the content is on one side of the committed offset only: there it stands for any of them.
    """

    def __init__(
        self,
        consumed: t.Mapping[int, int],
        unconsumed: t.Mapping[int, int],
        copies: t.Sequence[tuple[int, Time]],
        hidden: int = 0,
    ) -> None:
        self._hidden = hidden
        self._consumed, self._unconsumed = consumed, unconsumed
        self._own: dict[int, list[int]] = {time: [] for time in (*consumed, *unconsumed)}
        self._stamped: list[int] = []
        self._other: list[int] = []
        for offset, time in copies:
            (self._stamped if time is None else self._own.get(time, self._other)).append(offset)
        self._offsets = [offset for offset, _time in copies]
        self.consumed, self.wanted = sum(consumed.values()), sum(unconsumed.values())
        if self.consumed and self.wanted:
            self._stamped, self._other = [], sorted([*self._stamped, *self._other])
        self._consumed_missing = self._lacking(consumed, self._offsets[0])
        self._wanted_missing = self._lacking(unconsumed, self._offsets[0])

    def _lacking(self, wanted: t.Mapping[int, int], offset: int) -> int:
        """How many of these have no copy with their own time from this offset on."""
        return sum(max(0, number - from_on(self._own[time], offset)) for time, number in wanted.items())

    def _there(self, offset: int) -> int:
        """For how many of the unconsumed records a copy follows."""
        lacking = self._lacking(self._unconsumed, offset)
        return self.wanted - lacking + min(lacking, from_on(self._stamped, offset))

    @property
    def first_wanted(self) -> int | None:
        """As Tally.first_wanted."""
        everything = self._there(self._offsets[0])
        if not everything and not self._others_needed:
            return None
        return next(offset for offset in reversed(self._offsets) if not self.skipped(offset))

    @property
    def _others_needed(self) -> int:
        return min(self._wanted_missing, len(self._other))

    def last_consumed(self, limit: int) -> int | None:
        """As Tally.last_consumed."""
        lists = [self._own[time] for time, number in self._consumed.items() if number]
        if self.consumed:
            lists.append(self._stamped)
        if self._consumed_missing:
            lists.append(self._other)
        return max((last for its in lists if (last := last_before(its, limit)) is not None), default=None)

    @property
    def surely_unconsumed(self) -> bool:
        """As Tally.surely_unconsumed."""
        return any(
            number and len(self._own[time]) > self._consumed.get(time, 0) for time, number in self._unconsumed.items()
        ) or (self._wanted_missing > 0 and len(self._stamped) + len(self._other) > self._consumed_missing)

    @property
    def firmly_unconsumed(self) -> bool:
        """As Tally.firmly_unconsumed."""
        return any(self._own[time] and not self._consumed.get(time) for time in self._unconsumed)

    @property
    def lacking(self) -> int:
        """As Tally.lacking."""
        return max(0, self.consumed - len(self._offsets))

    def skipped(self, offset: int) -> int:
        """As Tally.skipped."""
        others = max(0, self._others_needed - from_on(self._other, offset))
        return self._there(self._offsets[0]) - self._there(offset) + others

    def repeated(self, offset: int) -> int:
        """As Tally.repeated."""
        missing = max(0, self.consumed + self.wanted - len(self._offsets)) if self.wanted else 0
        following = from_on(self._offsets, offset) if self.consumed else 0
        return min(following, self._repeated(offset, missing) + self._hidden)

    def surely_repeated(self, offset: int) -> int:
        """As Tally.surely_repeated."""
        return self._repeated(offset, 0)

    def _repeated(self, offset: int, missing: int) -> int:
        if not self.consumed:
            return 0
        own = sum(
            max(0, from_on(self._own[time], offset) - self._unconsumed.get(time, 0))
            for time, number in self._consumed.items()
            if number
        )
        stamped = max(0, from_on(self._stamped, offset) - self._lacking(self._unconsumed, offset))
        other = max(0, from_on(self._other, offset) - self._wanted_missing)
        following = from_on(self._offsets, offset)
        return min(following, max(own + stamped + other + missing, following - self.wanted))

    @property
    def absent(self) -> int:
        """As Tally.absent."""
        return max(0, self.wanted - self._there(self._offsets[0]) - self._others_needed)

    def comes_before(self, offset: int) -> bool:
        """As Tally.comes_before."""
        return any(its and its[0] < offset for its in (*self._own.values(), self._stamped))


Count: t.TypeAlias = "Tally | Mixed"  # both answer the same questions


def from_on(offsets: t.Sequence[int], offset: int) -> int:
    """How many of these ascending offsets are this one or after it."""
    return len(offsets) - bisect.bisect_left(offsets, offset)


def last_before(offsets: t.Sequence[int], limit: int) -> int | None:
    """The last of these ascending offsets before the limit."""
    at = bisect.bisect_left(offsets, limit)
    return offsets[at - 1] if at else None


@dataclasses.dataclass(frozen=True, slots=True)
class Content:
    """All records of one content: (offset, time) at the source, (offset, time) of the copies; both by offset.

    The time of a copy is None where the broker has stamped it, and where times are not compared.
    """

    source: t.Sequence[tuple[int, int]]
    copies: t.Sequence[tuple[int, Time]]

    def tallies(self, committed: int) -> list[Count]:
        """What is counted together, for a group that has consumed what lies before the committed offset."""
        at = bisect.bisect_left(self.source, committed, key=_offset)
        return tallies(
            collections.Counter(time for _offset, time in self.source[:at]),
            collections.Counter(time for _offset, time in self.source[at:]),
            self.copies,
        )

    def has_arrived(self, committed: int) -> bool:
        """Are there as many copies as the source has records of this content up to its last consumed one?"""
        at = bisect.bisect_left(self.source, committed, key=_offset)
        consumed = collections.Counter(time for _offset, time in self.source[:at])
        times = collections.Counter(time for _offset, time in self.copies)
        last = self.source[at - 1][1]
        known = {time for _offset, time in self.source}
        missing = sum(max(0, number - times[time]) for time, number in consumed.items())
        rest = sum(number for time, number in times.items() if time not in known)
        if times[None] and at == len(self.source):
            rest -= times[None]
            there = times.total() - rest >= at
        else:
            there = times[last] >= consumed[last]
        return there or 0 < missing <= rest

    def has_firmly_arrived(self, committed: int) -> bool:
        """The same even if copies are those of equal records: has its last consumed one its own time, and a copy?"""
        last = self.source[bisect.bisect_left(self.source, committed, key=_offset) - 1][1]
        alone = sum(time == last for _offset, time in self.source) == 1
        return alone and any(time == last for _offset, time in self.copies)


def tallies(
    consumed: t.Mapping[int, int],
    unconsumed: t.Mapping[int, int],
    copies: t.Sequence[tuple[int, Time]],
    hidden: int = 0,
) -> list[Count]:
    """The tallies of one content, from how many consumed and unconsumed source records have which time, and from its copies.

    copies: (offset, time) by offset; a time is None where the broker has stamped it. hidden: see Tally.
    """
    if not copies:
        return [Tally([], sum(unconsumed.values()), sum(consumed.values()), hidden)]
    known = {*consumed, *unconsumed}
    kinds = {_kind(time, known) for _offset, time in copies}
    if len(kinds) > 1:
        return [Mixed(consumed, unconsumed, copies, hidden)]
    if kinds != {_OWN}:
        return [Tally([offset for offset, _time in copies], sum(unconsumed.values()), sum(consumed.values()), hidden)]
    own: dict[int, list[int]] = {time: [] for time in known}
    for offset, copied in copies:
        own[t.cast(int, copied)].append(offset)
    return [Tally(places, unconsumed.get(time, 0), consumed.get(time, 0), hidden, True) for time, places in own.items()]


def separable(content: Content) -> list[tuple[list[int], list[int], bool]] | None:
    """The offsets of records and copies that are counted together, and whether by time; None where the commit decides.

    That is so where all copies have the time of a source record, where all have another one, and where all are stamped.
    """
    known = {time for _offset, time in content.source}
    kinds = {_kind(time, known) for _offset, time in content.copies}
    if len(kinds) > 1:
        return None
    if kinds == {_OWN} and len(known) > 1:
        originals: dict[int, list[int]] = collections.defaultdict(list)
        copies: dict[Time, list[int]] = collections.defaultdict(list)
        for offset, time in content.source:
            originals[time].append(offset)
        for offset, copied in content.copies:
            copies[copied].append(offset)
        return [(offsets, copies[time], True) for time, offsets in originals.items()]
    by_time = kinds == {_OWN}
    return [([offset for offset, _time in content.source], [offset for offset, _time in content.copies], by_time)]


_STAMPED, _OWN, _OTHER = range(3)


def _kind(time: Time, known: t.Collection[int]) -> int:
    return _STAMPED if time is None else _OWN if time in known else _OTHER


_offset = operator.itemgetter(0)
