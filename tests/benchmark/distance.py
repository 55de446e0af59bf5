# SPDX-License-Identifier: GPL-3.0-or-later

"""The question about distant clusters: what do round trips cost, how many are there, and what do lost packets cost?"""

from __future__ import annotations

import statistics
import typing as t

from tests.benchmark.bed import ROUND_TRIP, Bed
from tests.benchmark.loads import LOADS
from tests.benchmark.measure import Run
from tests.benchmark.migration import STEPS, Migration
from tests.benchmark.tables import median, row, title
from tests.benchmark.trips import in_a_row

REPEATS = 3
LOSS = 0.01
TARGET = 3  # times the round trips that are needed
# The round trips of a client that knows everything in advance and asks both clusters at the same time. To connect takes 3 (TCP,
# ApiVersions, Metadata), to find a coordinator 1, to connect to it or to a leader 2, and each request that needs the answer to
# another one 1 more. By the rule, the ends of the destination's logs are known before the source's are asked for. The records
# are some 30 MB at each cluster, which a client that holds 16 MB at a time fetches in 2.
NEEDED = {
    "snapshot": 3 + 1 + 2 + 1,  # OffsetFetch
    "plan": 3 + 2 + 4,  # ListOffsets at the destination, at the source, Fetch
    "verify": 3 + 2 + 4,  # the same
    "commit": 3 + 1 + 2 + 3,  # OffsetFetch, OffsetCommit, OffsetFetch
    "read_back": 3 + 2 + 3,  # ListOffsets, Fetch
    "status": 3 + 1 + 2 + 2,  # OffsetFetch, ListOffsets
    "roll_back": 3 + 1 + 2 + 3,  # OffsetFetch, OffsetDelete, OffsetFetch
}


class Way(t.NamedTuple):
    """How far the clusters are. milliseconds: a round trip; 0: on loopback."""

    name: str
    milliseconds: int = 0
    loss: float = 0.0


NEAR, FAR = Way("near"), Way("40 ms", ROUND_TRIP)
WAYS = (NEAR, FAR, Way("150 ms", 150), Way("40 ms, 1 % lost", ROUND_TRIP, LOSS), Way("150 ms, 1 % lost", 150, LOSS))


def distance(bed: Bed) -> None:
    """What do the steps of a migration cost from afar, and how many round trips does each of them wait for?"""
    load = LOADS["many"]
    title(f"distance: {load.groups} groups on 5,000 partitions, on loopback and over round trips to both clusters")
    steps: dict[str, dict[Way, list[Run]]] = {name: {way: [] for way in WAYS} for name in NEEDED}
    trips: dict[str, dict[Way, list[int]]] = {name: {way: [] for way in WAYS[1:]} for name in NEEDED}
    for again in range(1 if bed.short else REPEATS):
        for number, way in enumerate(WAYS):
            bed.lengthen(way.milliseconds, way.loss)
            away = way is not NEAR
            migration = Migration(
                bed.folder / f"distance-{again}-{number}", bed.source[away], bed.destination[away], load.commits()
            )
            for name, ways in steps.items():
                ways[way].append(STEPS[name](migration))
                seen = bed.lengthen(way.milliseconds, way.loss)
                if away:
                    trips[name][way].append(len(in_a_row(seen)))
    bed.lengthen(ROUND_TRIP)
    for name, ways in steps.items():
        for way, runs in ways.items():
            row(f"{name}, {way.name}", runs)
    near, far = (sum(median(ways[way]) for ways in steps.values()) for way in (NEAR, FAR))
    print(f"  all together: {near:.1f} s near, {far:.1f} s over 40 ms: {far / near:.1f} times (target: 4)")
    print(f"  round trips that follow each other, as the cables see them: {', '.join(way.name for way in WAYS[1:])}")
    for name, by_way in trips.items():
        counts = [statistics.median(its) for its in by_way.values()]
        told = " ".join(f"{count:>5.0f}" for count in counts)
        ratio = max(counts) / NEEDED[name]
        print(f"    {name:<12}{told}, needed {NEEDED[name]}: at most {ratio:.1f} times (target: {TARGET})", flush=True)
