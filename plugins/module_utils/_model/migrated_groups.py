# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What the files of a migration know of each of its groups. Pure."""

from __future__ import annotations

import typing as t

from .group_state import same_commit
from .grouping import values_by_key
from .lease import OpenRun
from .plan import Plan, PlanEntry
from .receipt import Key, Receipt, ReceiptEntry
from .records import TopicPartition
from .verdicts import Verdict
from .visible_text import names_text, visible_name

_CAUSES = "plan.json, report.json and the report"


class GroupRun(t.NamedTuple):
    """A run that has carried out its plan of a group. ended: as Unix time. left_out: those of the entries that it has not.

    kept_in: the folder of the history with this plan, None where it is the last one of the directory.
    """

    ended: float
    entries: tuple[PlanEntry, ...]
    left_out: tuple[PlanEntry, ...] = ()
    kept_in: str | None = None


_NO_RUN = GroupRun(0.0, ())


class DirectoryRuns(t.NamedTuple):
    """What the runs of a directory have done, by group. carried_out: the last one that has migrated each.

    unconfirmed: the groups that a run has failed to read back after it had committed them, and none has read back.
    """

    carried_out: t.Mapping[str, GroupRun] = {}
    unconfirmed: frozenset[str] = frozenset()


class DirectoryFiles(t.NamedTuple):
    """The files in one directory. receipt: also with what runs have found as it had to be. returned: that of the return.

    synced: when the last round of each of the destination's groups ended that was not cut over since, as Unix time. objected:
    what has failed verification, of the last plan of each group. open_run: one that has not ended. earlier: what earlier plans
    have of groups that this one lacks, and of what is written, newest first. return_runs: those of the return, by group at the
    source. kept_in: the folder of the history with the last plan, of each group that this one lacks.
    """

    directory: str
    plan: Plan | None
    receipt: Receipt | None
    returned: Receipt | None
    synced: t.Mapping[str, float] = {}
    objected: frozenset[Key] = frozenset()
    open_run: OpenRun | None = None
    runs: DirectoryRuns = DirectoryRuns()
    earlier: tuple[PlanEntry, ...] = ()
    return_runs: DirectoryRuns = DirectoryRuns()
    kept_in: t.Mapping[str, str] = {}


class GroupFiles(t.NamedTuple):
    """What one directory knows of one group of the destination. is_synced: by rounds, and neither cut over nor migrated since.

    written: the receipt's entries that are not rolled back. returned: entries of the return's receipt, of groups at the source.
    source: what the group's partitions are made of, each with the committed offset that what is written rests on, or else the
    last plan, None if unknown. consumed: the partitions of its last plan on which it has committed offsets at the source.
    blocked: those of them that the plan blocks or that have failed verification, and that no earlier run has written, or that
    the run of this plan has left out, and none has written from the same commits at the source. migrated: when the last run
    ended that has migrated all of it, as Unix time; else 0.
    is_unconfirmed: the run that has committed it last, or returned it, has failed as it read that back.
    unreturned: what the return has left out at the source. is_replanned: its last plan was not carried out, and has another
    offset than is written, or none, and nobody knows what that rests on.
    kept_in: the folder of the history with its last plan, or with that of its return; None where no later plan has replaced it.
    """

    group: str
    directory: str
    is_rolled_back: bool
    is_synced: bool
    written: tuple[ReceiptEntry, ...]
    returned: tuple[ReceiptEntry, ...]
    source: dict[tuple[str, TopicPartition], int | None]
    partitions: frozenset[TopicPartition]
    consumed: frozenset[TopicPartition] = frozenset()
    blocked: frozenset[TopicPartition] = frozenset()
    open_run: OpenRun | None = None
    migrated: float = 0.0
    is_replanned: bool = False
    is_unconfirmed: bool = False
    unreturned: frozenset[Key] = frozenset()
    kept_in: str | None = None

    @property
    def source_groups(self) -> list[str]:
        """The groups at the source, by name."""
        return sorted({group for group, _partition in self.source})

    @property
    def shown(self) -> str:
        """The group for a message: by its names at the source, as the playbooks know it, and as it is called now."""
        named = visible_name(self.group)
        return named if self.source_groups in ([], [self.group]) else f"{names_text(self.source_groups)} as {named}"

    @property
    def causes(self) -> str:
        """The files that say what its last plan leaves out, or that of its return."""
        return _CAUSES if self.kept_in is None else f"plan.json and report.json in {self.kept_in}"

    @property
    def committed_at(self) -> int | None:
        """When the group was last committed at the destination, as Unix time; None where it is not, or nobody has noted it."""
        return _last(self.written)

    @property
    def is_left_out(self) -> bool:
        """Has an earlier run left out the group as a whole, of which nothing was ever written?"""
        return self.kept_in is not None and not self.written and not self.is_rolled_back

    @property
    def can_roll_back(self) -> bool:
        """Has a run of this directory written anything that was not there already?"""
        return any(not same_commit(line.before, line.written) for line in self.written)

    @property
    def is_returned(self) -> bool:
        """Has the group been returned since it was migrated, whether that had to write anything or not?"""
        return bool(self.returned) and (_last(self.returned) or 0) >= self._migrated_at

    @property
    def _migrated_at(self) -> int:
        return max(self.committed_at or 0, int(self.migrated))

    def after_return(self, runs: DirectoryRuns) -> GroupFiles:
        """The same with what these runs of the return have done, if it is returned."""
        if not self.is_returned:
            return self
        names = {line.group for line in self.returned}
        its = [runs.carried_out[name] for name in sorted(names & runs.carried_out.keys())]
        left = {
            entry.key
            for each in its
            for entry in each.left_out
            if any(at.group == self.group and at.offset is not None for at in entry.source)
        }
        # What an earlier one has set since the migration needs no other.
        is_set = {line.key for line in self.returned if (line.time or 0) >= self._migrated_at}
        return self._replace(
            is_unconfirmed=bool(names & runs.unconfirmed),
            unreturned=frozenset(left - is_set),
            kept_in=next((each.kept_in for each in its if each.left_out), None),
        )


