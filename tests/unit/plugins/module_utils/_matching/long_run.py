# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Holds the matching rule against very many random logs; prints what it answered, and each violation made small.

    .venv/bin/python tests/unit/plugins/module_utils/_matching/long_run.py --logs 100000 --seed 1 --workers 2

A log has a number, seed x 1,000,000,000 + its index, by which `--only NUMBER` looks at it again.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import random
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[5] / ".ansible/collections"))

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import Decision
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.driver import settle
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.judge import (
    settle_among_others,
    violations,
)
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.logs import scenario
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.oracle import Oracle
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.shrink import shrunk
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.truth import Scenario

SEED = 1_000_000_000
CHUNK = 500
LONG = 400
SIZES = (4, 6, 8, 12, 24, 40, 80)
SHOWN = 3  # violations of a kind


def numbered(number: int) -> Scenario:
    """The scenario of this number: every fourth is a plain one, every fiftieth a long one."""
    size = LONG if number % 50 == 7 else SIZES[number % len(SIZES)]
    return scenario(random.Random(number), size, plain=number % 4 == 0)


def complaints(case: Scenario, shared: int | None) -> tuple[Decision | None, int, list[str]]:
    """(decision, rounds, violations); shared: the seed of what other groups have read before, None for nothing."""
    try:
        if shared is None:
            decision, rounds, _unused = settle(case.committed, case.source(), case.destination(), case.policy)
        else:
            decision, rounds = settle_among_others(case, random.Random(shared)), 0
    except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return None, 0, [f"0 crash: {type(error).__name__} in {where.name}:{where.lineno}: {str(error)[:300]}"]
    return decision, rounds, violations(case, decision)


def run(numbers: range) -> tuple[collections.Counter[str], list[tuple[str, int]]]:
    """Counts of answers, and (kind of violation, number) of all that went wrong."""
    counts: collections.Counter[str] = collections.Counter()
    wrong: list[tuple[str, int]] = []
    for number in numbers:
        case = numbered(number)
        decision, rounds, found = complaints(case, _shared(number))
        wrong += [(kind, number) for kind in sorted({text.partition(":")[0] for text in found})]
        if decision is not None:
            reason = f" {decision.reason.value}" if decision.reason else ""
            counts[f"answer   {decision.verdict.value}{reason}"] += 1
            counts[f"rounds   {rounds:3}"] += 1
            truth = Oracle(case)
            if truth.within and decision.offset is not None and len(case.arrived) < LONG // 4:
                best = "nothing need repeat" if truth.best()[1] == 0 else "something must repeat"
                counts[f"within   {best}, {decision.verdict.value}"] += 1
    return counts, wrong


def explain(number: int, kind: str | None = None) -> str:
    """The scenario of a number, made small while the same kind of violation stays, and what is wrong there."""
    shared = _shared(number)

    def still(case: Scenario) -> bool:
        return any(text.startswith(kind or "") for text in complaints(case, shared)[2])

    case = numbered(number)
    if still(case):
        case = shrunk(case, still)
    decision, _unused, found = complaints(case, shared)
    return (
        f"number {number}{'' if shared is None else ' (parts were known before)'}: {case}  {decision}\n  "
        + "\n  ".join(found or ["nothing is wrong"])
    )


def _shared(number: int) -> int | None:
    return number if number % 5 == 3 else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--only", type=int)
    arguments = parser.parse_args()
    if arguments.only is not None:
        print(explain(arguments.only))
        return 0
    begun = time.monotonic()
    first, last = arguments.seed * SEED, arguments.seed * SEED + arguments.logs
    chunks = [range(at, min(at + CHUNK, last)) for at in range(first, last, CHUNK)]
    counts: collections.Counter[str] = collections.Counter()
    wrong: list[tuple[str, int]] = []
    with concurrent.futures.ProcessPoolExecutor(arguments.workers) as pool:
        for some_counts, some_wrong in pool.map(run, chunks):
            counts += some_counts
            wrong += some_wrong
    for name, count in sorted(counts.items()):
        print(f"{count:8} {name}")
    kinds = collections.Counter(kind for kind, _unused in wrong)
    for kind, number_of in sorted(kinds.items()):
        print(f"\n=== {kind}: {number_of} violations")
        for number in [number for of, number in wrong if of == kind][:SHOWN]:
            print(explain(number, kind))
    print(f"\n{arguments.logs} logs in {time.monotonic() - begun:.0f} s, {len(wrong)} violations")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
