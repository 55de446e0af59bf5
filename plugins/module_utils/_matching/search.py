# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""The cut: the first unconsumed record at the destination, and the last consumed one before it.

In comments, L is the first unconsumed record at the destination, H the last consumed one before L, and A the last consumed
record at the source.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools

from .._model.records import Record
from .context import Context, Known, Side, explain, glance
from .evidence import Span
from .log_reader import BudgetSpent, Doubt, LogReader, Measure, NotRead, Reader

MARGIN = 8  # offsets read below the first look-up, for the last consumed record
WINDOW = 24  # offsets read from there on at first
TAIL = 8  # offsets read at the ends of both logs
HEAD = 8  # offsets read at the destination's beginning, where it may not hold what it should
SOURCE_HEAD = 2  # and at the source's, with which most copies begin
DEEP = 4096  # offsets read below where L was looked for, to see what is destination-only before it

_GROWTH = 2
_PARTS = 8  # into which what is left is divided in each round
_PROBE = 2  # offsets read at each place, because the first one may be a control record
_CLOSE = 8  # offsets: so near is near enough


@dataclasses.dataclass(frozen=True, slots=True)
class Cut:
    """What a scan of the destination found.

    unconsumed (L) and consumed (H) are indexes into records, which are all the visible ones of a range; sides go with
    them. Every record before L is consumed or destination-only. explained: nothing that lies before L is of
    unknown origin, from where the search had to begin. passed_over: a look-up ended at a control record, and what
    follows it was passed over by the times of a few records.
    """

    records: list[Record]
    sides: list[Side]
    consumed: int | None
    unconsumed: int | None
    explained: bool = True
    passed_over: bool = False

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
        """What lies between H and L, or before L, or after H, as far as it was read."""
        begin = 0 if self.consumed is None else self.consumed + 1
        return self.records[begin : self.unconsumed]


def find_cut(reader: Reader, context: Context, known: Known, *, may_pass_over: bool) -> Cut:
    """Scan the destination from the first place where a record that matters can be, until L is known.

    may_pass_over: whether all that follows L can be read, so that records before it may be passed over (see Cut).

    Every record passed is explained. Raises NotRead, OtherMatching, BudgetSpent, and Doubt where equal records of both sides
    stand before L, or where L may be among what was passed over.
    """
    caught_up = _caught_up(reader.destination, context, known)
    if caught_up:
        return caught_up
    scan = _CutSearch(reader, context, known, may_pass_over)
    measure = Measure()
    try:
        while True:
            scan.look()
            measure.shrink(*scan.left())
            if not (scan.extend_up() or scan.extend_down() or scan.explain_between()):
                break
    except BudgetSpent:
        scan.look()
        if scan.passed_over or not scan.has_passed_last_consumed():
            raise
        return scan.unfinished()
    cut = scan.finished()
    # What is before L hangs by what follows it. Without L, and where the source has lost records, nothing tells.
    if cut.passed_over and (cut.unconsumed is None or context.committed < reader.source.start):
        raise Doubt(
            "a time look-up ended at a control record, and what it passed over cannot be told from what follows"
        )
    return cut


