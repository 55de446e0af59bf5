# SPDX-License-Identifier: GPL-3.0-or-later

"""All worlds up to a size: what the ways answer in each is held against the naive definition.

Two contents; each record has a time of its own or that of the equal record before it, or all have none; the source has lost
its first record or none. A copy has the time of an equal record or another one, older than all or not, or the broker has
stamped all copies. Of worlds that differ only in the names of contents, one is tried.
"""

from __future__ import annotations

import functools
import itertools
import typing as t

from tests.attack import rule
from tests.attack.case import NO_TIME, NOON, Case, Copy, Edges, Original
from tests.attack.judge import Finding
from tests.attack.naive import Logs, Thing
from tests.attack.tally import Tally, Task

WAYS: dict[str, t.Callable[[t.Sequence[Case]], list[rule.Answer]]] = {
    "count": lambda cases: list(map(rule.count, cases)),
    "near": lambda cases: list(map(rule.near, cases)),
    "Spark": rule.count_by_spark,
}
SMALL = "small"  # how the names of these classes begin
AT_ONCE = 2000  # cases that Spark's functions count together

Source = tuple[int, tuple[Thing, ...]]  # how many records were lost, and those that are left


class World(t.NamedTuple):
    """Both logs; lost: how many records the source has lost. stamped: the destination's broker has set all times."""

    lost: int
    source: tuple[Thing, ...]
    copies: tuple[Thing, ...]
    stamped: bool = False

    @property
    def name(self) -> str:
        """Its class."""
        return ", ".join([SMALL, *["source lost some"] * (self.lost > 0), *["stamped"] * self.stamped])

    def case(self, consumed: int) -> Case:
        """As the ways are asked."""
        source = tuple(Original(self.lost + at, *_seen(each)) for at, each in enumerate(self.source))
        copies = tuple(Copy(at, *_seen(each), stamped=self.stamped) for at, each in enumerate(self.copies))
        end, size = self.lost + len(source), len(copies)
        edges = Edges(self.lost, end, end), Edges(0, size, size, self.stamped)
        return Case(self.lost + consumed, source, edges[0], copies, edges[1], scaled=1)

    def logs(self, consumed: int) -> Logs:
        """As the definition takes them."""
        copies = [copy._replace(time=None) for copy in self.copies] if self.stamped else self.copies
        return Logs(self.source, copies, consumed, self.lost > 0)


def _seen(thing: Thing) -> tuple[int, str]:
    return thing.time or 0, thing.content


def sources(size: int) -> list[Source]:
    """Source logs of up to so many records, lost ones included."""
    lengths = [(lost, length - lost) for lost in (0, 1) for length in range(lost, size + 1)]
    return [(lost, source) for lost, length in lengths for source in _sources(length)]


def _sources(length: int) -> t.Iterator[tuple[Thing, ...]]:
    for contents in itertools.product("ab", repeat=length):
        if contents[:1] == ("b",):
            continue  # as another one, with the names exchanged
        yield tuple(Thing(content, NO_TIME) for content in contents)
        for same in itertools.product((False, True), repeat=length):
            if all(content in contents[:at] for at, content in enumerate(contents) if same[at]):
                yield tuple(_timed(contents, same))


def _timed(contents: t.Sequence[str], same: t.Sequence[bool]) -> t.Iterator[Thing]:
    times: dict[str, int] = {}
    for at, content in enumerate(contents):
        times[content] = times[content] if same[at] else NOON + 10 * at
        yield Thing(content, times[content])


def worlds(lost: int, source: tuple[Thing, ...], most: int) -> t.Iterator[World]:
    """All with this source and up to so many copies."""
    others = (NOON - 5, NOON + 1000) if lost else (NOON + 5,)
    known = sorted({record.content for record in source})
    strange = [content for content in "ab" if content not in known][:1]
    every = [*dict.fromkeys(source), *(Thing(content, time) for content in known for time in others)]
    for number in range(most + 1):
        for copies in itertools.product([*every, *(Thing(content, NOON) for content in strange)], repeat=number):
            yield World(lost, source, copies)
        for contents in itertools.product([*known, *strange], repeat=number):
            yield World(lost, source, tuple(Thing(content, NOON) for content in contents), True)


def all_worlds(size: int, ways: t.Collection[str] = ()) -> t.Iterator[Task]:
    """Those up to this size, by all ways or by these of them."""
    its = [way for way in WAYS if way in ways] or list(WAYS)
    return (functools.partial(attack_all, source, size + 1, its) for source in sources(size))


def attack_all(source: Source, most: int, ways: t.Iterable[str] = WAYS) -> Tally:
    """What these ways answer in all worlds with this source and up to so many copies, and what is wrong with it."""
    tally = Tally.empty()
    its = ((world, consumed) for world in worlds(*source, most) for consumed in range(len(source[1]) + 1))
    with rule.thresholds(1):
        while asked := list(itertools.islice(its, AT_ONCE)):
            cases = [world.case(consumed) for world, consumed in asked]
            logs = [world.logs(consumed) for world, consumed in asked]
            for way in ways:
                for (world, _consumed), case, logs_, answer in zip(asked, cases, logs, WAYS[way](cases), strict=True):
                    found = [Finding(kind, way, text) for kind, text in judge(logs_, answer)]
                    tally.counts[world.name, way, "positions"] += 1
                    tally.counts[world.name, way, answer.verdict] += 1
                    tally.note(world.name, 0, case, found)
    return tally


def judge(logs: Logs, answer: rule.Answer) -> t.Iterator[tuple[str, str]]:
    """(kind of finding, what it is)."""
    for kind, offset in (("lost", answer.offset), ("advice loses", answer.lossless)):
        if offset is not None and logs.skips(offset):
            yield kind, f"{answer} skips unconsumed records"
    best, at = logs.best
    if answer.verdict == "blocked":
        if logs.repeats_if_it_lags(at) <= 0:
            yield "needless blocked", f"{answer}, and {at} repeats {best}"
    elif answer.offset is not None and answer.repeats is not None:
        repeats = logs.repeats(answer.offset)
        if repeats > answer.repeats:
            yield "too few" if answer.repeats else "false exact", f"{answer} repeats {repeats}"
        elif answer.repeats > best:
            yield "needless safe", f"{answer}, and {at} repeats {best}"
