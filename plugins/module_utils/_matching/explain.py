# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""Reverse look-ups: which side of the source do destination records come from that the context does not hold?"""

from __future__ import annotations

from .._model.match_on import Matching
from .._model.records import Record
from .context import Context, Known, Side
from .log_reader import LogReader, Measure, NotRead

_FIRST_SPAN = 32
_GROWTH = 4
_GLANCE = 160  # offsets


class OtherMatching(Exception):
    """The destination's records have to be compared in another way. Never leaves this package."""

    def __init__(self, matching: Matching) -> None:
        super().__init__(matching)
        self.matching = matching


def check_stamps(known: Known, records: list[Record]) -> None:
    """See whether the destination put its own time on any of these records. Raises OtherMatching."""
    if known.matching.timestamp and any(record.log_append_time for record in records):
        raise OtherMatching(known.matching._replace(timestamp=False))


def check_headers(known: Known, records: list[Record]) -> None:
    """See whether any of these records, at the source only without its headers, has had some added. Raises OtherMatching."""
    if known.matches_without_headers(records):
        raise OtherMatching(known.matching._replace(headers=False))


def check_times(known: Known, records: list[Record]) -> None:
    """See whether any of these records, which are not at the source with their times, is there with another.

    Raises OtherMatching.
    """
    if known.matching.timestamp and known.matches_without_times(records):
        raise OtherMatching(known.matching._replace(timestamp=False))


def explain(source: LogReader, context: Context, known: Known, records: list[Record]) -> None:
    """Find these destination records at the source, or prove them destination-only: afterwards known has a side for each.

    A time look-up is a lower bound of where a record can be, so the source is read from there, to its end at most.
    Raises NotRead, BudgetSpent, OtherMatching.
    """
    pending = {known.key(record): record for record in records if known.side(record) is Side.UNKNOWN}
    if not pending:
        return
    if context.has_gaps and not source.want_uncommitted(context.low, context.high):
        raise NotRead
    if context.whole:
        check_headers(known, list(pending.values()))
        check_times(known, list(pending.values()))
        known.destination_only.update(pending)
        return
    for begin, group in _by_start(source, list(pending.values())):
        left = _search(source, known, begin, group)
        check_times(known, left)
        known.destination_only.update(known.key(record) for record in left)


def glance(source: LogReader, known: Known, records: list[Record]) -> None:
    """Look for these destination records at the source where their timestamps point; those not found there stay unknown.

    All of it is read, for where timestamps run back, a later one does not mean that it was passed.
    Raises NotRead, BudgetSpent, OtherMatching.
    """
    times = {record.timestamp for record in records}
    for begin, group in _by_start(source, records):
        visible, aborted = source.with_aborted(begin, min(source.end, begin + source.within_budget(_GLANCE)))
        known.add(*([record for record in part if record.timestamp in times] for part in (visible, aborted)))
        check_headers(known, [record for record in group if known.side(record) is Side.UNKNOWN])


def _by_start(source: LogReader, records: list[Record]) -> list[tuple[int, list[Record]]]:
    """Where the search for each begins. Two look-ups do for any number: an earlier time's answer is a bound for later ones."""
    latest = max(record.timestamp for record in records)
    earliest = min(record.timestamp for record in records)
    starts: list[tuple[int, list[Record]]] = []
    source.want_times((earliest, latest))
    for time, group in (
        (earliest, [record for record in records if record.timestamp != latest]),
        (latest, [record for record in records if record.timestamp == latest]),
    ):
        if group:
            begin = source.first_at(time)
            starts.append((source.end if begin is None else begin, group))
    return starts


def _search(source: LogReader, known: Known, begin: int, records: list[Record]) -> list[Record]:
    """Read the source from `begin` on until all these records are known, or to its end; what is left of them."""
    done, width, measure = begin, _FIRST_SPAN, Measure()
    while records and done < source.end:
        measure.shrink(source.end - done)
        until = min(source.end, done + source.within_budget(width))
        known.add(*source.with_aborted(done, until))
        records = [record for record in records if known.side(record) is Side.UNKNOWN]
        check_headers(known, records)
        done, width = until, width * _GROWTH
    return records
