# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""The source around a committed offset, and which side of it destination records come from.

Those that the context does not hold are looked up at the source.
"""

from __future__ import annotations

import collections.abc as c
import dataclasses
import enum

from .._model.match_on import Key, Matching
from .._model.records import Record
from .log_reader import LogReader, Measure, NotRead

_GROWTH = 4
_FIRST_SPAN = 32
_GLANCE = 160  # offsets
_MARKERS = 2  # offsets more, as a transaction's marker often stands before the committed offset


@dataclasses.dataclass(frozen=True, slots=True)
class Context:
    """The source records of [low, high), which holds the committed offset.

    before and after are the visible ones on the two sides; aborted are those in between that only a read_uncommitted
    replication tool has seen. whole: there is no more of the source log.
    """

    committed: int
    low: int
    high: int
    before: list[Record]
    after: list[Record]
    aborted: list[Record]
    from_start: bool
    to_end: bool

    @property
    def whole(self) -> bool:
        return self.from_start and self.to_end

    @property
    def has_gaps(self) -> bool:
        """Are there offsets without a visible record: markers, aborted data, compaction?"""
        return len(self.before) + len(self.after) < self.high - self.low

    @property
    def looked_for(self) -> list[Record]:
        """The records whose copies an offset is between: the last consumed one, and the unconsumed ones."""
        aborted = [record for record in self.aborted if record.offset >= self.committed]
        return [*self.before[-1:], *sorted([*self.after, *aborted], key=lambda record: record.offset)]

    def unconsumed_among(self, copies: c.Iterable[Record]) -> int:
        """How many of these destination records have the content of an unconsumed one, whatever their times and headers.

        Where a replication tool rounds times, each may be its copy even with the time of an equal consumed record.
        """
        contents = {record.bare for record in self.after}
        return sum(record.bare in contents for record in copies)


def read_context(source: LogReader, committed: int, width: int) -> Context:
    """Read `width` offsets on both sides of the end of the last consumed record, and on until there is an unconsumed one.

    So the context is the same wherever between the two the offset was committed. Raises NotRead.
    """
    source.want(committed - width - _MARKERS, max(committed, source.start) + width)
    before = source.last_before(committed, width)
    middle = before[-1].offset + 1 if before else max(source.start, committed)
    low = max(source.start, middle - width)
    before = source.records(low, committed)
    reach, measure = width, Measure()
    while not (after := source.records(committed, middle + reach)) and middle + reach < source.end:
        measure.shrink(source.end - middle - reach)
        reach *= _GROWTH
    if reach > width and after:  # a wide step through aborted data has shown far more than is needed
        reach = min(reach, after[0].offset + width - middle)
        after = source.records(committed, middle + reach)
    high = min(source.end, middle + reach)
    context = Context(committed, low, high, before, after, [], low <= source.start, high >= source.end)
    if context.has_gaps and (source.expect_gaps(low, high) or not (before or after)):
        return dataclasses.replace(context, aborted=source.aborted(low, high))
    return context


class Side(enum.IntFlag):
    """Where a destination record comes from."""

    UNKNOWN = 0
    CONSUMED = 1
    UNCONSUMED = 2
    BOTH = CONSUMED | UNCONSUMED  # equal records stand on both sides of the committed offset
    DESTINATION_ONLY = 4  # the source does not have it


class OtherMatching(Exception):
    """The destination's records have to be compared in another way. Never leaves this package."""

    def __init__(self, matching: Matching) -> None:
        super().__init__(matching)
        self.matching = matching


