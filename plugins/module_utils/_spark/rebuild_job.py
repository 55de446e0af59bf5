# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Compare what a copy has written with the source on Spark: to rebuild its progress, or to verify it."""

from __future__ import annotations

import typing as t

from .._model.backlog import BacklogRange
from .._model.connection import Connection
from .._model.copy_progress import Progress, all_metadata, progress_from_commits
from .._model.errors import MigrationError, Refused
from .._model.group_state import CommittedOffset
from .._model.records import TopicPartition
from .._records.copied_so_far import open_readers, range_differences, rebuilt
from .failures import WorkerFailed, packed_error, unpacked
from .scan_job import parallel_tasks
from .shipping import apart, portable

if t.TYPE_CHECKING:
    import pyarrow

    from .spark_library import SparkSession

_SCHEMA = "number bigint, position bigint, kept array<string>, refused string"


def rebuild(
    spark: SparkSession,
    source: Connection,
    destination: Connection,
    lost: t.Sequence[tuple[BacklogRange, int]],
) -> dict[TopicPartition, tuple[int, Progress]]:
    """For each range, which is given with where the destination's log ends: the same end, and its progress.

    Raises Refused where anything but the copy stands in a log from its begin on.
    """
    portable_source, portable_destination = portable(source), portable(destination)
    tasks = min(len(lost), parallel_tasks(spark))
    sent = apart(spark, lost)

    def rebuild_some(batches: t.Iterable[pyarrow.RecordBatch]) -> t.Iterator[pyarrow.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            for task in batch.column(0).to_pylist():
                for number, position, kept, refused in _rebuilt(
                    portable_source, portable_destination, sent.value, range(task, len(sent.value), tasks)
                ):
                    columns = [
                        pa.array([number], pa.int64()),
                        pa.array([position], pa.int64()),
                        pa.array([kept], pa.list_(pa.string())),
                        pa.array([refused], pa.string()),
                    ]
                    yield pa.RecordBatch.from_arrays(columns, ["number", "position", "kept", "refused"])

    found: dict[TopicPartition, tuple[int, Progress]] = {}
    for row in spark.range(0, tasks, 1, tasks).mapInArrow(rebuild_some, _SCHEMA).collect():
        if row["refused"] is not None:
            raise unpacked(row["refused"])
        each, end = lost[row["number"]]
        commits = [None if text is None else CommittedOffset(row["position"], text) for text in row["kept"]]
        found[each.destination] = end, progress_from_commits(each.start, commits)
    return found


class Compared(t.NamedTuple):
    """A range, where the source's log begins now, and where the destination's ends."""

    range: BacklogRange
    start: int
    end: int


def compare(
    spark: SparkSession, source: Connection, destination: Connection, wanted: t.Sequence[Compared]
) -> list[str]:
    """What of these ranges is not at the destination once and in order; see range_differences()."""
    portable_source, portable_destination = portable(source), portable(destination)
    tasks = min(len(wanted), parallel_tasks(spark))
    sent = apart(spark, wanted)

    def compare_some(batches: t.Iterable[pyarrow.RecordBatch]) -> t.Iterator[pyarrow.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            for task in batch.column(0).to_pylist():
                try:
                    with open_readers(portable_source, portable_destination) as readers:
                        found = [
                            line
                            for each in sent.value[task::tasks]
                            for line in range_differences(*readers, each.range, each.start, each.end)
                        ]
                except MigrationError as exc:
                    raise WorkerFailed(exc) from None
                yield pa.RecordBatch.from_arrays([pa.array(found, pa.string())], ["said"])

    rows = spark.range(0, tasks, 1, max(1, tasks)).mapInArrow(compare_some, "said string").collect()
    return sorted(row["said"] for row in rows)


def _rebuilt(
    source: Connection,
    destination: Connection,
    lost: t.Sequence[tuple[BacklogRange, int]],
    numbers: t.Sequence[int],
) -> t.Iterator[tuple[int, int, list[str | None], str | None]]:
    try:
        for number, progress in zip(numbers, rebuilt(source, destination, [lost[at] for at in numbers]), strict=True):
            yield number, progress.position, all_metadata(progress, lost[number][0].boundaries), None
    except Refused as exc:
        yield numbers[0], 0, [], packed_error(exc)
    except MigrationError as exc:
        raise WorkerFailed(exc) from None
