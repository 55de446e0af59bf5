# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What runs on Spark's workers to leave out copies of records that the source has lost: _matching.lost, in columns.

A first pass sees how far copies with their records' own times go; then each task leaves out those that stand for nothing.
"""

from __future__ import annotations

import typing as t

from .._matching.lost import KeptTimes, of_all_contents
from .worker_packing import Layout, Records, begins_of, grouped, unpack

if t.TYPE_CHECKING:
    import pyarrow

    from .worker_packing import Column, Flags


Edges: t.TypeAlias = "t.Sequence[int]"  # for each destination partition a place, see edges_of()


def edges_of(seen_by_tasks: t.Iterable[t.Any], layout: Layout, lossy: t.Collection[int]) -> list[int]:
    """For each destination partition the place before which a copy with another time may be left out.

    seen_by_tasks: what seen() has said of all records. lossy: the pairs whose source may have lost records.
    """
    parts: dict[int, list[KeptTimes]] = {pair: [] for pair in lossy}
    for pair, dicts in seen_by_tasks:
        if pair in parts:
            # A place is the offset here, and the number of a partition on its axis the partition's.
            parts[pair].append(KeptTimes(*({int(number): places[number] for number in places} for places in dicts)))
    kept = {pair: of_all_contents(pair_parts) for pair, pair_parts in parts.items()}
    edges = []
    for number, pair in enumerate(layout.destination_pairs):
        kept_times = kept.get(pair)
        edges.append(kept_times.last_copy.get(number, -1) if kept_times is not None and kept_times.are_kept else -1)
    return edges


def left_in(records: Records, edges: Edges | None) -> tuple[Records, Column]:
    """The records of a task that count, and the places of those that do not: copies of records that the source has lost."""
    import numpy as np

    if edges is None or not len(records.pairs) or max(edges, default=-1) < 0:
        return records, records.places[:0]
    timed = _TimedRows(records)
    step = (1 << 62) // max(1, len(edges))
    others = timed.rows[timed.other]
    older = records.times[others] < timed.oldest_lacking()[timed.contents[timed.other]]
    before = records.places[others] < np.array(edges, np.int64)[records.places[others] // step]
    stays = np.ones(len(records.pairs), bool)
    stays[others[older & before]] = False
    return Records(records.columns[:, stays], records.sources, records.pairs[stays]), records.places[~stays]


class _TimedRows:
    """The rows of all contents that both sides have, by content, time and place.

    contents: the content of each row, as a number. copied: source records that have a copy with their own time; lacking: the
    others. own: such copies; other: copies with another time, not a negative one, that the broker has not stamped.
    """

    def __init__(self, records: Records) -> None:
        import numpy as np

        groups = grouped(records, np.zeros(1 + int(records.pairs.max(initial=0)), bool))
        both = (groups.sources > 0) & (groups.copies > 0)
        sizes = groups.sources + groups.copies
        rows = groups.order[np.repeat(both, sizes)]
        contents = np.repeat(np.arange(np.count_nonzero(both)), sizes[both])
        copies = rows >= records.sources
        stamped = copies & records.stamped[rows]
        order = np.lexsort((records.places[rows], copies, records.times[rows], contents))
        self.rows, self.contents = rows[order], contents[order]
        copies, stamped = copies[order], stamped[order]
        self.times = records.times[self.rows]
        begins = begins_of(self.contents, self.times)
        starts = np.flatnonzero(begins)
        segment = np.cumsum(begins) - 1
        unstamped = copies & ~stamped
        sources, number = (np.bincount(segment[which], minlength=len(starts)) for which in (~copies, unstamped))
        rank = np.arange(len(rows)) - starts[segment] if len(rows) else segment
        self.copied: Flags = ~copies & (rank < number[segment])
        self.lacking: Flags = ~copies & ~self.copied
        self.own: Flags = unstamped & (sources[segment] > 0)
        self.other: Flags = unstamped & (sources[segment] == 0) & (self.times >= 0)  # a negative time says nothing
        self.is_copy = copies

    def oldest_lacking(self) -> Column:
        """For each content the lowest time of a record that lacks a copy, or of any record where none does."""
        import numpy as np

        none = np.iinfo(np.int64).max
        number = 1 + int(self.contents.max(initial=-1))
        lacking, any_record = (np.full(number, none), np.full(number, none))
        np.minimum.at(lacking, self.contents[self.lacking], self.times[self.lacking])
        np.minimum.at(any_record, self.contents[~self.is_copy], self.times[~self.is_copy])
        return np.where(lacking == none, any_record, lacking)


def seen(batches: t.Iterable[pyarrow.RecordBatch], layout: Layout) -> list[tuple[int, KeptTimes]]:
    """What a task's records say of each pair, for edges_of()."""
    import numpy as np

    records = unpack(batches, layout)
    timed = _TimedRows(records)
    has_other = np.zeros(1 + int(timed.contents.max(initial=-1)), bool)
    has_other[timed.contents[timed.other]] = True
    without = timed.lacking & has_other[timed.contents] if len(timed.rows) else timed.lacking

    def furthest(which: Flags, step: int, side: t.Literal["left", "right"]) -> dict[int, int]:
        places = records.places[timed.rows[which]]
        return _outermost(places // step, places, side)

    kept_times = {pair: KeptTimes({}, {}, {}) for pair in np.unique(records.pairs[timed.rows]).tolist()}
    for number, place in furthest(timed.copied, layout.source.step, "right").items():
        kept_times[layout.source_pairs[number]].last_own[number] = place
    for number, place in furthest(without, layout.source.step, "left").items():
        kept_times[layout.source_pairs[number]].first_without[number] = place
    for number, place in furthest(timed.own, layout.destination.step, "right").items():
        kept_times[layout.destination_pairs[number]].last_copy[number] = place
    return list(kept_times.items())


def _outermost(keys: Column, values: Column, side: t.Literal["left", "right"]) -> dict[int, int]:
    """For each key its lowest value (left), or its highest one (right)."""
    import numpy as np

    order = np.lexsort((values, keys))
    keys, values = keys[order], values[order]
    at = np.searchsorted(keys, np.unique(keys), side) - (side == "right")
    return dict(zip(keys[at].tolist(), values[at].tolist(), strict=True))
