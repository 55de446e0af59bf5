# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""Where between the last consumed and the first unconsumed record at the destination the group must stand."""

from __future__ import annotations

import typing as t

from .._model.match_on import Key, Matching
from .._model.records import Record
from .log_reader import BudgetSpent, LogReader, Measure, Reader

_GLANCE = 8  # offsets, and records


class OffsetBetween(t.NamedTuple):
    """An offset of the destination that skips nothing unconsumed; proved: also nothing that the source has lost."""

    offset: int
    proved: bool


class Back(t.NamedTuple):
    """How far an offset was counted back: to which offset, how many different lost records that is, and how many records.

    records: None where equal records that the source still has may be among them. is_sure: were earlier copies of these looked
    for as far back as they may be?
    """

    offset: int
    found: int
    records: int | None
    is_sure: bool = True


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

    @classmethod
    def of(cls, records: t.Collection[Record], first: Record | None) -> t.Self:
        """first: L, or None where it is not there or times do not tell."""
        return cls(bool(records), first is not None and any(record.timestamp > first.timestamp for record in records))


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
            reach = destination.budget
            back = count_back(reader, matching, first.record.offset, first.record, lost, reach, whole=reader.fits)
            return OffsetBetween(back.offset, False)
        return OffsetBetween(first.record.offset, True)
    if not between.any or not _may_have_lost(source, last.source_offset + 1, committed):
        return OffsetBetween(last.record.offset + 1, True)
    if not between.younger and not _may_have_lost(source, committed, first.source_offset):
        return OffsetBetween(first.record.offset, True)
    return OffsetBetween(last.record.offset + 1, False)


def count_back(
    reader: Reader, matching: Matching, begin: int, first: Record | None, lost: int, reach: int, *, whole: bool
) -> Back:
    """From where on the destination has the last `lost` records before `begin` that the source has lost; or the log's start.

    `begin` itself where none is lost. first: the first unconsumed record that is there; what is younger does not count. A tool
    that begins again, and may be interrupted, copies the same records once more. So their first copies tell which ones are
    the last, and the offset is the largest from which on each of them occurs. Times tell records apart only where `first` shows
    that copies have kept theirs. Elsewhere, a later copy may be that of an equal record, and the offset is that of the
    earliest first copy. whole: whether both logs may be read, so that no copy counts of what the source still has; else no such
    copy is before `begin`, and earlier copies of what counts are looked for up to `reach` offsets back: by time, or everywhere
    where times do not tell. Raises NotRead, and BudgetSpent where earlier copies are, or without `first` may be, further back.
    """
    if lost <= 0:
        return Back(begin, 0, 0)
    source, destination, measure = reader.source, reader.destination, Measure()
    latest = first.timestamp if first is not None and matching.timestamp else None

    def counts(record: Record) -> bool:
        return latest is None or record.timestamp <= latest

    key = Matching(latest is not None, False).key
    farthest = destination.start if whole else max(destination.start, begin - reach)
    width, left = begin - farthest if latest is None or whole else lost, set[Key]()
    if first is None and farthest > destination.start:
        raise BudgetSpent
    if whole:
        left = {key(record) for part in source.with_aborted(source.start, source.end) for record in part}
    while True:
        low = max(destination.start, begin - width)
        measure.shrink(low - destination.start)
        records = destination.records(low, begin)
        copies = {key(record): record for record in records}  # in the order of the first copies, with the last ones
        if latest is None:
            copies |= {key(record): record for record in reversed(records)}  # with the first ones
        gone = [record for name, record in copies.items() if name not in left]
        # What is younger does not count, but may be unconsumed: it is not skipped.
        places = [at for at, record in enumerate(gone) if counts(record)]
        if len(places) < lost and low > destination.start:
            width = begin - low + destination.within_budget(2 * width)
            continue
        if len(places) < lost:
            is_clear = left.isdisjoint(map(key, records))  # younger ones may be lost ones, too
            return Back(destination.start, len(places), len(records) if is_clear else None)
        offset = min(record.offset for record in gone[places[-lost] :])
        counted = [record for record in records if record.offset >= offset and counts(record)]
        if low == destination.start:
            return Back(offset, lost, len(counted))
        earliest = None if latest is None else destination.first_at(min(record.timestamp for record in counted))
        if earliest is None or earliest >= low:
            return Back(offset, lost, len(counted), is_sure=latest is not None)
        if earliest < farthest:
            if _copied_before(destination, min(low, farthest), earliest, counted, key):
                raise BudgetSpent
            if low <= farthest:
                return Back(offset, lost, len(counted), is_sure=False)
        # At least twice as far, because second copies lead from one to the next.
        width = min(max(begin - earliest, 2 * (begin - low)), begin - farthest)


def _copied_before(
    log: LogReader, end: int, earliest: int, records: t.Sequence[Record], key: t.Callable[[Record], Key]
) -> bool:
    """Is any of these records at a place before this offset to which the times of some of them lead? Raises NotRead."""
    some = records[:: len(records) // _GLANCE + 1]  # one late event does not hide where the others were copied first
    log.want_times(record.timestamp for record in some)
    places = {earliest, *(log.first_at(record.timestamp) for record in some)}
    before = [place for place in places if place is not None and place < end]
    for place in before:
        log.want(place, min(end, place + _GLANCE))
    names = set(map(key, records))
    return any(key(record) in names for place in before for record in log.records(place, min(end, place + _GLANCE)))


def _may_have_lost(source: LogReader, start: int, end: int) -> bool:
    """May compaction have taken a record of [start, end)? A gap cannot be told from a marker."""
    if not source.facts.compacted or start >= end:
        return False
    if end - start > source.budget:
        return True
    return sum(len(records) for records in source.with_aborted(start, end)) < end - start
