# SPDX-License-Identifier: GPL-3.0-or-later

"""The question about assessments: what does it cost to look at a whole cluster that nobody knows yet?"""

from __future__ import annotations

import time

from testbed.sandbox import start, stop
from tests.benchmark.bed import HEAP, Address, Bed, stand
from tests.benchmark.loads import LOADS, create, fill
from tests.benchmark.measure import run_module
from tests.benchmark.tables import connection, row, title
from tests.support.playbooks import ProgramController, done

TARGET = "target: 60 s, 500 MB"
BROKERS = 3  # of each cluster: one process may not open the files of so many partitions
FILLED = 500  # topics with a record in each partition, which their groups have not consumed; the others are empty


def assessment(bed: Bed) -> None:
    """How long does an assessment of 4,000 groups and 20,000 partitions take, alone and with a destination?"""
    load = LOADS["assessed"]
    commits = {group: dict.fromkeys(places, 0) for group, places in load.commits().items()}
    clusters: list[str] = []
    try:
        for name in ("assessed", "empty"):
            cluster = start(name, bed.folder, nodes=BROKERS, memory=HEAP)
            clusters.append(cluster.bootstrap_servers[0])
            create(clusters[-1], load)
        fill(clusters[0], load._replace(topics=FILLED, records=1), 0)
        stand(Address(clusters[0], ""), commits)
        title(
            f"assessment: {load.groups:,} groups with {sum(map(len, commits.values())):,} offsets on "
            f"{load.topics * load.partitions:,} partitions of {BROKERS} brokers, lag on {FILLED * load.partitions:,} of them"
        )
        _modules(bed, *clusters)
        controller = ProgramController(
            bed.folder / "assessing", onprem=connection(clusters[0]), cloud=connection(clusters[1])
        )
        for name, destination in (("the source alone", ""), ("with a destination", "cloud")):
            began = time.perf_counter()
            done(controller.assess_migration(destination=destination))
            print(f"  {f'the playbook, {name}':<44}{time.perf_counter() - began:>9.2f}  {TARGET}", flush=True)
    finally:
        for name in ("assessed", "empty"):
            stop(name, bed.folder)


def _modules(bed: Bed, source: str, destination: str) -> None:
    """Each step of the role as a process of its own."""
    folder = bed.folder / "assessment"
    folder.mkdir()
    parts = [str(folder / f"{name}.json") for name in ("source", "destination")]
    looked = run_module(
        "kafka_group_info",
        cluster=connection(source),
        group_patterns=[".*"],
        exclude_group_patterns=[],
        assessment=parts[0],
    )
    row("the source (kafka_group_info)", [looked], TARGET)
    checked = run_module(
        "kafka_migration_info",
        source=connection(source),
        destination=connection(destination),
        group_patterns=[".*"],
        commits=False,
        on_blocked="skip_group",
        assessment=parts[1],
    )
    row("the destination (kafka_migration_info)", [checked], TARGET)
    written = run_module("kafka_migration_run", directory=str(folder), state="assessed", parts=parts)
    row("the files (kafka_migration_run)", [written], TARGET)
    print(f"  {written.result['headline']}", flush=True)
