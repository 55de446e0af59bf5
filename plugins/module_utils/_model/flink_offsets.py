# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Offsets as Flink SQL's Kafka connector reads them: options of a table, three for each topic.

    'topic' = 'orders',
    'scan.startup.mode' = 'specific-offsets',
    'scan.startup.specific-offsets' = 'partition:0,offset:41;partition:1,offset:60'

They are read from statements as well: from `CREATE TABLE ... WITH (...)`, and from hints `orders /*+ OPTIONS(...) */`, which
win over the options of the table.

Source: Flink, "Apache Kafka SQL Connector", "SQL Hints", and KafkaConnectorOptionsUtil.parseSpecificOffsets().
"""

from __future__ import annotations

import bisect
import itertools
import operator
import re
import typing as t

from . import documents
from .errors import InvalidFile
from .grouping import values_by_key
from .records import LEGAL_TOPIC, TopicPartition

_TOPIC, _MODE, _OFFSETS = "topic", "scan.startup.mode", "scan.startup.specific-offsets"
# As Java reads it: a plus sign is a sign, and what is empty at the end is no part.
_POSITION = re.compile(r"partition:\+?(\d{1,10}),offset:\+?(\d{1,19}),*", re.ASCII)
_TOKEN = re.compile(
    r"(?P<option>'((?:[^']|'')*)'\s*=\s*'((?:[^']|'')*)')|(?P<text>'(?:[^']|'')*')|(?P<comment>--[^\n]*|/\*(?!\+).*?\*/)|.",
    re.DOTALL,
)
_TOGETHER = re.compile(r"\s*,\s*|[^\S\n]*(\n[^\S\n]*)?")  # between two options: a comma, or no blank line
_PART = r"(?:`(?:[^`]|``)+`|\w++)"
_NAME = rf"({_PART}(?:\s*+\.\s*+{_PART})*+)"
_TABLE = r"\bTABLE\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?"
_CREATED = re.compile(rf"{_TABLE}{_NAME}", re.IGNORECASE)
_HINT = re.compile(rf"(?:(?<![\w`]){_NAME}\s*+)?/\*\+\s*OPTIONS\s*\(\s*\Z", re.IGNORECASE)
_DROPPED = re.compile(rf"\bDROP\s+(?:TEMPORARY\s+)?{_TABLE}{_NAME}", re.IGNORECASE)
_VIEW = re.compile(  # or what a WITH clause calls so
    rf"\bVIEW\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?{_NAME}|(?<![\w`]){_NAME}\s*(?:\([^()]*\)\s*)?\bAS\s*\(\s*(?:SELECT|WITH)\b",
    re.IGNORECASE,
)
# The first lines are where nothing is read. After the last one, there are tables.
_READ = re.compile(
    r"(?:\A|;)\s*(?:SHOW|EXPLAIN)\b[^;]*|\b(?:METADATA|DISTINCT|DELETE)\s+FROM\b|\b(?:EXTRACT|TRIM)\s*\([^()]*?\bFROM\b"
    r"|\b(?:CREATE|DROP|ALTER|TRUNCATE|ANALYZE|INTO|OVERWRITE)\s+(?:OR\s+REPLACE\s+)?(?:TEMPORARY\s+)?TABLE\b"
    r"|\b(FROM|JOIN|TABLE)\s",
    re.IGNORECASE,
)
# A table, its hint, its alias and the comma before the next one.
_READ_TABLE = re.compile(rf"\s*{_NAME}(\s*/\*\+[^*]*\*/)?(?:\s+(?:AS\s+)?{_PART})?(\s*,)?", re.IGNORECASE)

_Options: t.TypeAlias = "dict[str, tuple[str, int]]"  # by name: the value, and in which line it is
_Name: t.TypeAlias = "tuple[str, ...]"  # catalog, database and table, as far as they are written; empty for none
_Value = t.TypeVar("_Value")


class _ByName(t.Generic[_Value]):
    """Values by names of tables, in the order in which they come: a file may have thousands."""

    def __init__(self, named: t.Iterable[tuple[_Name, _Value]]) -> None:
        self._named: list[tuple[_Name, _Value]] = []
        self._ending: dict[_Name, list[tuple[int, _Name, _Value]]] = {}  # by each end of a name
        for name, value in named:
            self.add(name, value)

    def add(self, name: _Name, value: _Value) -> None:
        """A value more."""
        for end in _ends(name):
            self._ending.setdefault(end, []).append((len(self._named), name, value))
        self._named.append((name, value))

    def __iter__(self) -> t.Iterator[tuple[_Name, _Value]]:
        """All of them, those without a name, too."""
        return iter(self._named)

    def of(self, name: _Name) -> list[_Value]:
        """The values of this very name."""
        return [value for _number, other, value in self._ending.get(name, ()) if other == name]

    def may_be(self, name: _Name) -> list[tuple[_Name, _Value]]:
        """The names that may be of the same table, because one is the end of the other, with their values."""
        longer = self._ending.get(name, [])
        shorter = (each for end in _ends(name)[1:] for each in self._ending.get(end, ()) if each[1] == end)
        found = sorted([*longer, *shorter], key=operator.itemgetter(0))
        return [(other, value) for _number, other, value in found]


def to_table_options(positions: t.Mapping[TopicPartition, int | None]) -> str:
    """The options of a table for each topic, with a blank line between them. A partition without an offset is not in it."""
    offsets = values_by_key(
        (topic, f"partition:{partition},offset:{offset}")
        for (topic, partition), offset in sorted(positions.items())
        if offset is not None
    )
    return "\n".join(
        f"'{_TOPIC}' = '{topic}',\n'{_MODE}' = 'specific-offsets',\n'{_OFFSETS}' = '{';'.join(values)}'\n"
        for topic, values in offsets.items()
    )


def read_table_options(text: str, path: str) -> dict[TopicPartition, int]:
    """Read what to_table_options() writes, or statements with such options. Raises InvalidFile that names the line."""
    offsets: dict[TopicPartition, int] = {}
    try:
        for table, also in _tables(text):
            for partition, offset in _positions(table, also):
                if offsets.setdefault(partition, offset) != offset:
                    twice = f"{partition} is there twice, with {offsets[partition]} and {offset}{also}"
                    raise _Wrong(table[_OFFSETS][1], twice)
    except _Wrong as exc:
        raise InvalidFile(
            f"line {exc.line} of {path} is no option of Flink SQL that says where a topic starts",
            why=exc.why,
            remedy=f"give '{_TOPIC}', '{_MODE}' and '{_OFFSETS}' of each table",
        ) from exc
    if not offsets:
        raise InvalidFile(f"{path} holds no offset", remedy=f"correct the path, or add '{_OFFSETS}'")
    return offsets


class _Wrong(Exception):
    """What is wrong in a line."""

    def __init__(self, line: int, why: str) -> None:
        self.line, self.why = line, why


def _tables(text: str) -> t.Iterator[tuple[_Options, str]]:
    """The options of each table that is created or read; a table that only hints start elsewhere has those of the hints alone.

    With each, a clause about where a table that has hints is read without one, or none. Raises _Wrong for a hint that may be
    about tables of different topics.
    """
    numbers = itertools.count()
    created: dict[_Name, list[tuple[int, _Options]]] = {}  # with their order
    hinted = _ByName[_Options](())
    *blocks, (statements, _rest) = _blocks(text)
    name: _Name = ()
    ended, rest = _Statements(""), ""
    for before, options in blocks:
        statement, end, rest = (rest + before).rpartition(";")
        ended.take(statement + end)
        name = next((_parts(each) for each in reversed(_CREATED.findall(before))), name)
        if (hint := _HINT.search(before)) is not None:
            hinted.add(_parts(hint[1] or ""), options)
            continue
        so_far = ended, _Statements(rest)
        is_dropped = any(name in some.dropped for some in so_far)
        if is_dropped and not hinted.may_be(name) and not any(some.reads(name) for some in so_far):
            created.pop(name, None)  # what nobody has read before starts nowhere
        known = created.setdefault(name, [])
        if not name or all(_values(its) != _values(options) for _number, its in known):
            known.append((next(numbers), options))
    in_order = sorted(
        ((number, name, options) for name, known in created.items() for number, options in known),
        key=operator.itemgetter(0),
    )
    tables = _ByName((name, options) for _number, name, options in in_order)
    hints = [(name, options, _hinted_tables(name, options, tables)) for name, options in hinted]
    overridden = {id(its[0]) for _name, options, its in hints if _OFFSETS in options and len(its) == 1}
    whole = _Statements(statements)

    def also(name: _Name) -> str:
        lines = (f", and line {line} reads {'.'.join(use)} without a hint" for use, line in whole.reads(name))
        return next(lines, "")

    for _number, name, options in in_order:
        if id(options) not in overridden:
            yield options, ""
        elif clause := also(name):
            yield options, clause
    for name, options, its in hints:
        for own in its or [{}]:
            yield {**own, **options}, also(name)


class _Statements:
    """What statements say of tables."""

    def __init__(self, text: str) -> None:
        self.dropped: set[_Name] = set()
        self._views: set[_Name] = set()
        self._read: set[_Name] = set()
        self._lines = _ByName[int](())
        self.take(text)

    def take(self, text: str) -> None:
        """More statements, whole ones."""
        self.dropped.update(map(_parts, _DROPPED.findall(text)))
        self._views.update(_parts(view[1] or view[2]) for view in _VIEW.finditer(text))
        ends = [end.start() for end in re.finditer("\n", text)]
        for keyword in _READ.finditer(text):
            table = _READ_TABLE.match(text, keyword.end()) if keyword[1] else None
            while table is not None:
                if table[2] is None and (name := _parts(table[1])) not in self._read:
                    self._read.add(name)
                    self._lines.add(name, bisect.bisect_left(ends, table.start(1)) + 1)
                table = _READ_TABLE.match(text, table.end()) if table[3] else None

    def reads(self, name: _Name) -> list[tuple[_Name, int]]:
        """The names of tables that may be this one and are read without a hint, each with its first line; not of views."""
        return [(use, line) for use, line in self._lines.may_be(name) if use not in self._views]


def _values(options: _Options) -> dict[str, str]:
    return {name: value for name, (value, _line) in options.items()}


def _hinted_tables(name: _Name, hint: _Options, created: _ByName[_Options]) -> list[_Options]:
    """The tables that a hint may be about: that of its full name, or all of which one name is the end of the other."""
    fitting = created.of(name) if len(name) > 1 else []
    fitting = fitting or [options for _other, options in created.may_be(name)]
    fitting = [options for options in fitting if _TOPIC in options] or fitting
    topics = sorted({options[_TOPIC][0] for options in fitting if _TOPIC in options})
    if topics[1:] and _OFFSETS in hint and _TOPIC not in hint:
        tables = f"tables called {'.'.join(name)} have the topics {' and '.join(topics)}"
        raise _Wrong(
            hint[_OFFSETS][1], f"{tables}: write the table with its database as where it is created, or '{_TOPIC}'"
        )
    return fitting


def _ends(name: _Name) -> list[_Name]:
    """The name, and what it is called without its catalog, and without its database."""
    return [name[at:] for at in range(len(name))]


def _parts(name: str) -> _Name:
    return tuple(part.strip("`").replace("``", "`") for part in re.findall(_PART, name))


def _blocks(text: str) -> t.Iterator[tuple[str, _Options]]:
    """Options that belong together, and what stands between them and the last ones, without comments and quoted texts.

    At last, no options and the whole text, in the same way, with the lines that it has.
    """
    seen: list[str] = []
    since = 0  # the last option
    options: _Options = {}
    before = ""
    line = next_line = 1
    for token in _TOKEN.finditer(text):
        line, next_line = next_line, next_line + token[0].count("\n")
        if token[0] == "'":
            raise _Wrong(line, "a quote is not closed")
        if token.lastgroup is None or token["option"] is None:
            seen.append("\n" * token[0].count("\n") or " " if token.lastgroup else token[0])
            continue
        name, value = (token[number].replace("''", "'") for number in (2, 3))
        if options and (name in options or not _TOGETHER.fullmatch("".join(seen[since:]))):
            yield before, options
            options = {}
        before = before if options else "".join(seen[since:])
        options[name] = value, line
        seen.append("\n" * token[0].count("\n"))
        since = len(seen)
    if options:
        yield before, options
    yield "".join(seen), {}


def _positions(options: _Options, also: str) -> t.Iterator[tuple[TopicPartition, int]]:
    """Where a table starts, if its options say it. also: a clause for what is wrong. Raises _Wrong."""
    mode, line = options.get(_MODE, ("specific-offsets", 0))
    if mode != "specific-offsets":
        raise _Wrong(line, f"the mode is {mode}, which says no offsets{also}")
    value, line = options.get(_OFFSETS, ("", line))
    if _OFFSETS not in options:
        if _MODE in options and _TOPIC in options:
            raise _Wrong(line, f"'{_OFFSETS}' is missing")
        return
    topic = options.get(_TOPIC, ("", line))[0]
    if not topic:
        raise _Wrong(line, f"no '{_TOPIC}' is named with it, and no table in the file that has one")
    if not LEGAL_TOPIC.fullmatch(topic):
        several = "it names several topics, which share their offsets: give a table for each"
        raise _Wrong(options[_TOPIC][1], several if ";" in topic else f"{topic!r} cannot be the name of a topic")
    for position in value.rstrip(";").split(";"):
        try:
            yield _position(topic, position)
        except ValueError as exc:
            raise _Wrong(line, str(exc)) from exc


def _position(topic: str, text: str) -> tuple[TopicPartition, int]:
    shape = _POSITION.fullmatch(text.strip())
    if shape is None:
        raise ValueError(f"{text!r} is not partition:NUMBER,offset:NUMBER")
    return TopicPartition(topic, documents.partition_of(int(shape[1]))), documents.offset_of(int(shape[2]))
