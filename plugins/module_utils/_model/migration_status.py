# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What has become of each migrated group, from the files of its migration and from what both clusters say now. Pure."""

from __future__ import annotations

import collections
import enum
import typing as t

from .cluster_identity import LogRange
from .documents import utc_text
from .group_lag import GroupLag, lag_members, lag_on
from .group_state import CommittedOffset, GroupReading, same_commit
from .grouping import values_by_key
from .lease import UNFINISHED, OpenRun
from .plan import Plan, PlanEntry
from .receipt import Key, Receipt, ReceiptEntry
from .records import TopicPartition
from .verdicts import Verdict
from .visible_text import names_text, table, unbroken, visible_name
from .wording import counted, first_of

Readings = t.Mapping[str, GroupReading]
_NOT_ASKED = GroupReading("", False, "", "", "", {})


class GroupState(enum.StrEnum):
    """What has become of a group. What needs somebody first comes first."""

    AT_SOURCE = "consuming_at_source"
    MOVED = "moved"
    GONE = "commits_gone"
    UNFINISHED = "unfinished"
    NOT_STARTED = "not_started"
    COMMITTED = "committed"
    PLANNED = "planned"
    ROLLED_BACK = "rolled_back"
    RETURNED = "returned"
    AT_DESTINATION = "consuming_at_destination"


_MIGRATE, _RETURN = "streamshift.kafka.migrate_groups", "streamshift.kafka.return_groups"
_ROLL_BACK = "streamshift.kafka.rollback"
_PHASE = "-e group_migration_phase"
NEXT = {
    GroupState.AT_SOURCE: f"stop the consumers at the source, and run {_MIGRATE}, which goes on from where they have stopped",
    GroupState.MOVED: f"find out who has committed other offsets; then run {_ROLL_BACK} and {_MIGRATE}",
    GroupState.GONE: "find out whether the committed offsets have expired, or somebody has removed or renamed the group; then "
    f"run {_MIGRATE} ({_RETURN} if they were returned), which says what each way on repeats",
    GroupState.UNFINISHED: UNFINISHED,
    GroupState.NOT_STARTED: f"start the consumers at the destination, or run {_ROLL_BACK}",
    GroupState.COMMITTED: "stop the consumers at the source, and run the playbook of the rounds with its phase cut_over, "
    f"such as {_MIGRATE} {_PHASE}=cut_over",
    GroupState.PLANNED: f"look at the plan, and run {_MIGRATE} {_PHASE}=apply for all groups of the plan",
    GroupState.ROLLED_BACK: f"start the consumers at the source, or run {_MIGRATE}",
    GroupState.RETURNED: f"start the consumers at the source, or run {_MIGRATE}",
    GroupState.AT_DESTINATION: f"nothing to do; to go back, run {_RETURN}",
}
# The same for a group of which partitions are left out. Consumers would start on these by auto.offset.reset.
_OF_LEFT_OUT = {
    GroupState.NOT_STARTED: "do not start the consumers at the destination, because partitions are left out: remove the cause, "
    f"and run {_MIGRATE} again, or run {_ROLL_BACK}",
    GroupState.AT_DESTINATION: "look at the partitions that are left out; to set them, stop the consumers at the destination, "
    f"and run {_MIGRATE} again; to go back, run {_RETURN}",
    GroupState.RETURNED: "do not start the consumers at the source, because the return has left partitions out: remove the "
    f"cause, and run {_RETURN} again, or roll the return back",
}
# The same for a group that the last run has failed to read back. Then nobody knows whether records would be skipped.
_OF_UNCONFIRMED = {
    GroupState.NOT_STARTED: "do not start the consumers at the destination, because the run that committed their offsets has "
    f"failed as it read them back: run it again, which says what is wrong, or run {_ROLL_BACK}",
    GroupState.AT_DESTINATION: "the run that committed the offsets has failed as it read them back: to see what is wrong, "
    f"stop the consumers at the destination, and run it again; to go back, run {_RETURN}",
    GroupState.RETURNED: "do not start the consumers at the source, because the return has failed as it read back what it had "
    "committed: run it again, which says what is wrong, or roll it back",
}

