# SPDX-License-Identifier: GPL-3.0-or-later

"""What was found, made small, in the notation of case.py and with the command that asks again."""

from __future__ import annotations

from tests.attack.case import Case, parse
from tests.attack.exhaustive import SMALL
from tests.attack.judge import FAULTS
from tests.attack.manners import MANNERS
from tests.attack.returns import RETURNS
from tests.attack.shrink import shrunk
from tests.attack.tally import Example, Tally, smallest, undeclared
from tests.attack.truth import LONG, Truth
from tests.attack.ways import EVERY_WAY, answers
from tests.attack.worlds import World


def example(its: Example, name: str, way: str, kind: str) -> str:
    """A finding made small, and how to ask again."""
    case = its.case
    where = f"{kind} ({way}), class {name!r}, seed {its.seed}"
    if way.startswith("merged"):
        its_logs = "(all partitions as one log, consumed ones first, and copies before the offsets first)"
        return f"{where}: {its.text}\n{its_logs}\n{case}"
    if name in (*MANNERS, *RETURNS):
        return f"{where}: {its.text}\n{case}\n  python tests/attack/run.py --world {name!r} {its.seed}"
    if name.startswith(SMALL):
        return f"{where}: {its.text}\n{case}"
    asked = EVERY_WAY if way == "verify" else {way, *way.split(", ")} | ({"near"} if way == "neighbours" else set())

    def still(smaller: Case) -> bool:
        return any((found.kind, found.way) == (kind, way) for found in answers(smaller, asked)[1])

    small = shrunk(case, still)
    _given, found = answers(small, EVERY_WAY)
    said = [f"  {finding.way}: {finding.kind}: {finding.text}" for finding in found if finding.kind in (*FAULTS, kind)]
    text = str(small).replace("\n", " ")
    if len(small.destination) <= LONG:
        said.append("  best: offset {}, which repeats {}".format(*Truth(small).best))
    return f"{where}\n{small}\n" + "\n".join(said) + f"\n  python tests/attack/run.py --ask '{text}'"


def show(text: str) -> str:
    """What each way answers to a case in text, and what is wrong with it."""
    case = parse(text)
    given, found = answers(case, EVERY_WAY)
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
        for kind, way in sorted({(f.kind, f.way) for f in answers(case, EVERY_WAY)[1] if f.kind in FAULTS}):
            lines.append(example(Example(its.seed, case, ""), its.name, way, kind))
    return "\n\n".join(lines) or "nothing is wrong"


def complaints(tally: Tally, way: str) -> list[str]:
    """An example of each kind of fault of one way outside of the declared assumptions."""
    shapes = [shape for shape in undeclared(tally) if shape[1] == way]
    return [example(smallest(tally, shape), *shape) for shape in shapes]
