# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""The one engine of counting: contents of any number of source and destination partitions, for any number of groups.

Whatever it says (count_parts.py) is a lowest or highest place, a sum, or a yes. So contents can be dealt out in
any way: the process counts them all at once, and each task of Spark those that it has.
A place is a partition's number and an offset (axis.Axis); a commit is a place in each source partition.
"""

from __future__ import annotations

import bisect
import collections
import itertools
import typing as t

from .axis import Axis
from .content import Content, separable, separate, tallies
from .count_parts import Facts, Placed, Reach, highest, lowest
from .recopied import Recopied
from .singles import ARRIVED, NOT_ARRIVED, SURELY_ARRIVED, Commits, CopyAndRecord, Pair, Singles, singles_of
from .tallies import Count, Mixed, Tally, last_before

_END = 1 << 62  # after every place


class Sides(t.NamedTuple):
    """The partitions that are counted together: ranges of numbers on the axes of both clusters."""

    source: Axis
    sources: range
    destination: Axis
    destinations: range

    @property
    def are_single(self) -> bool:
        """Is there one partition on each side?"""
        return len(self.sources) == len(self.destinations) == 1


# A record, its only copy, the record's time, and whether the broker has stamped the copy. Otherwise it has the record's time.
Once = tuple[int, int, int, bool]


class _Unit(t.NamedTuple):
    """Records and copies that are counted together, as places.

    content: of which they are all, where what is committed decides how its times are told apart; None where one tally serves
    any commit.
    """

    sources: t.Sequence[int]
    copies: t.Sequence[int]
    by_time: bool
    content: Content | None = None


class _Part(t.NamedTuple):
    """What counts of a unit in one destination partition, given by its position.

    has_unconsumed: whether any record of the unit is, whichever partition its copy is in.
    """

    at: int
    tally: Count
    has_unconsumed: bool
    unit: _Unit


class CountedContents:
    """Contents, ready to be counted. Building takes time linear in the records, but for sorting.

    contents: each once; those without source records are what only the destination has. once: further ones that occur once on
    each side. singles: further ones of these, as they are.
    ages: the times of copies by their places, where there are several destination partitions; the youngest copies are needed.
    recurs: may equal records have been lost? Then only a copy with its own time is surely a record's.
    aborted: places of copies of aborted records, with those of the records: the offset goes past them. lost: places of copies
    that are in no content, because they can only be those of records that the source has lost. kept: see Facts.kept_times and
    kept_headers.
    Times of destination-only records matter where equal records may have been lost: see Answer.may_be_lost.
    """

    def __init__(
        self,
        sides: Sides,
        contents: t.Iterable[Content],
        singles: Singles | None = None,
        *,
        once: t.Iterable[Once] = (),
        ages: t.Mapping[int, int] | None = None,
        recurs: bool = False,
        aborted: t.Mapping[int, int] | None = None,
        lost: t.Iterable[int] = (),
        kept: tuple[bool, bool] = (True, True),
    ) -> None:
        self._recurs, self._ages, self._aborted = recurs, ages or {}, aborted or {}
        self._step, self._destination_step = sides.source.step, sides.destination.step
        self._begins = [number * self._step for number in sides.sources]
        self._first_source, self._first_destination = sides.sources.start, sides.destinations.start
        self._destinations = len(sides.destinations)
        # Is the only copy of a content's only record surely its copy if the broker has stamped it, as one with its time is?
        self._stamps_tell = sides.are_single and not recurs
        self._units: list[_Unit] = []
        self._owners: dict[int, _Unit] = {}  # by their records
        self._sources: list[int] = []  # all records but those of singles
        self._short: list[int] = []  # of separable contents: records of which no copy is there
        self._lacking: list[int] = []  # consumed ones of these may be still to come
        self._destination_only: list[tuple[int, int]] = []  # with their times, where records may have been lost
        nowhere: list[int | None] = [None] * self._destinations
        self.facts = Facts(nowhere, nowhere.copy(), [None], [None], [False], [kept[0]], [kept[1]])
        pairs: list[Pair] = [
            (record, copy, self._stamps_tell if is_stamped else not recurs or time >= 0)
            for record, copy, time, is_stamped in once
        ]
        for content in contents:
            if content.source:
                self._sources += [place for place, _time in content.source]
                pairs += self._taken(content)
            else:
                self._note_first(self.facts.destination_only, (place for place, _time in content.copies))
                if recurs:
                    self._destination_only += [
                        (place, time) for place, time in content.copies if time is not None and time >= 0
                    ]
        self._note_first(self.facts.destination_only, lost)
        self._recopied = Recopied(self._taken_apart() if sides.are_single else ())
        of_pairs = singles_of(pairs, None if sides.are_single else self._positions, self._destinations)
        self._singles = [of_pairs] if singles is None else [singles, of_pairs]
        self._learn_of_singles()
        for places in (self._sources, self._short, self._lacking):
            places.sort()
        self._destination_only.sort()
        times = (time for _place, time in reversed(self._destination_only))
        # The lowest time of each of these and those after it.
        self._oldest_from = list(itertools.accumulate(times, min))[::-1]
        self._known: tuple[t.Any, list[tuple[_Unit, list[Count]]]] = (None, [])  # what was asked last, see _counts()

    def _taken(self, content: Content) -> t.Iterator[Pair]:
        """Take a content in, as units of what is counted together; -> what of it occurs once on each side, which is no unit."""
        number = len(content.copies)
        self.facts.twice[0] |= number > len(content.source)
        parts = separable(content)
        if parts is None:
            records, copies = ([place for place, _time in side] for side in content)
            unit = _Unit(records, copies, by_time=False, content=content)
            self._add(unit, has_surplus=number > len(records) or content.is_doubted)
            self._lacking += content.without_own if self._recurs else self._without(content, records, number)
            return
        times = dict(content.source) if self._recurs else {}
        for records, copies, has_time in parts:
            by_time = has_time and times.get(records[0], 0) >= 0  # no time shows nothing where equal records were lost
            if len(records) == len(copies) == 1:
                yield records[0], copies[0], by_time or (self._stamps_tell and content.copies[0][1] is None)
                continue
            short = self._without(content, records, len(copies))
            if not copies:
                self._short += short
            self._lacking += records[len(copies) if by_time else 0 :] if self._recurs else short
            if copies:
                self._add(_Unit(records, copies, by_time), has_surplus=len(copies) > len(records))

    def _taken_apart(self) -> t.Iterator[tuple[int, t.Sequence[int]]]:
        """Take the units of one record and several copies from the others: a tool that was started anew leaves only these."""
        units, self._units = self._units, []
        for unit in units:
            # Where equal records may have been lost, copies without their record's time may be of these.
            if unit.content is None and len(unit.sources) == 1 and (unit.by_time or not self._recurs):
                yield unit.sources[0], unit.copies
            else:
                self._units.append(unit)

    def _without(self, content: Content, records: list[int], copies: int) -> list[int]:
        """The records without a copy: the last ones, of several partitions the youngest ones."""
        if len(self._begins) > 1 and copies < len(records):
            times = dict(content.source)
            records = sorted(records, key=lambda place: (times[place], place))
        return records[copies:]

    def _add(self, unit: _Unit, *, has_surplus: bool) -> None:
        self._units.append(unit)
        self._owners.update(dict.fromkeys(unit.sources, unit))
        if has_surplus:
            self._note_first(self.facts.surplus, unit.copies)

    def _note_first(self, firsts: list[int | None], places: t.Iterable[int]) -> None:
        """Put these places of the destination into the first ones of each of its partitions, where they are earlier."""
        for place in places:
            at = self._destination_at(place)
            firsts[at] = lowest((firsts[at], place))

    def _learn_of_singles(self) -> None:
        """Note which records have surely arrived, and which may be still to come because equal ones were lost."""
        ends = [begin + self._step for begin in self._begins]
        self._last_singles = [[last for singles in self._singles for last in singles.lasts(end)] for end in ends]
        timed = [last_before(singles.timed, _END) for singles in self._singles]
        untimed = [last_before(singles.untimed, _END) for singles in self._singles]
        self.facts.last_by_time[0], self.facts.last_pair[0] = highest(timed), highest(timed + untimed)
        if self._recurs:
            self._lacking += [int(place) for singles in self._singles for place in singles.untimed]

    def _positions(self, record: int, copy: int) -> tuple[int, int]:
        return self._source_at(record), self._destination_at(copy)

    def _source_at(self, place: int) -> int:
        """The position of a place's source partition."""
        return place // self._step - self._first_source

    def _destination_at(self, place: int) -> int:
        return place // self._destination_step - self._first_destination

    def reach(self, commits: Commits) -> Reach:
        """How far the offset of a group may go that has consumed what is before these places."""
        firsts, recopied = self._firsts(commits)
        lasts = [self._last(commits, at) for at in range(len(commits))]
        nexts = [self._next(commits, at) for at in range(len(commits))]
        return Reach(firsts, recopied, lasts, nexts, self._surely(commits), self._below(self._lacking, commits))

    def _firsts(self, commits: Commits) -> tuple[list[CopyAndRecord | None], list[int | None]]:
        """For each destination partition: Reach.firsts and Reach.recopied."""
        firsts: list[CopyAndRecord | None] = [None] * self._destinations
        recopied: list[int | None] = [None] * self._destinations
        for singles in self._singles:
            for at, spot in singles.first_copies(commits):
                firsts[at] = lowest((firsts[at], spot))
        for at, count, has_unconsumed, unit in self._parts(commits):
            first, best = count.first_wanted, firsts[at]
            if first is not None and (best is None or first < best[0]):
                firsts[at] = first, min(place for place in unit.sources if not self._is_consumed(place, commits))
            if has_unconsumed and not count.consumed:
                recopied[at] = lowest((recopied[at], count.earliest))
        firsts[0] = lowest((firsts[0], self._recopied.first_wanted(commits[0])))
        recopied[0] = lowest((recopied[0], self._recopied.earliest(commits[0])))
        return firsts, recopied

    def _surely(self, commits: Commits) -> list[int]:
        """For each source partition: Reach.surely. A single says it if its record is unconsumed, and a unit by its counts."""
        surely = [
            max((arrived for last, arrived in lasts if last >= commit), default=NOT_ARRIVED)
            for commit, lasts in zip(commits, self._last_singles, strict=True)
        ]
        if self._recopied.has_unconsumed(commits[0]):
            surely[0] = max(surely[0], ARRIVED)
        for unit, counts in self._counts(commits):
            if any(count.surely_unconsumed for count in counts):
                partitions = {self._source_at(place) for place in unit.sources if not self._is_consumed(place, commits)}
                if len(partitions) == 1:
                    at = partitions.pop()
                    is_firm = any(count.firmly_unconsumed for count in counts)
                    surely[at] = max(surely[at], SURELY_ARRIVED if is_firm else ARRIVED)
        return surely

    def _last(self, commits: Commits, at: int) -> CopyAndRecord | None:
        """The last consumed record of a source partition, and whether it has arrived."""
        lasts = [singles.last(commits[at]) for singles in self._singles]
        other = last_before(self._sources, commits[at])
        last = highest((*lasts, None if other is None else (other, NOT_ARRIVED)))
        if last is None or last[0] < self._begins[at]:
            return None
        unit = self._owners.get(last[0])
        return t.cast(CopyAndRecord, last if unit is None else (last[0], self._has_arrived(unit, last[0], commits)))

    def _has_arrived(self, unit: _Unit, last: int, commits: Commits) -> int:
        if unit.content is None:
            if len(unit.copies) < sum(self._below(unit.sources, commits)):
                return NOT_ARRIVED
            return SURELY_ARRIVED if unit.by_time and len(unit.sources) == 1 else ARRIVED
        times = dict(unit.content.source)
        if unit.content.has_firmly_arrived(times[last]):
            return SURELY_ARRIVED
        consumed = collections.Counter(time for place, time in times.items() if self._is_consumed(place, commits))
        return ARRIVED if unit.content.has_arrived(consumed, times[last]) else NOT_ARRIVED

    def _next(self, commits: Commits, at: int) -> int | None:
        """The first unconsumed record of a source partition."""
        following = bisect.bisect_left(self._sources, commits[at])
        others = self._sources[following : following + 1]
        first = lowest((*others, *(singles.next(commits[at]) for singles in self._singles)))
        return None if first is None or self._source_at(first) != at else int(first)

    def _is_consumed(self, place: int, commits: Commits) -> bool:
        return place < commits[self._source_at(place)]

    def _below(self, places: t.Sequence[int], commits: Commits) -> list[int]:
        """For each source partition, how many of these ascending places are before the commit."""
        find = bisect.bisect_left
        return [find(places, commit) - find(places, begin) for commit, begin in zip(commits, self._begins, strict=True)]

    def _parts(self, commits: Commits, stable: Commits | None = None) -> list[_Part]:
        """What counts of each unit in each destination partition. stable: see placed()."""
        return [
            part
            for unit, several in self._counts(commits, stable)
            for count in several
            for part in self._dealt(unit, count)
        ]

    def _counts(self, commits: Commits, stable: Commits | None = None) -> list[tuple[_Unit, list[Count]]]:
        """What counts of each unit, in all destination partitions together. Asked twice for the same, it counts once."""
        key = tuple(commits), stable and tuple(stable)
        if self._known[0] != key:
            hidden_from = None if stable is None else [*map(max, commits, stable)]
            self._known = key, [(unit, self._count(unit, commits, hidden_from)) for unit in self._units]
        return self._known[1]

    def _count(self, unit: _Unit, commits: Commits, hidden_from: Commits | None) -> list[Count]:
        """hidden_from: from where on the records of each source partition do not count against repeats. See Tally.hidden."""
        number = len(unit.sources)
        hidden = 0 if hidden_from is None else number - sum(self._below(unit.sources, hidden_from))
        if unit.content is None:
            consumed = sum(self._below(unit.sources, commits))
            return [Tally(unit.copies, number - consumed, consumed, hidden, unit.by_time)]
        sides = [], []  # type: tuple[list[int], list[int]]
        for place, time in unit.content.source:
            sides[self._is_consumed(place, commits)].append(time)
        unconsumed_times, consumed_times = map(collections.Counter, sides)
        by_times = tallies if self._destinations == 1 else separate
        return by_times(consumed_times, unconsumed_times, unit.content.copies, hidden)

    def _dealt(self, unit: _Unit, count: Count) -> t.Iterator[_Part]:
        """Deal a count out to the destination partitions.

        A group that reads all partitions needs as many copies as it has not consumed in all together: the youngest ones.
        """
        if not isinstance(count, Tally) or self._destinations == 1:
            yield _Part(0, count, count.wanted > 0, unit)
            return
        by_age = sorted(count.copies, key=lambda place: (self._ages[place], place))
        need = min(count.wanted, len(by_age))
        wanted = collections.Counter(map(self._destination_at, by_age[len(by_age) - need :]))
        # Where copies are missing, nobody knows of which side, nor in which partition.
        missing = max(0, count.consumed + count.wanted - len(by_age)) if count.wanted else 0
        for at, places in itertools.groupby(sorted(by_age), self._destination_at):
            copies = list(places)
            consumed = missing + len(copies) - wanted[at] if count.consumed else 0
            yield _Part(at, Tally(copies, wanted[at], consumed, count.hidden), count.wanted > 0, unit)

    def placed(
        self,
        commits: Commits,
        offsets: t.Sequence[int],
        arrived: int,
        stable: Commits | None = None,
        lost_until: int | None = None,
    ) -> Placed:
        """What is before and after these offsets, given as places; none is after the first copy that has to follow.

        arrived: see Facts. stable: the last stable offsets of the source, where what they hide counts as if it were aborted.
        lost_until: see GroupPosition.
        """
        lasts = self._last_singles_before(commits, offsets)
        of_singles = [singles.repeated(commits, offsets) for singles in self._singles]
        repeats = [sum(numbers) for numbers in zip(*of_singles, strict=True)]
        equal, again, loose = [0] * len(repeats), [False] * len(repeats), [False] * len(repeats)
        lasts[0] = highest((lasts[0], self._recopied.last_consumed(commits[0], offsets[0])))
        number, again[0] = self._recopied.repeated(commits[0], offsets[0])
        repeats[0] += number
        also_lacking = if_lost = 0
        if self._recurs:
            also_lacking = sum(
                max(0, numbers[0] - singles.timed_before(commits[0]))
                for singles, numbers in zip(self._singles, of_singles, strict=True)
            )
        for at, count, has_unconsumed, unit in self._parts(commits, stable):
            if not count.consumed:
                continue
            offset = offsets[at]
            last, best = count.last_consumed(offset), lasts[at]
            if last is not None and (best is None or last > best[0]):
                lasts[at] = last, max(place for place in unit.sources if self._is_consumed(place, commits))
            number = count.repeated(offset)
            repeats[at] += number
            if has_unconsumed:
                equal[at] += number
            elif number and count.earliest is not None:
                again[at] |= count.earliest < offset
            loose[at] |= isinstance(count, Mixed) and unit.copies[0] < offset
            if self._recurs:
                most = count.repeated_if_lost(offset, number)
                if_lost += most - number
                also_lacking += count.alternatives(offset, most)
        may_be_lost = 0
        if lost_until is not None:
            may_be_lost = self._may_be_lost(offsets[0], lost_until)
            loose[0] |= self._may_be_lost(-1 if lasts[0] is None else lasts[0][0], lost_until) > may_be_lost
        absent = self._absent(commits, arrived, stable)
        return Placed(lasts, repeats, equal, again, loose, [also_lacking], [if_lost], [may_be_lost], *absent)

    def _may_be_lost(self, offset: int, until: int) -> int:
        """How many destination-only records from this place on are so old."""
        at = bisect.bisect_left(self._destination_only, (offset, -1))
        if at == len(self._oldest_from) or self._oldest_from[at] > until:
            return 0
        return sum(time <= until for _place, time in self._destination_only[at:])

    def _last_singles_before(self, commits: Commits, offsets: t.Sequence[int]) -> list[CopyAndRecord | None]:
        """For each destination partition: the last copy of a single, or of an aborted record before the commit."""
        lasts: list[CopyAndRecord | None] = [None] * self._destinations
        for singles in self._singles:
            for at, spot in singles.last_copies(offsets):
                lasts[at] = highest((lasts[at], spot))
        for copy, original in self._aborted.items():
            if original < commits[0] and copy < offsets[0]:
                lasts[0] = highest((lasts[0], (copy, original)))
        return lasts

    def _absent(self, commits: Commits, arrived: int, stable: Commits | None) -> tuple[list[int], list[int | None]]:
        """Unconsumed records without a copy before one that has arrived; told where there is one partition on each side."""
        if len(commits) > 1 or self._destinations > 1:
            return [0], [None]
        low, high = (bisect.bisect_left(self._short, place) for place in (commits[0], arrived))
        number, firsts = max(0, high - low), self._short[low : min(high, low + 1)]
        for part in self._parts(commits, stable):
            if part.tally.absent:
                left = part.unit.sources[max(0, len(part.unit.sources) - part.tally.absent) :]
                missing = [place for place in left if commits[0] <= place < arrived]
                number, firsts = number + len(missing), firsts + missing[:1]
        return [number], [min(firsts, default=None)]