_WHY_LAGS_DIFFER = (
    "Lags count offsets: they differ where one cluster has transaction markers or records that the other lacks (compacted, "
    "expired, its own, or still to be copied), or where partitions are left out."
)
_CAUSES = "plan.json, report.json and the report"
_STOP = "stop the consumers at the destination first; then "
_RESTORE = (
    "; before any consumers start at the source, restore their committed offsets, which are gone there, from snapshot.json or "
    "from that of their run in history/"
)
_BLOCKED = f"remove what blocks partitions or fails verification, which {{causes}} name, and run {_MIGRATE} again"
_PLAN_REPLACED = f"run {_MIGRATE}, which makes a new plan, because plan.json has other groups by now"

# In any other state, who starts consumers, or looks for others' commits, would take what a run has half done for its end.
_NEEDS_NO_END = {GroupState.AT_SOURCE, GroupState.COMMITTED, GroupState.PLANNED, GroupState.AT_DESTINATION}


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


class WayBack(t.NamedTuple):
    """Until when a way back is possible, as Unix time. None: it does not end, or is over, or nobody knows.

    rollback: when brokers may delete the committed offsets at the source. returning: when all records have expired that were at
    the source when the group was committed.
    """

    rollback: float | None = None
    returning: float | None = None


class GroupStatus(t.NamedTuple):
    """One group of the destination. moved: partitions whose committed offset the receipt does not explain.

    left_out: partitions that the group consumes at the source, and that its migration has not set; if the group is returned,
    those that its return has not set. is_gone_at_source: it is not in use there, and has lost committed offsets that the plan
    rests on.

    A lag is None where no partition has a committed offset. in_use_at_source: None where the source does not answer.
    """

    files: GroupFiles
    state: GroupState
    in_use_at_source: bool | None
    in_use_at_destination: bool
    source_lag: GroupLag | None
    destination_lag: GroupLag | None
    moved: int
    way_back: WayBack
    left_out: int = 0
    is_gone_at_source: bool = False

    @property
    def next(self) -> str:
        """What somebody has to do, as a clause."""
        files = self.files
        if files.open_run is not None and self.state is GroupState.PLANNED:
            return files.open_run.next_of_planned
        is_idle = self.state is GroupState.AT_SOURCE and not self.in_use_at_source
        if files.open_run is not None and (self.state not in _NEEDS_NO_END or is_idle):
            is_complete = self.state is GroupState.NOT_STARTED and not self.left_out
            return files.open_run.next_of_complete if is_complete else files.open_run.next
        if self.state is GroupState.PLANNED and files.blocked:
            return _BLOCKED.format(causes=files.causes)
        if self.state is GroupState.PLANNED and files.kept_in is not None:
            return _PLAN_REPLACED
        is_undone = self.state in (GroupState.ROLLED_BACK, GroupState.RETURNED)
        is_lost = self.is_gone_at_source and self.state in (GroupState.ROLLED_BACK, GroupState.NOT_STARTED)
        left_out = (self.left_out and _OF_LEFT_OUT.get(self.state)) or NEXT[self.state]
        step = (files.is_unconfirmed and _OF_UNCONFIRMED.get(self.state)) or left_out
        if not files.can_roll_back:
            step = step.replace(f", or run {_ROLL_BACK}", "").replace(f"{_ROLL_BACK} and ", "")
        return _STOP * (is_undone and self.in_use_at_destination) + step + _RESTORE * is_lost

    def row(self) -> dict[str, t.Any]:
        """The group as the module returns it, and as the status file has it."""
        files = self.files
        return {
            "group": files.group,
            "state": self.state.value,
            "directory": files.directory,
            "source_groups": files.source_groups,
            "in_use_at_source": self.in_use_at_source,
            "in_use_at_destination": self.in_use_at_destination,
            **lag_members(self.source_lag, "source_"),
            **lag_members(self.destination_lag, "destination_"),
            "partitions": len(files.partitions),
            "committed": len(files.written),
            "moved": self.moved,
            "left_out": self.left_out,
            "committed_at": _utc(files.committed_at),
            "rollback_until": _utc(self.way_back.rollback),
            "return_until": _utc(self.way_back.returning),
            "next": self.next,
        }


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


