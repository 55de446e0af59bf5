# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Copies on Spark: one bin of ranges a task, each with a consumer and a transactional producer in the Python worker."""

from __future__ import annotations

import gc
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import MigrationError
from ansible_collections.streamshift.kafka.plugins.module_utils._records.copying import Job, copy_bin
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.failures import WorkerFailed
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.library import SparkSession
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.shipping import apart, portable

if t.TYPE_CHECKING:
    import pyarrow

_SCHEMA = "records bigint, bytes bigint"


def copy(spark: SparkSession, source: Connection, destination: Connection, jobs: t.Sequence[Job]) -> tuple[int, int]:
    """Copy what is left of all jobs. -> how many records and bytes were copied, without what failed attempts have.

    Spark tries a task that has failed again, which goes on where it has ended; open_session() gives errors their shape.
    """
    here, there, all_jobs = portable(source), portable(destination), apart(spark, jobs)

    def copy_bins(batches: t.Iterable[pyarrow.RecordBatch]) -> t.Iterator[pyarrow.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            for number in batch.column(0).to_pylist():
                columns = [pa.array([value], pa.int64()) for value in _copied(here, there, all_jobs.value[number])]
                yield pa.RecordBatch.from_arrays(columns, ["records", "bytes"])

    rows = spark.range(0, len(jobs), 1, max(1, len(jobs))).mapInArrow(copy_bins, _SCHEMA).collect()
    return sum(row["records"] for row in rows), sum(row["bytes"] for row in rows)


def _copied(source: Connection, destination: Connection, job: Job) -> tuple[int, int]:
    collects = gc.isenabled()
    gc.disable()  # a twentieth of the time goes into looking for cycles among messages, and they have none
    try:
        return copy_bin(source, destination, job)
    except MigrationError as exc:
        raise WorkerFailed(exc) from None
    finally:
        if collects:
            gc.enable()
