# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Where in a topic's partitions records are, by their times and contents, or by contents alone where times tell nothing."""

from __future__ import annotations

import collections
import typing as t

from ..._matching.evidence import Log, Span, united
from ..._model.plan import PlanEntry
from ..._model.records import Record, TopicPartition
from ..cluster_logs import ClusterLogs

Pair = tuple[TopicPartition, TopicPartition]  # a partition on both sides
Entries = t.Mapping[TopicPartition, t.Sequence[PlanEntry]]  # by their partition

WINDOW = 100  # records after the place that a time leads to: where source partitions mix, times run back and forth
_FIRST = 5  # records at the start of a log
_PLACES = 4  # so many of the offsets of a partition are looked at
_OWN = 0.75  # of the records around the offsets of a long log, so many have to be in the same partition at the source


def by_partition(entries: t.Iterable[PlanEntry]) -> Entries:
    """The entries by their partition at the destination."""
    result: dict[TopicPartition, list[PlanEntry]] = collections.defaultdict(list)
    for entry in entries:
        result[entry.partition].append(entry)
    return result


class Topic(t.NamedTuple):
    """Its name on both sides, how many partitions it has, and whether copies keep the times of their records.

    No copy keeps a negative time: MirrorMaker 2 and producers write the current one instead, or refuse the record.
    """

    source: str
    destination: str
    partitions: int
    keeps_times: bool

    def time_of(self, record: Record) -> int | None:
        """By which time a copy of the record is known; None where its content alone tells."""
        return record.timestamp if self.keeps_times and record.timestamp >= 0 else None

    def pair(self, at: int) -> Pair:
        """One partition on both sides."""
        return TopicPartition(self.source, at), TopicPartition(self.destination, at)

    def pairs(self) -> list[Pair]:
        """Each partition on both sides."""
        return [self.pair(at) for at in range(self.partitions)]


class Sought(t.NamedTuple):
    """A record and the partition in which it is looked for."""

    topic: Topic
    where: TopicPartition
    record: Record


def read_where_times_lead(logs: ClusterLogs, wanted: t.Sequence[Sought], budget: int) -> None:
    """Read where the time of a record leads to in a partition; without times all of the partition, if it is not too long."""
    wanted = [sought for sought in wanted if not is_read(logs, sought.where)]
    times = collections.defaultdict(set)
    for topic, partition, record in wanted:
        if (time := topic.time_of(record)) is not None:
            times[partition].add(time)
    logs.look_up(times)
    spans = []
    for topic, partition, record in wanted:
        log, time = logs.logs[partition], topic.time_of(record)
        begin = log.facts.log_start if time is None else log.first_at(time)
        length = log.end - log.facts.log_start if time is None or log.untimed else WINDOW
        if begin is not None and length <= max(WINDOW, budget):
            spans.append((partition, (begin, begin + length)))
    read_missing(logs, spans)


def read_missing(logs: ClusterLogs, wanted: t.Iterable[tuple[TopicPartition, Span]], committed: bool = True) -> None:
    """Read what is missing of these spans; with committed=False also what only a read_uncommitted consumer sees of them."""
    spans: dict[TopicPartition, list[Span]] = {}
    for partition, span in wanted:
        spans[partition] = united(spans.get(partition, []), span)
    logs.read(spans, committed)


def is_read(logs: ClusterLogs, partition: TopicPartition) -> bool:
    """Was the whole log read?"""
    log = logs.logs[partition]
    return not log.unread(log.facts.log_start, log.end)


def equal_at(logs: ClusterLogs, sought: Sought) -> int | None:
    """Where in this partition a record of this content, and of this time if copies keep it, was read."""
    topic, partition, record = sought
    log, time = logs.logs[partition], topic.time_of(record)
    first = _first_of_each_content(log).get(record.bare)
    if first is None or time is None or first.timestamp == time:
        return None if first is None else first.offset
    if equal_at not in log.made:  # contents recur: by their times, too
        log.made[equal_at] = {(stored.timestamp, stored.bare): stored.offset for stored in reversed(log.records)}
    offsets: dict[tuple[int, bytes], int] = log.made[equal_at]
    return offsets.get((time, record.bare))