def assess(
    files: GroupFiles,
    source: Readings | None,
    destination: Readings,
    source_logs: t.Mapping[TopicPartition, LogRange],
    destination_logs: t.Mapping[TopicPartition, LogRange],
    way_back: WayBack,
) -> GroupStatus:
    """What has become of a group. source, destination: the groups now. source_logs, destination_logs: the logs now.

    A source that does not answer is None: then nothing that can be seen only there is told.
    """
    at_source = collections.defaultdict(lambda: _NOT_ASKED) if source is None else source
    reading = destination[files.group]
    used_at_source = None if source is None else any(at_source[group].has_members for group in files.source_groups)
    if files.is_returned:
        lines = [] if source is None else [(line, at_source[line.group]) for line in files.returned]
    else:
        lines = [(line, reading) for line in files.written]
    others = [(line, now.offsets.get(line.partition)) for line, now in lines if not line.accounts_for(now)]
    pending = {line for line, now in others if line.is_pending(now)}
    changed = [now for line, now in others if line not in pending]
    by_others = _unexplained(others, changed)
    consumed = any(_has_consumed(line, reading) for line in files.written)
    is_set = {*reading.offsets, *(line.partition for line in files.written)}
    # What the plan rests on says nothing of what is written before the plan is carried out.
    went_on = files.is_replanned or any(
        offset is not None and (now := at_source[group].offsets.get(partition)) is not None and now.offset > offset
        for (group, partition), offset in files.source.items()
    )
    # Not of topics that are gone themselves, or that nobody may read.
    is_gone = not used_at_source and any(
        offset is not None and partition in source_logs and partition not in at_source[group].offsets
        for (group, partition), offset in files.source.items()
    )
    left_out = _left_out(files, is_set)
    files = files._replace(written=tuple(line for line in files.written if line not in pending))
    # Brokers keep the committed offsets of a group that has members, and what is gone has no date either.
    is_over = used_at_source or is_gone or not files.can_roll_back
    way_back = way_back._replace(rollback=None) if is_over else way_back
    has_ways = by_others is not GroupState.UNFINISHED and bool(files.written) and not files.is_returned
    return GroupStatus(
        files,
        _state(files, used_at_source, reading.has_members or consumed, by_others, went_on),
        used_at_source,
        reading.has_members,
        lag_on(((at_source[group], partition) for group, partition in files.source), source_logs),
        lag_on(((reading, partition) for partition in files.partitions), destination_logs),
        len(changed),
        way_back if has_ways else WayBack(),
        left_out,
        is_gone,
    )


def _unexplained(others: t.Sequence[object], changed: t.Sequence[CommittedOffset | None]) -> GroupState | None:
    """The state that other committed offsets than the receipt explains lead to. changed: those that no run has yet to set."""
    if None in changed:
        return GroupState.GONE
    if changed:
        return GroupState.MOVED
    return GroupState.UNFINISHED if others else None


def _left_out(files: GroupFiles, is_set: t.Collection[TopicPartition]) -> int:
    if files.is_rolled_back:
        return 0
    if files.is_returned:
        return len(files.unreturned)
    return sum(
        partition in files.blocked or (bool(files.written) and partition not in is_set) for partition in files.consumed
    )


