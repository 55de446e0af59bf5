# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Random worlds: what producers wrote, what replication tools made of it, and what retention and compaction left.

world(name, seed) makes one; nothing else goes into it, so a class and a number reproduce it. classes.py says what each
class of worlds goes through.
"""

from __future__ import annotations

import dataclasses
import math
import random as rnd
import typing as t

from tests.attack.case import HOUR, NO_TIME, NOON, Case, Copy, Edges, Options, Original
from tests.attack.classes import CLASSES, Traits

Span = tuple[int, int]


@dataclasses.dataclass
class World:
    """Positions in the world as it is at last, and as it was when an earlier plan was made (the same commits)."""

    name: str
    seed: int
    cases: list[Case]
    earlier: list[Case]


def world(name: str, seed: int) -> World:
    """The world of this class and number."""
    random = rnd.Random(f"{name} {seed}")
    traits = CLASSES[name](random)
    history = _History(random, traits)
    history.live()
    commits = history.commits()
    return World(
        name,
        seed,
        [history.last.case(at) for at in commits],
        [history.first.case(at) for at in commits] if history.first is not history.last else [],
    )


@dataclasses.dataclass(frozen=True)
class _Snapshot:
    """Both logs at one moment."""

    source: tuple[Original, ...]
    source_edges: Edges
    destination: tuple[Copy, ...]
    destination_edges: Edges
    to_come: tuple[Copy, ...]
    options: Options
    scaled: bool

    def case(self, committed: int) -> Case:
        return Case(
            committed,
            self.source,
            self.source_edges,
            self.destination,
            self.destination_edges,
            self.to_come,
            self.options,
            self.scaled,
        )


class _History:
    """A source, the tools that copied it and a destination, from the beginning to now."""

    def __init__(self, random: rnd.Random, traits: Traits) -> None:
        self.random, self.traits = random, traits
        self.written = _written(random, traits)
        self.size = len(self.written)
        self.there = _Destination(random, traits)
        self.places: list[int] = [
            0,
            self.size,
        ]  # where something happened: commits stand there more often than elsewhere
        self.options = _options(random, traits)
        self.first: _Snapshot
        self.last: _Snapshot

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def live(self) -> None:
        """Let all passes happen, and take the snapshots."""
        random, traits = self.random, self.traits
        passes = traits.passes(random, self.size)
        earlier = random.randrange(len(passes)) if traits.kept else len(passes) - 1
        start, taken = 0, set[int]()
        begun_again = random.randrange(1, len(passes)) if traits.recreated and len(passes) > 1 else None
        pending: list[Original] = []
        for number, (begin, end) in enumerate(passes):
            self.places += [begin, end]
            if traits.expiry and self.chance(0.4):
                start = max(start, random.randrange(self.size + 1))
            if traits.compaction:
                taken |= {r.offset for r in self.written if self.chance(traits.compaction / len(passes))}
            if number == begun_again:
                self.there.recreate()
                begin = 0 if self.chance(0.7) else begin
            batch = self._readable(begin, end, start, taken)
            if traits.truncation and number == 0:
                self._truncated(batch)
            else:
                wanted = self._manner(batch)
                if pending:
                    wanted, pending = _interleaved(random, pending, wanted), []
                if traits.two_tools and number + 1 < len(passes) and number % 2 == 0:
                    pending = wanted
                else:
                    self.there.copy(wanted)
            if number == earlier:
                if traits.kept and self.chance(0.3):
                    self.there.age()
                self.first = self._snapshot(
                    start, taken, max(e for _b, e in passes[: number + 1]), passes[: number + 1]
                )
        if traits.expiry and self.chance(0.6):
            start = max(start, random.randrange(self.size + 1))
        if traits.compaction:
            taken |= {r.offset for r in self.written if self.chance(traits.compaction / len(passes))}
        self.there.age()
        self.last = self._snapshot(start, taken, self.size, passes)
        if earlier == len(passes) - 1 and not traits.kept:
            self.first = self.last

    def _readable(self, begin: int, end: int, start: int, taken: set[int]) -> list[Original]:
        kinds = ("data", "aborted", "open") if self.traits.uncommitted else ("data",)
        stable = self._stable if not self.traits.uncommitted else self.size
        return [
            r
            for r in self.written[begin : min(end, stable)]
            if r.kind in kinds and r.offset >= start and r.offset not in taken
        ]

    @property
    def _stable(self) -> int:
        return next((r.offset for r in self.written if r.kind == "open"), self.size)

    def _manner(self, batch: list[Original]) -> list[Original]:
        """What a pass makes of what it reads."""
        random = self.random
        for manner in self.traits.manners:
            if not self.chance(0.8):
                continue
            if manner == "drops":
                share = random.choice((0.05, 0.2, 0.5))
                batch = [r for r in batch if not self.chance(share)]
            elif manner == "filter":
                batch = [r for r in batch if ord(r.text[-1]) % 3]
            elif manner == "doubles":
                batch = _doubled(random, batch)
            elif manner == "reorders":
                batch = _reordered(random, batch)
            elif manner == "overtaking":
                batch = _overtaken(random, batch)
        return batch

    def _truncated(self, batch: list[Original]) -> None:
        """The source loses its end after this pass, and other records take its offsets."""
        cut = self.random.randrange(len(batch) + 1)
        self.there.copy(batch[:cut])
        for number, record in enumerate(batch[cut:]):
            text = record.text if self.chance(0.3) else f"z{number}"
            self.there.put(text, record.time + self.random.randrange(3), None)

    def _snapshot(self, start: int, taken: set[int], size: int, passes: t.Sequence[Span]) -> _Snapshot:
        written = tuple(dataclasses.replace(r, gone=r.offset < start or r.offset in taken) for r in self.written[:size])
        stable = min(self._stable, size)
        copied = {copy.origin for copy in self.there.log}
        behind = passes[-1][1]
        late = []
        if self.traits.lag:
            late = [r for r in self._readable(behind, size, start, taken) if r.offset not in copied]
        to_come = tuple(Copy(-1, *self.there.seen(r), r.offset, stamped=self.there.stamping) for r in late)
        edges = Edges(
            min(start, stable),
            stable,
            size,
            self.traits.clock == "append_time",
            bool(self.traits.compaction),
            self.random.choice((None, HOUR, 24 * HOUR)),
        )
        return _Snapshot(
            written, edges, tuple(self.there.log), self.there.edges(), to_come, self.options, self.traits.scaled
        )

    def commits(self) -> list[int]:
        """Anywhere, the odd places more often than their share."""
        random, edges = self.random, self.last.source_edges
        odd = [*self.places, edges.start, edges.stable, edges.end, edges.start - 1, edges.stable - 1]
        odd += [r.offset + random.randrange(2) for r in self.written if r.kind in ("marker", "open")][:4]
        picked = {random.choice(odd) + random.choice((-1, 0, 0, 1)) for _unused in range(2)}
        picked |= {random.randrange(edges.stable + 1) for _unused in range(2)}
        if self.traits.expiry and edges.start and self.chance(0.5):
            picked.add(random.randrange(edges.start + 1))
        return sorted(at for at in picked if 0 <= at <= edges.stable) or [edges.stable]


class _Destination:
    """A log that tools and others write to."""

    def __init__(self, random: rnd.Random, traits: Traits) -> None:
        self.random, self.traits = random, traits
        self.log: list[Copy] = []
        self.start = self.next = random.choice((0, 0, 0, 3, 100))
        self.clock = NOON + HOUR + random.randrange(1000)
        self.written = 0
        self.switch = sorted(random.randrange(2 * traits.size + 1) for _unused in range(2))
        self.dropped: set[int] = set()
        for _unused in range(random.randrange(6) if traits.strangers and random.random() < 0.5 else 0):
            self._stranger([])

    @property
    def stamping(self) -> bool:
        first, last = {
            "no": (0, 0),
            "whole": (0, math.inf),
            "from": (self.switch[0], math.inf),
            "until": (0, self.switch[0]),
            "between": self.switch,
        }[self.traits.stamps]
        return first <= self.written < last

    def copy(self, batch: list[Original]) -> None:
        for record in batch:
            while self.traits.strangers and self.random.random() < self.traits.strangers:
                self._stranger(batch)
            if self.traits.markers_there and self.random.random() < self.traits.markers_there:
                if self.random.random() < 0.3:
                    self.put(*self.seen(record)[::-1], record.offset, kind="aborted")
                self.put("", self.clock, None, kind="marker")
            time, text = self.seen(record)
            self.put(text, time, record.offset)
        if self.traits.markers_there and batch:
            self.put("", self.clock, None, kind="marker")

    def put(self, text: str, time: int, origin: int | None, kind: str = "data") -> None:
        self.clock += self.random.randrange(3)
        stamped = self.stamping and kind != "marker"
        self.log.append(Copy(self.next, self.clock if stamped else time, text, origin, kind, stamped))
        self.next += 1
        self.written += 1

    def seen(self, record: Original) -> tuple[int, str]:
        """Time and content of a copy, as the tool writes it (and the broker may then stamp it)."""
        way, time = self.traits.times, record.time
        now = self.clock if self.random.random() < 0.9 else self.clock + 1
        if self.stamping or way == "rewritten":
            time = now
        elif time in (0, NO_TIME) and way in ("zero_to_now", "zero_to_one"):
            time = now if way == "zero_to_now" else 1
        elif way == "some" and self.random.random() < 0.3:
            time = now
        elif way == "rounded":
            time = time // 10 * 10
        text = record.text
        if self.traits.headers:
            text = text.partition("+")[0] + "+x"
        return time, text

    def _stranger(self, batch: list[Original]) -> None:
        """Somebody else's record: mostly unlike any, sometimes equal but for its time, seldom equal altogether."""
        random = self.random
        text, time = f"f{random.randrange(3)}", NOON + random.choice((0, random.randrange(-5, 30), -20 * HOUR, HOUR))
        if batch and random.random() < 0.2:
            like = random.choice(batch)
            text = like.text
            time = like.time if random.random() < 0.2 else like.time - 1 - random.randrange(2 * HOUR)
        self.put(text, max(time, 0), None)

    def recreate(self) -> None:
        self.log, self.start, self.next = [], 0, 0

    def age(self) -> None:
        """What retention and compaction take in the end."""
        if self.traits.retention_there and self.next > self.start:
            self.start = self.random.randrange(self.start, self.next + 1)
        if self.traits.compaction_there:
            self.log = [copy for copy in self.log if self.random.random() >= 0.2]
        self.log = [copy for copy in self.log if copy.offset >= self.start]

    def edges(self) -> Edges:
        return Edges(self.start, self.next, self.next, self.stamping, self.traits.compaction_there)


