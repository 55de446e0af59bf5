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
import itertools
import math
import typing as t

from .._model.records import Record
from .._model.verdicts import Absent
from .content import Content, separable
from .contents import contents_of, copies_of_aborted
from .lost import Sighting, copies_of_lost
from .tallies import Count, Name, Tally, last_before


class Answer(t.NamedTuple):
    """Where a group must stand.

    repeats: how many consumed records come again at most; equal: how many of them have a content that is unconsumed as
    well. again: whether one of them has another copy before the offset. arrived: whether the replication tool has come
    as far as the group; if not, what it still has to bring may stand before any of this. last_consumed and
    first_wanted: the offsets of the two copies that the offset was placed between; None where there is none. recopied:
    whether copies of unconsumed records stand before the offset, which come once more after it. last_at_source and
    next_at_source: the source offsets of the last consumed and of the first unconsumed record; None where the source
    has none. to_come: how many consumed records without a copy may still come and be repeated, too, because all that
    says `arrived` are copies that may be those of equal records, also of those that the source has lost. absent: unconsumed
    records without a copy, though a later one has surely arrived; None where there is none.
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
    to_come: int = 0
    absent: Absent | None = None


class Judgement(t.NamedTuple):
    """What an offset does to a group: records that it misses, that it reads again at most, and that no copy is there of."""

    skipped: int
    repeated: int
    absent: int


class Logs:
    """Both logs of a partition, whole, ready to be counted for any number of committed offsets.

    source: the records that the source still has, aborted ones left out and those of open transactions included. copies:
    the visible records of the destination. name tells contents apart; timestamps: whether times are compared at all.
    otherwise: another name, by which copies are known whose first one the source does not have (tools add headers). They
    count as copies with another time, unless they have the source's.
    stable: the source's last stable offset. The transactions that the records from it on are in may abort. Where the tool has
    copied anything twice, what is taken for their copies may then be second copies of equal consumed records.
    aborted: source records of aborted transactions, which some tools copy. The group never reads them at the source, so the
    offset goes past copies of those before the committed one where that skips nothing.
    expired, compacted: whether records may have been at the source that it has lost. Copies that can only be theirs stand for
    nothing. What has expired may have been equal to any record.
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
        stable: float = math.inf,
        expired: bool = False,
        compacted: bool = False,
        start: int,
        end: int,
    ) -> None:
        self.start, self.end, self._with_times, self._expired = start, end, timestamps, expired
        source, copies = list(source), list(copies)
        if timestamps and (expired or compacted):
            lost = copies_of_lost(
                [Sighting((otherwise or name)(record), record.timestamp, 0, record.offset) for record in source],
                [Sighting((otherwise or name)(copy), _kept_time(copy), 0, copy.offset) for copy in copies],
            )
            copies = [copy for copy in copies if (0, copy.offset) not in lost]
        self._aborted = copies_of_aborted(aborted, {name(record) for record in source}, copies, name, timestamps)
        self._sources, self._name, self._otherwise = [record.offset for record in source], name, otherwise
        self._contents, self._names = contents_of(source, copies, name, otherwise, timestamps)
        twice = any(len(content.copies) > len(content.source) for content in self._contents.values())
        self._stable = stable if twice else math.inf
        self._without_own = sorted(
            offset for content in self._contents.values() for offset in (content.without_own if expired else ())
        )
        self._count(self._contents.values())

    def _count(self, contents: t.Iterable[Content]) -> None:
        """Set those apart that occur once on each side: nearly all, and all their groups take one pass."""
        pairs: list[tuple[int, int]] = []
        self._plain: list[tuple[list[int], list[int], bool]] = []
        self._mixed: list[Content] = []
        self._lonely: list[int] = []  # source offsets of records without any copy
        self._last_by_time = -1  # of the pairs whose copies have kept their time, the last source offset
        self._short: list[
            tuple[list[int], int]
        ] = []  # source offsets of one content that has fewer copies, and how many
        for content in contents:
            parts = separable(content)
            if parts is None:
                self._mixed.append(content)
                continue
            for offsets, copies, by_time in parts:
                if not copies:
                    self._lonely += offsets
                elif len(offsets) == len(copies) == 1:
                    pairs.append((offsets[0], copies[0]))
                    if by_time:
                        self._last_by_time = max(self._last_by_time, offsets[0])
                else:
                    self._plain.append((offsets, copies, by_time))
                    if len(copies) < len(offsets):
                        self._short.append((offsets, len(copies)))
        pairs.sort()
        self._lonely.sort()
        self._pair_sources = [offset for offset, _copy in pairs]
        # The lowest copy of all pairs from an index on.
        self._lowest = list(itertools.accumulate((copy for _offset, copy in reversed(pairs)), min))[::-1]
        self._pair_copies = sorted(copy for _offset, copy in pairs)
        self._copy_of = dict(pairs)

    def _tallies(self, committed: int) -> list[Count]:
        """Those of the contents that occur more than once on a side."""
        result: list[Count] = [Tally.at(committed, *each, self._stable) for each in self._plain]
        for content in self._mixed:
            result += content.tallies(committed, self._stable)
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
        lasts = [last_before(self._pair_copies, limit), *(count.last_consumed(limit) for count in some)]
        lasts += [copy for copy, original in self._aborted.items() if original < committed and copy < limit]
        last = max((each for each in lasts if each is not None), default=None)
        offset = self.start if last is None else last + 1
        twice = [count for count in some if count.repeated(offset)]
        equal = sum(count.repeated(offset) for count in twice if count.wanted)
        following = bisect.bisect_left(self._sources, committed)
        surely = at < len(self._lowest) or any(count.surely_unconsumed for count in some)
        arrived = surely or self._has_arrived(following)
        to_come = (
            self._lacking(committed, some) if arrived and not self._firmly_arrived(committed, some, following) else 0
        )
        return Answer(
            offset,
            self._pairs_repeated(committed, offset) + sum(count.repeated(offset) for count in twice),
            equal,
            any(count.comes_before(offset) for count in twice if not count.wanted),
            arrived,
            last,
            limit if firsts else None,
            any(count.wanted > 0 and not count.consumed and count.comes_before(offset) for count in some),
            self._sources[following - 1] if following else None,
            self._sources[following] if following < len(self._sources) else None,
            to_come,
            self._absent(committed),
        )

    def _absent(self, committed: int) -> Absent | None:
        """What is missing before the last record that has surely arrived, of equal records the last ones.

        That is one which is the only one of its content, with a single copy; it must have kept its time if any copy has.
        """
        arrived = self._last_by_time if self._last_by_time >= 0 else next(iter(self._pair_sources[-1:]), -1)
        begin, end = (bisect.bisect_left(self._lonely, offset) for offset in (committed, arrived))
        number, firsts = max(0, end - begin), self._lonely[begin : min(end, begin + 1)]
        for offsets, copies in self._short:
            missing = _last_of(offsets, committed, len(offsets) - copies, arrived)
            number, firsts = number + len(missing), firsts + missing[:1]
        for content in self._mixed:
            lacking = sum(count.absent for count in content.tallies(committed, self._stable))
            missing = _last_of([offset for offset, _time in content.source], committed, lacking, arrived)
            number, firsts = number + len(missing), firsts + missing[:1]
        return Absent(number, min(firsts)) if firsts else None

    def _firmly_arrived(self, committed: int, some: t.Iterable[Count], consumed: int) -> bool:
        if (
            not consumed
            or not self._with_times
            or self._last_by_time >= committed
            or any(count.firmly_unconsumed for count in some)
        ):
            return True
        last = self._sources[consumed - 1]
        return self._contents[self._names[last]].has_firmly_arrived(last + 1)

    def _lacking(self, committed: int, some: t.Iterable[Count]) -> int:
        """How many consumed records have no copy; where equal ones may have expired, none that is surely theirs."""
        if self._expired:
            return bisect.bisect_left(self._without_own, committed)
        return bisect.bisect_left(self._lonely, committed) + sum(count.lacking for count in some)

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


def _kept_time(copy: Record) -> int | None:
    return None if copy.log_append_time else copy.timestamp


def _last_of(offsets: t.Sequence[int], begin: int, number: int, end: int) -> list[int]:
    """Of the last so many of these ascending offsets, those within [begin, end)."""
    return [offset for offset in offsets[max(0, len(offsets) - number) :] if begin <= offset < end]
