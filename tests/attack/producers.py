# SPDX-License-Identifier: GPL-3.0-or-later

"""What producers write to a source, transactions and their markers included."""

from __future__ import annotations

import random as rnd

from tests.attack.case import HOUR, NO_TIME, NOON, Original
from tests.attack.classes import Traits


def written(random: rnd.Random, traits: Traits) -> tuple[Original, ...]:
    """What producers wrote, transactions and their markers included."""
    clock = _Clock(random, traits)
    log: list[Original] = []

    def text() -> str:
        return content() + (f"+h{random.randrange(traits.own_headers)}" if traits.own_headers else "")

    def content() -> str:
        if traits.series:
            return f"d{len(log) % traits.series}"
        if not traits.alphabet:
            return f"p{len(log)}"
        return (
            f"p{len(log)}" if random.random() < traits.unlike else "abcdefghijklmnop"[random.randrange(traits.alphabet)]
        )

    while len(log) < traits.size:
        fate = random.choice(("data", "data", "commit", "abort", "both")) if traits.transactions else "data"
        for _unused in range(min(traits.size - len(log), 1 + random.randrange(6))):
            aborted = fate == "abort" or (fate == "both" and random.random() < 0.5)
            log.append(Original(len(log), clock.tick(len(log)), text(), "aborted" if aborted else "data"))
        for _unused in range({"data": 0, "both": 2}.get(fate, 1)):
            log.append(Original(len(log), max(clock.now, 0), "", "marker"))
    if traits.left_open and log:
        first = len(log) - 1 - random.randrange(min(len(log), random.choice((2, 4, 8, max(1, traits.size // 2)))))
        for at in range(first, len(log)):
            if log[at].kind != "marker" and (at == first or random.random() < 0.5):
                log[at] = log[at]._replace(kind="open")
    return tuple(log)


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
