# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What runs on Spark's workers for a survey: columns of offsets become runs. Whole columns at a time, for speed."""

from __future__ import annotations

import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.survey import NOWHERE

if t.TYPE_CHECKING:
    import numpy
    import pyarrow

Column: t.TypeAlias = "numpy.ndarray[t.Any, numpy.dtype[numpy.int64]]"


def parts_of(batch: pyarrow.RecordBatch, commits: t.Mapping[int, t.Sequence[int]]) -> pyarrow.RecordBatch:
    """pair, part, records, first and last of source records (pair, offset)."""
    import numpy as np
    import pyarrow as pa

    rows: list[tuple[int, ...]] = []
    pairs, offsets = _column(batch, "pair"), _column(batch, "offset")
    for pair in np.unique(pairs):
        its = offsets[pairs == pair]
        part = np.searchsorted(commits[int(pair)], its, side="right")
        for each in np.unique(part):
            inside = its[part == each]
            rows.append((int(pair), int(each), len(inside), int(inside.min()), int(inside.max())))
    return _batch(
        rows, {"pair": pa.int32(), "part": pa.int32(), "records": pa.int64(), "first": pa.int64(), "last": pa.int64()}
    )


def runs_of(
    batch: pyarrow.RecordBatch,
    of: t.Sequence[int],
    commits: t.Mapping[int, t.Sequence[int]],
    borders: t.Mapping[int, t.Sequence[int]],
) -> t.Iterator[pyarrow.RecordBatch]:
    """The runs of copies (range, offset, low, high), those of one range by offset."""
    import numpy as np

    ranges = _column(batch, "range")
    columns = [_column(batch, name) for name in ("offset", "low", "high")]
    for number in np.unique(ranges):
        here = ranges == number
        pair = of[int(number)]
        offsets, low, high = (column[here] for column in columns)
        yield _runs(int(number), offsets, *resolved(low, high, commits[pair]), commits[pair], borders[pair])


def resolved(low: Column, high: Column, commits: t.Sequence[int]) -> tuple[Column, Column]:
    """Records with several places, between two with one place each, in order and on the same side, are on that side, too.

    As long as there are no more of them than the source has offsets in between.
    """
    import numpy as np

    certain = np.flatnonzero((low == high) & (low != NOWHERE))
    if len(certain) < 2 or not np.any(low != high):
        return low, high
    index = np.searchsorted(certain, np.arange(len(low)), side="right")
    inside = (index > 0) & (index < len(certain)) & (low != high)
    before = low[certain[np.clip(index - 1, 0, len(certain) - 1)]]
    behind = low[certain[np.clip(index, 0, len(certain) - 1)]]
    counted = np.concatenate(([0], np.cumsum(low != NOWHERE)))
    begin, end = certain[np.clip(index - 1, 0, len(certain) - 1)] + 1, certain[np.clip(index, 0, len(certain) - 1)]
    few = counted[end] - counted[begin] < behind - before
    same = np.searchsorted(commits, before, side="right") == np.searchsorted(commits, behind, side="right")
    known = inside & (before < behind) & same & few & (low < behind) & (high > before)
    return np.where(known, np.maximum(low, before), low), np.where(known, np.minimum(high, behind), high)


def _runs(
    number: int, offsets: Column, low: Column, high: Column, commits: t.Sequence[int], borders: t.Sequence[int]
) -> pyarrow.RecordBatch:
    import numpy as np
    import pyarrow as pa

    nowhere = low == NOWHERE
    sides = [np.where(nowhere, NOWHERE, np.searchsorted(commits, each, side="right")) for each in (low, high)]
    marks = [*sides, np.searchsorted(borders, offsets, side="right")]
    changes = np.any([mark[1:] != mark[:-1] for mark in marks], axis=0)
    first = np.concatenate(([0], np.flatnonzero(changes) + 1))
    last = np.concatenate((first[1:] - 1, [len(offsets) - 1]))
    # Every record that does not come from one place alone, behind the one before it, breaks the order.
    breaks = low != high
    breaks[1:] |= (low[1:] <= high[:-1]) & ~np.isin(np.arange(1, len(low)), first)
    broken = np.add.reduceat(breaks, first)
    return pa.RecordBatch.from_arrays(
        [
            pa.array(np.full(len(first), number), pa.int32()),
            pa.array(offsets[first]),
            pa.array(offsets[last]),
            pa.array(last - first + 1, pa.int64()),
            pa.array(low[first]),
            pa.array(high[first]),
            pa.array(low[last]),
            pa.array(high[last]),
            pa.array(np.maximum.reduceat(high, first)),
            pa.array(broken == 0),
        ],
        names=[
            "range", "first", "last", "records", "opens_low", "opens_high", "closes_low", "closes_high", "highest", "rising"
        ],
    )  # fmt: skip


def _column(batch: pyarrow.RecordBatch, name: str) -> Column:
    column: Column = batch.column(batch.schema.get_field_index(name)).to_numpy(zero_copy_only=False)
    return column


def _batch(rows: list[tuple[int, ...]], types: dict[str, pyarrow.DataType]) -> pyarrow.RecordBatch:
    import pyarrow as pa

    columns = list(zip(*rows, strict=True)) or [()] * len(types)
    return pa.RecordBatch.from_arrays(
        [pa.array(column, kind) for column, kind in zip(columns, types.values(), strict=True)], names=list(types)
    )
