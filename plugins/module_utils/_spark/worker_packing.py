# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What runs on Spark's workers: records packed for a shuffle, and grouped by content again.

A record takes 48 bytes, six columns of 64 bits. Spark moves chunks of records, never single ones: that saves most of the time
which the exchange of rows between Java and Python takes.
"""

from __future__ import annotations

import dataclasses
import functools
import typing as t

from .._matching.axis import Axis

if t.TYPE_CHECKING:
    import numpy
    import pyarrow

    Column: t.TypeAlias = "numpy.ndarray[t.Any, numpy.dtype[numpy.int64]]"
    Words: t.TypeAlias = "numpy.ndarray[t.Any, numpy.dtype[numpy.uint64]]"
    Flags: t.TypeAlias = "numpy.ndarray[t.Any, numpy.dtype[numpy.bool_]]"

SCHEMA = "bucket int, copies boolean, records binary"
# What is told of a scanned record, and Spark's types. range: which of the ranges. timestamp: in milliseconds, -1 for none.
# fingerprint: 16 bytes; bare: that without the headers.
SCANNED = {
    "range": "int",
    "offset": "bigint",
    "timestamp": "bigint",
    "log_append_time": "boolean",
    "fingerprint": "binary",
    "bare": "binary",
}
_COLUMNS = 6
_FLUSHED = 200_000  # records, some 10 MB, before they are dealt out to the buckets
_MIX = 0x9E3779B97F4A7C15  # an odd number whose multiples are far apart: 2^64 divided by the golden ratio


Part = tuple[int, int, int]  # a number on the axis of what is read, and offsets [start, end) of it


class Shares(t.NamedTuple):
    """What is read once for several pairs: the axes of what is read, and for each number of a layout its part of that."""

    source: Axis
    destination: Axis
    source_parts: tuple[Part, ...]
    destination_parts: tuple[Part, ...]


class Layout(t.NamedTuple):
    """What is compared with what. Travels to the workers.

    A pair is a set of source partitions and the set of destination partitions that hold their copies. Every number of an axis
    belongs to one pair: source_pairs and destination_pairs say to which. A partition that is in two pairs has two numbers.
    timestamps: whether times are compared at all. shares: where the pairs overlap, and were read together.
    """

    source: Axis
    destination: Axis
    source_pairs: tuple[int, ...]
    destination_pairs: tuple[int, ...]
    timestamps: bool = True
    shares: Shares | None = None


@dataclasses.dataclass(frozen=True)
class Records:
    """Records of both clusters, those of the source first; in no other order.

    columns, 6 x n: the two halves of the fingerprint, those of the fingerprint without headers, the place on the
    cluster's axis, and twice the timestamp (milliseconds, -1 for none), plus 1 where the broker has stamped the record.
    sources: how many are of the source. pairs: the pair of each. A task looks at single columns for each of its pairs, and they
    are worked out once.
    """

    columns: Column
    sources: int
    pairs: Column

    @property
    def places(self) -> Column:
        values: Column = self.columns[4]
        return values

    @functools.cached_property
    def times(self) -> Column:
        values: Column = self.columns[5] >> 1
        return values

    @functools.cached_property
    def stamped(self) -> Flags:
        """Which times are the broker's."""
        flags: Flags = (self.columns[5] & 1).astype(bool)
        return flags

    @functools.cached_property
    def with_headers(self) -> Flags:
        flags: Flags = (self.columns[0] != self.columns[2]) | (self.columns[1] != self.columns[3])
        return flags

    def fingerprint(self, row: int) -> bytes:
        """16 bytes, as _records.fingerprint makes them."""
        return self.columns[0:2, row].tobytes()


class Grouped(t.NamedTuple):
    """The contents of some records. order: the rows of Records by content, the source's first within each.

    starts: where each content begins in this order. sources, copies: how many rows each has of either side.
    """

    order: Column
    starts: Column
    sources: Column
    copies: Column

    def rows(self, content: int) -> tuple[Column, Column]:
        """The rows of Records that a content has at the source, and at the destination."""
        begin = self.starts[content]
        middle = begin + self.sources[content]
        return self.order[begin:middle], self.order[middle : middle + self.copies[content]]


def pack(
    batches: t.Iterable[pyarrow.RecordBatch],
    axis: Axis,
    pairs: t.Sequence[int],
    buckets: int,
    copies: bool,
) -> t.Iterator[pyarrow.RecordBatch]:
    """Chunks (SCHEMA) of scanned records (SCANNED). Equal records of a pair go into the same one of the buckets.

    Scanned ranges are numbered as on the axis. pairs: the pair of each number. copies: whether these are records of the
    destination.
    """
    import numpy as np

    pair_of = np.array(pairs, np.int64)
    starts = np.array(axis.starts, np.int64)
    waiting: list[Column] = []
    for batch in batches:
        if not batch.num_rows:
            continue
        number = batch.column(0).to_numpy().astype(np.int64)
        columns = np.empty((_COLUMNS, batch.num_rows), np.int64)
        columns[0:2], columns[2:4] = _halves(batch.column(4)), _halves(batch.column(5))
        columns[4] = number * axis.step + batch.column(1).to_numpy() - starts[number]
        columns[5] = 2 * batch.column(2).to_numpy() + np.asarray(batch.column(3))
        waiting.append(columns)
        if sum(part.shape[1] for part in waiting) >= _FLUSHED:
            yield _dealt(np.concatenate(waiting, axis=1), axis, pair_of, buckets, copies)
            waiting = []
    if waiting:
        yield _dealt(np.concatenate(waiting, axis=1), axis, pair_of, buckets, copies)


