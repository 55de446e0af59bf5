# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""Which records are of one content, where replication tools may have changed headers and times of some of them."""

from __future__ import annotations

import collections
import itertools
import typing as t

from .._model.records import Record
from .content import Content, doubted
from .tallies import SECOND, Name, Time

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

    They are told apart by their names, unless the destination has copies whose names may be changed: tools add headers, and on
    a return they have added them to the records of the source. timestamps: whether times are compared at all.
    """
    names = {record.name for record in source}
    if copies and names.isdisjoint(copy.name for copy in copies):
        return [_all_together(None, source, copies)]
    if len(names) == 1 and names.issuperset(copy.name for copy in copies):
        return [_all_together(next(iter(names)), source, copies)]
    at_time = _names_by_time(source)
    changed = [_is_changed(copy, names, at_time) for copy in copies]
    if not any(changed) and not _are_doubted(source, copies, at_time):
        by_name: dict[Name, ToldApart[_Spot]] = {name: ToldApart(name, [], []) for name in names}
        for record in source:
            by_name[record.name].source.append((record.spot, t.cast(int, record.time)))
        for copy in copies:
            by_name[copy.name].copies.append((copy.spot, copy.time))
        return list(by_name.values())
    return [_by_numbers(source, list(zip(copies, changed, strict=True)), at_time, timestamps)]


def _by_numbers(
    source: t.Sequence[Named[_Spot]],
    copies: t.Sequence[tuple[Named[_Spot], bool]],
    at_time: _NamesByTime,
    timestamps: bool,
) -> ToldApart[_Spot]:
    """Records of several names as one content: what is told apart gets different times, because these may not tell, either.

    Counting considers that. Where no copy has a record's time, names alone tell: by negative times, which show of no copy that
    it is surely a record's. copies: each with whether it is changed.
    """
    stands_for, second = _changed_names(copies, at_time)

    def label(record: Named[_Spot]) -> _Label:
        return None if record.name in stands_for.get(record.time, ()) else record.name, record.time

    records = list(map(label, source))
    labels: list[_Label | None] = []
    for copy, is_changed in copies:
        if not is_changed or stands_for.get(copy.time):
            labels.append((None, copy.time) if is_changed else label(copy))
        else:
            labels.append(_SECOND if second[copy.time] > 0 else None)
            second[copy.time] -= 1
    if None in labels or _SECOND in labels:
        records, labels = _by_name_alone(records, labels, at_time)
    has_time = timestamps and any(copy.time in at_time for copy, _is_changed in copies)
    numbers: dict[t.Any, int] = collections.defaultdict(itertools.count().__next__)

    def number(label: _Label | None) -> int:
        if label is None:
            return _ANOTHER
        if label == _SECOND:
            return SECOND
        return numbers[label] if has_time else _ANOTHER - 1 - numbers[label[0]]

    keyed = [(record.spot, number(label)) for record, label in zip(source, records, strict=True)]
    both: list[tuple[_Spot, Time]] = [
        (copy.spot, number(label)) for (copy, _is_changed), label in zip(copies, labels, strict=True)
    ]
    return ToldApart(None, keyed, both)


# What tells a record or a copy apart. No name: any of those that changed copies of this time stand for. No time: any.
_Label = tuple["Name | None", Time]
_SECOND: _Label = (None, None)  # as no record has, because records have times


def _changed_names(
    copies: t.Sequence[tuple[Named[_Spot], bool]], at_time: _NamesByTime
) -> tuple[dict[Time, t.Collection[Name]], collections.Counter[Time]]:
    """The names of the records of each time that its changed copies stand for, and how many of these are second ones.

    These are the records without a copy that has kept their name, if the others have theirs. Where changed copies stand for
    none, as they do where there are more of them, they stand for any record that lacks one, whatever its time.
    """
    kept = collections.Counter((copy.name, copy.time) for copy, is_changed in copies if not is_changed)
    changed = collections.Counter(copy.time for copy, is_changed in copies if is_changed)
    stands_for: dict[Time, t.Collection[Name]] = {}
    second = collections.Counter[Time]()
    for time, number in changed.items():
        names: t.Mapping[Name, int] = at_time.get(time, {})
        lacking = {name: max(0, records - kept[name, time]) for name, records in names.items()}
        without = [name for name in names if not kept[name, time]]
        are_told = not any(lacking[name] for name in names if kept[name, time])
        if are_told and (len(without) == len(names) or sum(lacking.values()) >= number):
            stands_for[time] = without
        elif len(names) == 1:
            stands_for[time] = names
        elif names:
            second[time] = number - sum(lacking.values())
    return stands_for, second


def _by_name_alone(
    records: t.Sequence[_Label], copies: t.Sequence[_Label | None], at_time: _NamesByTime
) -> tuple[list[_Label], list[_Label | None]]:
    """The same labels, but without times where, beside copies that may stand for any record, names alone tell.

    So do those of copies with no record's time, and of the records with such names that lack a copy with their time.
    """
    left = collections.Counter(copies)
    by_name = {label[0] for label in copies if label and label[1] not in at_time} - {None}
    labels: list[_Label] = []
    for label in reversed(records):  # the copies of one time are those of unconsumed records, as in Mixed
        left[label] -= 1
        labels.append((label[0], None) if label[0] in by_name and left[label] < 0 else label)
    return labels[::-1], [(label[0], None) if label and label[1] not in at_time else label for label in copies]


def _all_together(
    name: Name | None, source: t.Sequence[Named[_Spot]], copies: t.Sequence[Named[_Spot]]
) -> ToldApart[_Spot]:
    originals = [(record.spot, t.cast(int, record.time)) for record in source]
    return ToldApart(name, originals, [(copy.spot, copy.time) for copy in copies])


_NamesByTime = dict[Time, collections.Counter[Name]]


def _names_by_time(records: t.Iterable[Named[_Spot]]) -> _NamesByTime:
    names: _NamesByTime = collections.defaultdict(collections.Counter)
    for record in records:
        names[record.time][record.name] += 1
    return names


def _is_changed(copy: Named[_Spot], names: t.Collection[Name], at_time: _NamesByTime) -> bool:
    """Has this copy a name that no record has, or a time that only records with other names have?"""
    names_at_time = at_time.get(copy.time, ())
    return copy.name not in names or bool(names_at_time and copy.name not in names_at_time)


def _are_doubted(source: t.Sequence[Named[_Spot]], copies: t.Sequence[Named[_Spot]], at_time: _NamesByTime) -> bool:
    """May a copy have got the name of another record than its own?

    So it may if a name has more copies than records, and another one fewer: among those of one time, or where some have no
    record's time.
    """
    records = collections.Counter(record.name for record in source)
    if doubted(records, collections.Counter(copy.name for copy in copies)) and any(
        copy.name not in at_time.get(copy.time, ()) for copy in copies
    ):
        return True
    return any(doubted(at_time.get(time, {}), names) for time, names in _names_by_time(copies).items())


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


def put_together(parts: t.Sequence[Alike]) -> Alike:
    """The contents of all of these."""
    return Alike(
        [content for part in parts for content in part.contents],
        all(part.kept_times for part in parts),
        all(part.kept_headers for part in parts),
    )


def copies_of_aborted(
    aborted: t.Sequence[Record],
    known: t.Collection[Name],
    copies: t.Iterable[Record],
    timestamps: bool,
) -> dict[int, int]:
    """The offsets of copies that can only be those of aborted records, with the lowest offset at the source of each."""

    def key(record: Record) -> tuple[Name, Time]:
        return record.fingerprint, record.timestamp if timestamps and not record.log_append_time else None

    places: dict[tuple[Name, Time], int] = {}
    for record in aborted:
        if record.fingerprint not in known:
            places.setdefault((record.fingerprint, record.timestamp if timestamps else None), record.offset)
            places.setdefault((record.fingerprint, None), record.offset)
    return {copy.offset: places[key(copy)] for copy in copies if key(copy) in places} if places else {}
