# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""From a snapshot to entries of a plan: names are mapped, and what can be said without records is said."""

from __future__ import annotations

import sys
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import Anchor, Decision
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidInput
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.mapping import Mapping
from ansible_collections.streamshift.kafka.plugins.module_utils._model.match_on import EVERYTHING, MatchOn
from ansible_collections.streamshift.kafka.plugins.module_utils._model.option_names import option_name, ways
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import (
    Copied,
    Evidence,
    PlanEntry,
    SourcePosition,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import OnConflict, OnUncommitted
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.snapshot import Snapshot
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason, Verdict


class Draft(t.NamedTuple):
    """A commit of the source and the destination's group and partition that it belongs to. committed is None without.

    others: the other groups that become this one, and what they have committed on the same partition.
    """

    group: str
    partition: TopicPartition
    source_group: str
    source_partition: TopicPartition
    committed: CommittedOffset | None
    others: tuple[SourcePosition, ...] = ()

    @property
    def key(self) -> tuple[str, TopicPartition]:
        """What makes it unique in the plan."""
        return self.group, self.partition

    @property
    def offset(self) -> int:
        """The committed offset; ValueError for a draft without one."""
        if self.committed is None:
            raise ValueError(f"{self.source_group} has committed nothing for {self.source_partition}")
        return self.committed.offset

    @property
    def position(self) -> SourcePosition:
        """Where the source's group stands."""
        offset = None if self.committed is None else self.committed.offset
        return SourcePosition(self.source_group, self.source_partition, offset)

    def entry(self, verdict: Verdict, offset: int | None = None, **more: t.Any) -> PlanEntry:
        """The plan's entry for this draft; metadata is carried unchanged."""
        metadata = self.committed.metadata if self.committed and offset is not None else ""
        source = (self.position, *self.others)
        return PlanEntry(self.group, self.partition, offset, verdict, source, metadata=metadata, **more)

    def uncommitted(self, on_uncommitted: OnUncommitted, log_start: int, end: int, why: str) -> PlanEntry:
        """The entry for a draft without a commit: left alone, or the destination's start or end, as the option says."""
        match on_uncommitted:
            case OnUncommitted.IGNORE:
                # Where there are many such entries, they share their text.
                return self.entry(Verdict.UNCOMMITTED, detail=sys.intern(f"{why}: left alone (on_uncommitted: ignore)"))
            case OnUncommitted.START:
                offset = log_start
            case OnUncommitted.END:
                offset = end
            case _:
                t.assert_never(on_uncommitted)
        detail = f"{why}: the destination's {on_uncommitted} (on_uncommitted: {on_uncommitted})"
        return self.entry(Verdict.REQUESTED, offset, detail=detail)


def from_snapshot(snapshot: Snapshot, mapping: Mapping, on_conflict: OnConflict = OnConflict.FAIL) -> list[Draft]:
    """A draft for each commit and new name. Raises InvalidInput when two sources map to one destination group and topic.

    Several topics that are repartitioned may become one, each from one group. Unless on_conflict is fail, several groups may
    become one on any other topic: _migration/merged_groups.py makes one draft of theirs.
    """
    names: dict[tuple[str, str], tuple[str, ...]] = {}
    sources: dict[tuple[str, str], dict[str, str]] = {}
    for group, topic in dict.fromkeys((entry.group, entry.partition.topic) for entry in snapshot.entries):
        names[group, topic] = mapping.groups(group, topic)
        for name in names[group, topic]:
            become = name, mapping.topic(topic)
            known = sources.setdefault(become, {})
            known.setdefault(topic, group)
            for other, its_group in known.items():
                if not _may_share(mapping, on_conflict, (its_group, other), (group, topic)):
                    raise _two_sources((its_group, other), (group, topic), become)
    topics = {topic: mapping.topic(topic) for _group, topic in names}
    return [
        Draft(name, TopicPartition(topics[source.topic], source.partition), group, source, committed)
        for group, source, committed in snapshot.entries
        for name in names[group, source.topic]
    ]


def _may_share(mapping: Mapping, on_conflict: OnConflict, one: tuple[str, str], other: tuple[str, str]) -> bool:
    """May two sources, each a group and a topic, become one destination?"""
    if one == other:
        return True
    repartitioned = [mapping.is_repartitioned(topic) for _group, topic in (one, other)]
    if one[1] == other[1]:
        return on_conflict != OnConflict.FAIL and not any(repartitioned)
    return all(repartitioned)


def _two_sources(one: tuple[str, str], other: tuple[str, str], become: tuple[str, str]) -> InvalidInput:
    if one[1] == other[1]:
        merge = ("on_conflict", f"set {option_name('on_conflict')} to lowest or highest to merge the groups")
    else:
        merge = ("repartitioned", f"name both topics in {option_name('repartitioned')} to merge them")
    return InvalidInput(
        f"two sources map to one destination: {' '.join(one)} and {' '.join(other)} both become {' '.join(become)}",
        remedy=ways(
            ("topic_map", f"correct {option_name('topic_map')}"),
            ("group_map", f"correct {option_name('group_map')}"),
            merge,
        ),
    )


def with_uncommitted(drafts: list[Draft], partitions: t.Mapping[str, int]) -> list[Draft]:
    """Add the partitions without a commit of every topic that a group has committed some partition of.

    partitions: how many the source's topics have, by name; missing topics are not in it.
    """
    known = {draft.key for draft in drafts}
    result = list(drafts)
    # Thousands of groups share the partitions of a topic, and each takes memory only once.
    topics = {(draft.partition.topic, draft.source_partition.topic) for draft in drafts}
    shared = {
        each: [[TopicPartition(topic, number) for topic in each] for number in range(partitions.get(each[1], 0))]
        for each in topics
    }
    for draft in {(draft.group, draft.partition.topic): draft for draft in drafts}.values():
        for partition, source in shared[draft.partition.topic, draft.source_partition.topic]:
            key = draft.group, partition
            if key not in known:
                known.add(key)
                result.append(Draft(*key, draft.source_group, source, None))
    return result


def without_records(
    draft: Draft, source_partitions: t.Mapping[str, int], destination_partitions: t.Mapping[str, int]
) -> PlanEntry | None:
    """The entry that topics alone decide, or None: a missing topic or partition, or partition counts that differ."""
    source_count = source_partitions.get(draft.source_partition.topic)
    destination_count = destination_partitions.get(draft.partition.topic)
    if source_count is None or destination_count is None:
        if source_count is None:
            detail = f"topic {draft.source_partition.topic} does not exist at the source: exclude it"
        else:
            detail = f"topic {draft.partition.topic} does not exist at the destination: fill it, map it, or exclude it"
        return draft.entry(Verdict.BLOCKED, reason=Reason.TOPIC_MISSING, detail=detail)
    if source_count != destination_count:
        detail = (
            f"{draft.source_partition.topic} has {source_count} partitions at the source, and {draft.partition.topic} "
            f"{destination_count} at the destination: name it in repartitioned, so that each record is looked for in all "
            "partitions"
        )
        return draft.entry(Verdict.BLOCKED, reason=Reason.PARTITION_COUNT_DIFFERS, detail=detail)
    if draft.source_partition.partition >= source_count:
        detail = (
            f"{draft.source_partition} does not exist at the source, which has {source_count} partitions of this topic"
        )
        return draft.entry(Verdict.BLOCKED, reason=Reason.TOPIC_MISSING, detail=detail)
    return None


def decided(draft: Draft, decision: Decision, match_on: MatchOn = EVERYTHING) -> PlanEntry:
    """The entry for a draft that the rule has decided."""
    certificate = decision.certificate.name if decision.certificate else None
    return draft.entry(
        decision.verdict,
        decision.offset,
        reason=decision.reason,
        repeats=decision.repeats,
        detail=decision.detail,
        lossless=decision.lossless_offset,
        to_come=decision.to_come,
        evidence=Evidence(
            _copied(decision.before), _copied(decision.after), match_on.matched_by(decision.matched_by), certificate
        ),
    )


def _copied(anchor: Anchor | None) -> Copied | None:
    return None if anchor is None else Copied(anchor.source_offset, anchor.destination_offset, anchor.fingerprint)
