# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""Unconsumed records that the destination has not, although a later one has arrived there.

They do not change the offset, because no offset brings them; but whoever starts the group has to know of them. The near way
looks for them where it has read; where no time leads from a start of the log, both logs are counted.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import typing as t

from .._model.match_on import Key, Matching
from .._model.records import Record
from .._model.verdicts import Absent, Reason
from . import rows, whole
from .certificates import FromTheEnd, NothingConsumed
from .evidence import Decision
from .log_reader import Doubt, LogReader, Measure, Reader

NEAR = 512  # offsets from the two places on in which a record that seems to be missing is looked for
FIRST = 8  # offsets that mostly say that nothing is missing
_KEPT = Matching(timestamp=True, headers=False)  # of a tool that keeps times

_NOT_KNOWN = (
    "; whether unconsumed records are absent is not known: timestamps do not lead to their copies, and a log is longer than "
    "search_limit"
)


def with_absent(reader: Reader, decision: Decision) -> Decision:
    """The decision, with the absent records that few readings show, or a count. Raises NotRead, BudgetSpent.

    A compacted log lacks older records of its keys as it should: there, none counts.
    """
    source, destination = reader.source, reader.destination
    if decision.absent or destination.facts.compacted:
        return decision
    if decision.offset is None or not destination.length or _begin(reader) >= source.end:
        return decision
    try:
        absent = _by_few(reader, decision, decision.offset)
    except Doubt:
        if not reader.fits:
            return dataclasses.replace(decision, detail=decision.detail + _NOT_KNOWN)
        absent = whole.absent_of(reader, whole.count_logs(reader))
    return whole.noting_absent(reader, decision, absent)


def _by_few(reader: Reader, decision: Decision, offset: int) -> Absent | None:
    """What few readings show. Raises Doubt where they show nothing."""
    if isinstance(decision.certificate, NothingConsumed):
        return _at_the_start(reader)
    if isinstance(decision.certificate, FromTheEnd):
        return _after_the_offset(reader, offset, _matching(decision)) if decision.certificate.missing else None
    if decision.after is not None:
        # Where records have expired, many that are consumed may be between the offset and the first one that is left.
        around = decision.after.destination if decision.reason is Reason.EXPIRED else offset
        return _before(reader, offset, around, decision.after.source, _matching(decision))
    if decision.reason is Reason.EXPIRED:
        with contextlib.suppress(Doubt):  # hardly anything is there: no copy of an unconsumed record is known
            return _by_times(reader, offset)
    return None


def _begin(reader: Reader) -> int:
    """Where the unconsumed records begin that the source still has."""
    return max(reader.committed, reader.source.start)


def _matching(decision: Decision) -> Matching:
    return Matching("timestamp" in decision.matched_by, "headers" in decision.matched_by)


def _after_the_offset(reader: Reader, offset: int, matching: Matching) -> Absent | None:
    """Of all that is unconsumed, where it was read, and the destination from the offset on."""
    unconsumed = reader.source.records(reader.committed, reader.source.end)
    copies = reader.destination.records(offset, reader.destination.end)
    lacking = missing(unconsumed, copies, matching.key)
    keys = {matching.key(record) for record in lacking}
    arrived = [record.offset for record in unconsumed if matching.key(record) not in keys]
    return _absent(lacking, arrived[-1] if arrived else -1, exactly=True)


def _before(reader: Reader, offset: int, around: int, arrived: int, matching: Matching) -> Absent | None:
    """Of the records before the one of this source offset, which has arrived: those that are not at the destination.

    around: where they are looked for, from the offset on.
    """
    source, begin = reader.source, _begin(reader)
    # What is next to the committed offset has been read already, and says in nearly all cases that nothing is missing.
    first = _first(source, begin, arrived + 1)
    if not first or first[0].offset == arrived:
        return None
    begin, near = first[0].offset, min(NEAR, source.budget)
    if around - near > offset and arrived - begin > near // 2 and not reader.fits:
        return None  # nobody knows how far before it they are
    source.want(begin, min(begin + near, arrived))
    destination = reader.destination
    copies = destination.records(max(offset, around - near), around + near)
    records = source.records(begin, min(begin + near, arrived))
    lacking = missing(records, copies, matching.key)
    if lacking and reader.fits and (destination.end - offset > source.end - arrived or _lags(reader)):
        # There is room for copies of them elsewhere, such as those of a tool that was started anew.
        lacking = missing(records, destination.records(offset, destination.end), matching.key)
    return _absent(lacking, arrived, exactly=False)


