# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What a backlog's copy means for every group, and for people. Pure but for reading what groups have committed."""

from __future__ import annotations

import typing as t

from ..._control import groups
from ..._control.positions import Bounds
from ..._matching.certificates import OwnCopy
from ..._matching.evidence import Decision
from ..._model.backlog import Backlog, BacklogRange
from ..._model.connection import Connection
from ..._model.group_state import CommittedOffset, GroupReading, same_commit
from ..._model.match_on import FINGERPRINTED, PARTS
from ..._model.notes import Note, NoteKind
from ..._model.option_names import option_name
from ..._model.plan import PlanEntry
from ..._model.policies import OnUncommitted
from ..._model.receipt import Key, Receipt, ReceiptEntry
from ..._model.record_sum import Bound
from ..._model.records import TopicPartition
from ..._model.verdicts import Reason, Verdict
from ..._model.visible_text import names_text
from ..._model.wording import first_of
from ..drafts import Draft, decided
from .unconsumed import standing


class RangeSummary(t.NamedTuple):
    """What is copied of one partition.

    groups: those that stand at its start, or further back. lost: how many of their offsets have left the source's log
    before. left: how many offsets are left alone, for no group has committed there. bytes: about; None where nobody
    tells. reason: expired, uncommitted, nothing_to_copy or None.
    """

    range: BacklogRange
    groups: tuple[str, ...]
    lost: int
    left: int
    bytes: int | None
    reason: str | None


def summaries(
    backlog: Backlog,
    wanted: t.Iterable[Draft],
    sizes: t.Mapping[TopicPartition, int | None],
    bounds: t.Mapping[TopicPartition, Bounds],
    on_uncommitted: OnUncommitted,
) -> list[RangeSummary]:
    """One for each partition, in order. bounds: of the source's logs."""
    committed: dict[TopicPartition, list[tuple[int, str]]] = {}
    ranges = {each.source: each for each in backlog.ranges}
    for draft in wanted:
        covering = ranges[draft.source_partition]
        offset = standing(draft, covering.start, covering.end, on_uncommitted)
        if offset is not None:
            committed.setdefault(draft.source_partition, []).append((offset, draft.source_group))
    range_summaries = []
    for partition, backlog_range in sorted(ranges.items()):
        first = [(offset, group) for offset, group in committed.get(partition, []) if offset <= backlog_range.start]
        lost = max((backlog_range.start - offset for offset, _group in first), default=0)
        left = 0 if partition in committed else max(0, backlog_range.end - bounds[partition].log_start)
        nothing = "uncommitted" if left else None if backlog_range.copies else "nothing_to_copy"
        groups = tuple(sorted(group for _offset, group in first))
        range_summaries.append(
            RangeSummary(backlog_range, groups, lost, left, sizes.get(partition), "expired" if lost else nothing)
        )
    return range_summaries


def copy_entries(backlog: Backlog, wanted: t.Iterable[Draft], on_uncommitted: OnUncommitted) -> list[PlanEntry]:
    """Where every group stands at the destination, sorted; offsets are right once all is copied, see BacklogRange.place()."""
    ranges = {each.source: each for each in backlog.ranges}
    return sorted(
        (_entry(draft, ranges[draft.source_partition], on_uncommitted) for draft in wanted), key=lambda entry: entry.key
    )


class CopiedTopics(t.NamedTuple):
    """Topics of the destination. past: every group has consumed all that was copied. ahead: some group has all of it ahead.

    needed: the offset from which on some group may need the records of a partition. Of topics that have their settings back,
    and so lose records by their retention, only groups that have everything ahead count. Groups that were set and whose commit
    has vanished do not count: nobody knows what they have consumed, and the commit step asks the user (on_rewind). Nor is
    everything ahead of them on a topic that has its settings back: every group was past it then, or the user wanted it.
    unsure: the group-partitions that stand after what was copied, or whose commit has vanished, and of which nobody knows
    whether they have consumed it.
    """

    past: set[str]
    ahead: set[str]
    needed: dict[TopicPartition, int]
    unsure: list[PlanEntry]


