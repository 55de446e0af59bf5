# SPDX-License-Identifier: GPL-3.0-or-later

"""The classes of worlds: what producers, replication tools and destinations of each go through.

Those whose name begins with "declared" break an assumption that docs/the-rule.md declares; what the near way makes of
them is reported apart.
"""

from __future__ import annotations

import dataclasses
import random as rnd
import typing as t

Span = tuple[int, int]
DECLARED = "declared "


@dataclasses.dataclass
class Traits:
    """size: records written, markers besides.

    alphabet: so many different contents, 0 for all unlike; series: so many that come in turn; unlike: the share of
    records that are unlike any other even so. stamps: where the destination's broker stamps: no, whole, from, until,
    between. times: what the tool does to times: kept, rewritten, some, zero_to_now, zero_to_one, rounded, moved (by one
    distance), seconds (for milliseconds), arrival (near the records'). headers: what it does to headers: kept, added, some
    (added to some copies), dropped. passes_change: of which passes both are said: all, first, later. own_headers: by how many
    different headers records of one content may differ at the source. manners: what its passes do: drops, filter, doubles,
    reorders, overtaking. strangers, destination_markers: how often there is one before a record.
    """

    size: int
    scaled: int
    alphabet: int = 0
    series: int = 0
    unlike: float = 0.3
    clock: str = "steps"
    burst: int = 0
    transactions: bool = False
    left_open: bool = False
    expiry: bool = False
    compaction: float = 0.0
    uncommitted: bool = False
    times: str = "kept"
    headers: str = "kept"
    passes_change: str = "all"
    own_headers: int = 0
    route: str = "all"
    manners: tuple[str, ...] = ()
    two_tools: bool = False
    lag: bool = False
    truncation: bool = False
    stamps: str = "no"
    strangers: float = 0.0
    destination_markers: float = 0.0
    destination_retention: bool = False
    destination_compaction: bool = False
    options: bool = False

    def passes(self, random: rnd.Random, size: int) -> list[Span]:
        """The offsets [begin, end) that each pass of the tool reads, at its time."""
        end = random.randrange(size + 1) if self.lag else size
        if self.route == "late":
            return [(random.choice((self.burst, random.randrange(size + 1))), end if not self.lag else size)]
        if self.route == "first_tries":
            tries = [_short(random, size) for _unused in range(random.choice((1, 1, 2)))]
            return [*tries, (random.choice((0, random.randrange(size + 1))), size)]
        if self.route == "early_ones":
            places = [random.randrange(size) for _unused in range(1 + random.randrange(3))]
            early = [(at, min(size, at + 1 + random.randrange(2))) for at in places]
            return [*early, (random.randrange(size + 1), size)]
        if self.route in ("again", "mixed") or self.truncation:
            passes: list[Span] = []
            reached = 0
            for _unused in range(random.choice((1, 2, 2, 3))):
                begin = random.randrange(reached + 1)
                begin = 0 if random.random() < 0.2 else begin
                if self.route == "mixed" and random.random() < 0.2:
                    begin = random.randrange(size + 1)
                stop = random.randrange(begin, size + 1) if random.random() < 0.6 else size
                passes.append((begin, stop))
                reached = max(reached, stop)
            if not self.lag:
                passes[-1] = (passes[-1][0], size)
            return passes
        if self.two_tools:
            return [(0, random.choice((size, end))), (random.choice((0, random.randrange(size + 1))), end)]
        return [(0, end)]


def _short(random: rnd.Random, size: int) -> Span:
    begin = random.choice((0, 1, 2, random.randrange(size + 1)))
    return begin, min(size, begin + 3 + random.randrange(7))


def _base(random: rnd.Random) -> Traits:
    """A plain world of some size: mostly a few records, read in small steps half of the time."""
    draw = random.random()
    if draw < 0.66:
        size = 2 + random.randrange(11)
    elif draw < 0.93:
        size = 12 + random.randrange(30)
    elif draw < 0.99:
        size = 60 + random.randrange(140)
    else:
        size = 300 + random.randrange(900)
    its = Traits(size, scaled=random.choice((0, 1, 2)))
    its.burst = random.randrange(size + 1)
    its.alphabet = random.choice((0, 0, 1, 2, 3, 5, 12))
    its.unlike = random.choice((0.0, 0.3, 0.8))
    its.clock = random.choice(("same", "steps", "steps", "bursts", "even", "append_time"))
    return its


