# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The one place that calls the rule: every way to an answer, driven from a case whose logs are in memory."""

from __future__ import annotations

import bisect
import contextlib
import dataclasses
import importlib
import operator
import pkgutil
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils import _matching
from ansible_collections.streamshift.kafka.plugins.module_utils._matching import counting
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.decide import decide
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import (
    Anchor,
    Decision,
    Log,
    LogFacts,
    Need,
    Policy,
    Question,
    Span,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.shifted import goes_on
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.survey import decide_surveyed
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.drafts import Draft
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.identical import entries
from ansible_collections.streamshift.kafka.plugins.module_utils._model.groups import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record, TopicPartition
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.driver import FullLog
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.surveyor import usual_survey
from tests.attack.case import Case, Copy, Edges, Original

MOST_ROUNDS = 300

# What decides how much is read, so that logs of a few records come to the branches for thousands; two ways, as small
# windows hide what large ones show. What makes a proof (how many records must differ, for instance) is left as it is.
SMALL: dict[int, dict[str, t.Any]] = {
    0: {},
    1: {
        "WIDTHS": (2, 4, 8, 32),
        "_REPEATED": 8,
        "MARGIN": 2,
        "WINDOW": 4,
        "SHORT": 4,
        "LONGEST": 64,
        "_FIRST_SPAN": 4,
        "_GLANCE": 8,
        "_MOST_ALIGNED": 16,
        "_MOST_READ": 32,
    },
    2: {"WIDTHS": (4, 8, 64, 256), "SHORT": 4, "_GLANCE": 16},
}


class Answer(t.NamedTuple):
    """What a way has come to, in words that outlive changes of the rule; rounds and records read are 0 where none count."""

    verdict: str
    offset: int | None
    repeats: int | None
    reason: str | None = None
    lossless: int | None = None
    rounds: int = 0
    records: int = 0
    decision: t.Any = None

    def __str__(self) -> str:
        words = [self.verdict, *(str(each) for each in (self.offset, self.reason) if each is not None)]
        if self.verdict == "safe":
            words.append("repeats " + ("unknown" if self.repeats is None else f"<= {self.repeats}"))
        if self.lossless is not None:
            words.append(f"lossless {self.lossless}")
        return " ".join(words)


@contextlib.contextmanager
def thresholds(scaled: int) -> t.Iterator[None]:
    """Within it the rule reads as little at a time as SMALL says; 0 for what it is."""
    before: list[tuple[t.Any, str, t.Any]] = []
    try:
        for module in _modules():
            for name, value in SMALL[scaled].items():
                if name in vars(module):
                    before.append((module, name, vars(module)[name]))
                    setattr(module, name, value)
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)


def _modules() -> list[t.Any]:
    if not _MODULES:
        names = [found.name for found in pkgutil.iter_modules(_matching.__path__)]
        _MODULES.extend(importlib.import_module(f"{_matching.__name__}.{name}") for name in names)
    return _MODULES


_MODULES: list[t.Any] = []


class Broker:
    """One partition, as a broker serves it: isolation levels, and time look-ups that see every batch."""

    def __init__(self, records: t.Sequence[Original | Copy], edges: Edges) -> None:
        self.edges = edges
        self.facts = LogFacts(
            edges.start, edges.stable, edges.end, edges.append_time, edges.compacted, edges.retention_ms
        )
        there = [r for r in records if not getattr(r, "gone", False) and edges.start <= r.offset < edges.end]
        self._times = [(r.offset, r.time) for r in there if r.offset < edges.stable]
        self.everything = [_record(r, edges) for r in there if r.kind != "marker"]
        self.visible = [_record(r, edges) for r in there if r.kind == "data" and r.offset < edges.stable]

    def read(self, span: Span, uncommitted: bool = False) -> list[Record]:
        start, end = span
        assert self.edges.start <= start < end <= self.edges.end, f"span {span} is empty or outside of {self.edges}"
        records = self.everything if uncommitted else self.visible
        low = bisect.bisect_left(records, start, key=lambda r: r.offset)
        return records[low : bisect.bisect_left(records, end, low, key=lambda r: r.offset)]

    def lookup(self, time: int) -> int | None:
        """The first offset whose timestamp is at least this one; control records and aborted data count."""
        return next((offset for offset, stamp in self._times if stamp >= time), None)


_LAST: list[tuple[t.Sequence[Original | Copy], Edges, Broker]] = []  # several positions are asked of the same logs


def _broker(records: t.Sequence[Original | Copy], edges: Edges) -> Broker:
    for its_records, its_edges, broker in _LAST:
        if its_records is records and its_edges == edges:
            return broker
    broker = Broker(records, edges)
    _LAST[:] = [*_LAST[-3:], (records, edges, broker)]
    return broker


def _record(record: Original | Copy, edges: Edges) -> Record:
    bare = record.text.partition("+")[0]
    stamped = record.stamped if isinstance(record, Copy) else edges.append_time
    return Record(record.offset, record.time, record.text.encode(), bare.encode(), stamped)


