# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which offsets are to be proved: those of a plan, or whatever groups have committed now."""

from __future__ import annotations

import collections
import typing as t

from ..._comparing.claims import Claim
from ..._control import groups, topics
from ..._model.background import at_once
from ..._model.backlog import Backlog, BacklogRange
from ..._model.connection import Connection
from ..._model.group_state import CommittedOffset, commit_text, commits_of, same_commit
from ..._model.grouping import values_by_key
from ..._model.mapping import Mapping
from ..._model.match_on import EVERYTHING, MatchOn
from ..._model.notes import Note, NoteKind
from ..._model.plan import Plan, PlanEntry
from ..._model.policies import OnActiveGroup, OnAdvance, OnRewind, keeps
from ..._model.receipt import Key, Receipt, ReceiptEntry
from ..._model.records import TopicPartition, every_partition
from ..._model.report import Problem, ProblemKind
from ..._model.selection import Selection
from ..._model.verdicts import Reason, Verdict
from ..._model.visible_text import visible_name
from ..._model.wording import part_of
from .. import drafts, take_snapshot
from ..drafts import Draft
from ..file_clusters import changed_entries
from .comparison import ClaimCase

Policies = tuple[OnRewind, OnAdvance]
NONE_KEEPS: Policies = (OnRewind.FAIL, OnAdvance.ADVANCE)


class ToProve(t.NamedTuple):
    """consumed: the entries of which a group has a later offset than the plan's."""

    entries: list[PlanEntry]
    problems: list[Problem]
    consumed: t.Collection[Key] = ()


class Claims(t.NamedTuple):
    """cases: what is to be compared. without_records: entries that say nothing of records, or too little.

    notes: of the snapshot, and which entries say too little.
    requested: entries whose offset an option has chosen, so that no record tells whether it is right.
    unidentified: entries on topics without an id, so that only records tell whether a topic was created again.
    """

    source_id: str
    destination_id: str
    cases: list[ClaimCase]
    without_records: int
    problems: list[Problem]
    notes: list[Note]
    unidentified: tuple[PlanEntry, ...] = ()
    requested: int = 0

    def within(self, copied: Backlog) -> Claims:
        """The same for the plan of a copy: only what was copied is read."""
        ranges: dict[tuple[TopicPartition, ...], BacklogRange] = {
            (each.source, each.destination): each for each in copied.ranges
        }

        def of_copy(case: ClaimCase) -> ClaimCase:
            at_both = *case.claim.source, *case.claim.destination
            return case._replace(copied=ranges.get(tuple(partition for partition, _offset in at_both)))

        return self._replace(cases=[of_copy(case) for case in self.cases])


def entries_to_compare(
    plan: Plan,
    receipt: Receipt | None,
    source: Connection,
    destination: Connection,
    chosen: list[PlanEntry] | None,
    policies: Policies,
) -> ToProve:
    """Those of entries_to_prove(), or of the chosen ones, whose topics are what the plan rests on, and all problems.

    Raises Refused for a plan of other clusters.
    """
    changed, (entries, problems, consumed) = at_once(
        lambda: changed_entries(plan, source, destination).by_entry,
        lambda: ToProve(chosen, []) if chosen is not None else entries_to_prove(plan, receipt, destination, policies),
    )
    problems += [
        entry_problem(entry, ProblemKind.CHANGED_SINCE_PLAN, changed[entry.key])
        for entry in entries
        if entry.key in changed
    ]
    return ToProve([entry for entry in entries if entry.key not in changed], problems, consumed)


def entries_to_prove(plan: Plan, receipt: Receipt | None, destination: Connection, policies: Policies) -> ToProve:
    """The entries that the destination's groups were set to, and a problem for each that they have left since.

    policies: with keep, a commit has left alone what has moved so, and that is no problem.
    Without a receipt it does not matter what was committed: every entry that has something to commit, and no problem.
    """
    wanted = [entry for entry in plan.entries if entry.offset is not None]
    if receipt is None:
        return ToProve(wanted, [])
    names = sorted({entry.group for entry in wanted})
    readings = groups.read_groups(destination, names) if names else {}
    entries: list[PlanEntry] = []
    problems: list[Problem] = []
    consumed: set[Key] = set()
    one_cluster = plan.is_within_one_cluster  # compares identities: once, not for each of many entries
    for entry in wanted:
        # What another plan has set was left alone by a policy since.
        reading, ours = readings[entry.group], receipt.line_of(entry)
        now = reading.offsets.get(entry.partition)
        # As for the commit: nothing but a consumer moves a group that was reset inside its cluster.
        is_reset = one_cluster and entry.is_reset
        if same_commit(now, entry.target) or (ours is not None and ours.accounts_for(reading, is_consumed=is_reset)):
            entries.append(entry)
            if now is not None and now.offset > (entry.offset or 0):
                consumed.add(entry.key)
        elif ours is not None and not _is_kept(ours, now, entry.offset or 0, policies):
            why = (
                f"offset {commit_text(ours.written)} was committed, but the committed offset is now {commit_text(now)}"
            )
            if ours.has_moved_alone(now, is_reset or reading.had_members):
                why += ", although no consumer has ever joined the group"
            problems.append(entry_problem(entry, ProblemKind.MOVED, why))
    return ToProve(entries, problems, consumed)


