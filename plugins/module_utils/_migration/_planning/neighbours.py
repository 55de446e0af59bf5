# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which records of other source partitions have their copies next to an offset."""

from __future__ import annotations

import collections
import typing as t

from ..._model.records import Record
from ..cluster_logs import ClusterLogs
from .strays import Entries, Sought, Topic, equal_at, read_where_times_lead, unmatched

_NEAR = 4  # of the records that were read, so many on both sides of an offset
_SAMPLE = 8  # so many of a topic that are not in their own partition at the source are looked for in the others


class _Neighbour(t.NamedTuple):
    """A record at the destination, and the number of its partition, where the source has no equal one."""

    topic: Topic
    at: int
    record: Record


def neighbours(
    source: ClusterLogs, destination: ClusterLogs, topics: t.Iterable[Topic], entries: Entries, budget: int
) -> list[tuple[Topic, int, Record]]:
    """Records at the source of which a copy is next to the offset of an entry of another partition.

    With their topics and the numbers of their partitions. Nothing is read where all that is next to the offsets is known to be
    in the same partition at the source.
    """
    near: list[_Neighbour] = []
    for topic in topics:
        for at, (origin, partition) in enumerate(topic.pairs()):
            offsets = [entry.offset for entry in entries.get(partition, ())[:_SAMPLE] if entry.offset is not None]
            log = destination.logs[partition]
            records = [record for offset in offsets for record in log.between(offset - _NEAR, offset + _NEAR)]
            near += [_Neighbour(topic, at, record) for record in unmatched(source, topic, origin, records)]
    unknown = _not_in_their_own(source, _sample(near), budget)
    sought = [
        Sought(neighbour.topic, pair[0], neighbour.record)
        for neighbour in unknown
        for at, pair in enumerate(neighbour.topic.pairs())
        if at != neighbour.at
    ]
    read_where_times_lead(source, sought, budget)
    places = ((wanted, equal_at(source, wanted)) for wanted in sought)
    return [
        (wanted.topic, wanted.where.partition, source.logs[wanted.where].between(offset, offset + 1)[0])
        for wanted, offset in places
        if offset is not None
    ]


def _not_in_their_own(source: ClusterLogs, near: t.Iterable[_Neighbour], budget: int) -> list[_Neighbour]:
    """Those of which the same partition of the source has no equal record, where times lead to. Reads what is missing."""
    pairs = [
        (neighbour, Sought(neighbour.topic, neighbour.topic.pair(neighbour.at)[0], neighbour.record))
        for neighbour in near
    ]
    read_where_times_lead(source, [sought for _each, sought in pairs], budget)
    return [neighbour for neighbour, sought in pairs if equal_at(source, sought) is None]


def _sample(unknown: t.Iterable[_Neighbour]) -> list[_Neighbour]:
    """The first few of each topic."""
    by_topic: dict[Topic, list[_Neighbour]] = collections.defaultdict(list)
    for neighbour in unknown:
        by_topic[neighbour.topic].append(neighbour)
    return [neighbour for of_topic in by_topic.values() for neighbour in of_topic[:: -(-len(of_topic) // _SAMPLE)]]
