# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What runs on Spark's workers: records of Kafka as Arrow's batches."""

from __future__ import annotations

import array
import typing as t

from .._model.connection import Connection
from .._model.errors import MigrationError
from .._model.garbage import without_collecting
from .._records.scanning import Piece, RecordRun, Rows, scan
from .failures import WorkerFailed
from .worker_packing import SCANNED

if t.TYPE_CHECKING:
    import pyarrow


SCHEMA = ", ".join(f"{column} {kind}" for column, kind in SCANNED.items())


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
    """The columns with exactly the types of the schema, which Spark insists on, and as few objects as can be."""
    import pyarrow as pa

    columns = [
        _repeated(rows, lambda run: run.piece.number),
        _long(array.array("q", rows.offsets)),
        _long(array.array("q", rows.timestamps)),
        _repeated(rows, lambda run: run.log_append_time).cast(pa.bool_()),
        _fingerprints(rows.fingerprints),
        _fingerprints(rows.bare),
    ]
    return pa.RecordBatch.from_arrays(columns, list(SCANNED))


def _repeated(rows: Rows, value: t.Callable[[RecordRun], int]) -> pyarrow.Array:
    """A column of 32 bits with a run's value for each of its records."""
    import pyarrow as pa

    column = array.array("i")
    for run in rows.runs:
        column.extend(array.array("i", (value(run),)) * run.length)
    return pa.Array.from_buffers(pa.int32(), len(column), [None, pa.py_buffer(column)])


def _long(values: array.array[int]) -> pyarrow.Array:
    import pyarrow as pa

    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(values)])


def _fingerprints(fingerprints: t.Sequence[bytes]) -> pyarrow.Array:
    """A binary column of values of 16 bytes."""
    import pyarrow as pa

    content = [None, pa.py_buffer(b"".join(fingerprints))]
    return pa.Array.from_buffers(pa.binary(16), len(fingerprints), content).cast(pa.binary())