def unmatched(logs: ClusterLogs, topic: Topic, partition: TopicPartition, records: t.Iterable[Record]) -> list[Record]:
    """Those of the records that equal_at() does not find in this partition."""
    firsts = _first_of_each_content(logs.logs[partition])
    missing = [
        record
        for record in records
        if ((first := firsts.get(record.bare)) is None or first.timestamp != record.timestamp)
        and equal_at(logs, Sought(topic, partition, record)) is None
    ]
    logs.logs[partition].made.clear()  # the indexes of thousands of logs would be as large as their records
    return missing


def _first_of_each_content(log: Log) -> dict[bytes, Record]:
    if _first_of_each_content not in log.made:
        log.made[_first_of_each_content] = {record.bare: record for record in reversed(log.records)}
    firsts: dict[bytes, Record] = log.made[_first_of_each_content]
    return firsts


def was_aborted(logs: ClusterLogs, sought: Sought) -> bool:
    """Has this source partition an equal record that was aborted, as far as its log was read whole, or times lead to it?

    Some replication tools copy aborted records.
    """
    topic, partition, record = sought
    log = logs.logs[partition]
    begin, end = log.facts.log_start, log.facts.end
    if not is_read(logs, partition):
        time = topic.time_of(record)
        first = log.first_at(time) if time is not None and (log.untimed or time in log.lookups) else None
        begin, end = (begin, begin) if first is None else (first, min(first + WINDOW, end))
    if len(log.between(begin, end)) == end - begin:
        return False
    read_missing(logs, [(partition, (begin, end))], committed=False)
    return any(
        aborted.bare == record.bare and (aborted.timestamp == record.timestamp or not topic.keeps_times)
        for aborted in log.aborted
    )


def precedes_all_copies(
    source: ClusterLogs, destination: ClusterLogs, topic: Topic, at: int, offset: int, budget: int
) -> bool:
    """Is this offset before the copies of all records that the source partition still has, if it has lost some?

    Then what stands there may be the copy of a record that it has lost. Reads the start of the source's log, and its copies.
    """
    (source_partition, partition) = topic.pair(at)
    log = source.logs[source_partition]
    begin = log.facts.log_start
    if not begin:
        return False
    read_missing(source, [(source_partition, (begin, begin + _FIRST))])
    alive = [Sought(topic, partition, record) for record in log.between(begin, begin + _FIRST)]
    read_where_times_lead(destination, alive, budget)
    copies = [copy for sought in alive if (copy := equal_at(destination, sought)) is not None]
    return bool(copies) and offset < min(copies)


def read_places(source: ClusterLogs, destination: ClusterLogs, pairs: t.Iterable[Pair], entries: Entries) -> None:
    """Read what is around the offsets of entries on these partitions."""
    spans = [(pair, place) for pair in pairs for place in _places(pair, entries)]
    for logs, side in ((source, 0), (destination, 1)):
        read_missing(logs, ((pair[side], (place[side] - WINDOW, place[side] + WINDOW)) for pair, place in spans))


def holds_its_own(source: ClusterLogs, destination: ClusterLogs, pair: Pair, entries: Entries) -> bool:
    """Are nearly all records around the offsets in the same partition at the source? read_places() has read them."""
    for committed, offset in _places(pair, entries):
        originals = {record.bare for record in source.logs[pair[0]].between(committed - WINDOW, committed + WINDOW)}
        copies = destination.logs[pair[1]].between(offset - WINDOW // 2, offset + WINDOW // 2)
        if sum(record.bare in originals for record in copies) < _OWN * len(copies):
            return False
    return True


def _places(pair: Pair, entries: Entries) -> list[tuple[int, int]]:
    """Committed offsets on a partition and what they have become: a few of them."""
    places = sorted(
        {
            (entry.source[0].offset, entry.offset)
            for entry in entries.get(pair[1], ())
            if entry.offset is not None and entry.source[0].offset is not None
        }
    )
    return places[:: max(1, -(-len(places) // _PLACES))]
