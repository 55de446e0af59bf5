# SPDX-License-Identifier: GPL-3.0-or-later

"""Both clusters of a case as brokers serve them, and what the rule has asked them for."""

from __future__ import annotations

import bisect
import dataclasses
import functools
import hashlib
import operator
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import (
    Log,
    LogFacts,
    Need,
    Policy,
    Question,
    Span,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record
from tests.attack.case import Case, Copy, Edges, Lately, Options, Original

MOST_ROUNDS = 300
_OFFSET = operator.attrgetter("offset")


class Broker:
    """One partition, as a broker serves it: isolation levels, and time look-ups that see every batch."""

    def __init__(
        self, records: t.Sequence[Original | Copy], edges: Edges, made: t.Callable[[t.Any, Edges], Record] | None = None
    ) -> None:
        self.edges, self._made = edges, made or _record
        self.facts = LogFacts(
            edges.start, edges.stable, edges.end, edges.append_time, edges.compacted, edges.retention_ms
        )
        start, end = edges.start, edges.end
        self._held = [r for r in records if start <= r.offset < end and not getattr(r, "gone", False)]

    @functools.cached_property
    def everything(self) -> list[Record]:
        """What producers have written, aborted or not."""
        return [self._made(r, self.edges) for r in self._held if r.kind != "marker"]

    @functools.cached_property
    def visible(self) -> list[Record]:
        """What is committed, before the last stable offset."""
        stable = self.edges.stable
        return [self._made(r, self.edges) for r in self._held if r.kind == "data" and r.offset < stable]

    @functools.cached_property
    def with_open(self) -> list[Record]:
        """The same, and all from there on: nobody can tell yet what will have been aborted of it."""
        if self.edges.stable == self.edges.end:
            return self.visible
        return [*self.visible, *(r for r in self.everything if r.offset >= self.edges.stable)]

    def read(self, span: Span, uncommitted: bool = False) -> list[Record]:
        start, end = span
        assert self.edges.start <= start < end <= self.edges.end, f"span {span} is empty or outside of {self.edges}"
        records = self.everything if uncommitted else self.with_open
        low = bisect.bisect_left(records, start, key=_OFFSET)
        return records[low : bisect.bisect_left(records, end, low, key=_OFFSET)]

    def lookup(self, time: int) -> int | None:
        """The first offset whose timestamp is at least this one; control records and aborted data count."""
        return next((record.offset for record in self._held if record.time >= time), None)


_BROKERS: Lately[Broker] = Lately(4)  # several positions are asked of the same logs


def _broker(records: t.Sequence[Original | Copy], edges: Edges) -> Broker:
    return _BROKERS.of((records,), edges, lambda: Broker(records, edges))


def _record(record: Original | Copy, edges: Edges) -> Record:
    bare = record.text.partition("+")[0]
    stamped = record.stamped if isinstance(record, Copy) else edges.append_time
    return Record(record.offset, record.time, record.text.encode(), bare.encode(), stamped)


@functools.lru_cache(64)
def policy(options: Options) -> Policy:
    """The user's options as the rule takes them."""
    return Policy(**dataclasses.asdict(options))


class Logs:
    """Both clusters of a case, and what was read of them."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.source = _broker(case.source, case.source_edges)
        self.destination = _broker(case.destination, case.destination_edges)

    def question(self, shifts: tuple[int, ...] = ()) -> Question:
        return Question(
            self.case.committed,
            Log(self.source.facts, with_open=True),
            Log(self.destination.facts),
            policy(self.case.options),
            shifts,
        )

    def drive(self, rule: t.Callable[[Question], t.Any], question: Question) -> tuple[t.Any, int, int]:
        """The same as the function, with these logs."""
        return drive(rule, question, self.source, self.destination)


class Served(t.Protocol):
    """A partition that can be read."""

    def read(self, span: Span, uncommitted: bool = False) -> list[Record]:
        """The records of a range; at the source, from the last stable offset on, what transactions hold as well."""

    def lookup(self, time: int) -> int | None:
        """The first offset whose timestamp is at least this one."""


def drive(
    rule: t.Callable[[Question], t.Any], question: Question, source: Served, destination: Served
) -> tuple[t.Any, int, int]:
    """(answer, rounds, records read) of a rule that asks for what it needs; a need without end is an error."""
    rounds = records = 0
    while isinstance(answer := rule(question), Need):
        rounds += 1
        assert rounds < MOST_ROUNDS, f"no decision after {rounds} rounds; the last need was {answer}"
        records += serve(answer, question, source, destination)
    return answer, rounds, records


def serve(need: Need, question: Question, source: Served, destination: Served) -> int:
    """Read what is needed into the question's logs; how many records that were. To need nothing new is an error."""
    before, count = _known(question), 0
    assert all(time >= 0 for time in need.source_times + need.destination_times), "no broker looks up a negative time"
    for log, served, spans in (
        (question.source, source, need.source),
        (question.destination, destination, need.destination),
    ):
        for span in spans:
            records = served.read(span)
            count += len(records)
            log.add(span, records)
    for span in need.source_uncommitted:
        everything = source.read(span, uncommitted=True)
        count += len(everything)
        question.source.add(span, source.read(span))
        question.source.add_uncommitted(span, everything)
    question.source.lookups.update((time, source.lookup(time)) for time in need.source_times)
    question.destination.lookups.update((time, destination.lookup(time)) for time in need.destination_times)
    assert _known(question) != before, f"a need that brings nothing new: {need}"
    return count


def _known(question: Question) -> list[t.Any]:
    logs = question.source, question.destination
    return [(list(log.read), list(log.read_uncommitted), len(log.lookups)) for log in logs]


def digested(record: Record) -> Record:
    """The same with contents as long as fingerprints."""
    offset, time, fingerprint, bare, *others = record
    return Record(offset, time, _digest(fingerprint), _digest(bare), *others)


def digested_record(record: Original | Copy, edges: Edges) -> Record:
    """A record as Spark's workers take it."""
    return digested(_record(record, edges))


@functools.lru_cache(4096)
def _digest(content: bytes) -> bytes:
    return hashlib.md5(content, usedforsecurity=False).digest()
