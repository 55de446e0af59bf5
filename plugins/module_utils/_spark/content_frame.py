# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The records of both clusters in one frame, dealt out by content: what counting starts from.

The frame has the columns of worker_packing.SCHEMA: bucket (int), copies (boolean: of the destination, else of the
source) and records (binary: a chunk of packed records, 48 bytes each). All records of one pair and one content are in
the same Spark partition; a partition holds many contents. A worker gets at them with worker_packing.unpack() and
worker_packing.grouped().

It costs one shuffle of 48 bytes a record. A task holds some 400,000 records in memory, or as many as the commonest content has.
"""

from __future__ import annotations

import functools
import itertools
import math
import typing as t

from .._matching.axis import Axis
from .._matching.evidence import Span, all_united
from .._model.connection import Connection
from .._model.grouping import values_by_key
from .._model.records import TopicPartition
from .._records.scanning import Range
from . import spark_library, worker_packing
from .scan_job import parallel_tasks, scan_frame
from .shipping import apart
from .worker_packing import Layout, Part, Shares

if t.TYPE_CHECKING:
    import pyarrow

    from .spark_library import DataFrame, SparkSession

_RECORDS_OF_A_TASK = 400_000
_BUCKETS_OF_A_TASK = 4  # so that no task has many more records than others


class Extent(t.NamedTuple):
    """What of a partition is compared: offsets [start, end), and at the source what open transactions hold: [end, open_end).

    end is at most the last stable offset, open_end at most the high watermark. Nothing is open where open_end is end or None.
    """

    partition: TopicPartition
    start: int
    end: int
    open_end: int | None = None


class LogPair(t.NamedTuple):
    """Source partitions, and the destination partitions that their copies are in."""

    sources: tuple[Extent, ...]
    destinations: tuple[Extent, ...]

    @property
    def partitions(self) -> tuple[tuple[TopicPartition, ...], ...]:
        """Those of the source, and those of the destination."""
        return tuple(tuple(extent.partition for extent in side) for side in self)

    @property
    def size(self) -> int:
        """How many offsets are read."""
        return size_of((*self.sources, *self.destinations))


def size_of(extents: t.Iterable[Extent]) -> int:
    """How many offsets these have."""
    return sum((extent.open_end or extent.end) - extent.start for extent in extents)


def layout_of(pairs: t.Sequence[LogPair], *, timestamps: bool) -> Layout:
    """The axes of pairs, whose partitions are numbered in the order given. timestamps: whether times are compared at all."""
    return Layout(
        Axis(tuple(extent.start for pair in pairs for extent in pair.sources)),
        Axis(tuple(extent.start for pair in pairs for extent in pair.destinations)),
        tuple(number for number, pair in enumerate(pairs) for _extent in pair.sources),
        tuple(number for number, pair in enumerate(pairs) for _extent in pair.destinations),
        timestamps,
    )


_Partitions = tuple[tuple[TopicPartition, ...], ...]


def read_once(pairs: t.Iterable[LogPair]) -> dict[_Partitions, LogPair]:
    """What is read of pairs that may overlap, by their partitions: the same offsets once for all of them."""
    together = values_by_key((pair.partitions, pair) for pair in pairs)
    return {
        partitions: LogPair(*(_united(itertools.chain(*side)) for side in zip(*overlapping, strict=True)))
        for partitions, overlapping in together.items()
    }


def shared(pairs: t.Sequence[LogPair]) -> tuple[list[LogPair], Layout]:
    """What is read of pairs that may overlap, and the layout of these pairs: the same partitions are read once for all of them.

    A frame is read with the pairs that are returned and their layout_of(), and unpacked with this layout. Times are compared.
    """
    by_partitions = read_once(pairs)
    read = list(by_partitions.values())
    axes = layout_of(read, timestamps=True)
    parts: list[tuple[Part, ...]] = []
    for side in (0, 1):
        numbers = itertools.count()
        numbered = {key: [(next(numbers), extent) for extent in pair[side]] for key, pair in by_partitions.items()}
        parts.append(tuple(_part(extent, numbered[pair.partitions]) for pair in pairs for extent in pair[side]))
    return read, layout_of(pairs, timestamps=True)._replace(shares=Shares(axes.source, axes.destination, *parts))


def _united(extents: t.Iterable[Extent]) -> tuple[Extent, ...]:
    """The same offsets, each once. Where transactions are open, each extent of a partition says from which offset on."""
    spans: dict[TopicPartition, list[Span]] = {}
    opens: dict[TopicPartition, int] = {}
    for extent in extents:
        end = extent.open_end or extent.end
        spans.setdefault(extent.partition, []).append((extent.start, end))
        if extent.end < end:
            opens[extent.partition] = min(extent.end, opens.get(extent.partition, extent.end))
    return tuple(
        Extent(partition, start, min(end, max(start, opens.get(partition, end))), end)
        for partition, several in spans.items()
        for start, end in all_united(several) or [(0, 0)]
    )


def _part(wanted: Extent, read: t.Iterable[tuple[int, Extent]]) -> Part:
    """Where an extent is in what is read, given with its numbers."""
    for number, extent in read:
        if extent.partition == wanted.partition and extent.start <= wanted.start < (extent.open_end or extent.end):
            return number, wanted.start, wanted.open_end or wanted.end
    return 0, 0, 0  # it is empty


def read_contents(
    spark: SparkSession,
    source: Connection,
    destination: Connection,
    pairs: t.Sequence[LogPair],
    layout: Layout,
    parts: t.Collection[str],
) -> DataFrame:
    """The frame of the pairs' records. Nothing is read before an action, and everything anew with each: see kept().

    At the source, records of open transactions are among them, those of aborted ones are not. parts: what fingerprints cover.
    An action fails with the errors of _records.scanning.scan(); open_session() gives them their shape.
    """
    buckets = buckets_for(sum(pair.size for pair in pairs), parallel_tasks(spark))
    source_extents = [extent for pair in pairs for extent in pair.sources]
    destination_extents = [extent for pair in pairs for extent in pair.destinations]
    visible = [Range(extent.partition, extent.start, extent.end) for extent in source_extents]
    held = [Range(extent.partition, extent.end, extent.open_end or extent.end) for extent in source_extents]
    copies = [Range(extent.partition, extent.start, extent.end) for extent in destination_extents]

    def packed(ranges: t.Sequence[Range], *, of_source: bool, committed: bool = True) -> DataFrame:
        pack = _packing(spark, layout, not of_source, buckets)
        cluster = source if of_source else destination
        return scan_frame(spark, cluster, ranges, pack, worker_packing.SCHEMA, parts=parts, committed=committed)

    frames = [packed(visible, of_source=True), packed(copies, of_source=False)]
    if any(start < end for _partition, start, end in held):
        frames.append(packed(held, of_source=True, committed=False))
    return dealt_by_content(functools.reduce(spark_library.DataFrame.union, frames), buckets)


def buckets_for(records: int, parallel: int) -> int:
    """How many buckets so many records go into."""
    return _BUCKETS_OF_A_TASK * max(parallel, math.ceil(records / _RECORDS_OF_A_TASK))


def packed_chunks(rows: DataFrame, layout: Layout, copies: bool, buckets: int) -> DataFrame:
    """The chunks of scanned records (worker_packing.SCANNED), not dealt out yet."""
    return rows.mapInArrow(_packing(rows.sparkSession, layout, copies, buckets), worker_packing.SCHEMA)


def dealt_by_content(chunks: DataFrame, buckets: int) -> DataFrame:
    """Chunks with all records of a content in one Spark partition."""
    return chunks.repartition(max(1, buckets // _BUCKETS_OF_A_TASK), "bucket")


def _packing(
    spark: SparkSession, layout: Layout, copies: bool, buckets: int
) -> t.Callable[[t.Iterable[pyarrow.RecordBatch]], t.Iterator[pyarrow.RecordBatch]]:
    side = (layout.destination, layout.destination_pairs) if copies else (layout.source, layout.source_pairs)
    sent = apart(spark, side)

    def pack(batches: t.Iterable[pyarrow.RecordBatch]) -> t.Iterator[pyarrow.RecordBatch]:
        return worker_packing.pack(batches, *sent.value, buckets, copies)

    return pack
