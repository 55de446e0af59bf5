# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What must hold for a copy: topics and logs are those that it knows, and neither ACLs, files, formats, disks nor Spark lack.

A topic that was deleted and created again has the same name and another id, and one that was truncated ends before what
was copied. Nothing that is known of the copy holds there.
"""

from __future__ import annotations

import dataclasses
import functools
import typing as t

from ..._control import permissions, positions, storage, topics
from ..._control.configs import TopicConfigs, broker_number
from ..._control.positions import Bounds
from ..._model.backlog import Backlog, BacklogRange, BacklogTopic
from ..._model.cluster_identity import Traits
from ..._model.connection import Connection
from ..._model.copy_progress import all_groups, begin_anew, transactional_ids
from ..._model.errors import (
    CopyOutdated,
    DiskFull,
    NotAccepted,
    NotAuthorized,
    Refused,
    RequirementMissing,
    TopicRecreated,
    TopicUnsuitable,
)
from ..._model.faults import all_done, faults_of
from ..._model.option_names import option_name, path_option
from ..._model.plan import Plan
from ..._model.records import TopicPartition
from ..._model.spark import SparkOptions
from ..._records.record_copy import COMPRESSION
from ..._records.transactions import TRANSACTION_SECONDS
from ..._spark.session import obstacle
from .. import topic_making
from ..file_clusters import check_cluster, correct_file

_LONGEST_TRANSACTION = "transaction.max.timeout.ms"
_FORMAT = "message.format.version"
_WITH_TRANSACTIONS = (0, 11)  # the first message format that has transactions and headers: KIP-98

# The bytes of each range, by the source's partition; None where nobody tells.
Sizes: t.TypeAlias = "dict[TopicPartition, int | None]"


def with_ids(
    planned: t.Sequence[BacklogTopic], source: Connection, destination: Connection
) -> tuple[BacklogTopic, ...]:
    """The topics with the ids that they have now, where none is known yet."""
    destination_ids = topics.topic_ids(destination, [topic.name for topic in planned if topic.topic_id is None])
    source_ids = topics.topic_ids(source, [topic.source for topic in planned if topic.source_topic_id is None])
    return tuple(
        dataclasses.replace(
            topic,
            topic_id=topic.topic_id or destination_ids.get(topic.name),
            source_topic_id=topic.source_topic_id or source_ids.get(topic.source),
        )
        for topic in planned
    )


def check_copy_cluster(backlog: Backlog, destination: Connection) -> None:
    """Raise Refused for another cluster than the one that the copy was planned for."""
    check_cluster("copy file", backlog.destination_identity, destination, correct_file())


def is_same(topic: BacklogTopic, ids: t.Mapping[str, str | None]) -> bool:
    """Is the topic there, and the one that the copy knows, as far as it has noted an id? ids: of topics.topic_ids()."""
    return topic.name in ids and topic.topic_id in (None, ids[topic.name])


def check_topics(backlog: Backlog, source: Connection, destination: Connection) -> None:
    """Raise Refused where a topic of the destination is another one or gone; of the source too, until all is copied."""
    noted = backlog.destination_identity.traits
    now = Traits(topic_ids=topics.topic_ids(destination, noted.topic_ids))
    for topic in backlog.topics:
        if topic.name in noted.topic_ids and topic.name not in now.topic_ids:
            raise other_topic(destination, "the topic does not exist any more", topic=topic.name)
        if how := noted.how_recreated(topic.name, now):
            what = f"the topic was deleted and created again since the copy was planned: {how}"
            raise other_topic(destination, what, topic=topic.name)
    if not backlog.is_done:
        noted = backlog.source_identity.traits
        now = Traits(topic_ids=topics.topic_ids(source, [topic.source for topic in backlog.topics]))
        for topic in backlog.topics:
            how = noted.how_recreated(topic.source, now)
            if topic.source not in now.topic_ids or how:
                again = " and created again" if how else ""
                what = f"the topic was deleted{again} since the copy was planned, and not all of it is copied"
                raise _lost_at_source(source, what, topic.name, topic=topic.source)


def not_made(destination: Connection, existing: t.Iterable[BacklogTopic], ids: t.Mapping[str, str | None]) -> list[str]:
    """Those of these topics, which are there, that the copy was to make and that are other ones, as far as that can be known.

    A run may be killed between making a topic and noting its id. Its topic then has the partitions and settings that
    were planned. ids: of topics.topic_ids(); None before 2.8, where no id is ever noted.
    """
    unsure = {
        topic.name: topic.created
        for topic in existing
        if topic.created is not None and topic.topic_id is None and ids.get(topic.name) is not None
    }
    return topic_making.unlike_planned(destination, unsure)


def check_plan(backlog: Backlog, plan: Plan, connection: Connection) -> None:
    """Raise Refused for the plan of another copy, before it is overwritten, deleted or relied on."""
    pairs = (backlog.source_identity, plan.source_identity), (backlog.destination_identity, plan.destination_identity)
    if plan.snapshot != backlog.snapshot or any(ours.difference(theirs) is not None for ours, theirs in pairs):
        elsewhere = ""
        if not backlog.claimed:
            elsewhere = "; or move the plan file elsewhere, if no commit or rollback needs it any more"
        raise CopyOutdated(
            f"the plan is not the one of this copy: it was made from snapshot {plan.snapshot} for clusters {plan.source_id} "
            f"and {plan.destination_id}, and the copy from {backlog.snapshot} for {backlog.source_id} and "
            f"{backlog.destination_id}",
            cluster=str(connection),
            remedy=f"correct {path_option()}: the copy file and the plan file are those of one copy{elsewhere}",
        )


def check_log(
    connection: Connection, backlog_range: BacklogRange, next_: int | None, bounds: Bounds, first: int | None
) -> None:
    """Raise Refused where the destination's log does not hold what was copied to it.

    next_: the offset after the last copied record, None where there is none. first: the offset from which on its records must
    all be there still, None where they need not.
    """
    if next_ is None:
        return
    if bounds.high_watermark < next_:
        what = f"the log ends at {bounds.high_watermark}, and records were copied up to {next_}"
        raise other_topic(
            connection, what, why="the topic was recreated or truncated", **backlog_range.destination._asdict()
        )
    if first is not None and bounds.log_start > first:
        what = f"the log begins at {bounds.log_start}, and records were copied from {backlog_range.begin} on"
        if first > backlog_range.begin:
            what += f", of which a group needs those from {first} on"
        why = "copied records were deleted before every group has consumed them"
        raise other_topic(connection, what, why=why, **backlog_range.destination._asdict())


def check_source_log(connection: Connection, backlog_range: BacklogRange, bounds: Bounds) -> None:
    """Raise Refused where the source's log ends before what is to be copied."""
    if bounds.high_watermark < backlog_range.end:
        what = f"the log ends at {bounds.high_watermark}, and the copy was planned up to {backlog_range.end}"
        why = "the topic was truncated, as by an unclean leader election: other records may have the same offsets now"
        copied_to = backlog_range.destination.topic
        raise _lost_at_source(connection, what, copied_to, why=why, **backlog_range.source._asdict())


