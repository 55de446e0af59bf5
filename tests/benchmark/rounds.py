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
from pathlib import Path

from confluent_kafka import Consumer

from tests.benchmark.bed import ROUND_TRIP, Address, Bed, stand
from tests.benchmark.loads import FOREIGN, LOADS, Commits
from tests.benchmark.measure import Run, run_module
from tests.benchmark.tables import connection, row, title
from tests.support.playbooks import ProgramController, done

REPEATS = 3
MOVED = 1_000  # group-partitions, between the last round and the cut-over
IDLE_WAIT = 5.0  # seconds, as by default in the roles


class Population(t.NamedTuple):
    """Groups, where they stand at the source, and the folder with the files of their rounds. records: of each partition."""

    folder: Path
    records: int
    commits: Commits

    @property
    def size(self) -> int:
        """How many offsets they have committed."""
        return sum(map(len, self.commits.values()))

    def moved(self, bed: Bed, count: int, chance: random.Random) -> Population:
        """The same groups after so many of their offsets, or all that can, have moved on at the source."""
        its = [(group, *each) for group, offsets in self.commits.items() for each in offsets.items()]
        movable = [each for each in its if each[2] < self.records]
        news: Commits = {}
        for group, where, offset in chance.sample(movable, min(count, len(movable))):
            news.setdefault(group, {})[where] = chance.randrange(offset, (offset + self.records) // 2 + 1) + 1
        stand(bed.source, news)
        return self._replace(commits={group: its | news.get(group, {}) for group, its in self.commits.items()})

    def check(self, plan: Path) -> None:
        """Raise RuntimeError where a plan sends a group anywhere else than where it must go."""
        entries = json.loads(plan.read_text())["entries"]
        found = {(entry["group"], (entry["topic"], entry["partition"])): entry["offset"] for entry in entries}
        right = {
            (group, where): offset + FOREIGN if offset else 0  # who has consumed nothing begins at the start
            for group, its in self.commits.items()
            for where, offset in its.items()
        }
        if wrong := [
            f"{key}: {found.get(key)}, not {offset}" for key, offset in right.items() if found.get(key) != offset
        ]:
            raise RuntimeError(f"the plan is wrong in {len(wrong)} places: {wrong[:3]}")


def rounds(bed: Bed) -> None:
    """What does a round cost with the strategy records: the first, one with no news, one in which 1 % has moved?"""
    shared, teams = LOADS["shared"], LOADS["teams"]
    renamed = {
        f"round-{group}": its for group, its in shared.commits().items()
    }  # other measurements have moved the others
    _rounds(bed, Population(bed.folder / "rounds-shared", shared.records, renamed), ("6 s, 200 MB", "7 s"))
    _rounds(bed, Population(bed.folder / "rounds-teams", teams.records, teams.commits()), ("30 s, 500 MB", ""))


def _rounds(bed: Bed, population: Population, targets: tuple[str, str]) -> None:
    title(f"rounds: {len(population.commits):,} groups with {population.size:,} offsets, the modules of a round (sync)")
    population.folder.mkdir()
    stand(bed.source, population.commits)
    percent = population.size // 100
    table: dict[str, list[dict[str, Run]]] = {
        "the first": [_round(bed, population)],
        "with no news": [_round(bed, population) for _again in range(REPEATS)],
    }
    news = table.setdefault(f"1 % has moved ({percent})", [])
    chance = random.Random(percent)
    for _again in range(REPEATS):
        population = population.moved(bed, percent, chance)
        news.append(_round(bed, population))
    for (name, each), target in zip(table.items(), ("", *targets), strict=True):
        for step in each[0]:
            row(f"{step}, {name}", [steps[step] for steps in each])
        three = [{step: steps[step] for step in ("snapshot", "plan", "commit")} for steps in each]
        row(f"snapshot, plan and commit, {name}", list(map(_sum, three)), f"target: {target}" if target else "")
        row(f"all of it, {name}", list(map(_sum, each)))
    status = run_module(
        "kafka_group_readiness",
        source=connection(bed.source.near),
        destination=connection(bed.destination.near),
        directories=[str(population.folder)],
        idle_wait=0,
    )
    row("status of all groups", [status], "target: 20 s")
    done_by = [steps["commit"].result["written"] for steps in (*table["with no news"], *news)]
    if done_by != [0] * REPEATS + [percent] * REPEATS:
        raise RuntimeError(f"so many offsets were written: {done_by}")


def _round(bed: Bed, population: Population) -> dict[str, Run]:
    """The modules of one round, as the role runs them; see roles/common/tasks/one_round.yml."""
    source, destination = connection(bed.source.near), connection(bed.destination.near)
    names = ("snapshot", "plan", "receipt", "report", "status")
    files: dict[str, t.Any] = {name: str(population.folder / f"{name}.json") for name in names}
    both: dict[str, t.Any] = {"source": source, "destination": destination}
    began = time.time()
    policies: dict[str, t.Any] = {"on_blocked": "skip_partition", "on_active_group": "skip_group"}
    commit: dict[str, t.Any] = {
        "cluster": destination,
        **policies,
        **{name: files[name] for name in ("plan", "snapshot", "receipt")},
    }
    steps = {
        "snapshot": run_module(
            "kafka_group_offsets",
            cluster=source,
            groups=list(population.commits),
            snapshot=files["snapshot"],
            on_active_group="warn",
        ),
        "plan": run_module(
            "kafka_offset_translate", **both, **{name: files[name] for name in ("snapshot", "plan", "receipt")}
        ),
    }
    population.check(Path(files["plan"]))
    steps["look ahead"] = run_module("kafka_offset_commit", **commit, idle_wait=0, _ansible_check_mode=True)
    given: dict[str, t.Any] = {}
    if steps["look ahead"].result["written"]:
        verify: dict[str, t.Any] = {
            "plan": [files["plan"]],
            "receipt": [files["receipt"]],
            "method": "anchors",
            **policies,
        }
        steps["verify"] = run_module(
            "kafka_offset_verify", **both, **verify, report=[files["report"]], incremental=True, scope="to_commit"
        )
        given = {"report": files["report"]}
    steps["commit"] = run_module("kafka_offset_commit", **commit, **given, idle_wait=0)
    steps["readiness"] = run_module(
        "kafka_group_readiness",
        **both,
        **given,
        plan=files["plan"],
        status=files["status"],
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
    population = Population(bed.folder / "window", load.records, renamed)
    _have_members(bed.source, population.commits)
    stand(bed.source, population.commits)
    print(
        f"\nwindow: ansible-playbook from its start to its end, for {len(population.commits):,} groups with "
        f"{population.size:,} offsets, with {IDLE_WAIT:.0f} s of idle_wait on each cluster\n"
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
    _tell("the first round", [_play(near, population, phase="sync")])
    runs = {
        f"{MOVED:,} moved, verified by anchors": (near, MOVED, "anchors", "14 s"),
        f"{MOVED:,} moved, verified by records": (near, MOVED, "records", "20 s"),
        f"{MOVED:,} moved, by anchors, {ROUND_TRIP} ms away": (far, MOVED, "anchors", "three times that"),
        f"all {population.size:,} moved, verified by anchors": (near, population.size, "anchors", ""),
        f"all {population.size:,} moved, verified by records": (near, population.size, "records", ""),
    }
    for name, (controller, count, verify, target) in runs.items():
        plays = []
        nothing = statistics.median(_nothing(controller) for _again in range(REPEATS))
        for _again in range(REPEATS if target else 1):
            population = population.moved(bed, count, chance)
            plays.append(_play(controller, population, phase="cut_over", verify=verify))
        _tell(f"cut-over, {name}", plays, f"target: {target}" if target else "")
        ratio = statistics.median(seconds for seconds, _took in plays) / nothing
        print(f"    {ratio:.1f} times a play of ten tasks that do nothing ({nothing:.2f} s)", flush=True)


def _play(controller: ProgramController, population: Population, **variables: t.Any) -> tuple[float, str]:
    """Seconds of the playbook, and what it says of its steps. Its plan is compared with the right offsets."""
    begin = time.perf_counter()
    played = controller.migrate_groups(
        group_patterns=["window-.*"],
        directory=str(population.folder),
        idle_wait=IDLE_WAIT,
        write_report=True,  # as by default in the roles
        **variables,
    )
    seconds = time.perf_counter() - begin
    done(played)
    population.check(population.folder / "plan.json")
    if variables["phase"] == "cut_over" and f"and {len(population.commits) - 20} more." not in played.output:
        raise RuntimeError(f"not every group may start:\n{played.output}")
    took = re.search(r"It took: [^\"]*", played.output)
    return seconds, took.group() if took else ""


def _nothing(controller: ProgramController) -> float:
    """Seconds of a play of ten modules that are packed, started and imported, and refuse their options then."""
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
