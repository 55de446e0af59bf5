# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""What is known of an entry so far, what is still needed, and what was decided."""

from __future__ import annotations

import bisect
import dataclasses
import operator
import pathlib
import traceback
import typing as t

from .._model.policies import OnExpired, OnNoAnchor
from .._model.record_sum import Bound
from .._model.records import NO_TIMESTAMP, Record
from .._model.verdicts import Absent, Copied, Reason, Verdict, Way
from .certificates import Certificate, Lossless

Span = tuple[int, int]  # offsets [start, end)
_LATEST = "latest time"  # what it is called among what was made of a log


@dataclasses.dataclass(frozen=True, slots=True)
class LogFacts:
    """The edges and settings of one partition, read before any record.

    end is the last stable offset: what a read_committed consumer calls the end. retention_ms is None when records are kept
    for ever.
    """

    log_start: int
    end: int
    high_watermark: int
    log_append_time: bool = False
    compacted: bool = False
    retention_ms: int | None = None

    @property
    def is_lossy(self) -> bool:
        """May retention or compaction have taken records?"""
        return self.log_start > 0 or self.compacted

    @property
    def hidden(self) -> int:
        """How many offsets an open transaction hides from consumers."""
        return self.high_watermark - self.end

    @property
    def open_from(self) -> int | None:
        """The last stable offset, where a transaction is open."""
        return self.end if self.hidden else None


@dataclasses.dataclass(slots=True)
class Log:
    """What was read of one partition of one cluster. Entries of several groups share it; it only grows, until learn().

    with_open: records that an open transaction hides, between the last stable offset and the high watermark, count as well.
    At the source they do: replication tools that read uncommitted records have copied them, and the group has not consumed
    them. records holds the visible records by ascending offset; every visible record of a span in `read` is in it.
    aborted holds records that only a read_uncommitted consumer sees, complete within `read_uncommitted`.
    lookups maps a timestamp to the first offset whose timestamp is at least that, None when there is none, as the broker has
    answered; first_at() is what it means. untimed: look-ups by time in this partition are not relied on. made holds what was
    worked out from all of it, for other groups of the partition; it is forgotten when more is read.
    """

    facts: LogFacts
    with_open: bool = False
    records: list[Record] = dataclasses.field(default_factory=list)
    read: list[Span] = dataclasses.field(default_factory=list)
    aborted: list[Record] = dataclasses.field(default_factory=list)
    read_uncommitted: list[Span] = dataclasses.field(default_factory=list)
    lookups: dict[int, int | None] = dataclasses.field(default_factory=dict)
    made: dict[t.Hashable, t.Any] = dataclasses.field(default_factory=dict)
    untimed: bool = False

    @property
    def end(self) -> int:
        """Where the records end that count."""
        return self.facts.high_watermark if self.with_open else self.facts.end

    def learn(self, facts: LogFacts) -> None:
        """Take in edges that were read again, and forget what may be no longer so.

        That is what has left the log and, if its ends have moved, what was hidden by an open transaction, which may have been
        aborted since. A log that has become shorter, or starts earlier, is another one: the topic was recreated or truncated.
        """
        old, self.facts = self.facts, facts
        another = facts.log_start < old.log_start or facts.end < old.end or facts.high_watermark < old.high_watermark
        moved = (facts.end, facts.high_watermark) != (old.end, old.high_watermark)
        held = (0, 0) if another else (facts.log_start, old.end if moved else old.high_watermark)
        self.records, self.aborted = records_between(self.records, *held), records_between(self.aborted, *held)
        self.read, self.read_uncommitted = within(self.read, held), within(self.read_uncommitted, held)
        if moved or another:  # what was not there may have come since
            self.lookups = {} if another else {time: at for time, at in self.lookups.items() if at is not None}
        self.made.clear()

    def knows(self, timestamp: int) -> bool:
        """May first_at() be asked for this timestamp?"""
        return timestamp in self.lookups or timestamp < 0 or self.untimed

    def first_at(self, timestamp: int) -> int | None:
        """An offset of the log before which no record has at least this timestamp (ms since the epoch); None: no record has it.

        The log's start where brokers have no answer: none of them looks up negative times, which only say that a record is old,
        and one that finds no record, although one that was read has such a time, is not relied on: see lookup_all_times().
        An answer may be newer than the edges that were learned, or older: it says nothing of what is outside of them.
        """
        if timestamp >= 0 and not self.untimed:
            offset = self.lookups[timestamp]
            if offset is not None or timestamp > self._latest_read:
                return None if offset is None or offset >= self.end else max(offset, self.facts.log_start)
            self.untimed = True
        return self.facts.log_start

    @property
    def _latest_read(self) -> int:
        """The latest time of a record that was read."""
        if _LATEST not in self.made:
            self.made[_LATEST] = max((record.timestamp for record in self.records), default=NO_TIMESTAMP)
        return t.cast("int", self.made[_LATEST])

    def add(self, span: Span, records: t.Iterable[Record]) -> None:
        """Take in the visible records of a span, all of them."""
        self.made.clear()
        _put(self.records, span, records)
        self.read = united(self.read, span)

    def add_uncommitted(self, span: Span, records: t.Iterable[Record]) -> None:
        """Take in everything a read_uncommitted consumer sees of a span that was also added as visible."""
        visible = {record.offset for record in self.between(*span)}
        _put(self.aborted, span, (r for r in records if r.offset not in visible))
        self.read_uncommitted = united(self.read_uncommitted, span)

    def between(self, start: int, end: int) -> list[Record]:
        """The known visible records with start <= offset < end, by offset."""
        return records_between(self.records, start, end)

    def aborted_between(self, start: int, end: int) -> list[Record]:
        """The known aborted records with start <= offset < end, by offset."""
        return records_between(self.aborted, start, end)

    def unread(self, start: int, end: int, *, uncommitted: bool = False) -> list[Span]:
        """What is missing of [start, end) within the log's edges, as spans."""
        spans = self.read_uncommitted if uncommitted else self.read
        index = bisect.bisect_right(spans, start, key=_end)
        if index < len(spans) and spans[index][0] <= start and end <= spans[index][1]:
            return []  # nearly always, and each entry asks dozens of times
        start, end = max(start, self.facts.log_start), min(end, self.end)
        index = bisect.bisect_right(spans, start, key=_end)
        missing: list[Span] = []
        while start < end and index < len(spans) and spans[index][0] < end:
            if start < spans[index][0]:
                missing.append((start, spans[index][0]))
            start = spans[index][1]
            index += 1
        if start < end:
            missing.append((start, end))
        return missing


