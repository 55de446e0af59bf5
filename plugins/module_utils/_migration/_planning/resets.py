# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Strategy `reset`: groups go where rules say, inside their own cluster, as kafka-consumer-groups --reset-offsets sets them."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._control import clusters, groups, positions, topics
from ..._matching.evidence import Decision
from ..._matching.reset_offsets import ResetLog, reset_decision
from ..._model.connection import Connection
from ..._model.errors import InvalidInput
from ..._model.faults import all_done, all_of, faults_of, raise_any
from ..._model.group_state import CommittedOffset, GroupReading, commits_of, partitions_of
from ..._model.grouping import values_by_key
from ..._model.notes import Note, NoteKind, excluded
from ..._model.option_names import option_name
from ..._model.plan import Plan, PlanEntry
from ..._model.policies import OnOutOfRange
from ..._model.receipt import Key, Receipt, ReceiptEntry
from ..._model.records import TopicPartition, every_partition
from ..._model.reset_rules import ResetRule, ResetTo, first_fit
from ..._model.selection import Selected, Selection, all_topics, looks_like_pattern, matches, name_hint, seen_on
from ..._model.snapshot import Snapshot, SnapshotEntry
from ..._model.verdicts import Reason, Verdict
from ..._model.visible_text import names_text
from .. import not_taken, renewal
from ..drafts import Draft, decided
from ..expected import with_expected
from ..selected_groups import (
    check_groups_matched,
    check_keep_offsets,
    check_topics_exist,
    group_hint,
    unused_topic_patterns,
)
from .strategy import Translation

_UNTIMED = (
    "brokers look up no time in it, because its message.format.version is before 0.10, or because records were deleted from a "
    "segment that still has their times"
)


def plan_resets(
    cluster: Connection,
    selection: Selection,
    rules: t.Sequence[ResetRule],
    on_out_of_range: OnOutOfRange = OnOutOfRange.BLOCK,
    previous: Plan | None = None,
    receipt: Receipt | None = None,
) -> Translation:
    """Plan where the selected groups go.

    A group gets offsets on the partitions on which it has committed some; a group that is named, on all partitions of topics
    that are named, too, whether it exists or not. Of a group that this reset has set before, the receipt says where it was.
    Raises NotFound and InvalidInput for names, patterns and rules that are about nothing.
    """
    selection.check()
    identity = clusters.identify(cluster, receipt.traits.topic_ids if receipt else ())
    written = receipt.as_far_as_of(identity) if receipt else Receipt(identity.cluster_id)
    try:
        selected, readings, unused = _read_groups(cluster, selection, written)
    except InvalidInput as exc:
        counts = topics.partition_counts(cluster, selection.topics)
        missing = sorted(set(selection.topics) - counts.keys())
        raise_any([exc, *faults_of(lambda: check_topics_exist(missing, cluster))])
        raise
    chosen = selection.topics_of(partitions_of(readings))
    counts = topics.partition_counts(
        cluster, {*selection.topics, *(name for of_group in chosen.values() for name in of_group.names)}
    )
    wanted = _wanted(selection, readings, chosen, counts)
    fitting = {partition: first_fit(rules, partition) for partition in {key[1] for key in wanted}}
    ruled = {key: rule for key in wanted if (rule := fitting[key[1]]) is not None}
    missing = sorted(set(selection.topics) - counts.keys())
    all_done(lambda: check_topics_exist(missing, cluster), lambda: _check_rules(rules, ruled, wanted, unknown=missing))
    rests_on = clusters.look_at(cluster, counts).traits
    commits, receipts, earlier = commits_of(readings), written.by_key, previous.by_key if previous else {}
    reset = {
        key: rule
        for key, rule in ruled.items()
        if key[1].partition < counts.get(key[1].topic, 0) and (key in commits or (wanted[key] and not rule.from_commit))
    }
    logs = _logs(cluster, reset)
    entries = tuple(
        _entry(key, rule, commits.get(key), receipts.get(key), earlier.get(key), logs[key], on_out_of_range)
        if key in reset
        else _without_offset(key, rule, commits.get(key), counts)
        for key, rule in ruled.items()
    )
    bases = (
        SnapshotEntry(at.group, at.partition, CommittedOffset(at.offset))
        for entry in entries
        for at in entry.source
        if at.offset is not None
    )
    snapshot, cluster_id = Snapshot(None, (), tuple(sorted(bases))), identity.cluster_id
    plan = Plan(cluster_id, cluster_id, snapshot.digest(), entries, destination_traits=rests_on)
    plan = with_expected(plan, cluster, previous, receipt)
    notes = _notes(readings, selected.left_out, all_topics(chosen).left_out, cluster)
    has_entry = {entry.group for entry in entries}
    left = {
        name: partitions for name, partitions in partitions_of(readings).items() if partitions or name not in has_entry
    }
    without_rule = sorted({group for group, _partition in wanted} - has_entry)
    return Translation(
        plan,
        notes=(*notes, *unused, *unused_topic_patterns(selection, readings, cluster)),
        unruled=tuple(key for key in wanted if key not in ruled),
        not_taken=(
            *not_taken.topic_lines(left, chosen, selection),
            *(f"{name}: no entry of resets fits a partition of it" for name in without_rule),
        ),
    )


