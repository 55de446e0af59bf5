# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Use case: MirrorMaker 2 goes on after the last record that Replicator has copied, and back again by the receipt."""

from __future__ import annotations

import dataclasses
import time
import typing as t

from ..._control import positions, topics
from ..._model.choosing import Holder
from ..._model.cluster_identity import ClusterIdentity
from ..._model.connect_receipt import ConnectEntry, ConnectReceipt
from ..._model.connection import Connection
from ..._model.errors import NothingSelected, OptionRefused, PositionsMoved, PositionsUnclear
from ..._model.left_out import partitions_text
from ..._model.notes import Note, NoteKind, excluded
from ..._model.option_names import another_directory, option_name
from ..._model.policies import OnMisplaced, OnRewind
from ..._model.records import TopicPartition, every_partition
from ..._model.replication_policy import HEARTBEATS, ReplicationPolicy
from ..._model.selection import Selected, Selection, all_excluded
from ..._model.wording import counted, first_of
from ..file_clusters import check_cluster, keeps_rollback
from .replicator import Offsets, Replicator, read_positions
from .still_copying import IDLE_WAIT, Look, check_rests
from .stores import Misplaced, Store, check_read_back, check_stopped

Save = t.Callable[[ConnectReceipt], None]


@dataclasses.dataclass(frozen=True, slots=True)
class Handover:
    """What is handed over, between which clusters.

    on_misplaced: fail, or remove keys that mislead the new connector. on_rewind: fail, keep or rewind where it stands after
    Replicator's position already.
    """

    source: Connection
    destination: Connection
    replicator: Replicator
    policy: ReplicationPolicy
    selection: Selection
    on_misplaced: OnMisplaced = OnMisplaced.FAIL
    on_rewind: OnRewind = OnRewind.FAIL


@dataclasses.dataclass(frozen=True, slots=True)
class HandoverOutcome:
    """before, after: what is stored of every partition concerned, None for nothing. written: how many were changed.

    misplaced: the keys that were removed, by the partition of the topic. notes: what the user should know.
    """

    before: dict[TopicPartition, int | None]
    after: dict[TopicPartition, int | None]
    written: int
    misplaced: tuple[tuple[TopicPartition, bytes], ...] = ()
    notes: tuple[Note, ...] = ()


def receipt_of(store: Store, destination: Connection, known: ConnectReceipt | None) -> ConnectReceipt:
    """The receipt of earlier runs, or one without entries. Raises Refused for a receipt of anything else than this store."""
    blank = ConnectReceipt(topics.cluster_id(destination), str(store), store.connector, store.source_alias)
    if known is None:
        return blank
    check_cluster("receipt", ClusterIdentity(known.cluster_id), destination, keeps_rollback())
    if dataclasses.replace(known, cluster_id=blank.cluster_id, entries=()) != blank:
        raise OptionRefused(
            f"the receipt is of {known.connector} in {known.store}, and this is {blank.connector} in {blank.store}",
            remedy=f"correct {option_name('replication_policy')}, {option_name('connector')}, {option_name('method')} or "
            f"{option_name('offsets_topic')}; or {another_directory()} for another connector, because the rollback of the "
            "earlier run needs this file",
        )
    return known


def hand_over(task: Handover, store: Store, receipt: ConnectReceipt, save: Save | None) -> HandoverOutcome:
    """Store Replicator's positions for the new connector and read them back. Raises Refused before anything is written.

    receipt: that of receipt_of(). save: writes the receipt, before the first write and after the last; None predicts only.
    """
    task.selection.check_words()
    task = dataclasses.replace(task, selection=_of_copies(task.selection))
    notes = [*_check_stopped(task, store)]
    told = read_positions(task.source, task.replicator, notes)
    holder = Holder("among those of which a position is known", str(task.replicator.connection))
    partitions = sorted({*told.stored, *told.of_group})
    selected, left_out = _selected(task.selection, partitions, holder)
    notes += left_out
    chosen = _copied_on(task, [partition for partition in partitions if selected.has(partition.topic)], notes)
    notes += told.compared(task.source, task.replicator, chosen)
    offsets = {partition: told.known[partition] for partition in chosen}
    stored = store.read()
    notes += [*stored.notes, *_without_position(task.source, offsets, stored.offsets)]
    _check_misplaced(store, stored.misplaced, task.on_misplaced)
    before = {partition: stored.offsets.get(partition) for partition in offsets}
    known, receipt = receipt, receipt.confirmed(stored.offsets)
    after = _after(task.on_rewind, offsets, stored.offsets, receipt)
    changes = {at: offset for at, offset in after.items() if offset is not None and before[at] != offset}
    look = Look(offsets, _check(task, changes, notes))
    notes += _look_again(task, store, look) if changes else []
    done = HandoverOutcome(before, after, len(changes), stored.misplaced, tuple(notes))
    if save is not None and (changes or stored.misplaced):
        earlier = receipt.by_partition()
        prepared = receipt.merged(
            _entry(partition, offset, before[partition], earlier.get(partition))
            for partition, offset in changes.items()
        )
        save(prepared)
        store.write(changes, stored.misplaced)
        save(prepared.confirmed(check_read_back(store, changes)))
    elif save is not None and receipt != known:
        save(receipt)
    return done


