# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Count the contents of whole logs on Spark, for many groups at once, as _matching.group_count does it in the process.

Each task counts the contents that it has, and the driver puts together what all tasks say.
"""

from __future__ import annotations

import bisect
import typing as t

from .._matching.axis import Sides
from .._matching.group_count import Ask, CountedPair, GroupCount, GroupPosition, Row, count_groups
from . import worker_lost
from .on_workers import values_of
from .worker_contents import counted_contents
from .worker_packing import Layout

if t.TYPE_CHECKING:
    import pyarrow

    from .spark_library import DataFrame


def count_wide(
    contents: DataFrame,
    layout: Layout,
    positions: t.Sequence[GroupPosition],
    ends: t.Sequence[int],
    *,
    without_headers: bool = True,
    stable: t.Sequence[int] | None = None,
    only_doubled: bool = False,
    lossy: t.Collection[int] = (),
) -> list[GroupCount]:
    """Where groups belong on the pairs of a frame of contents, which has to be kept: it is read two to four times.

    ends: the end of each destination log; stable: the last stable offset of each source log. without_headers: tools may have
    changed headers; without that, they are always compared. only_doubled: see CountedPair. lossy: the pairs whose source may
    have lost records.
    """
    if not positions:
        return []
    pairs = pairs_of(layout, ends, stable, only_doubled, lossy)
    edges = seen_edges(contents, layout, lossy)

    def run(ask: Ask) -> t.Iterator[Row]:
        return values_of(contents, lambda batches: said(batches, layout, pairs, without_headers, edges, ask))

    return count_groups(pairs, positions, run)


def pairs_of(
    layout: Layout, ends: t.Sequence[int], stable: t.Sequence[int] | None, only_doubled: bool, lossy: t.Collection[int]
) -> dict[int, CountedPair]:
    """What is counted together, by the numbers of the pairs; see count_wide()."""
    sources, destinations = map(_numbers, (layout.source_pairs, layout.destination_pairs))
    return {
        pair: CountedPair(
            Sides(layout.source, sources[pair], layout.destination, destinations[pair]),
            tuple(ends[at] for at in destinations[pair]),
            layout.timestamps,
            None if stable is None else tuple(stable[at] for at in sources[pair]),
            only_doubled,
            pair in lossy,
        )
        for pair in sources
    }


def _numbers(pairs: t.Sequence[int]) -> dict[int, range]:
    """The numbers of each pair's partitions. pairs: the pair of each partition, ascending."""
    return {pair: range(bisect.bisect_left(pairs, pair), bisect.bisect_right(pairs, pair)) for pair in pairs}


def said(
    batches: t.Iterable[pyarrow.RecordBatch],
    layout: Layout,
    pairs: t.Mapping[int, CountedPair],
    without_headers: bool,
    edges: worker_lost.Edges | None,
    ask: Ask,
) -> t.Iterator[Row]:
    """What one task has to say."""
    for pair, contents in counted_contents(batches, layout, pairs, without_headers, edges):
        yield from ask(pair, contents)


def seen_edges(contents: DataFrame, layout: Layout, lossy: t.Collection[int]) -> list[int] | None:
    """The edges before which copies of lost records are left out, see worker_lost.edges_of(); None where there are none."""
    if not lossy or not layout.timestamps:
        return None
    seen = values_of(contents, lambda batches: worker_lost.seen(batches, layout))
    return worker_lost.edges_of(seen, layout, lossy)
