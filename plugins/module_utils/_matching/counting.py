# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""The definition of what is promised: counting contents in two logs that were read whole.

A consumer sees the content of a record: key, value, headers, and the timestamp where the destination keeps it. It cannot tell
records of equal content apart, so the rule does not have to either. For each content, the group has not consumed `wanted`
records, and the destination holds some copies. The offset is the largest one from which on every content stands as often as
it is wanted, as far as it is there: nothing is skipped, and no lower offset repeats less. Then the offset moves down to the
last consumed copy before it, because what stands in between is new to the group.

Time only separates what content cannot. A copy with the source's time is counted by content and time. A copy whose time the
broker has stamped is counted by content alone. A copy with another time stands for those records of its content that are not
there with their own.
"""

from __future__ import annotations

import bisect
import collections
import dataclasses
import itertools
import operator
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record

Name = t.Hashable
Time = int | None


class Tally(t.NamedTuple):
    """Copies that are counted together, for one committed offset.

    copies: their offsets, ascending. wanted, consumed: how many unconsumed and how many consumed source records they may stand for.
    """

    copies: t.Sequence[int]
    wanted: int
    consumed: int

    @property
    def first_wanted(self) -> int | None:
        """The largest offset from which on as many copies follow as are wanted; None where none has to follow."""
        need = min(self.wanted, len(self.copies))
        return self.copies[-need] if need else None

    def last_consumed(self, limit: int) -> int | None:
        """The offset of the last copy before the limit that may stand for a consumed record."""
        return _last_before(self.copies, limit) if self.consumed else None

    @property
    def surely_unconsumed(self) -> bool:
        """Is one of the copies certainly an unconsumed record?"""
        return self.wanted > 0 and len(self.copies) > self.consumed

    def skipped(self, offset: int) -> int:
        """How many unconsumed records a group that starts at this offset misses."""
        return max(0, min(self.wanted, len(self.copies)) - _from_on(self.copies, offset))

    def repeated(self, offset: int) -> int:
        """How many consumed records a group that starts at this offset reads again, at most.

        Where copies are missing, nobody knows of which side: as many more of those that follow may be consumed ones.
        """
        if not self.consumed:
            return 0
        missing = max(0, self.consumed + self.wanted - len(self.copies)) if self.wanted else 0
        following = _from_on(self.copies, offset)
        return min(following, max(0, following + missing - self.wanted))

    def surely_repeated(self, offset: int) -> int:
        """How many consumed records it reads again, whichever copies are missing."""
        return max(0, _from_on(self.copies, offset) - self.wanted) if self.consumed else 0

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
        self, consumed: t.Mapping[int, int], unconsumed: t.Mapping[int, int], copies: t.Sequence[tuple[int, Time]]
    ) -> None:
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
        return sum(max(0, number - _from_on(self._own[time], offset)) for time, number in wanted.items())

    def _there(self, offset: int) -> int:
        """For how many of the unconsumed records a copy follows."""
        lacking = self._lacking(self._unconsumed, offset)
        return self.wanted - lacking + min(lacking, _from_on(self._stamped, offset))

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
        return max((last for its in lists if (last := _last_before(its, limit)) is not None), default=None)

    @property
    def surely_unconsumed(self) -> bool:
        """As Tally.surely_unconsumed."""
        return any(
            number and len(self._own[time]) > self._consumed.get(time, 0) for time, number in self._unconsumed.items()
        ) or (self._wanted_missing > 0 and len(self._stamped) + len(self._other) > self._consumed_missing)

    def skipped(self, offset: int) -> int:
        """As Tally.skipped."""
        others = max(0, self._others_needed - _from_on(self._other, offset))
        return self._there(self._offsets[0]) - self._there(offset) + others

    def repeated(self, offset: int) -> int:
        """As Tally.repeated."""
        return self._repeated(offset, max(0, self.consumed + self.wanted - len(self._offsets)) if self.wanted else 0)

    def surely_repeated(self, offset: int) -> int:
        """As Tally.surely_repeated."""
        return self._repeated(offset, 0)

    def _repeated(self, offset: int, missing: int) -> int:
        if not self.consumed:
            return 0
        own = sum(
            max(0, _from_on(self._own[time], offset) - self._unconsumed.get(time, 0))
            for time, number in self._consumed.items()
            if number
        )
        stamped = max(0, _from_on(self._stamped, offset) - self._lacking(self._unconsumed, offset))
        other = max(0, _from_on(self._other, offset) - self._wanted_missing)
        following = _from_on(self._offsets, offset)
        return min(following, max(own + stamped + other + missing, following - self.wanted))

    @property
    def absent(self) -> int:
        """As Tally.absent."""
        return max(0, self.wanted - self._there(self._offsets[0]) - self._others_needed)

    def comes_before(self, offset: int) -> bool:
        """As Tally.comes_before."""
        return any(its and its[0] < offset for its in (*self._own.values(), self._stamped))


Count = Tally | Mixed  # both answer the same questions


def _from_on(offsets: t.Sequence[int], offset: int) -> int:
    return len(offsets) - bisect.bisect_left(offsets, offset)


def _last_before(offsets: t.Sequence[int], limit: int) -> int | None:
    at = bisect.bisect_left(offsets, limit)
    return offsets[at - 1] if at else None


class Answer(t.NamedTuple):
    """Where a group must stand.

    repeats: how many consumed records come again at most; equal: how many of them have a content that is unconsumed as well.
    again: whether one of them has another copy before the offset. arrived: whether the replication tool has come as far as the
    group; if not, what it still has to bring may stand before any of this. last_consumed and first_wanted: the offsets of the
    two copies that the offset was placed between; None where there is none. recopied: whether copies of unconsumed records
    stand before the offset, which come once more after it. last_at_source and next_at_source: the source offsets of the last
    consumed and of the first unconsumed record; None where the source has none.
    """

    offset: int
    repeats: int
    equal: int
    again: bool
    arrived: bool
    last_consumed: int | None
    first_wanted: int | None
    recopied: bool
    last_at_source: int | None
    next_at_source: int | None


class Judgement(t.NamedTuple):
    """What an offset does to a group: records that it misses, that it reads again at most, and that no copy is there of."""

    skipped: int
    repeated: int
    absent: int


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


def tallies(
    consumed: t.Mapping[int, int], unconsumed: t.Mapping[int, int], copies: t.Sequence[tuple[int, Time]]
) -> list[Count]:
    """The tallies of one content, from how many consumed and unconsumed source records have which time, and from its copies.

    copies: (offset, time) by offset; a time is None where the broker has stamped it.
    """
    if not copies:
        return [Tally([], sum(unconsumed.values()), sum(consumed.values()))]
    known = {*consumed, *unconsumed}
    kinds = {_kind(time, known) for _offset, time in copies}
    if len(kinds) > 1:
        return [Mixed(consumed, unconsumed, copies)]
    if kinds != {_OWN}:
        return [Tally([offset for offset, _time in copies], sum(unconsumed.values()), sum(consumed.values()))]
    own: dict[int, list[int]] = {time: [] for time in known}
    for offset, copied in copies:
        own[t.cast(int, copied)].append(offset)
    return [Tally(places, unconsumed.get(time, 0), consumed.get(time, 0)) for time, places in own.items()]


class Logs:
    """Both logs of a partition, whole, ready to be counted for any number of committed offsets.

    source: the records that the source still has, aborted ones left out and those of open transactions included. copies:
    the visible records of the destination. name tells contents apart; timestamps: whether times are compared at all.
    otherwise: another name, by which copies are known whose first one the source does not have (tools add headers). They
    count as copies with another time, unless they have the source's.
    aborted: source records of aborted transactions, which some tools copy. The group never reads them at the source, so the
    offset goes past copies of those before the committed one where that skips nothing.
    start and end are the destination's. Building takes time linear in the records, but for sorting.
    """

    def __init__(
        self,
        source: t.Iterable[Record],
        copies: t.Iterable[Record],
        name: t.Callable[[Record], Name],
        *,
        timestamps: bool,
        otherwise: t.Callable[[Record], Name] | None = None,
        aborted: t.Sequence[Record] = (),
        start: int,
        end: int,
    ) -> None:
        self.start, self.end = start, end
        source, copies = list(source), list(copies)
        self._aborted = _copies_of_aborted(aborted, {name(record) for record in source}, copies, name, timestamps)
        self._sources, self._name, self._otherwise = [record.offset for record in source], name, otherwise
        self._contents, self._names = _contents(source, copies, name, otherwise, timestamps)
        self._count(self._contents.values())

    def _count(self, contents: t.Iterable[Content]) -> None:
        """Set those apart that occur once on each side: nearly all, and all their groups take one pass."""
        pairs: list[tuple[int, int]] = []
        self._plain: list[tuple[list[int], list[int]]] = []
        self._mixed: list[Content] = []
        self._lonely: list[int] = []  # source offsets of records without any copy
        for content in contents:
            parts = _separable(content)
            if parts is None:
                self._mixed.append(content)
                continue
            for offsets, copies in parts:
                if not copies:
                    self._lonely += offsets
                elif len(offsets) == len(copies) == 1:
                    pairs.append((offsets[0], copies[0]))
                else:
                    self._plain.append((offsets, copies))
        pairs.sort()
        self._lonely.sort()
        self._pair_sources = [offset for offset, _copy in pairs]
        # The lowest copy of all pairs from an index on.
        self._lowest = list(itertools.accumulate((copy for _offset, copy in reversed(pairs)), min))[::-1]
        self._pair_copies = sorted(copy for _offset, copy in pairs)
        self._copy_of = dict(pairs)

    def _tallies(self, committed: int) -> list[Count]:
        """Those of the contents that occur more than once on a side."""
        result: list[Count] = [_plain(offsets, copies, committed) for offsets, copies in self._plain]
        for content in self._mixed:
            result += content.tallies(committed)
        return result

    def answer(self, committed: int) -> Answer:
        """Where a group belongs that has consumed everything before the committed offset."""
        some = self._tallies(committed)
        at = bisect.bisect_left(self._pair_sources, committed)
        firsts = [first for count in some if (first := count.first_wanted) is not None]
        if at < len(self._lowest):
            firsts.append(self._lowest[at])
        limit = min(firsts, default=self.end)
        # Of the pairs, every copy before the limit is consumed.
        lasts = [_last_before(self._pair_copies, limit), *(count.last_consumed(limit) for count in some)]
        lasts += [copy for copy, original in self._aborted.items() if original < committed and copy < limit]
        last = max((each for each in lasts if each is not None), default=None)
        offset = self.start if last is None else last + 1
        twice = [count for count in some if count.repeated(offset)]
        equal = sum(count.repeated(offset) for count in twice if count.wanted)
        following = bisect.bisect_left(self._sources, committed)
        surely = at < len(self._lowest) or any(count.surely_unconsumed for count in some)
        return Answer(
            offset,
            self._pairs_repeated(committed, offset) + sum(count.repeated(offset) for count in twice),
            equal,
            any(count.comes_before(offset) for count in twice if not count.wanted),
            surely or self._has_arrived(following),
            last,
            limit if firsts else None,
            any(count.wanted > 0 and not count.consumed and count.comes_before(offset) for count in some),
            self._sources[following - 1] if following else None,
            self._sources[following] if following < len(self._sources) else None,
        )

    def judge(self, committed: int, offset: int) -> Judgement:
        """What this offset would do to a group that has consumed everything before the committed one."""
        some = self._tallies(committed)
        at = bisect.bisect_left(self._pair_sources, committed)
        lost = sum(1 for source in self._pair_sources[at:] if self._copy_of[source] < offset)
        lonely = len(self._lonely) - bisect.bisect_left(self._lonely, committed)
        return Judgement(
            lost + sum(count.skipped(offset) for count in some),
            self._pairs_repeated(committed, offset) + sum(count.repeated(offset) for count in some),
            lonely + sum(count.absent for count in some),
        )

    def _pairs_repeated(self, committed: int, offset: int) -> int:
        at = bisect.bisect_left(self._pair_sources, committed)
        if at < len(self._lowest) and self._lowest[at] < offset:
            return sum(1 for source in self._pair_sources[:at] if self._copy_of[source] >= offset)
        following = len(self._pair_copies) - bisect.bisect_left(self._pair_copies, offset)
        return following - (len(self._pair_sources) - at)

    def _has_arrived(self, consumed: int) -> bool:
        """Is the last of so many consumed records at the destination? Nothing consumed is always there."""
        if not consumed:
            return True
        last = self._sources[consumed - 1]
        return self._contents[self._names[last]].has_arrived(last + 1)

    def origin(self, copy: Record, committed: int, *, consumed: bool) -> int:
        """The source offset that a copy comes from: the last consumed one that it may be, or the first unconsumed one."""
        if copy.offset in self._aborted:
            return self._aborted[copy.offset]
        content = self._contents.get(self._name(copy))
        if content is None and self._otherwise is not None:
            content = self._contents[self._otherwise(copy)]
        offsets = [offset for offset, _time in content.source] if content is not None else []
        at = bisect.bisect_left(offsets, committed)
        return offsets[at - 1 if consumed else at]


_ANOTHER = -2  # no record's time


def _contents(
    source: t.Sequence[Record],
    copies: t.Iterable[Record],
    name: t.Callable[[Record], Name],
    otherwise: t.Callable[[Record], Name] | None,
    timestamps: bool,
) -> tuple[dict[Name, Content], dict[int, Name]]:
    """All contents by their names, and the names of the records at the source's offsets.

    Contents that are alike by their other name become one, by that name, where the destination has copies that only it knows.
    """
    by_name: dict[Name, list[Record]] = collections.defaultdict(list)
    alike: dict[Name, set[Name]] = collections.defaultdict(set)
    for record in source:
        by_name[name(record)].append(record)
        if otherwise is not None:
            alike[otherwise(record)].add(name(record))
    found: dict[Name, list[Record]] = {its: [] for its in by_name}
    changed: dict[Name, list[Record]] = collections.defaultdict(list)
    for copy in copies:
        if name(copy) in found:
            found[name(copy)].append(copy)
        elif otherwise is not None and otherwise(copy) in alike:
            changed[otherwise(copy)].append(copy)

    def time(copy: Record) -> Time:
        return copy.timestamp if timestamps and not copy.log_append_time else None

    contents: dict[Name, Content] = {}
    names = {record.offset: its for its, records in by_name.items() for record in records}
    for common, others in changed.items():
        members = sorted(alike[common], key=repr)
        originals = sorted(record for its in members for record in by_name.pop(its))
        unchanged = [(copy, its) for its in members for copy in found.pop(its)]
        names.update((record.offset, common) for record in originals)
        if not unchanged:
            contents[common] = Content(_timed(originals), [(copy.offset, time(copy)) for copy in others])
            continue
        # Some copies have kept all: these are told apart by everything, and the others stand for what is not there so.
        own: dict[t.Any, int] = collections.defaultdict(itertools.count().__next__)
        both = [
            (copy.offset, own[its, time(copy)] if timestamps and time(copy) is not None else own[its, None])
            for copy, its in unchanged
        ]
        both += [(copy.offset, _ANOTHER) for copy in others]
        contents[common] = Content(
            [(record.offset, own[name(record), record.timestamp if timestamps else None]) for record in originals],
            sorted(both),
        )
    for its, records in by_name.items():
        contents[its] = Content(_timed(records), [(copy.offset, time(copy)) for copy in found[its]])
    return contents, names


def _copies_of_aborted(
    aborted: t.Sequence[Record],
    known: t.Collection[Name],
    copies: t.Iterable[Record],
    name: t.Callable[[Record], Name],
    timestamps: bool,
) -> dict[int, int]:
    """The offsets of copies that can only be those of aborted records, with the lowest offset at the source of each."""

    def key(record: Record) -> tuple[Name, Time]:
        return name(record), record.timestamp if timestamps and not record.log_append_time else None

    places: dict[tuple[Name, Time], int] = {}
    for record in aborted:
        if name(record) not in known:
            places.setdefault((name(record), record.timestamp if timestamps else None), record.offset)
            places.setdefault((name(record), None), record.offset)
    return {copy.offset: places[key(copy)] for copy in copies if key(copy) in places} if places else {}


def _timed(records: t.Iterable[Record]) -> list[tuple[int, int]]:
    return [(record.offset, record.timestamp) for record in records]


_offset = operator.itemgetter(0)


def _plain(offsets: list[int], copies: list[int], committed: int) -> Tally:
    consumed = bisect.bisect_left(offsets, committed)
    return Tally(copies, len(offsets) - consumed, consumed)


def _separable(content: Content) -> list[tuple[list[int], list[int]]] | None:
    """The offsets of records and copies that are counted together whatever is committed; None where that depends on it.

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
        return [(offsets, copies[time]) for time, offsets in originals.items()]
    return [([offset for offset, _time in content.source], [offset for offset, _time in content.copies])]


_STAMPED, _OWN, _OTHER = range(3)


def _kind(time: Time, known: t.Collection[int]) -> int:
    return _STAMPED if time is None else _OWN if time in known else _OTHER
