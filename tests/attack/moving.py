# SPDX-License-Identifier: GPL-3.0-or-later

"""Topics that go on while they are looked at: producers, transactions, retention, compaction, and replication tools."""

from __future__ import annotations

import bisect
import copy
import dataclasses
import functools
import itertools
import random as rnd
import typing as t

from tests.attack.case import NO_TIME, NOON, Case, Copy, Edges, Options, Original
from tests.attack.manners import Manner
from tests.attack.merged import Merged


@dataclasses.dataclass
class Topic:
    """One partition of a topic at one cluster; records by offset, markers included."""

    records: list[t.Any] = dataclasses.field(default_factory=list)
    start: int = 0
    end: int = 0
    stamped: bool = False
    compacted: bool = False

    def edges(self) -> Edges:
        """As a broker would tell them."""
        stable = next((record.offset for record in self.records if record.kind == "open"), self.end)
        return Edges(min(self.start, stable), stable, self.end, self.stamped, self.compacted)

    def add(self, record: t.Any) -> None:
        """At the end."""
        self.records.append(record._replace(offset=self.end))
        self.end += 1

    def finish(self, kind: str, time: int) -> None:
        """End the open transaction, if there is one: its records become data, or aborted."""
        if any(record.kind == "open" for record in self.records):
            self.records = [its._replace(kind=kind) if its.kind == "open" else its for its in self.records]
            self.add(self.records[-1]._replace(kind="marker", text="", time=max(time, 0)))

    def expire(self, upto: int) -> None:
        """Retention, or a request to delete records."""
        self.start = max(self.start, min(upto, self.edges().stable))


@dataclasses.dataclass
class Still(Topic):
    """One that does not go on."""

    @classmethod
    def of(cls, log: Topic, before: Topic | None = None) -> Topic:
        """What it is like now: the picture before, if nothing has changed."""
        its = cls(**vars(log) | {"records": list(log.records)})
        return before if before is not None and before == its else its

    @staticmethod
    def left(log: Topic, later: Topic) -> Topic:
        """What a later picture has of it."""
        start, there = max(log.start, min(later.start, log.edges().stable)), log.records
        if log.compacted:
            known = {record.offset: record for record in later.records}
            there = [known[its.offset] for its in log.records if its.offset in known]
        return (
            log if (start, there) == (log.start, log.records) else dataclasses.replace(log, start=start, records=there)
        )

    def edges(self) -> Edges:
        return self._edges

    @functools.cached_property
    def _edges(self) -> Edges:
        return super().edges()

    @functools.cached_property
    def originals(self) -> tuple[Original, ...]:
        """Records of a source, expired ones included."""
        start = self.start
        return tuple(r if r.gone or r.offset >= start else r._replace(gone=True) for r in self.records)

    @functools.cached_property
    def visible(self) -> list[Copy]:
        """What can be read of a destination."""
        stable = self.edges().stable
        return [c for c in self.records if c.offset >= self.start and (c.offset < stable or c.kind != "data")]

    @functools.cached_property
    def copies(self) -> tuple[Copy, ...]:
        """The same with origins as if each partition had its own copies."""
        return tuple(c if c.origin is None else c._replace(origin=c.origin % _BASE) for c in self.visible)

    def to_come(self, first: int, stamped: bool) -> tuple[Copy, ...]:
        """The copies that a tool will make of what it has not read."""
        unread = self.originals[bisect.bisect_left(self.originals, first, key=lambda r: r.offset) :]
        return tuple(
            Copy(-1, r.time, r.text, r.offset, stamped=stamped) for r in unread if r.kind == "data" and not r.gone
        )


TOPIC = "orders"  # of merged topics, how their names begin
_BASE = 1_000_000  # the origin of a copy is a number: that of the partition times this, and the offset