def standing_of_groups(
    backlog: Backlog, planned: t.Sequence[PlanEntry], destination: Connection, receipt: Receipt | None
) -> CopiedTopics:
    """Where the groups stand now, before or after what was copied.

    receipt: of the commits that set them. An offset after the copied records that it does not account for may be older than
    the copy, or somebody's mistake, and the group may still be set to the records before it.
    """
    waiting, ahead, unsure = set(), set(), []
    needed: dict[TopicPartition, int] = {}
    restored = {topic.name for topic in backlog.topics if topic.restored}
    lines = _lines(backlog, receipt)
    given = _given(lines)
    for entry, start, reading, end in _standings(backlog, planned, destination):
        topic, commit, line = entry.partition.topic, reading.offsets.get(entry.partition), lines.get(entry.key)
        if start == end:
            continue
        was_set = (entry.group, topic) in given if line is None else line.written is not None
        is_accounted = was_set and reading.had_members if line is None else line.accounts_for(reading)
        # A group that had all of its offsets before has no line at all, and may have consumed all the same.
        may_have_consumed = line is None and commit is not None and commit.offset >= end and reading.had_members
        is_unset = receipt is not None and not was_set and not may_have_consumed
        has_all_ahead = commit is None or commit.offset < start or is_unset
        has_vanished = commit is None and line is not None and line.is_confirmed
        if has_all_ahead and not (has_vanished and topic in restored):
            ahead.add(topic)
        if commit is None or commit.offset < end or not is_accounted:
            waiting.add(topic)
            if not has_vanished and (has_all_ahead or topic not in restored):
                first = commit.offset if commit is not None and not has_all_ahead and commit.offset < end else start
                needed[entry.partition] = min(first, needed.get(entry.partition, first))
            if has_vanished or (commit is not None and commit.offset >= end and not is_unset):
                unsure.append(entry)
    return CopiedTopics({topic.name for topic in backlog.topics} - waiting, ahead, needed, unsure)


def are_set(
    backlog: Backlog, planned: t.Collection[PlanEntry], destination: Connection, receipt: Receipt | None
) -> bool:
    """Has every group the offset that is planned for it, or has it consumed since a commit of the receipt has set it?"""
    lines = _lines(backlog, receipt)
    given = _given(lines)

    def is_set(entry: PlanEntry, commit: CommittedOffset | None) -> bool:
        line = lines.get(entry.key)
        is_explained = (entry.group, entry.partition.topic) in given if line is None else line.explains(commit)
        return same_commit(commit, entry.target) or (commit is not None and is_explained)

    standings = _standings(backlog, planned, destination)
    return all(is_set(entry, reading.offsets.get(entry.partition)) for entry, _start, reading, _end in standings)


def committed_within(
    backlog: Backlog, planned: t.Collection[PlanEntry], destination: Connection
) -> t.Iterator[tuple[PlanEntry, int]]:
    """The entries whose groups stand among the copied records now, with the offset that they have committed."""
    for entry, start, reading, end in _standings(backlog, planned, destination):
        commit = reading.offsets.get(entry.partition)
        if commit is not None and start <= commit.offset < end:
            yield entry, commit.offset


def _standings(
    backlog: Backlog, planned: t.Collection[PlanEntry], destination: Connection
) -> t.Iterator[tuple[PlanEntry, int, GroupReading, int]]:
    """Of each entry with an offset: that offset, its group as it is now, and where the copied records end."""
    readings = groups.read_groups(destination, sorted({entry.group for entry in planned}))
    ends = {each.destination: each.place(each.end) for each in backlog.ranges}
    for entry in planned:
        if entry.offset is not None and entry.partition in ends:
            yield entry, entry.offset, readings[entry.group], ends[entry.partition]


def _lines(backlog: Backlog, receipt: Receipt | None) -> t.Mapping[Key, ReceiptEntry]:
    """What a receipt says of the topics that are copied to, as far as they are those that it was written for."""
    return receipt.as_far_as_of(backlog.destination_identity).by_key if receipt else {}


def _given(lines: t.Mapping[Key, ReceiptEntry]) -> set[tuple[str, str]]:
    """The groups that a commit has set, with the topics. What has no line there had its offset before, or was left alone."""
    return {(line.group, line.partition.topic) for line in lines.values() if line.is_confirmed}


