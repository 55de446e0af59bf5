# SPDX-License-Identifier: GPL-3.0-or-later

"""The questions that the benchmarks answer: each runs modules and prints a table."""

from __future__ import annotations

import itertools
import typing as t

from tests.benchmark import (
    assessing,
    backlog,
    distance,
    estate,
    group_sync,
    long_logs,
    promotion,
    rounds,
    spark,
)
from tests.benchmark.bed import Bed, stand
from tests.benchmark.loads import FOREIGN, LOADS, Commits, Load
from tests.benchmark.measure import Run, poll_loop
from tests.benchmark.migration import Migration
from tests.benchmark.tables import median, row, title

REPEATS = 3
LOOP_PARTITIONS = 40
AROUND = 8  # records on each side of an offset that the loop reads
IDLE_WAIT = 1.0
CONSUMED = 10  # records that a group consumes before it goes back

_number = itertools.count()


def plan(bed: Bed) -> None:
    """How long does a plan for 5,000 partitions take, and how long would a loop of assign and poll read?"""
    load = LOADS["many"]
    commits = [(where, offset) for offsets in load.commits().values() for where, offset in offsets.items()]
    title(f"plan: {load.groups} groups, half caught up and half lagging, on {len(commits):,} partitions of their own")
    its = _migration(bed, load.commits())
    row("snapshot (kafka_group_offsets)", [its.snapshot()])
    runs = [_plan(its) for _unused in range(REPEATS)]
    row("plan (kafka_offset_translate)", runs, "target: 10 s, 250 MB")
    print(f"  {_verdicts(runs[0])}")
    chosen = commits[:: len(commits) // LOOP_PARTITIONS][:LOOP_PARTITIONS]
    print(
        f"  a loop of assign() and poll(1.0), told the answers, that reads {AROUND} records on each side on both clusters:"
    )
    _loop(bed, load, chosen, len(commits), median(runs), "target: 100")
    print("  the same with fetch.wait.max.ms=10, so that it does not wait at the end of a log:")
    _loop(bed, load, chosen, len(commits), median(runs), "", fetch_wait_max_ms=10)


def _loop(
    bed: Bed,
    load: Load,
    commits: t.Sequence[tuple[tuple[str, int], int]],
    all_commits: int,
    plan_seconds: float,
    target: str,
    **settings: int,
) -> None:
    """Measure the loop on these commits, and say how long it would take for all."""
    seconds = 0.0
    for address, shift in ((bed.source.near, 0), (bed.destination.near, FOREIGN)):
        ranges = [
            (*where, max(0, offset + shift - AROUND), min(load.records + shift, offset + shift + AROUND))
            for where, offset in commits
        ]
        seconds += poll_loop(address, ranges, **settings)
    extrapolated = seconds / len(commits) * all_commits
    print(
        f"    {len(commits)} partitions in {seconds:.2f} s = {seconds / len(commits):.3f} s each, so {all_commits:,} in "
        f"{extrapolated:,.0f} s: {extrapolated / plan_seconds:,.0f} times the plan's time  {target}",
        flush=True,
    )


def groups(bed: Bed) -> None:
    """What do many groups on the same partitions cost?"""
    load = LOADS["shared"]
    title(
        f"groups: {load.groups} groups, each anywhere on the same {load.partitions} partitions of {load.records:,} records"
    )
    its = _migration(bed, load.commits())
    row("snapshot", [its.snapshot()])
    runs = [_plan(its) for _unused in range(REPEATS)]
    row("plan", runs, "target: 15 s")
    print(f"  {_verdicts(runs[0])}")


def back(bed: Bed) -> None:
    """What does it cost to return many groups, beside the way forward?"""
    load = LOADS["shared"]
    title(f"back: {load.groups} groups go there, consume up to {CONSUMED} records of each partition, and go back")
    its = _migration(bed, load.commits())
    its.snapshot()
    forward = [_plan(its) for _unused in range(REPEATS)]
    written = [_commit(its)[0] for _unused in range(REPEATS)]
    consumed = {
        group: {where: min(offset + CONSUMED, load.records) for where, offset in offsets.items()}
        for group, offsets in load.commits().items()
    }
    away = {group: {at: offset + FOREIGN for at, offset in each.items()} for group, each in consumed.items()}
    stand(bed.destination, away)
    returning = Migration(bed.folder / f"back-{next(_number)}", bed.destination.near, bed.source.near, away)
    returned = [_plan_back(returning, consumed) for _unused in range(REPEATS)]
    written_back = [_commit(returning)[0] for _unused in range(REPEATS)]
    row("plan forward", forward)
    row("commit forward", written, besides=IDLE_WAIT)
    row("plan back", returned)
    row("commit back", written_back, besides=IDLE_WAIT)
    there, again = (
        median(plans) + median(commits) for plans, commits in ((forward, written), (returned, written_back))
    )
    print(f"  back: {(again - IDLE_WAIT) / (there - IDLE_WAIT):.2f} times the time of the way forward (target: 2)")


def _plan_back(its: Migration, expected: Commits) -> Run:
    """A snapshot, and a plan for groups that are at the destination. Its offsets are compared with the right ones."""
    its.snapshot()
    its.forget("plan")
    run = its.translate(on_new_records="fail")
    its.check(expected)
    if run.result["counts"]["exact"] != its.size:
        raise RuntimeError(f"the plan back is wrong: {run.result['counts']}")
    return run


def commit(bed: Bed) -> None:
    """How long does it take to commit and read back a plan, and to take it back?"""
    load = LOADS["many"]
    title(f"commit: {load.groups} groups, 5,000 partitions, with {IDLE_WAIT:.0f} s of idle_wait that is not counted")
    its = _migration(bed, load.commits())
    its.snapshot()
    its.plan()
    pairs = [_commit(its) for _unused in range(REPEATS)]
    row("commit and read back (kafka_offset_commit)", [pair[0] for pair in pairs], "target: 5 s", IDLE_WAIT)
    row("roll back", [pair[1] for pair in pairs], "", IDLE_WAIT)


def verify(bed: Bed) -> None:
    """How long does it take to verify a plan of 10,000 entries before it is committed, with Spark's start?"""
    load = LOADS["waves"]
    records = load.topics * load.partitions * load.records
    title(f"verify: a plan of {load.groups} groups of 50 partitions, {records:,} records a side (MB with Spark's)")
    its = _migration(bed, load.commits())
    its.snapshot()
    row("plan (kafka_offset_translate)", [its.plan()])
    runs = [its.verify("plan", with_children=True) for _unused in range(REPEATS)]
    assert all(run.result["verified"] == its.size for run in runs), runs[0].result
    row(f"verify {its.size:,} entries (kafka_offset_verify)", runs, "target: 45 s")


def proof(bed: Bed) -> None:
    """How long does it take to compare all records that follow a group's offsets, and does the memory grow with them?"""
    title("proof: a million and ten million records a side, all of which follow the group's offsets (MB with Spark's)")
    for load in (LOADS["tenth"], LOADS["whole"]):
        records, run = load.partitions * load.records, long_logs.verified(bed, load)
        row(f"{records:,} records (kafka_offset_verify)", [run], "target: 2000 MB")
    print(f"  {2 * records / run.seconds:,.0f} records/s of both sides together")


def length(bed: Bed) -> None:
    """Does the cost grow with the topics?"""
    loads = (LOADS["long"], LOADS["longer"])
    partitions = loads[0].topics * loads[0].partitions
    lengths = " and ".join(f"{load.records:,}" for load in loads)
    title(f"length: the same plan for {partitions:,} partitions of {lengths} records each, in turns")
    migrations = [_migration(bed, load.commits()) for load in loads]
    for each in migrations:
        each.snapshot()
    runs: list[list[Run]] = [[], []]
    for _again in range(REPEATS):
        for its, migration in zip(runs, migrations, strict=True):
            its.append(_plan(migration))
    for its, load in zip(runs, loads, strict=True):
        row(f"plan, {load.records:,} records a partition", its)
    print(f"  ten times as long: {median(runs[1]) / median(runs[0]):.2f} times the time (target: 1)")
    print(f"  {_verdicts(runs[1][0])}")


# What is asked, and what has to be there for it.
QUESTIONS: dict[str, tuple[t.Callable[[Bed], None], tuple[str, ...]]] = {
    "plan": (plan, ("many",)),
    "groups": (groups, ("shared",)),
    "back": (back, ("shared",)),
    "commit": (commit, ("many",)),
    "length": (length, ("long", "longer")),
    "distance": (distance.distance, ("many",)),
    "scan": (spark.scan, ()),
    "cold": (spark.cold, ()),
    "verify": (verify, ("waves",)),
    "proof": (proof, ("tenth", "whole")),
    "copy": (backlog.copy, ()),
    "sync": (group_sync.sync, ()),
    "rounds": (rounds.rounds, ("shared", "teams")),
    "window": (rounds.window, ("shared",)),
    "promotion": (promotion.promotion, ()),
    "assessment": (assessing.assessment, ()),
    "estate": (estate.estate, ("estate",)),
    "logs": (long_logs.logs, ("tenth-log", "log")),
}
APART = ("assessment", "estate", "logs")  # only if they are named


def _migration(bed: Bed, commits: Commits) -> Migration:
    return Migration(bed.folder / f"migration-{next(_number)}", bed.source.near, bed.destination.near, commits)


def _plan(its: Migration) -> Run:
    """A plan that nothing is known of before. Its offsets are compared with the right ones."""
    its.forget("plan")
    return its.plan()


def _commit(its: Migration) -> tuple[Run, Run]:
    """Commit, of which nothing is known before, and take back."""
    its.forget("receipt")
    return its.all(its.commit(idle_wait=IDLE_WAIT)), its.all(its.roll_back(idle_wait=IDLE_WAIT))


def _verdicts(run: Run) -> str:
    counts = {verdict: count for verdict, count in run.result["counts"].items() if count}
    said = ", ".join(f"{count:,} {verdict}" for verdict, count in counts.items())
    return f"verdicts: {said}; every offset is the right one"
