# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Ranges of records as a DataFrame: Spark deals them out, and confluent-kafka reads them in its Python workers."""

from __future__ import annotations

import typing as t

from .._model.connection import Connection
from .._model.match_on import FINGERPRINTED
from .._records.scanning import Range
from .bins import bins
from .shipping import apart, portable
from .worker_reading import SCHEMA, read_batches

if t.TYPE_CHECKING:
    import pyarrow

    from .spark_library import DataFrame, SparkSession

# The session's property that tells how many tasks run at a time.
CORES = "spark.streamshift.cores"


def parallel_tasks(spark: SparkSession) -> int:
    """How many tasks run at a time."""
    return int(spark.conf.get(CORES, "2") or 2)


def scan_frame(
    spark: SparkSession,
    connection: Connection,
    ranges: t.Sequence[Range],
    step: t.Callable[[t.Iterable[pyarrow.RecordBatch]], t.Iterator[pyarrow.RecordBatch]] = iter,
    schema: str = SCHEMA,
    *,
    parts: t.Collection[str] = FINGERPRINTED,
    committed: bool = True,
) -> DataFrame:
    """A row for every record of every range, in no order (worker_packing.SCANNED), or what a step makes of them.

    step: gets all batches of a task, so that records need not leave the worker for it, and should hold nothing large, see
    apart(); schema: what it makes of them. Ranges of one partition may overlap; each is read for itself. parts: what
    fingerprints cover. committed: what a read_committed consumer sees. Nothing is read before an action, and everything anew
    with each: see kept(). An action fails as a whole with the errors of _records.scanning.scan(); open_session() gives them
    their shape.
    """
    dealt = bins(ranges, parallel_tasks(spark))
    portable_connection, pieces, covered = portable(connection), apart(spark, dealt), tuple(parts)

    def read_bins(batches: t.Iterable[pyarrow.RecordBatch]) -> t.Iterator[pyarrow.RecordBatch]:
        numbers = (number for batch in batches for number in batch.column(0).to_pylist())
        return step(
            rows
            for number in numbers
            for rows in read_batches(portable_connection, pieces.value[number], covered, committed)
        )

    return spark.range(0, len(dealt), 1, max(1, len(dealt))).mapInArrow(read_bins, schema)