def _state(
    files: GroupFiles, used_at_source: bool | None, consumed: bool, unexplained: GroupState | None, went_on: bool
) -> GroupState:
    if unexplained is GroupState.UNFINISHED:
        return unexplained
    if not files.written:
        return GroupState.ROLLED_BACK if files.is_rolled_back else GroupState.PLANNED
    if files.is_returned:
        return unexplained or GroupState.RETURNED
    if files.is_synced and not consumed:
        return unexplained or GroupState.COMMITTED
    if used_at_source:
        return GroupState.AT_SOURCE
    if unexplained:
        return unexplained
    if consumed:
        return GroupState.AT_DESTINATION
    return GroupState.AT_SOURCE if went_on else GroupState.NOT_STARTED


def _has_consumed(line: ReceiptEntry, reading: GroupReading) -> bool:
    now = reading.offsets.get(line.partition)
    return (
        line.accounts_for(reading) and now is not None and line.written is not None and now.offset > line.written.offset
    )


def _last(lines: t.Iterable[ReceiptEntry]) -> int | None:
    return max((line.time for line in lines if line.time is not None), default=None)


def _utc(time: float | None) -> str | None:
    return None if time is None else utc_text(time)


def in_order(groups: t.Iterable[GroupStatus]) -> list[GroupStatus]:
    """Those that need somebody first."""
    order = list(GroupState)
    return sorted(groups, key=lambda group: (order.index(group.state), group.files.group))


def status_table(groups: t.Sequence[GroupStatus]) -> list[str]:
    """A header, and a line for each group in columns. A lag with * is of a group that has members there.

    A line below says why lags differ, if those of a group do that should be equal.
    """
    rows = [
        (
            group.files.group,
            group.state.value,
            _lag_cell(group.source_lag, group.in_use_at_source),
            _lag_cell(group.destination_lag, group.in_use_at_destination),
            *(_utc(time) or "-" for time in group.way_back),
        )
        for group in groups
    ]
    header = ("group", "state", "source_lag", "destination_lag", "rollback_until", "return_until")
    return table(header, rows) + [_WHY_LAGS_DIFFER] * any(map(_has_other_lag, groups))


def _has_other_lag(group: GroupStatus) -> bool:
    lags = {lag.offsets for lag in (group.source_lag, group.destination_lag) if lag is not None}
    return (
        group.state is GroupState.NOT_STARTED and len(lags) > 1 and not (group.left_out or group.files.is_unconfirmed)
    )


def _lag_cell(lag: GroupLag | None, is_used: bool | None) -> str:
    return ("-" if lag is None else unbroken(str(lag))) + "*" * bool(is_used)


def incomplete_lines(groups: t.Iterable[GroupStatus]) -> list[str]:
    """A line for each group of which a migration, or its return, has left partitions out."""
    return [_incomplete_line(group.files, group.left_out) for group in groups if group.left_out]


def _incomplete_line(files: GroupFiles, left_out: int) -> str:
    partitions = counted(len(files.consumed), "partition")
    what, directory, playbook = f"{left_out:,} of {partitions} left out", files.directory, _MIGRATE
    if files.is_returned:
        what = f"its return has left out {counted(left_out, 'partition')}"
        directory, playbook = f"{files.directory}/return", _RETURN
    elif not files.written:
        what = f"nothing is written; {left_out:,} of {partitions} blocked"
    causes = f"{files.causes} in {directory}" if files.kept_in is None else files.causes
    return f"{files.shown}: {what}: {causes} say why. Remove the cause, and run {playbook} again."


def half_written(groups: t.Iterable[GroupStatus], directory: str) -> list[str]:
    """The groups of a directory, by name, that have other committed offsets than the last run was to write."""
    return sorted(
        group.files.group
        for group in groups
        if (group.moved or group.state is GroupState.UNFINISHED) and group.files.directory == directory
    )


def next_lines(groups: t.Iterable[GroupStatus]) -> list[str]:
    """For each state that occurs, and each next step, how many groups it has, and what is next for them."""
    by_step = values_by_key(((group.state, group.next), group.files.shown) for group in in_order(groups))
    return [f"{len(names):,} {state.value} ({first_of(names)}): {step}." for (state, step), names in by_step.items()]
