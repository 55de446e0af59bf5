# SPDX-License-Identifier: GPL-3.0-or-later

"""The product's own strategies and verification on a world that moves: only requests, clocks and Spark's frames are faked."""

from __future__ import annotations

import contextlib
import functools
import signal
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._comparing.claims import Claim
from ansible_collections.streamshift.kafka.plugins.module_utils._migration import cluster_logs
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning import (
    by_records,
    merged_counts,
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
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.cluster_logs import ClusterLogs, learn_both
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.drafts import Draft
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.match_on import MatchOn
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import Plan, PlanEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.progress import silent
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.report import Finding
from ansible_collections.streamshift.kafka.plugins.module_utils._model.spark import SparkOptions
from ansible_collections.streamshift.kafka.plugins.module_utils._spark import content_frame
from tests.attack import rule
from tests.attack.broker import policy
from tests.attack.frames import BUCKETS, Growing, packed
from tests.attack.moving import TOPIC
from tests.attack.requests import Hang, Requests
from tests.support.listed_clusters import DESTINATION, SOURCE
from tests.support.swapped import swapped

CPU_SECONDS = 5.0  # of this process, for what asks for nothing any more
GROUPS = 8

Commits = t.Sequence[t.Sequence[int]]


@contextlib.contextmanager
def _faked(requests: Requests) -> t.Iterator[None]:
    fakes: list[tuple[t.Any, dict[str, t.Any]]] = [
        (
            cluster_logs,
            {"positions": requests, "topics": requests, "range_reader": requests, "at_once": requests.at_once},
        ),
        (partition_units, {"scan": requests.scan, "at_once": requests.at_once, "kept": contextlib.nullcontext}),
        (comparison, {"absence": lambda _options: None}),
        (content_frame, {"read_contents": requests.read_contents}),
        (settling, {"at_once": requests.at_once}),
        (wide, {"read_contents": requests.read_contents, "kept": contextlib.nullcontext, "obstacle": lambda _o: None}),
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
        *((module, {"time": requests}) for module in (settling, comparison)),
    ]
    swaps = [(module, *its) for module, names in fakes for its in names.items()]
    with swapped([*swaps, *rule.less(requests.world.manner.scaled)]), _ended():
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
            TopicPartition(TOPIC, 0 if several else at),
            f"g{group}",
            TopicPartition(f"{TOPIC}{at}", 0) if several else TopicPartition(TOPIC, at),
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
        originals = {draft.source_partition for draft in searched}
        learn_both(source, originals, destination, {draft.partition for draft in searched})
        given = StrategyInput(
            {draft.key: draft for draft in searched},
            [] if searched else drafts,
            source,
            destination,
            counts,
            {TOPIC: len(world.copies)},
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
    session = (comparison, "session_on_demand", lambda *_o: contextlib.nullcontext(lambda: None))
    with _faked(requests), swapped([session, (comparison, "FEW", few)]):
        found = comparison.findings(cases, SOURCE, DESTINATION, limit, SparkOptions())
    requests.look()
    return found
