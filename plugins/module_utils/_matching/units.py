# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""Contents that occur several times, as units of what is counted together: each has its tallies for a commit."""

from __future__ import annotations

import bisect
import collections
import itertools
import typing as t

from .axis import Sides
from .content import Content, separable, separate, tallies
from .count_parts import ARRIVED, NOT_ARRIVED, SURELY_ARRIVED, Commits, Placed, Placing, Reach, lowest
from .tallies import SECOND, Count, Mixed, Tally


class Unit(t.NamedTuple):
    """Records and copies that are counted together, as places.

    lacking: records whose copies may be still to come once they are consumed. content: of which they are all, where what is
    committed decides how its times are told apart; None where one tally serves any commit.
    """

    sources: t.Sequence[int]
    copies: t.Sequence[int]
    by_time: bool
    lacking: t.Sequence[int]
    content: Content | None


def units_of(
    content: Content, sides: Sides, recurs: bool
) -> t.Iterator[tuple[list[int], list[int], bool, t.Sequence[int], Content | None]]:
    """What of a content with records is counted together, as the fields of units, because most become none.

    recurs: see CountedContents.
    """
    parts = separable(content)
    if parts is None:
        records, copies = ([place for place, _time in side] for side in content)
        if recurs:
            lacking = content.without_own
        else:
            lacking = _without(content, records, sum(time != SECOND for _place, time in content.copies), sides)
        yield records, copies, False, lacking, content
        return
    times = dict(content.source) if recurs else {}
    for records, copies, has_time in parts:
        by_time = has_time and times.get(records[0], 0) >= 0  # no time shows nothing where equal records were lost
        own = len(copies) if by_time or not recurs else 0
        yield records, copies, by_time, _without(content, records, own, sides) if own < len(records) else (), None


def _without(content: Content, records: list[int], copies: int, sides: Sides) -> list[int]:
    """The records without a copy: the last ones, of several partitions the youngest ones."""
    if len(sides.sources) > 1:
        times = dict(content.source)
        records = sorted(records, key=lambda place: (times[place], place))
    return records[copies:]


class _Part(t.NamedTuple):
    """What counts of a unit in one destination partition, given by its position.

    has_unconsumed: whether any record of the unit is, whichever partition its copy is in.
    """

    at: int
    tally: Count
    has_unconsumed: bool
    unit: Unit


