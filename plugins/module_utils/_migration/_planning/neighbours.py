# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which records of other source partitions have their copies next to an offset."""

from __future__ import annotations

import collections
import itertools
import typing as t

from ..._model.records import Record
from ..cluster_logs import ClusterLogs
from .strays import Entries, Sought, Topic, equal_at, read_where_times_lead

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
    near = [
        _Neighbour(topic, at, record)
        for topic in topics
        for at, (_source, where) in enumerate(topic.pairs())
        for entry in entries.get(where, ())[:_SAMPLE]
        if entry.offset is not None
        for record in destination.logs[where].between(entry.offset - _NEAR, entry.offset + _NEAR)
    ]
    unknown = _not_in_their_own(source, _sample(_not_in_their_own(source, near)), budget)
    sought = [
        Sought(each.topic, pair[0], each.record)
        for each in unknown
        for at, pair in enumerate(each.topic.pairs())
        if at != each.at
    ]
    read_where_times_lead(source, sought, budget)
    found = ((each, equal_at(source, each)) for each in sought)
    return [
        (each.topic, each.where.partition, source.logs[each.where].between(offset, offset + 1)[0])
        for each, offset in found
        if offset is not None
    ]


def _not_in_their_own(source: ClusterLogs, near: t.Iterable[_Neighbour], budget: int | None = None) -> list[_Neighbour]:
    """Those of which no equal record was read in the same partition of the source. budget: read what is missing first."""
    pairs = [(each, Sought(each.topic, each.topic.pair(each.at)[0], each.record)) for each in near]
    if budget is not None:
        read_where_times_lead(source, [sought for _each, sought in pairs], budget)
    unknown = []
    for where, its in itertools.groupby(pairs, lambda pair: pair[1].where):
        unknown += [each for each, sought in its if equal_at(source, sought) is None]
        source.logs[where].made.clear()  # the indexes of thousands of logs would be as large as their records
    return unknown


def _sample(unknown: t.Iterable[_Neighbour]) -> list[_Neighbour]:
    """The first few of each topic."""
    by_topic: dict[Topic, list[_Neighbour]] = collections.defaultdict(list)
    for each in unknown:
        by_topic[each.topic].append(each)
    return [each for its in by_topic.values() for each in its[:: -(-len(its) // _SAMPLE)]]
