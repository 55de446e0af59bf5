# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""How a decision reads: it takes what it needs as if everything were there, and stops at what is not."""

from __future__ import annotations

import collections.abc as c

from .._model.records import Record
from .evidence import Log, LogFacts, Need, NoProgress, Question, Span, all_united

_GROWTH = 4


class NotRead(Exception):
    """Something is missing in a log; the reader knows what. Never leaves this package."""


class BudgetSpent(Exception):
    """More would have to be read than one entry may. Never leaves this package."""


class Doubt(Exception):
    """Why few records do not settle the answer, as a clause: both logs have to be counted. Never leaves this package.

    It is raised where not even the offset is sure. Where only its certificate is missing, certificate() returns it.
    """


class Measure:
    """What a loop has left. It shrinks from step to step, or the loop would never end."""

    def __init__(self) -> None:
        self._left: tuple[int, ...] | None = None

    def shrink(self, *left: int) -> None:
        """Take what is left now, the weightiest first. Raises NoProgress where it is no less than it was."""
        if self._left is not None and left >= self._left:
            raise NoProgress(f"{self._left} left, then {left}")
        self._left = left


class LogReader:
    """One log as one entry reads it, and what that entry has asked for, for its budget.

    A want is only noted, to be read along with the next thing that is really missing; the other methods raise
    NotRead for what is missing.
    """

    def __init__(self, log: Log, budget: int) -> None:
        self._log = log
        self.budget = budget
        self._asked: list[Span] = []
        self._gaps = False
        self.missing: list[Span] = []
        self.missing_uncommitted: list[Span] = []
        self.missing_times: set[int] = set()

    @property
    def facts(self) -> LogFacts:
        return self._log.facts

    @property
    def length(self) -> int:
        """How many offsets the log has."""
        return self.end - self.start

    @property
    def start(self) -> int:
        """The first offset that the log has."""
        return self._log.facts.log_start

    @property
    def end(self) -> int:
        """Where the records end that count: of the source those of open transactions as well."""
        return self._log.end

    def want(self, start: int, end: int) -> bool:
        """Note that the visible records of [start, end) are needed; whether they are there."""
        unread = self._log.unread(start, end)
        self.missing.extend(unread)
        return not unread

    def records(self, start: int, end: int) -> list[Record]:
        """The visible records of [start, end), by offset."""
        self._asked.append((start, end))
        if not self.want(start, end):
            raise NotRead
        return self._log.between(start, end)

    def last_before(self, offset: int, width: int) -> list[Record]:
        """The last visible records before an offset; none where none is before it. Markers and aborted data are none.

        width: offsets that are read at first.
        """
        measure = Measure()
        while not (records := self.records(offset - width, offset)) and offset - width > self.start:
            measure.shrink(offset - width - self.start)
            width *= _GROWTH
        return records

    def want_uncommitted(self, start: int, end: int) -> bool:
        """Note that the aborted records of [start, end) are needed; whether they are there."""
        unread = self._log.unread(start, end, uncommitted=True)
        self.missing_uncommitted.extend(unread)
        return not unread

    @property
    def has_gaps(self) -> bool:
        """Is an offset of the log known to have no record: a marker, aborted data, or what compaction took?"""
        return self._gaps or self.facts.compacted

    def expect_gaps(self, start: int, end: int) -> bool:
        """As want_uncommitted(), for a span that turned out to have offsets without a visible record."""
        self._gaps = True
        return self.want_uncommitted(start, end)

    def aborted(self, start: int, end: int) -> list[Record]:
        """The aborted records of [start, end), by offset."""
        if not self.want_uncommitted(start, end):
            raise NotRead
        return self._log.aborted_between(start, end)

    def with_aborted(self, start: int, end: int) -> tuple[list[Record], list[Record]]:
        """The visible and the aborted records of [start, end); in a log with gaps both are asked for at once."""
        if self._gaps:
            self.want_uncommitted(start, end)
        visible = self.records(start, end)
        if len(visible) >= min(end, self.end) - max(start, self.start):
            return visible, []
        self._gaps = True
        return visible, self.aborted(start, end)

    def want_times(self, timestamps: c.Iterable[int]) -> None:
        """Note that these time look-ups are needed."""
        self.missing_times.update(time for time in timestamps if not self._log.knows(time))

    def first_at(self, timestamp: int) -> int | None:
        """Before this offset of the log, no record has at least this timestamp; None where none has. See Log.first_at()."""
        if not self._log.knows(timestamp):
            self.missing_times.add(timestamp)
            raise NotRead
        return self._log.first_at(timestamp)

    def within_budget(self, length: int) -> int:
        """At most this many offsets, so that what is read on stays within the budget as far as that can be foreseen.

        At least one, so that whoever reads on gets on. Raises BudgetSpent.
        """
        spans = all_united(self._asked)
        offsets = sum(max(0, min(end, self.end) - max(start, self.start)) for start, end in spans)
        records = sum(len(self._log.between(start, end)) for start, end in spans)
        if records >= self.budget:
            raise BudgetSpent
        return max(1, min(length, (self.budget - records) * offsets // max(1, records)))


class Reader:
    """Both logs as one entry reads them, which has committed this offset, and the options that count."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.committed, self.policy = question.committed, question.policy
        self.source = LogReader(question.source, question.policy.search_limit)
        self.destination = LogReader(question.destination, question.policy.search_limit)

    @property
    def longest(self) -> int:
        """How many offsets the longer log has."""
        return max(self.source.length, self.destination.length)

    @property
    def fits(self) -> bool:
        """May both logs be read whole, within the budget of an entry?"""
        return self.longest <= self.policy.search_limit

    def need(self) -> Need:
        """Everything that was found missing."""
        return Need(
            source=tuple(all_united(self.source.missing)),
            source_uncommitted=tuple(all_united(self.source.missing_uncommitted)),
            source_times=tuple(sorted(self.source.missing_times)),
            destination=tuple(all_united(self.destination.missing)),
            destination_times=tuple(sorted(self.destination.missing_times)),
        )
