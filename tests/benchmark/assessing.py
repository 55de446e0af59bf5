# SPDX-License-Identifier: GPL-3.0-or-later

"""The question about assessments: what does it cost to look at a whole cluster that nobody knows yet?"""

from __future__ import annotations

import time
import typing as t

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
    try:
        source = _cluster(bed, "assessed")
        fill(source, load._replace(topics=FILLED, records=1), 0)
        stand(Address(source, ""), commits)
        title(
            f"assessment: {load.groups:,} groups with {sum(map(len, commits.values())):,} offsets on "
            f"{load.topics * load.partitions:,} partitions of {BROKERS} brokers, lag on {FILLED * load.partitions:,} of them"
        )
        parts = [str(bed.folder / f"{name}-part.json") for name in ("source", "destination")]
        every: dict[str, t.Any] = {"group_patterns": [".*"], "exclude_group_patterns": []}
        looked = run_module("kafka_group_info", cluster=connection(source), assessment=parts[0], **every)
        row("the source (kafka_group_info)", [looked], TARGET)
        _play(bed, "the source alone", onprem=connection(source))
        destination = _cluster(bed, "empty")
        checked = run_module(
            "kafka_migration_info",
            source=connection(source),
            destination=connection(destination),
            commits=False,
            on_blocked="skip_group",
            assessment=parts[1],
            **every,
        )
        row("the destination (kafka_migration_info)", [checked], TARGET)
        written = run_module("kafka_migration_run", directory=str(bed.folder / "a"), state="assessed", parts=parts)
        row("the files (kafka_migration_run)", [written], TARGET)
        print(f"  {written.result['headline']}", flush=True)
        _play(bed, "with a destination", onprem=connection(source), cloud=connection(destination))
    finally:
        for name in ("assessed", "empty"):
            stop(name, bed.folder)


def _cluster(bed: Bed, name: str) -> str:
    """The address of a cluster with all topics."""
    address = start(name, bed.folder, nodes=BROKERS, memory=HEAP).bootstrap_servers[0]
    create(address, LOADS["assessed"])
    return address


def _play(bed: Bed, name: str, **clusters: dict[str, t.Any]) -> None:
    controller = ProgramController(bed.folder / f"assessing-{len(clusters)}", **clusters)
    began = time.perf_counter()
    done(controller.assess_migration(destination="cloud" if "cloud" in clusters else ""))
    print(f"  {f'the playbook, {name}':<44}{time.perf_counter() - began:>9.2f}  {TARGET}", flush=True)
