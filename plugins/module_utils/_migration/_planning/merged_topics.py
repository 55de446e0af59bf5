# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which topics belong together because one topic of the destination has the records of all of them."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._matching.merged import Position
from ..._model.policies import OnUncommitted
from ..._model.records import TopicPartition
from ..cluster_logs import ClusterLogs
from ..drafts import Draft, missing_at_destination


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
    by_group: dict[tuple[str, str], list[Draft]] = {}
    for draft in drafts:
        by_group.setdefault((draft.partition.topic, draft.group), []).append(draft)
    by_topics: dict[tuple[str, tuple[str, ...]], dict[str, list[Draft]]] = {}
    for (topic, group), of_group in by_group.items():
        topics = tuple(sorted({draft.source_partition.topic for draft in of_group}))
        by_topics.setdefault((topic, topics), {})[group] = of_group
    merged = []
    for (topic, topics), groups in sorted(by_topics.items()):
        sources = [TopicPartition(name, at) for name in topics for at in range(source_counts.get(name, 0))]
        # A topic that is not there gets entries as if it had the source's partitions.
        width = destination_counts.get(topic) or max([1, *(source_counts.get(name, 0) for name in topics)])
        merged.append(Merged(topics, topic, groups, sources, [TopicPartition(topic, at) for at in range(width)]))
    return merged


def lacking(merged: Merged, source_counts: t.Mapping[str, int], destination_counts: t.Mapping[str, int]) -> str | None:
    """What of these topics does not exist."""
    for name in merged.topics:
        if name not in source_counts:
            return f"topic {name} does not exist at the source: exclude it"
    if merged.topic not in destination_counts:
        return missing_at_destination(merged.topic)
    known = set(merged.sources)
    for drafts in merged.groups.values():
        for draft in drafts:
            if draft.source_partition not in known:
                count = source_counts[draft.source_partition.topic]
                return (
                    f"{draft.source_partition} does not exist at the source, which has {count} partitions of this topic"
                )
    return None
