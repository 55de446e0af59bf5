# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Serve the rule with evidence: decide all questions, read what they still need, and decide again."""

from __future__ import annotations

import collections
import dataclasses
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._control import positions, topics
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.decide import decide
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import (
    Decision,
    Log,
    LogFacts,
    Need,
    Policy,
    Question,
    Span,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.progress import Say, counted, paced, silent
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._records import range_reader

PAUSE = 1.0  # seconds between two looks at a replication tool that lags
SAY_WAITING_EVERY = 5.0  # seconds


@dataclasses.dataclass(slots=True)
class ClusterLogs:
    """One cluster and what was read of it.

    parts are what fingerprints are made of; with leave_headers_out a record also matches without its headers. with_open: what
    open transactions hide is read, too, as it is at the source (see Log). records_read: how many were read, some of them more than once.
    """

    connection: Connection
    parts: tuple[str, ...] = ("key", "value", "headers")
    leave_headers_out: bool = True
    with_open: bool = False
    logs: dict[TopicPartition, Log] = dataclasses.field(default_factory=dict)
    records_read: int = 0

    def learn(self, partitions: t.Collection[TopicPartition]) -> None:
        """Read the edges of partitions, for the first time or again; what was read of their records is kept."""
        if not partitions:
            return
        settings = topics.topic_settings(self.connection, sorted({partition.topic for partition in partitions}))
        for partition, bounds in positions.partition_bounds(self.connection, sorted(partitions)).items():
            its = settings[partition.topic]
            facts = LogFacts(
                bounds.log_start,
                bounds.end,
                bounds.high_watermark,
                log_append_time=its.log_append_time,
                compacted=its.compacted,
                retention_ms=its.retention_ms,
            )
            log = self.logs.setdefault(partition, Log(facts, self.with_open))
            log.facts = facts
            # What was not there may have come since.
            log.lookups = {time: offset for time, offset in log.lookups.items() if offset is not None}

    def learn_starts(self, partitions: t.Collection[TopicPartition]) -> None:
        """Read again where these logs start: what has expired since they were learned may be missing in what was read."""
        if not partitions:
            return
        for partition, bounds in positions.partition_bounds(self.connection, sorted(partitions)).items():
            log = self.logs[partition]
            start = max(log.facts.log_start, min(bounds.log_start, log.facts.end))
            log.facts = dataclasses.replace(log.facts, log_start=start)

    def look_up(self, times: t.Mapping[TopicPartition, t.Iterable[int]]) -> None:
        """Ask for the first offset at or after each timestamp."""
        wanted = [(partition, time) for partition, each in times.items() for time in each]
        for (partition, time), offset in positions.lookup_all_times(self.connection, wanted).items():
            self.logs[partition].lookups[time] = offset

    def read(self, spans: t.Mapping[TopicPartition, t.Collection[Span]], committed: bool = True) -> None:
        """Read the records of spans, as a read_committed or read_uncommitted consumer sees them.

        After the last stable offset, which spans only reach with_open, everything is read uncommitted.
        """
        if self.with_open and committed:
            hidden = {at: _from(each, self.logs[at].facts.end) for at, each in spans.items()}
            self._read({at: each for at, each in hidden.items() if each}, False, as_visible=True)
            spans = {at: left for at, each in spans.items() if (left := _until(each, self.logs[at].facts.end))}
        self._read(spans, committed)

    def _read(
        self, spans: t.Mapping[TopicPartition, t.Collection[Span]], committed: bool, as_visible: bool = False
    ) -> None:
        if not spans:
            return
        wanted = {partition: sorted(set(each)) for partition, each in spans.items()}
        answers = range_reader.read_ranges(self.connection, wanted, committed=committed, parts=self.parts)
        for partition, found in answers.items():
            log = self.logs[partition]
            for start, end, records in found:
                self.records_read += len(records)
                if not self.leave_headers_out:
                    records = [record._replace(bare=record.digest) for record in records]
                (log.add if committed or as_visible else log.add_uncommitted)((start, end), records)


def _until(spans: t.Iterable[Span], end: int) -> list[Span]:
    return [(start, min(stop, end)) for start, stop in spans if start < end]


def _from(spans: t.Iterable[Span], begin: int) -> list[Span]:
    return [(max(start, begin), stop) for start, stop in spans if stop > begin]


class Case(t.NamedTuple):
    """A question of one entry: where a group that stands at `committed` belongs. shifts: see Question."""

    committed: int
    source: TopicPartition
    destination: TopicPartition
    shifts: tuple[int, ...] = ()


_Key = t.TypeVar("_Key")
_Answer = t.TypeVar("_Answer")


def settle(
    cases: t.Mapping[_Key, Case], source: ClusterLogs, destination: ClusterLogs, policy: Policy, say: Say = silent
) -> dict[_Key, Decision]:
    """Decide all cases by the rule, reading round by round for all of them together. The sides' logs must be known."""

    def rule(_its: _Key, question: Question) -> Decision | Need:
        return decide(question)

    return answer_all(cases, source, destination, policy, rule, say)


def answer_all(
    cases: t.Mapping[_Key, Case],
    source: ClusterLogs,
    destination: ClusterLogs,
    policy: Policy,
    rule: t.Callable[[_Key, Question], _Answer | Need],
    say: Say = silent,
) -> dict[_Key, _Answer]:
    """The same with another rule: what is answered of a case, or what has to be read before that."""
    answers: dict[_Key, _Answer] = {}
    say = paced(say)
    while True:
        needs: list[tuple[Case, Need]] = []
        for key, case in cases.items():
            if key in answers:
                continue
            logs = source.logs[case.source], destination.logs[case.destination]
            question = Question(case.committed, *logs, policy, case.shifts)
            answer = rule(key, question)
            if isinstance(answer, Need):
                needs.append((case, answer))
            else:
                answers[key] = answer
        if not needs:
            return answers
        say(_told([need for _case, need in needs]))
        source.look_up(_collected((case.source, need.source_times) for case, need in needs))
        source.read(_collected((case.source, need.source) for case, need in needs))
        source.read(_collected((case.source, need.source_uncommitted) for case, need in needs), committed=False)
        destination.look_up(_collected((case.destination, need.destination_times) for case, need in needs))
        destination.read(_collected((case.destination, need.destination) for case, need in needs))


def _told(needs: t.Sequence[Need]) -> str:
    """What will be read, in a line. Entries may share what they need, so that it is less in the end."""
    spans = [span for need in needs for its in (need.source, need.source_uncommitted, need.destination) for span in its]
    size = sum(end - start for start, end in spans)
    what = f"reading up to {counted(size, 'record')}" if size else "looking up timestamps"
    return f"{what} for {counted(len(needs), 'entry')}"


_Item = t.TypeVar("_Item")


def _collected(pairs: t.Iterable[tuple[TopicPartition, t.Iterable[_Item]]]) -> dict[TopicPartition, set[_Item]]:
    result: dict[TopicPartition, set[_Item]] = collections.defaultdict(set)
    for partition, items in pairs:
        result[partition].update(items)
    return {partition: items for partition, items in result.items() if items}