def _lags(reader: Reader) -> bool:
    """Has the destination none of the source's last records at its end?"""
    copies = {record.bare for record in rows.tail(reader.destination)}
    return copies.isdisjoint(record.bare for record in rows.tail(reader.source))


def _at_the_start(reader: Reader) -> Absent | None:
    """Of the records of a log of which nothing was ever consumed."""
    source, destination = reader.source, reader.destination
    if whole.are_small(reader):
        return whole.absent_of(reader, whole.count_logs(reader))
    source.want(source.start, source.start + FIRST)
    copies, first = _first(destination, destination.start, destination.end), _first(source, source.start, source.end)
    if first and first[0].bare in {record.bare for record in copies}:
        return None
    return _by_times(reader, destination.start)


def _first(log: LogReader, begin: int, end: int) -> list[Record]:
    """The first visible records of [begin, end), of more offsets where only markers, aborted data or gaps come first.

    None where as many offsets as may be read show none.
    """
    width, end, measure = FIRST, min(end, begin + log.budget), Measure()
    while not (records := log.records(begin, min(begin + width, end))) and begin + width < end:
        measure.shrink(end - begin - width)
        width = max(NEAR, 2 * width)
    return records


def _by_times(reader: Reader, offset: int) -> Absent | None:
    """Of the first records that the source still has: what stands at the destination where their time leads has arrived.

    Raises Doubt where no time leads to a record and its copy.
    """
    source, destination, begin = reader.source, reader.destination, _begin(reader)
    first, last = _first(source, begin, source.end), rows.tail(destination)
    if not last or (not first and source.end <= begin + source.budget):  # nothing has arrived, or there is nothing
        return None
    if not first or first[0].timestamp < 0 or last[-1].timestamp < 0 or last[-1].log_append_time:
        raise Doubt
    place = destination.first_at(first[0].timestamp)
    original = _first_arrived(reader, first[0].offset) if place is None else _original(reader, place)
    return None if original is None else _before(reader, offset, offset, original.offset, _KEPT)


def _original(reader: Reader, place: int) -> Record:
    """The source's record of the copy at this place. Raises Doubt where its time does not lead to it."""
    copies = reader.destination.records(place, place + FIRST)
    source_offset = reader.source.first_at(copies[0].timestamp) if copies else None
    if source_offset is not None:
        for record in reader.source.records(source_offset, source_offset + FIRST):
            if _KEPT.key(record) == _KEPT.key(copies[0]):
                return record
    raise Doubt


def _first_arrived(reader: Reader, begin: int) -> Record | None:
    """Of the records from this offset on, of which the first is younger than all of the destination, one that has arrived.

    The clock of the first one's producer may be ahead. None where nothing has arrived: the tool lags.
    """
    records = reader.source.records(begin, begin + min(NEAR, reader.source.budget))
    place = reader.destination.first_at(min(record.timestamp for record in records))
    copies = [] if place is None else reader.destination.records(place, place + FIRST)
    keys = {_KEPT.key(copy) for copy in copies}
    return next((record for record in records if _KEPT.key(record) in keys), None)


def _absent(lacking: t.Sequence[Record], arrived: int, *, exactly: bool) -> Absent | None:
    """Those of them that are before the last record that has arrived."""
    absent = [record.offset for record in lacking if record.offset < arrived]
    return Absent(len(absent), absent[0], exactly) if absent else None


def missing(records: t.Iterable[Record], copies: t.Iterable[Record], key: t.Callable[[Record], Key]) -> list[Record]:
    """The records without a copy; of equal ones, the last."""
    left = collections.Counter(map(key, copies))
    result = []
    for record in records:
        if left[key(record)]:
            left[key(record)] -= 1
        else:
            result.append(record)
    return result
