# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A committed offset in a pair of logs, with the whole truth: which source record every destination record is a copy of."""

from __future__ import annotations

import dataclasses

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import LogFacts, Policy
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.driver import FullLog

NOON = 10_000_000_000  # some time, in milliseconds since the epoch
HOUR = 3_600_000
KEPT = 1_000_000  # the stage at which a record is lost that is never lost


@dataclasses.dataclass(frozen=True, slots=True)
class Written:
    """What a producer once wrote at the source, lost or not.

    kind: data, aborted (data of an aborted transaction), open (of one that is still open) or marker.
    text: what stands in the record; what follows a "+" are its headers.
    compacted: the stage in which compaction took it.
    """

    offset: int
    kind: str
    timestamp: int
    text: str = ""
    compacted: int = KEPT


@dataclasses.dataclass(frozen=True, slots=True)
class Arrived:
    """A visible record at the destination; origin is the source offset that it is a copy of, None: foreign."""

    offset: int
    timestamp: int
    text: str
    origin: int | None


@dataclasses.dataclass(frozen=True)
class Scenario:
    """A committed offset, what its source once held and lost, what stands at the destination, and how it came there.

    expired: the source's log start; stage: the last one, so that what was compacted by then is gone.
    traits: what the replication tool and the logs went through, for reports and for choosing classes of scenarios.
    """

    committed: int
    written: tuple[Written, ...]
    source_facts: LogFacts
    stage: int
    arrived: tuple[Arrived, ...]
    aborted_copies: tuple[Arrived, ...]
    destination_facts: LogFacts
    source_append_time: bool = False
    policy: Policy = dataclasses.field(default_factory=Policy)
    traits: frozenset[str] = frozenset()

    def source(self) -> FullLog:
        """The source as it can be read now."""
        facts = self.source_facts
        left = [w for w in self.written if facts.log_start <= w.offset and w.compacted > self.stage]
        late = self.source_append_time
        return FullLog(
            facts,
            [_record(w.offset, w.timestamp, w.text, late) for w in left if self.counts(w)],
            [
                _record(w.offset, w.timestamp, w.text, late)
                for w in left
                if w.kind == "aborted" and w.offset < facts.end
            ],
        )

    def counts(self, written: Written) -> bool:
        """Can a consumer at the source read this record, or may it still become so, because its transaction is open?"""
        return written.kind == "data" or (written.kind != "marker" and written.offset >= self.source_facts.end)

    def destination(self) -> FullLog:
        """The destination as it can be read now."""
        late = self.destination_facts.log_append_time
        return FullLog(
            self.destination_facts,
            [_record(a.offset, a.timestamp, a.text, late) for a in self.arrived],
            [_record(a.offset, a.timestamp, a.text, late) for a in self.aborted_copies],
        )

    def __str__(self) -> str:
        lost = self.source_facts.log_start
        source = " ".join(
            ("C=>" if w.offset == self.committed else "")
            + f"{w.offset}:{w.text or w.kind}@{w.timestamp - NOON if w.timestamp >= 0 else 'none'}"
            + {"data": "", "aborted": "(aborted)", "open": "(open)", "marker": ""}[w.kind]
            + ("(lost)" if w.offset < lost or w.compacted <= self.stage else "")
            for w in self.written
        )
        destination = " ".join(
            f"{a.offset}:{a.text}@{a.timestamp - NOON if a.timestamp >= 0 else 'none'}"
            + (f"<{a.origin}" if a.origin is not None else "(foreign)")
            for a in self.arrived
        )
        return (
            f"C = {self.committed}, traits: {' '.join(sorted(self.traits))}\n  {self.policy}\n"
            f"  source      {self.source_facts}\n    {source}\n"
            f"  destination {self.destination_facts}\n    {destination}\n"
            + (f"    aborted: {[(a.offset, a.text) for a in self.aborted_copies]}\n" if self.aborted_copies else "")
        )


def _record(offset: int, timestamp: int, text: str, log_append_time: bool) -> Record:
    bare = text.partition("+")[0]
    return Record(offset, timestamp, text.encode(), bare.encode(), log_append_time)
