# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Without the source, as in a disaster: MirrorMaker 2's own checkpoints, which lose nothing and repeat some."""

from __future__ import annotations

import typing as t

from ..._control import clusters, positions
from ..._control.positions import Bounds
from ..._model.choosing import Holder
from ..._model.connection import Connection
from ..._model.errors import TopicUnsuitable
from ..._model.group_state import CommittedOffset
from ..._model.grouping import values_by_key
from ..._model.mapping import Mapping
from ..._model.mirror_records import Checkpoint, CheckpointKey
from ..._model.notes import Note, NoteKind
from ..._model.option_names import option_name
from ..._model.plan import Plan, PlanEntry
from ..._model.policies import OnUncommitted
from ..._model.receipt import Receipt
from ..._model.record_sum import Bound
from ..._model.records import TopicPartition
from ..._model.replication_policy import ReplicationPolicy
from ..._model.selection import Selection
from ..._model.snapshot import Snapshot, SnapshotEntry
from ..._model.verdicts import Reason, Verdict
from ..._model.visible_text import names_text
from ..._model.wording import counted, first_of
from .. import drafts, not_taken
from ..drafts import Draft
from ..expected import with_expected
from .mirror_index import forgetful, highest_checkpoint, read_checkpoints, read_offset_syncs, without_checkpoints
from .strategy import Translation, lost_notes

_UNKNOWN = ""  # the source's id, which nobody can be asked for


def plan_from_checkpoints(
    destination: Connection,
    policy: ReplicationPolicy,
    selection: Selection,
    mapping: Mapping,
    on_uncommitted: OnUncommitted,
    previous: Plan | None = None,
    receipt: Receipt | None = None,
) -> Translation:
    """The plan of these groups, where their checkpoints say.

    on_uncommitted: what to do for partitions of a topic of which the group has checkpoints of others only.
    Raises NotFound for a group that has no checkpoint, InvalidInput for patterns that match none, Refused where one may be
    missing and the group would skip records.
    """
    selection.check()
    unread: list[Note] = []
    checkpoints = read_checkpoints(destination, policy.checkpoints.name, unread)
    if checkpoints is None:
        raise without_checkpoints(destination, policy.checkpoints.name)
    unread += forgetful(destination, policy.checkpoints.name)
    chosen, left_out, lines = _selected(checkpoints, destination, policy, selection, mapping, unread)
    consumed = (
        SnapshotEntry(key.group, partition, CommittedOffset(checkpoint.source, checkpoint.metadata))
        for key, (partition, checkpoint) in sorted(chosen.items())
    )
    snapshot = Snapshot(None, (), tuple(consumed))
    wanted = drafts.from_snapshot(snapshot, mapping)
    targets = {(key.group, partition): checkpoint.target for key, (partition, checkpoint) in chosen.items()}
    at_destination = clusters.look_at(destination, {draft.partition.topic for draft in wanted})
    counts = at_destination.traits.counts
    of_source = {draft.source_partition.topic: counts.get(draft.partition.topic, 0) for draft in wanted}
    wanted = drafts.with_uncommitted(wanted, of_source)
    lacking = [f"{draft.group} {draft.partition}" for draft in wanted if draft.committed is None]
    if unread and lacking and on_uncommitted is OnUncommitted.END:
        raise TopicUnsuitable(
            f"checkpoints may be missing, and these groups would skip all records of the partition: {first_of(lacking)}",
            cluster=str(destination),
            topic=policy.checkpoints.name,
            why=_texts(unread),
            remedy=f"set {option_name('on_uncommitted')} to start, which skips none, or to ignore",
        )
    existing = {draft.partition for draft in wanted if draft.partition.partition < counts.get(draft.partition.topic, 0)}
    bounds = positions.partition_bounds(destination, existing)
    cluster, topic = policy.offset_syncs  # with those at the source, nobody can see how checkpoints were made
    syncs = (read_offset_syncs(destination, topic, unread) if cluster == "target" else None) or {}
    entries: list[PlanEntry] = []
    for draft in wanted:
        if draft.committed is None:
            log = bounds[draft.partition]
            entries.append(draft.uncommitted(on_uncommitted, log.log_start, log.end, "no checkpoint"))
        else:
            target = targets[draft.source_group, draft.source_partition]
            highest = highest_checkpoint(syncs.get(draft.source_partition, ()), draft.offset)
            entries.append(_entry(draft, target, highest, bounds.get(draft.partition)))
    cluster_id, traits = at_destination
    plan = Plan(_UNKNOWN, cluster_id, snapshot.digest(), tuple(entries), destination_traits=traits)
    return Translation(
        with_expected(plan, destination, previous, receipt),
        index={"checkpoints": len(checkpoints), "syncs": sum(map(len, syncs.values()))},
        notes=(*unread, *_notes(entries, left_out, previous), *lost_notes(plan)),
        not_taken=tuple(lines),
    )


