# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Count contents for claims on Spark: each task counts its contents for all claims, and the driver adds up."""

from __future__ import annotations

import collections
import itertools
import typing as t

from .._comparing.claims import SingleContent, Windows, pair_runs
from .._comparing.counted_records import AlikeRecords, CountedRecord, HeaderNames
from .._comparing.offset_counts import Contents
from .._comparing.sums import NUMBERS, Counts, Spot, ToolProgress, furthest, total
from .._matching.axis import Axis
from .._model.match_on import MatchOn
from . import worker_packing
from .on_workers import values_of
from .worker_contents import PairRows, headers_differ, rows_by_pair
from .worker_lost import Edges, left_in
from .worker_packing import Layout

if t.TYPE_CHECKING:
    import pyarrow

    from .spark_library import DataFrame


class PairClaims(t.NamedTuple):
    """What is counted in the contents of one pair of the layout.

    match_on: how records are compared. windows: of each claim, by its number. progress: of all contents. sample: of so many
    landmarks (see Contents), one is told.
    """

    match_on: MatchOn
    windows: t.Mapping[int, Windows]
    progress: ToolProgress
    sample: int | None = None


class PairCounts(t.NamedTuple):
    """Of one pair: counts by the number of the claim, the progress of the copies, and some landmarks.

    headers_changed: whether copies have other headers than their records.
    """

    counts: dict[int, Counts]
    progress: ToolProgress
    landmarks: list[SingleContent]
    headers_changed: bool = False


def count_claims(
    frame: DataFrame,
    layout: Layout,
    asked: t.Mapping[int, PairClaims],
    edges: Edges | None,
) -> dict[int, PairCounts]:
    """The answer for each pair that is asked about, by its number.

    frame: as contents.read_contents() makes it, kept. edges: see worker_lost.edges_of().
    """
    return summed_claims(values_of(frame, lambda batches: answers(batches, layout, asked, edges)), asked)


def answers(
    batches: t.Iterable[pyarrow.RecordBatch],
    layout: Layout,
    asked: t.Mapping[int, PairClaims],
    edges: Edges | None = None,
) -> list[tuple[t.Any, ...]]:
    """What one task has to say: a row for each pair."""
    task = _TaskRecords(left_in(worker_packing.unpack(batches, layout), edges)[0], layout, asked)
    return [
        (rows.pair, *_answer(task.contents(rows, claims.match_on), claims))
        for rows in rows_by_pair(task.records, task.groups)
        if (claims := asked.get(rows.pair)) is not None
    ]


def summed_claims(rows: t.Iterable[t.Any], asked: t.Iterable[int]) -> dict[int, PairCounts]:
    """What all tasks together say of each pair that was asked about."""
    counts: dict[tuple[int, int], list[Counts]] = collections.defaultdict(list)
    summed = {pair: PairCounts({}, ToolProgress.none(), []) for pair in asked}
    for pair, claims, progress, landmarks, changed in rows:
        for number, *values in claims:
            counts[pair, number].append(Counts(*values[:NUMBERS], *map(_spot, values[NUMBERS:])))
        further = ToolProgress(*(dict(offsets) for offsets in progress))
        summed[pair] = summed[pair]._replace(
            progress=furthest([summed[pair].progress, further]), headers_changed=summed[pair].headers_changed or changed
        )
        summed[pair].landmarks.extend(SingleContent(*each) for each in landmarks)
    for (pair, number), claim_counts in counts.items():
        summed[pair].counts[number] = total(claim_counts)
    return summed


def _spot(value: t.Any) -> Spot | None:
    return value and Spot(*(side and (side[0], side[1]) for side in value))


def _answer(contents: Contents, asked: PairClaims) -> tuple[list[t.Any], list[t.Any], list[SingleContent], bool]:
    counts = ((number, contents.counts(windows, asked.progress)) for number, windows in asked.windows.items())
    return (
        [(number, *claim_counts) for number, claim_counts in counts if any(claim_counts)],
        [list(offsets.items()) for offsets in contents.progress],
        contents.landmarks[:: asked.sample] if asked.sample else [],
        contents.headers_changed,
    )