class Units:
    """Units, ready to be counted. recurs, ages: see CountedContents."""

    def __init__(self, sides: Sides, units: t.Sequence[Unit], recurs: bool, ages: t.Mapping[int, int]) -> None:
        self._sides, self._units, self._recurs, self._ages = sides, units, recurs, ages
        self._owners = {place: unit for unit in units for place in unit.sources}  # by their records
        self._sources = sorted(self._owners)
        self._lacking = sorted(place for unit in units for place in unit.lacking)
        self._known: tuple[t.Any, list[tuple[Unit, list[Count]]]] = (None, [])  # what was asked last, see _counts()

    def reach(self, commits: Commits) -> Reach:
        """See Counted."""
        lacking = self._sides.before(self._lacking, commits)
        reach = Reach.of_records(self._sides, commits, lacking, [(self._sources, NOT_ARRIVED)])
        firsts, recopied = reach.firsts, reach.recopied
        for at, count, has_unconsumed, unit in self._parts(commits):
            first, best = count.first_wanted, firsts[at]
            if first is not None and (best is None or first < best[0]):
                firsts[at] = first, min(place for place in unit.sources if not self._is_consumed(place, commits))
            if has_unconsumed and not count.consumed:
                recopied[at] = lowest((recopied[at], count.earliest))
        lasts = [last and (last[0], self._has_arrived(last[0], commits)) for last in reach.lasts]
        return reach._replace(lasts=lasts, surely=self._surely(commits))

    def _surely(self, commits: Commits) -> list[int]:
        """For each source partition: Reach.surely."""
        surely = [NOT_ARRIVED] * len(commits)
        for unit, counts in self._counts(commits):
            if any(count.surely_unconsumed for count in counts):
                unconsumed = [place for place in unit.sources if not self._is_consumed(place, commits)]
                partitions = set(map(self._sides.source_at, unconsumed))
                if len(partitions) == 1:
                    at = partitions.pop()
                    is_firm = any(count.firmly_unconsumed for count in counts)
                    surely[at] = max(surely[at], SURELY_ARRIVED if is_firm else ARRIVED)
        return surely

    def _has_arrived(self, last: int, commits: Commits) -> int:
        """Has the last consumed record of a source partition?"""
        unit = self._owners[last]
        if unit.content is None:
            if len(unit.copies) < sum(self._sides.before(unit.sources, commits)):
                return NOT_ARRIVED
            return SURELY_ARRIVED if unit.by_time and len(unit.sources) == 1 else ARRIVED
        times = dict(unit.content.source)
        if unit.content.has_firmly_arrived(times[last]):
            return SURELY_ARRIVED
        consumed = collections.Counter(time for place, time in times.items() if self._is_consumed(place, commits))
        return ARRIVED if unit.content.has_arrived(consumed, times[last]) else NOT_ARRIVED

    def _is_consumed(self, place: int, commits: Commits) -> bool:
        return place < commits[bisect.bisect_right(self._sides.begins, place) - 1]  # asked of each record

    def placed(self, placing: Placing) -> Placed:
        """See Counted."""
        commits, offsets, are_single = placing.commits, placing.offsets, self._sides.are_single
        placed = Placed.nothing(len(offsets))
        lasts, repeats, equal, again, loose = placed[:5]
        for at, count, has_unconsumed, unit in self._parts(commits, placing.stable):
            if are_single and (absent := count.absent):
                missing = [place for place in unit.sources[-absent:] if commits[0] <= place < placing.arrived]
                placed.absent[0] += len(missing)
                placed.first_absent[0] = lowest((placed.first_absent[0], *missing[:1]))
            offset = offsets[at]
            if not count.consumed:
                placed.if_lost[0] += count.lost_instead(offset) if self._recurs else 0
                continue
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
                placed.if_lost[0] += most - number
                placed.also_lacking[0] += count.alternatives(offset, most)
        return placed

    def _parts(self, commits: Commits, stable: Commits | None = None) -> list[_Part]:
        """What counts of each unit in each destination partition. stable: see Placing."""
        return [
            part
            for unit, several in self._counts(commits, stable)
            for count in several
            for part in self._dealt(unit, count)
        ]

    def _counts(self, commits: Commits, stable: Commits | None = None) -> list[tuple[Unit, list[Count]]]:
        """What counts of each unit, in all destination partitions together. Asked twice for the same, it counts once."""
        key = tuple(commits), stable and tuple(stable)
        if self._known[0] != key:
            hidden_from = None if stable is None else [*map(max, commits, stable)]
            self._known = key, [(unit, self._count(unit, commits, hidden_from)) for unit in self._units]
        return self._known[1]

    def _count(self, unit: Unit, commits: Commits, hidden_from: Commits | None) -> list[Count]:
        """hidden_from: from where on the records of each source partition do not count against repeats. See Tally.hidden."""
        number = len(unit.sources)
        hidden = 0 if hidden_from is None else number - sum(self._sides.before(unit.sources, hidden_from))
        if unit.content is None:
            consumed = sum(self._sides.before(unit.sources, commits))
            return [Tally(unit.copies, number - consumed, consumed, hidden, unit.by_time)]
        sides = [], []  # type: tuple[list[int], list[int]]
        for place, time in unit.content.source:
            sides[self._is_consumed(place, commits)].append(time)
        unconsumed_times, consumed_times = map(collections.Counter, sides)
        by_times = tallies if len(self._sides.destinations) == 1 else separate
        return by_times(consumed_times, unconsumed_times, unit.content.copies, hidden)

    def _dealt(self, unit: Unit, count: Count) -> t.Iterator[_Part]:
        """Deal a count out to the destination partitions.

        A group that reads all partitions needs as many copies as it has not consumed in all together: the youngest ones.
        """
        if not isinstance(count, Tally) or len(self._sides.destinations) == 1:
            yield _Part(0, count, count.wanted > 0, unit)
            return
        by_age = sorted(count.copies, key=lambda place: (self._ages[place], place))
        need = min(count.wanted, len(by_age))
        wanted = collections.Counter(map(self._sides.destination_at, by_age[len(by_age) - need :]))
        # Where copies are missing, nobody knows of which side, nor in which partition; nor which copy is the hidden record's,
        # and which the second one of a consumed record.
        missing = max(0, count.consumed + count.wanted - len(by_age)) if count.wanted else 0
        for at, places in itertools.groupby(sorted(by_age), self._sides.destination_at):
            copies = list(places)
            consumed = missing + count.hidden + len(copies) - wanted[at] if count.consumed else 0
            yield _Part(at, Tally(copies, wanted[at], consumed), count.wanted > 0, unit)
