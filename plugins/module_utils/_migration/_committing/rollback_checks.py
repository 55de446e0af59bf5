# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What a rollback refuses, because some group would have no offset after it, or one of another log. Pure."""

from __future__ import annotations

import typing as t

from ..._control.positions import Bounds
from ..._control.topics import TopicDescription
from ..._model.errors import FileMissing, HiddenTopic, MigrationError, Refused, StillUsed, TopicRecreated
from ..._model.faults import raise_any
from ..._model.grouping import values_by_key
from ..._model.notes import Note, NoteKind
from ..._model.option_names import option_name
from ..._model.receipt import Key, Origin, ReceiptEntry
from ..._model.records import TopicPartition
from ..._model.visible_text import group_partition, visible_name
from ..._model.wording import MANY_NAMED, first_names, first_of
from . import conflicts
from .conflicts import Target


def check_recreated(wanted: t.Iterable[Key], recreated: t.Mapping[str, str], cluster: str) -> None:
    """Raise Refused where an offset would go into another log than the one that the group stood in.

    recreated: topics that were deleted and created again since the commit, and how that shows.
    """
    raise_any(
        conflicts.entry_refusal(
            key,
            f"the topic was deleted and created again since the commit: {recreated[key[1].topic]}",
            cluster,
            why="what was committed before is an offset of the old topic",
            remedy=f"leave the topic out by {option_name('exclude_topic_patterns')}",
            error=TopicRecreated,
        )
        for key in sorted(wanted)
        if key[1].topic in recreated
    )


def check_old_groups(
    entries: t.Iterable[ReceiptEntry], having: t.Container[str], gone: t.Container[str], cluster: str
) -> None:
    """Raise an error where an offset would be taken from a new group, and its old group has none: nobody would have it then.

    having: the old groups that have committed offsets, or get them back. gone: removed groups that were not made again.
    """
    lacking = values_by_key(
        (entry.group, origin.group)
        for entry in entries
        for origin in entry.origins
        if origin.group not in having and origin.group != entry.group
    )
    raise_any(_without_old(group, sorted({*names}), gone, cluster) for group, names in sorted(lacking.items()))


def _without_old(group: str, names: list[str], gone: t.Container[str], cluster: str) -> MigrationError:
    old = first_names(names)
    leave = f"leave it out of the rollback, and let the consumers go on as {visible_name(group)}"
    error: type[MigrationError] = FileMissing
    lack = "which has none now"
    why = "they have expired, or it was removed, and removed.json does not have it"
    remedy = f"if a rename has removed it, restore removed.json from history/ or from a backup. Otherwise {leave}"
    if all(name in gone for name in names):
        error = StillUsed
        lack = "which is not made again"
        why = f"{old} is in use, or a policy keeps what it has committed since it was removed"
        remedy = (
            f"stop the consumers of {old}, and set {option_name('on_rewind')} to rewind and {option_name('on_advance')} to "
            f"advance to replace what it has committed. Or {leave}"
        )
    return error(
        f"the group got its offsets from {old}, {lack}: after a rollback, neither would have them",
        cluster=cluster,
        group=group,
        why=why,
        remedy=remedy,
    )


def renamed_topics(entries: t.Iterable[ReceiptEntry]) -> set[str]:
    """The topics that a run has given another name, by both names."""
    pairs = {(origin.partition.topic, entry.partition.topic) for entry in entries for origin in entry.origins}
    return {name for old, new in pairs if old != new for name in (old, new)}


def check_old_partitions(
    entries: t.Iterable[ReceiptEntry],
    topics: t.Mapping[str, TopicDescription],
    gone: t.Container[str],
    cluster: str,
) -> None:
    """Raise Refused where an offset would be taken that came from a partition which was deleted since: no group has it then.

    topics: the renamed ones. The ACLs on a deleted topic are often deleted with it, so a denied one may be deleted.
    gone: see check_old_groups().
    """

    def exists(partition: TopicPartition) -> bool:
        return partition.topic in topics and partition.partition < topics[partition.topic].partitions

    raise_any(
        _without_old_partition(entry, origin, topics[origin.partition.topic].error, gone, cluster)
        for entry in entries
        for origin in entry.origins
        if exists(entry.partition) and not exists(origin.partition)
    )


def _without_old_partition(
    entry: ReceiptEntry, origin: Origin, error: str | None, gone: t.Container[str], cluster: str
) -> Refused:
    topic = origin.partition.topic
    groups = dict.fromkeys(each.group for each in entry.origins)  # choose() takes all or none of them
    leave = f"leave {first_of(list(dict.fromkeys(each.partition.topic for each in entry.origins)), MANY_NAMED)} out by "
    leave += option_name("exclude_topic_patterns")
    if any(group in gone for group in groups):  # which are made again with all of their topics
        leave = f"leave {first_names(groups, MANY_NAMED)} out of the rollback"
    remedy = f"{leave}, and let the consumers of {visible_name(entry.group)} go on"
    came = f"the offset came from {group_partition(*origin)}"
    if error == "TOPIC_AUTHORIZATION_FAILED":
        return conflicts.entry_refusal(
            entry.key,
            f"{came}, and the user may not see whether topic {topic} still exists",
            cluster,
            why="if it was deleted, no group would have the offset after a rollback",
            remedy=f"grant the user ACL TOPIC DESCRIBE on {topic}; or {remedy}",
            error=HiddenTopic,
        )
    return conflicts.entry_refusal(
        entry.key,
        f"{came}, which does not exist any more: after a rollback, no group would have it",
        cluster,
        why=f"topic {topic} was deleted since, and {entry.partition.topic} was not",
        remedy=remedy,
        error=TopicRecreated,
    )


def check_bounds(
    wanted: t.Mapping[Key, Target], bounds: t.Mapping[TopicPartition, Bounds], cluster: str, file: str = "the receipt"
) -> list[Note]:
    """A note for each offset that is before the start of its log by now: the group stood there, so it is restored.

    file: the one that has the offsets.

    Raises Refused for an offset after the end of its log, where no group can have stood.
    """
    notes, faults = [], []
    for (group, partition), target in sorted(wanted.items()):
        if target is None:
            continue
        log = bounds[partition]
        if target.offset > log.high_watermark:
            fault = conflicts.entry_refusal(
                (group, partition),
                f"offset {target.offset}, which {file} says was committed before, is after the log's end "
                f"{log.high_watermark}",
                cluster,
                why=f"the topic was recreated or has lost records since, or {file} was changed",
                remedy=f"restore {file} from history/ or from a backup, "
                f"or leave the topic out by {option_name('exclude_topic_patterns')}",
                error=TopicRecreated,
            )
            faults.append(fault)
        if target.offset < log.log_start:
            text = (
                f"{group_partition(group, partition)}: offset {target.offset} is before the log's start {log.log_start} now; "
                "it is restored anyway, and the consumers start according to their auto.offset.reset."
            )
            notes.append(Note(NoteKind.BEFORE_LOG_START, text))
    raise_any(faults)
    return notes
