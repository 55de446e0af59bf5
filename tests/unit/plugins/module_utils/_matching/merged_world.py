# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Random topics whose records were copied into other partitions, with the truth, and what the rule says of them.

world() makes one from any random.Random, so a seed reproduces it, and so can hypothesis, which shrinks it.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import random as rnd
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import (
    Decision,
    Log,
    LogFacts,
    Policy,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.merged import (
    Position,
    Sources,
    decide_merged,
    young_from,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning.merged_counts import (
    found_in,
    missing_records,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record, TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.count_job import GroupCount
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.truth import HOUR, NOON, Written
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._spark import by_hand

Origin = tuple[int, int]  # source partition, offset


class Copy(t.NamedTuple):
    """A visible record at the destination; origin is None for a foreign one."""

    offset: int
    timestamp: int
    text: str
    origin: Origin | None


@dataclasses.dataclass(frozen=True)
class World:
    """What was written to each source partition, what stands in each destination partition, and where groups stand.

    A committed offset is None where a group has none. Written.compacted is 0 for what compaction has taken.
    """

    written: tuple[tuple[Written, ...], ...]
    source: tuple[LogFacts, ...]
    arrived: tuple[tuple[Copy, ...], ...]
    destination: tuple[LogFacts, ...]
    groups: tuple[tuple[int | None, ...], ...]
    policy: Policy
    unlike: bool  # no two records that were written are equal

    @functools.cached_property
    def timestamps(self) -> bool:
        """Can timestamps be compared?"""
        return self.policy.with_timestamp and not any(facts.log_append_time for facts in self.destination)

    def readable(self, partition: int) -> list[Written]:
        """What the source still shows, and what an open transaction holds after that."""
        facts = self.source[partition]
        return [
            each
            for each in self.written[partition]
            if each.offset >= facts.log_start and each.compacted and each.kind in ("data", "open")
        ]

    def positions(self, group: int) -> tuple[Position, ...]:
        """Where a group stands; what it has never committed is unconsumed."""
        return tuple(
            Position(TopicPartition("t", number), at, self.source[number].log_start if at is None else at, facts)
            for number, (at, facts) in enumerate(zip(self.groups[group], self.source, strict=True))
        )

    def as_records(self) -> by_hand.World:
        """As Spark reads it."""
        return by_hand.World(
            tuple(
                tuple(_record(each, each.timestamp, False) for each in self.readable(number))
                for number in range(len(self.source))
            ),
            tuple(tuple(self._copies(number)) for number in range(len(self.arrived))),
            tuple(facts.end for facts in self.destination),
            tuple(tuple(at.consumed_below for at in self.positions(group)) for group in range(len(self.groups))),
        )

    def log(self, number: int) -> Log:
        """A destination partition, read whole, with the look-up that retention may ask for."""
        facts = self.destination[number]
        log = Log(facts)
        log.add((facts.log_start, facts.end), self._copies(number))
        young = young_from(Sources(self.positions(0)), self.policy.now)
        if young is not None:
            log.lookups[young] = next((copy.offset for copy in log.records if copy.timestamp >= young), None)
        return log

    def _copies(self, number: int) -> list[Record]:
        stamped = self.destination[number].log_append_time
        return [_record(copy, copy.timestamp, stamped) for copy in self.arrived[number]]

    def key(self, text: str, timestamp: int) -> tuple[str, int]:
        """What a record is recognised by."""
        return text, timestamp if self.timestamps else 0


def _record(its: Written | Copy, timestamp: int, stamped: bool) -> Record:
    digest = hashlib.md5(its.text.encode(), usedforsecurity=False).digest()
    return Record(its.offset, timestamp, digest, digest, stamped)


def world(random: rnd.Random, most_records: int = 10) -> World:
    """Up to three source partitions of up to most_records each, in up to three destination partitions."""

    def chance(probability: float) -> bool:
        return random.random() < probability

    width, other_width = 1 + random.randrange(3), 1 + random.randrange(3)
    alphabet = random.choice((0, 0, 0, 1, 2, 3, 5))
    compacted = chance(0.15)
    written = tuple(_written(random, number, random.randrange(most_records + 1), alphabet) for number in range(width))
    uncommitted = chance(0.3)
    batches: list[list[tuple[Origin, Written]]] = []
    for number, log in enumerate(written):
        kinds = ("data", "aborted", "open") if uncommitted else ("data",)
        wanted = [((number, each.offset), each) for each in log if each.kind in kinds and not chance(0.02)]
        wanted = wanted[random.randrange(len(wanted) + 1) if chance(0.1) else 0 :]
        wanted = wanted[: random.randrange(len(wanted) + 1) if chance(0.3) else len(wanted)]
        if chance(0.15):
            wanted += wanted[random.randrange(len(wanted) + 1) :]
        batches.append(wanted)
    late = chance(0.15)
    arrived, destination = _arrived(random, batches, other_width, keyed=chance(0.6), late=late)
    source = []
    for number, log in enumerate(written):
        first_open = next((each.offset for each in log if each.kind == "open"), len(log))
        start = random.randrange(first_open + 1) if chance(0.2) else 0
        source.append(LogFacts(start, first_open, len(log), compacted=compacted, retention_ms=HOUR))
        if compacted:
            kept = [dataclasses.replace(each, compacted=0) if chance(0.2) else each for each in log]
            written = (*written[:number], tuple(kept), *written[number + 1 :])
    groups = tuple(
        tuple(None if chance(0.1) else random.randrange(facts.end + 1) for facts in source)
        for _unused in range(1 + random.randrange(3))
    )
    policy = Policy(
        on_expired=random.choice(("count_back", "count_back", "start", "first_visible")),
        on_no_anchor=random.choice(("by_retention", "by_retention", "start", "end")),
        with_timestamp=not chance(0.1),
        now=NOON + HOUR + random.randrange(20),
    )
    return World(written, tuple(source), arrived, destination, groups, policy, unlike=not alphabet)


def _written(random: rnd.Random, partition: int, size: int, alphabet: int) -> tuple[Written, ...]:
    now, pace = NOON, random.choice((0, 1, 3))
    log: list[Written] = []
    markers = random.random() < 0.3
    for offset in range(size):
        now += random.randrange(-pace, 2 * pace + 1)
        kind = random.choice(("data", "data", "aborted", "marker")) if markers else "data"
        text = random.choice("abcde"[:alphabet]) if alphabet else f"p{partition}o{offset}"
        log.append(Written(offset, kind, now, text))
    if markers and random.random() < 0.3:
        for at in range(random.randrange(size + 1), size):
            log[at] = dataclasses.replace(log[at], kind="open")
    return tuple(log)


def _arrived(
    random: rnd.Random, batches: list[list[tuple[Origin, Written]]], width: int, keyed: bool, late: bool
) -> tuple[tuple[tuple[Copy, ...], ...], tuple[LogFacts, ...]]:
    """Each batch in its order, all of them mixed, by key or anyhow into partitions with junk and markers in between."""
    logs: list[list[Copy]] = [[] for _unused in range(width)]
    ends = [random.randrange(3) if random.random() < 0.2 else 0 for _unused in range(width)]
    starts, clock, junk = list(ends), NOON, random.choice((0.0, 0.0, 0.2))
    left = [list(reversed(batch)) for batch in batches]
    while any(left):
        clock += random.randrange(3)
        origin, each = random.choice([batch for batch in left if batch]).pop()
        to = sum(map(ord, each.text)) % width if keyed else random.randrange(width)
        while random.random() < junk:
            logs[to].append(Copy(ends[to], clock, f"junk{random.randrange(3)}", None))
            ends[to] += 1 + random.randrange(2)
        logs[to].append(Copy(ends[to], clock if late else each.timestamp, each.text, origin))
        ends[to] += 1 + (random.random() < junk)
    for number in range(width):
        if random.random() < 0.1:
            starts[number] = random.randrange(starts[number], ends[number] + 1)
    facts = tuple(LogFacts(start, end, end, log_append_time=late) for start, end in zip(starts, ends, strict=True))
    return tuple(tuple(c for c in log if c.offset >= start) for log, start in zip(logs, starts, strict=True)), facts


def answers(worlds: t.Sequence[World]) -> list[list[list[Decision]]]:
    """What the rule says: for each world and group, for each destination partition."""
    result: list[list[list[Decision]]] = [[] for _world in worlds]
    for timestamps in (True, False):
        numbers = [number for number, its in enumerate(worlds) if its.policy.with_timestamp is timestamps]
        each = [worlds[number].as_records() for number in numbers]
        stable = [facts.end for number in numbers for facts in worlds[number].source]
        counts = iter(by_hand.count_directly(each, timestamps, 8, without_headers=True, stable=stable))
        for number in numbers:
            its = worlds[number]
            result[number] = [_decided(its, group, next(counts)) for group in range(len(its.groups))]
    return result


def _decided(its: World, group: int, counts: GroupCount) -> list[Decision]:
    positions = its.positions(group)
    sources = Sources(positions, missing_records(positions, counts))
    return [
        decide_merged(sources, found_in(sources, counts, number, log, its.policy), log.facts, its.policy)
        for number, log in enumerate(map(its.log, range(len(its.arrived))))
    ]
