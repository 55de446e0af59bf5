# SPDX-License-Identifier: GPL-3.0-or-later

"""The question about distant clusters: what do round trips cost, how many are there, and what do lost packets cost?"""

from __future__ import annotations

import typing as t

from tests.benchmark.bed import Bed
from tests.benchmark.loads import LOADS
from tests.benchmark.measure import Run
from tests.benchmark.migration import Migration
from tests.benchmark.rounds import Population
from tests.benchmark.tables import row, title

REPEATS = 3
LOSS = 0.01


class Way(t.NamedTuple):
    """How far the clusters are. milliseconds: a round trip; None: on loopback."""

    name: str
    milliseconds: int | None = None
    loss: float = 0.0


NEAR, FAR, FARTHER = Way("near"), Way("40 ms", 40), Way("150 ms", 150)
WAYS = (NEAR, FAR, FARTHER, Way("40 ms, 1 % lost", 40, LOSS), Way("150 ms, 1 % lost", 150, LOSS))


def distance(bed: Bed) -> None:
    """What do the steps of a migration cost from afar, and how many round trips does each of them wait for?"""
    load = LOADS["many"]
    title(f"distance: {load.groups} groups on 5,000 partitions, on loopback and over round trips to both clusters")
    steps: dict[str, dict[Way, list[Run]]] = {}
    for again in range(REPEATS):
        for number, way in enumerate(WAYS):
            bed.lengthen(way.milliseconds or 0, way.loss)
            population = Population(bed.folder / f"distance-{again}-{number}", load.records, load.commits())
            migration = Migration(bed, population, far=way is not NEAR)
            for step in (
                *(migration.snapshot, migration.plan, migration.verify, migration.commit),
                *(migration.read_back, migration.status, migration.roll_back),
            ):
                steps.setdefault(step.__name__, {}).setdefault(way, []).append(step())
    for name, ways in steps.items():
        for way, runs in ways.items():
            row(f"{name}, {way.name}", runs)
