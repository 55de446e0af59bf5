# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Dataclasses and named tuples as rows of files, and back: the types of the members say how.

    class Setting(t.NamedTuple):
        name: Name                                            # {"name": ..., "value": {"before": ...}}
        before: t.Annotated[str | None, At("value", "before")] = None
        after: t.Annotated[str | None, RARE] = None           # "after" is only in rows where it is not null

Two small types that each of a million rows has are read and written by hand, which is faster.
"""

from __future__ import annotations

import collections.abc
import enum
import functools
import inspect
import operator
import types
import typing as t

from . import documents
from .documents import Json
from .group_state import CommittedOffset
from .records import TopicPartition

_T = t.TypeVar("_T")


class Form(t.NamedTuple):
    """How a value is read from JSON and written to it. read: raises ValueError, KeyError, TypeError or AttributeError.

    write: None for a value that JSON has as it is.
    """

    read: t.Callable[[t.Any], t.Any]
    write: t.Callable[[t.Any], t.Any] | None = None


class At:
    """The names that lead to a member in a row, if it does not stand under its own."""

    def __init__(self, *path: str) -> None:
        self.steps: tuple[str, ...] = path[:-1]
        self.last: str | None = path[-1]


class Among(At):
    """The names that lead to an object within a row, or none for the row itself, which has the members of this member."""

    def __init__(self, *path: str) -> None:
        self.steps, self.last = path, None


class Lacking(enum.Enum):
    """Where a row may lack a member, which then has its default, or is None without one."""

    LATER = enum.auto()  # in files of releases that did not know it
    RARE = enum.auto()  # wherever it has its default


LATER, RARE = Lacking
_ORDERS: dict[t.Any, tuple[str, ...]] = {}


def row_order(*names: str) -> t.Callable[[type[_T]], type[_T]]:
    """Decorates a type whose members are in another order in a row, or not all in it."""

    def ordered(made: type[_T]) -> type[_T]:
        _ORDERS[made] = names
        return made

    return ordered


def one_of(*values: str) -> Form:
    """One of these texts."""

    def read(value: t.Any) -> t.Any:
        if documents.text_of(value) not in values:
            raise ValueError(f"{value!r} is not {', '.join(values[:-1])} or {values[-1]}")
        return value

    return Form(read)


def offset_pair(row: t.Any) -> tuple[int, int]:
    """A list of two offsets; raises as Form.read()."""
    if not isinstance(row, list) or len(row) != 2:
        raise TypeError("not two offsets")
    return documents.offset_of(row[0]), documents.offset_of(row[1])


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


def _partition_row(partition: TopicPartition) -> Json:
    topic, number = partition
    return {"topic": topic, "partition": number}


def _committed_from(row: t.Any) -> CommittedOffset:
    epoch = row.get("leader_epoch")
    return CommittedOffset(
        documents.offset_of(row["offset"]), documents.metadata_of(row["metadata"]), documents.epoch_of(epoch)
    )


def _committed_row(committed: CommittedOffset) -> Json:
    offset, metadata, epoch = committed
    return {"offset": offset, "metadata": metadata, "leader_epoch": epoch}


Name = t.Annotated[str, Form(documents.name_of)]  # of a group or a topic
Metadata = t.Annotated[str, Form(documents.metadata_of)]  # of a committed offset
Epoch = t.Annotated["int | None", Form(documents.epoch_of)]  # of a leader
Seconds = t.Annotated[float, Form(documents.unix_time_of)]  # of Unix time
_FORMS: dict[t.Any, Form] = {
    str: Form(documents.text_of),
    bool: Form(documents.flag_of),
    int: Form(documents.offset_of),
    TopicPartition: Form(partition_from, _partition_row),
    CommittedOffset: Form(_committed_from, _committed_row),
}


def write_row(value: t.Any, *without: str) -> Json:
    """A dataclass or named tuple as a row, but for these members; equal values give equal rows, in a stable order."""
    row: Json = {}
    writes = _members(type(value)).writes  # type: ignore[arg-type]
    for write in writes.values() if not without else [writes[name] for name in writes if name not in without]:
        write(row, value)
    return row


def read_row(made: type[_T], row: t.Any, **given: t.Any) -> _T:
    """The reverse of write_row(). given: members that stand elsewhere. Raises as Form.read(); a ValueError names the member."""
    reads, _writes, has_all = _members(made)  # type: ignore[arg-type]
    if has_all and not given:
        return made(*[read(row) for read in reads.values()])
    return made(**{name: read(row) for name, read in reads.items() if name not in given}, **given)


def read_file(kind: str, text: str, path: str, made: type[_T], **entries: t.Callable[[t.Any], t.Any] | type) -> _T:
    """What a file of this kind holds, or InvalidFile. entries: the member that its entries are, and how one of them is read."""
    head, rows = documents.loads(kind, text, path)
    given = {
        name: documents.parse_entries(
            kind, path, rows, functools.partial(read_row, read) if isinstance(read, type) else read
        )
        for name, read in entries.items()
    }
    return documents.parse(kind, path, head, lambda row: read_row(made, row, **given))


class _Members(t.NamedTuple):
    """How each member of a type is read from a row, in the order in which the type takes them, and written to one, by name.

    has_all: whether a row has all of them.
    """

    reads: dict[str, t.Callable[[t.Any], t.Any]]
    writes: dict[str, t.Callable[[Json, t.Any], None]]
    has_all: bool


@functools.cache
def _members(made: type) -> _Members:
    hints = t.get_type_hints(made, include_extras=True)
    parameters = inspect.signature(made).parameters
    reads, writes = {}, {}
    for name in _ORDERS.get(made, parameters):
        notes = getattr(hints[name], "__metadata__", ())
        at = next((note for note in notes if isinstance(note, At)), At(name))
        missing = next((note for note in notes if isinstance(note, Lacking)), None)
        default = parameters[name].default
        read, write = _form(hints[name])
        reads[name] = _reader(at, read, missing, None if default is inspect.Parameter.empty else default)
        writes[name] = _writer(name, at, write, missing, default)
    ordered = {name: reads[name] for name in parameters if name in reads}
    return _Members(ordered, writes, len(reads) == len(parameters))


def _writer(
    name: str, at: At, write: t.Callable[[t.Any], t.Any] | None, missing: Lacking | None, default: t.Any
) -> t.Callable[[Json, t.Any], None]:
    """Writes a member of a value to a row. The first three ways are the fast ones: a plan may have a million of them."""
    get, steps, last = operator.attrgetter(name), at.steps, at.last

    def write_as_it_is(row: Json, value: t.Any) -> None:
        row[name] = get(value)

    def write_its_form(row: Json, value: t.Any) -> None:
        row[name] = write(get(value))  # type: ignore[misc]

    def write_rarely(row: Json, value: t.Any) -> None:
        member = get(value)
        if member is not default and member != default:
            row[name] = member if write is None else write(member)

    def write_elsewhere(row: Json, value: t.Any) -> None:
        member = get(value)
        if missing is RARE and member == default:
            return
        if write is not None:
            member = write(member)
        for step in steps:
            row = row.setdefault(step, {})
        row.update(member if last is None else {last: member})

    if steps or last != name:
        return write_elsewhere
    if missing is RARE:
        return write_rarely
    return write_as_it_is if write is None else write_its_form


def _reader(
    at: At, read: t.Callable[[t.Any], t.Any], missing: Lacking | None, default: t.Any
) -> t.Callable[[t.Any], t.Any]:
    """Reads a member from a row."""
    steps = at.steps if at.last is None else (*at.steps, at.last)

    def read_member(row: t.Any) -> t.Any:
        value = row
        try:
            for step in steps:
                if missing is not None and step not in value:
                    return default
                value = value[step]
            return read(value)
        except ValueError as exc:
            raise ValueError(": ".join((*steps, str(exc)))) from exc
        except (TypeError, AttributeError) as exc:  # in Python's words, which say nothing of the file
            if value is row:
                raise
            raise ValueError(f"{': '.join(steps)} is not built as the format says") from exc

    return read_member if steps else read


def _form(hint: t.Any) -> Form:
    origin, inner = t.get_origin(hint), t.get_args(hint)
    if origin is t.Annotated:
        return next((note for note in inner[1:] if isinstance(note, Form)), None) or _form(inner[0])
    if origin in (t.Union, types.UnionType):  # with None
        read, write = _form(inner[0])
        return Form(_unless_none(read), write and _unless_none(write))
    if origin is tuple:
        read, write = _form(inner[0])
        return Form(
            lambda rows: tuple(map(read, _listed(rows))),
            list if write is None else lambda values: list(map(write, values)),
        )
    if origin in (dict, collections.abc.Mapping):
        key, member = map(_form, inner)
        return Form(
            lambda row: {key.read(name): member.read(value) for name, value in row.items()},
            lambda values: {
                name: member.write(value) if member.write else value for name, value in sorted(values.items())
            },
        )
    if isinstance(hint, type) and issubclass(hint, enum.StrEnum):
        return Form(functools.partial(_choice, {choice.value: choice for choice in hint}, hint), str)
    return _FORMS.get(hint) or Form(functools.partial(read_row, hint), write_row)


def _choice(choices: t.Mapping[str, enum.StrEnum], kind: type[enum.StrEnum], value: t.Any) -> enum.StrEnum:
    """The enum's own look-up takes several times as long."""
    try:
        return choices[value]
    except (KeyError, TypeError):
        return documents.choice_of(kind, value)


def _unless_none(way: t.Callable[[t.Any], t.Any]) -> t.Callable[[t.Any], t.Any]:
    return lambda value: None if value is None else way(value)


def _listed(rows: t.Any) -> list[t.Any]:
    if not isinstance(rows, list):
        raise TypeError("not a list")
    return rows
