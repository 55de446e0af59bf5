# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Several errors as one, so that who corrects one of them learns of the others, too."""

from __future__ import annotations

import typing as t

from .errors import InvalidInput, MigrationError, NotFound, Refused

_SHARED = ("cluster", "group", "topic", "why", "remedy")
_NAMED = 5  # errors that one says

_Item = t.TypeVar("_Item")
_Made = t.TypeVar("_Made")


def all_of(make: t.Callable[[_Item], _Made], items: t.Iterable[_Item]) -> list[_Made]:
    """make(item) of each item. Raises one error for all the items that it refuses."""
    made, faults = [], []
    for item in items:
        try:
            made.append(make(item))
        except (InvalidInput, NotFound, Refused) as exc:
            faults.append(exc)
    raise_any(faults)
    return made


def all_done(*makes: t.Callable[[], object]) -> None:
    """Call each of these. Raises one error for all that refuse."""
    all_of(lambda make: make(), makes)


def raise_any(faults: t.Iterable[MigrationError]) -> None:
    """Raise an error that says all of these, if there are any: as the first one, and what they have in common only once."""
    found = list(faults)
    if not found:
        return
    first = found[0]
    if len(found) == 1:
        raise first
    shared = {name: getattr(first, name) for name in _SHARED if len({getattr(each, name) for each in found}) == 1}
    clauses = [_clause(each, shared) for each in found[:_NAMED]]
    if found[_NAMED:]:
        clauses.append(f"and {len(found) - _NAMED:,} more")
    raise type(first)("; ".join(clauses), kind=first.kind, **shared)


def _clause(fault: MigrationError, shared: t.Container[str]) -> str:
    """What an error says, but for what is shared."""
    own = {name: getattr(fault, name) for name in ("cluster", "group", "topic", "why") if name not in shared}
    text = str(MigrationError(fault.what, partition=fault.partition, **own)).removesuffix(".")
    return text if "remedy" in shared or fault.remedy is None else f"{text} ({fault.remedy})"
