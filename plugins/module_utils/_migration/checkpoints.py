# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Without the source, as in a disaster: MirrorMaker 2's own checkpoints, which lose nothing and repeat some."""

from __future__ import annotations

import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._control import positions, topics
from ansible_collections.streamshift.kafka.plugins.module_utils._control.positions import Bounds
from ansible_collections.streamshift.kafka.plugins.module_utils._migration import drafts
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.drafts import Draft
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.expected import with_expected
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.mirror_index import read_checkpoints
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidInput, NotFound
from ansible_collections.streamshift.kafka.plugins.module_utils._model.groups import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.mapping import Mapping
from ansible_collections.streamshift.kafka.plugins.module_utils._model.mirror_records import Checkpoint, CheckpointKey
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import Plan, PlanEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.receipt import Receipt
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.replication_policy import ReplicationPolicy
from ansible_collections.streamshift.kafka.plugins.module_utils._model.selection import Selection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.snapshot import Snapshot, SnapshotEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason, Verdict

_UNKNOWN = ""  # the source's id, which nobody can be asked for


def plan_from_checkpoints(
    destination: Connection,
    policy: ReplicationPolicy,
    selection: Selection,
    mapping: Mapping,
    previous: Plan | None = None,
    receipt: Receipt | None = None,
) -> tuple[Plan, int, tuple[str, ...]]:
    """The plan, how many checkpoints there are, and which groups and topics were left out by an exclude pattern.

    Raises NotFound for a group that has no checkpoint, InvalidInput for patterns that match none.
    """
    selection.check()
    found = read_checkpoints(destination, policy.checkpoints.name)
    chosen, left_out = _selected(found, destination, policy, selection)
    snapshot = Snapshot(
        None,
        (),
        tuple(
            SnapshotEntry(key.group, where, CommittedOffset(each.source, each.metadata))
            for key, (where, each) in sorted(chosen.items())
        ),
    )
    wanted = drafts.from_snapshot(snapshot, mapping)
    targets = {(key.group, where): (key.partition, checkpoint.target) for key, (where, checkpoint) in chosen.items()}
    counts = topics.partition_counts(destination, {key.partition.topic for key in chosen})
    there = {key.partition for key in chosen if key.partition.partition < counts.get(key.partition.topic, 0)}
    bounds = positions.partition_bounds(destination, sorted(there)) if there else {}
    entries = []
    for draft in wanted:
        partition, target = targets[draft.source_group, draft.source_partition]
        entries.append(_entry(draft._replace(partition=partition), target, bounds.get(partition)))
    plan = Plan(_UNKNOWN, topics.cluster_id(destination), snapshot.digest(), tuple(entries))
    return with_expected(plan, destination, previous, receipt), len(found), left_out


_Chosen = dict[CheckpointKey, tuple[TopicPartition, Checkpoint]]


def _selected(
    found: t.Mapping[CheckpointKey, Checkpoint],
    destination: Connection,
    policy: ReplicationPolicy,
    selection: Selection,
) -> tuple[_Chosen, tuple[str, ...]]:
    """The checkpoints of the selected groups and topics, with the source's partition; and what was left out."""
    groups = selection.select_groups({key.group for key in found})
    of_flow: _Chosen = {}
    for key, checkpoint in found.items():
        source_topic = policy.source_topic(key.partition.topic)
        if source_topic is not None and key.group in groups.names:
            of_flow[key] = key.partition._replace(topic=source_topic), checkpoint
    having = {key.group for key in of_flow}
    missing = [name for name in selection.groups if name not in having]
    cluster, topic = str(destination), policy.checkpoints.name
    if missing:
        raise NotFound(
            f"no checkpoint of group {', '.join(missing)} is there",
            why="MirrorMaker 2 writes none for groups that it excludes, or that have consumed nothing of what it copies",
            remedy="correct groups and replication_policy",
            cluster=cluster,
            topic=topic,
        )
    if not of_flow:
        raise InvalidInput(
            f"no group with a checkpoint is matched by group_patterns {list(selection.group_patterns)}",
            remedy="correct the patterns, or name the groups in groups",
            cluster=cluster,
            topic=topic,
        )
    topics_chosen = selection.select_topics({source.topic for source, _checkpoint in of_flow.values()})
    absent = sorted(set(selection.topics) - {source.topic for source, _checkpoint in of_flow.values()})
    if absent:
        raise NotFound(
            f"none of the selected groups has a checkpoint for {', '.join(absent)}",
            cluster=cluster,
            topic=topic,
            remedy="correct topics",
        )
    chosen = {key: its for key, its in of_flow.items() if its[0].topic in topics_chosen.names}
    return chosen, (*groups.left_out, *topics_chosen.left_out)


def _entry(draft: Draft, target: int, bounds: Bounds | None) -> PlanEntry:
    """The checkpoint as an entry. Nobody can tell how far the group had come when the source was lost: to the end at most."""
    if bounds is None:
        detail = f"{draft.partition} does not exist at the destination, and there is a checkpoint for it"
        return draft.entry(Verdict.BLOCKED, reason=Reason.TOPIC_MISSING, detail=detail)
    if target > bounds.high_watermark:
        detail = (
            f"the checkpoint says {target}, and the destination ends at {bounds.high_watermark}: "
            "the topic was recreated since, or lost its end"
        )
        return draft.entry(Verdict.BLOCKED, reason=Reason.BEYOND_END, detail=detail)
    offset = max(target, bounds.log_start)
    repeats = bounds.high_watermark - offset
    detail = f"MirrorMaker 2's checkpoint, written when the group stood at source offset {draft.offset}"
    return draft.entry(Verdict.SAFE, offset, reason=Reason.CHECKPOINT, repeats=repeats, detail=detail)