def _notes(entries: t.Sequence[PlanEntry], left_out: t.Sequence[Note], previous: Plan | None) -> list[Note]:
    notes = [*left_out]
    alone = [f"{entry.group} {entry.partition}" for entry in entries if entry.verdict is Verdict.UNCOMMITTED]
    if alone:
        text = (
            f"No checkpoint for {', '.join(alone)}: not planned. Without a committed offset, a consumer with "
            f"auto.offset.reset=latest skips records; {option_name('on_uncommitted')}: start skips none."
        )
        notes.append(Note(NoteKind.UNCOMMITTED, text))
    planned = {entry.group for entry in entries}
    gone = sorted({entry.group for entry in previous.entries} - planned) if previous else []
    if gone:
        text = f"Groups of the earlier plan that have no checkpoint stay where they are: {names_text(gone)}."
        notes.append(Note(NoteKind.CHECKPOINT_MISSING, text))
    return notes


def _texts(notes: t.Iterable[Note]) -> str:
    return " ".join(note.text for note in notes).rstrip(".")


_Chosen = dict[CheckpointKey, tuple[TopicPartition, Checkpoint]]


def _selected(
    checkpoints: t.Mapping[CheckpointKey, Checkpoint],
    destination: Connection,
    policy: ReplicationPolicy,
    selection: Selection,
    mapping: Mapping,
    unread: t.Iterable[Note],
) -> tuple[_Chosen, t.Sequence[Note], list[str]]:
    """The checkpoints of the selected groups and topics, with the source's partition; notes and lines of what was left out.

    unread: why checkpoints may be missing.
    """
    copied_topics = {key.partition.topic for key in checkpoints}
    # A topic_map beside the policy alone says what the copied topics are called.
    names = (
        mapping.source_topics(copied_topics, selection.topics)
        if mapping.topic_rules
        else {topic: policy.source_topic(topic) for topic in copied_topics}
    )
    of_flow: _Chosen = {}
    for key, checkpoint in checkpoints.items():
        if (source_topic := names.get(key.partition.topic)) is not None:
            of_flow[key] = key.partition._replace(topic=source_topic), checkpoint
    committed = values_by_key((key.group, source) for key, (source, _checkpoint) in of_flow.items())
    holder = Holder(
        f"in the checkpoints topic {policy.checkpoints.name}",
        str(destination),
        f", or correct {option_name('replication_policy')}; MirrorMaker 2 writes no checkpoint for groups that it excludes, "
        "or that have consumed nothing of what it copies",
        why=_texts(unread) or None,
    )
    choice = holder.choose(selection, committed)
    chosen = {key: pair for key, pair in of_flow.items() if choice.has(key.group, pair[0].topic)}
    consumed = {name: committed[name] for name in choice.topics}
    return chosen, choice.notes, not_taken.topic_lines(consumed, choice.topics, selection)


def _entry(draft: Draft, target: int, highest: int | None, bounds: Bounds | None) -> PlanEntry:
    """The checkpoint as an entry. Nobody can tell how far the group had come when the source was lost: to the end at most.

    MirrorMaker 2 before 3.4.1 adds what the group has consumed after an offset-sync, although there may be gaps at the source
    (KAFKA-12468). highest: what later versions do not exceed.
    """
    if bounds is None:
        detail = f"{draft.partition} does not exist at the destination, and there is a checkpoint for it"
        return draft.entry(Verdict.BLOCKED, reason=Reason.TOPIC_MISSING, detail=detail)
    detail = f"MirrorMaker 2's checkpoint, written when the group stood at source offset {draft.offset}"
    if highest is None:
        detail += "; one of MirrorMaker 2 before 3.4.1 may skip records"
    elif target > highest:
        detail += (
            f", says {target}, and may skip records, as MirrorMaker 2 before 3.4.1 does; its offset-sync says {highest}"
        )
        target = highest
    if target > bounds.high_watermark:
        detail = (
            f"the checkpoint says {target}, and the destination ends at {bounds.high_watermark}: "
            "the topic was recreated since, or lost its end"
        )
        return draft.entry(Verdict.BLOCKED, reason=Reason.BEYOND_END, detail=detail)
    offset = max(target, bounds.log_start)
    lost = offset - target
    if lost:
        detail += f"; {target} has expired, and at most {counted(lost, 'record')} that the group may not have consumed with it"
    repeats = bounds.high_watermark - offset
    bound = Bound.AT_MOST if lost else Bound.EXACTLY
    return draft.entry(
        Verdict.SAFE, offset, reason=Reason.CHECKPOINT, repeats=repeats, detail=detail, lost=lost, lost_bound=bound
    )
