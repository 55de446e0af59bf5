# SPDX-License-Identifier: GPL-3.0-or-later

"""Migrations of groups, a module a step."""

from __future__ import annotations

import json
import time
import typing as t
from pathlib import Path

from tests.benchmark.loads import FOREIGN, Commits
from tests.benchmark.measure import Run, run_module
from tests.benchmark.tables import connection


class Migration:
    """Groups that go from one cluster to another, by their addresses, and the folder that is for the files of that.

    commits: where they stand at the source. files: the names of options that are files, besides those always given.
    """

    def __init__(self, folder: Path, source: str, destination: str, commits: Commits) -> None:
        folder.mkdir()
        self.folder, self.commits = folder, commits
        self.source, self.destination = connection(source), connection(destination)

    @property
    def size(self) -> int:
        """How many offsets the groups have committed."""
        return sum(map(len, self.commits.values()))

    def file(self, name: str) -> Path:
        """Of an option of this name."""
        return self.folder / f"{name}.json"

    def forget(self, name: str) -> None:
        """Remove the file of this option, so that nothing is known of before."""
        self.file(name).unlink(missing_ok=True)

    def snapshot(self, **options: t.Any) -> Run:
        return run_module(
            "kafka_group_offsets",
            cluster=self.source,
            groups=list(self.commits),
            snapshot=str(self.file("snapshot")),
            **options,
        )

    def translate(self, *files: str, **options: t.Any) -> Run:
        return self.both("kafka_offset_translate", "snapshot", "plan", *files, **options)

    def plan(self, *files: str, **options: t.Any) -> Run:
        """A translation whose offsets are compared with the right ones."""
        run = self.translate(*files, **options)
        self.check()
        return run

    def check(self, right: Commits | None = None) -> None:
        """Raise RuntimeError where the plan sends a group anywhere else than where it must go.

        right: without it, at the destination every log begins with foreign records.
        """
        entries = json.loads(self.file("plan").read_text())["entries"]
        found = {(each["group"], (each["topic"], each["partition"])): each["offset"] for each in entries}
        # Who has consumed nothing begins at the start.
        right = right or {
            group: {where: offset + FOREIGN if offset else 0 for where, offset in its.items()}
            for group, its in self.commits.items()
        }
        wanted = {(group, where): offset for group, its in right.items() for where, offset in its.items()}
        if found != wanted:
            wrong = [f"{key}: {found.get(key)}, not {at}" for key, at in wanted.items() if found.get(key) != at]
            raise RuntimeError(f"the plan is wrong in {len(wrong)} of {len(wanted)} places: {wrong[:3]}")

    def verify(self, *files: str, **options: t.Any) -> Run:
        given = {name: [str(self.file(name))] for name in files}
        return self.both("kafka_offset_verify", **given, **options)

    def commit(self, *files: str, **options: t.Any) -> Run:
        return self._write("plan", *files, **options)

    def roll_back(self, **options: t.Any) -> Run:
        return self._write(state="rolled_back", everything=True, **options)

    def _write(self, *files: str, **options: t.Any) -> Run:
        """Nobody is in the groups, so that there is nothing to wait for."""
        given = {name: str(self.file(name)) for name in ("receipt", *files)}
        return run_module("kafka_offset_commit", **{"cluster": self.destination, "idle_wait": 0, **given, **options})

    def both(self, module: str, *files: str, **options: t.Any) -> Run:
        """A module that looks at both clusters."""
        given: dict[str, t.Any] = {name: str(self.file(name)) for name in files}
        return run_module(module, source=self.source, destination=self.destination, **given, **options)

    def all(self, run: Run) -> Run:
        """A run that must have written everything."""
        if run.result["written"] != self.size:
            raise RuntimeError(f"{run.result['written']} of {self.size} offsets were written")
        return run


# As the role has them, in this order: for the questions about distance and about large estates.
STEPS: dict[str, t.Callable[[Migration], Run]] = {
    "list": lambda its: run_module("kafka_group_info", cluster=its.source),
    "snapshot": lambda its: its.snapshot(),
    "plan": lambda its: its.plan("receipt", return_entries="changed"),
    "verify": lambda its: its.verify("plan", "receipt", "report", scope="to_commit"),  # by records
    "commit": lambda its: its.all(
        its.commit("snapshot", "report", source=its.source, return_entries="changed", _ansible_diff=True)
    ),
    "read_back": lambda its: its.verify("plan", "receipt", method="anchors"),  # of every offset that is committed now
    "status": lambda its: its.both(
        *("kafka_group_readiness", "plan", "report", "status"),
        migration="benchmark",
        phase="sync",
        started=time.time(),
        changed_offsets=its.size,
    ),
    "roll_back": lambda its: its.all(its.roll_back(return_entries="changed")),
}