class _CutSearch:
    """A growing span [low, high) of the destination, and what its records are.

    look() takes the span in. Each of the three steps after it reads or explains more, and then says so, until nothing is left
    to look at: extend_up() finds L, extend_down() finds H where it is needed, explain_between() makes sure that it is the last.

    Nothing that matters is before `begin`, so nothing before it must be explained. If the search is astray, because the look-up
    says nothing of what is before it, the span begins there.
    """

    def __init__(self, reader: Reader, context: Context, known: Known, may_pass_over: bool) -> None:
        self._source, self._destination = reader.source, reader.destination
        self._context, self._known = context, known
        self._begin = _begin(reader, context, known)
        self._low, self._high = _window(self._destination, self._begin)
        self._is_astray = False
        self._has_explained_last = False
        self._may_pass_over = may_pass_over
        self.passed_over = False

    def look(self) -> None:
        """Take in the span: its records, their sides, and the position of L, or their number where L is not there."""
        self._records = self._destination.records(self._low, self._high)
        self._known.check_stamps(self._records)
        self._sides = self._known.sides(self._records)
        if not any(self._sides):
            self._known.check_headers(self._records)
        self._first = [*self._sides, Side.UNCONSUMED].index(Side.UNCONSUMED)
        if self._has_unconsumed and self._records[self._first].offset < self._begin:
            # Its like is not in the context, so the look-up says nothing of what stands before it either.
            self._is_astray = True
        if self._is_astray:
            self._begin = self._low

    def left(self) -> tuple[int, int, int]:
        """What is left: it may go elsewhere once; then the span grows to the log's edges; then records are explained."""
        outside = self._low - self._destination.start + self._destination.end - self._high
        return self._may_pass_over, outside, self._sides.count(Side.UNKNOWN)

    @property
    def _has_unconsumed(self) -> bool:
        """Is L there?"""
        return self._first < len(self._records)

    @property
    def _head(self) -> list[Side]:
        """The sides of what is before L, or of all."""
        return self._sides[: self._first]

    def _unknown(self, begin: int) -> list[Record]:
        """The records from this offset on and before L of which nobody knows what they are."""
        pairs = zip(self._records, self._head, strict=False)
        return [record for record, side in pairs if side is Side.UNKNOWN and record.offset >= begin]

    def _explain(self, records: list[Record]) -> bool:
        """Look these up at the source; whether there are any."""
        explain(self._source, self._context, self._known, records)
        return bool(records)

    def extend_up(self) -> bool:
        """Explain what is passed, and read on while L is not there; whether there is more to look at now."""
        passed = self._unknown(self._begin)
        if not self._has_unconsumed and self._high < self._destination.end:
            if self._pass_over():
                return True
            wider = min(self._destination.end, self._high + self._more())
            self._destination.want(self._high, wider)
            self._explain(passed)
            self._high = wider
            return True
        return self._explain(passed)

    def _pass_over(self) -> bool:
        """Go on from where the times come to those that are looked for, if the look-up has ended at a control record."""
        needed = self._context.looked_for
        if not self._may_pass_over or not needed or self._destination.records(self._begin, self._begin + 1):
            return False
        self._may_pass_over = False
        later = _first_by_order(self._destination, self._known, self._begin, min(record.timestamp for record in needed))
        if later is None or later < self._high:
            return False
        self.passed_over = True
        self._begin = later
        self._low, self._high = _window(self._destination, later)
        return True

    def _more(self) -> int:
        """By how many offsets the span grows. Raises BudgetSpent."""
        return self._destination.within_budget(_GROWTH * (self._high - self._low))

    @property
    def _needs_consumed(self) -> bool:
        """Is a consumed record before L needed?

        It is needed to name an offset when nothing unconsumed is there, where the source may have lost records next to the
        committed offset, whose copies lie before L, and where another record is before L: if it is destination-only, it is
        new to the group, and the offset is before it.
        """
        if self._is_astray:
            return True
        consumed_is_next = self._head[-1:] == [Side.CONSUMED]
        return bool(self._context.before) and (self._source.facts.compacted or not consumed_is_next)

    def extend_down(self) -> bool:
        """Read downwards while a consumed record is needed and not there; whether there is more to look at now."""
        unknown = self._unknown(self._low)
        if not self._needs_consumed:
            may_be_lost = not self._context.before and self._source.facts.compacted
            return may_be_lost and self._explain(unknown)  # before they are taken for what the source has lost
        if Side.CONSUMED in self._head:
            return False
        if unknown:
            # Mostly the last one is consumed; when it is not, they are looked up together, to save rounds.
            self._explain(unknown if self._has_explained_last else unknown[-1:])
            self._has_explained_last = True
            return True
        if self._low <= self._destination.start:
            return False
        if self._has_unconsumed and not self._is_astray and self._begin - self._low > DEEP:
            raise Doubt(f"no consumed record is among the {DEEP:,} offsets before the first unconsumed one")
        self._low = max(self._destination.start, self._low - self._more())
        return True

    def explain_between(self) -> bool:
        """Explain what is passed between the last known consumed record and L; whether there is more to look at now.

        What lies before the place where the search began may be consumed, too, and then the offset is after it.
        """
        last = self._last_consumed
        return last is not None and self._explain(self._unknown(self._records[last].offset))

    @property
    def _last_consumed(self) -> int | None:
        """The position of H, as far as it is known; None where it is not there."""
        return next((at for at in range(self._first - 1, -1, -1) if self._sides[at] is Side.CONSUMED), None)

    def finished(self) -> Cut:
        """The cut, when nothing is left to look at."""
        if Side.BOTH in self._head:
            raise Doubt("records before the first unconsumed one equal records on both sides of the committed offset")
        unconsumed = self._first if self._has_unconsumed else None
        return self._cut(self._last_consumed, unconsumed, passed_over=self.passed_over)

    @property
    def _copy_of_last_consumed(self) -> int | None:
        """The position of the copy of A; None where it is not there, or may be one of an unconsumed record."""
        if not self._context.before or Side.BOTH in self._head:
            return None
        name = self._known.key(self._context.before[-1])
        return next((at for at in range(self._first - 1, -1, -1) if self._known.key(self._records[at]) == name), None)

    def has_passed_last_consumed(self) -> bool:
        """Is a copy of A there, and everything before it explained? Then what follows cannot move the cut back."""
        at = self._copy_of_last_consumed
        return at is not None and not any(
            record.offset < self._records[at].offset for record in self._unknown(self._begin)
        )

    def unfinished(self) -> Cut:
        """The cut after the copy of A, when the budget has not led to L."""
        return self._cut(self._copy_of_last_consumed, None, explained=False)

    def _cut(self, consumed: int | None, unconsumed: int | None, **flags: bool) -> Cut:
        return Cut(self._records, self._sides, consumed, unconsumed, **flags)


