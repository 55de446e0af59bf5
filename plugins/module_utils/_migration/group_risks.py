# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What is to be said of one group that is assessed, from what was read of it and of its topics. Pure."""

from __future__ import annotations

import dataclasses
import functools
import typing as t

from .._model.assessment import OTHER_USES, Row
from .._model.documents import utc_text
from .._model.group_overview import GroupOverview
from .._model.grouping import values_by_key
from .._model.known_names import ICEBERG_CONTROL, streams_owner
from .._model.records import TopicPartition, every_partition
from .._model.risks import Risk, RiskKind
from .._model.sinks import Sink
from .._model.wording import counted, first_of
from .source_topics import ClusterTopics

_DAY = 86_400_000  # milliseconds
Times = t.Mapping[tuple[TopicPartition, int], "int | None"]


@dataclasses.dataclass
class ClusterView:
    """What was read of a cluster besides its groups. now: milliseconds since the epoch; abandoned_after: days.

    group_names: of all groups, selected or not. sinks: those that Kafka Connect names, by group. times: the first offset in the
    log from each time of wanted_times() on. stamps: the timestamp of the first record from an offset on.
    """

    topics: ClusterTopics
    now: int
    abandoned_after: float
    group_names: frozenset[str]
    sinks: t.Mapping[str, Sink] = dataclasses.field(default_factory=dict)
    times: Times = dataclasses.field(default_factory=dict)
    stamps: t.Mapping[tuple[TopicPartition, int], int] = dataclasses.field(default_factory=dict)

    @functools.cached_property
    def streams_topics(self) -> dict[str | None, list[str]]:
        """The changelog and repartition topics by the group of their Kafka Streams application; None for all other topics."""
        return values_by_key((streams_owner(topic, self.group_names), topic) for topic in self.topics.partitions)

    def use(self, group: GroupOverview) -> str:
        """What uses the group, in a word: Kafka Connect knows its sinks, whatever their groups are called."""
        return "sink" if group.reading.group in self.sinks else group.use

    def wanted_times(self, groups: t.Iterable[GroupOverview]) -> set[tuple[TopicPartition, int]]:
        """The times that matter in logs of which groups have not consumed all."""
        wanted = {
            (partition, when)
            for group in groups
            for partition in group.next_offsets
            for when in (self.deleted_before(partition.topic), self.old_before)
        }
        return {(partition, when) for partition, when in wanted if when is not None and when > 0}

    def deleted_before(self, topic: str) -> int | None:
        """The time before which records of the topic are about to be deleted; None if none are."""
        settings = self.topics.settings.get(topic)
        if settings is None or settings.retention_ms is None:
            return None
        return self.now - settings.retention_ms + min(_DAY, settings.retention_ms // 2)

    @property
    def old_before(self) -> int:
        """The time before which the next record of a group makes it look abandoned."""
        return int(self.now - self.abandoned_after * _DAY)

    def older(self, group: GroupOverview, partition: TopicPartition, when: int | None) -> int:
        """How many unconsumed offsets of a partition are before the first record from this time on; 0 if nobody knows."""
        if when is None or (partition, when) not in self.times:
            return 0
        first, (start, end) = self.times[partition, when], group.logs[partition]
        return max(0, (end if first is None else first) - max(start, group.reading.offsets[partition].offset))

    def uncommitted(self, group: GroupOverview) -> dict[str, list[int]]:
        """The number of offsets in each partition without a commit, by topic, of topics that the group has commits on."""
        partitions = every_partition({topic: self.topics.partitions.get(topic, 0) for topic in group.topics})
        committed, bounds = {*group.reading.offsets, *group.reading.open}, self.topics.bounds
        return values_by_key(
            (partition.topic, bounds[partition].high_watermark - bounds[partition].log_start)
            for partition in partitions
            if partition in bounds and partition not in committed
        )


def assessed_group(group: GroupOverview, view: ClusterView) -> Row:
    """The group as the assessment file has it."""
    stamps = [view.stamps[place] for place in group.next_offsets.items() if place in view.stamps]
    uncommitted = view.uncommitted(group)
    return {
        **group.row(),
        "use": view.use(group),
        "next_record": utc_text(min(stamps) / 1000) if stamps else None,
        "uncommitted": sum(len(lengths) for lengths in uncommitted.values()),
        "latest_skips": sum(sum(lengths) for lengths in uncommitted.values()),
    }


def group_risks(group: GroupOverview, view: ClusterView) -> t.Iterator[Risk]:
    """What stands in the way of one group, or had better be known of it."""
    name = group.reading.group
    use = view.use(group)
    match use:
        case "share":
            yield Risk(RiskKind.SHARE_GROUP, f"Its state is {group.reading.state or 'not known'}.", name)
        case "streams":
            told = first_of(view.streams_topics.get(name, ())) or "none that the login sees"
            yield Risk(RiskKind.STREAMS_STATE, f"Its changelog and repartition topics: {told}.", name)
        case "sink":
            yield Risk(RiskKind.SINK_POSITIONS, _sink_text(group, view), name)
        case "tool" | "connect workers" | "other":
            what = group.reading.without_offsets or f"is called like {group.what}"
            yield Risk(RiskKind.TOOL_GROUP, f"It {what}.", name)
    if use in OTHER_USES:
        return
    for partition, (_start, end) in sorted(group.logs.items()):
        offset = group.reading.offsets[partition].offset
        if offset > end:
            yield Risk(
                RiskKind.AFTER_LOG_END, f"It has committed {offset}, and the log ends at {end}.", name, *partition
            )
    abandoned = _abandoned(group, view)
    if abandoned:
        yield Risk(RiskKind.GROUP_ABANDONED, abandoned, name)
    for topic, count in _by_topic(group.expired):
        yield Risk(RiskKind.RECORDS_EXPIRED, f"{counted(count, 'unconsumed offset')} expired.", name, topic)
    doomed = {at: view.older(group, at, view.deleted_before(at.topic)) for at in group.next_offsets}
    for topic, count in _by_topic(doomed):
        retention = view.topics.settings[topic].retention_ms
        detail = f"{counted(count, 'unconsumed offset')} will be deleted soon: retention.ms is {retention}."
        yield Risk(RiskKind.RETENTION_STRIKES, detail, name, topic)
    for topic, lengths in view.uncommitted(group).items():
        if sum(lengths):
            detail = (
                f"It has no committed offset on {counted(len(lengths), 'partition')}, with {counted(sum(lengths), 'offset')} "
                "that auto.offset.reset=latest would skip."
            )
            yield Risk(RiskKind.PARTITIONS_UNCOMMITTED, detail, name, topic)


def _by_topic(numbers: t.Mapping[TopicPartition, int]) -> list[tuple[str, int]]:
    """The sums of these numbers by topic, those that are not 0."""
    topics = values_by_key((partition.topic, number) for partition, number in numbers.items() if number)
    return [(topic, sum(of_topic)) for topic, of_topic in sorted(topics.items())]


def _abandoned(group: GroupOverview, view: ClusterView) -> str | None:
    """Why nobody seems to use the group, in a sentence, or None."""
    reading = group.reading
    if reading.has_members or reading.open or group.members or group.leaderless:
        return None
    if not reading.offsets:
        return "It has no members, and no committed offsets on topics that the login sees."
    if not group.logs:
        return "It has no members, and all topics that it has committed are deleted."
    lagging = group.next_offsets
    if not lagging or not all(view.older(group, partition, view.old_before) for partition in lagging):
        return None
    waited = f"its next record has waited for {view.abandoned_after:g} days or more"
    return f"It has no members, and {waited}, on every partition where it lags ({counted(len(lagging), 'partition')})."


def _sink_text(group: GroupOverview, view: ClusterView) -> str:
    """What a sink is by its class, or may be by its name: Iceberg's has a group of its own for its control topic."""
    name = group.reading.group
    if name in view.sinks:
        return view.sinks[name].text
    if ICEBERG_CONTROL in group.topics:
        return f"It has committed offsets on {ICEBERG_CONTROL}, the control topic of an Iceberg sink."
    if name.startswith("cg-control-"):
        return "It is called like the control group of an Iceberg sink."
    control_group = f"cg-control-{name.removeprefix('connect-')}"
    if control_group in view.group_names:
        return f"Its control group {control_group} shows that it is an Iceberg sink."
    if name.startswith("connect-"):
        return f"It is called like the group of the sink connector {name.removeprefix('connect-')}."
    return "It is called like the group of a query or job that keeps positions in its checkpoint."
