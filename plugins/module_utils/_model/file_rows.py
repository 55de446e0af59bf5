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


def _as_it_is(value: t.Any) -> t.Any:
    return value


class Form(t.NamedTuple):
    """How a value is read from JSON and written to it. read: raises ValueError, KeyError, TypeError or AttributeError."""

    read: t.Callable[[t.Any], t.Any]
    write: t.Callable[[t.Any], t.Any] = _as_it_is


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
    topic, number = row["topic"], row["partition"]
    try:
        return _partition(topic, number)
    except TypeError:  # a list or an object, which nothing is kept for
        return TopicPartition(documents.name_of(topic), documents.partition_of(number))


@functools.lru_cache(1 << 16, typed=True)  # true and 1.0 are no partitions
def _partition(topic: t.Any, number: t.Any) -> TopicPartition:
    """The same object for the same partition: thousands of entries share it."""
    return TopicPartition(documents.name_of(topic), documents.partition_of(number))


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
    members = _members(type(value))  # type: ignore[arg-type]
    row: Json = dict(zip(members.paths, members.values_of(value), strict=True))
    for name in without:
        del row[name]
    for name, write in members.writes.items():
        if name not in without:
            row[name] = write(row[name])
    return _placed(row, members.paths) if members.have_places else row


def _placed(row: Json, paths: t.Mapping[str, tuple[str, ...]]) -> Json:
    """The members of a row where they belong."""
    placed: Json = {}
    for name, written in row.items():
        *steps, last = paths[name] or (None,)
        place = placed
        for step in steps:
            place = place.setdefault(step, {})
        place.update(written if last is None else {last: written})
    return placed


def read_row(made: type[_T], row: t.Any, **given: t.Any) -> _T:
    """The reverse of write_row(). given: members that stand elsewhere. Raises as Form.read(); a ValueError names the member."""
    members = _members(made)  # type: ignore[arg-type]
    if not members.have_places and not given:
        try:
            return made(**{name: read(row[name]) for name, read in members.reads.items()})
        except ValueError:
            pass  # the same again, with the name of the member
    for name, read in members.reads.items():
        if name not in given:
            path = members.paths[name]
            try:
                given[name] = read(functools.reduce(operator.getitem, path, row))
            except ValueError as exc:
                raise ValueError(": ".join((*path, str(exc)))) from exc
    return made(**given)


def read_file(
    kind: str,
    text: str,
    path: str,
    made: type[_T],
    missing: t.Mapping[str, t.Any] = types.MappingProxyType({}),
    **entries: t.Callable[[t.Any], t.Any],
) -> _T:
    """What a file of this kind holds, or InvalidFile. entries: the member that its entries are, and how one of them is read.

    missing: members that files of earlier releases lack, as JSON.
    """
    head, rows = documents.loads(kind, text, path)
    given = {name: documents.parse_entries(kind, path, rows, read) for name, read in entries.items()}
    return documents.parse(kind, path, head, lambda row: read_row(made, {**missing, **row}, **given))


class _Members(t.NamedTuple):
    """The members of a type, by name. paths: the names that lead to each in a row. values_of: the values of all, in this order.

    writes: for those that are not written as they are. have_places: does one not stand under its own name?
    """

    paths: dict[str, tuple[str, ...]]
    reads: dict[str, t.Callable[[t.Any], t.Any]]
    writes: dict[str, t.Callable[[t.Any], t.Any]]
    values_of: t.Callable[[t.Any], tuple[t.Any, ...]]
    have_places: bool


@functools.cache
def _members(made: type) -> _Members:
    hints = t.get_type_hints(made, include_extras=True)
    names = [field.name for field in dataclasses.fields(made)] if dataclasses.is_dataclass(made) else made._fields  # type: ignore[attr-defined]
    paths, reads, writes = {}, {}, {}
    for name in names:
        notes = getattr(hints[name], "__metadata__", ())
        paths[name] = next((note.path for note in notes if isinstance(note, At)), (name,))
        reads[name], write = _form(hints[name])
        if write is not _as_it_is:
            writes[name] = write
    # With one name, attrgetter() gives a value instead of a tuple.
    values_of = operator.attrgetter(*names) if len(names) > 1 else lambda value: (getattr(value, names[0]),)
    return _Members(paths, reads, writes, values_of, any(path != (name,) for name, path in paths.items()))


def _form(hint: t.Any) -> Form:
    origin, inner = t.get_origin(hint), t.get_args(hint)
    if origin is t.Annotated:
        return next((note for note in inner[1:] if isinstance(note, Form)), None) or _form(inner[0])
    if origin in (t.Union, types.UnionType):  # with None
        form = _form(inner[0])
        return Form(*(way if way is _as_it_is else functools.partial(_unless_none, way) for way in form))
    if origin is tuple:
        form = _form(inner[0])
        return Form(lambda rows: tuple(map(form.read, _listed(rows))), lambda values: list(map(form.write, values)))
    if origin is dict:
        form = _form(inner[1])
        return Form(
            lambda row: {documents.text_of(key): form.read(member) for key, member in row.items()},
            lambda value: {key: form.write(member) for key, member in sorted(value.items())},
        )
    return _FORMS.get(hint) or Form(functools.partial(read_row, hint), write_row)


def _unless_none(way: t.Callable[[t.Any], t.Any], value: t.Any) -> t.Any:
    return None if value is None else way(value)


def _listed(rows: t.Any) -> list[t.Any]:
    if not isinstance(rows, list):
        raise TypeError("not a list")
    return rows
