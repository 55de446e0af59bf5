# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Use case: plan which records groups have not consumed, and how they come to the destination. Nothing is written here."""

from __future__ import annotations

import dataclasses
import hashlib
import typing as t

from ..._control import clusters, positions, topics
from ..._model.backlog import Backlog, BacklogRange
from ..._model.connection import Connection
from ..._model.copy_progress import begin_anew
from ..._model.errors import CopyOutdated, InvalidInput, OneCluster, RecordsUnreachable, StillUsed
from ..._model.group_state import open_text
from ..._model.mapping import Mapping
from ..._model.notes import Note, NoteKind
from ..._model.option_names import another_directory, correct_clusters, give_back, option_name
from ..._model.policies import OnLostProgress, OnUncommitted
from ..._model.records import TopicPartition
from ..._model.snapshot import Snapshot
from ..._model.spark import SparkOptions
from ..._model.wording import counted
from .. import drafts
from ..drafts import Draft
from ..file_clusters import check_cluster, check_snapshot_cluster
from . import others, preconditions, takeover, unconsumed
from .destination_topics import plan_topics


@dataclasses.dataclass(frozen=True, slots=True)
class CopyOptions:
    """The options of kafka_backlog_copy. idle_wait: seconds. max_bytes_per_second: None for no limit."""

    on_uncommitted: OnUncommitted = OnUncommitted.IGNORE
    append: bool = False
    live: bool = False
    idle_wait: float = 5.0
    max_bytes_per_second: int | None = None
    restore_retention: bool = False
    on_lost_progress: OnLostProgress = OnLostProgress.FAIL
    spark: SparkOptions = dataclasses.field(default_factory=SparkOptions)


def entries_of(snapshot: Snapshot, mapping: Mapping, source: Connection) -> list[Draft]:
    """What every group has committed, and the partitions of its topics for which it has not; raises as from_snapshot().

    Raises Refused where a transaction was open that commits offsets, because a copy begins and ends at those.
    """
    for transaction in snapshot.open:
        raise StillUsed(
            open_text({transaction.partition: transaction.told}),
            cluster=str(source),
            group=transaction.group,
            remedy="wait for its application, or for its transaction.timeout.ms, and run again; or leave the group out",
        )
    wanted = drafts.from_snapshot(snapshot, mapping)
    _check_names(wanted)
    return drafts.with_uncommitted(
        wanted, topics.partition_counts(source, {draft.source_partition.topic for draft in wanted})
    )


SourceBounds = t.Mapping[TopicPartition, positions.Bounds]


def plan(
    snapshot: Snapshot, wanted: t.Sequence[Draft], source: Connection, destination: Connection, options: CopyOptions
) -> tuple[Backlog, SourceBounds, preconditions.Sizes]:
    """Decide what is copied, from where to where, and fix the ends. wanted: see entries_of().

    -> also the source's bounds, and about how large the ranges are. Raises Refused, NotAuthorized, NotFound or InvalidInput for
    whatever stands in the way.
    """
    source_id, destination_id = check_snapshot_cluster(snapshot, source).cluster_id, topics.cluster_id(destination)
    names = {draft.source_partition.topic: draft.partition.topic for draft in wanted}
    if clusters.are_one(source, destination) and any(
        source_topic == destination_topic for source_topic, destination_topic in names.items()
    ):
        raise OneCluster(
            "source and destination are one cluster, and topics would be copied into themselves",
            cluster=str(destination),
            remedy=f"give them other names by {option_name('topic_map')}, or name another destination",
        )
    wait = None if options.live else options.idle_wait
    bounds = unconsumed.quiet_bounds(source, {draft.source_partition for draft in wanted}, wait)
    ranges = unconsumed.open_ranges(wanted, bounds, source, options.on_uncommitted)
    copied = {each.source.topic for each in ranges if each.copies}
    made = plan_topics(source, destination, dict(sorted(names.items())), copied)
    planned = Backlog(
        _name(source_id, destination_id, snapshot, ranges),
        source_id,
        destination_id,
        snapshot.digest(),
        preconditions.with_ids(made, source, destination),
        tuple(ranges),
        claimed=False,
    )
    preconditions.check_acls(planned, source, destination, {draft.group for draft in wanted})
    # Before anything that the copy itself may have written stands in its way.
    takeover.check_unknown(planned, destination)
    others.check_copies(planned, destination)
    existing = {topic.name for topic in made if topic.created is None}
    ends = unconsumed.ends(destination, ranges, existing, options.append)
    begun = tuple(dataclasses.replace(each, begin=ends[each.destination]) for each in planned.ranges)
    backlog = dataclasses.replace(planned, ranges=begun)
    sizes = preconditions.sizes(backlog, source, bounds)
    preconditions.check_room(backlog, destination, sizes)
    preconditions.check_spark(backlog, options.spark)
    return backlog, bounds, sizes


