# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""Equal records on both sides of the committed offset: which of their copies are consumed?

What is known of a copier is that it keeps the order of what it copies. So the destination's records before the cut
must be found, in order, among the source's before the committed offset, and those behind it among the others; records
may be missing. The cuts for which that is so form an interval. One cut left settles every record, as long as the
destination has as many of each equal record as the source: else nobody can tell which is missing, or there again.
"""

from __future__ import annotations

import bisect
import collections
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.context import Context, Key, Side
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record


class Scanned(t.NamedTuple):
    """Destination records; the first one that is surely unconsumed has the index `first`, their number if it is not there.

    times: the timestamps of those before `first` that stand on both sides; as equal records share them.
    at_start, at_end: the destination has nothing before them; nothing behind them.
    """

    keys: list[Key]
    sides: list[Side]
    first: int
    times: set[int]
    at_start: bool
    at_end: bool

    def counts(self, context: Context, key: t.Callable[[Record], Key]) -> list[tuple[int, int, int]]:
        """Of each record of both sides before `first`: how many are here, at the source, and among its aborted ones."""
        doubtful = {k for k, side in zip(self.keys[: self.first], self.sides, strict=False) if side is Side.BOTH}
        here = collections.Counter(k for k in self.keys if k in doubtful)
        visible = collections.Counter(k for r in (*context.before, *context.after) if (k := key(r)) in doubtful)
        aborted = collections.Counter(k for r in context.aborted if (k := key(r)) in doubtful)
        return [(here[k], visible[k], aborted[k]) for k in doubtful]

    def has_aborted(self, context: Context, key: t.Callable[[Record], Key]) -> bool:
        """Is a record here that can only be a copy of an aborted one?"""
        visible = {key(record) for record in (*context.before, *context.after)}
        return any(k in self.keys for record in context.aborted if (k := key(record)) not in visible)

    def lacks_copies(self, context: Context, key: t.Callable[[Record], Key]) -> bool:
        """Are there fewer than at the source?"""
        return any(here < visible for here, visible, _unused in self.counts(context, key))


class Order(t.NamedTuple):
    """Indexes of scanned records: everything before `cut` is consumed; settled: everything from it on is not."""

    cut: int
    settled: bool


def settle_order(scanned: Scanned, context: Context, key: t.Callable[[Record], Key]) -> Order:
    """Where the consumed copies end, for a scan that holds records of both sides before `first`.

    The copier may have seen the source's aborted records or not: one of them tells, without an equal that is visible.
    """
    earliest = Order(scanned.sides.index(Side.BOTH), False)
    if context.cuts_off(scanned.times):
        return earliest
    counts = scanned.counts(context, key)
    if all(here == visible for here, visible, _unused in counts):
        return _settle(scanned, context, key, False) or earliest
    if scanned.has_aborted(context, key) and all(here == visible + aborted for here, visible, aborted in counts):
        return _settle(scanned, context, key, True) or earliest
    return earliest


def _settle(scanned: Scanned, context: Context, key: t.Callable[[Record], Key], aborted: bool) -> Order | None:
    keys, sides, first = scanned.keys, scanned.sides, scanned.first
    before = _Sequence([key(record) for record in context.sequence_before(aborted)])
    after = _Sequence([key(record) for record in context.sequence_after(aborted)])
    last = max((i for i in range(first) if sides[i] is Side.CONSUMED), default=-1)
    begin = _aligned_from(keys, sides, last, before)
    unaligned = [i for i in range(first) if sides[i] is Side.BOTH and (i < begin or i > last)]
    if not unaligned:
        return Order(first, True)
    if unaligned[0] < begin:
        return None
    bounded = last >= 0 and keys[last] in before.positions or last < 0 and context.from_start
    high = _longest_before(keys, sides, begin, first, before) if bounded else first
    low = _earliest_after(scanned, last + 1, after, complete=context.to_end)
    if low == high:
        return Order(low, True)
    if low > high:
        return None
    whole = [
        cut
        for cut in range(low, high + 1)
        if _same_back(scanned, cut, before.keys, context.from_start)
        and _same_on(scanned, cut, after.keys, context.to_end)
    ]
    return Order(whole[0], True) if len(whole) == 1 else Order(low, False)


class _Sequence:
    """Keys in source order, and where each stands."""

    def __init__(self, keys: list[Key]) -> None:
        self.keys = keys
        self.positions: dict[Key, list[int]] = {}
        for index, name in enumerate(keys):
            self.positions.setdefault(name, []).append(index)

    def last_before(self, name: Key, limit: int) -> int | None:
        places = self.positions.get(name, [])
        index = bisect.bisect_left(places, limit)
        return places[index - 1] if index else None

    def first_from(self, name: Key, limit: int) -> int | None:
        places = self.positions.get(name, [])
        index = bisect.bisect_left(places, limit)
        return places[index] if index < len(places) else None


_COUNTED = (Side.CONSUMED, Side.UNCONSUMED, Side.BOTH)


def _aligned_from(keys: list[Key], sides: list[Side], last: int, before: _Sequence) -> int:
    """The first index from which on the records up to `last`, which is surely consumed, follow the source's order."""
    limit = len(before.keys)
    begin = last + 1 if last >= 0 else 0
    for index in range(last, -1, -1):
        if sides[index] in _COUNTED:
            place = before.last_before(keys[index], limit)
            if place is None:
                break
            limit = place
            begin = index
    return begin


def _longest_before(keys: list[Key], sides: list[Side], begin: int, first: int, before: _Sequence) -> int:
    """The last cut that leaves only records before it that follow the order of the consumed ones."""
    limit = 0
    for index in range(begin, first):
        if sides[index] in _COUNTED:
            place = before.first_from(keys[index], limit)
            if place is None:
                return index
            limit = place + 1
    return first


def _earliest_after(scanned: Scanned, begin: int, after: _Sequence, *, complete: bool) -> int:
    """The first cut (from `begin` on) behind which all records follow the order of the unconsumed ones."""
    limit = len(after.keys)
    seen = scanned.first < len(scanned.keys) and scanned.keys[scanned.first] in after.positions
    if seen:
        limit = after.positions[scanned.keys[scanned.first]][-1]
    elif not complete:
        return begin
    cut = scanned.first
    for index in range(scanned.first - 1, begin - 1, -1):
        if scanned.sides[index] in _COUNTED:
            place = after.last_before(scanned.keys[index], limit)
            if place is None:
                break
            limit = place
            cut = index
    return cut


def _same_back(scanned: Scanned, cut: int, before: list[Key], from_start: bool) -> bool:
    """Do the consumed records stand before this cut without a gap, as far as one that is on this side only?"""
    index, place = cut - 1, len(before) - 1
    while index >= 0 and place >= 0:
        if scanned.keys[index] != before[place]:
            return False
        if scanned.sides[index] is Side.CONSUMED:
            return True
        index, place = index - 1, place - 1
    if place >= 0 or not from_start:
        return False  # a part of a run says nothing of how many are missing
    return scanned.at_start if index < 0 else scanned.sides[index] is not Side.BOTH


def _same_on(scanned: Scanned, cut: int, after: list[Key], to_end: bool) -> bool:
    """Do the unconsumed records stand behind this cut without a gap, as far as one that is on this side only?"""
    index, place = cut, 0
    while index < len(scanned.keys) and place < len(after):
        if scanned.keys[index] != after[place]:
            return False
        if scanned.sides[index] is Side.UNCONSUMED:
            return True
        index, place = index + 1, place + 1
    if place < len(after) or not to_end:
        return False
    return scanned.at_end if index >= len(scanned.keys) else scanned.sides[index] is not Side.BOTH
