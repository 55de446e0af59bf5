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
from .worker_reading import ReadOptions, read_batches

if t.TYPE_CHECKING:
    import pyarrow

    from .spark_library import DataFrame, SparkSession

__all__ = ["COMPARED", "CORES", "Range", "parallel_tasks", "scan_frame", "scan_into"]

# The session's property that tells how many tasks run at a time.
CORES = "spark.streamshift.cores"
# The columns by which records of two clusters are compared.
COMPARED = ("range", "offset", "timestamp", "log_append_time", "fingerprint", "bare")


def parallel_tasks(spark: SparkSession) -> int:
    """How many tasks run at a time."""
    return int(spark.conf.get(CORES, "2") or 2)


def scan_frame(
    spark: SparkSession,
    connection: Connection,
    ranges: t.Sequence[Range],
    columns: t.Sequence[str] = ("topic", "partition", "offset", "timestamp", "fingerprint"),
    *,
    parts: t.Collection[str] = FINGERPRINTED,
    committed: bool = True,
) -> DataFrame:
    """A row for every record of every range, in no order.

    columns: what is told of a record; each costs time. range (int, which of the ranges), topic, partition, offset,
    timestamp (milliseconds, -1 for none), log_append_time, fingerprint (16 bytes), bare (the fingerprint without headers).

    Ranges of one partition may overlap; each is read for itself. parts: what fingerprints cover. committed: what a
    read_committed consumer sees. Nothing is read before an action, and everything anew with each: see kept().
    An action fails as a whole with the errors of _records.scanning.scan(); open_session() gives them their shape.
    """
    wanted = ReadOptions(tuple(parts), committed, tuple(columns))
    return _scan(spark, connection, ranges, wanted, iter, wanted.schema)


def scan_into(
    spark: SparkSession,
    connection: Connection,
    ranges: t.Sequence[Range],
    columns: t.Sequence[str],
    step: t.Callable[[t.Iterable[pyarrow.RecordBatch]], t.Iterator[pyarrow.RecordBatch]],
    schema: str,
    *,
    parts: t.Collection[str] = FINGERPRINTED,
    committed: bool = True,
) -> DataFrame:
    """What a step makes of the batches that scan_frame() would tell of, in the same task.

    So records need not leave the worker for it.

    step: gets all batches of a task, and should hold nothing large, see apart(); schema: what it makes of them.
    """
    return _scan(spark, connection, ranges, ReadOptions(tuple(parts), committed, tuple(columns)), step, schema)


def _scan(
    spark: SparkSession,
    connection: Connection,
    ranges: t.Sequence[Range],
    wanted: ReadOptions,
    step: t.Callable[[t.Iterable[pyarrow.RecordBatch]], t.Iterator[pyarrow.RecordBatch]],
    schema: str,
) -> DataFrame:
    dealt = bins(ranges, parallel_tasks(spark))
    portable_connection, pieces = portable(connection), apart(spark, dealt)

    def read_bins(batches: t.Iterable[pyarrow.RecordBatch]) -> t.Iterator[pyarrow.RecordBatch]:
        numbers = (number for batch in batches for number in batch.column(0).to_pylist())
        return step(
            rows for number in numbers for rows in read_batches(portable_connection, pieces.value[number], wanted)
        )

    return spark.range(0, len(dealt), 1, max(1, len(dealt))).mapInArrow(read_bins, schema)
