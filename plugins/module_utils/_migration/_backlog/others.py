# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Whether anybody but a copy uses its topics: another copy, groups with committed offsets, whoever has written records."""

from __future__ import annotations

import typing as t

from ..._control import groups, positions, storage, topics
from ..._control.positions import Bounds
from ..._model.backlog import Backlog
from ..._model.connection import Connection
from ..._model.copy_progress import PREFIX, all_groups, is_first_group, progress_from_commits
from ..._model.errors import CopyElsewhere, CopyInUse, NotAuthorized, ProgressLost, Refused
from ..._model.group_state import GroupReading
from ..._model.notes import Note, NoteKind
from ..._model.option_names import option_name, path_option
from ..._model.receipt import Key
from ..._model.records import TopicPartition, every_partition
from ..._model.visible_text import visible_name
from ..._model.wording import first_names, first_of
from ..._records.whole_ranges import RecordCount, count_records
from .copy_state import read_progress

_OTHER_COPY = "let that copy end and its groups consume, or give it up and delete that group; then run again"


def _keep() -> str:
    return f"run without {option_name('remove_topics')}, which keeps the topics; or delete them yourself"


def check_copies(backlog: Backlog, destination: Connection) -> None:
    """Raise Refused where another copy has begun to write one of the partitions, and has not ended."""
    wanted = {each.destination for each in backlog.ranges}
    for name, reading in _other_copies(backlog, destination):
        for partition in sorted(wanted & set(reading.offsets)):
            try:
                progress = progress_from_commits(0, [reading.offsets[partition]])
            except ValueError:
                progress = None
            if progress is None or progress.position < progress.end:
                raise CopyElsewhere(
                    "another copy is under way to this partition" + (f": {progress.run}" if progress else ""),
                    cluster=str(destination),
                    group=name,
                    remedy=_OTHER_COPY,
                    **partition._asdict(),
                )


def other_copies(backlog: Backlog, destination: Connection) -> dict[str, str]:
    """The topics that another copy writes to, too, with its progress group.

    That copy has found their settings suspended, so that it has noted nothing to restore. Its progress is there until each of
    its groups has consumed what it has copied.
    """
    ours = {topic.name for topic in backlog.topics}
    return {
        partition.topic: name
        for name, reading in _other_copies(backlog, destination)
        for partition in reading.offsets
        if partition.topic in ours
    }


def _other_copies(backlog: Backlog, destination: Connection) -> list[tuple[str, GroupReading]]:
    """The first progress group of every other copy to this cluster, by name.

    Also of one whose coordinator moves: brokers would delete what its groups have yet to consume, or two copies write one
    partition.
    """
    names = [each.group for each in groups.list_groups(destination)]
    others = [name for name in names if is_first_group(name) and name not in all_groups(backlog)]
    return sorted(groups.read_groups(destination, others, stable=False).items())


def readers_of_appended(backlog: Backlog, destination: Connection, ours: t.Collection[Key]) -> list[Note]:
    """A note of the groups that have committed offsets of partitions which the copy appends to: they read what is copied.

    And one of those that the user may not describe. ours: what the migration itself sets, to the copied records.
    """
    appended = {each.destination for each in backlog.ranges if each.copies and each.begin > 0}
    if not appended:
        return []
    names = [each.group for each in groups.list_groups(destination) if not each.group.startswith(PREFIX)]
    readings = groups.read_groups(destination, names, stable=False, skip_denied=True)
    reading = [
        f"{visible_name(name)} ({partition}, offset {offsets[partition].offset})"
        for name, offsets in sorted((name, its.offsets) for name, its in readings.items())
        if (partition := min((at for at in appended & offsets.keys() if (name, at) not in ours), default=None))
        is not None
    ]
    text = (
        "The copy appends to topics of which these groups have committed offsets already. They receive what is copied, too, "
        f"even what they have consumed before: {first_of(reading, more='more groups')}. Name another topic in "
        f"{option_name('topic_map')}, or migrate all groups of a topic in one run."
    )
    notes = [Note(NoteKind.REPEATED, text)] if reading else []
    if denied := sorted({*names} - readings.keys()):
        text = (
            "Nobody can tell whether these groups receive what is copied, too, because the user may not describe them: "
            f"{first_names(denied)}."
        )
        notes.append(Note(NoteKind.MEMBERS_UNKNOWN, text))
    return notes