class _TaskRecords:
    """The records of a task by content, and for each of them what is looked at of every pair."""

    def __init__(self, records: worker_packing.Records, layout: Layout, asked: t.Mapping[int, PairClaims]) -> None:
        import numpy as np

        # Where headers may have been changed, records that are alike without them come together.
        full = [
            pair in asked and asked[pair].match_on.compares_headers and not asked[pair].match_on.headers_may_differ
            for pair in range(1 + int(records.pairs.max(initial=-1)))
        ]
        self.records, self.groups = records, worker_packing.grouped(records, np.array(full, bool))
        self.positions, self.offsets = _positions(records, layout)

    def contents(self, rows: PairRows, match_on: MatchOn) -> Contents:
        """The contents of one pair."""
        source_rows, copy_rows = rows.single
        times, copy_times = self.records.times[source_rows], self.records.times[copy_rows]
        is_own = (times == copy_times) & (times != -1) & ~self.records.stamped[copy_rows] & match_on.timestamp
        columns = [column[side] for side in rows.single for column in (self.positions, self.offsets)]
        pairs, others = (
            map(SingleContent, *(column[which].tolist() for column in columns)) for which in (is_own, ~is_own)
        )
        names = HeaderNames({}, {})
        several = (self._alike(content, match_on, names) for content in rows.others.tolist())
        contents = Contents(
            itertools.chain.from_iterable(alike.contents(names, match_on.timestamp) for alike in several),
            pair_runs(pairs),
            pair_runs(others),
        )
        contents.headers_changed |= match_on.headers_may_differ and headers_differ(self.records, *rows.single)
        return contents

    def _alike(self, content: int, match_on: MatchOn, names: HeaderNames) -> AlikeRecords:
        """The records of one content, whose names are added to the others."""
        sides = self.groups.rows(content)
        columns = self.positions, self.offsets, self.records.times, self.records.stamped
        source, copies = ([column[side].tolist() for column in columns] for side in sides)
        if match_on.headers_may_differ:
            for table, side in zip(names, sides, strict=True):
                for row in side[self.records.with_headers[side]].tolist():
                    table[int(self.positions[row]), int(self.offsets[row])] = self.records.fingerprint(row)
        return AlikeRecords(
            [
                CountedRecord(place, offset, time if match_on.timestamp else 0)
                for place, offset, time, _stamped in zip(*source, strict=True)
            ],
            [
                CountedRecord(place, offset, None if stamped or not match_on.timestamp else time)
                for place, offset, time, stamped in zip(*copies, strict=True)
            ],
        )


def _positions(records: worker_packing.Records, layout: Layout) -> tuple[worker_packing.Column, worker_packing.Column]:
    """Of each record the number of its partition among the claim's, and its offset."""
    import numpy as np

    positions, offsets = np.empty_like(records.places), np.empty_like(records.places)
    sides: tuple[tuple[slice, Axis, tuple[int, ...]], ...] = (
        (slice(0, records.sources), layout.source, layout.source_pairs),
        (slice(records.sources, None), layout.destination, layout.destination_pairs),
    )
    for rows, axis, pairs in sides:
        numbers = records.places[rows] // axis.step
        positions[rows] = numbers_in_pairs(pairs)[numbers]
        offsets[rows] = records.places[rows] - numbers * axis.step + np.array(axis.starts, np.int64)[numbers]
    return positions, offsets


def numbers_in_pairs(pairs: t.Sequence[int]) -> worker_packing.Column:
    """The number of each partition among those of its pair, as its claims number them. pairs: the pair of each, ascending."""
    import numpy as np

    of = np.array(pairs, np.int64)
    return np.arange(len(of)) - np.searchsorted(of, of)
