# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Release the directory of a migration at the end of a run."""

from __future__ import annotations

import os

from .._model import lease as file
from .._model.errors import Locked
from .._model.notes import Note, NoteKind
from . import files


def release(directory: str, run: str | None, *, check: bool) -> list[Note]:
    """Remove the lease of this run, or say why it stays.

    Another run's stays, and a task that has outlived its run holds it up for nobody. run: file.Lease.run of this run.
    """
    path = os.path.join(directory, file.FILE)
    text = files.read(path)
    if text is None or file.from_json(text, path).run != run or check:
        return []
    try:
        with files.locked(path, run):
            files.remove(path)
    except Locked as exc:
        return [Note(NoteKind.LEASE_STAYS, f"{exc} The lease counts until this run ends.")]
    return []