def check_groups(backlog: Backlog, names: t.Collection[str], destination: Connection) -> list[Note]:
    """Raise Refused where another group has committed an offset of one of these topics, or has a member that reads one.

    -> a note of groups whose members brokers do not describe in a form that this understands. Raises NotAuthorized where the
    user may not see every group.
    """
    if not names:
        return []
    readings = _other_groups(backlog, names, destination, f"or {_keep()}")
    for name, reading in readings:
        partition = min((each for each in reading.offsets if each.topic in names), default=None)
        if partition is not None:
            what = f"a group has committed offset {reading.offsets[partition].offset} of it"
            remedy = "roll back what was committed, or delete the group's offsets"
            raise _is_used(destination, what, remedy, group=name, **partition._asdict())
    occupied = [name for name, reading in readings if reading.has_members]
    unknown = []
    for name, subscribed in sorted(groups.subscriptions(destination, occupied).items()):
        if subscribed is None:
            unknown.append(name)
        elif topic := min(subscribed & set(names), default=None):
            what = "a member of the group is subscribed to it"
            raise _is_used(destination, what, "stop the members of the group", group=name, topic=topic)
    if not unknown:
        return []
    text = f"Nobody can tell whether members of these groups read the deleted topics: {first_names(unknown)}."
    return [Note(NoteKind.MEMBERS_UNKNOWN, text)]


def _is_used(destination: Connection, what: str, remedy: str, **place: t.Any) -> Refused:
    return CopyInUse(
        f"the topic was made by this copy, and {what}",
        cluster=str(destination),
        remedy=f"{remedy}; or {_keep()}",
        **place,
    )


def check_waiting(backlog: Backlog, names: t.Collection[str], destination: Connection) -> None:
    """Raise Refused where a group has yet to consume what was copied to one of these topics, as far as commits tell.

    For where no plan names the groups. Where the progress is gone, everything up to the end of the log may be copied.
    Raises NotAuthorized where the user may not see every group.
    """
    begins = {each.destination: each.begin for each in backlog.ranges if each.destination.topic in names}
    if not begins:
        return
    copied = _copied(backlog, destination)
    bounds = positions.partition_bounds(destination, [each for each in begins if copied[each] is None])
    ends = {}
    for partition, begin in begins.items():
        wrote = copied[partition]
        last = bounds[partition].high_watermark - 1 if wrote is None else wrote.last
        ends[partition] = begin if last is None else last + 1
    instead = f"or correct {path_option()}, so that the plan of the finished copy is found"
    for name, reading in _other_groups(backlog, names, destination, instead):
        if name.startswith(PREFIX):  # another copy's progress, whose offsets are the source's
            continue
        for partition in sorted(begins.keys() & reading.offsets.keys()):
            committed = reading.offsets[partition].offset
            if begins[partition] <= committed < ends[partition]:
                raise has_to_consume(destination, name, partition, committed, "or delete its offsets of the topic")


def has_to_consume(
    destination: Connection, group: str, partition: TopicPartition, committed: int, instead: str
) -> Refused:
    """The error for a group that has yet to consume what was copied. instead: what else can be done."""
    what = f"the group has committed offset {committed}, and has yet to consume records that were copied"
    remedy = f"let the group consume them, or roll it back; {instead}"
    return needs_settings(destination, what, remedy, group=group, **partition._asdict())


def needs_settings(destination: Connection, what: str, remedy: str, **place: t.Any) -> Refused:
    """The error for a topic whose settings must stay suspended for whoever this is about."""
    return CopyInUse(
        what,
        cluster=str(destination),
        why="the settings of the topic would be restored, and with its retention, brokers may delete these records",
        remedy=remedy,
        **place,
    )


