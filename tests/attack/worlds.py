# SPDX-License-Identifier: GPL-3.0-or-later

"""Random worlds: what producers wrote, what replication tools made of it, and what retention and compaction left.

world(name, seed) makes one; nothing else goes into it, so a class and a number reproduce it. classes.py says what each
class of worlds goes through.
"""

from __future__ import annotations

import dataclasses
import random as rnd
import typing as t

from tests.attack.case import HOUR, NOON, Case, Copy, Edges, Options, Original
from tests.attack.classes import CLASSES, Traits
from tests.attack.producers import written
from tests.attack.tools import Destination, doubled, interleaved, overtaken, reordered

Span = tuple[int, int]
LARGE = 60  # records: of so large a world more positions are asked


@dataclasses.dataclass
class World:
    """Positions in the world as it is at last."""

    name: str
    seed: int
    cases: list[Case]


def world(name: str, seed: int) -> World:
    """The world of this class and number."""
    random = rnd.Random(f"{name} {seed}")
    traits = CLASSES[name](random)
    history = _History(random, traits)
    history.live()
    return World(name, seed, [history.last.case(at) for at in history.commits()])


@dataclasses.dataclass(frozen=True)
class _Snapshot:
    """Both logs at one moment."""

    source: tuple[Original, ...]
    source_edges: Edges
    destination: tuple[Copy, ...]
    destination_edges: Edges
    to_come: tuple[Copy, ...]
    options: Options
    scaled: int

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
        self.written = written(random, traits)
        self.size = len(self.written)
        self.destination = Destination(random, traits, self.written)
        self.places: list[int] = [
            0,
            self.size,
        ]  # where something happened: commits stand there more often than elsewhere
        self.options = _options(random, traits)
        self.last: _Snapshot

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def live(self) -> None:
        """Let all passes happen, and take the snapshot."""
        random, traits = self.random, self.traits
        passes = traits.passes(random, self.size)
        start, taken = 0, set[int]()
        pending: list[Original] = []
        for number, (begin, end) in enumerate(passes):
            self.places += [begin, end]
            if traits.expiry and self.chance(0.4):
                start = max(start, random.randrange(self.size + 1))
            if traits.compaction:
                taken |= {r.offset for r in self.written if self.chance(traits.compaction / len(passes))}
            batch = self._readable(begin, end, start, taken)
            if traits.truncation and number == 0:
                self._truncated(batch)
            else:
                wanted = self._manner(batch)
                if pending:
                    wanted, pending = interleaved(random, pending, wanted), []
                if traits.two_tools and number + 1 < len(passes) and number % 2 == 0:
                    pending = wanted
                else:
                    self.destination.copy(wanted)
        if traits.expiry and self.chance(0.6):
            start = max(start, random.randrange(self.size + 1))
        if traits.compaction:
            taken |= {r.offset for r in self.written if self.chance(traits.compaction / len(passes))}
        self.destination.age()
        self.last = self._snapshot(start, taken, self.size, passes)

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
                batch = doubled(random, batch)
            elif manner == "reorders":
                batch = reordered(random, batch)
            elif manner == "overtaking":
                batch = overtaken(random, batch)
        return batch

    def _truncated(self, batch: list[Original]) -> None:
        """The source loses its end after this pass, and other records take its offsets."""
        cut = self.random.randrange(len(batch) + 1)
        self.destination.copy(batch[:cut])
        for number, record in enumerate(batch[cut:]):
            text = record.text if self.chance(0.3) else f"z{number}"
            self.destination.put(text, record.time + self.random.randrange(3), None)

    def _snapshot(self, start: int, taken: set[int], size: int, passes: t.Sequence[Span]) -> _Snapshot:
        written = tuple(
            r._replace(gone=True) if r.offset < start or r.offset in taken else r for r in self.written[:size]
        )
        stable = min(self._stable, size)
        copied_to = passes[-1][1]
        late = []
        if self.traits.lag:
            late = [r for r in self._readable(copied_to, size, start, taken) if r.offset not in self.destination.ever]
        to_come = tuple(Copy(-1, *self.destination.seen(r), r.offset, stamped=self.destination.stamping) for r in late)
        edges = Edges(
            min(start, stable),
            stable,
            size,
            self.traits.clock == "append_time",
            bool(self.traits.compaction),
            self.random.choice((None, HOUR, 24 * HOUR)),
        )
        return _Snapshot(
            written,
            edges,
            tuple(self.destination.log),
            self.destination.edges(),
            to_come,
            self.options,
            self.traits.scaled,
        )

    def commits(self) -> list[int]:
        """Anywhere, the odd places more often than their share."""
        random, edges = self.random, self.last.source_edges
        odd = [*self.places, edges.start, edges.stable, edges.end, edges.start - 1, edges.stable - 1]
        odd += [r.offset + random.randrange(2) for r in self.written if r.kind in ("marker", "open")][:4]
        number = 4 if self.size < LARGE else 10  # whose building takes longer than an answer
        picked = {random.choice(odd) + random.choice((-1, 0, 0, 1)) for _unused in range(number)}
        picked |= {random.randrange(edges.stable + 1) for _unused in range(number)}
        if self.traits.expiry and edges.start and self.chance(0.5):
            picked.add(random.randrange(edges.start + 1))
        return sorted(at for at in picked if 0 <= at <= edges.stable) or [edges.stable]


def _options(random: rnd.Random, traits: Traits) -> Options:
    if not traits.options or random.random() < 0.5:
        return Options()
    return Options(
        on_expired=random.choice(("count_back", "count_back", "start", "first_visible", "fail")),
        on_no_anchor=random.choice(("by_retention", "by_retention", "start", "fail")),
        with_timestamp=random.random() >= 0.1,
        search_limit=random.choice((100_000, 100_000, 100_000, 30, 8)),
        now=NOON + random.choice((0, HOUR, 3 * HOUR, 30 * HOUR)),
    )
