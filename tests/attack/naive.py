# SPDX-License-Identifier: GPL-3.0-or-later

"""The definition of what is promised, deliberately naive: it tries every history that two small logs may have.

A history gives each copy the record that it is a copy of, or none. A copy with the time of an equal record is one of that
record. A copy with another time may be one of any equal record that has no copy with its own time. As many records have a copy
as these two sentences allow: a destination-only record that equals a record without a copy counts as its copy. Copies that
are left over are second copies, or nobody's.

Where the source has lost records, a copy with another time, or with none, may as well be one of these, which may have been
equal to any, and some copies are surely such: see of_lost_records().

A consumer cannot tell equal records of one time apart, nor equal records whose copies have other times. So reading a copy of
one of them is as good as reading a copy of the other.
"""

from __future__ import annotations

import collections
import functools
import itertools
import typing as t

History = tuple["int | None", ...]  # for each copy the number of its record


class Thing(t.NamedTuple):
    """A record or a copy: what a consumer sees of it."""

    content: str
    time: int | None  # None where the broker has stamped it


class _Record(t.NamedTuple):
    """A record of one content. passes: if the tool has copied it, it has come as far as the group."""

    time: int | None
    consumed: bool
    passes: bool


class _Effect(t.NamedTuple):
    """What a history means for a consumer, by the number of copies of this content that it does not read."""

    skipped: tuple[int, ...]
    repeated: tuple[int, ...]
    at_most: tuple[int, ...]  # repeated if the copies that are left over are second ones of consumed records
    consumed: frozenset[int]  # the copies of consumed records
    missing: int  # consumed records without a copy
    lags: bool  # no copy says that the tool has come as far as the group


class Logs:
    """Two logs. consumed: how many source records the group has consumed. lost: the source has lost its first records."""

    def __init__(self, source: t.Sequence[Thing], copies: t.Sequence[Thing], consumed: int, lost: bool = False) -> None:
        nobodys = set(of_lost_records(source, copies)) if lost else set[int]()
        if lost:
            copies = [copy._replace(time=None) if (copy.time or 0) < 0 else copy for copy in copies]
        records, found = collections.defaultdict(list), collections.defaultdict(list)
        for at, record in enumerate(source):
            records[record.content].append(_Record(record.time, at < consumed, at >= consumed - 1))
        for at, copy in enumerate(copies):
            if copy.content in records and at not in nobodys:
                found[copy.content].append((at, copy.time))
        places = {content: [at for at, _time in found[content]] for content in records}
        all_effects = [
            (places[content], effects(tuple(its), tuple(time for _at, time in found[content]), lost))
            for content, its in records.items()
        ]
        self._consumed = sorted({its[at] for its, found in all_effects for each in found for at in each.consumed})
        self._at = list(_walk(all_effects, len(copies), nothing_consumed=not consumed))

    def skips(self, offset: int) -> bool:
        """Is there a history in which a group that starts here misses an unconsumed record?"""
        return self._at[offset].skips > 0

    def repeats(self, offset: int) -> int:
        """How many copies of consumed records it reads again in the worst history, with those that are still to come."""
        return max(self._at[offset].repeats, self.repeats_if_it_lags(offset))

    def repeats_if_it_lags(self, offset: int) -> int:
        """The same for histories in which the tool has not come as far as the group; -1 if there are none."""
        its = self._at[offset]
        return -1 if its.never_lags else its.repeats_if_it_lags

    @functools.cached_property
    def best(self) -> tuple[int, int]:
        """(repeats, offset) of the result; its repeats are those of the worst history in which second copies are left over."""
        last = max(at for at in range(len(self._at)) if not self.skips(at))
        at = max((place + 1 for place in self._consumed if place < last), default=last)
        return max(self._at[at].at_most, self.repeats(at)), at


class _Worst(t.NamedTuple):
    """The worst of all histories, for a group that starts at an offset; of one content, or the sum of all.

    skips, never_lags: of how many contents a history skips a record, or none lets the tool lag.
    """

    skips: int
    repeats: int
    at_most: int
    repeats_if_it_lags: int
    never_lags: int


def _walk(
    contents: t.Iterable[tuple[t.Sequence[int], t.Collection[_Effect]]], size: int, nothing_consumed: bool
) -> t.Iterator[_Worst]:
    """The worst for each offset. contents: the places of the copies of each, and what its histories mean."""
    changes = [[0] * len(_Worst._fields) for _unused in range(size + 1)]
    changes[0][-1] = nothing_consumed
    for places, its in contents:
        before = [0] * len(_Worst._fields)
        for unread, first in enumerate([0, *(place + 1 for place in places)]):
            worst = _worst(its, unread)
            for at, (new, old) in enumerate(zip(worst, before, strict=True)):
                changes[first][at] += new - old
            before = list(worst)
    return itertools.starmap(
        _Worst, itertools.accumulate(changes, lambda a, b: [x + y for x, y in zip(a, b, strict=True)])
    )


