# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Use case: what a cluster has, who reads it, and what would hurt if its groups were migrated."""

from __future__ import annotations

import collections
import dataclasses
import time
import typing as t

from .._control import groups as control
from .._control import positions
from .._control.acl_requests import missing_cluster_acls
from .._control.connect_rest import ConnectRest, read_sinks
from .._control.schema_registry import SchemaRegistry, SubjectId, known_ids
from .._control.topics import cluster_id, of_existing
from .._model.assessment import Assessment, Row
from .._model.connection import Connection
from .._model.documents import utc_text
from .._model.errors import MigrationError
from .._model.group_overview import GroupOverview
from .._model.grouping import nested
from .._model.idle import moves, moves_text
from .._model.known_names import TOPICS, known, streams_owner
from .._model.risks import Risk, RiskKind
from .._model.sinks import Sink
from .._model.wording import counted, first_names, first_of
from .group_risks import ClusterView, assessed_group, group_risks
from .list_groups import GroupOverviews
from .source_topics import ClusterTopics, next_times, or_risk, read_topics, sampled_schema_ids

_REGISTRY_SECONDS = 60.0


@dataclasses.dataclass(frozen=True, slots=True)
class AssessOptions:
    """abandoned_after: days. watch_seconds: between two readings of what groups have committed.

    read_records: whether records are read, for the times of next records and for ids of schemas. workers: one of each
    Connect cluster. every: whether all groups are selected, so that all topics are meant, and it is known which of them nobody
    reads. by_patterns: whether patterns select groups, so that some may be missed that the login does not see.
    """

    registry: SchemaRegistry | None
    workers: t.Sequence[ConnectRest]
    every: bool
    by_patterns: bool
    abandoned_after: float = 30
    watch_seconds: float = 5
    read_records: bool = False


def assess_groups(connection: Connection, listed: GroupOverviews, options: AssessOptions) -> Assessment:
    """The groups of a cluster and their topics, with their risks. listed: the groups, as they were just read.

    Raises ConnectionFailed where the cluster does not answer; what the login may not see becomes a risk.
    """
    begun, clock, groups = time.monotonic(), time.time(), listed.groups
    selected = frozenset(group.reading.group for group in groups)
    names = selected.union(listed.listed)
    readers = _readers(connection, groups)

    def is_meant(topic: str) -> bool:
        return options.every or topic in readers or streams_owner(topic, names) in selected

    seen = read_topics(connection, is_meant, options.read_records)
    sinks: dict[str, Sink] = {}  # of each Connect cluster, by the group that they consume in
    for worker in options.workers:
        with or_risk(seen.risks, "Classes of sink connectors could not be read"):
            sinks |= {sink.group: sink for sink in read_sinks(worker)}
    view = ClusterView(seen, int(clock * 1000), options.abandoned_after, names, sinks)
    with or_risk(seen.risks, "Times could not be looked up in logs"):
        wanted = view.wanted_times(groups)
        view.times = of_existing(
            connection,
            {partition.topic for partition, _time in wanted},
            lambda names: positions.lookup_all_times(connection, [at for at in wanted if at[0].topic in names], set()),
        )
    ids: dict[str, list[SubjectId]] = {}
    if options.read_records:
        # The offsets from which groups have not consumed, with their lag, by partition.
        next_offsets = nested(
            ((partition, offset), lag.offsets if (lag := group.partition_lag(partition)) else 0)
            for group in groups
            for partition, offset in group.next_offsets.items()
        )
        view.stamps = next_times(connection, seen, next_offsets)
        ids = sampled_schema_ids(connection, seen)
    risks = [
        *_hidden(connection, listed, options.by_patterns),
        *_moving(connection, groups, begun, options.watch_seconds),
    ]
    risks += [risk for group in groups for risk in group_risks(group, view)]
    if options.every:
        risks += _unread(seen, readers, groups)
    risks += _schema_risks(ids, options.registry)
    head = {
        "source_id": cluster_id(connection),
        "read": utc_text(clock),
        "abandoned_after": options.abandoned_after,
        "groups_denied": len(listed.denied),
        "groups_left_out": len(listed.left_out),
    }
    rows = tuple(assessed_group(group, view) for group in groups)
    return Assessment(head, rows, tuple(_topic_rows(seen, readers, ids)), (*risks, *seen.risks))


def _moving(connection: Connection, groups: t.Sequence[GroupOverview], begun: float, watch: float) -> t.Iterator[Risk]:
    """Groups without members whose committed offsets change within `watch` seconds."""
    quiet = {
        group.reading.group: group.reading
        for group in groups
        if group.reading.offsets and not group.reading.has_members
    }
    if not quiet or watch <= 0:
        return
    time.sleep(max(0.0, begun + watch - time.monotonic()))
    later = control.read_groups(connection, list(quiet), stable=False, skip_denied=True)
    for name, before in quiet.items():
        after = later.get(name)
        if after is None or not after.exists or after.has_members:  # deleted, or somebody has joined
            continue
        was, now = (
            {partition: commit.offset for partition, commit in reading.offsets.items()} for reading in (before, after)
        )
        if moved := moves(was, now):
            yield Risk(RiskKind.ASSIGNED_CONSUMERS, f"Within {watch:g} s moved {moves_text(moved)}.", name)


