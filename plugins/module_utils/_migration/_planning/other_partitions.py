# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Copies in another partition than their record's: of them no partition's own log tells.

The number of partitions may be the same and the records distributed otherwise: partitions were added at the destination after
records had been copied there, or the replication tool has a partitioner of its own. An unconsumed record of one partition then
stands before an offset that is exact for another one.
"""

from __future__ import annotations

import collections
import itertools
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import Span, united
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning.strategy import (
    DraftKey,
    StrategyInput,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.cluster_logs import ClusterLogs
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.drafts import Draft
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import PlanEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record, TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason, Verdict

_FIRST = 5  # of the records of a partition that a group has not consumed, so many should have a copy in it
_SAMPLE = 8  # so many of a topic that have none are looked for in its other partitions
_WINDOW = 100  # records after the place that a time leads to: where source partitions mix, times run back and forth


class Stray(t.NamedTuple):
    """A record at the source whose only copy stands in another partition of the destination."""

    partition: TopicPartition
    offset: int
    copy_partition: TopicPartition
    copy_offset: int

    def __str__(self) -> str:
        return f"{self.partition} offset {self.offset} is {self.copy_partition} offset {self.copy_offset} there"


class _Topic(t.NamedTuple):
    """Its name on both sides, how many partitions it has, and whether copies keep the times of their records."""

    source: str
    destination: str
    partitions: int
    keeps_times: bool

    def pairs(self) -> list[tuple[TopicPartition, TopicPartition]]:
        """Each partition on both sides."""
        return [
            (TopicPartition(self.source, at), TopicPartition(self.destination, at)) for at in range(self.partitions)
        ]


def blocked_entries(given: StrategyInput, decided: t.Mapping[DraftKey, Draft]) -> dict[DraftKey, PlanEntry]:
    """A blocked entry for every draft of a topic of which such a copy is found, also for those that are exact by themselves.

    decided: the drafts that are not kept from the previous plan. Only their records are looked for.
    """
    strays = find_strays(given, decided)
    entries = {}
    for key, draft in given.searched.items():
        source_topic, destination_topic = draft.source_partition.topic, draft.partition.topic
        if (source_topic, destination_topic) in strays:
            detail = (
                f"records of {source_topic} were copied to other partitions of {destination_topic}: "
                f"{strays[source_topic, destination_topic]}; "
                f"name {source_topic} in repartitioned, so that each record is looked for in all partitions"
            )
            entries[key] = draft.entry(Verdict.BLOCKED, reason=Reason.OTHER_PARTITIONS, detail=detail)
    return entries


def find_strays(given: StrategyInput, decided: t.Mapping[DraftKey, Draft]) -> dict[tuple[str, str], Stray]:
    """One of each topic that has any among the first unconsumed records of its partitions, by the topic's names on both sides.

    Where copies do not keep their records' times, whole logs are compared, if they are no longer than search_limit; of longer
    ones only a verification that counts the records tells.
    """
    budget = given.options.policy.budget
    sought = [(topic, *each) for topic, records in _without_copy(given, decided).items() for each in _sample(records)]
    places = [(topic, destination, record) for topic, _at, record in sought for _source, destination in topic.pairs()]
    _read_around(given.destination, places, budget)
    found = []
    for topic, where, record in sought:
        offsets = [_offset_of(given.destination, destination, record, topic) for _source, destination in topic.pairs()]
        if offsets[where.partition] is None:
            found += [(topic, where, record, at, offset) for at, offset in enumerate(offsets) if offset is not None]
    # The other partition may have an equal record of its own, whose copy this is.
    origins = [(topic, where._replace(partition=at), record) for topic, where, record, at, _offset in found]
    _read_around(given.source, origins, budget)
    strays: dict[tuple[str, str], Stray] = {}
    for topic, where, record, at, offset in found:
        other = where._replace(partition=at)
        is_known = topic.keeps_times or _is_read(given.source, other)
        if is_known and _offset_of(given.source, other, record, topic) is None:
            stray = Stray(where, record.offset, TopicPartition(topic.destination, at), offset)
            strays.setdefault((topic.source, topic.destination), stray)
    return strays


def _without_copy(
    given: StrategyInput, decided: t.Mapping[DraftKey, Draft]
) -> dict[_Topic, list[tuple[TopicPartition, Record]]]:
    """The first unconsumed records of each partition of these drafts' topics that have no copy where it should be.

    Where no group has committed an offset, all records count.
    """
    topics: set[_Topic] = set()
    lowest: dict[tuple[TopicPartition, TopicPartition], int] = {}
    for draft in decided.values():
        source, destination = draft.source_partition, draft.partition
        lowest[source, destination] = min(draft.offset, lowest.get((source, destination), draft.offset))
        is_stamped = given.destination.logs[destination].facts.log_append_time
        keeps_times = given.options.policy.with_timestamp and not is_stamped
        topics.add(_Topic(source.topic, destination.topic, given.source_counts[source.topic], keeps_times))
    kept = {(draft.source_partition, draft.partition) for draft in given.searched.values()} - lowest.keys()
    begins = [
        (topic, source, destination, lowest.get((source, destination), given.source.logs[source].facts.log_start))
        for topic in sorted(topics)
        if topic.partitions > 1
        for source, destination in topic.pairs()
        if (source, destination) not in kept
    ]
    _read(given.source, ((source, (begin, begin + _FIRST)) for _topic, source, _destination, begin in begins))
    firsts = [
        (topic, source, destination, record)
        for topic, source, destination, begin in begins
        for record in itertools.islice(given.source.logs[source].between(begin, given.source.logs[source].end), _FIRST)
    ]
    # Most copies have been read already, or are where they should be: the other partitions are not asked about those.
    unread = [each for each in firsts if _offset_of(given.destination, each[2], each[3], each[0]) is None]
    _read_around(
        given.destination,
        [(topic, destination, record) for topic, _source, destination, record in unread],
        given.options.policy.budget,
    )
    absent = collections.defaultdict(list)
    for topic, source, destination, record in unread:
        if _offset_of(given.destination, destination, record, topic) is None:
            absent[topic].append((source, record))
    return absent


def _sample(records: list[tuple[TopicPartition, Record]]) -> list[tuple[TopicPartition, Record]]:
    """A few of them, from all of their time."""
    return sorted(records, key=lambda each: each[1].timestamp)[:: -(-len(records) // _SAMPLE)]


def _read_around(logs: ClusterLogs, wanted: t.Sequence[tuple[_Topic, TopicPartition, Record]], budget: int) -> None:
    """Read where the time of a record leads to in a partition; without times all of the partition, if it is not too long."""
    times = collections.defaultdict(set)
    for topic, where, record in wanted:
        if topic.keeps_times and record.timestamp not in logs.logs[where].lookups:
            times[where].add(record.timestamp)
    logs.look_up(times)
    spans = []
    for topic, where, record in wanted:
        log = logs.logs[where]
        begin = log.lookups[record.timestamp] if topic.keeps_times else log.facts.log_start
        length = _WINDOW if topic.keeps_times else log.end - log.facts.log_start
        if begin is not None and length <= max(_WINDOW, budget):
            spans.append((where, (begin, begin + length)))
    _read(logs, spans)


def _read(logs: ClusterLogs, wanted: t.Iterable[tuple[TopicPartition, Span]]) -> None:
    """Read what is missing of these spans."""
    spans: dict[TopicPartition, list[Span]] = {}
    for where, span in wanted:
        spans[where] = united(spans.get(where, []), span)
    unread = {where: {part for each in its for part in logs.logs[where].unread(*each)} for where, its in spans.items()}
    logs.read({where: each for where, each in unread.items() if each})


def _is_read(logs: ClusterLogs, where: TopicPartition) -> bool:
    log = logs.logs[where]
    return not log.unread(log.facts.log_start, log.end)


def _offset_of(logs: ClusterLogs, where: TopicPartition, record: Record, topic: _Topic) -> int | None:
    """Where in this partition a record of this content, and of this time if copies keep it, was read."""
    log = logs.logs[where]
    made = _offset_of, topic.keeps_times
    if made not in log.made:
        log.made[made] = {
            (each.timestamp if topic.keeps_times else None, each.bare): each.offset for each in log.records
        }
    offsets: dict[tuple[int | None, bytes], int] = log.made[made]
    return offsets.get((record.timestamp if topic.keeps_times else None, record.bare))
