# SPDX-License-Identifier: GPL-3.0-or-later

"""The question about many groups inside one cluster: what does it cost to give all of them another name in one run?"""

from __future__ import annotations

import random
import typing as t

from tests.benchmark.bed import Bed, stand
from tests.benchmark.loads import LOADS, Commits
from tests.benchmark.measure import Run, run_module
from tests.benchmark.tables import connection, row, title

LOAD = LOADS["crowd"]
SIZES = ((1000, LOAD.partitions), (4000, 5))  # groups, and partitions of each
TARGET = "target: 60 s, 1,000 MB"


def many(bed: Bed) -> None:
    """How long do a snapshot, a plan, a commit and a rollback of 1,000 groups of 100 partitions take, and of 4,000 of 5?"""
    for groups, partitions in SIZES:
        commits = _commits(groups, partitions)
        stand(bed.source, commits)
        title(f"many: {groups:,} groups of {partitions} partitions each, on the same {LOAD.partitions} partitions")
        steps = _rename(bed, f"crowd-{groups}", list(commits))
        for name, run in steps.items():
            row(name, [run], TARGET)
        written = groups * partitions
        for name in ("commit", "rollback"):
            if steps[name].result["written"] != written:
                raise RuntimeError(f"{name}: {steps[name].result['written']} of {written} offsets were written")


def _commits(groups: int, partitions: int) -> Commits:
    chance = random.Random(groups)
    (topic,) = LOAD.topic_names
    return {
        f"crowd-{groups}-{number:04}": {
            (topic, (number + partition) % LOAD.partitions): chance.randrange(LOAD.records)
            for partition in range(partitions)
        }
        for number in range(groups)
    }


def _rename(bed: Bed, name: str, groups: list[str]) -> dict[str, Run]:
    """Every step as the role takes it; nobody is in the groups, so that there is nothing to wait for."""
    cluster = connection(bed.source.near)
    files: dict[str, t.Any] = {
        kind: str(bed.folder / f"{kind}-{name}.json") for kind in ("snapshot", "plan", "receipt")
    }
    less: dict[str, t.Any] = {"return_entries": "none"}
    steps = {
        "snapshot": run_module("kafka_group_offsets", cluster=cluster, groups=groups, snapshot=files["snapshot"]),
        "plan": run_module(
            "kafka_offset_translate",
            source=cluster,
            destination=cluster,
            strategy="identical",
            group_map=[{"pattern": "(.*)", "to": "new-\\1"}],
            **files,
            **less,
        ),
        "commit": run_module(
            "kafka_offset_commit",
            source=cluster,
            cluster=cluster,
            plan=files["plan"],
            snapshot=files["snapshot"],
            receipt=files["receipt"],
            idle_wait=0,
            **less,
        ),
    }
    steps["rollback"] = run_module(
        "kafka_offset_commit",
        cluster=cluster,
        state="rolled_back",
        everything=True,
        receipt=files["receipt"],
        idle_wait=0,
        **less,
    )
    return steps
