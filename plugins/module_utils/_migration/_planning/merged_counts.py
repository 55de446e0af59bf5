# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which topics belong together because one topic has the records of all, what is counted of them, and what is read besides."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import typing as t

from ..._matching.between import Between
from ..._matching.counting import Logs, LogSet
from ..._matching.evidence import Log, Policy, Span
from ..._matching.group_count import GroupCount, GroupPosition
from ..._matching.merged import Missing, PartitionCount, Position, Sources, gap, young_from
from ..._model.grouping import nested, values_by_key
from ..._model.policies import OnUncommitted
from ..._model.records import TopicPartition, every_partition
from ..._model.verdicts import Way
from ..._model.wording import counted
from ..._spark.content_frame import Extent, LogPair, buckets_for, dealt_by_content, layout_of, packed_chunks, size_of
from ..._spark.count_job import count_wide
from ..._spark.growing import Growing
from ..._spark.scan_job import parallel_tasks
from ..._spark.session import kept, obstacle
from ..cluster_logs import ClusterLogs
from ..drafts import Draft, missing_at_destination, missing_at_source
from .strategy import StrategyInput

_FIRST = 64  # offsets that are read to see how old the unconsumed or the remaining records are

Count: t.TypeAlias = "t.Callable[[t.Sequence[tuple[int, ...]]], list[GroupCount]]"


@dataclasses.dataclass(frozen=True, slots=True)
class Merged:
    """Source topics that became one topic, and the groups that have committed something for all of these, and no others.

    sources, targets: all their partitions. groups: the drafts by the destination's group.
    """

    topics: tuple[str, ...]
    topic: str
    groups: dict[str, list[Draft]]
    sources: list[TopicPartition]
    targets: list[TopicPartition]

    def positions(
        self, drafts: t.Iterable[Draft], source: ClusterLogs, on_uncommitted: OnUncommitted
    ) -> tuple[Position, ...]:
        """Where a group stands. What it has not committed is all unconsumed, unless on_uncommitted is end."""
        committed = {draft.source_partition: draft.offset for draft in drafts}
        positions = []
        for partition in self.sources:
            facts, offset = source.logs[partition].facts, committed.get(partition)
            otherwise = facts.end if on_uncommitted == OnUncommitted.END else facts.log_start
            positions.append(Position(partition, offset, otherwise if offset is None else offset, facts))
        return tuple(positions)


def merged_topics(
    drafts: t.Iterable[Draft], source_counts: t.Mapping[str, int], destination_counts: t.Mapping[str, int]
) -> list[Merged]:
    """What belongs together, by destination topic and source topics: one pair of scans serves all groups of it."""
    by_group = values_by_key(((draft.partition.topic, draft.group), draft) for draft in drafts)
    by_topics = nested(
        (((topic, tuple(sorted({draft.source_partition.topic for draft in of_group}))), group), of_group)
        for (topic, group), of_group in by_group.items()
    )
    merged = []
    for (topic, topics), groups in sorted(by_topics.items()):
        sources = every_partition({name: source_counts.get(name, 0) for name in topics})
        # A topic that is not there gets entries as if it had the source's partitions.
        width = destination_counts.get(topic) or max([1, *(source_counts.get(name, 0) for name in topics)])
        merged.append(Merged(topics, topic, groups, sources, every_partition({topic: width})))
    return merged


def lacking(merged: Merged, source_counts: t.Mapping[str, int], destination_counts: t.Mapping[str, int]) -> str | None:
    """What of these topics does not exist."""
    for name in merged.topics:
        if name not in source_counts:
            return f"topic {name} does not exist at the source: exclude it"
    if merged.topic not in destination_counts:
        return missing_at_destination(merged.topic)
    for draft in itertools.chain.from_iterable(merged.groups.values()):
        partition = draft.source_partition
        if partition.partition >= source_counts[partition.topic]:
            return missing_at_source(partition, source_counts[partition.topic])
    return None


class NotCounted(Exception):
    """Why neither the process nor Spark counts a topic, as a clause. Never leaves this package, and stops no other topic."""


@contextlib.contextmanager
def counting(merged: Merged, given: StrategyInput) -> t.Iterator[tuple[Way, Count]]:
    """Who counts, and a function that counts both sides, as far as they are known, for groups.

    It takes the first unconsumed offsets of each group in the source partitions. No record is read twice. Only where one of the
    clusters has more offsets than search_limit, Spark counts. Raises NotCounted.
    """
    source, destination, policy = given.source, given.destination, given.options.policy
    pair = _pair(merged, source, destination)
    if max(map(size_of, (pair.sources, pair.destinations))) <= policy.search_limit:
        yield Way.COUNT, functools.partial(_count_in_process, merged, given)
        return
    if (why := _why_not_by_spark(merged, pair.size, given)) is not None:
        raise NotCounted(
            f"topic {merged.topic} or its source has more than {policy.search_limit:,} offsets (search_limit), which only "
            f"Spark counts; {why}"
        )
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


