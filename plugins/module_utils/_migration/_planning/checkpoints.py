# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Without the source, as in a disaster: MirrorMaker 2's own checkpoints, which lose nothing and repeat some."""

from __future__ import annotations

import typing as t

from ..._control import clusters, positions, topics
from ..._control.positions import Bounds
from ..._model.connection import Connection
from ..._model.errors import InvalidInput, MigrationError, NotFound
from ..._model.failure_kinds import FailureKind
from ..._model.faults import raise_any
from ..._model.group_state import CommittedOffset
from ..._model.mapping import Mapping
from ..._model.mirror_records import Checkpoint, CheckpointKey
from ..._model.notes import Note, NoteKind, excluded
from ..._model.option_names import option_name
from ..._model.plan import Plan, PlanEntry
from ..._model.policies import OnUncommitted
from ..._model.receipt import Receipt
from ..._model.records import TopicPartition
from ..._model.replication_policy import ReplicationPolicy
from ..._model.selection import Selection, unused_cause
from ..._model.snapshot import Snapshot, SnapshotEntry
from ..._model.verdicts import Reason, Verdict
from ..._model.visible_text import names_text, quoted_list
from .. import drafts, not_taken
from ..drafts import Draft
from ..expected import with_expected
from .mirror_index import highest_checkpoint, read_checkpoints, read_offset_syncs
from .strategy import Translation

_UNKNOWN = ""  # the source's id, which nobody can be asked for