def check_known(
    known: Backlog,
    snapshot: Snapshot,
    wanted: t.Sequence[Draft],
    source: Connection,
    destination: Connection,
    options: CopyOptions,
) -> tuple[list[Draft], SourceBounds, list[Note]]:
    """Raise Refused where an earlier copy cannot go on with what there is now.

    -> what of it the copy is about, the source's bounds now, and what the user should know.
    """
    check_snapshot_cluster(snapshot, source)
    remedy = f"{correct_clusters()}; or {another_directory()} for another copy"
    check_cluster("copy file", known.source_identity, source, remedy)
    check_cluster("copy file", known.destination_identity, destination, remedy)
    preconditions.check_topics(known, source, destination)
    ranges_of = {each.source: each for each in known.ranges}
    if not snapshot.has_digest(known.snapshot):
        raise CopyOutdated(
            "the source's groups have moved since the copy was planned, or other groups or topics are selected now",
            why=_difference(ranges_of, wanted)
            or f"it was planned from snapshot {known.snapshot}, and this one is {snapshot.digest()}",
            remedy=f"select what it was planned for, and stop the groups; where they have moved, {give_back()}, and run again. "
            "Or copy into another directory",
        )
    planned, notes = _without_new(known, wanted, source, options.on_uncommitted)
    bounds = positions.partition_bounds(source, {*ranges_of, *(draft.source_partition for draft in wanted)})
    # Every group-partition is one of the copy, whose range has all that the group has not consumed.
    for draft in planned:
        backlog_range = ranges_of.get(draft.source_partition)
        if backlog_range is None or backlog_range.destination != draft.partition:
            raise CopyOutdated(
                f"the copy was planned without {draft.source_partition} as {draft.partition}",
                remedy=f"give the {option_name('topic_map')} that it was planned with, or copy into another directory",
            )
        begun_at = unconsumed.standing(
            draft, bounds[backlog_range.source].log_start, backlog_range.end, options.on_uncommitted
        )
        if draft.committed is None and begun_at is not None and begun_at < backlog_range.start:
            raise CopyOutdated(
                f"{option_name('on_uncommitted')} would start {draft.source_group} at {begun_at} on {backlog_range.source}, "
                f"but the copy starts at {backlog_range.start}",
                cluster=str(source),
                remedy=f"give the {option_name('on_uncommitted')} that it was planned with, or copy into another directory",
            )
    if not known.is_done:
        for backlog_range in known.ranges:
            preconditions.check_source_log(source, backlog_range, bounds[backlog_range.source])
    return planned, bounds, notes


