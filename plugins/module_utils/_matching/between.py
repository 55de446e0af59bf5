# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""Where between the last consumed and the first unconsumed record at the destination the group must stand."""

from __future__ import annotations

import typing as t

from .._model.match_on import Matching
from .._model.records import Record
from .log_reader import LogReader, Measure, Reader


class OffsetBetween(t.NamedTuple):
    """An offset of the destination that skips nothing unconsumed; proved: also nothing that the source has lost."""

    offset: int
    proved: bool


class Back(t.NamedTuple):
    """How far an offset was counted back: to which offset, and how many different records, and records, are from there on."""

    offset: int
    found: int
    records: int


class Located(t.NamedTuple):
    """A destination record, and the source offset of its original.

    The lowest that it may be for a consumed one, else the highest.
    """

    record: Record
    source_offset: int


class Between(t.NamedTuple):
    """What lies between H and L, before L where there is no H, after H where there is no L: anything; any younger than L."""

    any: bool
    younger: bool


def offset_between(
    reader: Reader, matching: Matching, last: Located | None, first: Located | None, between: Between
) -> OffsetBetween:
    """Choose within (H, L], of which at least one is there. Raises NotRead, BudgetSpent.

    What lies between is not at the source: either it never was, or the source has lost it. Only compaction loses records
    above the log's start; elsewhere, gaps between offsets are markers and aborted data.
    """
    source, destination, committed = reader.source, reader.destination, reader.committed
    if first is None:
        if last is None:
            return OffsetBetween(destination.start, True)
        is_proved = not between.any or not _may_have_lost(source, last.source_offset + 1, committed)
        return OffsetBetween(last.record.offset + 1, is_proved)
    if last is None:
        if between.any and _may_have_lost(source, committed, first.source_offset):
            lost = first.source_offset - committed
            return OffsetBetween(
                count_back(destination, matching, first.record.offset, first.record, lost).offset, False
            )
        return OffsetBetween(first.record.offset, True)
    if not between.any or not _may_have_lost(source, last.source_offset + 1, committed):
        return OffsetBetween(last.record.offset + 1, True)
    if not between.younger and not _may_have_lost(source, committed, first.source_offset):
        return OffsetBetween(first.record.offset, True)
    return OffsetBetween(last.record.offset + 1, False)


def count_back(destination: LogReader, matching: Matching, begin: int, first: Record | None, lost: int) -> Back:
    """The offset of the lost-th distinct record before `begin`, of those not younger than `first`; or the log's start.

    `begin` itself where none is lost. Raises NotRead, BudgetSpent.
    """
    if lost <= 0:
        return Back(begin, 0, 0)
    width, measure = lost, Measure()
    while True:
        low = max(destination.start, begin - width)
        measure.shrink(low - destination.start)
        distinct, records = set(), 0
        for record in reversed(destination.records(low, begin)):
            if first is not None and matching.timestamp and record.timestamp > first.timestamp:
                continue
            distinct.add(matching.key(record))
            records += 1
            if len(distinct) == lost:
                return Back(record.offset, lost, records)
        if low <= destination.start:
            return Back(destination.start, len(distinct), records)
        width = begin - low + destination.within_budget(2 * width)


def _may_have_lost(source: LogReader, start: int, end: int) -> bool:
    """May compaction have taken a record of [start, end)? A gap cannot be told from a marker."""
    if not source.facts.compacted or start >= end:
        return False
    if end - start > source.budget:
        return True
    return sum(len(records) for records in source.with_aborted(start, end)) < end - start
