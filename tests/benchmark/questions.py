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
    many_groups,
    promotion,
    rounds,
    spark,
)
from tests.benchmark.bed import Address, Bed, stand
from tests.benchmark.loads import FOREIGN, LOADS, Commits, Load
from tests.benchmark.measure import Run, poll_loop, run_module
from tests.benchmark.tables import connection, median, row, title

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
    taken = _snapshot(bed, load)
    runs = [_plan(bed, load, taken) for _unused in range(REPEATS)]
    row("snapshot (kafka_group_offsets)", [taken])
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
    taken = _snapshot(bed, load)
    runs = [_plan(bed, load, taken) for _unused in range(REPEATS)]
    row("snapshot", [taken])
    row("plan", runs, "target: 15 s")
    print(f"  {_verdicts(runs[0])}")


def back(bed: Bed) -> None:
    """What does it cost to return many groups, beside the way forward?"""
    load = LOADS["shared"]
    title(f"back: {load.groups} groups go there, consume up to {CONSUMED} records of each partition, and go back")
    taken = _snapshot(bed, load)
    forward = [_plan(bed, load, taken) for _unused in range(REPEATS)]
    written = [_commit(bed, planned)[0] for planned in forward]
    consumed = {
        group: {where: min(offset + CONSUMED, load.records) for where, offset in offsets.items()}
        for group, offsets in load.commits().items()
    }
    its = {group: {at: offset + FOREIGN for at, offset in each.items()} for group, each in consumed.items()}
    stand(bed.destination, its)
    returned = [_plan_back(bed, consumed) for _unused in range(REPEATS)]
    written_back = [_commit(bed, planned, cluster=bed.source)[0] for planned in returned]
    row("plan forward", forward)
    row("commit forward", written, besides=IDLE_WAIT)
    row("plan back", returned)
    row("commit back", written_back, besides=IDLE_WAIT)
    there, again = (
        median(plans) + median(commits) for plans, commits in ((forward, written), (returned, written_back))
    )
    print(f"  back: {(again - IDLE_WAIT) / (there - IDLE_WAIT):.2f} times the time of the way forward (target: 2)")


def _plan_back(bed: Bed, expected: Commits) -> Run:
    """A plan for groups that are at the destination. Its offsets are compared with the right ones."""
    away, home = connection(bed.destination.near), connection(bed.source.near)
    taken = str(bed.folder / f"snapshot-{next(_number)}.json")
    run_module("kafka_group_offsets", cluster=away, groups=list(expected), snapshot=taken)
    run = run_module(
        "kafka_offset_translate",
        source=away,
        destination=home,
        snapshot=taken,
        plan=str(bed.folder / f"plan-{next(_number)}.json"),
        on_new_records="fail",
    )
    found: dict[str, dict[tuple[str, int], int]] = {}
    for entry in run.result["entries"]:
        found.setdefault(entry["group"], {})[entry["topic"], entry["partition"]] = entry["offset"]
    if found != expected or run.result["counts"]["exact"] != len(run.result["entries"]):
        raise RuntimeError(f"the plan back is wrong: {run.result['counts']}")
    return run


def commit(bed: Bed) -> None:
    """How long does it take to commit and read back a plan, and to take it back?"""
    load = LOADS["many"]
    title(f"commit: {load.groups} groups, 5,000 partitions, with {IDLE_WAIT:.0f} s of idle_wait that is not counted")
    planned = _plan(bed, load, _snapshot(bed, load))
    pairs = [_commit(bed, planned) for _unused in range(REPEATS)]
    row("commit and read back (kafka_offset_commit)", [pair[0] for pair in pairs], "target: 5 s", IDLE_WAIT)
    row("roll back", [pair[1] for pair in pairs], "", IDLE_WAIT)


