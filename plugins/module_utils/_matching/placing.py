# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""Where between the last consumed and the first unconsumed record at the destination the group must stand."""

from __future__ import annotations

import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.context import Context, Known, Matching
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.reading import LogReader
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.search import Cut
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record

_MOST_READ = 4096  # offsets of a compacted source that are read to see whether one is missing


class Place(t.NamedTuple):
    """An offset of the destination that leaves nothing unconsumed behind; proved: also nothing that the source has lost."""

    offset: int
    proved: bool


def place(source: LogReader, destination: LogReader, context: Context, known: Known, cut: Cut) -> Place:
    """Choose within (H, L] for a cut with at least one of the two. Raises NotRead.

    What lies between is not at the source: either it never was, or the source has lost it. Only compaction loses records
    above the log's start; elsewhere, gaps between offsets are markers and aborted data.
    """
    last, first, between = cut.last_consumed, cut.first_unconsumed, cut.between
    if first is None:
        return Place(destination.start if last is None else last.offset + 1, True)
    if last is None:
        lost = context.committed, known.unconsumed_at(first)
        if between and _may_have_lost(source, *lost):
            return Place(count_back(destination, known.matching, first.offset, first, lost[1] - lost[0]), False)
        return Place(first.offset, True)
    if not between or not _may_have_lost(source, known.consumed_at(last) + 1, context.committed):
        return Place(last.offset + 1, True)
    younger = known.matching.timestamp and any(record.timestamp > first.timestamp for record in between)
    if not younger and not _may_have_lost(source, context.committed, known.unconsumed_at(first)):
        return Place(first.offset, True)
    return Place(last.offset + 1, False)


def count_back(destination: LogReader, matching: Matching, begin: int, first: Record | None, lost: int) -> int:
    """The offset of the lost-th distinct record before `begin`, of those not younger than `first`; or the log's start.

    Raises NotRead, BudgetSpent.
    """
    low, width = begin, lost
    while True:
        low = max(destination.start, begin - width)
        distinct = set()
        for record in reversed(destination.records(low, begin)):
            if first is not None and matching.timestamp and record.timestamp > first.timestamp:
                continue
            distinct.add(matching.key(record))
            if len(distinct) == lost:
                return record.offset
        if low <= destination.start:
            return destination.start
        width = begin - low + destination.within_budget(2 * width)


def _may_have_lost(source: LogReader, start: int, end: int) -> bool:
    """May compaction have taken a record of [start, end)? A gap cannot be told from a marker."""
    if not source.facts.compacted or start >= end:
        return False
    if end - start > _MOST_READ:
        return True
    return sum(len(records) for records in source.with_aborted(start, end)) < end - start