class World:
    """A topic on two clusters, which goes on whenever it is asked to. A seed makes it again."""

    def __init__(self, manner: Manner, seed: str) -> None:
        self.manner, self.random = manner, rnd.Random(seed)
        self.now = NOON
        self.sources = [Topic(compacted=bool(manner.events.get("compact"))) for _unused in range(manner.partitions)]
        width = manner.width or manner.partitions
        self.copies = [
            Topic(stamped=manner.times == "stamped", compacted=bool(manner.events.get("compact_there")))
            for _unused in range(width)
        ]
        self.read = [[0] * manner.partitions for _tool in range(2)]  # how far each tool has come in each partition
        self.number = 0
        self.truncations = 0  # how often a source has lost its end
        size = self.random.randrange(2, 2 * manner.size) * manner.partitions
        while sum(log.end for log in self.sources) < size:
            self.happen()

    def happen(self) -> None:
        """One thing."""
        kinds = {"produce": 9, "copy": 9} | dict(self.manner.events)
        getattr(self, f"_{self.random.choices(list(kinds), list(kinds.values()))[0]}")()

    def _produce(self) -> None:
        log = self.random.choice(self.sources)
        is_open = log.edges().stable < log.end and self.random.random() < 0.7
        for _unused in range(1 + self.random.randrange(4)):
            log.add(Original(0, self._tick(), self._text(log), "open" if is_open else "data"))

    def _begin(self) -> None:
        """A transaction of a producer."""
        log = self.random.choice(self.sources)
        log.add(Original(0, self._tick(), self._text(log), "open"))

    def _end(self) -> None:
        self.random.choice(self.sources).finish(self.random.choice(("data", "data", "aborted")), self.now)

    def _tick(self) -> int:
        clock, random = self.manner.clock, self.random
        if clock == "none":
            return NO_TIME
        if clock == "odd":
            return random.choice((NO_TIME, -7, 0, self.now, NOON * 1000))
        if clock == "same":
            return NOON
        self.now += {"bursts": 10 * (random.random() < 0.2), "jitter": random.randrange(-4, 9)}.get(clock, 10)
        return int(self.now)

    def _text(self, log: Topic) -> str:
        self.number += 1
        contents, number = self.manner.contents, self.number
        if contents == "mixed":
            contents = self.random.choice(("unlike", "statuses"))
        text = {"periodic": "abcde"[log.end % 5], "statuses": self.random.choice("abc")}.get(contents, f"p{number}")
        if contents == "keyed":
            text = f"k{self.random.randrange(4)}={number if self.random.random() < 0.8 else ''}"
        return text + (f"+h{self.random.randrange(2)}" if self.manner.headers == "source" else "")

    def _copy(self, tool: int = 0) -> None:
        partition = self.random.randrange(len(self.sources))
        log, at = self.sources[partition], self.read[tool][partition]
        edges = log.edges()
        unread = (
            r
            for r in log.records
            if r.kind == "data" and not r.gone and max(at, edges.start) <= r.offset < edges.stable
        )
        for each in list(itertools.islice(unread, 1 + self.random.randrange(6))):
            self._write(each, partition, tool)
            self.read[tool][partition] = each.offset + 1

    def _write(self, record: Original, partition: int, tool: int) -> None:
        random, manner = self.random, self.manner
        to = {"same": partition, "keyed": sum(map(ord, record.text.partition("=")[0])), "any": random.randrange(99)}
        log = self.copies[to[manner.route] % len(self.copies)]
        is_now = manner.times in ("now", "stamped") or (manner.times == "some" and random.random() < 0.3)
        if is_now:
            self.now += 1
        text = record.text + "+t" * (manner.headers == "second tool" and tool == 1)
        kind = "open" if log.edges().stable < log.end else "data"
        time = self.now if is_now else record.time
        log.add(Copy(0, time, text, _BASE * partition + record.offset, kind, log.stamped))

    def _second_tool(self) -> None:
        self._copy(1)

    def _again(self) -> None:
        """The tool begins once more at an earlier record."""
        partition = self.random.randrange(len(self.sources))
        self.read[0][partition] = self.random.randrange(self.read[0][partition] + 1)

    def _begin_there(self) -> None:
        """The tool writes in a transaction."""
        log = self.random.choice(self.copies)
        if log.records and log.edges().stable == log.end:
            log.add(Copy(0, self.now, f"x{self.number}", None, "open", log.stamped))

    def _end_there(self) -> None:
        self.random.choice(self.copies).finish("data" if self.random.random() < 0.8 else "aborted", self.now)
        if self.manner.events.get("begin_there"):
            self._come_back()

    def _come_back(self) -> None:
        """What a transaction of the tool has aborted is copied once more."""
        origins = [(its.origin, its.kind) for log in self.copies for its in log.records if its.origin is not None]
        there = {origin for origin, kind in origins if kind != "aborted"}
        for partition, offset in (divmod(origin, _BASE) for origin, _kind in origins if origin not in there):
            self.read[0][partition] = min(self.read[0][partition], offset)

    def _expire(self) -> None:
        log = self.random.choice(self.sources)
        log.expire(log.start + self.random.randrange(1 + (log.end - log.start) // 2))

    def _expire_unread(self) -> None:
        """The same, but only what the tool has copied."""
        partition = self.random.randrange(len(self.sources))
        log = self.sources[partition]
        log.expire(min(self.read[0][partition], log.start + self.random.randrange(1 + (log.end - log.start) // 2)))

    def _expire_there(self) -> None:
        log = self.random.choice(self.copies)
        log.expire(log.start + self.random.randrange(1 + (log.end - log.start) // 3))

    def _compact(self) -> None:
        self._compacted(self.random.choice(self.sources))

    def _compact_there(self) -> None:
        self._compacted(self.random.choice(self.copies))

    def _compacted(self, log: Topic) -> None:
        last = {record.text.partition("=")[0]: record.offset for record in log.records if record.kind == "data"}
        stays = {*last.values()}
        stays |= {record.offset for record in log.records if record.kind != "data" or record.offset >= log.end - 2}
        if log in self.copies:
            log.records = [record for record in log.records if record.offset in stays]
        else:
            log.records = [r if r.offset in stays else r._replace(gone=True) for r in log.records]

    def _stranger(self) -> None:
        log = self.random.choice(self.copies)
        text = self.random.choice(("f1", "f2", "a"))
        kind = "open" if log.edges().stable < log.end else "data"
        log.add(Copy(0, self.now + 1 - 2 * self.random.randrange(2), text, None, kind, log.stamped))

    def _truncate(self) -> None:
        """The source loses its end, and others will take these offsets: a leader election that was not clean."""
        log = self.random.choice(self.sources)
        self.truncations += 1
        log.end = max(log.start, log.end - 2)
        log.records = [record for record in log.records if record.offset < log.end]
        first = _BASE * self.sources.index(log) + log.end
        for there in self.copies:
            there.records = [
                c._replace(origin=None) if first <= (c.origin or 0) < first + 2 else c for c in there.records
            ]

    def _recreate(self) -> None:
        log = self.random.choice(self.copies)
        log.records, log.start, log.end = [], 0, 0

    def commits(self, groups: int) -> list[list[int]]:
        """Where groups stand in each partition: anywhere, and often where the tool, or the log, ends."""
        found = []
        for _group in range(groups):
            places = []
            for partition, log in enumerate(self.sources):
                edges, at = log.edges(), self.read[0][partition]
                odd = [edges.start, edges.stable, at, at - 1, at - 2, edges.start + 1]
                place = self.random.choice([*odd, self.random.randrange(edges.stable + 1)])
                places.append(max(0, min(edges.stable, place)))
            found.append(places)
        return found

    def as_it_is(self, before: World | None = None) -> World:
        """A picture of it, which does not go on; logs that have not changed since the picture before are shared with it."""
        its = copy.copy(self)
        its.sources = [Still.of(log, before.sources[at] if before else None) for at, log in enumerate(self.sources)]
        its.copies = [Still.of(log, before.copies[at] if before else None) for at, log in enumerate(self.copies)]
        its.read = [list(each) for each in self.read]
        return its

    def left(self, later: World) -> World:
        """The same picture without what retention and compaction have taken up to a later one."""
        its = copy.copy(self)
        its.sources = [Still.left(*both) for both in zip(self.sources, later.sources, strict=True)]
        its.copies = [Still.left(*both) for both in zip(self.copies, later.copies, strict=True)]
        return its

    def options(self) -> Options:
        """Those of a user."""
        return Options(search_limit=self.manner.search_limit, now=self.now)


def case_of(world: World, partition: int, committed: int) -> Case:
    """One partition of a picture, with what the tool has still to bring. Copies are where their records are."""
    log, there = world.sources[partition], world.copies[partition % len(world.copies)]
    assert isinstance(log, Still) and isinstance(there, Still), "only of pictures"
    to_come = log.to_come(world.read[0][partition], there.stamped)
    return Case(
        committed,
        log.originals,
        log.edges(),
        there.copies,
        there.edges(),
        to_come,
        world.options(),
        world.manner.scaled,
    )


def topic_of(world: World, committed: t.Sequence[int]) -> Merged:
    """The whole topic as it is now, for a group that has committed these offsets."""
    sources = tuple(case_of(world, partition, at) for partition, at in enumerate(committed))
    copies = tuple(
        tuple(
            (its, 0) if its.origin is None else (its._replace(origin=its.origin % _BASE), its.origin // _BASE)
            for its in there.visible
        )
        for there in t.cast("list[Still]", world.copies)
    )
    return Merged(sources, copies, tuple(there.edges() for there in world.copies))