def _check_stopped(task: Handover, store: Store) -> tuple[Note, ...]:
    """Raise GroupBusy, or what the store raises, where the old or the new connector runs. -> what the user should know."""
    notes = store.check()
    check_stopped(task.source, [task.replicator.group])
    check_stopped(task.replicator.connection, task.replicator.worker_groups)
    return notes


def _check_misplaced(store: Store, misplaced: Misplaced, on_misplaced: OnMisplaced) -> None:
    """Raise where keys mislead the connector, and must not be removed, or cannot be."""
    if misplaced and on_misplaced is OnMisplaced.FAIL:
        partition, key = misplaced[0]
        raise PositionsUnclear(
            f"Connect cannot use {counted(len(misplaced), 'key')} of the connector (in a partition where "
            f"it does not look, or without an offset); the first is {key!r}",
            **partition._asdict(),
            why="Connect may take either of two values of one key, and its task fails on a value that is not an offset",
            remedy=f"set {option_name('on_misplaced')} to remove",
        )
    if misplaced:
        store.check_removal(misplaced)


def take_back(
    store: Store, receipt: ConnectReceipt, selection: Selection, on_misplaced: OnMisplaced, save: Save | None
) -> HandoverOutcome:
    """Store what was there before the hand-over of the selected topics of the receipt, nothing included.

    Raises Refused before anything is written. Keys that mislead the connector matter only where something is written.
    """
    selection.check_words()
    # What is in the receipt was handed over on purpose: only the user's own patterns leave something out.
    selected, left_out = _selected(selection, receipt.by_partition(), Holder("in the receipt"))
    notes = (*store.check(), *left_out)
    stored = store.read()
    concerned = {entry.partition: entry for entry in receipt.entries if selected.has(entry.partition.topic)}
    before = {partition: stored.offsets.get(partition) for partition in concerned}
    for partition, entry in concerned.items():
        if entry.written is not None and before[partition] not in (entry.written, entry.after, entry.before):
            raise PositionsMoved(
                f"{partition} has {before[partition]}, and {entry.written} was written: it was copied since, or set back",
                why="what was copied since then would be recopied",
                remedy="keep it: MirrorMaker 2 goes on from there",
            )
    after = {  # what was taken back already belongs to the connector
        partition: before[partition] if entry.written is None else entry.before
        for partition, entry in concerned.items()
    }
    changes = {partition: offset for partition, offset in after.items() if before[partition] != offset}
    misplaced = stored.misplaced if changes else ()
    _check_misplaced(store, misplaced, on_misplaced)
    cleared = receipt.merged(
        entry._replace(written=None, after=entry.before) for entry in concerned.values() if entry.written is not None
    )
    if save is not None and cleared != receipt:  # also after a run that was killed before it has saved
        if changes:  # until it is known that they are stored, they do not count as copied since
            save(receipt.merged(concerned[partition].undoing() for partition in changes))
            store.write(changes, misplaced)
            check_read_back(store, changes)
        save(cleared)
    return HandoverOutcome(before, after, len(changes), misplaced, notes)


def _entry(partition: TopicPartition, offset: int, stored: int | None, earlier: ConnectEntry | None) -> ConnectEntry:
    """What the receipt holds of a position before it is written. stored: what stands there."""
    if earlier is None or earlier.written is None or earlier.is_replaced(stored):
        return ConnectEntry(partition, stored, offset, None)
    return earlier._replace(written=offset)


