"""What Spark does when it counts, without Spark: the workers' functions, called one after the other."""

import json
import typing as t

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.group_count import (
    Ask,
    GroupCount,
    GroupPosition,
    Row,
    count_groups,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record, TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._spark import count_job, worker_lost, worker_packing
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.content_frame import (
    Extent,
    LogPair,
    dealt_by_content,
    layout_of,
    packed_chunks,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.scan_job import SCHEMA


class World(t.NamedTuple):
    """A pair: the logs of its source partitions and of its destination partitions, both from offset 0, with their ends."""

    sources: tuple[tuple[Record, ...], ...]
    copies: tuple[tuple[Record, ...], ...]
    ends: tuple[int, ...]
    committed: tuple[tuple[int, ...], ...]  # for each group, for each source partition
    lost_until: int | None = None  # see GroupPosition


def layout(worlds: t.Sequence[World], timestamps: bool) -> worker_packing.Layout:
    return layout_of([log_pair(len(world.sources), len(world.copies)) for world in worlds], timestamps=timestamps)


def log_pair(*counts: int) -> LogPair:
    """A pair with so many partitions at the source and at the destination."""
    return LogPair(*(tuple(Extent(TopicPartition("t", number), 0, 0) for number in range(count)) for count in counts))


def frame(
    spark: SparkSession,
    its: worker_packing.Layout,
    source: t.Sequence[t.Sequence[Record]],
    copied: t.Sequence[t.Sequence[Record]],
    buckets: int,
) -> DataFrame:
    """The contents of these logs on Spark."""
    originals, copies = (
        packed_chunks(spark.createDataFrame(rows(logs), SCHEMA), its, of_destination, buckets)
        for of_destination, logs in ((False, source), (True, copied))
    )
    return dealt_by_content(originals.union(copies), buckets)


def standings(worlds: t.Sequence[World]) -> list[GroupPosition]:
    return [
        GroupPosition(number, commits, world.lost_until)
        for number, world in enumerate(worlds)
        for commits in world.committed
    ]


def rows(logs: t.Iterable[t.Sequence[Record]]) -> list[tuple[t.Any, ...]]:
    return [
        (number, its.offset, its.timestamp, its.log_append_time, its.fingerprint, its.bare)
        for number, log in enumerate(logs)
        for its in log
    ]


def sources(worlds: t.Iterable[World]) -> list[tuple[Record, ...]]:
    return [log for world in worlds for log in world.sources]


def copies(worlds: t.Iterable[World]) -> list[tuple[Record, ...]]:
    return [log for world in worlds for log in world.copies]


def count_directly(
    worlds: t.Sequence[World],
    timestamps: bool,
    buckets: int,
    without_headers: bool,
    stable: t.Sequence[int] | None = None,
    lossy: t.Collection[int] = (),
    only_doubled: bool = False,
) -> list[GroupCount]:
    """What Spark would do, with the workers' functions called one after the other."""
    its = layout(worlds, timestamps)
    tasks = chunks(its, sources(worlds), copies(worlds), buckets)
    seen = [told for task in tasks for told in travelled(worker_lost.seen(task, its))]
    edges = worker_lost.edges_of(seen, its, lossy) if lossy and timestamps else None
    ends = [end for world in worlds for end in world.ends]
    pairs = count_job.pairs_of(its, ends, stable, only_doubled, lossy)

    def run(ask: Ask) -> list[Row]:
        told = (count_job.said(task, its, pairs, without_headers, edges, ask) for task in tasks)
        return [row for rows_of_task in told for row in travelled(rows_of_task)]

    return count_groups(pairs, standings(worlds), run)


def travelled(values: t.Iterable[t.Any]) -> t.Iterator[t.Any]:
    """What the driver gets of what a task says, see on_workers.values_of()."""
    return map(json.loads, map(json.dumps, values))


def chunks(
    its: worker_packing.Layout,
    source: t.Sequence[t.Sequence[Record]],
    copied: t.Sequence[t.Sequence[Record]],
    buckets: int,
) -> list[list[pa.RecordBatch]]:
    """What each task gets."""
    types = [pa.int32(), pa.int64(), pa.int64(), pa.bool_(), pa.binary(), pa.binary()]
    tasks: list[list[pa.RecordBatch]] = [[] for _task in range(max(1, buckets // 2))]
    for axis, pairs, logs, of_destination in (
        (its.source, its.source_pairs, source, False),
        (its.destination, its.destination_pairs, copied, True),
    ):
        columns = list(zip(*rows(logs), strict=True)) or [()] * len(types)
        arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
        batch = pa.RecordBatch.from_arrays(arrays, list(worker_packing.SCANNED))
        halves = [batch.slice(0, batch.num_rows // 2), batch.slice(batch.num_rows // 2)]
        for chunk in worker_packing.pack(halves, axis, pairs, buckets, of_destination):
            for row in range(chunk.num_rows):
                tasks[chunk.column(0)[row].as_py() % len(tasks)].append(chunk.slice(row, 1))
    return tasks
