# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which file of a Structured Streaming checkpoint holds the offsets from which the query would go on.

`offsets/N` says where batch N ends and is written before it runs; `commits/N` is written when it is done. Source:
org.apache.spark.sql.execution.streaming.MicroBatchExecution.
"""

from __future__ import annotations

import os
import typing as t

from .._model.errors import InvalidFile
from .._model.notes import Note, NoteKind
from . import files

MADE_BY = "Spark"


class OffsetsFile(t.NamedTuple):
    """The text of a file, its path, and what the user should know."""

    text: str
    path: str
    notes: list[Note]


def offsets_file(path: str) -> OffsetsFile:
    """The offsets file of the last finished batch, for a checkpoint's directory; else the file itself. InvalidFile otherwise.

    A file of another batch is refused, and one of which nothing says whether its batch is finished: from it, the query would
    skip or repeat records. A value of startingOffsets is no such file.
    """
    if not os.path.isdir(path):
        text = files.read_required(path, "offsets", MADE_BY)
        if not text.lstrip().startswith("{"):
            _check_is_last(path)
        return OffsetsFile(text, path, [])
    last = _last_batch(path)
    file = os.path.join(path, "offsets", str(last))
    notes = []
    begun = [batch for batch in _batches(os.path.join(path, "offsets")) if batch > last]
    if begun:
        unfinished = (
            f"{path}: batch {max(begun)} was begun and is not finished. The plan goes on after batch {last}, so what a sink "
            "has taken of the unfinished one is repeated. To avoid it, let the query finish the batch, stop it, and plan again."
        )
        notes.append(Note(NoteKind.BATCH_UNFINISHED, unfinished))
    return OffsetsFile(files.read_required(file, "offsets", MADE_BY), file, notes)


def _check_is_last(path: str) -> None:
    folder, name = os.path.split(files.absolute(path))
    checkpoint = os.path.dirname(folder)
    if os.path.basename(folder) != "offsets" or not os.path.isdir(os.path.join(checkpoint, "commits")):
        raise InvalidFile(
            f"{path} says where a batch ends, and nothing says whether that is finished",
            why="Spark writes the file before the batch runs, and one of the same name in commits when it is done",
            remedy="give the checkpoint's directory, with offsets and commits in it",
        )
    last = _last_batch(checkpoint)
    if name != str(last):
        raise InvalidFile(
            f"{path} is not of the last finished batch, which is batch {last}",
            remedy=f"give {os.path.join(folder, str(last))}, or the checkpoint's directory {checkpoint}",
        )


def _last_batch(checkpoint: str) -> int:
    finished = _batches(os.path.join(checkpoint, "commits"))
    if not finished:
        raise InvalidFile(
            f"{checkpoint} is no checkpoint of a query that has finished a batch",
            why="it has no directory commits with the number of a batch in it",
            remedy="correct the path, which is the checkpointLocation of one query",
        )
    return max(finished)


def _batches(folder: str) -> list[int]:
    """The numbers of the batches that have a file in a directory; Spark's check sums and temporary files have other names."""
    return [int(name) for name in files.names_in(folder) if name.isascii() and name.isdigit()]
