# SPDX-License-Identifier: GPL-3.0-or-later

"""The questions about Spark: how fast it reads, how soon it is there."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import typing as t

from tests.benchmark.bed import Bed
from tests.benchmark.loads import LOADS, Load, create, fill
from tests.benchmark.programs import Program, started
from tests.benchmark.rivals import consumer_performance, plain_consumer
from tests.support.spark_connector import connector_jars

REPEATS = 3
CONNECTOR = "4.0.0"  # which docs/speed.md has numbers of

Seconds = dict[str, list[float]]


def scan(bed: Bed) -> None:
    """How fast are whole topics read and fingerprinted, beside Spark's own connector and Kafka's own tool?"""
    address = bed.source.near
    with started("scan") as ours, started("connector", *map(str, connector_jars(CONNECTOR))) as theirs:
        for name in ("bytes", "kilobytes"):
            load = LOADS[name]
            _fill(address, load)
            (topic,), records = load.topic_names, load.partitions * load.records
            print(f"\nscan: {records:,} records of {load.value_bytes:,} bytes in {load.partitions} partitions, 2 cores")
            seconds: Seconds = {}
            cpu: dict[Program, list[float]] = {ours: [], theirs: []}
            for again in range(REPEATS + 1):
                before = {program: program.cpu() for program in cpu}
                turn = {
                    "scan": ours.work(_asked(address, load), records),
                    "Spark's Kafka connector": theirs.work(_asked(address, load), records),
                    "ConsumerPerformance (Java, no fingerprints)": consumer_performance(address, topic, records),
                    "plain confluent-kafka, 1 process": plain_consumer(address, topic, load.partitions, records),
                }
                if not again:
                    continue  # the first turn warms all of them up
                for rival, its in turn.items():
                    seconds.setdefault(rival, []).append(its)
                for program, used in cpu.items():
                    used.append((program.cpu() - before[program]) / records * 1e6)
            _table(seconds, records)
            targets = ("target: 0.9", "target: 0.4", "")
            for rival, target in zip(list(seconds)[1:], targets, strict=True):
                print(f"  scan : {rival} = {_ratio(seconds, rival, 'scan'):.2f}  {target}", flush=True)
            each = [f"{statistics.median(used):.2f}" for used in cpu.values()]
            print(f"  CPU for a record: scan {each[0]} us, Spark's Kafka connector {each[1]} us", flush=True)
        load = LOADS["small"]
        _fill(address, load)
        records = load.topics * load.partitions * load.records
        print(f"\nscan: {load.topics * load.partitions:,} partitions of {load.records} records")
        seconds = {}
        for _again in range(REPEATS):
            seconds.setdefault("scan", []).append(ours.work(_asked(address, load), records))
            seconds.setdefault("Spark's Kafka connector", []).append(theirs.work(_asked(address, load), records))
        _table(seconds, records)
        ratio = _ratio(seconds, "Spark's Kafka connector", "scan")
        print(f"  scan : Spark's Kafka connector = {ratio:.1f}  target: 20", flush=True)


def cold(bed: Bed) -> None:
    """How long until a session has done its first job in a Python worker?"""
    print("\ncold: a session and its first job with Arrow, a process each, in turns")
    cache = {"STREAMSHIFT_CACHE": str(bed.folder / "cache")}
    learning = (
        "from ansible_collections.streamshift.kafka.plugins.module_utils._spark import session",
        "session._LONG = 0",
        "from tests.benchmark.spark_program import main; main('scan')",
    )
    subprocess.run(
        [sys.executable, "-c", "; ".join(learning)],
        env={**os.environ, **cache},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    seconds: Seconds = {}
    for _again in range(REPEATS):
        for name, place in (("with the archive of classes", cache), ("without", {"STREAMSHIFT_CACHE": os.devnull})):
            with started("scan", **place) as program:
                seconds.setdefault(name, []).append(sum(program.began))
    _table(seconds)
    print("  targets: 5.5 s with, 10 s without", flush=True)


def _asked(address: str, load: Load) -> dict[str, t.Any]:
    return {"address": address, "topics": load.topic_names, "partitions": load.partitions, "records": load.records}


def _fill(address: str, load: Load) -> None:
    create(address, load)
    fill(address, load, 0)


def _table(seconds: Seconds, records: int = 0) -> None:
    print(f"  {'':<46}{'median s':>9}{'all runs':>22}" + f"{'records/s':>12}" * bool(records))
    for name, its in seconds.items():
        median, every = statistics.median(its), " ".join(f"{each:.2f}" for each in its)
        print(f"  {name:<46}{median:>9.2f}{every:>22}" + f"{records / median:>12,.0f}" * bool(records), flush=True)


def _ratio(seconds: Seconds, slow: str, fast: str) -> float:
    """How many times as fast the one is."""
    return statistics.median(seconds[slow]) / statistics.median(seconds[fast])
