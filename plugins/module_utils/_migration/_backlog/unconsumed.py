# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which records of each partition groups have not consumed, and where the destination's logs end before these come."""

from __future__ import annotations

import time
import typing as t

from ..._control import positions
from ..._control.positions import Bounds
from ..._model.backlog import BacklogRange
from ..._model.connection import Connection
from ..._model.errors import MigrationError, RecordsUnreachable, TopicNotEmpty
from ..._model.faults import raise_any
from ..._model.notes import Note, NoteKind
from ..._model.option_names import option_name
from ..._model.policies import OnUncommitted
from ..._model.records import TopicPartition
from ..._model.verdicts import BEFORE_LOSS
from ..._model.wording import counted, first_of
from ..cut_logs import cut_off
from ..drafts import Draft


def quiet_bounds(
    source: Connection, partitions: t.Collection[TopicPartition], idle_wait: float | None
) -> dict[TopicPartition, Bounds]:
    """Where the logs begin and end, once nobody writes them any more.

    idle_wait: seconds between two looks, which must show the same; None for one look at what may still be written.
    Raises Refused.
    """
    first = positions.partition_bounds(source, partitions)
    if idle_wait is None or not partitions:
        return first
    time.sleep(idle_wait)
    second = positions.partition_bounds(source, partitions)
    for partition, log in sorted(second.items()):
        if log.high_watermark != first[partition].high_watermark:
            what = f"the log grows: from {first[partition].high_watermark} to {log.high_watermark} in {idle_wait:g} s"
            why = "what is written from now on would not be copied"
            remedy = f"stop the producers, or set {option_name('live')} to copy what is there now and leave the rest"
        elif log.end != log.high_watermark:
            what = f"a transaction is open: the log ends at {log.high_watermark}, and is stable up to {log.end}"
            why = "a copy ends where the first open transaction begins"
            remedy = (
                "stop the producers, and wait until the transaction ends (kafka-transactions.sh ends that of a producer that "
                f"has died). With {option_name('live')}, what follows offset {log.end} is not copied, even if it is committed"
            )
        else:
            continue
        raise RecordsUnreachable(what, cluster=str(source), why=why, remedy=remedy, **partition._asdict())
    return second


def after_transactions(
    wanted: t.Collection[Draft], bounds: t.Mapping[TopicPartition, Bounds], on_uncommitted: OnUncommitted
) -> list[Note]:
    """A note of the partitions where the copy ends before an open transaction, though groups have not consumed what follows.

    Also of the groups that have consumed some of that already.
    """
    stands = on_uncommitted != OnUncommitted.IGNORE
    needed = {draft.source_partition for draft in wanted if stands or draft.committed is not None}
    named = [
        f"{partition} ({counted(log.high_watermark - log.end, 'offset')} from {log.end} on)"
        for partition in sorted(needed)
        if (log := bounds[partition]).end < log.high_watermark
    ]
    text = (
        "Transactions are open at the source, and what follows their first record is not copied, what others have committed "
        f"included: {first_of(named, more='more partitions')}. To copy that, too, end the transactions "
        f"(kafka-transactions.sh), and plan the copy without {option_name('live')}."
    )
    ahead = [
        f"{draft.source_group} ({draft.source_partition}: {draft.offset})"
        for draft in wanted
        if draft.committed is not None and draft.offset > bounds[draft.source_partition].end
    ]
    if ahead:
        text += f" Groups that read uncommitted records have consumed some of it, and go on after the copy: {first_of(ahead)}."
    return [Note(NoteKind.SOURCE_GROWN, text)] if named else []