def _is_kept(ours: ReceiptEntry, now: CommittedOffset | None, planned: int, policies: Policies) -> bool:
    """Has a commit left it alone? What is not there although nobody has read it back is still to be written."""
    return (now is not None or ours.is_confirmed) and keeps(now and now.offset, planned, *policies)


def entry_problem(entry: PlanEntry, kind: ProblemKind, detail: str) -> Problem:
    """Something that is wrong with the offset of one entry of a plan."""
    source = tuple((at.partition, at.offset) for at in entry.source if at.offset is not None)
    destination = ((entry.partition, entry.offset or 0),)
    return Problem(kind, entry.group, source, destination, None, detail)


def of_plan(
    plan: Plan,
    receipt: Receipt | None,
    source: Connection,
    destination: Connection,
    chosen: list[PlanEntry] | None = None,
    policies: Policies = NONE_KEEPS,
) -> Claims:
    """What the plan says of the entries that were committed, or stood right already; without a receipt, of all.

    chosen: of these entries instead. policies: see entries_to_prove().
    """
    entries, problems, _consumed = entries_to_compare(plan, receipt, source, destination, chosen, policies)
    # What is predicted of partitions that do not exist yet cannot be compared with records.
    predicted = {entry.partition.topic for entry in entries if entry.predicted}
    counts = topics.partition_counts(destination, predicted) if predicted else {}
    existing = [
        entry
        for entry in entries
        if not entry.predicted or entry.partition.partition < counts.get(entry.partition.topic, 0)
    ]
    without_records, requested = len(entries) - len(existing), 0
    notes: list[Note] = []
    planned = collections.Counter((entry.group, entry.source) for entry in plan.entries)
    # Entries that several partitions were merged into have the same positions, and are proved together.
    together = values_by_key(((entry.group, entry.source), entry) for entry in existing)
    for what, alike in list(together.items()):
        asked_for = alike[0].verdict is Verdict.REQUESTED or all(at.offset is None for at in alike[0].source)
        if asked_for:
            requested += len(together.pop(what))
        # Of what was spread over partitions that were not all written, nobody can tell what is missing.
        elif len(alike) < planned[what]:
            without_records += len(together.pop(what))
            notes.append(_not_verified(alike, planned[what]))
    match_on = MatchOn.of(plan.match_on)
    cases = [
        ClaimCase(_claim(alike), match_on, next((entry.absent for entry in alike if entry.absent), None))
        for alike in together.values()
    ]
    unidentified = tuple(entry for alike in together.values() for entry in alike if not _is_identified(entry, plan))
    return Claims(plan.source_id, plan.destination_id, cases, without_records, problems, notes, unidentified, requested)


def _not_verified(alike: t.Sequence[PlanEntry], planned: int) -> Note:
    """That the offsets of a repartitioned or merged topic are not verified, of which only these have one to verify."""
    has = "has" if len(alike) == 1 else "have"
    group, topic = visible_name(alike[0].group), alike[0].partition.topic
    text = (
        f"{group} {topic}: not verified, because only {part_of(len(alike), planned, 'partition')} {has} an offset to verify, "
        "and a record that is not in these may be in the others"
    )
    return Note(NoteKind.NOT_COUNTED, text)


def _is_identified(entry: PlanEntry, plan: Plan) -> bool:
    """Have all topics of an entry an id, so that it shows whether one was created again? Brokers before 2.8 give none."""
    at_source, at_destination = plan.source_traits.topic_ids, plan.destination_traits.topic_ids
    return at_destination.get(entry.partition.topic) is not None and all(
        at_source.get(at.partition.topic) is not None for at in entry.source
    )


