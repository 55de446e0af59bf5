# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Random topics whose records were copied into other partitions, with the truth, and a join of both sides by hand.

world() makes one from any random.Random, so a seed reproduces it, and so can hypothesis, which shrinks it.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import random as rnd
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import LogFacts, Policy
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.merged import (
    Found,
    Missing,
    Position,
    Seen,
    Sources,
    young_from,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.truth import HOUR, NOON, Written

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
        """Are timestamps compared?"""
        if not self.policy.with_timestamp or any(facts.log_append_time for facts in self.destination):
            return False
        known = {(each.text, each.timestamp) for number in range(len(self.source)) for each in self.readable(number)}
        texts = {text for text, _time in known}
        copies = {(copy.text, copy.timestamp) for log in self.arrived for copy in log}
        return all(copy in known for copy in copies if copy[0] in texts)

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

    def sources(self, group: int) -> Sources:
        return Sources(self.positions(group), join(self, group)[1])

    def key(self, text: str, timestamp: int) -> tuple[str, int]:
        """What a record is recognised by."""
        return text, timestamp if self.timestamps else 0


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
    arrived, there = _arrived(random, batches, other_width, keyed=chance(0.6), late=late)
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
    return World(written, tuple(source), arrived, there, groups, policy, unlike=not alphabet)


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


def join(its: World, group: int) -> tuple[list[Found], Missing | None]:
    """What merged.py has to be told about a group, by going through all records one by one."""
    below = [at.consumed_below for at in its.positions(group)]
    here: dict[t.Any, list[tuple[int, int, int]]] = collections.defaultdict(list)  # (timestamp, partition, offset)
    there: dict[t.Any, list[tuple[int, int, int]]] = collections.defaultdict(list)
    for number in range(len(its.source)):
        for each in its.readable(number):
            here[its.key(each.text, each.timestamp)].append((each.timestamp, number, each.offset))
    for number, log in enumerate(its.arrived):
        for copy in log:
            there[its.key(copy.text, copy.timestamp)].append((copy.timestamp, number, copy.offset))
    state: dict[tuple[int, int], str] = {}
    for key, copies in there.items():
        sides = [offset < below[number] for _timestamp, number, offset in sorted(here.get(key, ()))]
        for at, (_timestamp, number, offset) in enumerate(sorted(copies)):
            if not sides:
                name = "unknown"
            elif all(sides) or not any(sides):
                name = "consumed" if sides[0] else "unconsumed"
            elif len(sides) == len(copies):
                name = "consumed" if sides[at] else "unconsumed"
            else:
                name = "unsure"
            state[number, offset] = name
    found = [_found(its, group, number, log, state) for number, log in enumerate(its.arrived)]
    return found, _missing(its, group, here, there)


def _found(its: World, group: int, number: int, log: tuple[Copy, ...], state: dict[tuple[int, int], str]) -> Found:
    told = [(copy, state[number, copy.offset]) for copy in log]
    first = next((copy for copy, name in told if name in ("unconsumed", "unsure")), None)
    before = [(copy, name) for copy, name in told if first is None or copy.offset < first.offset]
    after = [name for copy, name in told if first is not None and copy.offset >= first.offset]
    last = max((copy.offset for copy, name in before if name == "consumed"), default=None)
    unknown = [copy for copy, name in told if name == "unknown"]
    between = [copy for copy, name in before if name == "unknown" and copy.offset > (-1 if last is None else last)]
    cut = young_from(Sources(its.positions(group)), its.policy.now)
    return Found(
        None if first is None else Seen(first.offset, first.timestamp),
        last,
        max((copy.timestamp for copy in between), default=None),
        min((copy.offset for copy in unknown), default=None),
        min((copy.offset for copy in unknown if cut is not None and copy.timestamp >= cut), default=None),
        after.count("consumed"),
        after.count("unsure"),
    )


def _missing(its: World, group: int, here: t.Mapping[t.Any, t.Any], there: t.Mapping[t.Any, t.Any]) -> Missing | None:
    passed: dict[int, int] = {}
    for key, copies in here.items():
        partitions = {number for _timestamp, number, _offset in copies}
        if there.get(key) and len(partitions) == 1:
            number = partitions.pop()
            passed[number] = max(passed.get(number, -1), min(offset for _timestamp, _number, offset in copies))
    missing = sorted(
        (number, offset)
        for key, copies in here.items()
        if len(there.get(key, ())) < len(copies)
        for _timestamp, number, offset in copies
        if offset < its.positions(group)[number].consumed_below and offset > passed.get(number, -1)
        if its.groups[group][number] is not None
    )
    if not missing:
        return None
    return Missing(len(missing), TopicPartition("t", missing[0][0]), missing[0][1])
