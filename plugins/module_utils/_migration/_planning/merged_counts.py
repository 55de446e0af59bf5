# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What is counted of repartitioned and merged topics, and what is read besides, for many groups at once."""

from __future__ import annotations

import collections
import contextlib
import functools
import typing as t

from ..._matching.between import Between
from ..._matching.counting import Logs, LogSet
from ..._matching.evidence import Log, Policy, Span
from ..._matching.group_count import GroupCount, GroupPosition
from ..._matching.merged import Missing, PartitionCount, Position, Sources, gap, young_from
from ..._model.progress import counted
from ..._model.records import Record, TopicPartition
from ..._model.verdicts import Way
from ..._spark.content_frame import Extent, LogPair, buckets_for, dealt_by_content, layout_of, packed_chunks, size_of
from ..._spark.count_job import count_wide
from ..._spark.growing import Growing
from ..._spark.scan_job import parallel_tasks
from ..._spark.session import kept
from ..cluster_logs import ClusterLogs
from .merged_topics import Merged
from .strategy import StrategyInput

Count: t.TypeAlias = "t.Callable[[t.Sequence[tuple[int, ...]]], list[GroupCount]]"


@contextlib.contextmanager
def counting(merged: Merged, given: StrategyInput) -> t.Iterator[tuple[Way, Count]]:
    """Who counts, and a function that counts both sides, as far as they are known, for groups.

    It takes the first unconsumed offsets of each group in the source partitions. No record is read twice. Only where one of the
    clusters has more offsets than the budget, Spark counts.
    """
    source, destination, policy = given.source, given.destination, given.options.policy
    pair = _pair(merged, source, destination)
    if max(map(size_of, (pair.sources, pair.destinations))) <= policy.budget:
        yield Way.COUNT, functools.partial(_count_in_process, merged, given)
        return
    given.say(f"comparing up to {counted(pair.size, 'record')} of topic {merged.topic} with Spark")
    session = given.spark()
    with (
        Growing(session, destination.connection, merged.targets, destination.match_on.fingerprinted) as copies,
        Growing(session, source.connection, merged.sources, source.match_on.fingerprinted, with_open=True) as originals,
    ):
        layout = layout_of([pair], timestamps=policy.with_timestamp)  # what expires meanwhile keeps its place

        def count(committed: t.Sequence[tuple[int, ...]]) -> list[GroupCount]:
            buckets = buckets_for(_pair(merged, source, destination).size, parallel_tasks(session))
            destination_frame = copies.up_to({at: destination.logs[at].facts for at in merged.targets})
            source_frame = originals.up_to({at: source.logs[at].facts for at in merged.sources})
            chunks = packed_chunks(source_frame, layout, False, buckets).union(
                packed_chunks(destination_frame, layout, True, buckets)
            )
            with kept(dealt_by_content(chunks, buckets)) as contents:
                return count_wide(
                    contents,
                    layout,
                    [GroupPosition(0, offsets) for offsets in committed],
                    [destination.logs[at].facts.end for at in merged.targets],
                    without_headers=source.match_on.headers_may_differ,
                    stable=[source.logs[at].facts.end for at in merged.sources],
                    lossy=[0] if _is_lossy(merged, source) else [],
                )

        yield Way.SPARK_COUNT, count


def _count_in_process(merged: Merged, given: StrategyInput, committed: t.Sequence[tuple[int, ...]]) -> list[GroupCount]:
    source = given.source
    logs = Logs(
        _whole(source, merged.sources),
        _whole(given.destination, merged.targets),
        timestamps=given.options.policy.with_timestamp,
        stable=tuple(source.logs[at].facts.end for at in merged.sources),
        only_doubled=False,
        lossy=_is_lossy(merged, source),
    )
    return logs.count(committed)


