# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Attack the rule with random worlds, at length: `make attack SECONDS=600 SEED=1`.

Counts a class and way are printed as a table, and of each kind of fault the smallest examples, in the notation of case.py
with the command that asks again. The exit code is 1 where a promise was broken outside of the declared assumptions.

    run.py --seconds 60 --seed 1 [--class NAME ...]
    run.py --world "open, copied" 17        this world alone, shrunk
    run.py --ask "S a@5 x@5(open) a@5 T a@5<0 x@5<1 a@5<2 C=1 stable=1"
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import dataclasses
import itertools
import sys
import time
import traceback
import typing as t
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / ".ansible/collections")]

from tests.attack import rule
from tests.attack.case import Case, parse
from tests.attack.classes import CLASSES, DECLARED
from tests.attack.judge import FAULTS, NEEDLESS, Finding, contradiction, judge, verification
from tests.attack.shrink import shrunk
from tests.attack.truth import LONG, Truth
from tests.attack.worlds import World, world

SHOWN = 3  # examples of a kind, of different classes
CERTAIN = ("count", "verify")  # ways that assume nothing of the tool
SHOWN_KINDS = (*FAULTS, "neighbours", "differs")
KEPT = 20  # findings of a kind, class and chunk that are remembered
CHUNK = 10  # worlds of each class
_ERRORS = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)

WAYS: dict[str, t.Callable[[Case], rule.Answer]] = {"near": rule.near, "whole": rule.whole, "count": rule.count}

EVERY_WAY = (*WAYS, "near, whole", "near, count", "verify", "kept", "identical", "notes", "neighbours")

Shape = tuple[str, str, str]  # class, way, kind of finding


@dataclasses.dataclass
class Tally:
    """What was counted; cost: (rounds, records read) of the near way by class."""

    counts: collections.Counter[Shape]
    cost: dict[str, list[tuple[int, int]]]
    found: dict[Shape, list[tuple[int, Case, Case | None]]]

    @classmethod
    def empty(cls) -> Tally:
        return cls(collections.Counter(), collections.defaultdict(list), collections.defaultdict(list))

    def add(self, other: Tally) -> None:
        self.counts += other.counts
        for name, cost in other.cost.items():
            self.cost[name] += cost
        for shape, found in other.found.items():
            self.found[shape] = (self.found[shape] + found)[:KEPT]


def answers(case: Case) -> tuple[dict[str, rule.Answer], list[Finding]]:
    """The answer of each way, and what is wrong with them."""
    found: list[Finding] = []
    given: dict[str, rule.Answer] = {}
    with rule.thresholds(case.scaled):
        for way, ask in WAYS.items():
            try:
                given[way] = ask(case)
            except _ERRORS as error:
                found.append(_crash(way, error))
    for way, answer in given.items():
        found += judge(case, way, answer)
    for way, ask in (("identical", rule.identical), ("notes", _by_notes), ("neighbours", _among_neighbours)):
        if way == "notes" and case.committed % 3:
            continue
        try:
            with rule.thresholds(case.scaled):
                answer = ask(case)
        except _ERRORS as error:
            found.append(_crash(way, error))
            continue
        found += [finding for finding in judge(case, way, answer) if finding.kind in FAULTS]
        if way == "neighbours" and "near" in given and answer[:5] != given["near"][:5]:
            found.append(Finding("neighbours", way, f"{answer}, alone {given['near']}"))
    for one, other in (("near", "whole"), ("near", "count")):
        if one in given and other in given:
            found += contradiction(case, given[one], given[other], f"{one}, {other}")
    offsets = _mutated(case, given)
    found += verification(case, offsets, rule.verify(case, offsets))
    return given, found