@dataclasses.dataclass(frozen=True, slots=True)
class Policy:
    """The options of kafka_offset_translate that decisions depend on.

    search_limit: how many records may be read of one partition of one cluster before an entry is given up.
    now: the clock that retention is judged by, in milliseconds since the epoch.
    """

    on_expired: OnExpired = OnExpired.COUNT_BACK
    on_no_anchor: OnNoAnchor = OnNoAnchor.BY_RETENTION
    with_timestamp: bool = True
    search_limit: int = 100_000
    now: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Question:
    """Where does a group that stands at `committed` in the source log stand in the destination log?

    shifts: by how much a record's offset at the source may exceed that of its copy, the likeliest first. They are tried
    where timestamps do not lead, and checked before they are believed.
    """

    committed: int
    source: Log
    destination: Log
    policy: Policy = Policy()
    shifts: tuple[int, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Need:
    """What must be read before the question can be decided. Never empty; spans lie within the logs' edges."""

    source: tuple[Span, ...] = ()
    source_uncommitted: tuple[Span, ...] = ()
    source_times: tuple[int, ...] = ()
    destination: tuple[Span, ...] = ()
    destination_times: tuple[int, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Decision:
    """The answer. offset is None exactly when the verdict is blocked, and certificate is None exactly when it is not exact.

    repeats: how many consumed records follow the offset, at most; None when not counted; 0 when exact.
    detail: one clause for the user: what was assumed or found, and what to do when blocked.
    lossless: for a blocked entry, the offset that is known to skip nothing, if one is, and how it is known.
    matched_by: the parts of a record that the match compared.
    to_come: where the destination lags, how many consumed offsets follow the last consumed record that has come to it.
    lost, lost_bound: how many records that the group has not consumed have left both logs; None where that is not known.
    absent: unconsumed records that are known not to be there although later ones are.
    way: which way decided; None for what was decided without the rule.
    doubt: why fewer records did not prove more, if fewer were read first.
    skipped: how many unconsumed offsets are before the offset, because an option has asked for it.
    """

    verdict: Verdict
    offset: int | None
    reason: Reason | None = None
    repeats: int | None = None
    detail: str = ""
    before: Copied | None = None
    after: Copied | None = None
    matched_by: tuple[str, ...] = ()
    lossless: Lossless | None = None
    certificate: Certificate | None = None
    to_come: int | None = None
    lost: int | None = 0
    lost_bound: Bound = Bound.EXACTLY
    absent: Absent | None = None
    way: Way | None = None
    doubt: str = ""
    skipped: int = 0

    def __post_init__(self) -> None:
        if (self.verdict is Verdict.EXACT) != (self.certificate is not None):
            raise ValueError("an answer is exact with a certificate, and only then")

    @property
    def lossless_offset(self) -> int | None:
        """The offset that is known to skip nothing, None where none is."""
        return None if self.lossless is None else self.lossless.offset

    @property
    def is_open(self) -> bool:
        """Might counting both logs give a better answer? The offset has no certificate, or is not known."""
        return self.reason in (Reason.TAIL_NOT_COUNTED, Reason.SEARCH_BUDGET_SPENT)

    def by(self, way: Way, doubt: str = "") -> t.Self:
        """The same answer, with the way that it came, and the doubt that an earlier way has left, if one has."""
        return dataclasses.replace(self, way=way, doubt=doubt or self.doubt)

    @classmethod
    def exact(
        cls, certificate: Certificate, offset: int, reason: Reason | None = None, detail: str = "", **more: t.Any
    ) -> t.Self:
        """The answer that nothing is skipped and nothing repeated, with how that is known."""
        return cls(Verdict.EXACT, offset, reason, 0, detail, certificate=certificate, **more)


def blocked(reason: Reason, detail: str, lossless: Lossless | None = None, to_come: int | None = None) -> Decision:
    """The answer where nothing is proved."""
    return Decision(Verdict.BLOCKED, None, reason, detail=detail, lossless=lossless, to_come=to_come)


class NoProgress(Exception):
    """A search would go round for ever, because what was read of the logs contradicts itself."""


def internal_error(error: Exception, question: Question) -> Decision:
    """The answer where this collection itself has failed on a question."""
    return failed(error, (question.committed,), (question.source.facts,), question.destination.facts)


def failed(
    error: Exception, committed: t.Sequence[int | None], sources: t.Sequence[LogFacts], destination: LogFacts
) -> Decision:
    """The same for any number of source partitions: with all that a report needs, and without anything of a record.

    An error's own text may hold a part of a record, so its kind and its places have to do.
    """
    frames = traceback.extract_tb(error.__traceback__)[-4:]
    places = ", ".join(f"{pathlib.PurePath(frame.filename).name}:{frame.lineno} {frame.name}()" for frame in frames)
    logs = [f"[{facts.log_start}, {facts.end}, {facts.high_watermark}]" for facts in (*sources, destination)]
    return blocked(
        Reason.INTERNAL_ERROR,
        f"this collection has failed on this partition: {type(error).__name__} at {places}; committed "
        f"{', '.join(map(str, committed))}; [log start, last stable offset, end] of the source {', '.join(logs[:-1])}, of the "
        f"destination {logs[-1]}; report this text as a bug, and leave the topic out until it is fixed",
    )


def united(spans: list[Span], new: Span) -> list[Span]:
    """The same offsets as sorted spans that neither touch nor overlap, as those given are already."""
    start, end = new
    if start >= end:
        return spans
    low = bisect.bisect_left(spans, start, key=_end)
    high = bisect.bisect_right(spans, end, low, key=_start)
    if low < high:
        start, end = min(start, spans[low][0]), max(end, spans[high - 1][1])
    return [*spans[:low], (start, end), *spans[high:]]


def all_united(spans: t.Iterable[Span]) -> list[Span]:
    """The same offsets as sorted spans that neither touch nor overlap, without empty ones."""
    made: list[Span] = []
    for start, end in sorted(spans):
        if made and start <= made[-1][1]:
            made[-1] = made[-1][0], max(made[-1][1], end)
        elif start < end:
            made.append((start, end))
    return made


# Called at every step of a search, and so in C.
_offset = operator.attrgetter("offset")
_start, _end = operator.itemgetter(0), operator.itemgetter(1)


def records_between(records: list[Record], start: int, end: int) -> list[Record]:
    """Those of these records, which are by offset, with start <= offset < end."""
    low = bisect.bisect_left(records, start, key=_offset)
    return records[low : bisect.bisect_left(records, end, low, key=_offset)]


def within(spans: t.Iterable[Span], held: Span) -> list[Span]:
    """What of these spans is in another one."""
    clipped = [(max(start, held[0]), min(end, held[1])) for start, end in spans]
    return [(start, end) for start, end in clipped if start < end]


def _put(known: list[Record], span: Span, new: t.Iterable[Record]) -> None:
    """What was read of a span takes the place of what was known of it; the other records stay where they are."""
    inside = sorted((record for record in new if span[0] <= record.offset < span[1]), key=_offset)
    low = bisect.bisect_left(known, span[0], key=_offset)
    known[low : bisect.bisect_left(known, span[1], low, key=_offset)] = inside