def _other_groups(
    backlog: Backlog, names: t.Collection[str], destination: Connection, instead: str
) -> list[tuple[str, GroupReading]]:
    """Every group but the copy's, by name. names: of topics, one at least. instead: what else can be done without the right."""
    somewhere = [TopicPartition(min(names), 0)]
    if storage.log_sizes(destination, somewhere) is None:
        raise NotAuthorized(
            "needs ACL CLUSTER DESCRIBE",
            cluster=str(destination),
            why="without it brokers list only some of the groups, and others may have committed offsets of these topics",
            remedy=f"{NotAuthorized.usual_remedy}; {instead}",
        )
    ours = set(all_groups(backlog))
    other_names = [each.group for each in groups.list_groups(destination) if each.group not in ours]
    return sorted(groups.read_groups(destination, other_names, stable=False).items())


def check_records(backlog: Backlog, names: t.Collection[str], destination: Connection, fenced: bool) -> None:
    """Raise Refused where one of these topics, which the copy has made, holds anything but what it has written, or may do so.

    fenced: nobody copies any more, and no transaction of the copy is open; else records in open transactions are not looked at.
    """
    for partition, what in _other_records(backlog, names, destination, fenced):
        raise ProgressLost(
            f"it is not sure that only this copy has written to the topic: {what}",
            cluster=str(destination),
            remedy=_keep(),
            **partition._asdict(),
        )


def _other_records(
    backlog: Backlog, names: t.Collection[str], destination: Connection, fenced: bool
) -> t.Iterator[tuple[TopicPartition, str]]:
    """The partitions that hold something else, or may, and what shows it. Records are read where the bounds show nothing."""
    bounds = _bounds(destination, names)
    copied = _copied(backlog, destination)
    for partition, log in bounds.items():
        wrote = copied.get(partition, RecordCount())
        if wrote is None:
            if log.log_start < log.high_watermark:
                yield partition, "the progress of the copy is gone, and the log holds records"
        elif log.log_start:
            yield partition, f"the log begins at {log.log_start}: records were deleted"
        elif fenced and log.end < log.high_watermark:
            yield partition, f"a transaction is open from offset {log.end} on"
    counts = count_records(destination, {partition: (log.log_start, log.end) for partition, log in bounds.items()})
    for partition in bounds:
        wrote = copied.get(partition) or RecordCount()
        if counts[partition] != wrote:
            yield partition, f"this copy has written {_told(wrote)}, and the log holds {_told(counts[partition])}"
    after = _bounds(destination, names) if fenced else bounds  # transactions that time out move the bounds, too
    for partition in sorted(bounds.keys() | after.keys()):
        if after.get(partition) != bounds.get(partition):
            yield partition, "the log has changed while it was read"


def _bounds(destination: Connection, names: t.Collection[str]) -> dict[TopicPartition, Bounds]:
    """Of every partition that these topics have now."""
    counts = topics.partition_counts(destination, names)
    every = every_partition(counts)
    return positions.partition_bounds(destination, every)


def _copied(backlog: Backlog, destination: Connection) -> dict[TopicPartition, RecordCount | None]:
    """What this copy has written of each partition, by destination partition; None where nobody knows.

    Nothing, while no run has claimed it.
    """
    progress = read_progress(backlog, destination, stable=False)
    written: dict[TopicPartition, RecordCount | None] = {}
    for backlog_range in backlog.ranges:
        known = progress.get(backlog_range.destination)
        done = backlog_range.done or (known.done() if known else None)
        if done is not None:
            written[backlog_range.destination] = RecordCount(done.records, None if done.next is None else done.next - 1)
        else:
            written[backlog_range.destination] = None if backlog_range.copies and backlog.claimed else RecordCount()
    return written


def _told(count: RecordCount) -> str:
    return f"{count.records:,} records" + (f", the last one at offset {count.last}" if count.last is not None else "")
