# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Several errors as one, so that who corrects one of them learns of the others, too."""

from __future__ import annotations

import typing as t

from .errors import InvalidFile, InvalidInput, MigrationError, NotFound, Refused
from .option_names import option_name
from .wording import first_of

_SHARED = ("cluster", "group", "topic", "why", "remedy")
_COLLECTED = (InvalidFile, InvalidInput, NotFound, Refused)
_NAMED = 5  # errors that one says

_Item = t.TypeVar("_Item")
_Made = t.TypeVar("_Made")


def all_of(make: t.Callable[[_Item], _Made], items: t.Iterable[_Item]) -> list[_Made]:
    """make(item) of each item. Raises one error for all the items that it refuses."""
    made, faults = [], []
    for item in items:
        try:
            made.append(make(item))
        except _COLLECTED as exc:
            faults.append(exc)
    raise_any(faults)
    return made


def of_entries(option: str, rows: t.Iterable[_Item], make: t.Callable[[str, _Item], _Made]) -> tuple[_Made, ...]:
    """make(place, row) of each row of an option, as all_of(); place: which entry it is."""
    return tuple(all_of(lambda entry: make(f"{option_name(option)}, entry {entry[0]}", entry[1]), enumerate(rows, 1)))


def all_done(*makes: t.Callable[[], object]) -> None:
    """Call each of these. Raises one error for all that refuse."""
    raise_any(faults_of(*makes))


def faults_of(*checks: t.Callable[[], object]) -> t.Iterator[MigrationError]:
    """The errors of those of these that refuse."""
    for check in checks:
        try:
            check()
        except _COLLECTED as exc:
            yield exc


def raise_any(faults: t.Iterable[MigrationError], most: int = _NAMED) -> None:
    """Raise an error that says all of these once, if there are any: as the first one. What they have in common comes once.

    most: how many of them it says.
    """
    errors = list({str(part): part for fault in faults for part in fault.parts or (fault,)}.values())
    if not errors:
        return
    first = errors[0]
    if len(errors) == 1:
        raise first
    shared = {name: getattr(first, name) for name in _SHARED if len({getattr(error, name) for error in errors}) == 1}
    clauses = [_clause(error, shared) for error in errors]
    whole = type(first)(first_of(clauses, most, between="; "), **shared)
    whole.parts = errors
    raise whole


def _clause(fault: MigrationError, shared: t.Container[str]) -> str:
    """What an error says, but for what is shared."""
    own = {name: getattr(fault, name) for name in ("cluster", "group", "topic", "why") if name not in shared}
    text = str(MigrationError(fault.what, partition=fault.partition, **own)).removesuffix(".")
    return text if "remedy" in shared or fault.remedy is None else f"{text} ({fault.remedy})"
