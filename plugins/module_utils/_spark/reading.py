# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What runs on Spark's workers: records of Kafka as Arrow's batches."""

from __future__ import annotations

import array
import gc
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import MigrationError
from ansible_collections.streamshift.kafka.plugins.module_utils._records.scanning import Piece, Rows, scan
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.failures import WorkerFailed

if t.TYPE_CHECKING:
    import pyarrow


class Wanted(t.NamedTuple):
    """How records are read, and which of the columns that can be left out are told."""

    parts: tuple[str, ...]
    committed: bool
    bare: bool
    ranked: bool

    @property
    def schema(self) -> str:
        """The columns, as Spark writes types."""
        return (
            "range int, topic string, partition int, offset bigint, timestamp bigint, log_append_time boolean, "
            "fingerprint binary" + ", bare binary" * self.bare + ", rank bigint" * self.ranked
        )


def read(connection: Connection, pieces: t.Sequence[Piece], wanted: Wanted) -> t.Iterator[pyarrow.RecordBatch]:
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


def _batch(rows: Rows, wanted: Wanted) -> pyarrow.RecordBatch:
    """The columns with exactly the types of the schema, which Spark insists on, and as few objects as can be."""
    import pyarrow as pa

    lengths = [run.length for run in rows.runs]
    topics = sorted({run.piece.partition.topic for run in rows.runs})
    place = {topic: number for number, topic in enumerate(topics)}
    columns = {
        "range": _repeated([run.piece.number for run in rows.runs], lengths),
        "topic": pa.array(topics).take(_repeated([place[run.piece.partition.topic] for run in rows.runs], lengths)),
        "partition": _repeated([run.piece.partition.partition for run in rows.runs], lengths),
        "offset": _long(array.array("q", rows.offsets)),
        "timestamp": _long(array.array("q", rows.timestamps)),
        "log_append_time": _repeated([run.log_append_time for run in rows.runs], lengths).cast(pa.bool_()),
        "fingerprint": _digests(rows.fingerprints),
    }
    if wanted.bare:
        columns["bare"] = _digests(rows.bare)
    if wanted.ranked:
        ranks = array.array("q")
        for run in rows.runs:
            ranks.extend(range(run.rank, run.rank + run.length))
        columns["rank"] = _long(ranks)
    return pa.RecordBatch.from_arrays(list(columns.values()), list(columns))


def _repeated(values: t.Sequence[int], lengths: t.Sequence[int]) -> pyarrow.Array:
    """A column of 32 bits with each value as often as its length says."""
    import pyarrow as pa

    column = array.array("i")
    for value, length in zip(values, lengths, strict=True):
        column.extend(array.array("i", (value,)) * length)
    return pa.Array.from_buffers(pa.int32(), len(column), [None, pa.py_buffer(column)])


def _long(values: array.array[int]) -> pyarrow.Array:
    import pyarrow as pa

    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(values)])


def _digests(digests: t.Sequence[bytes]) -> pyarrow.Array:
    """A binary column of values of 16 bytes."""
    import pyarrow as pa

    content = [None, pa.py_buffer(b"".join(digests))]
    return pa.Array.from_buffers(pa.binary(16), len(digests), content).cast(pa.binary())
