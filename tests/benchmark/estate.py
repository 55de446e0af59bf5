# SPDX-License-Identifier: GPL-3.0-or-later

"""The question about large estates: what does every step of one migration of 100,000 group-partitions cost?"""

from __future__ import annotations

import gc
import time
import typing as t
from pathlib import Path

from ansible_collections.streamshift.kafka.plugins.module_utils._model import plan
from ansible_collections.streamshift.kafka.plugins.module_utils._module.frame import COLLECTED_AT
from tests.benchmark.bed import Bed
from tests.benchmark.loads import LOADS
from tests.benchmark.measure import Run, run_module
from tests.benchmark.migration import STEPS, Migration
from tests.benchmark.tables import row, title
from tests.support.chromium import CHROMIUM, chromium, watched

TARGETS = dict.fromkeys(("snapshot", "commit", "roll_back"), "target: 60 s")
PLAN_MILLISECONDS, PLAN_KILOBYTES = 4, 20  # of each entry
DIFF_LINES = 202  # with the one on each side that counts the rest
REPORTED = ("snapshot", "plan", "verify", "commit")


def estate(bed: Bed) -> None:
    """What do the steps of a migration of so many groups cost, and can people still read what they make?"""
    load = LOADS["estate"]
    migration = Migration(bed.folder / "estate", bed.source.near, bed.destination.near, load.commits())
    title(
        f"estate: {load.groups:,} groups with {migration.size:,} offsets on {load.topics * load.partitions:,} partitions "
        "of each cluster"
    )
    ran: dict[str, Run] = {}
    for name, step in STEPS.items():
        if name == "roll_back":
            row("report", [_report(migration, {each: ran[each].result for each in REPORTED})])
        ran[name] = step(migration)
        row(name, [ran[name]], TARGETS.get(name, ""))
    _per_entry(ran["plan"], migration.size)
    _look_at_diff(ran["commit"])
    _read_plan(migration.file("plan"))
    _open_report(migration.folder / "report.html")


def _report(migration: Migration, results: dict[str, t.Any]) -> Run:
    """The page for people, of what the steps have returned."""
    return run_module(
        "kafka_migration_run",
        state="reported",
        directory=str(migration.folder),
        results=results,
        role="group_migration",
        phase="migrate",
        source="source",
        destination="destination",
        source_cluster=migration.source,
        destination_cluster=migration.destination,
    )


def _per_entry(run: Run, entries: int) -> None:
    milliseconds, cpu, kilobytes = (each / entries * 1e3 for each in (run.seconds, run.cpu, run.megabytes))
    print(
        f"  plan: {milliseconds:.2f} ms, {cpu:.2f} ms of CPU and {kilobytes:.1f} KB an entry "
        f"(target: {PLAN_MILLISECONDS} ms, {PLAN_KILOBYTES} KB)",
        flush=True,
    )


def _look_at_diff(committed: Run) -> None:
    lines = [line for side in ("before", "after") for line in committed.result["diff"][side].splitlines()]
    print(f"  diff of the commit: {len(lines)} lines (target: {DIFF_LINES}); the last one: {lines[-1]}")
    if len(lines) > DIFF_LINES:
        raise RuntimeError(f"the diff has {len(lines)} lines")


def _read_plan(file: Path) -> None:
    text = file.read_text()
    gc.set_threshold(COLLECTED_AT)  # as in the modules
    begin = time.perf_counter()
    entries = plan.from_json(text, str(file)).entries
    print(
        f"  plan.json: {len(text) / 1e6:.0f} MB, its {len(entries):,} entries are read in {time.perf_counter() - begin:.1f} s "
        "(target: 3 s)",
        flush=True,
    )


def _open_report(file: Path) -> None:
    """Until its rows are there to be looked at; each search and each page is work of its own."""
    if CHROMIUM is None:
        print("  report.html: there is no program chromium to open it")
        return
    said: list[str] = []
    with chromium() as browser:
        page = watched(browser, said)
        begin = time.perf_counter()
        page.goto(file.as_uri())
        page.locator("#partitions tbody tr").first.wait_for()
        opened = time.perf_counter() - begin
        begin = time.perf_counter()
        page.locator("#partitions").get_by_role("button", name="Next").click()
        page.locator("#partitions tbody tr").first.wait_for()
        turned = time.perf_counter() - begin
    print(
        f"  report.html: {file.stat().st_size / 1e6:.0f} MB, opens in {opened:.1f} s (target: 3 s), turns a page in "
        f"{turned:.1f} s" + "".join(f"\n    {each}" for each in said),
        flush=True,
    )