def unsure_notes(unsure: t.Collection[PlanEntry]) -> list[Note]:
    """A note of the group-partitions that keep settings suspended, although they stand after what was copied."""
    text = (
        "Settings stay suspended, because nobody knows whether these groups have consumed what was copied: "
        f"{first_of([f'{entry.group} ({entry.partition})' for entry in unsure])}. "
        "They have committed offsets after it, but no receipt says that they were set before it, or no consumer has joined "
        "them since; or they were set, and have no committed offset any more. "
        f"If they have consumed it, set {option_name('restore_retention')}."
    )
    return [Note(NoteKind.SETTINGS_SUSPENDED, text)] if unsure else []


def copy_notes(backlog: Backlog, ranges: t.Collection[RangeSummary], planned: t.Iterable[PlanEntry]) -> list[Note]:
    """What is lost, left alone, or was copied otherwise than it should be."""
    notes = []
    if lost := [
        f"{each.range.source} ({each.lost:,} offsets of {names_text(each.groups)})" for each in ranges if each.lost
    ]:
        named = first_of(lost, more="more partitions")
        text = f"Unconsumed records have left the source's logs, and are lost: {named}."
        notes.append(Note(NoteKind.RECORDS_EXPIRED, text))
    # Where records are, and a group of the topic has committed nothing.
    holding = {each.range.destination: each.range.source for each in ranges if each.left or each.range.copies}
    uncommitted = (entry for entry in planned if entry.verdict is Verdict.UNCOMMITTED)
    alone = [f"{entry.group} {holding[entry.partition]}" for entry in uncommitted if entry.partition in holding]
    if alone:
        text = (
            f"Not planned, because they have no committed offset at the source ({option_name('on_uncommitted')}: ignore): "
            f"{first_of(alone)}. Partitions without any committed offset are not copied. On the others, these groups start "
            "according to their auto.offset.reset."
        )
        notes.append(Note(NoteKind.UNCOMMITTED, text))
    stamped = 0
    for each in backlog.ranges:
        if each.done is not None and each.done.expired:
            text = (
                f"{each.source}: {each.done.expired:,} offsets expired at the source after the copy was planned, before they "
                "were copied."
            )
            notes.append(Note(NoteKind.RECORDS_EXPIRED, text))
        stamped += each.done.without_timestamp if each.done is not None else 0
    if stamped:
        text = f"{stamped:,} records have the timestamp 0, which cannot be written, and have 1 (ms) at the destination."
        notes.append(Note(NoteKind.TIMESTAMP_CHANGED, text))
    return notes


def _entry(draft: Draft, backlog_range: BacklogRange, on_uncommitted: OnUncommitted) -> PlanEntry:
    offset = standing(draft, backlog_range.start, backlog_range.end, on_uncommitted)
    if offset is None:
        return draft.entry(Verdict.UNCOMMITTED, detail="no commit at the source: left alone (on_uncommitted: ignore)")
    place = backlog_range.place(max(offset, backlog_range.start))
    if draft.committed is None:
        detail = f"no commit at the source: the backlog's {on_uncommitted} (on_uncommitted: {on_uncommitted})"
        return draft.entry(Verdict.REQUESTED, place, repeats=0, detail=detail)
    lost, said, done = max(0, backlog_range.start - offset), [], backlog_range.done
    if lost:
        said.append(f"{lost:,} offsets from {offset} on had left the source's log before the copy")
    if expired := _expired_meanwhile(backlog_range, max(offset, backlog_range.start), place):
        lost += expired
        said.append(f"up to {expired:,} offsets left it during the copy, before they were copied")
    # Not each offset need be a record.
    reason, bound = (Reason.EXPIRED, Bound.AT_MOST) if lost else (None, Bound.EXACTLY)
    parts = FINGERPRINTED if done is not None and done.without_timestamp else PARTS
    proof = OwnCopy(backlog_range.begin, place, backlog_range.place(backlog_range.end))
    decision = Decision.exact(proof, place, reason, "; ".join(said), matched_by=parts, lost=lost, lost_bound=bound)
    return decided(draft, decision)


def _expired_meanwhile(backlog_range: BacklogRange, offset: int, place: int) -> int:
    """How many offsets, at most, had left the source from a group's offset on before they could be copied to its place."""
    done = backlog_range.done
    if done is None:
        return 0
    copied = max(0, done.records - (place - backlog_range.begin))  # from there on, at least
    return max(0, min(done.expired, backlog_range.end - offset - copied))
