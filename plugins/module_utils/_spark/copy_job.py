# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Copies on Spark: each task has a consumer in the Python worker, and a transactional producer for each of its jobs."""

from __future__ import annotations

import gc
import heapq
import typing as t

from .._model.connection import Connection
from .._model.errors import Locked, MigrationError, Refused
from .._records.jobs import Job
from .._records.record_copy import copy_jobs
from .failures import WorkerFailed, packed_error, unpacked
from .scan_job import parallel_tasks
from .shipping import apart, portable

if t.TYPE_CHECKING:
    import pyarrow

    from .spark_library import SparkSession

_SCHEMA = "records bigint, bytes bigint, ended string"
# What the beginning of a partition costs, told in records.
_BEGINNING = 50


def copy(spark: SparkSession, source: Connection, destination: Connection, jobs: t.Sequence[Job]) -> tuple[int, int]:
    """Copy what is left of all jobs. -> how many records and bytes were copied, without what failed attempts have.

    Spark tries a task that has failed again, which goes on where it has ended; open_session() gives errors their shape. What
    ends the whole run is no failure of the task, so that Spark does not try that again: Locked where another run has taken
    the copy over, Refused where its progress or a topic is another one.
    """
    portable_source, portable_destination = portable(source), portable(destination)
    shares = dealt_jobs(jobs, parallel_tasks(spark))
    all_shares = apart(spark, shares)

    def copy_shares(batches: t.Iterable[pyarrow.RecordBatch]) -> t.Iterator[pyarrow.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            for number in batch.column(0).to_pylist():
                records, size, ended = _copied(portable_source, portable_destination, all_shares.value[number])
                columns = [
                    pa.array([records], pa.int64()),
                    pa.array([size], pa.int64()),
                    pa.array([ended], pa.string()),
                ]
                yield pa.RecordBatch.from_arrays(columns, ["records", "bytes", "ended"])

    rows = spark.range(0, len(shares), 1, max(1, len(shares))).mapInArrow(copy_shares, _SCHEMA).collect()
    ends = [unpacked(row["ended"]) for row in rows if row["ended"] is not None]
    if ends:
        raise next((each for each in ends if isinstance(each, Locked)), ends[0])
    return sum(row["records"] for row in rows), sum(row["bytes"] for row in rows)


def dealt_jobs(jobs: t.Iterable[Job], tasks: int) -> list[list[Job]]:
    """The jobs of each task: the largest first, each to the task with the least to copy."""
    weights = [(sum(each.end - each.start + _BEGINNING for each in job.ranges), job) for job in jobs]
    weights.sort(key=lambda pair: (-pair[0], pair[1].number))
    shares: list[list[Job]] = [[] for _unused in range(min(tasks, len(weights)))]
    lightest = [(0, number) for number in range(len(shares))]
    for weight, job in weights:
        so_far, number = lightest[0]
        heapq.heapreplace(lightest, (so_far + weight, number))
        shares[number].append(job)
    return shares


def _copied(source: Connection, destination: Connection, jobs: t.Sequence[Job]) -> tuple[int, int, str | None]:
    collects = gc.isenabled()
    gc.disable()  # a twentieth of the time goes into looking for cycles among messages, and they have none
    try:
        return *copy_jobs(source, destination, jobs), None
    except (Locked, Refused) as exc:
        return 0, 0, packed_error(exc)
    except MigrationError as exc:
        raise WorkerFailed(exc) from None
    finally:
        if collects:
            gc.enable()
