# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Use case: plan which records groups have not consumed, and how they come to the destination. Nothing is written here."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
import time
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._control import (
    groups,
    permissions,
    positions,
    storage,
    topics,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._control.positions import Bounds
from ansible_collections.streamshift.kafka.plugins.module_utils._migration import drafts
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.backlog_topics import Pair, plan_topics
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.drafts import Draft
from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import Backlog, BacklogRange
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.copy_progress import all_groups, transactional_id
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import (
    BrokerError,
    InvalidInput,
    NotAuthorized,
    Refused,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.mapping import Mapping
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.snapshot import Snapshot
from ansible_collections.streamshift.kafka.plugins.module_utils._model.spark import SparkOptions
from ansible_collections.streamshift.kafka.plugins.module_utils._records.scanning import Range
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.bins import bins

# Of a Spark cluster nobody knows before a session is open; more bins than cores do no harm.
_CORES_ELSEWHERE = 16


@dataclasses.dataclass(frozen=True, slots=True)
class Options:
    """The options of kafka_backlog_copy. idle_wait: seconds. bytes_per_second: None for no limit."""

    on_uncommitted: str = "ignore"
    append: bool = False
    live: bool = False
    idle_wait: float = 5.0
    bytes_per_second: float | None = None
    restore_retention: bool = False
    spark: SparkOptions = dataclasses.field(default_factory=SparkOptions)


def entries_of(snapshot: Snapshot, mapping: Mapping, source: Connection) -> list[Draft]:
    """What every group has committed, and the partitions of its topics for which it has not; raises as from_snapshot()."""
    wanted = drafts.from_snapshot(snapshot, mapping)
    _check_names(wanted)
    return drafts.with_uncommitted(
        wanted, topics.partition_counts(source, {draft.source_partition.topic for draft in wanted})
    )


def plan(
    snapshot: Snapshot, wanted: t.Sequence[Draft], source: Connection, destination: Connection, options: Options
) -> Backlog:
    """Decide what is copied, from where to where, and fix the ends. wanted: see entries_of().

    Raises Refused, NotAuthorized, NotFound or InvalidInput for whatever stands in the way.
    """
    source_id, destination_id = clusters(snapshot, source, destination)
    names = {draft.source_partition.topic: draft.partition.topic for draft in wanted}
    if source_id == destination_id and any(here == there for here, there in names.items()):
        raise InvalidInput(
            "source and destination are one cluster, and topics would be copied into themselves",
            cluster=str(destination),
            remedy="give them other names by topic_map, or name another destination",
        )
    bounds = _quiet_bounds(source, {draft.source_partition for draft in wanted}, options)
    found = _ranges(wanted, bounds, source, options.on_uncommitted)
    pairs = [
        Pair(here, there, any(each.start < each.end for each in found if each.source.topic == here))
        for here, there in sorted(names.items())
    ]
    made = plan_topics(source, destination, pairs)
    ends = _ends(destination, found, {topic.name for topic in made if topic.created is None}, options.append)
    backlog = Backlog(
        _name(source_id, destination_id, snapshot, found),
        source_id,
        destination_id,
        snapshot.digest(),
        tuple(made),
        tuple(dataclasses.replace(each, begin=ends[each.destination]) for each in _dealt_out(found, options.spark)),
    )
    check_rights(backlog, source, destination, {draft.group for draft in wanted})
    _check_unknown(backlog, destination)
    _check_room(backlog, source, destination)
    return backlog


def check_known(
    known: Backlog,
    snapshot: Snapshot,
    wanted: t.Iterable[Draft],
    source: Connection,
    destination: Connection,
    options: Options,
) -> list[str]:
    """Raise Refused where an earlier copy cannot go on with what there is now. -> what the user should know."""
    source_id, destination_id = clusters(snapshot, source, destination)
    for kind, found, expected in (
        ("source", source_id, known.source_id),
        ("destination", destination_id, known.destination_id),
    ):
        if found != expected:
            raise Refused(
                f"the copy was planned for {kind} cluster {expected}, and this is cluster {found}",
                remedy="use another copy file for other clusters (another directory)",
            )
    if snapshot.digest() != known.snapshot:
        raise Refused(
            "the source's groups have moved since the copy was planned, or other groups or topics are selected now",
            why=f"it was planned from snapshot {known.snapshot}, and this one is {snapshot.digest()}",
            remedy="select what it was planned for and stop the groups, or copy into another directory",
        )
    names = {each.source: each.destination for each in known.ranges}
    for draft in wanted:
        if names.get(draft.source_partition) != draft.partition:
            raise Refused(
                f"the copy was planned without {draft.source_partition} as {draft.partition}",
                remedy="give the topic_map that it was planned with, or copy into another directory",
            )
    ends = positions.partition_bounds(source, list(names))
    grown = {each.source: count for each in known.ranges if (count := ends[each.source].high_watermark - each.end) > 0}
    if not grown:
        return []
    first = min(grown)
    said = f"{first} has grown by {grown[first]} offsets since the copy was planned, {len(grown)} partitions altogether"
    if not known.is_done and not options.live:
        raise Refused(
            said,
            cluster=str(source),
            remedy="stop the producers, and copy into another directory, or set live to copy to the end that was fixed",
        )
    return [f"{said}: what came later is not copied."]


def clusters(snapshot: Snapshot, source: Connection, destination: Connection) -> tuple[str, str]:
    """The ids of both clusters. Raises Refused for a snapshot of another one."""
    source_id, destination_id = topics.cluster_id(source), topics.cluster_id(destination)
    if snapshot.cluster_id not in (None, source_id):
        raise Refused(
            f"the snapshot was taken of cluster {snapshot.cluster_id}, and this is cluster {source_id}",
            cluster=str(source),
            remedy="take the snapshot again, or connect to the cluster that it was taken of",
        )
    return source_id, destination_id


def check_rights(backlog: Backlog, source: Connection, destination: Connection, members: t.Collection[str]) -> None:
    """Raise NotAuthorized that names every ACL which is missing on a cluster. members: the destination's groups."""
    progress, names = all_groups(backlog), [topic.name for topic in backlog.topics]
    here = permissions.missing_acls(source, reads_topics={topic.source for topic in backlog.topics})
    there = permissions.missing_acls(
        destination,
        reads_groups=[*members, *progress],
        commits_groups=progress,
        writes_topics=names,
        transactional_ids=[transactional_id(backlog.name, number) for number in backlog.bins()],
    )
    for connection, lacking in ((source, here), (destination, there)):
        if lacking:
            raise NotAuthorized(
                f"missing ACL {', '.join(lacking)}",
                cluster=str(connection),
                remedy="grant it to the user of this cluster; for names that begin with streamshift- by one prefixed ACL",
            )


def sizes(backlog: Backlog, source: Connection) -> dict[TopicPartition, int | None]:
    """About how many bytes each range has on the source's disks, by its share of the offsets; None where nobody tells."""
    found = storage.log_sizes(source, [each.source for each in backlog.ranges])
    if found is None:
        return {each.source: None for each in backlog.ranges}
    bounds = positions.partition_bounds(source, [each.source for each in backlog.ranges])
    result: dict[TopicPartition, int | None] = {}
    for each in backlog.ranges:
        its = bounds[each.source]
        offsets = max(1, its.high_watermark - its.log_start)
        result[each.source] = found.get(each.source, 0) * min(each.end - each.start, offsets) // offsets
    return result


def _check_names(wanted: t.Iterable[Draft]) -> None:
    """Two topics in one would mix their records, and no group could stand between those of one and the other."""
    sources: dict[str, str] = {}
    for draft in wanted:
        here, there = draft.source_partition.topic, draft.partition.topic
        if sources.setdefault(there, here) != here:
            raise InvalidInput(
                f"two topics would be copied into one: {sources[there]} and {here} both become {there}",
                remedy="correct topic_map",
            )


def _quiet_bounds(
    source: Connection, partitions: t.Collection[TopicPartition], options: Options
) -> dict[TopicPartition, Bounds]:
    """Where the logs begin and end, once nobody writes them any more."""
    first = positions.partition_bounds(source, partitions)
    if options.live or not partitions:
        return first
    time.sleep(options.idle_wait)
    second = positions.partition_bounds(source, partitions)
    for where, its in sorted(second.items()):
        if its.high_watermark != first[where].high_watermark:
            what = (
                f"the log grows: from {first[where].high_watermark} to {its.high_watermark} in {options.idle_wait:g} s"
            )
        elif its.end != its.high_watermark:
            what = f"a transaction is open: the log ends at {its.high_watermark}, and is stable up to {its.end}"
        else:
            continue
        raise Refused(
            what,
            cluster=str(source),
            why="what is written from now on would not be copied",
            remedy="stop the producers, or set live to copy what is there now and leave the rest",
            **where._asdict(),
        )
    return second


def _ranges(
    wanted: t.Iterable[Draft], bounds: t.Mapping[TopicPartition, Bounds], source: Connection, on_uncommitted: str
) -> list[BacklogRange]:
    """For each partition the range from the first group's offset to the end, without bins and the destination's ends."""
    stands: dict[TopicPartition, set[int]] = {}
    names: dict[TopicPartition, TopicPartition] = {}
    for draft in wanted:
        its = bounds[draft.source_partition]
        offset = standing(draft, its.log_start, its.end, on_uncommitted)
        names[draft.source_partition] = draft.partition
        its_stands = stands.setdefault(draft.source_partition, set())
        if offset is None:
            continue
        if offset > its.end:
            beyond = offset > its.high_watermark
            raise Refused(
                f"offset {offset} is committed, and the log "
                + (f"ends at {its.high_watermark}" if beyond else f"is stable up to {its.end} only"),
                cluster=str(source),
                group=draft.source_group,
                why="the topic was recreated or truncated" if beyond else "a transaction is open",
                remedy="reset the group, or leave it or the topic out" if beyond else "wait for it, or end it",
                **draft.source_partition._asdict(),
            )
        its_stands.add(max(offset, its.log_start))
    found = []
    for where, offsets in sorted(stands.items()):
        end = bounds[where].end
        start = min(offsets, default=end)
        boundaries = tuple(sorted(offset for offset in offsets if offset < end))
        found.append(BacklogRange(where, start, end, names[where], 0, None, boundaries))
    return found


def standing(draft: Draft, start: int, end: int, on_uncommitted: str) -> int | None:
    """Where a group stands at the source, or is to stand by policy where it has committed nothing; None for nowhere."""
    if draft.committed is not None:
        return draft.offset
    return {"start": start, "end": end}.get(on_uncommitted)


def _dealt_out(found: t.Sequence[BacklogRange], spark: SparkOptions) -> list[BacklogRange]:
    """The ranges, each with the number of the bin that copies it; a partition has one writer."""
    asked = [Range(each.source, each.start, each.end) for each in found]
    dealt = bins(asked, _cores(spark), split=False)
    numbers = {piece.number: number for number, pieces in enumerate(dealt) for piece in pieces}
    return [dataclasses.replace(each, number=numbers.get(place)) for place, each in enumerate(found)]


def _cores(spark: SparkOptions) -> int:
    given = re.fullmatch(r"local(?:\[(\*|\d+).*\])?", spark.master) if spark.is_local else None
    if given is None:
        return _CORES_ELSEWHERE
    return (os.cpu_count() or 1) if given[1] == "*" else int(given[1] or 1)


def _ends(
    destination: Connection, found: t.Sequence[BacklogRange], existing: t.Collection[str], append: bool
) -> dict[TopicPartition, int]:
    """Where the destination's logs end now; 0 in topics that are still to be made."""
    there = [each.destination for each in found if each.destination.topic in existing]
    bounds = positions.partition_bounds(destination, there) if there else {}
    for where, its in sorted(bounds.items()):
        if its.log_start < its.high_watermark and not append:
            raise Refused(
                f"the topic is not empty: it has offsets {its.log_start} to {its.high_watermark}",
                cluster=str(destination),
                why="groups would have to tell copied records from those that were there",
                remedy="name another topic in topic_map, empty this one, or set append to write behind what is there",
                **where._asdict(),
            )
    return {each.destination: bounds[each.destination].end if each.destination in bounds else 0 for each in found}


def _name(source_id: str, destination_id: str, snapshot: Snapshot, found: t.Iterable[BacklogRange]) -> str:
    """The same for the same copy, so that one whose file is lost is recognised by its progress groups."""
    text = "\n".join(
        [source_id, destination_id, snapshot.digest(), *(f"{each.source} {each.destination}" for each in found)]
    )
    return f"streamshift-copy-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _check_unknown(backlog: Backlog, destination: Connection) -> None:
    """Raise Refused for a copy that was begun and whose file is gone: its ends and boundaries were others."""
    names = all_groups(backlog)
    for name, reading in sorted(groups.read_groups(destination, names, stable=False).items()):
        if reading.offsets:
            raise Refused(
                "this copy was begun already, and its copy file is missing",
                cluster=str(destination),
                group=name,
                remedy="restore the copy file, or remove what was copied and this group, and begin anew",
            )


def _check_room(backlog: Backlog, source: Connection, destination: Connection) -> None:
    """Raise Refused where the destination's disks are too small, as far as brokers tell."""
    room = storage.usable_bytes(destination)
    known = [size for size in sizes(backlog, source).values() if size is not None]
    if room is not None and sum(known) > sum(room.values()):
        raise BrokerError(
            f"about {sum(known) >> 20} MB are to be copied, and {sum(room.values()) >> 20} MB are free",
            cluster=str(destination),
            remedy="free space on the brokers' disks, or copy fewer topics",
        )
