# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""How modules show their notes: as lines for people, as kinds for playbooks, and as warnings where they matter at once."""

from __future__ import annotations

import typing as t

from .._model.notes import Note

if t.TYPE_CHECKING:
    from .masking import Module


def note_results(notes: t.Iterable[Note]) -> dict[str, list[str]]:
    """The members `notes` and `note_kinds` of a module's result."""
    told = list(notes)
    return {"notes": [note.text for note in told], "note_kinds": [note.kind.value for note in told]}


def warned(module: Module, notes: t.Iterable[Note]) -> dict[str, list[str]]:
    """The same, where each note is a warning, too. It begins with its kind, as in docs/troubleshooting.md."""
    told = list(notes)
    for note in told:
        module.warn(f"{note.kind.value}: {note.text}")
    return note_results(told)
