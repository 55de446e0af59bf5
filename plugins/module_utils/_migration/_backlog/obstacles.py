# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What stands in the way of a backlog's copy: missing ACLs, lost files, old formats, full disks, no Spark."""

from __future__ import annotations

import typing as t

from ..._control import groups, permissions, storage, topics
from ..._control.configs import TopicConfigs
from ..._control.positions import Bounds
from ..._model.backlog import Backlog
from ..._model.connection import Connection
from ..._model.copy_progress import all_groups, run_of, transactional_ids
from ..._model.errors import BrokerError, InvalidInput, NotAuthorized, Refused
from ..._model.failure_kinds import FailureKind
from ..._model.option_names import option_name
from ..._model.records import TopicPartition
from ..._model.spark import SparkOptions
from ..._spark.session import obstacle

_FORMAT = "message.format.version"
_WITH_TRANSACTIONS = (0, 11)  # the first message format that has transactions and headers: KIP-98


def check_acls(backlog: Backlog, source: Connection, destination: Connection, members: t.Collection[str]) -> None:
    """Raise NotAuthorized that names every ACL which is missing on a cluster, or BrokerError for brokers that are too old.

    members: the destination's groups.
    """
    for unfit in permissions.copy_obstacles(destination):
        raise unfit
    progress, names = all_groups(backlog), [topic.name for topic in backlog.topics]
    source_missing = permissions.missing_acls(source, reads_topics={topic.source for topic in backlog.topics})
    destination_missing = permissions.missing_acls(
        destination,
        reads_groups=[*members, *progress],
        commits_groups=progress,
        deletes_groups=progress,
        writes_topics=names,
        transactional_ids=transactional_ids(backlog),
    )
    for connection, lacking in ((source, source_missing), (destination, destination_missing)):
        if lacking:
            raise NotAuthorized(
                f"missing ACL {', '.join(lacking)}",
                cluster=str(connection),
                remedy="grant it to the user of this cluster; for names that begin with streamshift- by one prefixed ACL",
            )


def check_formats(destination: Connection, configs: t.Mapping[str, TopicConfigs]) -> None:
    """Raise Refused for a topic whose message format has no transactions, in which a copy writes."""
    for name, its in sorted(configs.items()):
        shown = its.effective.get(_FORMAT, "")
        numbers = tuple(int(each) for each in shown.partition("-")[0].split(".")[:2] if each.isdigit())
        if numbers and numbers < _WITH_TRANSACTIONS and topics.keeps_message_formats(destination):
            raise Refused(
                f"the topic is in the message format {shown} ({_FORMAT}), which has no transactions, and a copy "
                "is written in transactions",
                cluster=str(destination),
                topic=name,
                remedy=f"set its {_FORMAT} to 0.11.0 or later, or map it to another topic by {option_name('topic_map')}",
                kind=FailureKind.TOPIC_UNSUITABLE,
            )


def check_unknown(backlog: Backlog, destination: Connection) -> None:
    """Raise Refused for a copy that was begun and whose file is gone: its ends and boundaries were others."""
    names = all_groups(backlog)
    for name, reading in sorted(groups.read_groups(destination, names, stable=False).items()):
        if reading.offsets:
            runs = {str(run) for commit in reading.offsets.values() if (run := run_of(commit))}
            raise Refused(
                "this copy has already started, and its copy file is not here" + (f": {min(runs)}" if runs else ""),
                cluster=str(destination),
                group=name,
                why="it was started with another directory, and may still run, or the file is lost",
                remedy="if that process still runs, wait until it has ended; then use its directory, or restore the copy file. "
                "Only if the file is lost and nothing runs, remove what was copied and this group, and start again",
                kind=FailureKind.FILE_MISSING,
            )


def check_room(
    backlog: Backlog, source: Connection, destination: Connection, bounds: t.Mapping[TopicPartition, Bounds]
) -> None:
    """Raise Refused where the destination's disks are too small, as far as brokers tell."""
    room = storage.usable_bytes(destination)
    known = [size for size in sizes(backlog, source, bounds).values() if size is not None]
    if room is not None and sum(known) > sum(room.values()):
        raise BrokerError(
            f"about {sum(known) >> 20} MB are to be copied, and {sum(room.values()) >> 20} MB are free",
            cluster=str(destination),
            remedy="free space on the brokers' disks, or copy fewer topics",
            kind=FailureKind.DISK_FULL,
        )


def check_spark(backlog: Backlog, options: SparkOptions) -> None:
    """Raise InvalidInput where Spark cannot start, before anything is written for it."""
    if any(each.copies for each in backlog.ranges) and (why := obstacle(options)) is not None:
        raise InvalidInput(why.removesuffix("."), kind=FailureKind.REQUIREMENT_MISSING)


def sizes(
    backlog: Backlog, source: Connection, bounds: t.Mapping[TopicPartition, Bounds]
) -> dict[TopicPartition, int | None]:
    """About how many bytes each range has on the source's disks, by its share of the offsets; None where nobody tells.

    bounds: of the source's logs.
    """
    found = storage.log_sizes(source, [each.source for each in backlog.ranges])
    if found is None:
        return {each.source: None for each in backlog.ranges}
    result: dict[TopicPartition, int | None] = {}
    for each in backlog.ranges:
        its = bounds[each.source]
        offsets = max(1, its.high_watermark - its.log_start)
        result[each.source] = found.get(each.source, 0) * min(each.end - each.start, offsets) // offsets
    return result