def _read_groups(
    cluster: Connection, selection: Selection, receipt: Receipt
) -> tuple[Selected, dict[str, GroupReading], list[Note]]:
    """The selected groups, as they will be once a renewal that was killed is completed, and patterns that match none."""
    listed = [listing.group for listing in groups.list_groups(cluster)] if selection.group_patterns else []
    existing = {*listed, *(entry.group for entry in receipt.renewing)}
    selected = selection.select_groups(existing)
    check_groups_matched(selection, existing, selected, cluster)
    found = groups.read_groups(cluster, selected.names)
    readings = renewal.completed(found, renewal.missing_commits(receipt, found))
    named = [readings[name] for name in selection.groups]
    check_keep_offsets(named, cluster)
    if not selection.topics:
        _check_have_topics([reading for reading in named if not reading.offsets], cluster)
    kept = {name: reading for name, reading in readings.items() if reading.keeps_offsets}
    return selected, kept, selection.unused("groups", existing, seen_on(cluster))


def _check_have_topics(without: t.Sequence[GroupReading], cluster: Connection) -> None:
    """Raise InvalidInput that names all groups that have committed nothing."""
    if not without:
        return
    names = [reading.group for reading in without]
    missing = [reading.group for reading in without if not reading.exists]
    several = f"the groups {names_text(names)} have committed nothing, so nothing says which topics they read"
    raise InvalidInput(
        several if names[1:] else "the group has committed nothing, so nothing says which topics it reads",
        cluster=str(cluster),
        group=None if names[1:] else names[0],
        why=f"these do not exist, or ACL GROUP DESCRIBE is missing: {names_text(missing)}" if missing else None,
        remedy=f"name the topics in {option_name('topics')}, or correct {option_name('groups')}"
        + (group_hint(missing, cluster) if missing else ""),
    )


def _wanted(
    selection: Selection,
    readings: t.Mapping[str, GroupReading],
    chosen: t.Mapping[str, Selected],
    counts: t.Mapping[str, int],
) -> dict[Key, bool]:
    """Every group and partition that may be reset, and whether it gets an offset without a commit as well, sorted.

    Where it does not, a partition without one is left alone, as the tool does with --all-topics.
    """
    wanted: dict[Key, bool] = {}
    for name, reading in sorted(readings.items()):
        consumed = {partition.topic for partition in reading.offsets} & set(chosen[name].names)
        named = {*selection.topics} if name in selection.named_groups else set()
        partitions = {partition for partition in reading.offsets if partition.topic in consumed}
        partitions |= {*every_partition({topic: counts.get(topic, 0) for topic in consumed | named})}
        wanted |= {(name, partition): partition.topic in named for partition in sorted(partitions)}
    return wanted


def _check_rules(
    rules: t.Sequence[ResetRule], ruled: t.Mapping[Key, ResetRule], wanted: t.Collection[Key], unknown: t.Sequence[str]
) -> None:
    """Raise InvalidInput for a rule, or a topic or a partition that it names, that nothing is done for: it is misspelt.

    unknown: topics that do not exist. Nobody knows what is wrong with a rule that may be meant for them.
    """
    known = {partition.topic for _group, partition in wanted}
    ruled_by = values_by_key((id(rule), partition.partition) for (_group, partition), rule in ruled.items())

    def check(numbered: tuple[int, ResetRule]) -> None:
        number, rule = numbered
        entry = f"{option_name('resets')}, entry {number} ({rule})"
        if unknown and (not rule.topics or any(matches(name, rule.topics) for name in unknown)):
            return
        strange = [pattern for pattern in rule.topics if not any(matches(name, (pattern,)) for name in known)]
        if strange:
            hint = "" if any(map(looks_like_pattern, strange)) else name_hint("topics", strange, sorted(known))
            raise InvalidInput(
                f"{entry} names {', '.join(strange)}, and no selected topic is called so{hint}",
                why="only topics count on which the selected groups have committed, or that are named",
                remedy=f"correct its topics, or name the topic in {option_name('topics')}",
            )
        numbers = set(ruled_by.get(id(rule), ()))
        if not numbers:
            raise InvalidInput(
                f"{entry} is about no partition of the selected groups and topics",
                why="no selected topic has its partitions, or earlier entries are about all of them",
                remedy="correct its partitions, or remove the entry",
            )
        if rule.partitions - numbers:
            missing = ", ".join(str(each) for each in sorted(rule.partitions - numbers))
            raise InvalidInput(
                f"{entry} names partition {missing}, and no selected topic that it is about has it",
                remedy="correct its partitions",
            )

    all_of(check, enumerate(rules, 1))