class Logs:
    """Both clusters of a case, and what was read of them."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.source = _broker(case.source, case.source_edges)
        self.destination = _broker(case.destination, case.destination_edges)

    def question(self, shifts: tuple[int, ...] = ()) -> Question:
        policy = Policy(**dataclasses.asdict(self.case.options))
        return Question(self.case.committed, Log(self.source.facts), Log(self.destination.facts), policy, shifts)

    def serve(self, need: Need, question: Question) -> int:
        """Read what is needed into the question's logs; how many records that were."""
        assert need != Need(), "an empty need"
        count = 0
        for log, broker, spans in (
            (question.source, self.source, need.source),
            (question.destination, self.destination, need.destination),
        ):
            for span in spans:
                records = broker.read(span)
                count += len(records)
                log.add(span, records)
        for span in need.source_uncommitted:
            everything = self.source.read(span, uncommitted=True)
            count += len(everything)
            question.source.add(span, self.source.read(span))
            question.source.add_uncommitted(span, everything)
        question.source.lookups.update((time, self.source.lookup(time)) for time in need.source_times)
        question.destination.lookups.update((time, self.destination.lookup(time)) for time in need.destination_times)
        return count

    def drive(self, rule: t.Callable[[Question], t.Any], question: Question) -> tuple[t.Any, int, int]:
        """(answer, rounds, records read) of a rule that asks for what it needs."""
        rounds = records = 0
        while isinstance(answer := rule(question), Need):
            rounds += 1
            assert rounds < MOST_ROUNDS, f"no decision after {rounds} rounds; the last need was {answer}"
            records += self.serve(answer, question)
        return answer, rounds, records


def _answer(decision: Decision, rounds: int = 0, records: int = 0) -> Answer:
    reason = None if decision.reason is None else decision.reason.value
    return Answer(
        decision.verdict.value,
        decision.offset,
        decision.repeats,
        reason,
        decision.lossless,
        rounds,
        records,
        decision,
    )


def near(case: Case, others: t.Iterable[int] = ()) -> Answer:
    """What decide() says. others: committed offsets of other groups of the partition, which were decided before."""
    logs = Logs(case)
    question = logs.question()
    for other in others:
        logs.drive(decide, dataclasses.replace(question, committed=other))
    return _answer(*logs.drive(decide, question))


def whole(case: Case) -> Answer:
    """What is said when both logs were read whole."""
    logs = Logs(case)
    full = [FullLog(broker.facts, broker.visible, []) for broker in (logs.source, logs.destination)]
    question = logs.question()
    made = usual_survey(full[0], full[1], {case.committed}, question.policy)
    decision, rounds, records = logs.drive(lambda asked: decide_surveyed(asked, made), question)
    return _answer(decision, rounds, records)


def _counted(case: Case) -> counting.Logs:
    """Both logs, ready to be counted; without headers where the tool adds some."""
    logs = Logs(case)
    stable = case.source_edges.stable
    source = [*logs.source.visible, *(r for r in logs.source.everything if r.offset >= stable)]
    edges = case.destination_edges

    def made(name: str) -> counting.Logs:
        return counting.Logs(
            source,
            logs.destination.visible,
            operator.attrgetter(name),
            timestamps=case.options.with_timestamp,
            start=edges.start,
            end=edges.end,
        )

    contents = {record.digest for record in source}
    bare = {record.bare for record in source}
    full = sum(record.digest in contents for record in logs.destination.visible)
    return made("bare" if sum(record.bare in bare for record in logs.destination.visible) > full else "digest")


def count(case: Case) -> Answer:
    """What counting the contents of both whole logs says."""
    if case.committed == 0:
        return Answer("exact", case.destination_edges.start, 0)
    found = _counted(case).answer(case.committed)
    lost = case.source_edges.compacted or case.committed < case.source_edges.start
    if not found.arrived:
        return Answer("blocked", None, None, "destination_lags", found.offset, decision=found)
    if found.repeats or lost:
        return Answer("safe", found.offset, found.repeats, "source_lost_records" if lost else None, decision=found)
    return Answer("exact", found.offset, 0, decision=found)


def verify(case: Case, offsets: t.Iterable[int]) -> list[tuple[int, int]]:
    """(skipped, repeated) of each of these offsets, as the verification counts them."""
    logs = _counted(case)
    judged = [logs.judge(case.committed, offset) for offset in offsets]
    return [(its.skipped, its.repeated) for its in judged]


def by_notes(case: Case, shifts: tuple[int, ...]) -> Answer:
    """What strategy mirror_maker says, that knows of these differences of offsets."""
    logs = Logs(case)
    return _answer(*logs.drive(decide, logs.question(shifts)))


def identical(case: Case) -> Answer:
    """What strategy identical says, for another cluster."""
    partition = TopicPartition("orders", 0)
    committed = CommittedOffset(case.committed)
    draft = Draft("group", partition, "group", partition, committed)
    logs = Logs(case)
    sides = [_Side(partition, broker) for broker in (logs.source, logs.destination)]
    [entry] = entries({draft.key: draft}, *t.cast(t.Any, sides), same_cluster=False).values()
    reason = None if entry.reason is None else entry.reason.value
    return Answer(entry.verdict.value, entry.offset, entry.repeats, reason)


class _Side:
    """As much of reading.Side as identical.py needs."""

    def __init__(self, partition: TopicPartition, broker: Broker) -> None:
        self.logs, self.broker = {partition: Log(broker.facts)}, broker

    def read(self, spans: dict[TopicPartition, set[Span]], committed: bool = True) -> None:
        for partition, wanted in spans.items():
            for span in wanted:
                if committed:
                    self.logs[partition].add(span, self.broker.read(span))
                else:
                    self.logs[partition].add_uncommitted(span, self.broker.read(span, uncommitted=True))


def kept(earlier: Answer, now: Case) -> Answer | None:
    """The earlier answer, where a plan would keep it for a group that has not moved, though the world has; else None."""
    decision = earlier.decision
    anchor = decision.after or decision.before
    if earlier.verdict != "exact" or anchor is None:
        return None
    logs = Logs(now)
    question = dataclasses.replace(logs.question(), committed=0, policy=Policy())
    timestamp = "timestamp" in decision.matched_by

    def rule(asked: Question) -> bool | Need:
        return goes_on(asked, Anchor(*dataclasses.astuple(anchor)), timestamp)

    holds, rounds, records = logs.drive(rule, question)
    return earlier._replace(rounds=rounds, records=records) if holds else None
