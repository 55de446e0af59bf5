# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""Contents that occur once on each side, nearly all: together they are columns, and a question is a bisection."""

from __future__ import annotations

import bisect
import collections
import itertools
import typing as t

from .tallies import from_on, last_before

Commits = t.Sequence[int]  # for each source partition the place of the first unconsumed offset
# A record, its only copy, and whether that is surely the record's, as by its time; as places.
Pair = tuple[int, int, bool]
CopyAndRecord = tuple[int, int]  # a copy and a source record that it may stand for, as places
Ascending = t.Sequence[int]  # ascending, unless something else is said; also a column of numpy

# Whether a record has arrived at the destination: no; yes, as counts say; yes, and its copy is not that of an equal record.
NOT_ARRIVED, ARRIVED, SURELY_ARRIVED = range(3)


class Singles(t.NamedTuple):
    """Pairs as columns. Everything is a place.

    cells: by the positions of the source and of the destination partition the records, and from each of them on the lowest
    copy. copies: for each destination partition the copies, and the record of each. timed: the records whose copies are surely
    theirs, as by their times; untimed: the others.
    """

    cells: t.Mapping[tuple[int, int], tuple[Ascending, Ascending]]
    copies: t.Sequence[tuple[Ascending, Ascending]]
    timed: Ascending
    untimed: Ascending

    def last(self, commit: int) -> tuple[int, int] | None:
        """The last record before a commit, and whether it has surely arrived."""
        return max(self.lasts(commit), default=None)

    def lasts(self, commit: int) -> list[tuple[int, int]]:
        """The last record of either kind before a commit, in the same way."""
        lasts = (last_before(self.untimed, commit), ARRIVED), (last_before(self.timed, commit), SURELY_ARRIVED)
        return [(last, state) for last, state in lasts if last is not None]

    def timed_before(self, commit: int) -> int:
        """How many of the timed records are before a commit."""
        return bisect.bisect_left(self.timed, commit)

    def next(self, commit: int) -> int | None:
        """The first record from a commit on."""
        firsts = []
        for places in (self.timed, self.untimed):
            following = bisect.bisect_left(places, commit)
            if following < len(places):
                firsts.append(int(places[following]))
        return min(firsts, default=None)

    def first_copies(self, commits: Commits) -> t.Iterator[tuple[int, CopyAndRecord]]:
        """For destination partitions the lowest copy of the unconsumed records of a source partition."""
        for (source, at), (records, lowest) in self.cells.items():
            following = bisect.bisect_left(records, commits[source])
            if following < len(records):
                copies, sources = self.copies[at]
                copy = int(lowest[following])
                yield at, (copy, int(sources[bisect.bisect_left(copies, copy)]))

    def last_copies(self, offsets: Ascending) -> t.Iterator[tuple[int, CopyAndRecord]]:
        """For destination partitions the last copy before an offset."""
        for at, ((copies, sources), offset) in enumerate(zip(self.copies, offsets, strict=True)):
            before = bisect.bisect_left(copies, offset)
            if before:
                yield at, (int(copies[before - 1]), int(sources[before - 1]))

    def repeated(self, commits: Commits, offsets: Ascending) -> list[int]:
        """How many copies of consumed records follow offsets that no copy of an unconsumed one precedes."""
        repeats = [from_on(copies, offset) for (copies, _sources), offset in zip(self.copies, offsets, strict=True)]
        for (source, at), (records, _lowest) in self.cells.items():
            repeats[at] -= from_on(records, commits[source])
        return repeats


def singles_of(
    pairs: list[Pair], positions: t.Callable[[int, int], tuple[int, int]] | None, destinations: int
) -> Singles:
    """Pairs as columns.

    positions: those of the partitions of a record and of a copy; None if there is one of each. destinations: their number.
    """
    pairs.sort()
    cells: dict[tuple[int, int], list[Pair]] = collections.defaultdict(list)
    if positions is None:
        cells[0, 0] = pairs
    else:
        for pair in pairs:
            cells[positions(pair[0], pair[1])].append(pair)
    spots: list[list[CopyAndRecord]] = [[] for _partition in range(destinations)]
    for (_source, at), cell in cells.items():
        spots[at] += [(copy, source) for source, copy, _by_time in cell]
    return Singles(
        {at: ([pair[0] for pair in cell], lowest_from([pair[1] for pair in cell])) for at, cell in cells.items()},
        [
            ([copy for copy, _source in sorted_spots], [source for _copy, source in sorted_spots])
            for sorted_spots in map(sorted, spots)
        ],
        [source for source, _copy, by_time in pairs if by_time],
        [source for source, _copy, by_time in pairs if not by_time],
    )


def lowest_from(places: list[int]) -> list[int]:
    """For each place the lowest one from it on."""
    return list(itertools.accumulate(reversed(places), min))[::-1]