def _why_not_by_spark(merged: Merged, size: int, given: StrategyInput) -> str | None:
    """Partitions are counted together here, so spark_limit is what they may have on average."""
    partitions, limit = max(len(merged.sources), len(merged.targets)), given.options.spark_limit
    if size > limit * partitions:
        return f"it would read {counted(size, 'record')} of {counted(partitions, 'partition')}, and spark_limit is {limit:,}"
    why = obstacle(given.options.spark)
    return why and f"it can once this is fixed: {why.removesuffix('.')}"


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
    side.read([(at, (log.facts.log_start, log.end)) for at, log in zip(partitions, logs, strict=True)])
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
    """What is still to come of partitions with a commit; for the others, see found_in()."""
    lags = [lag for lag in count.not_arrived if positions[lag.source].committed is not None]
    if not lags:
        return None
    return Missing(sum(lag.records for lag in lags), positions[lags[0].source].partition, lags[0].source_offset)


def due_from(positions: t.Sequence[Position], count: GroupCount, source: ClusterLogs) -> int | None:
    """Sources.due_from. Reads the first unconsumed offsets of each source partition; where they show no record, it is 0."""
    if any(answer.first_wanted is not None or answer.last_consumed is not None for answer in count.answers):
        return None
    spans = []
    for at in positions:
        start = max(at.consumed_below, at.facts.log_start)
        spans.append((at.partition, (start, min(source.logs[at.partition].end, start + _FIRST))))
    source.read([(partition, (start, end)) for partition, (start, end) in spans if start < end])
    times = []
    for partition, (start, end) in spans:
        records = source.logs[partition].between(start, end)
        if records or end < source.logs[partition].end:
            times.append(min((record.timestamp for record in records), default=0))
    return min(times, default=None)


def is_older(merged: Merged, source: ClusterLogs, destination: ClusterLogs, policy: Policy) -> bool:
    """Is all of the destination older than what the source, which may have lost records, still has? See Sources.is_older."""
    if not (policy.with_timestamp and _is_lossy(merged, source)):
        return False
    logs = [source.logs[at] for at in merged.sources]
    spans = [(log.facts.log_start, min(log.end, log.facts.log_start + _FIRST)) for log in logs]
    source.read(list(zip(merged.sources, spans, strict=True)))
    records = (record for log, span in zip(logs, spans, strict=True) for record in log.between(*span))
    oldest = min((record.timestamp for record in records), default=-1)
    if oldest < 0:
        return False
    destination.look_up((at, oldest) for at in merged.targets)
    return all(destination.logs[at].first_at(oldest) is None for at in merged.targets)


def read_around(
    merged: Merged, destination: ClusterLogs, counts: t.Iterable[tuple[Sources, GroupCount]], policy: Policy
) -> None:
    """Read at the destination what no count tells: how old the records are that the source lacks, and the evidence.

    No more offsets between two copies than the budget allows.
    """
    spans: list[tuple[TopicPartition, Span]] = []
    times: list[tuple[TopicPartition, int]] = []
    for sources, count in counts:
        young = young_from(sources, policy.now)
        for partition, answer in zip(merged.targets, count.answers, strict=True):
            span = gap(sources, answer)
            evidence = answer.last_consumed, answer.first_wanted
            spans += [(partition, (copy, copy + 1)) for copy in evidence if copy is not None]
            if span is not None and span[1] - span[0] <= policy.search_limit:
                spans.append((partition, span))
            if young is not None and sources.incomplete and answer.first_wanted is answer.last_consumed is None:
                times.append((partition, young))
    destination.read(spans)
    destination.look_up(times)


def found_in(sources: Sources, counts: GroupCount, number: int, log: Log, policy: Policy) -> PartitionCount:
    """What is known of a destination partition, given by its number; see read_around()."""
    answer = counts.answers[number]
    # Consumed by on_uncommitted alone, because the group has not committed their partition. Nobody waits for these records: the
    # group reads them when they come.
    assumed = sum(lag.records for lag in counts.not_arrived if sources.positions[lag.source].committed is None)
    answer = answer._replace(to_come=answer.to_come + assumed)
    span, between, unread = gap(sources, answer), Between(False, False), False
    if span is not None:
        unread = span[1] - span[0] > policy.search_limit
        records, between = log.between(*span), Between(True, True)
        if records and not unread:
            *others, first = records  # the first wanted copy is the last, unless it has expired since it was counted
            between = Between.of(others, first if counts.matching.timestamp else None)
    young = young_from(sources, policy.now)
    first_young = log.first_at(young) if young is not None and log.knows(young) else None
    return PartitionCount(answer, between, counts.destination_only[number], counts.surplus[number], first_young, unread)