_Make = t.Callable[[rnd.Random], Traits]


def _with(**values: t.Any) -> _Make:
    """The base with these traits; a tuple is drawn from, but for manners, of which all hold."""

    def make(random: rnd.Random) -> Traits:
        its = _base(random)
        for name, value in values.items():
            drawn = random.choice(value) if isinstance(value, tuple) and name != "manners" else value
            setattr(its, name, drawn)
        if its.burst < 0:
            its.burst = random.randrange(its.size // 2, its.size)
        return its

    return make


_BACK = ("back_by_ms", "late_burst")
_REWRITTEN = ("rewritten", "some", "rounded")


_HEADERS: dict[str, t.Any] = {
    "own_headers": (1, 2, 2, 3),
    "headers": ("kept", "kept", "added", "some", "dropped"),
    "passes_change": ("all", "first", "later"),
}
_MOVED: dict[str, t.Any] = {
    "times": ("moved", "moved", "seconds", "arrival"),
    "passes_change": ("all", "all", "first", "later"),
}
_LITTLE: dict[str, t.Any] = {
    "alphabet": (1, 2, 3, 5),
    "clock": ("same", "steps", "steps", "bursts", "even", "back_by_ms", "some_zero", "none"),
    "route": ("all", "again", "again", "late", "mixed"),
    "lag": (False, True),
}
_LOST: dict[str, t.Any] = {"expiry": (False, True), "destination_retention": (False, True)}
# What is copied of aborted records counts as that of equal ones: declared where the tool lags, or changes a part of the times.
_ABORTED: dict[str, t.Any] = {"transactions": True, "uncommitted": True, "left_open": (False, True), "lag": False}
_OPEN: dict[str, t.Any] = {"transactions": True, "left_open": (False, True)}


def _mixed(random: rnd.Random) -> Traits:
    """Anything that breaks no declared assumption: copies of aborted records come with all times kept, or none."""
    its = _base(random)

    def chance(probability: float) -> bool:
        return random.random() < probability

    its.clock = random.choice(("same", "steps", "bursts", "even", "none", "zero", "some_zero", "half_none", *_BACK))
    its.transactions = chance(0.4)
    its.left_open = chance(0.2)
    its.expiry = chance(0.2)
    its.uncommitted = chance(0.4)
    its.times = random.choice(("kept", "kept", "kept", "zero_to_now", "zero_to_one", *_REWRITTEN))
    its.headers = "added" if chance(0.1) else "kept"
    its.lag = chance(0.3)
    its.stamps = random.choice(("no", "no", "no", "whole", "from", "until", "between"))
    its.strangers = random.choice((0, 0, 0, 0.1, 0.3))
    if its.transactions and its.uncommitted:
        its.stamps = its.stamps if its.stamps in ("no", "whole") else "no"
        its.times = its.times if its.times in ("kept", "rewritten") else "kept"
    its.destination_markers = random.choice((0, 0, 0, 0.1, 0.4))
    its.destination_retention = chance(0.15)
    its.destination_compaction = chance(0.1)
    its.options = chance(0.3)
    its.route = random.choice(("all", "all", "again", "late", "first_tries", "mixed"))
    its.two_tools = its.route == "all" and chance(0.1)
    its.truncation = its.route == "all" and not its.two_tools and chance(0.1)
    if its.route == "all" and not its.two_tools and not its.truncation and chance(0.4):
        steady = its.clock not in _BACK and not its.lag
        its.manners = random.choice(
            (("drops",), ("filter",), ("doubles",), *((("reorders",), ("overtaking",)) if steady else ()))
        )
    may_lack_copies = (
        its.lag or its.destination_retention or its.destination_compaction or its.route != "all" or its.manners
    )
    # Declared classes are about these.
    if its.times == "rounded" and may_lack_copies:
        its.times = "kept"
    if its.lag and its.stamps != "no":
        its.strangers = 0
    return its


def _mixed_compacted(random: rnd.Random) -> Traits:
    """The same for compacted logs, whose copies keep their times: a declared class is about those that keep some."""
    its = _mixed(random)
    its.compaction = random.choice((0.1, 0.3))
    its.stamps, its.times = "no", "kept"
    return its


CLASSES: dict[str, _Make] = {
    "plain": _with(clock=("steps", "even"), alphabet=0),
    "equal records": _with(clock=("same", "bursts", "append_time"), alphabet=(1, 2, 3)),
    "no times": _with(clock=("none", "zero", "some_zero", "half_none")),
    "clocks back": _with(clock=(*_BACK, "back_by_hours")),
    "transactions": _with(transactions=True, uncommitted=(False, True), destination_markers=(0.0, 0.2)),
    "open, copied": _with(transactions=(False, True), left_open=True, uncommitted=True),
    "open, stamped": _with(transactions=(False, True), left_open=True, uncommitted=True, stamps="whole"),
    "open, expired": _with(transactions=(False, True), left_open=True, uncommitted=True, expiry=True),
    "open, again": _with(transactions=(False, True), left_open=True, uncommitted=True, route="again"),
    "expired": _with(expiry=True, options=(False, True)),
    "expired, again": _with(
        expiry=True,
        route="again",
        alphabet=0,
        transactions=(False, False, True),
        uncommitted=(False, True),
        lag=(False, True),
        clock=("same", "steps", "bursts", "even"),
        stamps=("no", "whole"),
        times=("kept", "kept", "rewritten"),
        options=(False, True),
    ),
    "expired, again, equal records": _with(
        expiry=True,
        route="again",
        alphabet=(3, 6),
        transactions=(False, False, True),
        uncommitted=(False, True),
        clock=("same", "steps", "bursts", "even"),
        stamps=("no", "whole"),
        times=("kept", "kept", "rewritten"),
        options=(False, True),
    ),
    "compacted": _with(compaction=(0.1, 0.3, 0.7)),
    "compacted, filtered": _with(compaction=(0.1, 0.3, 0.7), manners=("filter",), lag=(False, True)),
    "again": _with(route="again"),
    "again, back": _with(route="again", clock=_BACK),
    "again, lag": _with(route="again", lag=True),
    "first tries": _with(route="first_tries"),
    "late": _with(route="late"),
    "late, back": _with(route="late", clock=_BACK),
    "late burst": _with(route="late", clock="late_burst", size=tuple(range(20, 260, 20)), burst=-1),
    "drops": _with(manners=("drops",)),
    "filter": _with(manners=("filter",)),
    "doubles": _with(manners=("doubles",)),
    "reorders": _with(manners=("reorders",)),
    "overtaking": _with(manners=("overtaking",)),
    "two tools": _with(two_tools=True),
    "truncated": _with(truncation=True),
    "rewritten": _with(times="rewritten", expiry=(False, False, True)),
    "rewritten, partly": _with(times="some", route=("all", "again")),
    "rounded": _with(times="rounded", route=("all", "again")),
    "zero rewritten": _with(times=("zero_to_now", "zero_to_one"), clock=("zero", "some_zero", "half_none", "none")),
    "stamped": _with(stamps="whole", route=("all", "again", "late")),
    "stamped, partly": _with(stamps=("from", "until", "between"), route=("all", "again", "first_tries")),
    "lag": _with(lag=True),
    "lag, stamped": _with(lag=True, stamps="whole", alphabet=(1, 3, 12), unlike=(0.3, 0.8, 0.97)),
    "lag, expired": _with(lag=True, expiry=True, clock=("steps", "even")),
    "again, lag, equal records": _with(
        route="again", lag=True, clock=("same", "bursts", "append_time"), alphabet=(1, 2, 3)
    ),
    "again, lag, stamped partly": _with(route="again", lag=True, stamps=("from", "until", "between")),
    "strangers": _with(strangers=(0.1, 0.4), route=("all", "again")),
    "destination aged": _with(destination_retention=True, route=("all", "again")),
    "destination compacted": _with(destination_compaction=True, route=("all", "again")),
    "exactly-once tool": _with(destination_markers=(0.1, 0.4), route=("all", "again")),
    "exactly-once, late": _with(
        size=tuple(range(20, 700, 20)),
        destination_markers=(0.02, 0.1, 0.4),
        route=("all", "again", "late", "first_tries", "mixed"),
        clock=("steps", "even", "bursts", *_BACK),
        lag=(False, True),
    ),
    "headers": _with(headers="added", route=("all", "again")),
    "own headers": _with(**_HEADERS, **_LITTLE),
    "own headers, times moved": _with(**_HEADERS | {"passes_change": "all"}, **_LITTLE, times=("rewritten", "moved")),
    "own headers, stamped": _with(**_HEADERS, **_LITTLE, stamps="whole"),
    "own headers, lost": _with(**_HEADERS | {"passes_change": ("all", "later")}, **_LITTLE, **_LOST),
    "own headers, transactions": _with(**_HEADERS, **_LITTLE, **_OPEN),
    "own headers, stamped, transactions": _with(**_HEADERS, **_LITTLE, **_OPEN, stamps="whole"),
    "times moved": _with(**_MOVED, **_LITTLE),
    "times moved, lost": _with(**_MOVED | {"passes_change": "all"}, **_LITTLE, **_LOST),
    "times moved, transactions": _with(**_MOVED, **_LITTLE, **_OPEN),
    "times moved, aborted": _with(**_MOVED | {"passes_change": "all"}, **_LITTLE | _ABORTED),
    "long, recurring": _with(
        scaled=0,
        size=tuple(range(260, 720, 20)),
        alphabet=(1, 3, 12, 16),
        unlike=(0.0, 0.3, 0.8, 0.97),
        clock=("steps", "same", "bursts", "append_time"),
        route=("all", "early_ones", "early_ones", "first_tries"),
    ),
    "long, some dropped": _with(
        scaled=0,
        size=tuple(range(260, 720, 20)),
        alphabet=(0, 3, 12),
        unlike=(0.3, 0.8, 0.97),
        clock=("steps", "same", "bursts"),
        manners=("drops",),
    ),
    "mixed": _mixed,
    "mixed, compacted": _mixed_compacted,
    DECLARED + "drops and reorders": _with(manners=("drops", "reorders")),
    DECLARED + "reorders, back": _with(manners=("reorders",), clock=(*_BACK, "back_by_hours")),
    DECLARED + "drops and doubles": _with(manners=("drops", "doubles")),
    DECLARED + "drops, again": _with(manners=("drops",), route="again"),
    DECLARED + "overtaking, lag": _with(manners=("overtaking",), lag=True),
    DECLARED + "late, back by hours": _with(route=("late", "mixed"), clock="back_by_hours"),
}

# What both whole logs do not show either: a copy looks like one of another record, and that one's own is missing.
UNKNOWABLE: dict[str, _Make] = {
    DECLARED + "compacted, stamped partly": _with(
        compaction=(0.1, 0.3), stamps=("from", "until", "between"), route=("all", "again")
    ),
    DECLARED + "compacted, rewritten partly": _with(compaction=(0.1, 0.3), times="some", route=("all", "again")),
    DECLARED + "aborted, stamped partly": _with(
        transactions=True, uncommitted=True, stamps=("from", "until", "between"), route=("all", "again")
    ),
    DECLARED + "own headers, aborted": _with(**_HEADERS, **_LITTLE | _ABORTED, stamps=("no", "whole")),
    DECLARED + "own headers, times moved partly": _with(**_HEADERS, **_LITTLE, times=("rewritten", "moved")),
    DECLARED + "times moved partly, lost": _with(**_MOVED | {"passes_change": "later"}, **_LITTLE, **_LOST),
    DECLARED + "rounded, copies missing": _with(
        times="rounded", destination_retention=(False, True), manners=("drops",)
    ),
    DECLARED + "lag, expired, equal times": _with(lag=True, expiry=True, clock=("same", "bursts", "append_time")),
    DECLARED + "lag, strangers": _with(lag=True, strangers=(0.1, 0.4)),
    DECLARED + "series, lag, stamped": _with(
        series=(4, 5, 9, 30), size=tuple(range(8, 160, 8)), expiry=True, lag=True, stamps="whole", clock="steps"
    ),
}
CLASSES |= UNKNOWABLE
