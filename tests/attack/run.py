# SPDX-License-Identifier: GPL-3.0-or-later

"""Attack the rule with random worlds, at length: `make attack SECONDS=600 SEED=1`.

Counts a class and way are printed as a table, and of each kind of fault the smallest examples, in the notation of case.py
with the command that asks again. The exit code is 1 where a promise was broken outside of the declared assumptions.

    run.py --seconds 60 --seed 1 [--positions 100000] [--class NAME ...] [--way NAME ...]
    run.py --exhaustive 3                   all worlds up to this size, against the naive definition
    run.py --world "open, copied" 17        this world alone, shrunk
    run.py --world "live, mirror" 17        this one, which moves, and all that is said of it
    run.py --seed 1 --show "needless safe"   examples of this kind, in place of the faults
    run.py --ask "S a@5 x@5(open) a@5 T a@5<0 x@5<1 a@5<2 C=1 stable=1"
"""

from __future__ import annotations

import argparse
import collections
import functools
import itertools
import math
import sys
import time
import typing as t
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / ".ansible/collections")]

from tests.attack import live, returns
from tests.attack.classes import CLASSES, DECLARED
from tests.attack.examples import examine, example, show
from tests.attack.exhaustive import WAYS as SMALL_WAYS
from tests.attack.exhaustive import all_worlds
from tests.attack.judge import FAULTS, NEEDLESS
from tests.attack.live import attack_moving
from tests.attack.manners import MANNERS
from tests.attack.returns import RETURNS, attack_returns
from tests.attack.tally import (
    Length,
    Shape,
    Tally,
    Task,
    attack_still,
    in_words,
    random_worlds,
    run,
    smallest,
    table,
    undeclared,
)
from tests.attack.ways import EVERY_WAY
from tests.attack.worlds import world

SECONDS = 60  # where nothing is said
SHOWN = 3  # examples of a kind, of different classes
SHOWN_KINDS = (*FAULTS, "neighbours", "differs")


def _shown(tally: Tally, kinds: t.Sequence[str]) -> list[Shape]:
    return sorted(
        (shape for shape in tally.found if shape[2] in kinds),
        key=lambda shape: (shape[0].startswith(DECLARED), kinds.index(shape[2]), shape[1]),
    )


def _worlds(names: list[str], seed: int, ways: t.Sequence[str]) -> t.Iterator[Task]:
    """Those that stand still, those that move, and those in which groups return, by turns."""
    attacks: list[tuple[t.Collection[str], t.Callable[[str, range], Tally]]] = [
        (CLASSES, functools.partial(attack_still, ways=ways)),
        (MANNERS, attack_moving),
        (RETURNS, attack_returns),
    ]
    asked = [([name for name in names if name in kinds], attack_them) for kinds, attack_them in attacks]
    each = [random_worlds(its, seed, attack_them) for its, attack_them in asked if its]
    return itertools.chain.from_iterable(zip(*each, strict=False))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--positions", type=float, default=math.inf)
    parser.add_argument("--exhaustive", type=int, metavar="SIZE")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--class", dest="names", action="append", choices=[*CLASSES, *MANNERS, *RETURNS])
    parser.add_argument("--way", dest="ways", action="append", choices=sorted({*EVERY_WAY, *SMALL_WAYS}))
    parser.add_argument("--world", nargs=2, metavar=("CLASS", "SEED"))
    parser.add_argument("--ask", metavar="CASE")
    parser.add_argument("--shown", type=int, default=SHOWN)
    parser.add_argument("--show", dest="kinds", action="append", choices=sorted({*FAULTS, *NEEDLESS}), metavar="KIND")
    arguments = parser.parse_args()
    if arguments.ask:
        print(show(arguments.ask))
        return 0
    if arguments.world:
        name, number = arguments.world[0], int(arguments.world[1])
        if name in MANNERS:
            print(in_words(live.said_of(name, number)))
        elif name in RETURNS:
            print(in_words(said for said in returns.said_of(name, number) if said[3]))  # what is wrong
        else:
            print(examine(world(name, number)))
        return 0
    begun = time.monotonic()
    ways = arguments.ways or EVERY_WAY
    seconds = SECONDS if math.inf == arguments.seconds == arguments.positions else arguments.seconds
    if arguments.exhaustive is None:
        worlds = _worlds(arguments.names or [*CLASSES, *MANNERS, *RETURNS], arguments.seed, ways)
        tally = run(worlds, arguments.workers, Length(seconds, arguments.positions))
    else:
        tally = run(all_worlds(arguments.exhaustive, arguments.ways or ()), arguments.workers)
    print(table(tally))
    shown: collections.Counter[tuple[str, str, bool]] = collections.Counter()
    for name, way, kind in _shown(tally, arguments.kinds or SHOWN_KINDS):
        declared = name.startswith(DECLARED)
        shown[way, kind, declared] += 1
        if shown[way, kind, declared] <= arguments.shown:
            print("\n" + example(smallest(tally, (name, way, kind)), name, way, kind))
    given = sum(n for (_c, _w, kind), n in tally.counts.items() if kind == "positions")
    faults = sum(tally.counts[shape] for shape in undeclared(tally))
    print(f"\n{tally.positions} positions, {given} answers in {time.monotonic() - begun:.0f} s", end="")
    print(f", {faults} faults outside of the declared assumptions")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