def plan_from_checkpoints(
    destination: Connection,
    policy: ReplicationPolicy,
    selection: Selection,
    mapping: Mapping,
    on_uncommitted: OnUncommitted = OnUncommitted.IGNORE,
    previous: Plan | None = None,
    receipt: Receipt | None = None,
) -> Translation:
    """The plan of these groups, where their checkpoints say.

    on_uncommitted: what to do for partitions of a topic of which the group has checkpoints of others only.
    Raises NotFound for a group that has no checkpoint, InvalidInput for patterns that match none.
    """
    selection.check()
    checkpoints = read_checkpoints(destination, policy.checkpoints.name)
    chosen, left_out, lines = _selected(checkpoints, destination, policy, selection, mapping)
    snapshot = Snapshot(
        None,
        (),
        tuple(
            SnapshotEntry(key.group, partition, CommittedOffset(checkpoint.source, checkpoint.metadata))
            for key, (partition, checkpoint) in sorted(chosen.items())
        ),
    )
    wanted = drafts.from_snapshot(snapshot, mapping)
    targets = {(key.group, partition): checkpoint.target for key, (partition, checkpoint) in chosen.items()}
    at_destination = clusters.look_at(destination, {draft.partition.topic for draft in wanted})
    counts = {topic: len(logs) for topic, logs in at_destination.traits.logs.items()}
    of_source = {draft.source_partition.topic: counts.get(draft.partition.topic, 0) for draft in wanted}
    wanted = drafts.with_uncommitted(wanted, of_source)
    existing = {draft.partition for draft in wanted if draft.partition.partition < counts.get(draft.partition.topic, 0)}
    bounds = positions.partition_bounds(destination, sorted(existing)) if existing else {}
    cluster, topic = policy.offset_syncs  # with those at the source, nobody can see how checkpoints were made
    kept = cluster == "target" and topics.partition_counts(destination, [topic])
    syncs = read_offset_syncs(destination, topic) if kept else {}
    entries = tuple(
        _entry(
            draft,
            targets[draft.source_group, draft.source_partition],
            highest_checkpoint(syncs.get(draft.source_partition, ()), draft.offset),
            bounds.get(draft.partition),
        )
        if draft.committed is not None
        else draft.uncommitted(
            on_uncommitted, bounds[draft.partition].log_start, bounds[draft.partition].end, "no checkpoint"
        )
        for draft in wanted
    )
    plan = Plan(
        _UNKNOWN, at_destination.cluster_id, snapshot.digest(), entries, destination_traits=at_destination.traits
    )
    return Translation(
        with_expected(plan, destination, previous, receipt),
        index={"checkpoints": len(checkpoints), "syncs": sum(map(len, syncs.values()))},
        notes=tuple(_notes(entries, left_out, previous)),
        not_taken=lines,
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


_Chosen = dict[CheckpointKey, tuple[TopicPartition, Checkpoint]]


def _selected(
    checkpoints: t.Mapping[CheckpointKey, Checkpoint],
    destination: Connection,
    policy: ReplicationPolicy,
    selection: Selection,
    mapping: Mapping,
) -> tuple[_Chosen, list[Note], tuple[str, ...]]:
    """The checkpoints of the selected groups and topics, with the source's partition; notes and lines of what was left out."""
    groups = selection.select_groups({key.group for key in checkpoints})
    copied_topics = {key.partition.topic for key in checkpoints}
    # A topic_map beside the policy alone says what the copied topics are called.
    names = (
        mapping.source_topics(copied_topics, selection.topics)
        if mapping.topic_rules
        else {topic: policy.source_topic(topic) for topic in copied_topics}
    )
    of_flow: _Chosen = {}
    for key, checkpoint in checkpoints.items():
        source_topic = names.get(key.partition.topic)
        if source_topic is not None and key.group in groups.names:
            of_flow[key] = key.partition._replace(topic=source_topic), checkpoint
    having = {key.group for key in of_flow}
    missing = [name for name in selection.groups if name not in having]
    cluster, topic = str(destination), policy.checkpoints.name
    faults: list[MigrationError] = []
    if missing:
        fault = NotFound(
            f"no checkpoint found for group {names_text(missing)}",
            why="MirrorMaker 2 writes none for groups that it excludes, or that have consumed nothing of what it copies",
            remedy=f"correct {option_name('groups')} and {option_name('replication_policy')}",
            cluster=cluster,
            topic=topic,
        )
        faults.append(fault)
    strange = sorted(set(selection.topics) - set(filter(None, names.values())))
    if strange:
        faults.append(_no_checkpoint(strange, cluster, topic))
    raise_any(faults)
    if not of_flow:
        raise InvalidInput(
            f"no group with a checkpoint is matched by {option_name('group_patterns')} {quoted_list(selection.group_patterns)}",
            remedy=f"correct the patterns, or name the groups in {option_name('groups')}",
            cluster=cluster,
            topic=topic,
            kind=FailureKind.NOTHING_SELECTED,
        )
    consumed: dict[str, list[TopicPartition]] = {}
    for key, (source, _checkpoint) in of_flow.items():
        consumed.setdefault(key.group, []).append(source)
    topics_chosen = selection.topics_of(consumed)
    condition = f"that has a checkpoint on {cluster}"
    unused = selection.unused("groups", {key.group for key in checkpoints}, condition)
    absent = sorted(set(selection.topics) - {source.topic for source, _checkpoint in of_flow.values()})
    if absent:
        raise _no_checkpoint(absent, cluster, topic, unused_cause(unused))
    chosen = {key: pair for key, pair in of_flow.items() if pair[0].topic in topics_chosen[key.group].names}
    topics_left_out = sorted({topic for selected in topics_chosen.values() for topic in selected.left_out})
    lines = not_taken.topic_lines(consumed, topics_chosen, selection)
    notes = [
        *excluded(groups.left_out, topics_left_out),
        *unused,
        *selection.unused("topics", {*filter(None, names.values())}, condition),
    ]
    return chosen, notes, tuple(lines)


def _no_checkpoint(topics: t.Iterable[str], cluster: str, topic: str, why: str | None = None) -> NotFound:
    return NotFound(
        f"none of the selected groups has a checkpoint for {names_text(topics)}",
        cluster=cluster,
        topic=topic,
        why=why,
        remedy=f"correct {option_name('topics')}",
    )


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
    repeats = bounds.high_watermark - offset
    return draft.entry(Verdict.SAFE, offset, reason=Reason.CHECKPOINT, repeats=repeats, detail=detail)
