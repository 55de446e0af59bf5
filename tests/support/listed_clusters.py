"""Two clusters that are lists in memory: the verification reads them in Kafka's place, and counts as it always does."""

import collections
import dataclasses
import time
import types
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._comparing.claims import Claim
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import Log, LogFacts
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._verification import (
    comparison,
    partition_units,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import BacklogRange
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.match_on import PARTS, MatchOn
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record, TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.report import Finding
from ansible_collections.streamshift.kafka.plugins.module_utils._model.spark import SparkOptions
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Absent
from ansible_collections.streamshift.kafka.plugins.module_utils._records.refusals import lost
from ansible_collections.streamshift.kafka.plugins.module_utils._records.scanning import RecordRun, Rows
from tests.support.swapped import swapped

SOURCE, DESTINATION = Connection("source", ("s:1",)), Connection("destination", ("d:1",))
AT = TopicPartition("orders", 0)


class Cluster(t.NamedTuple):
    """One partition. hidden: what open transactions hold. aborted: records of aborted transactions."""

    facts: LogFacts
    records: list[Record]
    hidden: t.Sequence[Record] = ()
    aborted: t.Sequence[Record] = ()


@dataclasses.dataclass
class Clusters:
    """Both, and which offsets of them were read how often. later: what they are when somebody looks again."""

    source: Cluster
    destination: Cluster
    later: t.Self | None = None
    reads: collections.Counter[tuple[str, int]] = dataclasses.field(default_factory=collections.Counter)
    expiring: list[int] = dataclasses.field(
        default_factory=list
    )  # so many records of the source go after each look at bounds

    def go_on(self, _seconds: float) -> None:
        if self.later is not None:
            self.source, self.destination, self.later = self.later.source, self.later.destination, self.later.later

    def of(self, connection: Connection) -> Cluster:
        return self.source if connection is SOURCE else self.destination

    def side(self, connection: Connection) -> types.SimpleNamespace:
        known = {AT: Log(self.of(connection).facts)}

        def learn_starts(_partitions: t.Any) -> bool:
            before, facts = known[AT].facts, self.of(connection).facts
            known[AT].learn(dataclasses.replace(before, log_start=max(before.log_start, facts.log_start)))
            if connection is DESTINATION and self.expiring:
                self._expire()
            return known[AT].facts.log_start > before.log_start

        if connection is DESTINATION and self.expiring:
            self._expire()
        return types.SimpleNamespace(logs=known, learn=lambda _partitions: None, learn_starts=learn_starts)

    def _expire(self) -> None:
        facts, records, hidden, aborted = self.source
        facts = dataclasses.replace(facts, log_start=facts.log_start + self.expiring.pop(0))
        self.source = Cluster(facts, [each for each in records if each.offset >= facts.log_start], hidden, aborted)

    def scan(self, connection: Connection, pieces: t.Any, *, committed: bool, parts: t.Any) -> t.Iterator[Rows]:
        cluster = self.of(connection)
        end = cluster.facts.end if committed else cluster.facts.high_watermark
        for piece in pieces:
            assert piece.start < piece.end <= end
            if piece.start < cluster.facts.log_start:
                raise lost(connection, piece.partition, f"offset {piece.start} is not in the log")
            self.reads.update((connection.name, offset) for offset in range(piece.start, piece.end))
            records = cluster.records
            if not committed:
                records = sorted([*records, *cluster.hidden, *cluster.aborted], key=lambda each: each.offset)
            its = [each for each in records if piece.start <= each.offset < piece.end]
            runs = [RecordRun(piece, 1, each.log_append_time) for each in its]
            yield Rows(
                runs,
                [each.offset for each in its],
                [each.timestamp for each in its],
                [each.fingerprint for each in its],
                [each.bare for each in its],
            )

    def findings(
        self,
        *claims: tuple[int, int, int | None],
        limit: int | None = None,
        parts: tuple[str, ...] = PARTS,
        absent: Absent | None = None,
        copied: BacklogRange | None = None,
    ) -> list[Finding]:
        """claims: offsets at the source and the destination, and how many repeats the plan says. absent: as it says, too.

        copied: by a copy of a backlog.
        """
        cases = [
            comparison.ClaimCase(Claim("g", ((AT, c),), ((AT, d),), repeats), MatchOn.of(parts), absent, copied)
            for c, d, repeats in claims
        ]
        fakes = (
            (comparison, "ClusterLogs", self.side),
            (partition_units, "scan", self.scan),
            (time, "sleep", self.go_on),
        )
        with swapped(fakes):
            return comparison.findings(cases, SOURCE, DESTINATION, limit, SparkOptions(java_home="/nowhere"))