def _caught_up(destination: LogReader, context: Context, known: Known) -> Cut | None:
    """The plainest case: nothing is left to consume, and the last record consumed is the destination's last."""
    if context.after or not context.before or not context.to_end:
        return None
    tail = destination.records(max(destination.start, destination.end - TAIL), destination.end)
    known.check_stamps(tail)
    if tail and known.key(tail[-1]) == known.key(context.before[-1]):
        return Cut(tail, known.sides(tail), len(tail) - 1, None)
    return None


def _begin(reader: Reader, context: Context, known: Known) -> int:
    """No record that matters is before this offset of the destination.

    What it takes to know that, and the records from there on, are asked for in the same rounds.
    """
    source, destination = reader.source, reader.destination
    begin = None
    with contextlib.suppress(NotRead):
        begin = _lower_bound(destination, context, known)
        destination.want(*_window(destination, begin))
    if begin != destination.start and _begins_late(source, destination, known):
        return destination.start
    if begin is None:
        raise NotRead
    return begin


def _lower_bound(destination: LogReader, context: Context, known: Known) -> int:
    """No unconsumed record of the context, nor the last consumed one, is before this offset of the destination."""
    if not known.matching.timestamp:
        return destination.start
    needed = context.looked_for
    if not needed:
        return destination.end
    begin = destination.first_at(min(record.timestamp for record in needed))
    return destination.end if begin is None else max(begin, destination.start)


def _window(destination: LogReader, begin: int) -> Span:
    """What is read at first of a search that begins there."""
    return max(destination.start, begin - MARGIN), min(destination.end, begin + WINDOW)


def _begins_late(source: LogReader, destination: LogReader, known: Known) -> bool:
    """Does the destination begin with unconsumed records, as when the replication tool was first started late, and then again?

    A replication tool that begins before the committed offset comes to its neighbours before it comes to what follows
    them, so a look-up of these neighbours is enough. One that began after them may have left older timestamps before
    that.
    """
    known.add(source.records(source.start, source.start + SOURCE_HEAD))
    head = destination.records(destination.start, destination.start + HEAD)
    unmatched = list(itertools.takewhile(lambda record: not known.side(record) & Side.BOTH, head))
    if unmatched:
        glance(source, known, unmatched)
    first = next((side for side in known.sides(head) if side & Side.BOTH), Side.CONSUMED)
    return first is not Side.CONSUMED


def _first_by_order(log: LogReader, known: Known, begin: int, timestamp: int) -> int | None:
    """An offset from `begin` on that the first record of at least this timestamp follows closely, if times do not run back.

    None where they are seen to do so. Takes log8 of the log's length in rounds. Raises NotRead, OtherMatching.

    A broker answers a look-up with the first offset whose timestamp is late enough, and the control record that ends a
    transaction has the time of that end. So where a tool copies old records in transactions, the first marker is later than
    all of them, and every look-up ends there. Single records tell where the times really come to the one that is looked
    for, if they do not run back. Nobody knows whether they do; so whoever goes by that has to read all that follows.
    """
    low, high, measure = begin, log.end, Measure()
    while high - low > _CLOSE:
        measure.shrink(high - low)
        places = range(low, high, max(_PROBE, (high - low) // _PARTS))[1:]
        probes = [(place, min(place + _PROBE, high)) for place in places]
        for probe in probes:
            log.want(*probe)
        records = [record for probe in probes for record in log.records(*probe)[:1]]
        known.check_stamps(records)
        late = [record.timestamp >= timestamp for record in records]
        if not records or late != sorted(late):
            return None
        at = late.count(False)
        low = records[at - 1].offset if at else low
        high = records[at].offset if at < len(records) else high
    return low