def _interleaved(random: rnd.Random, one: list[Original], other: list[Original]) -> list[Original]:
    """Two tools at once."""
    rest = [one[::-1], other[::-1]]
    result = []
    while rest[0] or rest[1]:
        turn = random.choice([left for left in rest if left])
        result += [turn.pop() for _unused in range(min(len(turn), 1 + random.randrange(4)))]
    return result


def _batches(random: rnd.Random, records: list[Original]) -> list[list[Original]]:
    length = 1 + random.randrange(4 if len(records) < 60 else 30)
    return [records[at : at + length] for at in range(0, len(records), length)]


def _doubled(random: rnd.Random, records: list[Original]) -> list[Original]:
    """Some batches written twice: at once, or again after the next one, as a producer does that is not idempotent."""
    result: list[Original] = []
    again: list[Original] = []
    for batch in _batches(random, records):
        result += batch + again
        again = []
        if random.random() < 0.2:
            if random.random() < 0.5:
                result += batch
            else:
                again = batch
    return result + again


def _reordered(random: rnd.Random, records: list[Original]) -> list[Original]:
    """Some neighbouring batches swapped."""
    batches = _batches(random, records)
    for at in range(len(batches) - 1):
        if random.random() < 0.3:
            batches[at], batches[at + 1] = batches[at + 1], batches[at]
    return [record for batch in batches for record in batch]