def _selected(
    selection: Selection, partitions: t.Iterable[TopicPartition], holder: Holder
) -> tuple[Selected, list[Note]]:
    """The selected topics of these partitions, and notes of the others. Raises NotFound or InvalidInput, as the holder does."""
    known = {partition.topic for partition in partitions}
    chosen = selection.select_topics(known, only_own=True)
    holder.check_named("topic", selection.topics, known)
    holder.check_matched("topic", selection.topic_patterns, known, chosen)
    return chosen, [*excluded(topics=chosen.left_out), *selection.unused("topics", known, holder.place)]


def _of_copies(selection: Selection) -> Selection:
    """With the patterns that apply: the user's own, and heartbeats, which MirrorMaker 2 fills itself.

    What Replicator has a position for was copied on purpose. What MirrorMaker 2 does not copy is left out by _copied_on().
    """
    excluded = all_excluded(selection.exclude_topic_patterns, (HEARTBEATS,))
    return dataclasses.replace(selection, exclude_topic_patterns=excluded)


def _copied_on(task: Handover, partitions: list[TopicPartition], notes: list[Note]) -> list[TopicPartition]:
    """Those that the source has, and that MirrorMaker 2 may copy; notes name the others. One that the user names stays.

    Connect keeps positions of deleted topics for ever, also of one that was created again with fewer partitions. Raises
    InvalidInput where none is left.
    """
    counts = topics.partition_counts(task.source, {partition.topic for partition in partitions})
    named = {topic for topic in task.selection.topics if topic not in counts}
    never = [each for each in partitions if task.policy.never_copies(each.topic)]
    gone = [each for each in partitions if each.partition >= counts.get(each.topic, 0) and each.topic not in named]
    reasons = {
        "MirrorMaker 2 never copies topics of these names": never,
        "the source does not have them any more": sorted({*gone} - {*never}),
    }
    texts = [
        f"Left out, because {why}: {counted(len(left_out), 'position')}, of {partitions_text(left_out)}."
        for why, left_out in reasons.items()
        if left_out
    ]
    notes += [Note(NoteKind.EXCLUDED, text) for text in texts]
    left = sorted({*partitions} - {*never} - {*gone})
    if not left:
        raise NothingSelected(
            "nothing is left to hand over",
            cluster=str(task.source),
            why=" ".join(texts).removesuffix("."),
            remedy="correct the clusters and the selection",
        )
    if doubtful := [each for each in left if task.policy.may_not_copy(each.topic)]:
        text = (
            "MirrorMaker 2 without KIP-1074 copies no topic whose name ends with internal, whatever its settings are: see that "
            f"yours copies {partitions_text(doubtful)}."
        )
        notes.append(Note(NoteKind.NOT_TOLD, text))
    return left


def _without_position(source: Connection, offsets: Offsets, stored: Offsets) -> list[Note]:
    """A note of the partitions that are copied from their start: they hold records, and no position is known or stored."""
    counts = topics.partition_counts(source, {partition.topic for partition in offsets})
    unknown = set(every_partition(counts)) - offsets.keys() - stored.keys()
    bounds = positions.partition_bounds(source, unknown) if unknown else {}
    filled = sorted(partition for partition, log in bounds.items() if log.high_watermark > log.log_start)
    text = (
        f"No position is known of {partitions_text(filled)}: MirrorMaker 2 copies them from their start, and again what "
        "is copied of them already."
    )
    return [Note(NoteKind.POSITION_MISSING, text)] if filled else []


