# SPDX-License-Identifier: GPL-3.0-or-later

"""The questions about copying a backlog: how fast, beside MirrorMaker 2 and plain loops, and in how much memory."""

from __future__ import annotations

import contextlib
import itertools
import statistics
import typing as t

from tests.benchmark.bed import Bed, filled, stand
from tests.benchmark.loads import LOADS, Load, create
from tests.benchmark.measure import Run
from tests.benchmark.migration import Migration
from tests.benchmark.mirroring import mirrored, remove
from tests.benchmark.programs import Program, started

REPEATS = 3
IDLE_WAIT = 1.0
COPY, COPY_1 = "copy, local[2]", "copy, local[1]"
MIRROR, MIRROR_ONCE = "MirrorMaker 2", "MirrorMaker 2, exactly once"
LATER = " (second half)"  # when Java has compiled what is used often
LOOP_1, LOOP_2 = "plain loop, 1 process", "plain loop, 2 processes"
MODULE = "kafka_backlog_copy, from start to end"
# Is at least so many times as fast; uses at most so many times the CPU.
TARGETS = {MIRROR: "target: 1.5", MIRROR_ONCE: "target: 4", LOOP_1: "target: 0.75"}
CPU_TARGET = "target: at most 0.6"

_number = itertools.count()


class Turn(t.NamedTuple):
    """Records a second, and microseconds of CPU of all of a replication tool's processes for a record."""

    rate: float
    cpu: float | None = None


Turns = dict[str, list[Turn]]


def copy(bed: Bed) -> None:
    """How fast are records copied, each once?"""
    with contextlib.ExitStack() as running:
        cores_2, cores_1 = (running.enter_context(started("copy", master)) for master in ("local[2]", "local[1]"))
        loops = [running.enter_context(started(file="plain_copy.py")) for _unused in range(2)]
        for name in ("backlog", "kilobytes-backlog"):
            _beside_others(bed, filled(bed, name), cores_2, cores_1, loops)
            remove(bed.source.near, LOADS[name].topic_names)
    _memory(bed)


def _beside_others(bed: Bed, load: Load, cores_2: Program, cores_1: Program, loops: t.Sequence[Program]) -> None:
    print(
        f"\ncopy: {_records(load):,} records of {load.value_bytes:,} bytes in {load.partitions} partitions, 2 cores",
        flush=True,
    )
    turns: Turns = {}
    most = 0.0
    for _again in range(1 if bed.short else REPEATS):
        turns.setdefault(COPY, []).append(_warm(bed, load, cores_2))
        for title, once in ((MIRROR, False), (MIRROR_ONCE, True)):
            rate, later, cpu = mirrored(
                bed.folder / f"mirror-maker-{next(_number)}", bed.source.near, bed.destination.near, load, once
            )
            turns.setdefault(title, []).append(Turn(rate, cpu))
            turns.setdefault(title + LATER, []).append(Turn(later))
        for title, programs in ((LOOP_1, loops[:1]), (LOOP_2, loops)):
            turns.setdefault(title, []).append(_worked(bed, load, programs))
        turns.setdefault(COPY_1, []).append(_warm(bed, load, cores_1))
        run = module_copied(bed, load)
        turns.setdefault(MODULE, []).append(Turn(_records(load) / (run.seconds - IDLE_WAIT)))
        most = max(most, run.megabytes)
    _table(turns)
    for rival in [title for title in turns if title not in (COPY, MODULE)]:
        ratio = _rate(turns, COPY) / _rate(turns, rival)
        print(f"  copy : {rival} = {ratio:.2f}  {TARGETS.get(rival, '')}".rstrip(), flush=True)
    print(f"  CPU for a record, copy : {MIRROR} = {_cpu(turns, COPY) / _cpu(turns, MIRROR):.2f}  {CPU_TARGET}")
    print(f"  {MODULE}: {most:.0f} MB in all processes together", flush=True)


def _memory(bed: Bed) -> None:
    """Does the memory grow with the records' size?"""
    print(f"\ncopy: memory of all processes together\n  {'':<46}{'MB':>11}{'seconds':>11}", flush=True)
    for name in ("medium", "large", "largest"):
        load = filled(bed, name)
        run = module_copied(bed, load)
        title = f"{_records(load):,} records of {load.value_bytes:,} bytes"
        print(f"  {title:<46}{run.megabytes:>11.0f}{run.seconds - IDLE_WAIT:>11.1f}", flush=True)
        remove(bed.source.near, load.topic_names)


def _warm(bed: Bed, load: Load, program: Program) -> Turn:
    """The same of Spark, which ends its Python workers after a minute without work: to start them is not to copy."""
    _worked(bed, load._replace(records=load.records // 10), [program])
    return _worked(bed, load, [program])


def _worked(bed: Bed, load: Load, programs: t.Sequence[Program]) -> Turn:
    """Let them copy a topic together, a share of its partitions each."""
    copied = load._replace(name=f"copy-{next(_number)}")
    create(bed.destination.near, copied)
    before = sum(program.cpu() for program in programs)
    partitions = list(range(load.partitions))
    for number, program in enumerate(programs):
        program.ask(
            {
                "source": bed.source.near,
                "destination": bed.destination.near,
                "topic": load.topic_names[0],
                "to": copied.topic_names[0],
                "partitions": partitions[number :: len(programs)],
                "records": load.records,
            }
        )
    records = _records(load)
    seconds = max(program.answer(records // len(programs)) for program in programs)
    used = sum(program.cpu() for program in programs) - before
    remove(bed.destination.near, copied.topic_names)
    return Turn(records / seconds, used / records * 1e6)


def module_copied(bed: Bed, load: Load) -> Run:
    """A run of the module for one group that has consumed nothing. What it has made is removed."""
    commits = {(topic, partition): 0 for topic in load.topic_names for partition in range(load.partitions)}
    folder = bed.folder / f"copied-{next(_number)}"
    its = Migration(folder, bed.source.near, bed.destination.near, {f"{load.name}-group": commits})
    stand(bed.source, its.commits)
    its.snapshot()
    run = its.both("kafka_backlog_copy", "snapshot", "copy", "plan", with_children=True, idle_wait=IDLE_WAIT)
    remove(bed.destination.near, load.topic_names)
    if (count := sum(each["copied"] for each in run.result["ranges"])) != _records(load):
        raise RuntimeError(f"{count} records were copied instead of {_records(load)}")
    return run


def _records(load: Load) -> int:
    return load.topics * load.partitions * load.records


def _table(turns: Turns) -> None:
    print(f"  {'':<46}{'records/s':>11}{'all runs, thousands':>24}{'CPU us':>9}")
    for title, its in turns.items():
        every = " ".join(f"{each.rate / 1000:.0f}" for each in its)
        used = "" if its[0].cpu is None else f"{_cpu(turns, title):.2f}"
        print(f"  {title:<46}{_rate(turns, title):>11,.0f}{every:>24}{used:>9}", flush=True)


def _rate(turns: Turns, title: str) -> float:
    return statistics.median(turn.rate for turn in turns[title])


def _cpu(turns: Turns, title: str) -> float:
    return statistics.median(turn.cpu or 0.0 for turn in turns[title])
