# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What runs on Spark's workers: records of Kafka as Arrow's batches."""

from __future__ import annotations

import array
import gc
import typing as t

from .._model.connection import Connection
from .._model.errors import MigrationError
from .._records.scanning import Piece, RecordRun, Rows, scan
from .failures import WorkerFailed

if t.TYPE_CHECKING:
    import pyarrow


# What can be told of a record, and Spark's types. bare is the fingerprint without the headers.
TYPES = {
    "range": "int",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "bigint",
    "log_append_time": "boolean",
    "fingerprint": "binary",
    "bare": "binary",
}


class ReadOptions(t.NamedTuple):
    """How records are read, and which columns are told of them."""

    parts: tuple[str, ...]
    committed: bool
    columns: tuple[str, ...]

    @property
    def schema(self) -> str:
        """The columns, as Spark writes types."""
        return ", ".join(f"{column} {TYPES[column]}" for column in self.columns)


def read_batches(
    connection: Connection, pieces: t.Sequence[Piece], wanted: ReadOptions
) -> t.Iterator[pyarrow.RecordBatch]:
    """All records of the pieces, a batch for every handful of messages."""
    collects = gc.isenabled()
    gc.disable()  # a twentieth of the time goes into looking for cycles among messages, and they have none
    try:
        for rows in scan(connection, pieces, parts=wanted.parts, committed=wanted.committed):
            yield _batch(rows, wanted)
    except MigrationError as exc:
        raise WorkerFailed(exc) from None
    finally:
        if collects:
            gc.enable()


def _batch(rows: Rows, wanted: ReadOptions) -> pyarrow.RecordBatch:
    """The columns with exactly the types of the schema, which Spark insists on, and as few objects as can be."""
    import pyarrow as pa

    columns = [_COLUMNS[column](rows) for column in wanted.columns]
    return pa.RecordBatch.from_arrays(columns, list(wanted.columns))


def _topics(rows: Rows) -> pyarrow.Array:
    import pyarrow as pa

    topics = sorted({run.piece.partition.topic for run in rows.runs})
    place = {topic: number for number, topic in enumerate(topics)}
    return pa.array(topics).take(_repeated(rows, lambda run: place[run.piece.partition.topic]))


def _stamped(rows: Rows) -> pyarrow.Array:
    import pyarrow as pa

    return _repeated(rows, lambda run: run.log_append_time).cast(pa.bool_())


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


_COLUMNS: dict[str, t.Callable[[Rows], pyarrow.Array]] = {
    "range": lambda rows: _repeated(rows, lambda run: run.piece.number),
    "topic": _topics,
    "partition": lambda rows: _repeated(rows, lambda run: run.piece.partition.partition),
    "offset": lambda rows: _long(array.array("q", rows.offsets)),
    "timestamp": lambda rows: _long(array.array("q", rows.timestamps)),
    "log_append_time": _stamped,
    "fingerprint": lambda rows: _fingerprints(rows.fingerprints),
    "bare": lambda rows: _fingerprints(rows.bare),
}
