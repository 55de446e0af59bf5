# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What Spark counts of repartitioned and merged topics, and what is read besides, for many groups at once."""

from __future__ import annotations

import collections
import contextlib
import typing as t

from ..._matching.evidence import Log, Policy, Span
from ..._matching.merged import Missing, PartitionCount, Position, Sources, gap, young_from
from ..._matching.placing import Between
from ..._model.progress import Say, counted
from ..._model.records import Record, TopicPartition
from ..._spark.content_frame import Extent, LogPair, buckets_for, dealt_by_content, layout_of, packed_chunks
from ..._spark.count_job import GroupCount, GroupPosition, count_wide
from ..._spark.growing import Growing
from ..._spark.scan_job import parallel_tasks
from ..._spark.session import kept
from ..cluster_logs import ClusterLogs
from .merged_topics import Merged

if t.TYPE_CHECKING:
    from ..._spark.spark_library import SparkSession

Count: t.TypeAlias = "t.Callable[[t.Sequence[tuple[int, ...]]], list[GroupCount]]"


@contextlib.contextmanager
def counting(
    spark: SparkSession, its: Merged, source: ClusterLogs, destination: ClusterLogs, timestamps: bool, say: Say
) -> t.Iterator[Count]:
    """A function that counts both sides, as far as they are known, for groups.

    It takes the first unconsumed offsets of each group in the source partitions. No record is read twice. timestamps:
    whether times are compared at all.
    """
    first = _pair(its, source, destination)
    layout = layout_of([first], timestamps=timestamps)  # what expires meanwhile keeps its place
    say(f"comparing up to {counted(first.size, 'record')} of topic {its.topic} with Spark")
    with (
        Growing(spark, destination.connection, its.targets, destination.match_on.fingerprinted) as copies,
        Growing(spark, source.connection, its.sources, source.match_on.fingerprinted, with_open=True) as originals,
    ):

        def count(committed: t.Sequence[tuple[int, ...]]) -> list[GroupCount]:
            buckets = buckets_for(_pair(its, source, destination).size, parallel_tasks(spark))
            destination_frame = copies.up_to({at: destination.logs[at].facts for at in its.targets})
            source_frame = originals.up_to({at: source.logs[at].facts for at in its.sources})
            chunks = packed_chunks(source_frame, layout, False, buckets).union(
                packed_chunks(destination_frame, layout, True, buckets)
            )
            standings = [GroupPosition(0, each) for each in dict.fromkeys(committed)]
            stable = [source.logs[at].facts.end for at in its.sources]
            ends = [destination.logs[at].facts.end for at in its.targets]
            is_lossy = any(
                facts.log_start > 0 or facts.compacted for facts in (source.logs[at].facts for at in its.sources)
            )
            with kept(dealt_by_content(chunks, buckets)) as contents:
                found = count_wide(
                    contents,
                    layout,
                    standings,
                    ends,
                    without_headers=source.match_on.headers_may_differ,
                    stable=stable,
                    expired=[0] if is_lossy else [],
                )
            by_standing = dict(zip(standings, found, strict=True))
            return [by_standing[GroupPosition(0, each)] for each in committed]

        yield count


def _pair(its: Merged, source: ClusterLogs, destination: ClusterLogs) -> LogPair:
    def extent(side: ClusterLogs, at: TopicPartition) -> Extent:
        facts = side.logs[at].facts
        return Extent(at, facts.log_start, facts.end, facts.high_watermark if side is source else None)

    return LogPair(
        tuple(extent(source, at) for at in its.sources), tuple(extent(destination, at) for at in its.targets)
    )


def missing_records(positions: t.Sequence[Position], found: GroupCount) -> Missing | None:
    """What is still to come of partitions with a commit; for the others, see assumed_to_come()."""
    lags = [lag for lag in found.not_arrived if positions[lag.source].committed is not None]
    if not lags:
        return None
    return Missing(sum(lag.records for lag in lags), positions[lags[0].source].partition, lags[0].source_offset)


def assumed_to_come(positions: t.Sequence[Position], found: GroupCount) -> int:
    """How many records are still to come that count as consumed, although the group has not committed their partition.

    Nobody waits for them: they are consumed by on_uncommitted alone, and the group reads them when they come.
    """
    return sum(lag.records for lag in found.not_arrived if positions[lag.source].committed is None)


def read_around(
    its: Merged, destination: ClusterLogs, counts: t.Iterable[tuple[Sources, GroupCount]], policy: Policy
) -> None:
    """Read at the destination what no count tells of records that the source does not have: how old they are.

    No more offsets between two copies than the budget allows.
    """
    spans: dict[TopicPartition, set[Span]] = collections.defaultdict(set)
    times: dict[TopicPartition, set[int]] = collections.defaultdict(set)
    for sources, found in counts:
        young = young_from(sources, policy.now)
        for partition, answer in zip(its.targets, found.answers, strict=True):
            span = gap(sources, answer)
            if span is not None and span[1] - span[0] <= policy.budget:
                spans[partition] |= set(destination.logs[partition].unread(*span))
            if young is not None and sources.incomplete and answer.first_wanted is answer.last_consumed is None:
                times[partition].add(young)
    destination.read({partition: each for partition, each in spans.items() if each})
    destination.look_up(times)


def _between(read: t.Sequence[Record], timestamp: bool) -> Between:
    """What stands before the last of these, which is the first wanted copy; it may have expired since it was counted."""
    if not read:
        return Between(True, True)
    *others, first = read
    return Between(bool(others), timestamp and any(each.timestamp > first.timestamp for each in others))


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
