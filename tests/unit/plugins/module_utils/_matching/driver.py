"""Asks decide() until it decides, and serves what it needs from logs that are complete in memory."""

import bisect
import dataclasses
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.decide import decide
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import (
    Decision,
    Log,
    LogFacts,
    Policy,
    Question,
    Span,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record
from tests.attack.broker import drive


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

    def read(self, span: Span, uncommitted: bool = False) -> list[Record]:
        """What a need asks for."""
        assert self.facts.log_start <= span[0] < span[1] <= self.facts.high_watermark, f"{span} is not in {self.facts}"
        return self.uncommitted(*span) if uncommitted else self.visible(*span)

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
    committed: int, source: FullLog, destination: FullLog, policy: Policy | None = None, shifts: tuple[int, ...] = ()
) -> Settled:
    """Serve every Need until there is a Decision."""
    logs = Log(source.facts, with_open=True), Log(destination.facts)
    return Settled(*drive(decide, Question(committed, *logs, policy or Policy(), shifts), source, destination))
