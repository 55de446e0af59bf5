# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""What is counted together: the copies of one content, for one committed offset.

Tally, Mixed and Doubted answer the same questions, each for copies that tell more or less by their times.
"""

from __future__ import annotations

import bisect
import typing as t

Name = t.Hashable
Time: t.TypeAlias = "int | None"
SECOND = -(1 << 62)  # the time of copies that may be second ones of records that have one, or those of equal records
Numbers = t.Mapping[int, int]  # of records, by their times
TimedCopies = t.Sequence[tuple[int, Time]]


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
        """The same even if copies are those of equal records which the source has lost, or which were copied twice.

        More copies than records say that there are such copies.
        """
        return self.by_time and not self.consumed and 0 < len(self.copies) <= self.wanted

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

    def repeated_if_lost(self, offset: int, repeated: int) -> int:
        """The same, where copies may also be those of equal records that the source has lost. repeated: where they are not."""
        if self.by_time or not self.consumed:
            return repeated
        following = from_on(self.copies, offset)
        return max(repeated, min(following, _if_lost(self.copies, offset, self.consumed, self.wanted) + self.hidden))

    def lost_instead(self, offset: int) -> int:
        """How many copies from this offset on may be those of consumed records that the source has lost: it has no others.

        So of a content that recurs: the source still has several records of it, and the destination has more copies.
        """
        return from_on(self.copies, offset) if 1 < self.wanted < len(self.copies) and not self.by_time else 0

    def alternatives(self, _offset: int, repeated: int) -> int:
        """How many of these repeats would be still to come if their copies were those of records that the source has lost.

        _offset: from where on they follow. A record is not both. Where copies outnumber records, some may be second ones.
        """
        if self.by_time:
            return 0
        return min(max(0, repeated - _surplus(self.copies, self.consumed, self.wanted)), self.consumed)

    def surely_repeated(self, offset: int) -> int:
        """How many consumed records it reads again, whichever copies are missing."""
        return max(0, from_on(self.copies, offset) - self.wanted) if self.consumed else 0

    @property
    def absent(self) -> int:
        """How many unconsumed records have no copy."""
        return max(0, self.wanted - len(self.copies))

    @property
    def earliest(self) -> int | None:
        """The first copy."""
        return self.copies[0] if self.copies else None


class Mixed:
    """The same for a content whose copies have different kinds of times: the source's own, stamped ones, others.

    A copy with its own time (`_own`, by time) stands for a record of that time. A copy with a time that no record has
    (`_other`) stands for any record that has no copy with its own time. A copy that the broker has stamped (`_stamped`) stands
    for any record if all are consumed, or all unconsumed; otherwise it is one of `_other`. `_rewritten`: only those of `_other`
    that are not stamped. All are offsets, ascending.

    consumed, unconsumed: how many of the records have which time. copies: (offset, time) by offset; a time is None where the
    broker has stamped it. hidden: see Tally. `_loose`: `_other`, and the same without second copies, if there are any.
    """

    def __init__(self, consumed: Numbers, unconsumed: Numbers, copies: TimedCopies, hidden: int = 0) -> None:
        self._hidden = hidden
        self._consumed, self._unconsumed = consumed, unconsumed
        self._own: dict[int, list[int]] = {time: [] for time in (*consumed, *unconsumed)}
        self._stamped: list[int] = []
        self._other: list[int] = []
        for offset, time in copies:
            (self._stamped if time is None else self._own.get(time, self._other)).append(offset)
        self._copies = copies
        self._offsets = [offset for offset, _time in copies]
        self.consumed, self.wanted = sum(consumed.values()), sum(unconsumed.values())
        self._rewritten = self._other
        if self.consumed and self.wanted:
            self._stamped, self._other = [], sorted([*self._stamped, *self._other])
        second = {offset for offset, time in copies if time == SECOND}
        self._second = len(second)
        self._loose = [self._other]
        if second:
            self._loose.append([offset for offset in self._other if offset not in second])
        self._consumed_without_own = self._without_own(consumed)
        self._wanted_without_own = self._without_own(unconsumed)
        # Of each time the last copies stand for the unconsumed records; those before them follow as repeats.
        wanted_copies, consumed_copies = list[int](), list[int]()
        for time, own in self._own.items():
            begin = len(own) - min(unconsumed.get(time, 0), len(own))
            wanted_copies += own[begin:]
            consumed_copies += own[:begin] if consumed.get(time) else []
        self._wanted_copies, self._consumed_copies = sorted(wanted_copies), sorted(consumed_copies)

    def _without_own(self, records: Numbers) -> int:
        """How many of these have no copy with their own time."""
        return sum(max(0, number - len(self._own[time])) for time, number in records.items())

    def _lacking(self, offset: int) -> int:
        """How many unconsumed records have no copy with their own time from this offset on."""
        return self.wanted - from_on(self._wanted_copies, offset)

    def _followed(self, offset: int) -> int:
        """For how many unconsumed records a copy with their own time, or a stamped one, follows this offset."""
        lacking = self._lacking(offset)
        return self.wanted - lacking + min(lacking, from_on(self._stamped, offset))

    @property
    def first_wanted(self) -> int | None:
        """The largest offset that skips no unconsumed record that has a copy; None where none has one."""
        everything = self._followed(self._offsets[0])
        if not everything and not self._others_needed:
            return None
        # A later offset never skips fewer.
        return self._offsets[bisect.bisect_right(self._offsets, 0, key=self.skipped) - 1]

    @property
    def _others_needed(self) -> int:
        """How many copies of `_other` unconsumed records need, because they have none with their own time."""
        return min(self._wanted_without_own, len(self._other))

    def last_consumed(self, limit: int) -> int | None:
        """The offset of the last copy before the limit that may stand for a consumed record.

        One with the time of such a record, a stamped one, or any other one if a consumed record has no copy with its own time.
        """
        lists = [self._own[time] for time, number in self._consumed.items() if number]
        if self.consumed:
            lists.append(self._stamped)
        if self._consumed_without_own:
            lists.append(self._other)
        return max((last for offsets in lists if (last := last_before(offsets, limit)) is not None), default=None)

    @property
    def surely_unconsumed(self) -> bool:
        """Is one of the copies certainly an unconsumed record: are there more than consumed records, by a time or without?"""
        return any(
            number and len(self._own[time]) > self._consumed.get(time, 0) for time, number in self._unconsumed.items()
        ) or (
            self._wanted_without_own > 0
            and len(self._stamped) + len(self._other) - self._second > self._consumed_without_own
        )

    @property
    def firmly_unconsumed(self) -> bool:
        """The same even if copies are those of equal records which the source has lost, or which were copied twice.

        So the copy has the time of unconsumed records alone, and there are no more such copies than records.
        """
        return any(
            0 < len(self._own[time]) <= number and time >= 0 and not self._consumed.get(time)
            for time, number in self._unconsumed.items()
        )

    def skipped(self, offset: int) -> int:
        """How many unconsumed records that have a copy a group that starts at this offset misses."""
        others = max(min(self._wanted_without_own, len(copies)) - from_on(copies, offset) for copies in self._loose)
        return self._followed(self._offsets[0]) - self._followed(offset) + max(0, others)

    def repeated(self, offset: int) -> int:
        """How many consumed records a group that starts at this offset reads again, at most.

        Those that surely follow, and as many as copies are missing or may be nobody's; or all copies that no unconsumed record
        needs, if they are more.
        """
        if not self.consumed:
            return 0
        missing = self._missing if self.wanted else 0
        following = from_on(self._offsets, offset)
        most = max(self._surely(offset, from_on(self._other, offset)) + missing, following - self.wanted)
        return min(following, most + self._unclaimed(offset) + self._hidden)

    def repeated_if_lost(self, offset: int, repeated: int) -> int:
        """The same, where copies without their own times may also be those of equal records that the source has lost.

        repeated: where they are not. A negative time is none, and does not tell whose copy it is.
        """
        if not self.consumed:
            return repeated
        if any(time < 0 and own for time, own in self._own.items()):
            repeated = max(repeated, self._untold().repeated_if_lost(offset, repeated))
        others = _if_lost(self._other, offset, self._consumed_without_own, self._wanted_without_own)
        surely = self._surely(offset, 0) + self._missing_on_either_side
        return max(repeated, min(from_on(self._offsets, offset), surely + others + self._hidden))

    def lost_instead(self, offset: int) -> int:
        """See Tally: a copy with its own time is none of a lost record."""
        own = sum(from_on(copies, offset) for time, copies in self._own.items() if time >= 0)
        return from_on(self._offsets, offset) - own if 1 < self.wanted < len(self._offsets) else 0

    def _untold(self) -> Mixed:
        """The same with copies of records without timestamps as those with other times: nothing tells whose they are."""
        other = min(self._own) - 1
        copies = [(offset, other if time in self._own and time < 0 else time) for offset, time in self._copies]
        return Mixed(self._consumed, self._unconsumed, copies, self._hidden)

    def alternatives(self, offset: int, repeated: int) -> int:
        """How many of these repeats would be still to come if their copies were those of records that the source has lost.

        A copy with its own time is none of a lost record.
        """
        others = repeated - self._surely(offset, 0) - self._missing_on_either_side
        surplus = _surplus(self._other, self._consumed_without_own, self._wanted_without_own)
        return min(max(0, others - surplus), self._consumed_without_own)

    @property
    def _missing(self) -> int:
        """How many copies are missing of which nobody knows whether they are those of consumed records."""
        lacking = self._consumed_without_own + self._wanted_without_own - len(self._stamped) - len(self._other)
        return self._missing_on_either_side + (max(0, lacking) if self._consumed_without_own else 0)

    @property
    def _missing_on_either_side(self) -> int:
        """The same of the times that consumed and unconsumed records have: surplus copies of one are none of another one."""
        return sum(
            max(0, number + self._unconsumed[time] - len(self._own[time]))
            for time, number in self._consumed.items()
            if number and self._unconsumed.get(time)
        )

    def _unclaimed(self, offset: int) -> int:
        """How many copies from the offset on were taken for unconsumed records that the tool may still have to copy.

        If there are more copies with other times than records without a copy, some are nobody's, and nobody knows which.
        """
        surplus = max(self._second, _surplus(self._other, self._consumed_without_own, self._wanted_without_own))
        return min(surplus, self._wanted_without_own, from_on(self._other, offset))

    def surely_repeated(self, offset: int) -> int:
        """How many consumed records it reads again, whichever copies are missing.

        Copies with other times that are more than the records without a copy are nobody's.
        """
        if not self.consumed:
            return 0
        rewritten = from_on(self._rewritten, offset)
        stamped = from_on(self._other, offset) - rewritten
        return self._surely(offset, stamped + min(rewritten, self._lacking_own))

    @property
    def _lacking_own(self) -> int:
        """How many records, consumed or not, have no copy with their own time."""
        both = self._consumed, self._unconsumed
        return sum(max(0, sum(numbers.get(time, 0) for numbers in both) - len(own)) for time, own in self._own.items())

    def _surely(self, offset: int, others: int) -> int:
        """How many consumed records follow the offset if no copy is missing that could be theirs.

        others: of the copies of `_other` from the offset on, how many count: no second ones of unconsumed records.
        """
        own = from_on(self._consumed_copies, offset)
        stamped = max(0, from_on(self._stamped, offset) - self._lacking(offset))
        return own + stamped + max(0, others - self._wanted_without_own)

    @property
    def absent(self) -> int:
        """How many unconsumed records have no copy."""
        return max(0, self.wanted - self._followed(self._offsets[0]) - self._others_needed)

    @property
    def earliest(self) -> int | None:
        """The first copy that surely stands for one of the records."""
        return min((offsets[0] for offsets in (*self._own.values(), self._stamped) if offsets), default=None)


class Doubted(Mixed):
    """A content of which some copies may have been given the time of an equal record.

    So it looks where a time has more copies than records, and another one fewer: the replication tool has copied some again and
    left out others, or it rounds times. Each question is answered for three cases, and the most cautious answer counts: times
    are believed (as in Mixed), they tell nothing (`_timeless`), or the surplus copies of a time are those of unconsumed records
    that have no copy with their own time (`_rounded`).
    """

    def __init__(self, consumed: Numbers, unconsumed: Numbers, copies: TimedCopies, hidden: int = 0) -> None:
        super().__init__(consumed, unconsumed, copies, hidden)
        self._timeless = Tally(self._offsets, self.wanted, self.consumed, hidden)
        surplus = surplus_wanted(consumed, unconsumed, {time: len(own) for time, own in self._own.items()})
        self._rounded = Mixed(consumed, {**unconsumed, **surplus}, copies, hidden)

    @property
    def first_wanted(self) -> int | None:
        """The first copy that has to follow in any of the cases; None where none has to."""
        firsts = super().first_wanted, self._timeless.first_wanted, self._rounded.first_wanted
        return min((first for first in firsts if first is not None), default=None)

    def last_consumed(self, limit: int) -> int | None:
        """The offset of the last copy before the limit, if any record is consumed: without times, it may stand for that."""
        return self._timeless.last_consumed(limit)

    @property
    def surely_unconsumed(self) -> bool:
        """Is one of the copies certainly an unconsumed record, whether times tell or not?"""
        return super().surely_unconsumed and self._timeless.surely_unconsumed

    @property
    def firmly_unconsumed(self) -> bool:
        """Never: some of the copies were made twice, or have the time of another record."""
        return False

    def skipped(self, offset: int) -> int:
        """How many unconsumed records that have a copy a group that starts at this offset misses, at most."""
        return max(super().skipped(offset), self._timeless.skipped(offset), self._rounded.skipped(offset))

    def repeated(self, offset: int) -> int:
        """How many consumed records it reads again, at most."""
        return max(super().repeated(offset), self._timeless.repeated(offset))

    def surely_repeated(self, offset: int) -> int:
        """How many consumed records it reads again, whether times tell or not."""
        return min(super().surely_repeated(offset), self._timeless.surely_repeated(offset))

    @property
    def absent(self) -> int:
        """How many unconsumed records have no copy, whichever time that has."""
        return self._timeless.absent


Count: t.TypeAlias = "Tally | Mixed"  # they answer the same questions


def surplus_wanted(consumed: Numbers, unconsumed: Numbers, copies: Numbers) -> dict[int, int]:
    """How many copies are wanted of each time that has more of them than records.

    For the surplus ones may be of those unconsumed records that have no copy with their own time. All are numbers by time.
    """
    lacking = sum(max(0, number - copies.get(time, 0)) for time, number in unconsumed.items())
    wanted = {}
    for time, number in copies.items():
        surplus = min(lacking, number - consumed.get(time, 0) - unconsumed.get(time, 0))
        if surplus > 0:
            wanted[time] = unconsumed.get(time, 0) + surplus
    return wanted


def _surplus(copies: t.Sequence[int], consumed: int, wanted: int) -> int:
    """How many more copies there are than records of both kinds that they may stand for."""
    return max(0, len(copies) - consumed - wanted)


def _if_lost(copies: t.Sequence[int], offset: int, consumed: int, wanted: int) -> int:
    """How many of these copies from the offset on may be those of consumed records, if those before it are of lost ones.

    One for each of these records, and the surplus ones, which may be second copies.
    """
    return min(from_on(copies, offset), consumed + _surplus(copies, consumed, wanted)) if consumed else 0


def from_on(offsets: t.Sequence[int], offset: float) -> int:
    """How many of these ascending offsets are this one or after it."""
    return len(offsets) - bisect.bisect_left(offsets, offset)


def last_before(offsets: t.Sequence[int], limit: int) -> int | None:
    """The last of these ascending offsets before the limit."""
    at = bisect.bisect_left(offsets, limit)
    return int(offsets[at - 1]) if at else None  # of a column, too