def _logs(cluster: Connection, reset: t.Mapping[Key, ResetRule]) -> dict[Key, ResetLog]:
    """What the rules need to know of each log."""
    bounds = positions.partition_bounds(cluster, {partition for _group, partition in reset})
    # A record that is found from the next millisecond on, too, is younger than the time.
    asked = {
        (partition, time)
        for (_group, partition), rule in reset.items()
        if rule.by_time
        for time in (0, rule.value, rule.value + 1)
    }
    refused: set[TopicPartition] = set()
    offsets = positions.lookup_all_times(cluster, asked, refused)
    logs = {}
    for key, rule in reset.items():
        partition, edges = key[1], bounds[key[1]]
        log = ResetLog(edges.log_start, edges.end, edges.high_watermark)
        if partition in refused and edges.log_start < edges.end:
            log = log._replace(untimed=_UNTIMED)
        elif rule.by_time and partition not in refused:
            at, first = offsets[partition, rule.value], offsets[partition, 0]
            log = log._replace(
                at=at,
                begins_later=at is not None and at == first == offsets[partition, rule.value + 1],
                untimed="none of its records has a time" if first is None and edges.log_start < edges.end else None,
            )
        logs[key] = log
    return logs


def _entry(
    key: Key,
    rule: ResetRule,
    committed: CommittedOffset | None,
    receipt: ReceiptEntry | None,
    previous: PlanEntry | None,
    log: ResetLog,
    on_out_of_range: OnOutOfRange,
) -> PlanEntry:
    """The entry of a partition that a rule is about.

    A second run finds what the first has set, or what was consumed since. Where the rule gives from what was there before what
    was written, it counts from that: so the same shift is not done twice, and the plan stays what it was. Nor is one that the
    earlier plan has, where a clamp or another run has changed what it would count from. Resets that have nothing to do with
    each other share a receipt, so any other rule counts from what is committed now.
    """

    def decision_from(start: CommittedOffset | None) -> Decision:
        return reset_decision(rule, None if start is None else start.offset, log, on_out_of_range)

    base, decision = committed, decision_from(committed)
    if receipt is not None and receipt.written is not None and receipt.explains(committed):
        before, is_shift, written = receipt.before, rule.to is ResetTo.SHIFT, receipt.written.offset
        if not rule.from_commit or (is_shift and before is not None):
            again = decision_from(before)
            shifted = before.offset + rule.value if is_shift and before is not None else None  # may have expired since
            if written in (again.offset, shifted):
                base, decision = before, again
            elif is_shift and previous and previous.offset == written and previous.detail.startswith(f"{rule};"):
                return previous
    entry = decided(Draft(*key, *key, base), decision)
    if rule.to is ResetTo.CURRENT and base is not None:
        return dataclasses.replace(entry, leader_epoch=base.leader_epoch if base.offset == entry.offset else None)
    return dataclasses.replace(entry, metadata="")  # it belongs to the offset that it was committed with


def _without_offset(
    key: Key, rule: ResetRule, committed: CommittedOffset | None, counts: t.Mapping[str, int]
) -> PlanEntry:
    """The entry of a partition that does not exist, or that is without a commit and stays so."""
    draft = Draft(*key, *key, committed)
    if committed is not None:
        count = counts.get(key[1].topic)
        what = "the topic does not exist" if count is None else f"the topic has {count:,} partitions"
        return draft.entry(Verdict.BLOCKED, reason=Reason.TOPIC_MISSING, detail=f"{what}: exclude it")
    if rule.from_commit:
        detail = f"{rule}: nothing is committed that it could count from: left alone"
    else:
        detail = f"{rule}: nothing is committed: left alone; name the group in groups and the topic in topics to set it"
    return draft.entry(Verdict.UNCOMMITTED, detail=detail)


def _notes(
    readings: t.Mapping[str, GroupReading], groups: t.Sequence[str], topics: t.Sequence[str], cluster: Connection
) -> list[Note]:
    notes = excluded(groups, topics)
    made = sorted(name for name, reading in readings.items() if not reading.exists and not reading.offsets)
    if made:
        text = (
            f"These groups do not exist yet, and the commit makes them: {names_text(made)}{group_hint(made, cluster)}."
        )
        notes.append(Note(NoteKind.GROUP_CREATED, text))
    return notes
