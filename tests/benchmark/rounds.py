# SPDX-License-Identifier: GPL-3.0-or-later

"""The questions about staying ready: what does a round cost, and how long does the window of a cut-over take?"""

from __future__ import annotations

import concurrent.futures
import json
import random
import re
import statistics
import time
import typing as t

from confluent_kafka import Consumer

from tests.benchmark.bed import ROUND_TRIP, Address, Bed, stand
from tests.benchmark.loads import LOADS, Commits
from tests.benchmark.measure import Run
from tests.benchmark.migration import Migration
from tests.benchmark.tables import connection, row, title
from tests.support.playbooks import ProgramController, done

REPEATS = 3
MOVED = 1_000  # group-partitions, between the last round and the cut-over
IDLE_WAIT = 5.0  # seconds, as by default in the roles


def _move(bed: Bed, its: Migration, records: int, count: int, chance: random.Random) -> None:
    """Let so many of the groups' offsets, or all that can, move on at the source. records: of each partition."""
    all_of_them = [(group, *each) for group, offsets in its.commits.items() for each in offsets.items()]
    movable = [each for each in all_of_them if each[2] < records]
    news: Commits = {}
    for group, where, offset in chance.sample(movable, min(count, len(movable))):
        news.setdefault(group, {})[where] = chance.randrange(offset, (offset + records) // 2 + 1) + 1
    stand(bed.source, news)
    its.commits = {group: at | news.get(group, {}) for group, at in its.commits.items()}


def rounds(bed: Bed) -> None:
    """What does a round cost with the strategy records: the first, one with no news, one in which 1 % has moved?"""
    shared, teams = LOADS["shared"], LOADS["teams"]
    # Other measurements have moved the others.
    renamed = {f"round-{group}": its for group, its in shared.commits().items()}
    _rounds(bed, "shared", shared.records, renamed, ("6 s, 200 MB", "7 s"))
    _rounds(bed, "teams", teams.records, teams.commits(), ("30 s, 500 MB", ""))


def _rounds(bed: Bed, name: str, records: int, commits: Commits, targets: tuple[str, str]) -> None:
    its = Migration(bed.folder / f"rounds-{name}", bed.source.near, bed.destination.near, commits)
    title(f"rounds: {len(commits):,} groups with {its.size:,} offsets, the modules of a round (sync)")
    stand(bed.source, commits)
    percent = its.size // 100
    table: dict[str, list[dict[str, Run]]] = {
        "the first": [_round(its)],
        "with no news": [_round(its) for _again in range(REPEATS)],
    }
    news = table.setdefault(f"1 % has moved ({percent})", [])
    chance = random.Random(percent)
    for _again in range(REPEATS):
        _move(bed, its, records, percent, chance)
        news.append(_round(its))
    for (which, each), target in zip(table.items(), ("", *targets), strict=True):
        for step in each[0]:
            row(f"{step}, {which}", [steps[step] for steps in each])
        three = [{step: steps[step] for step in ("snapshot", "plan", "commit")} for steps in each]
        row(f"snapshot, plan and commit, {which}", list(map(_sum, three)), f"target: {target}" if target else "")
        row(f"all of it, {which}", list(map(_sum, each)))
    status = its.both("kafka_group_readiness", directories=[str(its.folder)], idle_wait=0)
    row("status of all groups", [status], "target: 20 s")
    done_by = [steps["commit"].result["written"] for steps in (*table["with no news"], *news)]
    if done_by != [0] * REPEATS + [percent] * REPEATS:
        raise RuntimeError(f"so many offsets were written: {done_by}")


def _round(its: Migration) -> dict[str, Run]:
    """The modules of one round, as the role runs them; see roles/common/tasks/one_round.yml."""
    began = time.time()
    policies = {"on_blocked": "skip_partition", "on_active_group": "skip_group"}
    steps = {
        "snapshot": its.snapshot(on_active_group="warn"),
        "plan": its.plan("receipt"),
        "look ahead": its.commit("snapshot", **policies, _ansible_check_mode=True),
    }
    report: tuple[str, ...] = ()
    if steps["look ahead"].result["written"]:
        report = ("report",)
        how = {"method": "anchors", "incremental": True, "scope": "to_commit"}
        steps["verify"] = its.verify("plan", "receipt", *report, **policies, **how)
    steps["commit"] = its.commit("snapshot", *report, **policies)
    steps["readiness"] = its.both(
        *("kafka_group_readiness", "plan", "status", *report),
        migration="benchmark",
        phase="sync",
        started=began,
        changed_offsets=steps["commit"].result["written"],
    )
    return steps


def _sum(steps: t.Mapping[str, Run]) -> Run:
    """Several steps as one: their seconds, and the most memory that any of them had."""
    runs = steps.values()
    return Run(sum(run.seconds for run in runs), max(run.megabytes for run in runs), sum(run.cpu for run in runs), {})


def window(bed: Bed) -> None:
    """How long does the playbook take that cuts over what has moved since the last round?

    The groups are watched for idle_wait seconds on each cluster, as users have them watched. Everything counts. It is told as a
    multiple of a play of ten tasks that do nothing, too, because machines differ.
    """
    load = LOADS["shared"]
    renamed = {f"window-{group}": its for group, its in load.commits().items()}  # the same
    its = Migration(bed.folder / "window", bed.source.near, bed.destination.near, renamed)
    _have_members(bed.source, renamed)
    stand(bed.source, renamed)
    print(
        f"\nwindow: ansible-playbook from its start to its end, for {len(renamed):,} groups with "
        f"{its.size:,} offsets, with {IDLE_WAIT:.0f} s of idle_wait on each cluster\n"
        f"  {'':<54}{'median s':>9}{'all runs':>22}"
    )
    near, far = (
        ProgramController(
            bed.folder / f"controller-{number}",
            onprem=connection(bed.source[number]),
            cloud=connection(bed.destination[number]),
        )
        for number in range(2)
    )
    chance = random.Random(MOVED)
    _tell("the first round", [_play(near, its, phase="sync")])
    runs = {
        f"{MOVED:,} moved, verified by anchors": (near, MOVED, "anchors", "14 s"),
        f"{MOVED:,} moved, verified by records": (near, MOVED, "records", "20 s"),
        f"{MOVED:,} moved, by anchors, {ROUND_TRIP} ms away": (far, MOVED, "anchors", "three times that"),
        f"all {its.size:,} moved, verified by anchors": (near, its.size, "anchors", ""),
        f"all {its.size:,} moved, verified by records": (near, its.size, "records", ""),
    }
    for name, (controller, count, verify, target) in runs.items():
        plays = []
        nothing = statistics.median(_nothing(controller) for _again in range(REPEATS))
        for _again in range(REPEATS if target else 1):
            _move(bed, its, load.records, count, chance)
            plays.append(_play(controller, its, phase="cut_over", verify=verify))
        _tell(f"cut-over, {name}", plays, f"target: {target}" if target else "")
        ratio = statistics.median(seconds for seconds, _took in plays) / nothing
        print(f"    {ratio:.1f} times a play of ten tasks that do nothing ({nothing:.2f} s)", flush=True)


def _play(controller: ProgramController, its: Migration, **variables: t.Any) -> tuple[float, str]:
    """Seconds of the playbook, and what it says of its steps. Its plan is compared with the right offsets."""
    begin = time.perf_counter()
    played = controller.migrate_groups(
        group_patterns=["window-.*"],
        directory=str(its.folder),
        idle_wait=IDLE_WAIT,
        write_report=True,  # as by default in the roles
        **variables,
    )
    seconds = time.perf_counter() - begin
    done(played)
    its.check()
    if variables["phase"] == "cut_over" and f"and {len(its.commits) - 20} more." not in played.output:
        raise RuntimeError(f"not every group may start:\n{played.output}")
    took = re.search(r"It took: [^\"]*", played.output)
    return seconds, took.group() if took else ""


def _nothing(controller: ProgramController) -> float:
    """Seconds of a play of ten modules that are started and imported, and refuse their options then."""
    names = ("group_offsets", "offset_translate", "offset_commit", "offset_verify", "group_readiness")
    tasks = [{f"streamshift.kafka.kafka_{name}": {}, "failed_when": False} for name in 2 * names]
    play = controller.directory / "nothing.json"
    play.write_text(json.dumps([{"hosts": "cloud", "gather_facts": False, "tasks": tasks}]))
    begin = time.perf_counter()
    done(controller.run(str(play)))
    return time.perf_counter() - begin


def _have_members(cluster: Address, commits: Commits) -> None:
    """Let somebody join each group, and leave: the groups of applications have had members."""

    def join(group: str) -> None:
        consumer = Consumer({"bootstrap.servers": cluster.near, "group.id": group, "enable.auto.commit": False})
        try:
            consumer.subscribe(list({topic for topic, _partition in commits[group]}))
            while not consumer.memberid():
                consumer.poll(0.1)
        finally:
            consumer.close()

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(join, commits))


def _tell(what: str, plays: t.Sequence[tuple[float, str]], target: str = "") -> None:
    seconds = [each for each, _took in plays]
    every = " ".join(f"{each:.2f}" for each in seconds)
    print(f"  {what:<54}{statistics.median(seconds):>9.2f}{every:>22}  {target}")
    if took := plays[-1][1]:
        print(f"    {took}", flush=True)