def verify(bed: Bed) -> None:
    """How long does it take to verify a plan of 10,000 entries before it is committed, with Spark's start?"""
    load = LOADS["waves"]
    records = load.topics * load.partitions * load.records
    title(f"verify: a plan of {load.groups} groups of 50 partitions, {records:,} records a side (MB with Spark's)")
    planned = _plan(bed, load, _snapshot(bed, load))
    runs = [
        run_module(
            "kafka_offset_verify",
            with_children=True,
            source=connection(bed.source.near),
            destination=connection(bed.destination.near),
            plan=[planned.result["plan"]],
        )
        for _unused in range(REPEATS)
    ]
    entries = len(planned.result["entries"])
    assert all(run.result["verified"] == entries for run in runs), runs[0].result
    row("plan (kafka_offset_translate)", [planned])
    row(f"verify {entries:,} entries (kafka_offset_verify)", runs, "target: 45 s")


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
    taken = [_snapshot(bed, load) for load in loads]
    runs: list[list[Run]] = [[], []]
    for _again in range(REPEATS):
        for its, load, snapshot in zip(runs, loads, taken, strict=True):
            its.append(_plan(bed, load, snapshot))
    for its, load in zip(runs, loads, strict=True):
        row(f"plan, {load.records:,} records a partition", its)
    print(f"  ten times as long: {median(runs[1]) / median(runs[0]):.2f} times the time (target: 1)")
    print(f"  {_verdicts(runs[1][0])}")


# What is asked, and what has to be there for it.
QUESTIONS: dict[str, tuple[t.Callable[[Bed], None], tuple[str, ...]]] = {
    "plan": (plan, ("many",)),
    "groups": (groups, ("shared",)),
    "back": (back, ("shared",)),
    "many": (many_groups.many, ("crowd",)),
    "commit": (commit, ("many",)),
    "length": (length, ("long", "longer")),
    "distance": (distance.distance, ("many",)),
    "scan": (spark.scan, ()),
    "cold": (spark.cold, ()),
    "match": (spark.match, ()),
    "verify": (verify, ("waves",)),
    "proof": (proof, ("tenth", "whole")),
    "copy": (backlog.copy, ()),
    "crumbs": (backlog.crumbs, ()),
    "sync": (group_sync.sync, ()),
    "rounds": (rounds.rounds, ("shared", "teams")),
    "window": (rounds.window, ("shared",)),
    "promotion": (promotion.promotion, ()),
    "assessment": (assessing.assessment, ()),
    "estate": (estate.estate, ("estate",)),
    "logs": (long_logs.logs, ("tenth-log", "log")),
}
APART = ("assessment", "estate", "logs")  # only if they are named


def _snapshot(bed: Bed, load: Load, far: bool = False) -> Run:
    return run_module(
        "kafka_group_offsets",
        cluster=connection(bed.source[far]),
        groups=list(load.commits()),
        snapshot=str(bed.folder / f"snapshot-{next(_number)}.json"),
    )


def _plan(bed: Bed, load: Load, taken: Run, far: bool = False) -> Run:
    """A plan that nothing is known of before. Its offsets are compared with the right ones."""
    run = run_module(
        "kafka_offset_translate",
        source=connection(bed.source[far]),
        destination=connection(bed.destination[far]),
        snapshot=taken.result["snapshot"],
        plan=str(bed.folder / f"plan-{next(_number)}.json"),
    )
    right = {
        (group, *where): offset + FOREIGN
        for group, offsets in load.commits().items()
        for where, offset in offsets.items()
    }
    found = {(row["group"], row["topic"], row["partition"]): row["offset"] for row in run.result["entries"]}
    wrong = [
        f"{key}: {found.get(key)} instead of {offset}" for key, offset in right.items() if found.get(key) != offset
    ]
    if wrong or len(found) != len(right):
        raise RuntimeError(f"the plan is wrong in {len(wrong)} of {len(right)} places: {wrong[:3]}")
    return run


def _commit(bed: Bed, planned: Run, far: bool = False, cluster: Address | None = None) -> tuple[Run, Run]:
    """Commit and take back, at the destination if nothing else is said."""
    options: dict[str, t.Any] = {
        "cluster": connection((cluster or bed.destination)[far]),
        "receipt": str(bed.folder / f"receipt-{next(_number)}.json"),
        "idle_wait": IDLE_WAIT,
    }
    done = run_module("kafka_offset_commit", plan=planned.result["plan"], **options)
    back = run_module("kafka_offset_commit", state="rolled_back", everything=True, **options)
    assert done.result["written"] == back.result["written"] == len(planned.result["entries"])
    return done, back


def _verdicts(run: Run) -> str:
    counts = {verdict: count for verdict, count in run.result["counts"].items() if count}
    said = ", ".join(f"{count:,} {verdict}" for verdict, count in counts.items())
    return f"verdicts: {said}; every offset is the right one"