def _readers(connection: Connection, groups: t.Iterable[GroupOverview]) -> dict[str, set[str]]:
    """The groups that have committed offsets on each topic, or whose members are subscribed to it."""
    readers: dict[str, set[str]] = collections.defaultdict(set)
    without = []
    for group in groups:
        for topic in group.topics:
            readers[topic].add(group.reading.group)
        if group.reading.has_members and not group.reading.offsets and group.reading.keeps_offsets:
            without.append(group.reading.group)
    for name, topics in control.subscriptions(connection, without).items():
        for topic in topics or ():
            readers[topic].add(name)
    return readers


def _topic_rows(
    seen: ClusterTopics, readers: t.Mapping[str, t.Collection[str]], ids: t.Mapping[str, list[SubjectId]]
) -> t.Iterator[Row]:
    for topic, count in seen.partitions.items():
        known_name, settings = known(topic, TOPICS), seen.settings.get(topic)
        policy = settings and ("compact" if settings.compacted else "delete")
        yield {
            "topic": topic,
            "what": known_name and known_name.whose,
            "partitions": count,
            "offsets": seen.offsets(topic),
            "retention_ms": settings and settings.retention_ms,
            "cleanup_policy": policy,
            "groups": sorted(readers.get(topic, ())),
            "schema_ids": [each.number for each in ids.get(topic, ())],
        }


def _unread(seen: ClusterTopics, readers: t.Container[str], groups: t.Iterable[GroupOverview]) -> t.Iterator[Risk]:
    """Topics of applications that nobody reads. Those that Kafka Streams or another tool makes are their own matter."""
    streams = {group.reading.group for group in groups if group.is_streams}
    for topic in seen.partitions:
        if topic in readers or known(topic, TOPICS) or streams_owner(topic, streams):
            continue
        yield Risk(RiskKind.TOPIC_UNREAD, f"{counted(seen.offsets(topic), 'offset')} are in its logs.", None, topic)


def _schema_risks(ids: t.Mapping[str, list[SubjectId]], registry: SchemaRegistry | None) -> t.Iterator[Risk]:
    """What the destination's registry does not know; without a usable one, the ids that are needed."""
    every = {each for of_topic in ids.values() for each in of_topic}
    if not every:
        return
    unanswered = every
    if registry is not None:
        try:
            answer = known_ids(registry, every, _REGISTRY_SECONDS)
            unanswered = set(answer.not_asked)
            for topic, of_topic in ids.items():
                lacking = [each for each in of_topic if each in answer.unknown]
                if lacking:
                    detail = f"{registry} does not know {_ids_text(lacking)}."
                    yield Risk(RiskKind.SCHEMA_ID_UNKNOWN, detail, None, topic)
            if unanswered:
                numbers, left = ({each.number for each in some} for some in (every, unanswered))
                detail = f"It answered within {_REGISTRY_SECONDS:g} s for {len(numbers - left)} of {len(numbers)} ids."
                yield Risk(RiskKind.SCHEMA_REGISTRY_UNUSABLE, detail)
        except MigrationError as exc:
            yield Risk(RiskKind.SCHEMA_REGISTRY_UNUSABLE, f"{exc}")
    for topic, of_topic in ids.items():
        open_ids = [each for each in of_topic if each in unanswered]
        if open_ids:
            yield Risk(RiskKind.SCHEMA_IDS, f"Its last records carry {_ids_text(open_ids)}.", None, topic)


def _ids_text(ids: t.Sequence[SubjectId]) -> str:
    return f"{'id' if len(ids) == 1 else 'ids'} {first_of([str(each.number) for each in ids])}"


def _hidden(connection: Connection, listed: GroupOverviews, by_patterns: bool) -> t.Iterator[Risk]:
    """How many groups the login does not see: brokers leave out in silence what it may not describe."""
    if listed.denied:
        names = first_names(listed.denied)
        detail = f"{counted(len(listed.denied), 'group')} may not be described: grant ACL GROUP DESCRIBE on {names}."
        yield Risk(RiskKind.NOT_VISIBLE, detail)
    if by_patterns and missing_cluster_acls(connection, "DESCRIBE"):
        detail = (
            f"The login sees {counted(len(listed.listed), 'group')}. It lacks ACL CLUSTER DESCRIBE, without which brokers do "
            "not say whether there are more."
        )
        yield Risk(RiskKind.NOT_VISIBLE, detail)
