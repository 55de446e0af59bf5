# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""The cut: the first unconsumed record at the destination, and the last consumed one before it."""

from __future__ import annotations

import dataclasses

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.context import Context, Known, Side
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.explain import check_matching, explain
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.order import Scanned, settle_order
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.reading import (
    BudgetSpent,
    LogReader,
    Reader,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record

MARGIN = 8  # offsets read below the first look-up, for the last consumed record
WINDOW = 24  # offsets read from there on at first
TAIL = 8  # offsets read at the ends of both logs

_GROWTH = 2
_RUN = 4  # times the context's length is how far the copies of equal records are looked for


@dataclasses.dataclass(frozen=True, slots=True)
class Cut:
    """What a scan of the destination found.

    unconsumed (L) and consumed (H) are indexes into records, which are all the visible ones of [low, high); sides go with
    them. settled: every record before L is consumed or foreign and every equal one from L on unconsumed.
    explained: nothing that lies before L is of unknown origin, from where the search had to begin.
    """

    records: list[Record]
    sides: list[Side]
    low: int
    high: int
    consumed: int | None
    unconsumed: int | None
    settled: bool = True
    explained: bool = True

    @property
    def last_consumed(self) -> Record | None:
        """H."""
        return None if self.consumed is None else self.records[self.consumed]

    @property
    def first_unconsumed(self) -> Record | None:
        """L."""
        return None if self.unconsumed is None else self.records[self.unconsumed]

    @property
    def between(self) -> list[Record]:
        """What lies between H and L, or before L, or behind H, as far as it was read."""
        begin = 0 if self.consumed is None else self.consumed + 1
        return self.records[begin : self.unconsumed]

    @property
    def repeated_nearby(self) -> bool:
        """Was a consumed record seen behind L?"""
        return self.unconsumed is not None and Side.CONSUMED in self.sides[self.unconsumed :]


def find_cut(reader: Reader, context: Context, known: Known) -> Cut:
    """Scan the destination from the first place where a record that matters can be, until L is known.

    Every record passed is explained. Raises NotRead, OtherMatching, and BudgetSpent with what is known to lose nothing.
    """
    destination = reader.destination
    caught_up = _caught_up(destination, context, known)
    if caught_up:
        return caught_up
    begin = _begin(destination, context, known)
    low = max(destination.start, begin - MARGIN)
    high = min(destination.end, begin + WINDOW)
    anchor = context.before[-1] if context.before else None
    while True:
        records = destination.records(low, high)
        check_matching(known, records)
        sides = known.sides(records)
        first = _first(sides)
        found = _index(records, known, anchor, first)
        passed = [r for r, s in zip(records[:first], sides, strict=False) if s is Side.UNKNOWN and r.offset >= begin]
        try:
            if first == len(records) and high < destination.end:
                wider = high + destination.within_budget(_GROWTH * (high - low))
                destination.want(high, wider)
                explain(reader.source, context, known, passed)
                high = min(destination.end, wider)
                continue
            if passed:
                explain(reader.source, context, known, passed)
                continue
        except BudgetSpent as spent:
            # What follows the last consumed record, found, cannot move the cut down to lose anything.
            if (
                found is None
                or Side.BOTH in sides[: found + 1]
                or (passed and passed[0].offset < records[found].offset)
            ):
                raise BudgetSpent(_lossless(records, known.sides(records), begin, high)) from spent
            return Cut(records, sides, low, high, found, None, explained=False)
        if context.before and _needs_consumed(reader, context, sides, first):
            unknown_before = [r for r, s in zip(records[:first], sides, strict=False) if s is Side.UNKNOWN]
            try:
                if unknown_before:
                    explain(reader.source, context, known, unknown_before[-1:])
                    continue
                if low > destination.start:
                    low = max(destination.start, low - destination.within_budget(_GROWTH * (high - low)))
                    continue
            except BudgetSpent as spent:
                raise BudgetSpent(_lossless(records, sides, begin, high)) from spent
        scanned = Scanned(
            [known.key(record) for record in records] if Side.BOTH in sides[:first] else [],
            sides,
            first,
            low <= destination.start,
            high >= destination.end,
        )
        far = low + _RUN * (context.high - context.low)
        if high < min(destination.end, far) and scanned.keys and scanned.lacks_copies(context, known.key):
            high = min(destination.end, _GROWTH * high - low)
            continue
        return _cut(context, known, Cut(records, sides, low, high, None, None), scanned)


def _caught_up(destination: LogReader, context: Context, known: Known) -> Cut | None:
    """The plainest case: nothing is left to consume, and the last record consumed is the destination's last."""
    if context.after or not context.before or not context.to_end:
        return None
    low = max(destination.start, destination.end - TAIL)
    tail = destination.records(low, destination.end)
    check_matching(known, tail)
    if tail and known.key(tail[-1]) == known.key(context.before[-1]):
        return Cut(tail, known.sides(tail), low, destination.end, len(tail) - 1, None)
    return None


def _begin(destination: LogReader, context: Context, known: Known) -> int:
    """No unconsumed record of the context, nor the last consumed one, is before this offset of the destination."""
    if not known.matching.timestamp:
        return destination.start
    needed = [*context.before[-1:], *context.sequence_after()]
    if not needed:
        return destination.end
    begin = destination.first_at(min(record.timestamp for record in needed))
    return destination.end if begin is None else max(begin, destination.start)


def _first(sides: list[Side]) -> int:
    try:
        return sides.index(Side.UNCONSUMED)
    except ValueError:
        return len(sides)


def _index(records: list[Record], known: Known, wanted: Record | None, limit: int) -> int | None:
    """Where the last copy of a source record before `limit` is."""
    if wanted is None:
        return None
    name = known.key(wanted)
    return next((i for i in range(limit - 1, -1, -1) if known.key(records[i]) == name), None)


def _needs_consumed(reader: Reader, context: Context, sides: list[Side], first: int) -> bool:
    """Must the scan go down for a consumed record?

    To tell equal ones apart, to name an offset when nothing unconsumed is there, and where the source may have lost
    records behind the committed offset, whose copies lie before L.
    """
    head = sides[:first]
    if Side.CONSUMED in head:
        return False
    return Side.BOTH in head or first == len(sides) or reader.source.facts.compacted


def _lossless(records: list[Record], sides: list[Side], begin: int, high: int) -> int:
    """Nothing before this offset is unconsumed, as far as it was read."""
    innocent = (Side.CONSUMED, Side.FOREIGN)
    offsets = (r.offset for r, side in zip(records, sides, strict=True) if side not in innocent and r.offset >= begin)
    return next(offsets, high)


def _cut(context: Context, known: Known, cut: Cut, scanned: Scanned) -> Cut:
    limit, settled = scanned.first, True
    if scanned.keys:
        limit, settled = settle_order(scanned, context, known.key)
    consumed = next((i for i in range(limit - 1, -1, -1) if cut.sides[i] & Side.CONSUMED), None)
    unconsumed = next((i for i in range(limit, len(cut.records)) if cut.sides[i] & Side.UNCONSUMED), None)
    return dataclasses.replace(cut, consumed=consumed, unconsumed=unconsumed, settled=settled)