def open_ranges(
    wanted: t.Iterable[Draft],
    bounds: t.Mapping[TopicPartition, Bounds],
    source: Connection,
    on_uncommitted: OnUncommitted,
) -> list[BacklogRange]:
    """For each partition the range from the first group's offset to the end, without the destination's ends."""
    wanted = list(wanted)
    raise_any(
        RecordsUnreachable(what, cluster=str(source), group=group, **partition._asdict())
        for (group, partition), what in cut_off(source, wanted).items()
    )
    offsets_of: dict[TopicPartition, set[int]] = {}
    names: dict[TopicPartition, TopicPartition] = {}
    for draft in wanted:
        log = bounds[draft.source_partition]
        offset = standing(draft, log.log_start, log.end, on_uncommitted)
        names[draft.source_partition] = draft.partition
        partition_offsets = offsets_of.setdefault(draft.source_partition, set())
        if offset is None:
            continue
        if offset > log.high_watermark:
            raise RecordsUnreachable(
                f"offset {offset} is committed, and the log ends at {log.high_watermark}",
                cluster=str(source),
                group=draft.source_group,
                why="the topic was recreated or truncated",
                remedy=f"leave the group or the topic out, or reset the group {BEFORE_LOSS}",
                **draft.source_partition._asdict(),
            )
        # A read_uncommitted group may have consumed some of an open transaction, before which the copy ends.
        partition_offsets.add(min(max(offset, log.log_start), log.end))
    ranges = []
    for partition, offsets in sorted(offsets_of.items()):
        end = bounds[partition].end
        start = min(offsets, default=end)
        boundaries = tuple(sorted(offset for offset in offsets if offset < end))
        ranges.append(BacklogRange(partition, start, end, names[partition], 0, boundaries))
    return ranges


def standing(draft: Draft, start: int, end: int, on_uncommitted: OnUncommitted) -> int | None:
    """Where a group stands at the source, or is to stand by policy where it has committed nothing; None for nowhere."""
    if draft.committed is not None:
        return draft.offset
    match on_uncommitted:
        case OnUncommitted.IGNORE:
            return None
        case OnUncommitted.START:
            return start
        case OnUncommitted.END:
            return end
        case _:
            t.assert_never(on_uncommitted)


def ends(
    destination: Connection, ranges: t.Sequence[BacklogRange], existing: t.Collection[str], append: bool
) -> dict[TopicPartition, int]:
    """Where the destination's logs end now; 0 in topics that are still to be made."""
    partitions = [each.destination for each in ranges if each.destination.topic in existing]
    bounds = positions.partition_bounds(destination, partitions) if partitions else {}
    for partition, log in sorted(bounds.items()):
        if log.log_start < log.high_watermark and not append:
            raise TopicNotEmpty(
                f"the topic is not empty: it has offsets {log.log_start} to {log.high_watermark}",
                cluster=str(destination),
                why="groups cannot distinguish copied records from existing ones",
                remedy=f"name another topic in {option_name('topic_map')}, or set {option_name('append')} to write after what "
                "is there, which the groups then skip. Empty this one only if nobody needs its records",
                **partition._asdict(),
            )
    return {each.destination: bounds[each.destination].end if each.destination in bounds else 0 for each in ranges}


def zero_times(source: Connection, backlog_ranges: t.Iterable[BacklogRange]) -> list[Note]:
    """A note of unconsumed records with the timestamp 0, which nobody can write, and about how many there are.

    As far as look-ups tell: of records that are not in the order of their times, some are not found.
    """
    ranges = sorted((each for each in backlog_ranges if each.copies), key=lambda each: each.source)
    asked = [(each.source, time) for each in ranges for time in (0, 1)]
    try:
        told = positions.lookup_all_times(source, asked, set())
    except MigrationError:  # this is a hint, and no reason to end a copy
        return []
    named = []
    for backlog_range in ranges:
        first, later = (told.get((backlog_range.source, time)) for time in (0, 1))
        end = backlog_range.end if later is None else min(later, backlog_range.end)
        if first is not None and first < end and backlog_range.start < end:
            named.append(f"{backlog_range.source} (up to {counted(end - max(first, backlog_range.start), 'record')})")
    text = (
        "Records with the timestamp 0 cannot be written so, and would have 1 (ms) at the destination: "
        f"{first_of(named, more='more partitions')}."
    )
    return [Note(NoteKind.TIMESTAMP_CHANGED, text)] if named else []
