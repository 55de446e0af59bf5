# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Asks decide() until it decides, and serves what it needs from logs that are complete in memory."""

from __future__ import annotations

import bisect
import dataclasses
import typing as t

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
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record

MOST_ROUNDS = 200


@dataclasses.dataclass
class FullLog:
    """A whole log: `records` are the visible ones by offset, `aborted` those that only read_uncommitted shows.

    At the source, `records` also holds those that an open transaction hides, after the last stable offset.

    Markers and records that compaction took are gaps between the offsets.
    """

    facts: LogFacts
    records: list[Record]
    aborted: list[Record] = dataclasses.field(default_factory=list)

    def visible(self, start: int, end: int) -> list[Record]:
        low = bisect.bisect_left(self.records, start, key=lambda r: r.offset)
        return self.records[low : bisect.bisect_left(self.records, end, key=lambda r: r.offset)]

    def uncommitted(self, start: int, end: int) -> list[Record]:
        aborted = [record for record in self.aborted if start <= record.offset < end]
        return sorted([*self.visible(start, end), *aborted], key=lambda r: r.offset)

    def lookup(self, timestamp: int) -> int | None:
        """As the broker answers: the first offset in log order whose timestamp is at least this one; aborted data too."""
        everything = self.uncommitted(self.facts.log_start, self.facts.high_watermark)
        return next((record.offset for record in everything if record.timestamp >= timestamp), None)


class Settled(t.NamedTuple):
    """The decision, the rounds of reading before it, and the records read on both sides (each span as it was asked for)."""

    decision: Decision
    rounds: int
    records_read: int


def settle(
    committed: int,
    source: FullLog,
    destination: FullLog,
    policy: Policy | None = None,
    shifts: tuple[int, ...] = (),
) -> Settled:
    """Serve every Need until there is a Decision; a Need that is empty, out of bounds or without end is an error."""
    question = Question(
        committed, Log(source.facts, with_open=True), Log(destination.facts), policy or Policy(), shifts
    )
    records_read = 0
    for rounds in range(MOST_ROUNDS):
        answer = decide(question)
        if isinstance(answer, Decision):
            return Settled(answer, rounds, records_read)
        times = answer.source_times + answer.destination_times
        assert all(time >= 0 for time in times), "no broker looks up a negative time"
        records_read += serve(answer, question, source, destination)
    raise AssertionError(f"no decision after {MOST_ROUNDS} rounds; the last need was {answer}")


def serve(need: Need, question: Question, source: FullLog, destination: FullLog) -> int:
    """Read what is needed into the question's logs; how many records that were."""
    before = _size(question)
    count = 0
    for log, full, spans in (
        (question.source, source, need.source),
        (question.destination, destination, need.destination),
    ):
        for span in spans:
            _check(span, full, log)
            records = full.visible(*span)
            count += len(records)
            log.add(span, records)
    for span in need.source_uncommitted:
        _check(span, source, question.source)
        visible, everything = source.visible(*span), source.uncommitted(*span)
        count += len(everything)
        question.source.add(span, visible)
        question.source.add_uncommitted(span, everything)
    question.source.lookups.update((time, source.lookup(time)) for time in need.source_times)
    question.destination.lookups.update((time, destination.lookup(time)) for time in need.destination_times)
    assert _size(question) != before, f"a need that brings nothing new: {need}"
    return count


def _check(span: Span, full: FullLog, log: Log) -> None:
    assert full.facts.log_start <= span[0] < span[1] <= log.end, f"span {span} is empty or beyond {full.facts}"


def _size(question: Question) -> list[int]:
    return [
        measure
        for log in (question.source, question.destination)
        for measure in (
            sum(end - start for start, end in log.read),
            sum(end - start for start, end in log.read_uncommitted),
            len(log.lookups),
        )
    ]