def _without_new(
    known: Backlog, wanted: t.Sequence[Draft], source: Connection, on_uncommitted: OnUncommitted
) -> tuple[list[Draft], list[Note]]:
    """The group-partitions but those of partitions that topics of the copy have got since it was planned, and a note of these.

    No group has committed an offset on them, because the snapshot is the same. Raises Refused where groups are to be set there.
    """
    partitions = {each.source for each in known.ranges}
    names = {(each.source.topic, each.destination.topic) for each in known.ranges}
    new = {
        draft.source_partition
        for draft in wanted
        if draft.source_partition not in partitions
        and draft.committed is None
        and (draft.source_partition.topic, draft.partition.topic) in names
    }
    if not new:
        return list(wanted), []
    more = f" ({counted(len(new) - 1, 'more new partition')})" if len(new) > 1 else ""
    if not known.is_done and on_uncommitted is not OnUncommitted.IGNORE:
        raise CopyOutdated(
            f"the partition was added since the copy was planned{more}",
            cluster=str(source),
            why=f"{option_name('on_uncommitted')} is {on_uncommitted}, and the copy knows nothing of the partition",
            remedy=f"set {option_name('on_uncommitted')} to {OnUncommitted.IGNORE}, which leaves the new partitions alone, and "
            f"run once more with {on_uncommitted} when everything is copied and before consumers start; or {begin_anew()}",
            **min(new)._asdict(),
        )
    text = f"{min(new)} was added at the source since the copy was planned{more}: it is left alone, and not copied."
    return [draft for draft in wanted if draft.source_partition not in new], [Note(NoteKind.SOURCE_GROWN, text)]


def growth(known: Backlog, bounds: SourceBounds, source: Connection, allowed: bool) -> list[Note]:
    """A note if producers have written after the ends that the copy has fixed, or to partitions that were added since.

    Groups that are set to the copied records never get these, because nothing copies them later. bounds: of every partition
    that the source's topics have now. Raises Refused unless it is allowed.
    """
    ends = {each.source: each.end for each in known.ranges}
    grown = {
        partition: count
        for partition, log in bounds.items()
        if (count := log.high_watermark - ends.get(partition, log.log_start)) > 0
    }
    if not grown:
        return []
    first = min(grown)
    said = f"{first} has grown by {counted(grown[first], 'offset')} since the copy was planned"
    if len(grown) > 1:
        said += f", {len(grown):,} partitions altogether"
    if not allowed:
        raise RecordsUnreachable(
            said,
            cluster=str(source),
            why="what came later is not copied, and groups that are set now would never get it",
            remedy=f"stop the producers. Then set {option_name('live')} to go on without these records, and let the producers "
            "send them again, or another tool copy them: each partition from its `end` in the copy file on, and all of one "
            f"that is not there. Or, to copy all of it, {begin_anew()}",
        )
    return [Note(NoteKind.SOURCE_GROWN, f"{said}: what came later is not copied.")]


def _difference(ranges_of: t.Mapping[TopicPartition, BacklogRange], wanted: t.Iterable[Draft]) -> str | None:
    """The first commit that cannot have been there when the copy was planned: its file tells where groups stood, not which."""
    boundaries = {partition: frozenset(known.boundaries) for partition, known in ranges_of.items()}
    for draft in wanted:
        backlog_range = ranges_of.get(draft.source_partition)
        if draft.committed is None:
            continue
        if backlog_range is None:
            return f"{draft.source_group} has committed {draft.source_partition}, which was not planned"
        is_within = backlog_range.start <= draft.offset < backlog_range.end
        if is_within and draft.offset not in boundaries[draft.source_partition]:
            return (
                f"{draft.source_group} has committed {draft.offset} on {draft.source_partition}; no group "
                "had this offset when the copy was planned"
            )
    return None


def _check_names(wanted: t.Iterable[Draft]) -> None:
    """Two topics in one would mix their records, and no group could stand between those of one and the other."""
    sources: dict[str, str] = {}
    for draft in wanted:
        source_topic, destination_topic = draft.source_partition.topic, draft.partition.topic
        if sources.setdefault(destination_topic, source_topic) != source_topic:
            raise InvalidInput(
                f"two topics would be copied into one: {sources[destination_topic]} and {source_topic} both become "
                f"{destination_topic}",
                remedy=f"correct {option_name('topic_map')}",
            )


def _name(source_id: str, destination_id: str, snapshot: Snapshot, ranges: t.Iterable[BacklogRange]) -> str:
    """The same for the same copy, so that one whose file is lost is recognised by its progress groups."""
    text = "\n".join(
        [source_id, destination_id, snapshot.digest(), *(f"{each.source} {each.destination}" for each in ranges)]
    )
    return f"streamshift-copy-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
