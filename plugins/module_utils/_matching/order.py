# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""Equal records on both sides of the committed offset: which of their copies are consumed?

What is known of a copier is that it keeps the order of what it copies. So the destination's records before the cut
must be found, in order, among the source's before the committed offset, and those behind it among the others; records
may be missing. The cuts for which that is so form an interval. One cut left settles every record.
"""

from __future__ import annotations

import bisect
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.context import Context, Key, Side
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record


class Scanned(t.NamedTuple):
    """Destination records up to and with the first one that is surely unconsumed (index `first`, if it is there).

    at_start, at_end: the destination has nothing before them; nothing behind them.
    """

    keys: list[Key]
    sides: list[Side]
    first: int
    at_start: bool
    at_end: bool


class Order(t.NamedTuple):
    """Indexes of scanned records: everything before `cut` is consumed; settled: everything from it on is not."""

    cut: int
    settled: bool


def settle_order(scanned: Scanned, context: Context, key: t.Callable[[Record], Key]) -> Order:
    """Where the consumed copies end, for a scan that holds records of both sides before `first`."""
    keys, sides, first = scanned.keys, scanned.sides, scanned.first
    before = _Sequence([key(record) for record in context.sequence_before()])
    after = _Sequence([key(record) for record in context.sequence_after()])
    last = max((i for i in range(first) if sides[i] is Side.CONSUMED), default=-1)
    begin = _aligned_from(keys, sides, last, before)
    doubtful = [i for i in range(first) if sides[i] is Side.BOTH and (i < begin or i > last)]
    if doubtful and doubtful[0] < begin:
        return Order(doubtful[0], False)
    if not doubtful:
        return Order(first, True)
    bounded = last >= 0 and keys[last] in before.positions or last < 0 and context.from_start
    high = _longest_before(keys, sides, begin, first, before) if bounded else first
    low = _earliest_after(scanned, last + 1, after, complete=context.to_end)
    if low == high:
        return Order(low, True)
    if low > high:
        return Order(doubtful[0], False)
    whole = [cut for cut in range(low, high + 1) if _stands_whole(scanned, cut, context, key)]
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


def _stands_whole(scanned: Scanned, cut: int, context: Context, key: t.Callable[[Record], Key]) -> bool:
    """Do the source's records stand around this cut without a gap, as far as a record that is on one side only?

    With the aborted ones, or without them, as the copier may have been of either isolation level.
    """
    return any(
        _same_back(scanned, cut, [key(r) for r in context.sequence_before(aborted)], context.from_start)
        and _same_on(scanned, cut, [key(r) for r in context.sequence_after(aborted)], context.to_end)
        for aborted in ((False, True) if context.aborted else (False,))
    )


def _same_back(scanned: Scanned, cut: int, before: list[Key], from_start: bool) -> bool:
    index, place = cut - 1, len(before) - 1
    while index >= 0 and place >= 0:
        if scanned.keys[index] != before[place]:
            return False
        if scanned.sides[index] is Side.CONSUMED:
            return True
        index, place = index - 1, place - 1
    if index < 0:
        return scanned.at_start
    return from_start and scanned.sides[index] is not Side.BOTH


def _same_on(scanned: Scanned, cut: int, after: list[Key], to_end: bool) -> bool:
    index, place = cut, 0
    while index < len(scanned.keys) and place < len(after):
        if scanned.keys[index] != after[place]:
            return False
        if scanned.sides[index] is Side.UNCONSUMED:
            return True
        index, place = index + 1, place + 1
    if index >= len(scanned.keys):
        return scanned.at_end
    return to_end and scanned.sides[index] is not Side.BOTH
