# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Where in a topic's partitions records are, by their times and contents, or by contents alone where times tell nothing."""

from __future__ import annotations

import typing as t

from ..._matching.evidence import Log
from ..._model.records import Record, TopicPartition
from ..cluster_logs import ClusterLogs

Pair = tuple[TopicPartition, TopicPartition]  # a partition on both sides

WINDOW = 100  # records after the place that a time leads to: where source partitions mix, times run back and forth


class Topic(t.NamedTuple):
    """Its name on both sides, how many partitions it has, and whether copies keep the times of their records."""

    source: str
    destination: str
    partitions: int
    keeps_times: bool

    def pair(self, at: int) -> Pair:
        """One partition on both sides."""
        return TopicPartition(self.source, at), TopicPartition(self.destination, at)

    def pairs(self) -> list[Pair]:
        """Each partition on both sides."""
        return [self.pair(at) for at in range(self.partitions)]


class PlacedRecord(t.NamedTuple):
    """A record, and the number of a partition of its topic: of the one that has it, or in which it is looked for."""

    topic: Topic
    at: int
    record: Record

    @property
    def pair(self) -> Pair:
        """The partition on both sides."""
        return self.topic.pair(self.at)

    @property
    def time(self) -> int | None:
        """By which time a copy of the record is known; None where its content alone tells.

        No copy keeps a negative time: MirrorMaker 2 and producers write the current one instead, or refuse the record.
        """
        return self.record.timestamp if self.topic.keeps_times and self.record.timestamp >= 0 else None

    def elsewhere(self) -> list[PlacedRecord]:
        """The record in each other partition of the topic."""
        return [self._replace(at=at) for at in range(self.topic.partitions) if at != self.at]


class TopicSide(t.NamedTuple):
    """One cluster. number: 0 for the source, 1 for the destination. budget: the longest log that is read whole."""

    logs: ClusterLogs
    number: int
    budget: int

    def places(self, wanted: t.Sequence[PlacedRecord]) -> list[int | None]:
        """The offset of each of these records, None where none is equal. Reads what is missing, where times lead to."""
        self.read_where_times_lead(wanted)
        return [self.equal_at(placed) for placed in wanted]

    def lacking(self, wanted: t.Sequence[PlacedRecord]) -> list[PlacedRecord]:
        """Those of the records of which places() finds no equal one."""
        return [placed for placed, offset in zip(wanted, self.places(wanted), strict=True) if offset is None]

    def read_where_times_lead(self, wanted: t.Iterable[PlacedRecord]) -> None:
        """Read where the time of a record leads to; without times all of the partition, if it is not too long."""
        unread = [(placed.pair[self.number], placed.time) for placed in wanted]
        unread = [(partition, time) for partition, time in unread if not self.is_read(partition)]
        self.logs.look_up([(partition, time) for partition, time in unread if time is not None])
        spans = []
        for partition, time in unread:
            log = self.logs.logs[partition]
            begin = log.facts.log_start if time is None else log.first_at(time)
            length = log.end - log.facts.log_start if time is None or log.untimed else WINDOW
            if begin is not None and length <= max(WINDOW, self.budget):
                spans.append((partition, (begin, begin + length)))
        self.logs.read(spans)

    def is_read(self, partition: TopicPartition) -> bool:
        """Was the whole log read?"""
        log = self.logs.logs[partition]
        return not log.unread(log.facts.log_start, log.end)

    def equal_at(self, placed: PlacedRecord) -> int | None:
        """Where in this partition a record of this content, and of this time if copies keep it, was read."""
        log, time, content = self.logs.logs[placed.pair[self.number]], placed.time, placed.record.bare
        first = _first_of_each_content(log).get(content)
        if first is None or time is None or first.timestamp == time:
            return None if first is None else first.offset
        if TopicSide.equal_at not in log.made:  # contents recur: by their times, too
            log.made[TopicSide.equal_at] = {
                (stored.timestamp, stored.bare): stored.offset for stored in reversed(log.records)
            }
        offsets: dict[tuple[int, bytes], int] = log.made[TopicSide.equal_at]
        return offsets.get((time, content))

    def unmatched(self, topic: Topic, at: int, records: t.Iterable[Record]) -> list[PlacedRecord]:
        """Those of the records that equal_at() does not find in this partition."""
        log = self.logs.logs[topic.pair(at)[self.number]]
        firsts = _first_of_each_content(log)
        missing = [
            placed
            for record in records
            if (first := firsts.get(record.bare)) is None or first.timestamp != record.timestamp
            if self.equal_at(placed := PlacedRecord(topic, at, record)) is None
        ]
        log.made.clear()  # the indexes of thousands of logs would be as large as their records
        return missing

    def was_aborted(self, placed: PlacedRecord) -> bool:
        """Has this partition an equal record that was aborted, as far as its log was read whole, or times lead to it?

        Some replication tools copy aborted records.
        """
        partition, record, time = placed.pair[self.number], placed.record, placed.time
        log = self.logs.logs[partition]
        begin, end = log.facts.log_start, log.facts.end
        if not self.is_read(partition):
            first = log.first_at(time) if time is not None and (log.untimed or time in log.lookups) else None
            begin, end = (begin, begin) if first is None else (first, min(first + WINDOW, end))
        if len(log.between(begin, end)) == end - begin:
            return False
        self.logs.read([(partition, (begin, end))], committed=False)
        return any(
            aborted.bare == record.bare and (aborted.timestamp == record.timestamp or not placed.topic.keeps_times)
            for aborted in log.aborted
        )


def _first_of_each_content(log: Log) -> dict[bytes, Record]:
    if _first_of_each_content not in log.made:
        log.made[_first_of_each_content] = {record.bare: record for record in reversed(log.records)}
    firsts: dict[bytes, Record] = log.made[_first_of_each_content]
    return firsts