def truncated(backlog: Backlog, destination: Connection, names: t.Collection[str]) -> dict[str, str]:
    """Those of these topics whose logs end before what was copied, with what has happened. All is copied."""
    ranges = [each for each in backlog.ranges if each.destination.topic in names]
    faults = [*faults_of(*_log_checks(ranges, destination, {}))]
    return {str(fault.topic): str(fault) for fault in reversed(faults)}  # the first one of each topic


def check_done(backlog: Backlog, destination: Connection, needed: t.Mapping[TopicPartition, int] | None = None) -> None:
    """Raise Refused where the logs do not hold what a finished copy has written.

    needed: from which offset on groups need it, of partitions where they do; None where all of it must be there still.
    """
    all_done(*_log_checks(backlog.ranges, destination, needed))


def _log_checks(
    ranges: t.Iterable[BacklogRange], destination: Connection, needed: t.Mapping[TopicPartition, int] | None
) -> list[t.Callable[[], None]]:
    """check_log() of each of these ranges to which a finished copy has written. needed: as of check_done()."""
    written = [(each, each.done.next) for each in ranges if each.done is not None and each.done.next is not None]
    bounds = positions.partition_bounds(destination, [each.destination for each, _next in written])
    first = {each.destination: each.begin for each, _next in written} if needed is None else needed
    return [
        functools.partial(check_log, destination, each, next_, bounds[each.destination], first.get(each.destination))
        for each, next_ in written
    ]


def check_acls(backlog: Backlog, source: Connection, destination: Connection, members: t.Collection[str]) -> None:
    """Raise NotAuthorized that names every ACL which is missing on a cluster, or BrokerError for brokers that are too old.

    members: the destination's groups.
    """
    progress, names = all_groups(backlog), [topic.name for topic in backlog.topics]
    for unfit in permissions.copy_obstacles(destination, progress):
        raise unfit
    require_acls(source, reads_topics={topic.source for topic in backlog.topics})
    require_acls(
        destination,
        reads_groups=[*members, *progress],
        commits_groups=progress,
        deletes_groups=progress,
        writes_topics=names,
        transactional_ids=transactional_ids(backlog),
    )


def require_acls(connection: Connection, **needs: t.Any) -> None:
    """Raise NotAuthorized that names every missing ACL. needs: as of permissions.missing_acls()."""
    if lacking := permissions.missing_acls(connection, **needs):
        raise NotAuthorized(
            f"missing ACL {', '.join(lacking)}",
            cluster=str(connection),
            remedy=f"{NotAuthorized.usual_remedy}; for names that begin with streamshift-, one prefixed ACL does",
        )


