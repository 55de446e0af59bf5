# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Ranges of records as a DataFrame: Spark deals them out, and confluent-kafka reads them in its Python workers."""

from __future__ import annotations

import math
import typing as t

from .._model.background import without_collecting
from .._model.connection import Connection
from .._model.errors import MigrationError
from .._model.match_on import FINGERPRINTED
from .._records.scanning import Piece, Range, Rows, scan
from .failures import WorkerFailed
from .on_workers import dealt
from .shipping import apart, portable
from .worker_packing import SCANNED

if t.TYPE_CHECKING:
    import pyarrow

    from .spark_library import DataFrame, SparkSession

SCHEMA = ", ".join(f"{column} {kind}" for column, kind in SCANNED.items())
# The session's property that tells how many tasks run at a time.
CORES = "spark.streamshift.cores"
# What the beginning of a range costs, told in records.
_BEGINNING = 50
# Fewer are not worth a task, whose beginning costs as much as reading some ten thousand records.
_FEWEST = 50_000
# More are lost when a task has to begin again.
_MOST = 20_000_000


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
    shares = bins(ranges, parallel_tasks(spark))
    portable_connection, pieces, covered = portable(connection), apart(spark, shares), tuple(parts)

    def read_bins(batches: t.Iterable[pyarrow.RecordBatch]) -> t.Iterator[pyarrow.RecordBatch]:
        numbers = (number for batch in batches for number in batch.column(0).to_pylist())
        return step(
            rows
            for number in numbers
            for rows in read_batches(portable_connection, pieces.value[number], covered, committed)
        )

    return spark.range(0, len(shares), 1, max(1, len(shares))).mapInArrow(read_bins, schema)


def bins(ranges: t.Sequence[Range], cores: int) -> list[list[Piece]]:
    """The pieces that each task reads, the largest ranges dealt out first, each into the lightest bin.

    cores: how many tasks run at a time; there are some times as many bins, unless there is little to read. A long range is cut
    into several pieces, which stand in different bins. Empty ranges are left out.
    """
    wanted = [Piece(number, *each) for number, each in enumerate(ranges) if each.end > each.start]
    weight = sum(map(_weight, wanted))
    count = max(min(2 * cores, math.ceil(weight / _FEWEST)), math.ceil(weight / _MOST), 1)
    largest = max(_FEWEST, math.ceil(weight / count))
    return dealt([part for piece in wanted for part in _cut(piece, largest)], _weight, count)


def _weight(piece: Piece) -> int:
    return piece.end - piece.start + _BEGINNING


def _cut(piece: Piece, largest: int) -> t.Iterator[Piece]:
    parts = math.ceil((piece.end - piece.start) / largest)
    size = math.ceil((piece.end - piece.start) / parts)
    for start in range(piece.start, piece.end, size):
        yield piece._replace(start=start, end=min(start + size, piece.end))


def read_batches(
    connection: Connection, pieces: t.Sequence[Piece], parts: t.Collection[str], committed: bool
) -> t.Iterator[pyarrow.RecordBatch]:
    """All records of the pieces, a batch for every handful of messages. parts, committed: of scanning.scan()."""
    try:
        with without_collecting():
            for rows in scan(connection, pieces, parts=parts, committed=committed):
                yield _batch(rows)
    except MigrationError as exc:
        raise WorkerFailed(exc) from None


def _batch(rows: Rows) -> pyarrow.RecordBatch:
    """The columns with exactly the types of the schema, which Spark insists on."""
    import numpy as np
    import pyarrow as pa

    lengths = [run.length for run in rows.runs]
    columns = [
        pa.array(np.repeat([run.piece.number for run in rows.runs], lengths), pa.int32()),
        pa.array(rows.offsets, pa.int64()),
        pa.array(rows.timestamps, pa.int64()),
        pa.array(np.repeat([run.log_append_time for run in rows.runs], lengths), pa.bool_()),
        pa.array(rows.fingerprints, pa.binary()),
        pa.array(rows.bare, pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, list(SCANNED))