def _overtaken(random: rnd.Random, records: list[Original]) -> list[Original]:
    """One batch arrives much later."""
    batches = _batches(random, records)
    if len(batches) > 1:
        at = random.randrange(len(batches) - 1)
        batches.insert(random.randrange(at, len(batches)), batches.pop(at))
    return [record for batch in batches for record in batch]


def _written(random: rnd.Random, traits: Traits) -> tuple[Original, ...]:
    """What producers wrote, transactions and their markers included."""
    clock = _Clock(random, traits)
    written: list[Original] = []

    def text() -> str:
        if not traits.alphabet:
            return f"p{len(written)}"
        return (
            f"p{len(written)}"
            if random.random() < traits.unlike
            else "abcdefghijklmnop"[random.randrange(traits.alphabet)]
        )

    while len(written) < traits.size:
        fate = random.choice(("data", "data", "commit", "abort", "both")) if traits.transactions else "data"
        for _unused in range(min(traits.size - len(written), 1 + random.randrange(6))):
            aborted = fate == "abort" or fate == "both" and random.random() < 0.5
            written.append(Original(len(written), clock.tick(len(written)), text(), "aborted" if aborted else "data"))
        for _unused in range({"data": 0, "both": 2}.get(fate, 1)):
            written.append(Original(len(written), max(clock.now, 0), "", "marker"))
    if traits.left_open and written:
        first = (
            len(written) - 1 - random.randrange(min(len(written), random.choice((2, 4, 8, max(1, traits.size // 2)))))
        )
        for at in range(first, len(written)):
            if written[at].kind != "marker" and (at == first or random.random() < 0.5):
                written[at] = dataclasses.replace(written[at], kind="open")
    return tuple(written)


class _Clock:
    """The producers' times."""

    def __init__(self, random: rnd.Random, traits: Traits) -> None:
        self.random, self.kind, self.size = random, traits.clock, traits.size
        self.now = NOON
        self.left = 0
        self.late = traits.burst
        self.late_end = self.late + 2 + random.randrange(8)
        self.older = random.choice((100, 1000, 5000, 60_000))

    def tick(self, at: int) -> int:
        random = self.random
        if self.kind == "none":
            return NO_TIME
        if self.kind == "zero":
            return 0
        if self.kind == "some_zero" and random.random() < 0.3:
            return 0
        if self.kind == "half_none" and at < self.size // 2:
            return random.choice((NO_TIME, 0))
        if self.kind == "same":
            return self.now
        if self.kind == "bursts":
            if not self.left:
                self.left, self.now = 1 + random.randrange(12), self.now + 1 + random.randrange(2000)
            self.left -= 1
        elif self.kind == "even":
            self.now += 10
        elif self.kind == "back_by_ms":
            self.now += random.randrange(-3, 6)
        elif self.kind == "back_by_hours":
            self.now += random.randrange(-4, 5) * HOUR if random.random() < 0.2 else random.randrange(4)
        else:
            self.now += random.randrange(4)
        if self.kind == "late_burst":
            self.now += 7
            if self.late <= at < self.late_end:
                return max(self.now - self.older, NOON - HOUR)
        return self.now


def _options(random: rnd.Random, traits: Traits) -> Options:
    if not traits.options or random.random() < 0.5:
        return Options()
    return Options(
        on_expired=random.choice(("count_back", "count_back", "start", "first_visible", "fail")),
        on_no_anchor=random.choice(("by_retention", "by_retention", "start", "fail")),
        tail_check=random.choice(("records", "records", "offsets", "none")),
        with_timestamp=random.random() >= 0.1,
        budget=random.choice((100_000, 100_000, 100_000, 30, 8)),
        now=NOON + random.choice((0, HOUR, 3 * HOUR, 30 * HOUR)),
    )
