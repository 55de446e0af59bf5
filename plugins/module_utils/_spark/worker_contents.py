# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What runs on Spark's workers: the contents of a task, by pair, ready to be counted.

Contents that occur once on each side, nearly all, are columns; only the others become objects.
"""

from __future__ import annotations

import itertools
import typing as t

from .._matching.axis import Sides
from .._matching.content import Content
from .._matching.contents import Alike, Named, alike_contents, put_together
from .._matching.counted_contents import CountedContents
from .._matching.group_count import CountedPair
from .._matching.singles import Singles
from .._model.records import NO_TIMESTAMP
from .worker_lost import Edges, left_in
from .worker_packing import Grouped, Layout, Records, begins_of, grouped, unpack

if t.TYPE_CHECKING:
    import pyarrow

    from .worker_packing import Column, Flags


class PairRows(t.NamedTuple):
    """The contents of one pair. single: the rows of a record and of its only copy, which is the only one of its content.

    others: all other contents; several: those of them that both sides have. lonely: the rows of records without a copy, and of
    destination-only records.
    """

    pair: int
    single: tuple[Column, Column]
    others: Column
    several: Column
    lonely: tuple[Column, Column]


def rows_by_pair(records: Records, groups: Grouped) -> t.Iterator[PairRows]:
    """The contents of a task, by pair."""
    import numpy as np

    if not len(records.pairs):
        return
    of = records.pairs[groups.order[groups.starts]]
    single = (groups.sources == 1) & (groups.copies == 1)
    both = (groups.sources > 0) & (groups.copies > 0)
    by_pair = np.argsort(of, kind="stable")
    of = of[by_pair]
    begins = np.flatnonzero(np.diff(of, prepend=-1))
    for begin, end in zip(begins.tolist(), np.append(begins[1:], len(of)).tolist(), strict=True):
        pair_contents = by_pair[begin:end]
        first = groups.starts[pair_contents[single[pair_contents]]]
        lonely = tuple(
            _rows(groups, pair_contents[side[pair_contents] == 0])[0] for side in (groups.copies, groups.sources)
        )
        yield PairRows(
            int(of[begin]),
            (groups.order[first], groups.order[first + 1]),
            pair_contents[~single[pair_contents]],
            pair_contents[both[pair_contents] & ~single[pair_contents]],
            t.cast("tuple[Column, Column]", lonely),
        )


def counted_contents(
    batches: t.Iterable[pyarrow.RecordBatch],
    layout: Layout,
    pairs: t.Mapping[int, CountedPair],
    without_headers: bool,
    edges: Edges | None,
) -> t.Iterator[tuple[int, CountedContents]]:
    """The contents of a task's chunks, by pair. without_headers: tools may have changed headers. edges: see worker_lost."""
    import numpy as np

    records, lost = left_in(unpack(batches, layout), edges)
    lost_pairs = np.array(layout.destination_pairs)[lost // layout.destination.step]
    # Where headers may have been changed, records that are alike without them come together.
    groups = grouped(records, np.full(1 + int(records.pairs.max(initial=0)), not without_headers))
    stamped = records.stamped if layout.timestamps else None
    for pair_rows in rows_by_pair(records, groups):
        pair = pairs[pair_rows.pair]
        source_rows, copy_rows = pair_rows.single
        kept = (
            (records.times[source_rows] == records.times[copy_rows]) & ~records.stamped[copy_rows] & layout.timestamps
        )
        if pair.recurs:
            kept &= records.times[copy_rows] >= 0
        stamps_tell = pair.sides.are_single and not pair.recurs  # see CountedContents
        sure = kept | records.stamped[copy_rows] | (not layout.timestamps) if stamps_tell else kept
        rows, of = _rows(groups, pair_rows.several)
        timed, lacking, left = _by_time(records, rows, of, layout.timestamps, pair.recurs)
        singles = singles_of_columns(
            records.places[np.append(source_rows, timed[0])],
            records.places[np.append(copy_rows, timed[1])],
            np.append(sure, np.ones(len(timed[0]), bool)),
            records.places[np.append(pair_rows.lonely[0], lacking)],
            pair.sides,
            pair.recurs,
        )
        alike, ages = _several(records, groups, pair_rows.several[left], stamped, without_headers)
        only = pair_rows.lonely[1]
        times = np.where(records.stamped[only] | (not layout.timestamps), NO_TIMESTAMP, records.times[only])
        same_headers = not without_headers or not headers_differ(records, source_rows, copy_rows)
        yield (
            pair_rows.pair,
            CountedContents(
                pair.sides,
                [
                    *alike.contents,
                    Content([], list(zip(records.places[only].tolist(), times.tolist(), strict=True))),
                ],
                singles,
                ages=ages if len(pair.sides.destinations) > 1 else None,
                recurs=pair.recurs,
                lost=lost[lost_pairs == pair_rows.pair].tolist(),
                kept=(alike.kept_times and bool(kept.all()), alike.kept_headers and same_headers),
            ),
        )


def singles_of_columns(
    records: Column, only_copies: Column, are_sure: Flags, uncopied: Column, sides: Sides, recurs: bool
) -> Singles:
    """As singles_of() makes them of pairs: records, their only copies, and which of these are surely theirs; in no order."""
    import numpy as np

    order = np.argsort(records)
    sources, copies, sure = (t.cast("t.Any", column[order]) for column in (records, only_copies, are_sure))
    numbers = copies // sides.destination.step - sides.destinations.start
    keys = (sources // sides.source.step - sides.sources.start) * len(sides.destinations) + numbers
    cells: dict[tuple[int, int], t.Any] = {}
    for key in np.unique(keys).tolist():
        in_cell = keys == key
        lowest = np.minimum.accumulate(copies[in_cell][::-1])[::-1]
        cells[divmod(key, len(sides.destinations))] = sources[in_cell], lowest
    by_copy = np.argsort(copies)
    edges = np.searchsorted(numbers[by_copy], np.arange(len(sides.destinations) + 1)).tolist()
    parts = [by_copy[begin:end] for begin, end in itertools.pairwise(edges)]
    by_copy_columns = [(copies[part], sources[part]) for part in parts]
    return Singles(
        sides, cells, by_copy_columns, sources[sure], sources[~sure], t.cast("t.Any", np.sort(uncopied)), recurs
    )


def _by_time(
    records: Records, rows: Column, contents: Column, timestamps: bool, recurs: bool
) -> tuple[tuple[Column, Column], Column, Flags]:
    """Of contents in which each time occurs at most once on each side, and no copy has another time: these, time by time.

    contents: the position of each row's content. -> the rows of records and of their copies, those of records without one, and
    which contents are left.
    """
    import numpy as np

    copies = rows >= records.sources
    order = np.lexsort((copies, records.times[rows], contents))
    rows, contents, copies = rows[order], contents[order], copies[order]
    begins = begins_of(contents, records.times[rows])
    follows = np.append(begins[1:], True)
    # A record alone, a record before its copy, or that copy.
    plain = np.where(copies, ~begins & follows & ~records.stamped[rows], begins)
    plain[1:] &= ~copies[1:] | ~copies[:-1]
    left = np.bincount(contents[~plain], minlength=contents.max(initial=-1) + 1) > 0
    left |= np.bincount(contents[records.with_headers[rows]], minlength=len(left)) > 0
    if recurs:  # see CountedContents
        left |= np.bincount(contents[records.times[rows] < 0], minlength=len(left)) > 0
    left |= not timestamps
    taken = ~left[contents]
    paired = taken & copies
    pairs = rows[np.flatnonzero(paired) - 1], rows[paired]
    return pairs, rows[taken & begins & follows & ~copies], left


def _several(
    records: Records, groups: Grouped, contents: Column, stamped: Flags | None, without_headers: bool
) -> tuple[Alike, dict[int, int]]:
    """These contents, given by their numbers, and the times of all their records by places.

    stamped: which times are the broker's; None where no times are compared.
    """
    import numpy as np

    rows, of = _rows(groups, contents)
    copies = rows >= records.sources
    order = np.lexsort((records.places[rows], copies, of))
    rows, copies = rows[order], copies[order]
    places, ages = records.places[rows].tolist(), records.times[rows].tolist()
    unknown = (copies if stamped is None else copies & stamped[rows]).tolist()
    times = [None if is_unknown else time for time, is_unknown in zip(ages, unknown, strict=True)]
    with_headers = records.with_headers[rows].tolist() if without_headers else [False] * len(rows)
    named = [
        records.fingerprint(row) if has_headers else b""
        for row, has_headers in zip(rows.tolist(), with_headers, strict=True)
    ]
    spots = list(map(Named, places, named, times))
    middles = groups.sources[contents].tolist()
    begin, alike = 0, []
    for sources, number in zip(middles, groups.copies[contents].tolist(), strict=True):
        middle = begin + sources
        alike.append(alike_contents(spots[begin:middle], spots[middle : middle + number], stamped is not None))
        begin = middle + number
    return put_together(alike), dict(zip(places, ages, strict=True))


def _rows(groups: Grouped, contents: Column) -> tuple[Column, Column]:
    """The rows of these contents, and the position of its content for each."""
    import numpy as np

    sizes = (groups.sources + groups.copies)[contents]
    of = np.repeat(np.arange(len(contents)), sizes)
    within = np.arange(len(of)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    rows: Column = groups.order[groups.starts[contents][of] + within]
    return rows, of


def headers_differ(records: Records, source_rows: Column, copy_rows: Column) -> bool:
    """Have any of these copies, given beside their records, other headers?"""
    return bool((records.columns[:2, source_rows] != records.columns[:2, copy_rows]).any())