def _whole(side: ClusterLogs, partitions: t.Sequence[TopicPartition]) -> LogSet:
    """All that is known to be in these logs, read as far as it was not."""
    logs = [side.logs[at] for at in partitions]
    side.read({at: [(log.facts.log_start, log.end)] for at, log in zip(partitions, logs, strict=True)})
    starts = tuple(log.facts.log_start for log in logs)
    records = [log.between(start, log.end) for start, log in zip(starts, logs, strict=True)]
    return LogSet(records, starts, tuple(log.end for log in logs))


def _is_lossy(merged: Merged, source: ClusterLogs) -> bool:
    """May the source have lost records?"""
    return any(source.logs[at].facts.is_lossy for at in merged.sources)


def _pair(merged: Merged, source: ClusterLogs, destination: ClusterLogs) -> LogPair:
    def extent(side: ClusterLogs, at: TopicPartition) -> Extent:
        facts = side.logs[at].facts
        return Extent(at, facts.log_start, facts.end, facts.high_watermark if side is source else None)

    return LogPair(
        tuple(extent(source, at) for at in merged.sources), tuple(extent(destination, at) for at in merged.targets)
    )


def missing_records(positions: t.Sequence[Position], count: GroupCount) -> Missing | None:
    """What is still to come of partitions with a commit; for the others, see assumed_to_come()."""
    lags = [lag for lag in count.not_arrived if positions[lag.source].committed is not None]
    if not lags:
        return None
    return Missing(sum(lag.records for lag in lags), positions[lags[0].source].partition, lags[0].source_offset)


def assumed_to_come(positions: t.Sequence[Position], count: GroupCount) -> int:
    """How many records are still to come that count as consumed, although the group has not committed their partition.

    Nobody waits for them: they are consumed by on_uncommitted alone, and the group reads them when they come.
    """
    return sum(lag.records for lag in count.not_arrived if positions[lag.source].committed is None)


def read_around(
    merged: Merged, destination: ClusterLogs, counts: t.Iterable[tuple[Sources, GroupCount]], policy: Policy
) -> None:
    """Read at the destination what no count tells: how old the records are that the source lacks, and the evidence.

    No more offsets between two copies than the budget allows.
    """
    spans: dict[TopicPartition, set[Span]] = collections.defaultdict(set)
    times: dict[TopicPartition, set[int]] = collections.defaultdict(set)
    for sources, count in counts:
        young = young_from(sources, policy.now)
        for partition, answer in zip(merged.targets, count.answers, strict=True):
            span = gap(sources, answer)
            for copy in (answer.last_consumed, answer.first_wanted):  # as evidence
                if copy is not None:
                    spans[partition].add((copy, copy + 1))
            if span is not None and span[1] - span[0] <= policy.budget:
                spans[partition].add(span)
            if young is not None and sources.incomplete and answer.first_wanted is answer.last_consumed is None:
                times[partition].add(young)
    destination.read(spans)
    destination.look_up(times)


def _between(read: t.Sequence[Record], timestamp: bool) -> Between:
    """What stands before the last of these, which is the first wanted copy; it may have expired since it was counted."""
    if not read:
        return Between(True, True)
    *others, first = read
    return Between(bool(others), timestamp and any(record.timestamp > first.timestamp for record in others))


def found_in(sources: Sources, counts: GroupCount, number: int, log: Log, policy: Policy) -> PartitionCount:
    """What is known of a destination partition, given by its number; see read_around()."""
    answer = counts.answers[number]
    answer = answer._replace(to_come=answer.to_come + assumed_to_come(sources.positions, counts))
    span, between = gap(sources, answer), Between(False, False)
    unread = span is not None and span[1] - span[0] > policy.budget
    if unread:
        between = Between(True, True)
    elif span is not None:
        between = _between(log.between(*span), counts.matching.timestamp)
    young = young_from(sources, policy.now)
    first_young = log.first_at(young) if young is not None and log.knows(young) else None
    return PartitionCount(answer, between, counts.destination_only[number], counts.surplus[number], first_young, unread)