def of_commits(
    source: Connection,
    destination: Connection,
    selection: Selection,
    mapping: Mapping,
    match_on: MatchOn = EVERYTHING,
) -> Claims:
    """That groups stand at the destination where they stand at the source, whoever has committed for them."""
    taken = take_snapshot.take(source, selection, OnActiveGroup.WARN)
    wanted = drafts.from_snapshot(taken.snapshot, mapping)
    source_counts = topics.partition_counts(source, {draft.source_partition.topic for draft in wanted})
    destination_counts = topics.partition_counts(destination, {draft.partition.topic for draft in wanted})
    names = sorted({draft.group for draft in wanted})
    commits = commits_of(groups.read_groups(destination, names)) if names else {}
    cases: list[ClaimCase] = []
    problems: list[Problem] = []
    for group, group_drafts, partitions in _together(wanted, mapping, destination_counts):
        is_merged = _is_merged(group_drafts[0], mapping, destination_counts)
        blocked = None if is_merged else drafts.without_records(group_drafts[0], source_counts, destination_counts)
        uncommitted = _uncommitted(group_drafts, source_counts) if is_merged else []
        kind, why = ProblemKind.NOT_COMMITTED, "nothing is committed at the destination"
        wrong = [partition for partition in partitions if (group, partition) not in commits]
        if blocked is not None:
            kind, why, wrong = ProblemKind.NOT_COMPARABLE, blocked.detail, partitions
        source_offsets = tuple((draft.source_partition, draft.offset) for draft in group_drafts)
        problems += [Problem(kind, group, source_offsets, ((partition, 0),), None, why) for partition in wrong]
        if not wrong:
            offsets = tuple((partition, commits[group, partition].offset) for partition in partitions)
            source_offsets += tuple((partition, 0) for partition in uncommitted)
            claim = Claim(group, source_offsets, offsets, None, uncommitted=frozenset(uncommitted))
            cases.append(ClaimCase(claim, match_on))
    return Claims(taken.snapshot.cluster_id or "", topics.cluster_id(destination), cases, 0, problems, taken.notes())


def _together(
    wanted: t.Iterable[Draft], mapping: Mapping, counts: t.Mapping[str, int]
) -> t.Iterator[tuple[str, list[Draft], list[TopicPartition]]]:
    """What is proved as one: the group, where it stands at the source, and all partitions that this became.

    counts: how many partitions the destination's topics have. A topic that it lacks has the source's.
    """
    merged: list[Draft] = []
    for draft in wanted:
        if _is_merged(draft, mapping, counts):
            merged.append(draft)
        else:
            yield draft.group, [draft], [draft.partition]
    together = values_by_key(((draft.group, draft.partition.topic), draft) for draft in merged)
    for (group, topic), group_drafts in together.items():
        yield group, group_drafts, every_partition({topic: counts[topic]})


def _is_merged(draft: Draft, mapping: Mapping, counts: t.Mapping[str, int]) -> bool:
    """Do all partitions of its source topic become all of the destination's, which exists?"""
    return mapping.is_repartitioned(draft.source_partition.topic) and draft.partition.topic in counts


def _uncommitted(of_group: t.Iterable[Draft], source_counts: t.Mapping[str, int]) -> list[TopicPartition]:
    """The partitions of these drafts' topics of which the group has no committed offset."""
    committed = {draft.source_partition for draft in of_group}
    topic_names = sorted({partition.topic for partition in committed})
    every = every_partition({name: source_counts.get(name, 0) for name in topic_names})
    return [partition for partition in every if partition not in committed]


def _claim(entries: list[PlanEntry]) -> Claim:
    first = entries[0]
    repeats = [0 if entry.verdict is Verdict.EXACT else entry.repeats for entry in entries]
    source_offsets: dict[TopicPartition, int] = {}
    for at in first.source:
        if at.offset is not None:  # of several groups, the first is the one that the offset was found for
            source_offsets.setdefault(at.partition, at.offset)
    # Plans of earlier releases do not note what they have assumed, and nothing is known of these partitions.
    uncommitted = {
        at.partition: at.assumed for at in first.source if at.partition not in source_offsets and at.assumed is not None
    }
    return Claim(
        first.group,
        tuple({**source_offsets, **uncommitted}.items()),
        tuple((entry.partition, entry.offset or 0) for entry in entries),
        None if None in repeats else sum(each or 0 for each in repeats),
        leaves=first.verdict is Verdict.SAFE and first.reason is Reason.NEW_RECORDS,
        uncommitted=frozenset(uncommitted),
    )