def _after(
    on_rewind: OnRewind, offsets: Offsets, stored: Offsets, receipt: ConnectReceipt
) -> dict[TopicPartition, int | None]:
    """What is to be stored. Whoever has gone on after what was handed over, by the receipt, keeps its position.

    Whoever was set back after it is set forward again only if asked for: it would leave out what it was to copy again.
    """
    earlier = {
        at: entry for at, entry in receipt.by_partition().items() if at in offsets and entry.written == offsets[at]
    }
    ahead = {at: stored[at] for at, offset in offsets.items() if stored.get(at, -1) > offset}
    gone_on = {at: now for at, now in ahead.items() if at in earlier and not earlier[at].is_pending(now)}
    set_back = {
        at: stored.get(at)
        for at, entry in earlier.items()
        if entry.after == entry.written and stored.get(at, -1) < offsets[at]
    }
    doubtful = sorted(ahead.keys() - gone_on.keys() | set_back.keys())
    match on_rewind:
        case OnRewind.REWIND:
            return {**offsets, **gone_on}
        case OnRewind.KEEP:
            return {**offsets, **ahead, **set_back}
        case OnRewind.FAIL:
            if not doubtful:
                return {**offsets, **gone_on}
        case _:
            t.assert_never(on_rewind)
    partition = doubtful[0]
    what, why = "is stored already", "whatever MirrorMaker 2 has copied after Replicator's position would be recopied"
    remedy = f"set {option_name('on_rewind')} to keep what is stored, or to rewind where it is wrong"
    if partition in set_back:
        what = "is stored instead of what an earlier hand-over has stored"
        why = "what MirrorMaker 2 was set back to copy again would be left out"
        remedy = (
            f"set {option_name('on_rewind')} to keep to let it copy that again, or to rewind to store Replicator's position "
            "again"
        )
    raise PositionsMoved(
        f"{partition}: {stored.get(partition, 'nothing')} {what}, and Replicator has copied up to {offsets[partition]}"
        + (f" ({len(doubtful):,} partitions differ)" if doubtful[1:] else ""),
        why=why,
        remedy=remedy,
    )


def _look_again(task: Handover, store: Store, first: Look) -> list[Note]:
    """What shows that Replicator still copies, or that the new connector was started meanwhile; see check_rests()."""
    time.sleep(IDLE_WAIT)
    _check_stopped(task, store)
    now = read_positions(task.source, task.replicator, []).known
    copies = {at: at._replace(topic=task.policy.topic(at.topic)) for at in first.ends}
    ends = positions.log_ends(task.destination, copies.values())
    second = Look(now, {at: ends[copy] for at, copy in copies.items()})
    source_ends = positions.log_ends(task.source, copies)
    return check_rests(task.replicator, str(task.destination), task.policy, first, second, source_ends)


def _check(task: Handover, offsets: Offsets, notes: list[Note]) -> dict[TopicPartition, int]:
    """Where the copies end, by the source's partition. Raises Refused that lists all positions that cannot be continued.

    It begins at the start of the log, without a word, where a position is out of range, and trusts any other. After the end,
    that copies everything again. Before the start, it is all that can be done, and notes says so.
    """
    policy = task.policy
    source_counts = topics.partition_counts(task.source, {partition.topic for partition in offsets})
    destination_counts = topics.partition_counts(
        task.destination, {policy.topic(partition.topic) for partition in offsets}
    )
    lines = []
    copies: dict[TopicPartition, TopicPartition] = {}
    for partition in offsets:
        copy = TopicPartition(policy.topic(partition.topic), partition.partition)
        if partition.partition >= source_counts.get(partition.topic, 0):
            lines.append(f"{partition} does not exist at the source")
        elif partition.partition >= destination_counts.get(copy.topic, 0):
            lines.append(f"{copy}, the copy of {partition}, does not exist at the destination")
        else:
            copies[partition] = copy
    copy_ends = positions.log_ends(task.destination, copies.values())
    expired = []
    for partition, log in positions.partition_bounds(task.source, list(copies)).items():
        offset, copy = offsets[partition], copies[partition]
        if offset > log.high_watermark - 1:
            lines.append(
                f"{partition}: position {offset} is after the source's last offset {log.high_watermark - 1}; "
                "MirrorMaker 2 would copy the partition again from its start"
            )
        elif offset >= log.log_start and not copy_ends[copy]:  # retention does not lower the end
            lines.append(
                f"{copy} has never held a record, although {partition} was copied up to {offset}: the destination "
                "is another one than Replicator's, or the topic was created again; MirrorMaker 2 would leave these records out"
            )
        elif offset < log.log_start - 1:
            expired.append(f"{partition} from {offset + 1} to {log.log_start - 1}")
    if expired:
        text = (
            f"Offsets after the position have expired at the source: {first_of(sorted(expired))}. MirrorMaker 2 goes on "
            "at the start of the log. Records among them that were not copied are lost."
        )
        notes.append(Note(NoteKind.RECORDS_EXPIRED, text))
    if lines:
        raise PositionsUnclear(
            f"{counted(len(lines), 'position')} cannot be continued: {first_of(sorted(lines), 10, between='; ')}",
            remedy=f"correct what the message lists, or leave topics out with {option_name('exclude_topic_patterns')}",
        )
    return {partition: copy_ends[copy] for partition, copy in copies.items()}
