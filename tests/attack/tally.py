# SPDX-License-Identifier: GPL-3.0-or-later

"""Worlds by the thousand: what was answered in each class, by each way, and what it cost."""

from __future__ import annotations

import collections
import concurrent.futures
import dataclasses
import functools
import gc
import itertools
import math
import sys
import time
import typing as t

from tests.attack.case import Case
from tests.attack.classes import CLASSES, DECLARED, UNKNOWABLE
from tests.attack.judge import FAULTS, NEEDLESS, Finding
from tests.attack.merged import merged
from tests.attack.rule import Answer
from tests.attack.ways import EVERY_WAY, answers, by_turns, merged_answers
from tests.attack.worlds import world

CERTAIN = ("count", "verify")  # ways that assume nothing of the tool
POSITIONS = ("near", "merged", "plan", "again", "identical", "return")  # ways of which each position is asked by one
KEPT = 20  # findings of a kind, class and chunk that are remembered
LONG = "long"  # in the name of a class
CHUNK = 10  # worlds of each class, and of those whose logs are long:
LONG_CHUNK = 2

Shape = tuple[str, str, str]  # class, way, kind of finding
Said = tuple[str, Answer | None, Case, list[Finding]]  # of a position, each way; without an answer, what went wrong


class Example(t.NamedTuple):
    """A finding; text: what is wrong."""

    seed: int
    case: Case
    text: str


@dataclasses.dataclass
class Tally:
    """What was counted; cost: (rounds, records read) of the near way by class; found: examples, not all of them."""

    counts: collections.Counter[Shape]
    cost: dict[str, list[tuple[int, int]]]
    found: dict[Shape, list[Example]]

    @classmethod
    def empty(cls) -> Tally:
        return cls(collections.Counter(), collections.defaultdict(list), collections.defaultdict(list))

    def note(self, name: str, seed: int, case: Case, found: t.Iterable[Finding]) -> None:
        for (kind, way), text in {(its.kind, its.way): its.text for its in found}.items():
            self.counts[name, way, kind] += 1
            if len(self.found[name, way, kind]) < KEPT:
                self.found[name, way, kind].append(Example(seed, case, text))

    @property
    def positions(self) -> int:
        """How many positions there were: each is asked of one of these ways."""
        return sum(n for (_c, way, kind), n in self.counts.items() if kind == "positions" and way in POSITIONS)

    def add(self, other: Tally) -> None:
        self.counts += other.counts
        for name, cost in other.cost.items():
            self.cost[name] += cost
        for shape, found in other.found.items():
            self.found[shape] = (self.found[shape] + found)[:KEPT]


def tallied(name: str, way: str, worlds: t.Iterable[tuple[int, t.Iterable[Said]]]) -> Tally:
    """What is said of worlds of a class, by their seeds. way: by which they are counted."""
    tally = Tally.empty()
    for seed, said in worlds:
        tally.counts[name, way, "worlds"] += 1
        for asked, answer, case, found in said:
            tally.counts[name, asked, "positions"] += 1
            if answer is not None:
                tally.counts[name, asked, answer.verdict] += 1
            tally.note(name, seed, case, found)
    return tally


def in_words(said: t.Iterable[Said]) -> str:
    """The same of one world, for people."""
    return "\n\n".join(
        "\n".join([f"{way}: {answer}", *(f"{its.kind}: {its.text}" for its in found), str(case)])
        for way, answer, case, found in said
    )


def attack(
    name: str,
    seeds: range,
    most_records: int | None = None,
    ways: t.Sequence[str] = EVERY_WAY,
    in_turns: bool = False,
) -> Tally:
    """All positions of these worlds, or of those among them that have at most so many source records, by these ways.

    in_turns: ask the rarer ways by turns, for more positions in the same time.
    """
    tally, asked, number = Tally.empty(), list[int](), 0
    for seed in seeds:
        its = world(name, seed)
        if most_records is not None and len(its.cases[0].source) > most_records:
            continue
        tally.counts[name, ways[0], "worlds"] += 1
        for case in its.cases:
            given, found = answers(case, by_turns(ways, number) if in_turns else ways)
            number += 1
            for way, answer in given.items():
                tally.counts[name, way, "positions"] += 1
                tally.counts[name, way, answer.verdict] += 1
            if "near" in given:
                tally.cost[name].append((given["near"].rounds, given["near"].records))
            tally.note(name, seed, case, found)
        asked.append(seed)
    if "merged" in ways:
        topics = [(seed, its) for seed in asked for its in merged(name, seed)]
        for (seed, _its), said in zip(topics, merged_answers([its for _seed, its in topics]), strict=True):
            if said is not None:
                case, joined, found = said
                tally.counts[name, "merged", "positions"] += 1
                tally.counts[name, "merged", joined.verdict] += 1
                tally.note(name, seed, case, found)
    return tally


def attack_still(name: str, seeds: range, ways: t.Sequence[str] = EVERY_WAY) -> Tally:
    """attack() in a process of its own, in which looking for cycles takes a tenth of the time and finds few."""
    gc.freeze()  # what is imported is not looked through
    gc.disable()
    sys.setrecursionlimit(20_000)  # for the matching of truth.py, which goes as deep as a world has records
    try:
        return attack(name, seeds, None, ways, in_turns=True)
    finally:
        gc.enable()
        gc.collect()


def chunks(names: t.Sequence[str], seed: int) -> t.Iterator[tuple[str, range]]:
    """Numbers of worlds of each class, without an end."""
    for number in itertools.count():
        first = seed * 1_000_000_000 + number * CHUNK
        for name in names:
            yield name, range(first, first + (LONG_CHUNK if LONG in name else CHUNK))


class Length(t.NamedTuple):
    """When an attack ends: after so many seconds, or positions of the first way, whatever is first."""

    seconds: float = math.inf
    positions: float = math.inf

    def reached(self, tally: Tally, begun: float) -> bool:
        """Is it the end?"""
        return time.monotonic() - begun >= self.seconds or tally.positions >= self.positions


Task = t.Callable[[], Tally]


def random_worlds(names: t.Sequence[str], seed: int, attack_them: t.Callable[[str, range], Tally]) -> t.Iterator[Task]:
    """Worlds of each class, without an end."""
    return (functools.partial(attack_them, name, seeds) for name, seeds in chunks(names, seed))


def run(tasks: t.Iterable[Task], workers: int, length: Length | None = None) -> Tally:
    """All these tasks together, or as many of them as that."""
    tally, begun, left = Tally.empty(), time.monotonic(), iter(tasks)
    length = length or Length()
    with concurrent.futures.ProcessPoolExecutor(workers) as pool:
        waiting = {pool.submit(task) for task in itertools.islice(left, workers * 2)}
        while waiting:
            done, waiting = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                tally.add(future.result())
                if not length.reached(tally, begun):
                    waiting.update(pool.submit(task) for task in itertools.islice(left, 1))
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
    for way in dict.fromkeys(way for _name, way in rows):
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


def smallest(tally: Tally, shape: Shape) -> Example:
    return min(tally.found[shape], key=lambda its: len(its.case.source) + len(its.case.destination))


def undeclared(tally: Tally) -> list[Shape]:
    """Faults for which docs/the-rule.md has no words."""
    return [
        (name, way, kind)
        for name, way, kind in tally.found
        if kind in FAULTS
        and (not name.startswith(DECLARED) or (way in CERTAIN and name in CLASSES and name not in UNKNOWABLE))
    ]
