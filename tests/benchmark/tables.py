# SPDX-License-Identifier: GPL-3.0-or-later

"""How runs of modules are asked for and told: a title, and a row for each kind of run."""

from __future__ import annotations

import statistics
import typing as t

from tests.benchmark.measure import Run


def title(text: str) -> None:
    print(f"\n{text}\n  {'':<44}{'median s':>9}{'all runs':>22}{'MB':>7}{'CPU s':>7}", flush=True)


def row(what: str, runs: t.Sequence[Run], target: str = "", besides: float = 0) -> None:
    every = " ".join(f"{run.seconds - besides:.2f}" for run in runs)
    megabytes, cpu = max(run.megabytes for run in runs), statistics.median(run.cpu for run in runs)
    print(f"  {what:<44}{median(runs) - besides:>9.2f}{every:>22}{megabytes:>7.0f}{cpu:>7.1f}  {target}", flush=True)


def median(runs: t.Sequence[Run]) -> float:
    return statistics.median(run.seconds for run in runs)


def connection(address: str) -> dict[str, t.Any]:
    """The modules' option for a cluster."""
    return {"bootstrap_servers": [address]}
