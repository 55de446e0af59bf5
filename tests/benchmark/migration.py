# SPDX-License-Identifier: GPL-3.0-or-later

"""One migration as the role does it, a module a step: for the questions about distance and about large estates."""

from __future__ import annotations

import time
import typing as t
from pathlib import Path

from tests.benchmark.bed import Address, Bed
from tests.benchmark.measure import Run, run_module
from tests.benchmark.rounds import Population
from tests.benchmark.tables import connection


class Migration:
    """Every step is a method, to be called in this order. far: the clusters are reached by their cables."""

    def __init__(self, bed: Bed, population: Population, far: bool = False) -> None:
        self._population = population
        population.folder.mkdir()
        names = ("snapshot", "plan", "receipt", "report", "status")
        self._files = {name: str(population.folder / f"{name}.json") for name in names}
        self._source, self._destination = self._connection(bed.source, far), self._connection(bed.destination, far)

    @staticmethod
    def _connection(address: Address, far: bool) -> dict[str, t.Any]:
        return connection(address.far if far else address.near)

    def list(self) -> Run:
        return run_module("kafka_group_info", cluster=self._source)

    def snapshot(self) -> Run:
        return run_module(
            "kafka_group_offsets",
            cluster=self._source,
            groups=list(self._population.commits),
            snapshot=self._files["snapshot"],
        )

    def plan(self) -> Run:
        """Its offsets are compared with the right ones."""
        run = self._both("kafka_offset_translate", "snapshot", "plan", "receipt", return_entries="changed")
        self._population.check(Path(self._files["plan"]))
        return run

    def verify(self) -> Run:
        """By records, before anything is written."""
        names = ("plan", "receipt", "report")
        return self._both("kafka_offset_verify", scope="to_commit", **{name: [self._files[name]] for name in names})

    def commit(self) -> Run:
        run = self._commit(
            *("plan", "snapshot", "report"), source=self._source, return_entries="changed", _ansible_diff=True
        )
        return self._all(run)

    def read_back(self) -> Run:
        """The records beside every offset that is committed now."""
        return self._both(
            "kafka_offset_verify", method="anchors", plan=[self._files["plan"]], receipt=[self._files["receipt"]]
        )

    def status(self) -> Run:
        return self._both(
            *("kafka_group_readiness", "plan", "report", "status"),
            migration="benchmark",
            phase="sync",
            started=time.time(),
            changed_offsets=self._population.size,
        )

    def report(self, **steps: Run) -> Run:
        """The page for people, of what these steps have returned."""
        return run_module(
            "kafka_migration_run",
            state="reported",
            directory=str(self._population.folder),
            results={name: run.result for name, run in steps.items()},
            role="group_migration",
            phase="migrate",
            source="source",
            destination="destination",
            source_cluster=self._source,
            destination_cluster=self._destination,
        )

    def roll_back(self) -> Run:
        return self._all(self._commit(state="rolled_back", everything=True, return_entries="changed"))

    def _both(self, module: str, *files: str, **options: t.Any) -> Run:
        given: dict[str, t.Any] = {name: self._files[name] for name in files}
        return run_module(module, source=self._source, destination=self._destination, **given, **options)

    def _commit(self, *files: str, **options: t.Any) -> Run:
        """Nobody is in the groups, so that there is nothing to wait for."""
        given: dict[str, t.Any] = {name: self._files[name] for name in ("receipt", *files)}
        return run_module("kafka_offset_commit", cluster=self._destination, idle_wait=0, **given, **options)

    def _all(self, run: Run) -> Run:
        if run.result["written"] != self._population.size:
            raise RuntimeError(f"{run.result['written']} of {self._population.size} offsets were written")
        return run
