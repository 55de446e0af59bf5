# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Numbers for what is summed up over all workers: one row serves many groups.

A log is cut where groups have committed.
"""

from __future__ import annotations

import itertools
import typing as t

from .worker_packing import Axis, Layout

if t.TYPE_CHECKING:
    from .worker_packing import Column


class GroupPosition(t.NamedTuple):
    """Where a group stands: the number of a pair, and the first unconsumed offset of each of its source partitions."""

    pair: int
    committed: tuple[int, ...]


class Slots:
    """Where a group stands (a standing) on a pair of s source and d destination partitions, it asks d questions.

    sources, destinations: for each pair the numbers of its partitions. commits: for each standing the committed offsets as
    places. questions: for each standing the number of its first question. A question's place among all is that number plus the
    destination partition's position in its pair; the same with source partitions for arrivals. hidden: for each source
    partition the place from which on open transactions hide records that may still be aborted. edges: see worker_lost.
    expired: the pairs of two partitions of which records may have expired at the source that are equal to others.
    """

    def __init__(
        self,
        layout: Layout,
        standings: t.Sequence[GroupPosition],
        stable: t.Sequence[int] | None = None,
        edges: t.Sequence[int] | None = None,
        expired: t.Collection[int] = (),
    ) -> None:
        """stable: the last stable offset of each source partition; by default nothing is hidden."""
        self.layout, self.standings, self.edges = layout, standings, edges
        numbers = range(len(layout.source_pairs))
        if stable is None:
            self.hidden = [(number + 1) * layout.source.step for number in numbers]
        else:
            self.hidden = [layout.source.place(number, stable[number]) for number in numbers]
        pairs = 1 + max((*layout.source_pairs, *layout.destination_pairs, *(its.pair for its in standings)), default=-1)
        self.sources = _numbers(layout.source_pairs, pairs)
        self.destinations = _numbers(layout.destination_pairs, pairs)
        self.expired = sorted(pair for pair in expired if len(self.sources[pair]) == len(self.destinations[pair]) == 1)
        self.commits = [
            tuple(layout.source.place(*each) for each in zip(self.sources[its.pair], its.committed, strict=True))
            for its in standings
        ]
        self.of_pair: list[list[int]] = [[] for _pair in range(pairs)]
        for number, its in enumerate(standings):
            self.of_pair[its.pair].append(number)
        self.questions = _bases(len(self.destinations[its.pair]) for its in standings)
        self.arrivals = _bases(len(self.sources[its.pair]) for its in standings)
        # The source's axis, cut at all commits; each interval has a cell for each destination partition of its pair.
        self.cuts = cuts(layout.source, (place for places in self.commits for place in places))
        self.interval_sources = [cut // layout.source.step for cut in self.cuts]
        self.cells = _bases(len(self.destinations[layout.source_pairs[number]]) for number in self.interval_sources)

    def cells_of(self, sources: Column, copies: Column) -> Column:
        """The cells of source records, given with the copies that stand for them; both as places."""
        import numpy as np

        pairs = np.array(self.layout.source_pairs, np.int64)[sources // self.layout.source.step]
        firsts = np.array([its[0] if its else 0 for its in self.destinations], np.int64)
        intervals = np.searchsorted(np.array(self.cuts, np.int64), sources, "right") - 1
        cells: Column = np.array(self.cells, np.int64)[intervals]
        return cells + copies // self.layout.destination.step - firsts[pairs]


def cuts(axis: Axis, places: t.Iterable[int]) -> list[int]:
    """Where intervals begin: at these places, and wherever a log begins."""
    return sorted({*places, *(number * axis.step for number in range(len(axis.starts)))})


def _numbers(of: t.Sequence[int], pairs: int) -> list[list[int]]:
    numbers: list[list[int]] = [[] for _pair in range(pairs)]
    for number, pair in enumerate(of):
        numbers[pair].append(number)
    return numbers


def _bases(sizes: t.Iterable[int]) -> list[int]:
    """Where each begins when they lie end to end; at last, where the last one ends."""
    return list(itertools.accumulate(sizes, initial=0))
