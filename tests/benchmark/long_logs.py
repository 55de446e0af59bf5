# SPDX-License-Identifier: GPL-3.0-or-later

"""The question about long logs: how many records are counted, verified and copied in a second, and does the memory grow?"""

from __future__ import annotations

from tests.benchmark.backlog import module_copied
from tests.benchmark.bed import Bed, stand
from tests.benchmark.loads import FOREIGN, LOADS, Load
from tests.benchmark.measure import Run, memory_of_all, run_module
from tests.benchmark.mirroring import remove
from tests.benchmark.programs import started
from tests.benchmark.tables import connection, row, title

LOGS = ("tenth-log", "log")
WORKERS = ("local[1]", "local[2]")


def logs(bed: Bed) -> None:
    """How long does it take to count, verify and copy a log of small records, and one that is ten times as long?"""
    sizes = " and ".join(f"{_records(LOADS[name]):,}" for name in LOGS)
    title(
        f"logs: {sizes} small records in 16 partitions, counted on one cluster, verified on both, copied (MB with Spark's)"
    )
    for master in WORKERS:
        with started("scan", master) as program:
            for name in LOGS:
                load = LOADS[name]
                asked = {"address": bed.source.near, "topics": load.topic_names, "partitions": load.partitions}
                before = program.cpu()
                with memory_of_all(program.process.pid) as most:
                    seconds = program.work({**asked, "records": load.records}, _records(load))
                run = Run(seconds, most[0], program.cpu() - before, {})
                row(f"count {_records(load):,}, {master}", [run], _speed(run, _records(load)))
    for name in LOGS:
        run = verified(bed, LOADS[name])
        row(f"verify {_records(LOADS[name]):,} (kafka_offset_verify)", [run], _speed(run, 2 * _records(LOADS[name])))
        remove(bed.destination.near, LOADS[name].topic_names)
    for name in LOGS:
        run = module_copied(bed, LOADS[name])
        row(f"copy {_records(LOADS[name]):,} (kafka_backlog_copy)", [run], _speed(run, _records(LOADS[name])))


def _records(load: Load) -> int:
    return load.partitions * load.records


def _speed(run: Run, records: int) -> str:
    return f"{records / run.seconds:,.0f} records/s, {run.cpu / records * 1e6:.2f} us of CPU a record"


def verified(bed: Bed, load: Load) -> Run:
    """A verification of a group that stands at the beginning of every partition, so that every record follows its offsets."""
    for cluster, first in ((bed.source, 0), (bed.destination, FOREIGN)):
        stand(cluster, {group: dict.fromkeys(offsets, first) for group, offsets in load.commits().items()})
    run = run_module(
        "kafka_offset_verify",
        with_children=True,
        source=connection(bed.source.near),
        destination=connection(bed.destination.near),
        groups=list(load.commits()),
        limit=0,
    )
    if (run.result["verified"], run.result["compared"]) != (load.partitions, _records(load)):
        raise RuntimeError(f"not everything was verified: {run.result}")
    return run
