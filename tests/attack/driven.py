# SPDX-License-Identifier: GPL-3.0-or-later

"""The product's own strategies and verification on a world that moves: only requests, clocks and Spark's frames are faked."""

from __future__ import annotations

import contextlib
import functools
import itertools
import signal
import types
import typing as t
from unittest import mock

from ansible_collections.streamshift.kafka.plugins.module_utils._comparing.claims import Claim
from ansible_collections.streamshift.kafka.plugins.module_utils._control.positions import Bounds
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import Span
from ansible_collections.streamshift.kafka.plugins.module_utils._migration import cluster_logs
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning import (
    by_records,
    merged_counts,
    repartitioned,
    settling,
    wide,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning.identical import identical
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning.strategy import (
    DraftKey,
    StrategyInput,
    TranslateOptions,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._verification import (
    comparison,
    partition_units,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.cluster_logs import ClusterLogs
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.drafts import Draft
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import BrokerError
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.match_on import MatchOn
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import Plan, PlanEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.progress import silent
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record, TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.report import Finding
from ansible_collections.streamshift.kafka.plugins.module_utils._model.spark import SparkOptions
from ansible_collections.streamshift.kafka.plugins.module_utils._records.scanning import Piece, RecordRun, Rows
from ansible_collections.streamshift.kafka.plugins.module_utils._spark import content_frame, tail_job
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.content_frame import LogPair
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.worker_packing import Layout
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._spark import by_hand
from tests.attack import rule
from tests.attack.broker import Broker, policy
from tests.attack.frames import BUCKETS, Frame, Growing, packed, tails
from tests.attack.moving import Topic, World
from tests.support.listed_clusters import DESTINATION, SOURCE

MOST_REQUESTS = 400
CPU_SECONDS = 5.0  # of this process, for what asks for nothing any more
MOMENTS = 6
GROUPS = 3

Commits = t.Sequence[t.Sequence[int]]


class Hang(BaseException):
    """It does not end. What catches every exception does not catch this one."""


class Requests:
    """Both clusters, as brokers answer. Between any two requests, the world goes on."""

    def __init__(self, world: World) -> None:
        self.world, self.random = world, world.random
        self.asked = 0
        self.clock = 0.0
        self.moments: list[World] = []  # the world when edges were told, and at the end

    def look(self) -> None:
        """Remember what it is like now."""
        self.moments = [*self.moments[-MOMENTS:], self.world.as_it_is()]

    @property
    def pictures(self) -> list[World]:
        """What may have been read: the destination's edges are told first, so it may be older than the source."""
        mixed = []
        for earlier, later in itertools.pairwise(self.moments):
            mixed.append(later.as_it_is())
            mixed[-1].copies = earlier.copies
        return [*mixed, *self.moments]

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

    def at_once(self, *functions: t.Callable[[], object]) -> None:
        """One after the other, in any order."""
        for function in self.random.sample(functions, len(functions)):
            function()

    def log(self, connection: Connection, where: TopicPartition) -> Topic:
        """The partition: topics of one partition each are numbered by their names."""
        logs = self.world.sources if connection.name == SOURCE.name else self.world.copies
        return logs[int(where.topic.removeprefix("orders") or 0) + where.partition]

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
        return Broker(log.records, log.edges())

    def records(self, connection: Connection, where: TopicPartition, span: Span, committed: bool) -> list[Record]:
        """Those of a range, which has to lie within the log."""
        broker = self._broker(connection, where)
        start, end = span
        if start >= end:
            return []
        if start < broker.edges.start or end > (broker.edges.stable if committed else broker.edges.end):
            raise BrokerError(f"offsets {span} are not in the log", cluster=str(connection), **where._asdict())
        return [rule.digested(record) for record in broker.read(span, uncommitted=not committed)]

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
            runs = [RecordRun(piece, at, 1, each.log_append_time) for at, each in enumerate(its)]
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


@contextlib.contextmanager
def _faked(requests: Requests) -> t.Iterator[None]:
    fakes: list[tuple[t.Any, dict[str, t.Any]]] = [
        (cluster_logs, {"positions": requests, "topics": requests, "range_reader": requests}),
        (partition_units, {"scan": requests.scan, "kept": contextlib.nullcontext}),
        (content_frame, {"read_contents": requests.read_contents}),
        (settling, {"at_once": requests.at_once}),
        (wide, {"read_contents": requests.read_contents, "kept": contextlib.nullcontext, "obstacle": lambda _o: None}),
        (tail_job, {"count_tails": tails}),
        (
            merged_counts,
            {
                "Growing": lambda _s, connection, where, _p, with_open=False: Growing(
                    functools.partial(requests.scanned, connection), where, with_open
                ),
                "parallel_tasks": lambda _spark: 1,
                "buckets_for": lambda *_size: BUCKETS,
                "packed_chunks": packed,
                "dealt_by_content": lambda chunks, _buckets: chunks,
                "kept": contextlib.nullcontext,
            },
        ),
        *((module, {"time": requests}) for module in (by_records, repartitioned, comparison)),
    ]
    with contextlib.ExitStack() as stack:
        for module, names in fakes:
            for name, value in names.items():
                stack.enter_context(mock.patch.object(module, name, value))
        stack.enter_context(rule.thresholds(requests.world.manner.scaled))
        stack.enter_context(_ended())
        yield


@contextlib.contextmanager
def _ended() -> t.Iterator[None]:
    """Within it, what does not end is ended, even if it asks for nothing."""

    def end(*_signal: object) -> None:
        raise Hang(f"{CPU_SECONDS:.0f} s of computing")

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, CPU_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def plan(
    requests: Requests, commits: Commits, strategy: str = "records", previous: Plan | None = None, wait: float = 0
) -> dict[DraftKey, PlanEntry]:
    """What a strategy makes of groups that stand there, as translate() asks it. Raises Hang, and what it raises."""
    world = requests.world
    several = world.manner.merged == "topics"
    drafts = [
        Draft(
            f"g{group}",
            TopicPartition("orders", 0 if several else at),
            f"g{group}",
            TopicPartition(f"orders{at}", 0) if several else TopicPartition("orders", at),
            CommittedOffset(offset),
        )
        for group, offsets in enumerate(commits)
        for at, offset in enumerate(offsets)
    ]
    source_topics = {draft.source_partition.topic for draft in drafts}
    counts = dict.fromkeys(source_topics, 1 if several else len(world.sources))
    source, destination = ClusterLogs(SOURCE, with_open=True), ClusterLogs(DESTINATION)
    searched = drafts if world.manner.merged == "no" else []
    with _faked(requests):
        destination.learn({draft.partition for draft in searched})
        source.learn({draft.source_partition for draft in searched})
        given = StrategyInput(
            {draft.key: draft for draft in searched},
            [] if searched else drafts,
            source,
            destination,
            counts,
            {"orders": len(world.copies)},
            {},
            previous,
            TranslateOptions(wait_for_replication=wait, policy=policy(world.options())),
            lambda: t.cast("t.Any", None),
            silent,
        )
        output = identical(given) if strategy == "identical" else by_records.by_records(given)
    requests.look()
    return output.entries


def verify(requests: Requests, claims: t.Sequence[Claim], limit: int | None, spark: bool) -> list[Finding]:
    """What the verification finds of claims. spark: even of few records by Spark. Raises Hang, and what it raises."""
    cases = [comparison.ClaimCase(claim, MatchOn()) for claim in claims]
    few = 0 if spark else comparison.FEW
    session = mock.patch.object(comparison, "session_on_demand", lambda *_o: contextlib.nullcontext(lambda: None))
    with _faked(requests), mock.patch.object(comparison, "FEW", few), session:
        found = comparison.findings(cases, SOURCE, DESTINATION, limit, SparkOptions())
    requests.look()
    return found