def _by_notes(case: Case) -> rule.Answer:
    """With some differences of offsets that a tool has noted while it copied."""
    copies = [copy for copy in case.destination if copy.origin is not None][:: max(1, len(case.destination) // 3)]
    return rule.by_notes(case, tuple(dict.fromkeys((copy.origin or 0) - copy.offset for copy in copies)))


def _among_neighbours(case: Case) -> rule.Answer:
    """With what two other groups of the partition have caused to be read."""
    stable = case.source_edges.stable
    return rule.near(case, {(case.committed * 7 + 3) % (stable + 1), case.committed // 2} - {case.committed})


def _mutated(case: Case, given: t.Mapping[str, rule.Answer]) -> list[int]:
    """Offsets as a wrong plan might have them: those of the answers, one lower, one higher, ten higher."""
    edges = case.destination_edges
    offsets = {a.lossless if a.offset is None else a.offset for a in given.values()}
    shifted = {offset + by for offset in offsets if offset is not None for by in (-1, 0, 1, 10)}
    return sorted(at for at in shifted if edges.start <= at <= edges.end)


def kept(earlier: Case, now: Case) -> tuple[rule.Answer | None, list[Finding]]:
    """An earlier answer that is kept is held to the promises as if it were given now."""
    try:
        with rule.thresholds(now.scaled):
            first = rule.near(earlier)
            if judge(earlier, "near", first):
                return None, []  # wrong already when it was made
            answer = rule.kept(first, now)
    except _ERRORS as error:
        return None, [_crash("kept", error)]
    return answer, [] if answer is None else [f for f in judge(now, "kept", answer) if f.kind not in NEEDLESS]


def _crash(way: str, error: Exception) -> Finding:
    where = traceback.extract_tb(error.__traceback__)[-1]
    return Finding(
        "crash", way, f"{type(error).__name__} in {where.filename.rpartition('/')[2]}:{where.lineno}: {error}"[:300]
    )


def attack(name: str, seeds: range, most_records: int | None = None) -> Tally:
    """All positions of these worlds, or of those among them that have at most so many source records."""
    tally = Tally.empty()
    for seed in seeds:
        its = world(name, seed)
        if most_records is not None and len(its.cases[0].source) > most_records:
            continue
        tally.counts[name, "near", "worlds"] += 1
        for at, case in enumerate(its.cases):
            given, found = answers(case)
            for way, answer in given.items():
                tally.counts[name, way, "positions"] += 1
                tally.counts[name, way, answer.verdict] += 1
            old = None
            if "near" in given:
                tally.cost[name].append((given["near"].rounds, given["near"].records))
            if its.earlier:
                old = its.earlier[at]
                if old.committed <= old.source_edges.stable:
                    answer, more = kept(old, case)
                    found += more
                    tally.counts[name, "kept", "positions"] += answer is not None
            for kind, way in {(finding.kind, finding.way) for finding in found}:
                tally.counts[name, way, kind] += 1
                if len(tally.found[name, way, kind]) < KEPT:
                    tally.found[name, way, kind].append((seed, case, old))
    return tally


def _chunks(names: t.Sequence[str], seed: int) -> t.Iterator[tuple[str, range]]:
    for number in itertools.count():
        first = seed * 1_000_000_000 + number * CHUNK
        for name in names:
            yield name, range(first, first + CHUNK)


def run(names: t.Sequence[str], seed: int, seconds: float, workers: int) -> Tally:
    """As many worlds of each class as there is time for."""
    tally, end = Tally.empty(), time.monotonic() + seconds
    chunks = _chunks(names, seed)
    with concurrent.futures.ProcessPoolExecutor(workers) as pool:
        waiting = {pool.submit(attack, *next(chunks)) for _unused in range(workers * 2)}
        while waiting:
            done, waiting = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                tally.add(future.result())
                if time.monotonic() < end:
                    waiting.add(pool.submit(attack, *next(chunks)))
    return tally


COLUMNS = ("positions", "exact", "safe", "blocked", *FAULTS, *NEEDLESS)


def table(tally: Tally) -> str:
    """Counts by class and way; of the near way also what it cost."""
    rows = sorted(
        {(name, way) for name, way, _kind in tally.counts},
        key=lambda row: (row[0].startswith(DECLARED), row[1], row[0]),
    )
    lines = [["class", "way", "worlds", *COLUMNS, "rounds 50/99/max", "records 50/99/max"]]
    for name, way in rows:
        costs = tally.cost.get(name, []) if way == "near" else []
        lines.append(
            [
                name,
                way,
                str(tally.counts[name, way, "worlds"] or ""),
                *(str(tally.counts[name, way, kind] or "") for kind in COLUMNS),
                *(_quantiles([cost[part] for cost in costs]) for part in (0, 1)),
            ]
        )
    for way in EVERY_WAY:
        total = {
            kind: sum(n for (_c, w, k), n in tally.counts.items() if (w, k) == (way, kind))
            for kind in ("worlds", *COLUMNS)
        }
        every = [cost for costs in tally.cost.values() for cost in costs] if way == "near" else []
        lines.append(
            ["all", way, *(str(n or "") for n in total.values()), *(_quantiles([c[p] for c in every]) for p in (0, 1))]
        )
    columns = [column for column in zip(*lines, strict=True) if any(column[1:])]
    widths = [max(map(len, column)) for column in columns]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in zip(*columns, strict=True)
    )


def _quantiles(values: list[int]) -> str:
    if not values:
        return ""
    values = sorted(values)
    return f"{values[len(values) // 2]}/{values[len(values) * 99 // 100]}/{values[-1]}"


def example(name: str, seed: int, case: Case, old: Case | None, way: str, kind: str) -> str:
    """A finding made small, and how to ask again."""

    def still(smaller: Case) -> bool:
        return any((found.kind, found.way) == (kind, way) for found in answers(smaller)[1])

    where = f"{kind} ({way}), class {name!r}, seed {seed}"
    if way == "kept" and old is not None:
        return f"{where}\nwhen it was planned ({rule.near(old)}):\n{old}\nnow:\n{case}"
    small = shrunk(case, still)
    given, found = answers(small)
    said = [f"  {finding.way}: {finding.kind}: {finding.text}" for finding in found if finding.kind not in NEEDLESS]
    text = str(small).replace("\n", " ")
    if len(small.destination) <= LONG:
        said.append("  best: offset {}, which repeats {}".format(*Truth(small).best))
    return f"{where}\n{small}\n" + "\n".join(said) + f"\n  python tests/attack/run.py --ask '{text}'"


def show(text: str) -> str:
    """What each way answers to a case in text, and what is wrong with it."""
    case = parse(text)
    given, found = answers(case)
    truth = Truth(case)
    lines = [f"{way:6} {answer}  ({answer.rounds} rounds, {answer.records} records)" for way, answer in given.items()]
    lines += [f"{finding.way}: {finding.kind}: {finding.text}" for finding in found]
    edges = case.destination_edges
    if edges.end - edges.start <= 60:
        lines += [
            f"offset {at}: skips {truth.skipped(at)}, repeats {truth.repeats(at)} (later {truth.repeats(at, True)})"
            for at in range(edges.start, edges.end + 1)
        ]
    return "\n".join(lines)


def examine(its: World) -> str:
    """Everything about one world, findings shrunk."""
    lines = []
    for case in its.cases:
        for kind, way in sorted({(f.kind, f.way) for f in answers(case)[1] if f.kind in FAULTS}):
            lines.append(example(its.name, its.seed, case, None, way, kind))
    return "\n\n".join(lines) or "nothing is wrong"


def _broken(tally: Tally) -> list[Shape]:
    return [shape for shape in tally.found if shape[2] in SHOWN_KINDS]


def complaints(tally: Tally, way: str) -> list[str]:
    """An example of each kind of fault of one way outside of the declared assumptions."""
    shapes = [shape for shape in _undeclared(tally) if shape[1] == way]
    return [example(name, *_smallest(tally, (name, way, kind)), way, kind) for name, way, kind in shapes]


def _smallest(tally: Tally, shape: Shape) -> tuple[int, Case, Case | None]:
    return min(tally.found[shape], key=lambda found: len(found[1].source))


def _undeclared(tally: Tally) -> list[Shape]:
    return [
        (name, way, kind)
        for name, way, kind in tally.found
        if kind in FAULTS and (way in CERTAIN or not name.startswith(DECLARED))
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--class", dest="names", action="append", choices=sorted(CLASSES))
    parser.add_argument("--world", nargs=2, metavar=("CLASS", "SEED"))
    parser.add_argument("--ask", metavar="CASE")
    parser.add_argument("--shown", type=int, default=SHOWN)
    arguments = parser.parse_args()
    if arguments.ask:
        print(show(arguments.ask))
        return 0
    if arguments.world:
        print(examine(world(arguments.world[0], int(arguments.world[1]))))
        return 0
    begun = time.monotonic()
    tally = run(arguments.names or list(CLASSES), arguments.seed, arguments.seconds, arguments.workers)
    print(table(tally))
    broken = sorted(
        _broken(tally), key=lambda shape: (shape[0].startswith(DECLARED), SHOWN_KINDS.index(shape[2]), shape[1])
    )
    shown: collections.Counter[tuple[str, str, bool]] = collections.Counter()
    for name, way, kind in broken:
        declared = name.startswith(DECLARED)
        shown[way, kind, declared] += 1
        if shown[way, kind, declared] <= arguments.shown:
            print("\n" + example(name, *_smallest(tally, (name, way, kind)), way, kind))
    positions = sum(n for (_c, _w, kind), n in tally.counts.items() if kind == "positions")
    faults = sum(tally.counts[shape] for shape in _undeclared(tally))
    print(
        f"\n{positions} answers in {time.monotonic() - begun:.0f} s, {faults} faults outside of the declared assumptions"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
