# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which lines of the receipt a report is about: those that a rollback with the selection of the run takes. Pure."""

from __future__ import annotations

import typing as t

from ..._migration._committing import rollback
from ..._model.errors import MigrationError
from ..._model.receipt import Receipt, ReceiptEntry
from ..._model.selection import Selection

SelectionLists = t.Mapping[str, t.Sequence[str]]


def has_groups(selection: SelectionLists) -> bool:
    """Whether groups were selected. A rollback without any takes everything that the receipt holds."""
    return bool(selection.get("groups") or selection.get("group_patterns"))


def selected_entries(receipt: Receipt | None, selection: SelectionLists) -> tuple[ReceiptEntry, ...] | None:
    """The entries that a rollback with this selection takes, None where it is refused, as for a misspelt name."""
    if receipt is None:
        return ()
    given: dict[str, t.Any] = {name: tuple(chosen) for name, chosen in selection.items()}
    try:
        return rollback.choose(receipt, Selection(**given) if has_groups(selection) else None, "").entries
    except MigrationError:
        return None
