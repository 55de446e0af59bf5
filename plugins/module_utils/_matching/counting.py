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

    copies: their offsets, ascending. wanted: how many unconsumed source records they may stand for. consumed: how many
    consumed ones. is_copy: whether they are taken for copies of consumed records where the offset is placed. missing: how many
    consumed records have to be there before one of the copies is surely an unconsumed one.
    """

    copies: t.Sequence[int]
    wanted: int
    consumed: int
    is_copy: bool
    missing: int

    @property
    def need(self) -> int:
        """How many of the copies have to follow the offset."""
        return min(self.wanted, len(self.copies))

    @property
    def surely_unconsumed(self) -> bool:
        """Is one of the copies certainly an unconsumed record?"""
        return self.wanted > 0 and len(self.copies) > self.missing

    def from_on(self, offset: int) -> int:
        """How many of the copies stand at this offset or after it."""
        return len(self.copies) - bisect.bisect_left(self.copies, offset)

    def skipped(self, offset: int) -> int:
        """How many unconsumed records a group that starts at this offset misses."""
        return max(0, self.need - self.from_on(offset))

    def repeated(self, offset: int) -> int:
        """How many consumed records a group that starts at this offset reads again, at most."""
        return max(0, self.from_on(offset) - self.wanted) if self.consumed else 0


class Answer(t.NamedTuple):
    """Where a group must stand.

    repeats: how many consumed records come again at most; equal: how many of them have a content that is unconsumed as well.
    again: whether one of them has another copy before the offset. arrived: whether the replication tool has come as far as the
    group; if not, what it still has to bring may stand before any of this. last_consumed and first_wanted: the offsets of the
    two copies that the offset was placed between; None where there is none.
    """

    offset: int
    repeats: int
    equal: int
    again: bool
    arrived: bool
    last_consumed: int | None
    first_wanted: int | None


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

    def tallies(self, committed: int) -> list[Tally]:
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
    consumed: collections.Counter[int], unconsumed: collections.Counter[int], copies: t.Sequence[tuple[int, Time]]
) -> list[Tally]:
    """The tallies of one content, from the times of its consumed and unconsumed source records and from its copies."""
    times = collections.Counter(time for _offset, time in copies)
    known = consumed.keys() | unconsumed.keys()
    on_one_side = bool(consumed) != bool(unconsumed)
    one: list[int] = []
    rest: list[int] = []
    own: dict[int, list[int]] = collections.defaultdict(list)
    for offset, time in copies:
        if on_one_side and times[None] and (time is None or time in known):
            one.append(offset)
        elif time is not None and time in known:
            own[time].append(offset)
        else:
            rest.append(offset)
    all_consumed, all_unconsumed = consumed.total(), unconsumed.total()
    result = [
        Tally(places, unconsumed[time], consumed[time], consumed[time] > 0, consumed[time])
        for time, places in own.items()
    ]
    if one:
        result.append(Tally(one, all_unconsumed, all_consumed, all_consumed > 0, all_consumed))
    if rest:
        lacking = sum(max(0, number - times[time]) for time, number in consumed.items())
        wanted = sum(max(0, number - times[time]) for time, number in unconsumed.items())
        result.append(Tally(rest, wanted, all_consumed, lacking > 0, lacking))
    return result


class Logs:
    """Both logs of a partition, whole, ready to be counted for any number of committed offsets.

    source: the records that the source still has, aborted ones left out and those of open transactions included. copies:
    the visible records of the destination. name tells contents apart; timestamps: whether times are compared at all.
    start and end are the destination's. Building takes time linear in the records, but for sorting.
    """

    def __init__(
        self,
        source: t.Iterable[Record],
        copies: t.Iterable[Record],
        name: t.Callable[[Record], Name],
        *,
        timestamps: bool,
        start: int,
        end: int,
    ) -> None:
        self.start, self.end = start, end
        originals: dict[Name, list[tuple[int, int]]] = collections.defaultdict(list)
        offsets: list[int] = []
        for record in source:
            originals[name(record)].append((record.offset, record.timestamp))
            offsets.append(record.offset)
        found: dict[Name, list[tuple[int, Time]]] = {its: [] for its in originals}
        for record in copies:
            its = found.get(name(record))
            if its is not None:
                kept = timestamps and not record.log_append_time
                its.append((record.offset, record.timestamp if kept else None))
        self._sources = offsets
        self._names = {offset: its for its, places in originals.items() for offset, _time in places}
        self._contents = {its: Content(originals[its], copies_of) for its, copies_of in found.items()}
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

    def _tallies(self, committed: int) -> list[Tally]:
        """Those of the contents that occur more than once on a side."""
        result = [_plain(offsets, copies, committed) for offsets, copies in self._plain]
        for content in self._mixed:
            result += content.tallies(committed)
        return result

    def answer(self, committed: int) -> Answer:
        """Where a group belongs that has consumed everything before the committed offset."""
        some = self._tallies(committed)
        at = bisect.bisect_left(self._pair_sources, committed)
        firsts = [tally.copies[-tally.need] for tally in some if tally.need]
        if at < len(self._lowest):
            firsts.append(self._lowest[at])
        limit = min(firsts, default=self.end)
        # Of the pairs, every copy before the limit is consumed.
        before = bisect.bisect_left(self._pair_copies, limit)
        lasts = [self._pair_copies[before - 1]] if before else []
        for tally in some:
            if tally.is_copy and (index := bisect.bisect_left(tally.copies, limit)):
                lasts.append(tally.copies[index - 1])
        last = max(lasts, default=None)
        offset = self.start if last is None else last + 1
        twice = [tally for tally in some if tally.repeated(offset)]
        again = any(tally.from_on(offset) < len(tally.copies) for tally in twice if not tally.wanted)
        equal = sum(tally.repeated(offset) for tally in twice if tally.wanted)
        arrived = (
            self._has_arrived(committed) or at < len(self._lowest) or any(tally.surely_unconsumed for tally in some)
        )
        return Answer(
            offset,
            self._pairs_repeated(committed, offset) + sum(tally.repeated(offset) for tally in twice),
            equal,
            again,
            arrived,
            last,
            limit if firsts else None,
        )

    def judge(self, committed: int, offset: int) -> Judgement:
        """What this offset would do to a group that has consumed everything before the committed one."""
        some = self._tallies(committed)
        at = bisect.bisect_left(self._pair_sources, committed)
        lost = sum(1 for source in self._pair_sources[at:] if self._copy_of[source] < offset)
        lonely = len(self._lonely) - bisect.bisect_left(self._lonely, committed)
        return Judgement(
            lost + sum(tally.skipped(offset) for tally in some),
            self._pairs_repeated(committed, offset) + sum(tally.repeated(offset) for tally in some),
            lonely + sum(max(0, tally.wanted - len(tally.copies)) for tally in some),
        )

    def _pairs_repeated(self, committed: int, offset: int) -> int:
        at = bisect.bisect_left(self._pair_sources, committed)
        if at < len(self._lowest) and self._lowest[at] < offset:
            return sum(1 for source in self._pair_sources[:at] if self._copy_of[source] >= offset)
        following = len(self._pair_copies) - bisect.bisect_left(self._pair_copies, offset)
        return following - (len(self._pair_sources) - at)

    def _has_arrived(self, committed: int) -> bool:
        """Is the last consumed record at the destination? Nothing consumed is always there."""
        at = bisect.bisect_left(self._sources, committed)
        return not at or self._contents[self._names[self._sources[at - 1]]].has_arrived(committed)


_offset = operator.itemgetter(0)


def _plain(offsets: list[int], copies: list[int], committed: int) -> Tally:
    consumed = bisect.bisect_left(offsets, committed)
    return Tally(copies, len(offsets) - consumed, consumed, consumed > 0, consumed)


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
