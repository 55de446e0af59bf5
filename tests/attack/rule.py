# SPDX-License-Identifier: GPL-3.0-or-later

"""The one place that calls the rule: every way to an answer, driven from a case whose logs are in memory."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import importlib
import itertools
import operator
import pkgutil
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils import _matching
from ansible_collections.streamshift.kafka.plugins.module_utils._matching import counting, group_count
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.decide import decide
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import (
    Decision,
    Log,
    Need,
    Policy,
    Question,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.group_count import GroupCount
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.log_reader import NotRead, Reader
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.merged import (
    Position,
    Sources,
    blocked_by_one,
    decide_merged,
    young_from,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.whole import count_logs as count_whole
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.whole import decide_counted
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning.merged_counts import (
    found_in,
    missing_records,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record, TopicPartition
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._spark import by_hand
from tests.attack.broker import Broker, Logs, policy
from tests.attack.case import Case
from tests.attack.merged import Merged
from tests.support.listed_clusters import Cluster, Clusters

# What decides how much is read, so that logs of a few records come to the branches for thousands; two ways, as small
# windows hide what large ones show. What makes a proof (how many records must differ, for instance) is left as it is.
LESS: dict[int, dict[str, t.Any]] = {
    0: {},
    1: {
        "SMALL": 0,
        "WIDTH": 2,
        "MARGIN": 2,
        "WINDOW": 4,
        "SHORT": 4,
        "LONGEST": 64,
        "_FIRST_SPAN": 4,
        "_GLANCE": 8,
        "_PARTS": 3,
        "_CLOSE": 2,
    },
    2: {"SMALL": 0, "SHORT": 4, "_GLANCE": 16, "_PARTS": 4},
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
    """Within it the rule reads as little at a time as LESS says; 0 for what it is."""
    before: list[tuple[t.Any, str, t.Any]] = []
    try:
        for module in _modules():
            for name, value in LESS[scaled].items():
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


def _answer(decision: Decision, rounds: int = 0, records: int = 0) -> Answer:
    reason = None if decision.reason is None else decision.reason.value
    return Answer(
        decision.verdict.value,
        decision.offset,
        decision.repeats,
        reason,
        decision.lossless_offset,
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
    logs, read = _of_these_logs(_read_whole, case)
    question = dataclasses.replace(read, committed=case.committed)

    def rule(question: Question) -> Decision | Need:
        reader = Reader(question)
        try:
            counted = count_whole(reader, question)
        except NotRead:
            return reader.need()
        return decide_counted(question, counted)

    return _answer(*logs.drive(rule, question))


_Read = t.TypeVar("_Read")
_LAST: dict[t.Any, tuple[Case, t.Any]] = {}


def _of_these_logs(read: t.Callable[[Case], _Read], case: Case) -> _Read:
    """What reading the logs of a case has given; once for all positions that follow one another in a world."""
    last = _LAST.get(read)
    if last is None or not (
        last[0].source is case.source
        and last[0].destination is case.destination
        and dataclasses.replace(last[0], committed=case.committed, to_come=case.to_come) == case
    ):
        last = _LAST[read] = case, read(case)
    return t.cast(_Read, last[1])


def _read_whole(case: Case) -> tuple[Logs, Question]:
    logs = Logs(case)
    question = logs.question()
    for log, broker in ((question.source, logs.source), (question.destination, logs.destination)):
        if broker.edges.start < log.end:
            span = broker.edges.start, log.end
            log.add(span, broker.read(span))
    return logs, question


def _both_counted(case: Case) -> counting.Logs:
    """Both logs, ready to be counted; without headers where the tool adds some."""
    logs = Logs(case)
    source = logs.source.with_open
    edges = case.destination_edges

    def made(name: str) -> counting.Logs:
        return counting.Logs(
            counting.LogSet([source], (0,), (logs.source.edges.end,)),
            counting.LogSet([logs.destination.visible], (edges.start,), (edges.end,)),
            operator.attrgetter(name),
            timestamps=case.options.with_timestamp,
            stable=(logs.source.facts.end,),
            expired=case.source_edges.start > 0,
            compacted=case.source_edges.compacted,
        )

    contents = {record.fingerprint for record in source}
    bare = {record.bare for record in source}
    full = sum(record.fingerprint in contents for record in logs.destination.visible)
    return made("bare" if sum(record.bare in bare for record in logs.destination.visible) > full else "fingerprint")


def count(case: Case) -> Answer:
    """What counting the contents of both whole logs says."""
    (found,) = _of_these_logs(_both_counted, case).count([(case.committed,)])
    return _said(case, found.answers[0])


def count_by_spark(cases: t.Sequence[Case]) -> list[Answer]:
    """The same as Spark's workers count it, for many cases at once, those of one world in a row. They compare times."""
    worlds, stable, expired = [], list[int](), list[int]()
    for _logs, several in itertools.groupby(cases, lambda its: (its.source, its.destination, its.source_edges)):
        its = list(several)
        source, destination = (
            Broker(its[0].source, its[0].source_edges),
            Broker(its[0].destination, its[0].destination_edges),
        )
        logs = (tuple(map(digested, source.with_open)),), (tuple(map(digested, destination.visible)),)
        commits = tuple((case.committed,) for case in its)
        worlds.append(by_hand.World(*logs, (destination.edges.end,), commits))
        expired += [len(stable)] * (source.facts.log_start > 0)
        stable.append(source.facts.end)
    found = by_hand.count_directly(
        worlds, True, 1, without_headers=True, stable=stable, expired=expired, only_doubled=True
    )
    return [_said(case, its.answers[0]) for case, its in zip(cases, found, strict=True)]


