# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""What is known of an entry so far, what is still needed, and what was decided."""

from __future__ import annotations

import bisect
import dataclasses
import operator
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.certificates import Certificate
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.lossless import Lossless
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import OnExpired, OnNoAnchor, TailCheck
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Absent, Reason, Verdict

Span = tuple[int, int]  # offsets [start, end)


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


@dataclasses.dataclass(slots=True)
class Log:
    """What was read of one partition of one cluster. Entries of several groups share it; it only grows.

    with_open: records that an open transaction hides, between the last stable offset and the high watermark, count as well.
    At the source they do: replication tools that read uncommitted records have copied them, and the group has not consumed
    them. records holds the visible records by ascending offset; every visible record of a span in `read` is in it.
    aborted holds records that only a read_uncommitted consumer sees, complete within `read_uncommitted`.
    lookups maps a timestamp to the first offset whose timestamp is at least that, None when there is none. made holds what
    was worked out from all of it, for other groups of the partition; it is forgotten when more is read.
    """

    facts: LogFacts
    with_open: bool = False
    records: list[Record] = dataclasses.field(default_factory=list)
    read: list[Span] = dataclasses.field(default_factory=list)
    aborted: list[Record] = dataclasses.field(default_factory=list)
    read_uncommitted: list[Span] = dataclasses.field(default_factory=list)
    lookups: dict[int, int | None] = dataclasses.field(default_factory=dict)
    made: dict[t.Hashable, t.Any] = dataclasses.field(default_factory=dict)

    @property
    def end(self) -> int:
        """Where the records end that count."""
        return self.facts.high_watermark if self.with_open else self.facts.end

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
        return _part(self.records, start, end)

    def aborted_between(self, start: int, end: int) -> list[Record]:
        """The known aborted records with start <= offset < end, by offset."""
        return _part(self.aborted, start, end)

    def unread(self, start: int, end: int, *, uncommitted: bool = False) -> list[Span]:
        """What is missing of [start, end) within the log's edges, as spans."""
        start, end = max(start, self.facts.log_start), min(end, self.end)
        spans = self.read_uncommitted if uncommitted else self.read
        missing: list[Span] = []
        index = bisect.bisect_right(spans, start, key=_end)
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

    budget is how many records may be read of one partition of one cluster before an entry is given up.
    now is the clock that retention is judged by, in milliseconds since the epoch.
    """

    on_expired: OnExpired = OnExpired.COUNT_BACK
    on_no_anchor: OnNoAnchor = OnNoAnchor.BY_RETENTION
    tail_check: TailCheck = TailCheck.RECORDS
    with_timestamp: bool = True
    budget: int = 100_000
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
class Anchor:
    """A source record and its copy."""

    source_offset: int
    destination_offset: int
    fingerprint: str


@dataclasses.dataclass(frozen=True, slots=True)
class Decision:
    """The answer. offset is None exactly when the verdict is blocked, and certificate exactly when it is not exact.

    repeats: how many consumed records follow the offset, at most; None when not counted; 0 when exact.
    detail: one clause for the user: what was assumed or found, and what to do when blocked.
    lossless: for a blocked entry, the offset that is known to skip nothing, if one is, and how it is known.
    matched_by: the parts of a record that the match compared.
    to_come: where the destination lags, how many consumed offsets follow the last consumed record that has come to it.
    absent: unconsumed records that are known not to be there although later ones are.
    """

    verdict: Verdict
    offset: int | None
    reason: Reason | None = None
    repeats: int | None = None
    detail: str = ""
    before: Anchor | None = None
    after: Anchor | None = None
    matched_by: tuple[str, ...] = ()
    lossless: Lossless | None = None
    certificate: Certificate | None = None
    to_come: int | None = None
    absent: Absent | None = None

    def __post_init__(self) -> None:
        if (self.verdict is Verdict.EXACT) != (self.certificate is not None):
            raise ValueError("an answer is exact with a certificate, and only then")

    @property
    def lossless_offset(self) -> int | None:
        """The offset that is known to skip nothing, None where none is."""
        return None if self.lossless is None else self.lossless.offset

    @classmethod
    def exact(
        cls, certificate: Certificate, offset: int, reason: Reason | None = None, detail: str = "", **more: t.Any
    ) -> t.Self:
        """The answer that nothing is skipped and nothing repeated, with how that is known."""
        return cls(Verdict.EXACT, offset, reason, 0, detail, certificate=certificate, **more)


def blocked(reason: Reason, detail: str, lossless: Lossless | None = None, to_come: int | None = None) -> Decision:
    """The answer where nothing is proved."""
    return Decision(Verdict.BLOCKED, None, reason, detail=detail, lossless=lossless, to_come=to_come)


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


# Called at every step of a search, and so in C.
_offset = operator.attrgetter("offset")
_start, _end = operator.itemgetter(0), operator.itemgetter(1)


def _part(records: list[Record], start: int, end: int) -> list[Record]:
    low = bisect.bisect_left(records, start, key=_offset)
    return records[low : bisect.bisect_left(records, end, low, key=_offset)]


def _put(known: list[Record], span: Span, new: t.Iterable[Record]) -> None:
    """What was read of a span takes the place of what was known of it; the other records stay where they are."""
    inside = sorted((record for record in new if span[0] <= record.offset < span[1]), key=_offset)
    low = bisect.bisect_left(known, span[0], key=_offset)
    known[low : bisect.bisect_left(known, span[1], low, key=_offset)] = inside
