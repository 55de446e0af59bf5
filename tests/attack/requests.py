# SPDX-License-Identifier: GPL-3.0-or-later

"""Both clusters of a world that moves, as their brokers answer."""

from __future__ import annotations

import copy
import itertools
import types
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._control.positions import Bounds
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import Span
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import LogChanged
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record, TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._records.scanning import Piece, RecordRun, Rows
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.content_frame import LogPair
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.worker_packing import Layout
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._spark import by_hand
from tests.attack.broker import Broker, digested_record
from tests.attack.frames import BUCKETS, Frame
from tests.attack.moving import TOPIC, Still, Topic, World
from tests.support.listed_clusters import SOURCE

MOST_REQUESTS = 400
MOMENTS = 24  # as often as a plan that waits looks at edges: its first answers may stand on the first of them


class Hang(BaseException):
    """It does not end. What catches every exception does not catch this one."""


class Requests:
    """Both clusters, as brokers answer. Between any two requests, the world goes on."""

    def __init__(self, world: World) -> None:
        self.world, self.random = world, world.random
        self.asked = 0
        self.clock = 0.0
        self._brokers: dict[int, tuple[Topic, Broker]] = {}
        self.moments: list[World] = []  # the world when edges were told, and at the end

    def look(self) -> None:
        """Remember what it is like now."""
        self.moments = [*self.moments[-MOMENTS:], self.world.as_it_is(self.moments[-1] if self.moments else None)]

    @property
    def pictures(self) -> list[World]:
        """What may have been read: the destination's edges are told first, so it may be older than the source.

        Retention and compaction take records of a log whose end was told before, up to when they are read: so they were not
        there.
        """
        told = list(enumerate(self.moments))
        for at, (earlier, later) in enumerate(itertools.pairwise(self.moments), 1):
            if earlier.truncations == later.truncations:  # else copies name records whose offsets others have taken
                mixed = copy.copy(later)
                mixed.copies = earlier.copies
                told.append((at, mixed))
        left = [its.left(later) for at, its in told for later in self.moments[at + 1 :]]
        unlike = {
            (*map(id, [*its.sources, *its.copies]), *map(tuple, its.read)): its
            for its in [*self.moments[::-1], *(its for _at, its in told), *left]
        }
        return [*unlike.values()][::-1]

    def _go_on(self) -> None:
        self.asked += 1
        if self.asked > MOST_REQUESTS:
            raise Hang(f"{self.asked} requests")
        if self.random.random() < 0.4:
            for _unused in range(1 + self.random.randrange(3)):
                self.world.happen()

    def monotonic(self) -> float:
        """As time.monotonic()."""
        return self.clock

    def sleep(self, seconds: float) -> None:
        """As time.sleep()."""
        self.clock += seconds
        self._go_on()

    def at_once(self, *functions: t.Callable[[], object]) -> list[object]:
        """What they return, called one after the other in any order."""
        order = self.random.sample(range(len(functions)), len(functions))
        found = {number: functions[number]() for number in order}
        return [found[number] for number in range(len(functions))]

    def log(self, connection: Connection, where: TopicPartition) -> Topic:
        """The partition: topics of one partition each are numbered by their names."""
        logs = self.world.sources if connection.name == SOURCE.name else self.world.copies
        return logs[int(where.topic.removeprefix(TOPIC) or 0) + where.partition]

    def topic_settings(self, connection: Connection, names: t.Iterable[str]) -> dict[str, t.Any]:
        """As _control.topics.topic_settings()."""
        self._go_on()
        its = {name: self.log(connection, TopicPartition(name, 0)) for name in names}
        return {
            name: types.SimpleNamespace(log_append_time=log.stamped, compacted=log.compacted, retention_ms=None)
            for name, log in its.items()
        }

    def partition_bounds(
        self, connection: Connection, partitions: t.Iterable[TopicPartition]
    ) -> dict[TopicPartition, Bounds]:
        """As _control.positions.partition_bounds()."""
        self._go_on()
        self.look()
        edges = {where: self.log(connection, where).edges() for where in partitions}
        return {where: Bounds(its.start, its.stable, its.end) for where, its in edges.items()}

    def lookup_all_times(
        self, connection: Connection, wanted: t.Iterable[tuple[TopicPartition, int]], *_refused: t.Any
    ) -> dict[tuple[TopicPartition, int], int | None]:
        """As _control.positions.lookup_all_times()."""
        asked = list(wanted)
        if not asked:
            return {}
        self._go_on()
        if any(time < 0 for _where, time in asked):
            raise ValueError("a time before 1970 is no time")
        return {(where, time): self._broker(connection, where).lookup(time) for where, time in asked}

    def _broker(self, connection: Connection, where: TopicPartition) -> Broker:
        log = self.log(connection, where)
        known = self._brokers.get(id(log))
        now = Still.of(log, known and known[0])
        if known is None or now is not known[0]:
            known = self._brokers[id(log)] = now, Broker(now.records, now.edges(), digested_record)
        return known[1]

    def records(self, connection: Connection, where: TopicPartition, span: Span, committed: bool) -> list[Record]:
        """Those of a range, which has to lie within the log."""
        broker = self._broker(connection, where)
        start, end = span
        if start >= end:
            return []
        if start < broker.edges.start or end > (broker.edges.stable if committed else broker.edges.end):
            raise LogChanged(f"offsets {span} are not in the log", cluster=str(connection), **where._asdict())
        return broker.read(span, uncommitted=not committed)

    def scanned(self, connection: Connection, where: TopicPartition, span: Span, committed: bool) -> list[Record]:
        """The same, asked by itself."""
        self._go_on()
        return self.records(connection, where, span, committed)

    def read_ranges(
        self,
        connection: Connection,
        wanted: t.Mapping[TopicPartition, t.Sequence[Span]],
        committed: bool = True,
        **_parts: t.Any,
    ) -> dict[TopicPartition, list[tuple[int, int, list[Record]]]]:
        """As _records.range_reader.read_ranges()."""
        self._go_on()
        return {
            where: [(*span, self.records(connection, where, span, committed)) for span in spans]
            for where, spans in wanted.items()
        }

    def scan(self, connection: Connection, pieces: t.Iterable[Piece], committed: bool, **_p: t.Any) -> t.Iterator[Rows]:
        """As _records.scanning.scan()."""
        for piece in pieces:
            self._go_on()
            its = self.records(connection, piece.partition, (piece.start, piece.end), committed)
            runs = [RecordRun(piece, 1, each.log_append_time) for each in its]
            columns = ([getattr(each, name) for each in its] for name in ("offset", "timestamp", "fingerprint", "bare"))
            yield Rows(runs, *columns)

    def read_contents(
        self,
        _spark: t.Any,
        source: Connection,
        copies: Connection,
        pairs: t.Sequence[LogPair],
        layout: Layout,
        _p: t.Any,
    ) -> Frame:
        """As _spark.content_frame.read_contents()."""
        self._go_on()
        originals = [
            self.records(source, its.partition, (its.start, its.end), True)
            + self.records(source, its.partition, (its.end, its.open_end or its.end), False)
            for pair in pairs
            for its in pair.sources
        ]
        self._go_on()
        there = [
            self.records(copies, its.partition, (its.start, its.end), True)
            for pair in pairs
            for its in pair.destinations
        ]
        return Frame(by_hand.chunks(layout, originals, there, BUCKETS))
