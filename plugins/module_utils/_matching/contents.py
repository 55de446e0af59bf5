# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""Which records are of one content, where replication tools may have changed headers and times of some of them."""

from __future__ import annotations

import collections
import itertools
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.content import Content
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.tallies import Name, Time
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record

_ANOTHER = -2  # no record's time


def contents_of(
    source: t.Sequence[Record],
    copies: t.Iterable[Record],
    name: t.Callable[[Record], Name],
    otherwise: t.Callable[[Record], Name] | None,
    timestamps: bool,
) -> tuple[dict[Name, Content], dict[int, Name]]:
    """All contents by their names, and the names of the records at the source's offsets.

    Contents that are alike by their other name become one, by that name, where the destination has copies that only it knows.
    """
    by_name: dict[Name, list[Record]] = collections.defaultdict(list)
    alike: dict[Name, set[Name]] = collections.defaultdict(set)
    for record in source:
        by_name[name(record)].append(record)
        if otherwise is not None:
            alike[otherwise(record)].add(name(record))
    found: dict[Name, list[Record]] = {its: [] for its in by_name}
    changed: dict[Name, list[Record]] = collections.defaultdict(list)
    for copy in copies:
        if name(copy) in found:
            found[name(copy)].append(copy)
        elif otherwise is not None and otherwise(copy) in alike:
            changed[otherwise(copy)].append(copy)

    def time(copy: Record) -> Time:
        return copy.timestamp if timestamps and not copy.log_append_time else None

    result: dict[Name, Content] = {}
    names = {record.offset: its for its, records in by_name.items() for record in records}
    for common, others in changed.items():
        members = sorted(alike[common], key=repr)
        originals = sorted(record for its in members for record in by_name.pop(its))
        unchanged = [(copy, its) for its in members for copy in found.pop(its)]
        names.update((record.offset, common) for record in originals)
        if not unchanged:
            result[common] = Content(_timed(originals), [(copy.offset, time(copy)) for copy in others])
            continue
        # Some copies have kept all: these are told apart by everything. The others stand for what has their time, if that is
        # one content, and else for what is not there so.
        own: dict[t.Any, int] = collections.defaultdict(itertools.count().__next__)
        at_time: dict[Time, set[Name]] = collections.defaultdict(set)
        for record in originals:
            at_time[record.timestamp].add(name(record))
        both = [(copy.offset, own[its, time(copy)]) for copy, its in unchanged]
        for copy in others:
            possible = at_time.get(time(copy), set())
            both.append((copy.offset, own[min(possible, key=repr), time(copy)] if len(possible) == 1 else _ANOTHER))
        result[common] = Content(
            [(record.offset, own[name(record), record.timestamp if timestamps else None]) for record in originals],
            sorted(both),
        )
    for its, records in by_name.items():
        result[its] = Content(_timed(records), [(copy.offset, time(copy)) for copy in found[its]])
    return result, names


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


def _timed(records: t.Iterable[Record]) -> list[tuple[int, int]]:
    return [(record.offset, record.timestamp) for record in records]
