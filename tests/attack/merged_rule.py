# SPDX-License-Identifier: GPL-3.0-or-later

"""What the rule says of repartitioned and merged topics whose logs are in memory."""

from __future__ import annotations

import itertools
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import Decision, Log, Policy
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.group_count import GroupCount
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.merged import (
    Position,
    Sources,
    blocked_by_one,
    decide_merged,
    young_from,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning.merged_counts import (
    found_in,
    missing_records,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._spark import by_hand
from tests.attack.broker import Broker, digested, policy
from tests.attack.merged import Merged
from tests.attack.rule import Answer, answer_of


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
        lossy = [number for number, its in enumerate(sides for sides, its in asked if its) if its.is_lossy]
        found = (
            by_hand.count_directly(worlds, timestamps, 1, without_headers=True, stable=stable, lossy=lossy)
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
                [answer_of(no)] * len(position.copies)
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
            answers.append(answer_of(decide_merged(sources, found, broker.facts, self.policy)))
        return answers
