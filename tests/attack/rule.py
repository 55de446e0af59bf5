# SPDX-License-Identifier: GPL-3.0-or-later

"""The one place that calls the rule: every way to an answer, driven from a case whose logs are in memory."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib
import itertools
import pkgutil
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils import _matching
from ansible_collections.streamshift.kafka.plugins.module_utils._matching import counting, group_count
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.decide import decide
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import Decision, Need, Question
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.log_reader import NotRead, Reader
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.whole import count_logs as count_whole
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.whole import decide_counted
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._spark import by_hand
from tests.attack.broker import Broker, Logs, digested
from tests.attack.case import Case, Lately
from tests.support.listed_clusters import Cluster, Clusters
from tests.support.swapped import Swap, swapped

# What decides how much is read, so that logs of a few records come to the branches for thousands; two ways, as small
# windows hide what large ones show. What makes a proof (how many records must differ, for instance) is left as it is.
LESS: dict[int, dict[str, t.Any]] = {
    0: {},
    1: {
        "SMALL": 0, "WIDTH": 2, "MARGIN": 2, "WINDOW": 4, "SHORT": 4, "LONGEST": 64, "_FIRST_SPAN": 4, "_GLANCE": 8,
        "_PARTS": 3, "_CLOSE": 2,
    },
    2: {"SMALL": 0, "SHORT": 4, "_GLANCE": 16, "_PARTS": 4},
}  # fmt: skip


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
    with swapped(less(scaled)):
        yield


@functools.cache
def less(scaled: int) -> list[Swap]:
    """What thresholds() changes."""
    names = [found.name for found in pkgutil.iter_modules(_matching.__path__)]
    modules = [importlib.import_module(f"{_matching.__name__}.{name}") for name in names]
    return [(module, *its) for module in modules for its in LESS[scaled].items() if its[0] in vars(module)]


def answer_of(decision: Decision, rounds: int = 0, records: int = 0) -> Answer:
    """In the words of an Answer."""
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
    return answer_of(*logs.drive(decide, question))


def whole(case: Case) -> Answer:
    """What is said when both logs were read whole."""
    logs, read = _of_these_logs(_read_whole, case)
    question = dataclasses.replace(read, committed=case.committed)

    def rule(question: Question) -> Decision | Need:
        reader = Reader(question)
        try:
            counted = count_whole(reader)
        except NotRead:
            return reader.need()
        return decide_counted(question, counted)

    return answer_of(*logs.drive(rule, question))


_Read = t.TypeVar("_Read")
_READ: Lately[t.Any] = Lately(16)


def _of_these_logs(read: t.Callable[[Case], _Read], case: Case) -> _Read:
    """What reading the logs of a case has given; once for the positions of a world."""
    rest = case.source_edges, case.destination_edges, case.options, case.scaled
    return t.cast(_Read, _READ.of((read, case.source, case.destination), rest, lambda: read(case)))


def _read_whole(case: Case) -> tuple[Logs, Question]:
    logs = Logs(case)
    question = logs.question()
    for log, broker in ((question.source, logs.source), (question.destination, logs.destination)):
        if broker.edges.start < log.end:
            span = broker.edges.start, log.end
            log.add(span, broker.read(span))
    return logs, question


def _both_counted(case: Case) -> counting.Logs:
    """Both logs, ready to be counted."""
    logs = Logs(case)
    edges = case.destination_edges
    return counting.Logs(
        counting.LogSet([logs.source.with_open], (0,), (logs.source.edges.end,)),
        counting.LogSet([logs.destination.visible], (edges.start,), (edges.end,)),
        timestamps=case.options.with_timestamp,
        stable=(logs.source.facts.end,),
        lossy=logs.source.facts.is_lossy,
    )


def count(case: Case) -> Answer:
    """What counting the contents of both whole logs says."""
    return _said(case, _counted(case))


def _counted(case: Case) -> group_count.Answer:
    (found,) = _of_these_logs(_both_counted, case).count([(case.committed,)])
    return found.answers[0]


def may_skip(case: Case, offset: int) -> bool:
    """Does this offset skip records by the definition, which takes an equal record for the copy of one without a copy?"""
    wanted = _counted(case).first_wanted
    return wanted is not None and offset > wanted


def count_by_spark(cases: t.Sequence[Case]) -> list[Answer]:
    """The same as Spark's workers count it, for many cases at once, those of one world in a row. They compare times."""
    worlds, stable, lossy = [], list[int](), list[int]()
    for _logs, several in itertools.groupby(cases, lambda its: (its.source, its.destination, its.source_edges)):
        its = list(several)
        source, destination = (
            Broker(its[0].source, its[0].source_edges),
            Broker(its[0].destination, its[0].destination_edges),
        )
        logs = (tuple(map(digested, source.with_open)),), (tuple(map(digested, destination.visible)),)
        commits = tuple((case.committed,) for case in its)
        worlds.append(by_hand.World(*logs, (destination.edges.end,), commits))
        lossy += [len(stable)] * source.facts.is_lossy
        stable.append(source.facts.end)
    found = by_hand.count_directly(worlds, True, 1, without_headers=True, stable=stable, lossy=lossy, only_doubled=True)
    return [_said(case, its.answers[0]) for case, its in zip(cases, found, strict=True)]


def _said(case: Case, found: group_count.Answer) -> Answer:
    lost = case.source_edges.compacted or case.committed < case.source_edges.start
    if case.committed == 0:
        return Answer("exact", case.destination_edges.start, 0)
    if not found.arrived:
        return Answer("blocked", None, None, "destination_lags", found.offset, decision=found)
    if found.at_most or lost:
        return Answer("safe", found.offset, found.at_most, "source_lost_records" if lost else None, decision=found)
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
    return answer_of(*logs.drive(decide, logs.question(shifts)))