def groups_of(files: DirectoryFiles) -> list[GroupFiles]:
    """What a directory knows of each group, by name. A group that no run has committed is in its last plan alone."""
    lines = files.receipt.entries if files.receipt else ()
    back = files.returned.entries if files.returned else ()
    entries = files.plan.entries if files.plan else ()
    written = values_by_key((line.group, line) for line in lines)
    returned = values_by_key((group, line) for line in back for group in {origin.group for origin in line.origins})
    planned = values_by_key((entry.group, entry) for entry in entries)
    earlier = values_by_key((entry.group, entry) for entry in files.earlier)
    return [
        _group_files(
            files,
            group,
            written.get(group, []),
            returned.get(group, []),
            planned.get(group, []),
            earlier.get(group, []),
        )
        for group in sorted({*written, *planned, *earlier})
    ]


def _group_files(
    files: DirectoryFiles,
    group: str,
    written: list[ReceiptEntry],
    returned: list[ReceiptEntry],
    planned: list[PlanEntry],
    earlier: list[PlanEntry],
) -> GroupFiles:
    kept = tuple(line for line in written if line.written is not None)
    offsets = {line.partition: line.written.offset for line in kept if line.written is not None}
    last: dict[TopicPartition, PlanEntry] = {}
    rests_on: dict[TopicPartition, PlanEntry] = {}
    for entry in (*planned, *earlier):
        last.setdefault(entry.partition, entry)
        if entry.offset is not None and entry.offset == offsets.get(entry.partition):
            rests_on.setdefault(entry.partition, entry)
    source: dict[tuple[str, TopicPartition], int | None] = {origin: None for line in written for origin in line.source}
    for at in (at for entry in (last | rests_on).values() for at in entry.source):
        known = source.get((at.group, at.partition))
        source[at.group, at.partition] = at.offset if known is None or at.offset is None else min(known, at.offset)
    done, run = files.runs.carried_out.get(group, _NO_RUN), files.open_run
    is_carried_out = bool(done.entries) and all(last.get(entry.partition) == entry for entry in done.entries)
    migrated = done.ended if not done.left_out and any(map(_rests_on_offset, done.entries)) else 0.0
    consumed = [entry for entry in last.values() if _rests_on_offset(entry)]
    # What an earlier run has set from the same commits at the source needs no other, whatever blocks it now.
    fails = {
        entry.partition
        for entry in consumed
        if entry.key in files.objected
        or (entry.verdict is Verdict.BLOCKED and not _rests_alike(entry, rests_on.get(entry.partition)))
    }
    is_replanned = not is_carried_out and any(
        partition in offsets and partition not in rests_on and _rests_on_offset(entry)
        for partition, entry in last.items()
    )
    return GroupFiles(
        group,
        files.directory,
        is_rolled_back=bool(written) and not kept,
        is_synced=max(_last(written) or 0, migrated) <= files.synced.get(group, -1.0),
        written=kept,
        returned=tuple(line for line in returned if line.written is not None),
        source=source,
        partitions=frozenset({line.partition for line in written} | last.keys()),
        consumed=frozenset(entry.partition for entry in consumed),
        blocked=frozenset(fails if is_carried_out else fails - {*offsets}),
        open_run=run if run is not None and run.concerns(bool(planned)) else None,
        migrated=migrated,
        is_replanned=is_replanned,
        is_unconfirmed=group in files.runs.unconfirmed,
        kept_in=files.kept_in.get(group),
    ).after_return(files.return_runs)


def _rests_alike(entry: PlanEntry, other: PlanEntry | None) -> bool:
    return other is not None and [at[:3] for at in entry.source] == [at[:3] for at in other.source]


def _rests_on_offset(entry: PlanEntry) -> bool:
    return any(at.offset is not None for at in entry.source)


def _last(lines: t.Iterable[ReceiptEntry]) -> int | None:
    return max((line.time for line in lines if line.time is not None), default=None)