def check_formats(destination: Connection, configs: t.Mapping[str, TopicConfigs]) -> None:
    """Raise Refused for a topic whose message format has no transactions, in which a copy writes."""
    for name, topic_configs in sorted(configs.items()):
        shown = topic_configs.effective.get(_FORMAT, "")
        numbers = tuple(int(each) for each in shown.partition("-")[0].split(".")[:2] if each.isdigit())
        if numbers and numbers < _WITH_TRANSACTIONS and topics.keeps_message_formats(destination):
            raise TopicUnsuitable(
                f"the topic is in the message format {shown} ({_FORMAT}), which has no transactions, and a copy "
                "is written in transactions",
                cluster=str(destination),
                topic=name,
                remedy=f"set its {_FORMAT} to 0.11.0 or later, or map it to another topic by {option_name('topic_map')}",
            )


def check_transactions(destination: Connection) -> None:
    """Raise Refused where brokers do not let a transaction take as long as one of a copy may, as far as they tell."""
    longest = broker_number(destination, _LONGEST_TRANSACTION)
    if longest is not None and longest < TRANSACTION_SECONDS * 1000:
        raise NotAccepted(
            f"{_LONGEST_TRANSACTION} is {longest:,}, and a transaction of a copy may take {TRANSACTION_SECONDS * 1000:,}",
            cluster=str(destination),
            remedy=f"set {_LONGEST_TRANSACTION} of the brokers to {TRANSACTION_SECONDS * 1000} or more, which they take after "
            "a restart",
        )


def check_room(backlog: Backlog, destination: Connection, known: Sizes) -> None:
    """Raise BrokerError where the destination's disks are too small for all replicas, as far as brokers tell.

    known: of sizes(). Records that are compressed at the source may need more. Where the copy compresses them, nobody knows
    how much less they need: then only one replica counts.
    """
    room = storage.usable_bytes(destination)
    if room is None:
        return
    compresses = any(destination.client_config.get(name, "none") != "none" for name in COMPRESSION)
    replicas: dict[str, int] = {}
    if not compresses:
        existing = [topic.name for topic in backlog.topics if topic.created is None]
        replicas = {name: layout.replicas for name, layout in storage.topic_layouts(destination, existing).items()}
        replicas |= {topic.name: topic.created.replication_factor for topic in backlog.topics if topic.created}
    needed = sum((known[each.source] or 0) * replicas.get(each.destination.topic, 1) for each in backlog.ranges)
    if needed > sum(room.values()):
        raise DiskFull(
            f"about {needed >> 20} MB are to be copied, {'' if compresses else 'all replicas together, '}and "
            f"{sum(room.values()) >> 20} MB are free",
            cluster=str(destination),
            remedy="free space on the brokers' disks, or copy fewer topics"
            + ("" if compresses else ", or set compression.type in client_config of the destination"),
        )


def check_spark(backlog: Backlog, options: SparkOptions) -> None:
    """Raise InvalidInput where Spark cannot start, before anything is written for it."""
    if any(each.copies for each in backlog.ranges) and (why := obstacle(options)) is not None:
        raise RequirementMissing(why.removesuffix("."))


def sizes(backlog: Backlog, source: Connection, bounds: t.Mapping[TopicPartition, Bounds]) -> Sizes:
    """About how many bytes each range has on the source's disks, by its share of the offsets; None where nobody tells.

    bounds: of the source's logs.
    """
    bytes_on_disk = storage.log_sizes(source, [each.source for each in backlog.ranges])
    if bytes_on_disk is None:
        return {each.source: None for each in backlog.ranges}
    result: Sizes = {}
    for each in backlog.ranges:
        log = bounds[each.source]
        offsets = max(1, log.high_watermark - log.log_start)
        result[each.source] = bytes_on_disk.get(each.source, 0) * min(each.end - each.start, offsets) // offsets
    return result


def other_topic(connection: Connection, what: str, **more: t.Any) -> Refused:
    """The error for a topic that is not, or does not hold, what the copy knows of it."""
    return TopicRecreated(what, cluster=str(connection), remedy=begin_anew(), **more)


def _lost_at_source(connection: Connection, what: str, copied_to: str, **more: t.Any) -> Refused:
    """The error for a topic of the source that no longer has what was copied of it to this topic."""
    return TopicRecreated(
        what,
        cluster=str(connection),
        remedy=f"keep the topic {copied_to} at the destination, which may alone have what was copied: let consumers read each "
        "partition from its `begin` in the copy file on. Copy from another directory, to other topics "
        f"({option_name('topic_map')})",
        **more,
    )
