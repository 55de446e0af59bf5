# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""Records with one copy or none, nearly all: together they are columns, and a question is a bisection."""

from __future__ import annotations

import bisect
import collections
import itertools
import typing as t

from .axis import Sides
from .count_parts import ARRIVED, NOT_ARRIVED, SURELY_ARRIVED, Ascending, Commits, Placed, Placing, Reach, lowest
from .tallies import from_on

# A record, its only copy, and whether that is surely the record's, as by its time; as places.
Pair = tuple[int, int, bool]


class Singles(t.NamedTuple):
    """Pairs, and records without a copy, as columns. Everything is a place.

    cells: by the positions of the source and of the destination partition the records, and from each of them on the lowest
    copy. copies: for each destination partition the copies, and the record of each. timed: the records whose copies are surely
    theirs, as by their times; untimed: the others. uncopied: those without a copy. recurs: see CountedContents.
    """

    sides: Sides
    cells: t.Mapping[tuple[int, int], tuple[Ascending, Ascending]]
    copies: t.Sequence[tuple[Ascending, Ascending]]
    timed: Ascending
    untimed: Ascending
    uncopied: Ascending
    recurs: bool

    def reach(self, commits: Commits) -> Reach:
        """See Counted."""
        columns = (self.timed, SURELY_ARRIVED), (self.untimed, ARRIVED), (self.uncopied, NOT_ARRIVED)
        lacking = self.sides.before(self.uncopied, commits)
        if self.recurs:
            lacking[0] += bisect.bisect_left(self.untimed, commits[0])
        reach = Reach.of_records(self.sides, commits, lacking, columns)
        for (source, at), (records, lowest_copies) in self.cells.items():
            following = bisect.bisect_left(records, commits[source])
            if following < len(records):
                copies, sources = self.copies[at]
                copy = int(lowest_copies[following])
                spot = copy, int(sources[bisect.bisect_left(copies, copy)])
                reach.firsts[at] = lowest((reach.firsts[at], spot))
        return reach

    def placed(self, placing: Placing) -> Placed:
        """See Counted. No copy of an unconsumed record is before the offsets."""
        placed = Placed.nothing(len(self.copies))
        for at, ((copies, sources), offset) in enumerate(zip(self.copies, placing.offsets, strict=True)):
            before = bisect.bisect_left(copies, offset)
            if before:
                placed.last[at] = int(copies[before - 1]), int(sources[before - 1])
            placed.repeats[at] = len(copies) - before
        for (source, at), (records, _lowest) in self.cells.items():
            placed.repeats[at] -= from_on(records, placing.commits[source])
        if self.recurs and placed.repeats[0]:
            lacking = {*self.untimed[: bisect.bisect_left(self.untimed, placing.commits[0])]}
            copies, sources = self.copies[0]
            following = sources[bisect.bisect_left(copies, placing.offsets[0]) :]
            placed.also_lacking[0] = sum(source in lacking for source in following)
        low, high = (bisect.bisect_left(self.uncopied, place) for place in (placing.commits[0], placing.arrived))
        if self.sides.are_single and low < high:
            placed.absent[0], placed.first_absent[0] = high - low, int(self.uncopied[low])
        return placed


def singles_of(sides: Sides, pairs: list[Pair], uncopied: list[int], recurs: bool) -> Singles:
    """Pairs, and records without a copy, as columns."""
    pairs.sort()
    cells: dict[tuple[int, int], list[Pair]] = collections.defaultdict(list)
    if sides.are_single:
        cells[0, 0] = pairs
    else:
        for pair in pairs:
            cells[sides.source_at(pair[0]), sides.destination_at(pair[1])].append(pair)
    spots: list[list[tuple[int, int]]] = [[] for _partition in sides.destinations]
    for (_source, at), cell in cells.items():
        spots[at] += [(copy, source) for source, copy, _by_time in cell]
    return Singles(
        sides,
        {at: ([pair[0] for pair in cell], lowest_from([pair[1] for pair in cell])) for at, cell in cells.items()},
        [
            ([copy for copy, _source in sorted_spots], [source for _copy, source in sorted_spots])
            for sorted_spots in map(sorted, spots)
        ],
        [source for source, _copy, by_time in pairs if by_time],
        [source for source, _copy, by_time in pairs if not by_time],
        sorted(uncopied),
        recurs,
    )


def lowest_from(values: list[int]) -> list[int]:
    """For each value the lowest one from it on."""
    return list(itertools.accumulate(reversed(values), min))[::-1]
