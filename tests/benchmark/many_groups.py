# SPDX-License-Identifier: GPL-3.0-or-later

"""The question about many groups inside one cluster: what does it cost to give all of them another name in one run?"""

from __future__ import annotations

import random

from tests.benchmark.bed import Bed, stand
from tests.benchmark.loads import LOADS, Commits
from tests.benchmark.migration import Migration
from tests.benchmark.tables import row, title

LOAD = LOADS["crowd"]
SIZES = ((1000, LOAD.partitions), (4000, 5))  # groups, and partitions of each
TARGET = "target: 60 s, 1,000 MB"


def many(bed: Bed) -> None:
    """How long do a snapshot, a plan, a commit and a rollback of 1,000 groups of 100 partitions take, and of 4,000 of 5?"""
    for groups, partitions in SIZES:
        commits = _commits(groups, partitions)
        stand(bed.source, commits)
        title(f"many: {groups:,} groups of {partitions} partitions each, on the same {LOAD.partitions} partitions")
        near = bed.source.near
        its = Migration(bed.folder / f"crowd-{groups}", near, near, commits)
        less = {"return_entries": "none"}
        row("snapshot", [its.snapshot()], TARGET)
        renamed = {"strategy": "identical", "group_map": [{"pattern": "(.*)", "to": "new-\\1"}]}
        row("plan", [its.translate("receipt", **renamed, **less)], TARGET)
        row("commit", [its.all(its.commit("snapshot", source=its.source, **less))], TARGET)
        row("rollback", [its.all(its.roll_back(**less))], TARGET)


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
