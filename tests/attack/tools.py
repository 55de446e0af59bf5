# SPDX-License-Identifier: GPL-3.0-or-later

"""What replication tools, their producers and others make of what they read, and the log that they write to."""

from __future__ import annotations

import collections
import math
import random as rnd
from collections.abc import Sequence

from tests.attack.case import HOUR, NO_TIME, NOON, Copy, Edges, Original
from tests.attack.classes import Traits


class Destination:
    """A log that tools and others write to."""

    def __init__(self, random: rnd.Random, traits: Traits, records: Sequence[Original]) -> None:
        self.random, self.traits = random, traits
        self.passes = 0
        self._times: dict[str, set[int]] = collections.defaultdict(
            set
        )  # of the source's records, by content without headers
        for record in records:
            self._times[_bare(record.text)].add(record.time)
        self._distance = self._of_no_equal_records(records) if traits.times == "moved" else 0
        self._arrival = NOON + (random.choice((0, 0, 5, -5, -1000)) if traits.times == "arrival" else 0)
        self.log: list[Copy] = []
        self.ever: set[int | None] = set()  # what was copied once, whatever has become of it
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

    @property
    def _changes(self) -> bool:
        return {"all": True, "first": self.passes == 1, "later": self.passes > 1}[self.traits.passes_change]

    def _of_no_equal_records(self, records: Sequence[Original]) -> int:
        """A distance by which no copy gets the time of an equal record: what then happens is declared."""
        near = [by * way for by in (1, 2, 7, 10, 1 + self.random.randrange(3000)) for way in (1, -1)]
        distances = self.random.sample([*near, HOUR, -HOUR, 5 * HOUR, -5 * HOUR], 14)
        looks_right = (
            by for by in distances if not any(r.time + by in self._times[_bare(r.text)] for r in records if r.time > 0)
        )
        return next(looks_right, 100 * HOUR)

    def copy(self, batch: list[Original]) -> None:
        self.passes += 1
        for record in batch:
            while self.traits.strangers and self.random.random() < self.traits.strangers:
                self._stranger(batch)
            if self.traits.destination_markers and self.random.random() < self.traits.destination_markers:
                if self.random.random() < 0.3:
                    self.put(*self.seen(record)[::-1], record.offset, kind="aborted")
                self.put("", self.clock, None, kind="marker")
            time, text = self.seen(record)
            self.put(text, time, record.offset)
        if self.traits.destination_markers and batch:
            self.put("", self.clock, None, kind="marker")

    def put(self, text: str, time: int, origin: int | None, kind: str = "data") -> None:
        self.clock += self.random.randrange(3)
        stamped = self.stamping and kind != "marker"
        self.ever.add(origin)
        self.log.append(Copy(self.next, self.clock if stamped else time, text, origin, kind, stamped))
        self.next += 1
        self.written += 1

    def seen(self, record: Original) -> tuple[int, str]:
        """Time and content of a copy, as the tool writes it (and the broker may then stamp it)."""
        way, time = self.traits.times if self._changes else "kept", record.time
        now = self.clock if self.random.random() < 0.9 else self.clock + 1
        if self.stamping or way == "rewritten":
            time = now
        elif time in (0, NO_TIME) and way in ("zero_to_now", "zero_to_one"):
            time = now if way == "zero_to_now" else 1
        elif way == "some" and self.random.random() < 0.3:
            time = now
        elif way == "rounded":
            time = time // 10 * 10
        elif way == "moved" and time > 0:
            time += self._distance
        elif way == "seconds" and time > 0:
            time //= 1000
        elif way == "arrival":
            time = self._arrive(record)
        return time, self._with_headers(record.text)

    def _arrive(self, record: Original) -> int:
        """The tool's clock, which is not the producers'; never the time of an equal record, whose copy it would look like."""
        self._arrival = max(self._arrival + self.random.randrange(3), record.time - 5 * self.random.randrange(2))
        while self._arrival in self._times[_bare(record.text)]:
            self._arrival += 1
        return self._arrival

    def _with_headers(self, text: str) -> str:
        way = self.traits.headers if self._changes else "kept"
        if way == "dropped":
            return _bare(text)
        if way == "added" or (way == "some" and self.random.random() < 0.3):
            return text + ("x" if "+" in text else "+x")
        return text

    def _stranger(self, batch: list[Original]) -> None:
        """Somebody else's record: mostly unlike any, sometimes equal but for its time, seldom equal altogether.

        Never altogether where the tool's own copies may have other times: nobody can tell then which one is the copy.
        """
        random = self.random
        text, time = f"f{random.randrange(3)}", NOON + random.choice((0, random.randrange(-5, 30), -20 * HOUR, HOUR))
        if batch and random.random() < 0.2:
            like = random.choice(batch)
            text = like.text
            other = 1 + random.randrange(2 * HOUR)
            is_equal = random.random() < 0.2 and (self.traits.times, self.traits.stamps) == ("kept", "no")
            time = like.time if is_equal else like.time - other if like.time > other else like.time + other
        self.put(text, max(time, 0), None)

    def age(self) -> None:
        """What retention and compaction take in the end."""
        if self.traits.destination_retention and self.next > self.start:
            self.start = self.random.randrange(self.start, self.next + 1)
        if self.traits.destination_compaction:
            self.log = [copy for copy in self.log if self.random.random() >= 0.2]
        self.log = [copy for copy in self.log if copy.offset >= self.start]

    def edges(self) -> Edges:
        return Edges(self.start, self.next, self.next, self.stamping, self.traits.destination_compaction)


def _bare(text: str) -> str:
    return text.partition("+")[0]


def interleaved(random: rnd.Random, one: list[Original], other: list[Original]) -> list[Original]:
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


def doubled(random: rnd.Random, records: list[Original]) -> list[Original]:
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


def reordered(random: rnd.Random, records: list[Original]) -> list[Original]:
    """Some neighbouring batches swapped."""
    batches = _batches(random, records)
    for at in range(len(batches) - 1):
        if random.random() < 0.3:
            batches[at], batches[at + 1] = batches[at + 1], batches[at]
    return [record for batch in batches for record in batch]


def overtaken(random: rnd.Random, records: list[Original]) -> list[Original]:
    """One batch arrives much later."""
    batches = _batches(random, records)
    if len(batches) > 1:
        at = random.randrange(len(batches) - 1)
        batches.insert(random.randrange(at, len(batches)), batches.pop(at))
    return [record for batch in batches for record in batch]