class Known:
    """The source records that were read for an entry, by what matches them."""

    def __init__(self, context: Context, matching: Matching) -> None:
        self.committed = context.committed
        self.matching = matching
        self.key = matching.key
        self._bare_key = Matching(matching.timestamp, False).key
        self._consumed: dict[
            Key, int
        ] = {}  # the lowest offset, for the last consumed record says that all before it are
        self._unconsumed: dict[Key, int] = {}  # the highest one, for no more may have been lost before it
        self._bare: set[Key] | None = None
        self._records: list[list[Record]] = []
        self.destination_only: set[Key] = set()
        self._never_read: set[Key] = set()  # consumed, but aborted
        self._never_due: set[Key] = set()  # unconsumed, but aborted
        self.add([*context.before, *context.after], context.aborted)

    def add(self, visible: list[Record], aborted: list[Record] | None = None) -> None:
        """Take in source records."""
        self._records += [visible, aborted or []]
        if self._bare is not None:
            self._bare.update(self._bare_key(record) for record in (*visible, *(aborted or ())))
        for name, offset in [(self.key(record), record.offset) for record in visible]:
            if offset >= self.committed:
                if self._unconsumed.get(name, offset) <= offset:
                    self._unconsumed[name] = offset
            elif self._consumed.get(name, offset) >= offset:
                self._consumed[name] = offset
        for record in aborted or []:
            name = self.key(record)
            if record.offset >= self.committed:
                if name not in self._unconsumed:
                    self._unconsumed[name] = record.offset
                    self._never_due.add(name)
            elif name not in self._consumed:
                self._consumed[name] = record.offset
                self._never_read.add(name)
        if self._never_due:
            self._never_due.difference_update(self.key(r) for r in visible if r.offset >= self.committed)
        if self._never_read:
            self._never_read.difference_update(self.key(r) for r in visible if r.offset < self.committed)

    def side(self, record: Record) -> Side:
        """What is known of a destination record."""
        name = self.key(record)
        if name in self._consumed:
            # The group will never miss an aborted record, so one that may be its copy can be skipped.
            return Side.BOTH if name in self._unconsumed and name not in self._never_due else Side.CONSUMED
        if name in self._unconsumed:
            return Side.UNCONSUMED
        return Side.DESTINATION_ONLY if name in self.destination_only else Side.UNKNOWN

    def sides(self, records: list[Record]) -> list[Side]:
        """The same for many."""
        return [self.side(record) for record in records]

    def repeats(self, record: Record) -> bool:
        """Would a group that reads this destination record, whose side is known, read something again?

        Not when it is the copy of an aborted one, which the group has never seen.
        """
        return Side.CONSUMED in self.side(record) and self.key(record) not in self._never_read

    def consumed_at(self, record: Record) -> int:
        """The lowest source offset before the committed one that this destination record may come from."""
        return self._consumed[self.key(record)]

    def unconsumed_at(self, record: Record) -> int:
        """The highest source offset at or after the committed one that this destination record may come from."""
        return self._unconsumed[self.key(record)]

    def check_stamps(self, records: c.Iterable[Record]) -> None:
        """See whether the destination put its own time on any of these records. Raises OtherMatching."""
        if self.matching.timestamp and any(record.log_append_time for record in records):
            raise OtherMatching(self.matching._replace(timestamp=False))

    def check_headers(self, records: c.Iterable[Record]) -> None:
        """See whether any of these destination records, none of which is known, matches a source record but for its headers.

        Raises OtherMatching.
        """
        if not self.matching.headers:
            return
        if self._bare is None:
            self._bare = {self._bare_key(record) for part in self._records for record in part}
        if any(self._bare_key(record) in self._bare for record in records):
            raise OtherMatching(self.matching._replace(headers=False))

    def check_times(self, records: c.Iterable[Record]) -> None:
        """See whether any of these, none of which is known, has the content of a source record with another time.

        The tool may have changed the headers as well. Raises OtherMatching.
        """
        if not self.matching.timestamp:
            return
        contents = {record.bare for part in self._records for record in part}
        if any(record.bare in contents for record in records):
            raise OtherMatching(self.matching._replace(timestamp=False))

    def without_timestamps(self) -> bool:
        """Has any of the source records no timestamp that brokers can look up? Negative ones they cannot."""
        return any(record.timestamp < 0 for part in self._records for record in part)


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
        known.check_headers(list(pending.values()))
        known.check_times(list(pending.values()))
        known.destination_only.update(pending)
        return
    for begin, group in _by_start(source, list(pending.values())):
        left = _search(source, known, begin, group)
        known.check_times(left)
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
        known.check_headers([record for record in group if known.side(record) is Side.UNKNOWN])


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
        known.check_headers(records)
        done, width = until, width * _GROWTH
    return records