def unpack(batches: t.Iterable[pyarrow.RecordBatch], layout: Layout) -> Records:
    """All records of a task's chunks."""
    import numpy as np

    chunks: tuple[list[Column], list[Column]] = ([], [])
    for batch in batches:
        for copies, content in zip(batch.column(1).to_pylist(), batch.column(2).to_pylist(), strict=True):
            chunks[copies].append(np.frombuffer(content, np.int64).reshape(_COLUMNS, -1))
    empty = np.empty((_COLUMNS, 0), np.int64)
    sides = [np.concatenate([empty, *side_chunks], axis=1) for side_chunks in chunks]
    if layout.shares is not None:
        read = layout.shares
        sides[0] = _shared_out(sides[0], read.source, read.source_parts, layout.source)
        sides[1] = _shared_out(sides[1], read.destination, read.destination_parts, layout.destination)
    columns, sources = np.concatenate(sides, axis=1), sides[0].shape[1]
    pairs = np.empty(columns.shape[1], np.int64)
    for begin, end, axis, of in (
        (0, sources, layout.source, layout.source_pairs),
        (sources, len(pairs), layout.destination, layout.destination_pairs),
    ):
        pairs[begin:end] = np.array(of, np.int64)[columns[4, begin:end] // axis.step]
    return Records(columns, sources, pairs)


def _shared_out(columns: Column, read: Axis, parts: t.Sequence[Part], axis: Axis) -> Column:
    """The records of one side, each for every number of an axis whose part it is in."""
    import numpy as np

    columns = columns[:, np.argsort(columns[4], kind="stable")]
    lows, highs = (np.array([read.place(part[0], part[at]) for part in parts], np.int64) for at in (1, 2))
    firsts = np.searchsorted(columns[4], lows)
    sizes = np.searchsorted(columns[4], highs) - firsts
    rows = np.repeat(firsts - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
    shared = columns[:, rows]
    shared[4] += np.repeat(np.arange(len(parts)) * axis.step - lows, sizes)
    return shared


def grouped(records: Records, headers: Flags) -> Grouped:
    """Group records by pair and content. headers: for each pair, whether headers are compared."""
    import numpy as np

    rows = records.columns.shape[1]
    with_headers = headers[records.pairs] if len(headers) else np.zeros(rows, bool)
    high = np.where(with_headers, records.columns[0], records.columns[2]).view(np.uint64) ^ _mixed(records.pairs)
    low = np.where(with_headers, records.columns[1], records.columns[3]).view(np.uint64)
    order = np.lexsort((low, high))  # stable: the source's rows stay first
    high, low = high[order], low[order]
    starts = np.flatnonzero(begins_of(high, low))
    sizes = np.diff(starts, append=rows)
    sources = np.add.reduceat((order < records.sources).astype(np.int64), starts) if rows else sizes
    return Grouped(order, starts, sources, sizes - sources)


def begins_of(*columns: Column | Words) -> Flags:
    """Which rows begin something: the first one, and those that differ in any column from the row before."""
    import numpy as np

    begins = np.ones(len(columns[0]), bool)
    begins[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return begins


def _dealt(columns: Column, axis: Axis, pair_of: Column, buckets: int, copies: bool) -> pyarrow.RecordBatch:
    """Records as one chunk for each bucket that has some. Dealt by what is without headers, which equal records share."""
    import numpy as np
    import pyarrow as pa

    mixed = columns[3].view(np.uint64) ^ _mixed(pair_of[columns[4] // axis.step])
    bucket = (mixed % np.uint64(buckets)).astype(np.int64)
    order = np.argsort(bucket, kind="stable")
    columns, bucket = columns[:, order], bucket[order]
    numbers, begins = np.unique(bucket, return_index=True)
    parts = np.split(columns, begins[1:], axis=1)
    return pa.RecordBatch.from_arrays(
        [
            pa.array(numbers.tolist(), pa.int32()),
            pa.array([copies] * len(numbers), pa.bool_()),
            pa.array([part.tobytes() for part in parts], pa.binary()),
        ],
        ["bucket", "copies", "records"],
    )


def _mixed(pairs: Column) -> Words:
    """A number for each pair by which equal contents of different pairs become different."""
    import numpy as np

    return pairs.astype(np.uint64) * np.uint64(_MIX)


def _halves(column: pyarrow.Array) -> Column:
    """The two halves of binary values of 16 bytes, 2 x n."""
    import numpy as np
    import pyarrow as pa

    fixed = column.cast(pa.binary(16))
    return np.frombuffer(fixed.buffers()[1], np.int64, 2 * len(fixed), 16 * fixed.offset).reshape(-1, 2).T