def _worst(its: t.Collection[_Effect], unread: int) -> _Worst:
    lagging = [each.repeated[unread] + each.missing for each in its if each.lags]
    return _Worst(
        any(each.skipped[unread] for each in its),
        max(each.repeated[unread] for each in its),
        max(each.at_most[unread] for each in its),
        max(lagging, default=0),
        not lagging,
    )


def of_lost_records(source: t.Sequence[Thing], copies: t.Sequence[Thing]) -> t.Iterator[int]:
    """The copies that are surely those of records which the source has lost."""
    own = {at for at, record in enumerate(source) if source[:at].count(record) < copies.count(record)}
    others = {copy.content for copy in copies if copy not in source}
    if any(at not in own and source[at].content in others for at in range(max(own, default=0))):
        return
    last = max((at for at, copy in enumerate(copies) if copy in source), default=0)
    for at, copy in enumerate(copies[:last]):
        lacking = [record for place, record in enumerate(source) if record.content == copy.content and place not in own]
        if copy not in source and copy.time is not None and all(copy < record for record in lacking):
            yield at


@functools.cache
def effects(records: tuple[_Record, ...], copies: tuple[int | None, ...], lost: bool) -> frozenset[_Effect]:
    """What each history of one content means. lost: some copies may be those of lost records."""
    every = list(_histories(records, copies))
    most = max(len({*its} - {None}) for its in every)
    likely = (its for its in every if len({*its} - {None}) + its.count(None) * lost >= most)
    found = frozenset(_effect(records, copies, its) for its in likely)
    times = collections.Counter(record.time for record in records)
    more = any(copies.count(time) > number for time, number in times.items())
    if more and any(copies.count(time) < number for time, number in times.items()):
        found |= effects(tuple(record._replace(time=0) for record in records), (0,) * len(copies), lost)
    return found


def _histories(records: t.Sequence[_Record], copies: t.Sequence[int | None]) -> t.Iterator[History]:
    own = [[at for at, record in enumerate(records) if record.time == time] for time in copies]
    any_or_none: list[int | None] = [*range(len(records)), None]
    for history in itertools.product(*(its or any_or_none for its in own)):
        kept = {at for at, its in zip(history, own, strict=True) if its}
        covered = all(len(kept & {*its}) == min(len(its), own.count(its)) for its in own if its)
        if covered and all(its or at not in kept for at, its in zip(history, own, strict=True)):
            yield history


def _effect(records: t.Sequence[_Record], copies: t.Sequence[int | None], history: History) -> _Effect:
    kept = {at for at, time in zip(history, copies, strict=True) if at is not None and records[at].time == time}
    owed = {at for at in history if at is not None and not records[at].consumed}
    again = {at for at in range(len(copies)) if (its := history[at]) is not None and records[its].consumed}
    perhaps = again | {at for at, its in enumerate(history) if its is None and any(each.consumed for each in records)}

    def missed(read: t.Iterable[int]) -> int:
        """How many of the owed records have none of these copies, nor one that could be theirs."""
        return len(owed) - _most_pairs([{copy for copy in read if may_be(copy, record)} for record in owed])

    def may_be(copy: int, record: int) -> bool:
        its = history[copy]
        return record not in kept if its is None else kept.isdisjoint((its, record)) or same(its, record)

    def same(one: int, other: int) -> bool:
        return records[one].time == records[other].time

    def repeats(read: set[int], those: set[int]) -> int:
        return len(read & those) - (missed(read - those) - missed(read))

    reads = [set(range(first, len(copies))) for first in range(len(copies) + 1)]
    missing = sum(record.consumed and at not in history for at, record in enumerate(records))
    lags = not any(records[at].passes for at in history if at is not None)
    return _Effect(
        tuple(map(missed, reads)),
        tuple(repeats(read, again) for read in reads),
        tuple(repeats(read, perhaps) for read in reads),
        frozenset(again),
        missing,
        lags,
    )


def _most_pairs(wishes: t.Sequence[set[int]]) -> int:
    """How many can get one of what they wish for, each another one."""
    if not wishes:
        return 0
    rest = wishes[1:]
    return max(_most_pairs(rest), *(1 + _most_pairs([its - {wish} for its in rest]) for wish in wishes[0]), 0)
