# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""Which records are of one content, where replication tools may have changed headers and times of some of them."""

from __future__ import annotations

import collections
import itertools
import typing as t

from .._model.records import Record
from .content import Content
from .tallies import Name, Time

_ANOTHER = -2  # no record's time

_Spot = t.TypeVar("_Spot")


class Named(t.NamedTuple, t.Generic[_Spot]):
    """A record: where it is, its name, and its time; None where the broker has stamped it, or times are not compared."""

    spot: _Spot
    name: Name
    time: Time


class ToldApart(t.NamedTuple, t.Generic[_Spot]):
    """Records and copies of one content, in the order given, with times that tell them apart.

    name: None where the headers of some copies were changed, so that records with several names are one content.
    """

    name: Name | None
    source: list[tuple[_Spot, int]]
    copies: list[tuple[_Spot, Time]]


def told_apart(
    source: t.Sequence[Named[_Spot]], copies: t.Sequence[Named[_Spot]], timestamps: bool
) -> list[ToldApart[_Spot]]:
    """The contents of records that are alike but for headers.

    They are told apart by their names, unless the destination has copies with names that the source does not have: tools add
    headers. timestamps: whether times are compared at all.
    """
    names = {record.name for record in source}
    changed = sum(copy.name not in names for copy in copies)
    if changed and changed == len(copies):
        originals = [(record.spot, t.cast(int, record.time)) for record in source]
        return [ToldApart(None, originals, [(copy.spot, copy.time) for copy in copies])]
    if not changed:
        by_name: dict[Name, ToldApart[_Spot]] = {name: ToldApart(name, [], []) for name in names}
        for record in source:
            by_name[record.name].source.append((record.spot, t.cast(int, record.time)))
        for copy in copies:
            by_name[copy.name].copies.append((copy.spot, copy.time))
        return list(by_name.values())
    # Some copies have kept all: these are told apart by everything. The others stand for what has their time, if that is
    # one content, and else for what is not there so.
    own: dict[t.Any, int] = collections.defaultdict(itertools.count().__next__)
    at_time: dict[Time, set[Name]] = collections.defaultdict(set)
    for record in source:
        at_time[record.time].add(record.name)
    keyed = [(record.spot, own[record.name, record.time if timestamps else None]) for record in source]
    both: list[tuple[_Spot, Time]] = []
    for copy in copies:
        possible = {copy.name} if copy.name in names else at_time.get(copy.time, set())
        both.append((copy.spot, own[next(iter(possible)), copy.time] if len(possible) == 1 else _ANOTHER))
    return [ToldApart(None, keyed, both)]


class Alike(t.NamedTuple):
    """Contents that are alike but for headers. kept_times, kept_headers: have all copies those of a source record?"""

    contents: list[Content]
    kept_times: bool
    kept_headers: bool


def alike_contents(source: t.Sequence[Named[int]], copies: t.Sequence[Named[int]], timestamps: bool) -> Alike:
    """Records that are alike but for headers, by place, as contents. timestamps: whether times are compared at all."""
    if not source:
        return Alike([Content([], [(copy.spot, copy.time) for copy in copies])], True, True)
    times, names = {record.time for record in source}, {record.name for record in source}
    return Alike(
        [Content(told.source, told.copies) for told in told_apart(source, copies, timestamps)],
        all(copy.time in times for copy in copies),
        all(copy.name in names for copy in copies),
    )


def copies_of_aborted(
    aborted: t.Sequence[Record],
    known: t.Collection[Name],
    copies: t.Iterable[Record],
    name: t.Callable[[Record], Name],
    timestamps: bool,
) -> dict[int, int]:
    """The offsets of copies that can only be those of aborted records, with the lowest offset at the source of each."""

    def key(record: Record) -> tuple[Name, Time]:
        return name(record), record.timestamp if timestamps and not record.log_append_time else None

    places: dict[tuple[Name, Time], int] = {}
    for record in aborted:
        if name(record) not in known:
            places.setdefault((name(record), record.timestamp if timestamps else None), record.offset)
            places.setdefault((name(record), None), record.offset)
    return {copy.offset: places[key(copy)] for copy in copies if key(copy) in places} if places else {}
