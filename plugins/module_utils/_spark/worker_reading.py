# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What runs on Spark's workers: records of Kafka as Arrow's batches."""

from __future__ import annotations

import typing as t

from .._model.background import without_collecting
from .._model.connection import Connection
from .._model.errors import MigrationError
from .._records.scanning import Piece, Rows, scan
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