def _said(case: Case, found: group_count.Answer) -> Answer:
    lost = case.source_edges.compacted or case.committed < case.source_edges.start
    if case.committed == 0:
        return Answer("exact", case.destination_edges.start, 0)
    if not found.arrived:
        return Answer("blocked", None, None, "destination_lags", found.offset, decision=found)
    if found.repeats or found.to_come or lost:
        return Answer(
            "safe", found.offset, found.repeats + found.to_come, "source_lost_records" if lost else None, decision=found
        )
    return Answer("exact", found.offset, 0, decision=found)


def verify(case: Case, offsets: t.Iterable[int]) -> list[tuple[int, int]]:
    """(skipped, repeated) of each of these offsets, as kafka_offset_verify finds them when it reads both logs whole."""
    logs = Logs(case)
    source, destination = logs.source, logs.destination
    stable = source.facts.end
    clusters = Clusters(
        Cluster(source.facts, source.visible, [record for record in source.with_open if record.offset >= stable]),
        Cluster(destination.facts, destination.visible),
    )
    # A user who leaves timestamps out names the parts that count; tools may change headers in these worlds.
    parts = () if case.options.with_timestamp else ("key", "value")
    found = clusters.findings(*((case.committed, offset, 0) for offset in offsets), parts=parts)
    return [(its.skipped, its.repeated) for its in found]


def by_notes(case: Case, shifts: tuple[int, ...]) -> Answer:
    """What strategy mirror_maker says, that knows of these differences of offsets."""
    logs = Logs(case)
    return _answer(*logs.drive(decide, logs.question(shifts)))


def merged(topics: t.Sequence[Merged]) -> list[list[Answer]]:
    """What is said of each destination partition of repartitioned or merged topics; positions of one topic together."""
    several = [
        (_Sides.of(its[0]), its)
        for its in (list(group) for _copies, group in itertools.groupby(topics, lambda its: id(its.copies)))
    ]
    result: list[list[Answer]] = []
    counts: dict[int, GroupCount] = {}
    for timestamps in (True, False):
        asked = [
            (sides, [position for position in its if sides.refused(position) is None])
            for sides, its in several
            if sides.policy.with_timestamp is timestamps
        ]
        worlds = [sides.world(its) for sides, its in asked if its]
        stable = [broker.facts.end for sides, its in asked if its for broker in sides.source]
        lossy = [sides.is_lossy for sides, its in asked if its]
        expired = [number for number, its in enumerate(lossy) if its]
        found = (
            by_hand.count_directly(worlds, timestamps, 1, without_headers=True, stable=stable, expired=expired)
            if worlds
            else []
        )
        counts |= {
            id(position): count for position, count in zip((p for _s, its in asked for p in its), found, strict=True)
        }
    for sides, its in several:
        for position in its:
            no = sides.refused(position)
            result.append(
                [_answer(no)] * len(position.copies)
                if no is not None
                else sides.answers(position, counts[id(position)])
            )
    return result


class _Sides(t.NamedTuple):
    """Both clusters of a merged topic."""

    source: list[Broker]
    destination: list[Broker]
    policy: Policy

    @classmethod
    def of(cls, its: Merged) -> t.Self:
        sources = [Broker(case.source, case.source_edges) for case in its.sources]
        destinations = [
            Broker([copy for copy, _number in copies], edges)
            for copies, edges in zip(its.copies, its.edges, strict=True)
        ]
        return cls(sources, destinations, policy(its.sources[0].options))

    @property
    def is_lossy(self) -> bool:
        """May the source have lost records?"""
        return any(broker.facts.log_start > 0 or broker.facts.compacted for broker in self.source)

    def positions(self, its: Merged) -> tuple[Position, ...]:
        """Where a group stands."""
        return tuple(
            Position(
                TopicPartition("t", number),
                None if number in its.uncommitted else case.committed,
                case.committed,
                broker.facts,
            )
            for number, (case, broker) in enumerate(zip(its.sources, self.source, strict=True))
        )

    def refused(self, its: Merged) -> Decision | None:
        """What a single source partition decides."""
        return blocked_by_one(self.positions(its))

    def world(self, groups: t.Iterable[Merged]) -> by_hand.World:
        """As Spark reads it."""
        return by_hand.World(
            tuple(tuple(map(digested, broker.with_open)) for broker in self.source),
            tuple(tuple(map(digested, broker.visible)) for broker in self.destination),
            tuple(broker.edges.end for broker in self.destination),
            tuple(tuple(case.committed for case in its.sources) for its in groups),
        )

    def answers(self, its: Merged, counts: GroupCount) -> list[Answer]:
        """What is decided from what was counted."""
        positions = self.positions(its)
        sources = Sources(positions, missing_records(positions, counts))
        answers = []
        for number, broker in enumerate(self.destination):
            log = Log(broker.facts)
            log.add((broker.facts.log_start, broker.facts.end), broker.visible)
            young = young_from(sources, self.policy.now)
            log.lookups.update({} if young is None else {young: broker.lookup(young)})
            found = found_in(sources, counts, number, log, self.policy)
            answers.append(_answer(decide_merged(sources, found, broker.facts, self.policy)))
        return answers


def digested(record: Record) -> Record:
    return record._replace(fingerprint=_digest(record.fingerprint), bare=_digest(record.bare))


@functools.lru_cache(4096)
def _digest(content: bytes) -> bytes:
    return hashlib.md5(content, usedforsecurity=False).digest()
