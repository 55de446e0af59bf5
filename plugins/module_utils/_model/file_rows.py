# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Dataclasses and named tuples as rows of files, and back: the types of the members say how.

    class Setting(t.NamedTuple):
        name: Name                                        # {"name": ..., "value": {"before": ...}}
        before: t.Annotated[str | None, At("value", "before")] = None

Members that millions of rows have, as those of plans, snapshots and receipts, are written and read by hand, which is faster.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
import types
import typing as t

from . import documents
from .documents import Json
from .records import TopicPartition

_T = t.TypeVar("_T")


class Form(t.NamedTuple):
    """How a value is read from JSON and written to it. read: raises ValueError, KeyError, TypeError or AttributeError."""

    read: t.Callable[[t.Any], t.Any]
    write: t.Callable[[t.Any], t.Any] = lambda value: value


class At:
    """The names that lead to a member in a row, if it does not stand under its own; none: its own members are the row's."""

    def __init__(self, *path: str) -> None:
        self.path = path


def one_of(*values: str) -> Form:
    """One of these texts."""

    def read(value: t.Any) -> t.Any:
        if value not in values:
            raise ValueError(f"{value!r} is not {', '.join(values[:-1])} or {values[-1]}")
        return value

    return Form(read)


def partition_from(row: t.Any) -> TopicPartition:
    """The partition that a row is about; raises as Form.read()."""
    return TopicPartition(documents.name_of(row["topic"]), documents.partition_of(row["partition"]))


Name = t.Annotated[str, Form(documents.name_of)]  # of a group or a topic
Seconds = t.Annotated[float, Form(documents.unix_time_of)]  # of Unix time
_FORMS: dict[t.Any, Form] = {
    str: Form(documents.text_of),
    bool: Form(documents.flag_of),
    int: Form(documents.offset_of),
    TopicPartition: Form(partition_from, TopicPartition._asdict),
}


def write_row(value: t.Any, *without: str) -> Json:
    """A dataclass or named tuple as a row, but for these members; equal values give equal rows, in a stable order."""
    row: Json = {}
    for name, path, _read, write in _members(type(value)):  # type: ignore[arg-type]
        if name in without:
            continue
        written = write(getattr(value, name))
        if len(path) == 1:  # nearly all
            row[path[0]] = written
            continue
        place = row
        for step in path[:-1]:
            place = place.setdefault(step, {})
        place.update({path[-1]: written} if path else written)
    return row


def read_row(made: type[_T], row: t.Any, **given: t.Any) -> _T:
    """The reverse of write_row(). given: members that stand elsewhere. Raises as Form.read(); a ValueError names the member."""
    for name, path, read, _write in _members(made):  # type: ignore[arg-type]
        if name not in given:
            value = row[path[0]] if len(path) == 1 else functools.reduce(operator.getitem, path, row)
            try:
                given[name] = read(value)
            except ValueError as exc:
                raise ValueError(": ".join((*path, str(exc)))) from exc
    return made(**given)


@functools.cache
def _members(
    made: type,
) -> tuple[tuple[str, tuple[str, ...], t.Callable[[t.Any], t.Any], t.Callable[[t.Any], t.Any]], ...]:
    """The name of each member, the names that lead to it in a row, and how it is read and written."""
    hints = t.get_type_hints(made, include_extras=True)
    names = [each.name for each in dataclasses.fields(made)] if dataclasses.is_dataclass(made) else made._fields  # type: ignore[attr-defined]
    found = []
    for name in names:
        notes = getattr(hints[name], "__metadata__", ())
        path = next((each.path for each in notes if isinstance(each, At)), (name,))
        found.append((name, path, *_form(hints[name])))
    return tuple(found)


def _form(hint: t.Any) -> Form:
    origin, inner = t.get_origin(hint), t.get_args(hint)
    if origin is t.Annotated:
        return next((each for each in inner[1:] if isinstance(each, Form)), None) or _form(inner[0])
    if origin in (t.Union, types.UnionType):  # with None
        form = _form(inner[0])
        return Form(*(functools.partial(_unless_none, way) for way in form))
    if origin is tuple:
        form = _form(inner[0])
        return Form(lambda rows: tuple(map(form.read, _listed(rows))), lambda values: list(map(form.write, values)))
    if origin is dict:
        form = _form(inner[1])
        return Form(
            lambda row: {documents.text_of(key): form.read(each) for key, each in row.items()},
            lambda value: {key: form.write(each) for key, each in sorted(value.items())},
        )
    return _FORMS.get(hint) or Form(functools.partial(read_row, hint), write_row)


def _unless_none(way: t.Callable[[t.Any], t.Any], value: t.Any) -> t.Any:
    return None if value is None else way(value)


def _listed(rows: t.Any) -> list[t.Any]:
    if not isinstance(rows, list):
        raise TypeError("not a list")
    return rows
