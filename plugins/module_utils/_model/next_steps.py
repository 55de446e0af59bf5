# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What somebody has to do next with a migrated group, by what has become of it. Pure."""

from __future__ import annotations

import enum
import typing as t

from .lease import UNFINISHED
from .migrated_groups import GroupFiles
from .wording import counted, first_names


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
_THEN_AGAIN = f"then run {_MIGRATE} ({_RETURN} if they were returned), which says what each way on repeats"
NEXT = {
    GroupState.AT_SOURCE: f"stop the consumers at the source, and run {_MIGRATE}, which goes on from where they have stopped",
    GroupState.MOVED: f"find out who has committed other offsets; then run {_ROLL_BACK} and {_MIGRATE}",
    GroupState.GONE: "find out whether the committed offsets have expired, or somebody has removed or renamed the group; "
    + _THEN_AGAIN,
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

_STOP = "stop the consumers at the destination first; then "
_RESTORE = (
    "; before any consumers start at the source, restore their committed offsets, which are gone there, from snapshot.json or "
    "from that of their run in history/"
)
_DELETED = (
    "{topics} {verb} not exist at the {cluster} any more, and brokers remove the committed offsets of a deleted topic: find "
    "out who has deleted {it}, and whether the group still needs {it}; "
) + _THEN_AGAIN
_BLOCKED = f"remove what blocks partitions or fails verification, which {{causes}} name, and run {_MIGRATE} again"
_PLAN_REPLACED = f"run {_MIGRATE}, which makes a new plan, because plan.json has other groups by now"

# In any other state, who starts consumers, or looks for others' commits, would take what a run has half done for its end.
_NEEDS_NO_END = {GroupState.AT_SOURCE, GroupState.COMMITTED, GroupState.PLANNED, GroupState.AT_DESTINATION}


def next_step(
    state: GroupState,
    files: GroupFiles,
    *,
    in_use_at_source: bool | None,
    in_use_at_destination: bool,
    left_out: int,
    is_gone_at_source: bool,
    deleted: t.Sequence[str] = (),
) -> str:
    """A clause. left_out: how many partitions; the others: as in a GroupStatus."""
    if files.open_run is not None and state is GroupState.PLANNED:
        return files.open_run.next_of_planned
    is_idle = state is GroupState.AT_SOURCE and not in_use_at_source
    if files.open_run is not None and (state not in _NEEDS_NO_END or is_idle):
        is_complete = state is GroupState.NOT_STARTED and not left_out
        return files.open_run.next_of_complete if is_complete else files.open_run.next
    if state is GroupState.PLANNED and files.blocked:
        return _BLOCKED.format(causes=files.causes)
    if state is GroupState.PLANNED and files.kept_in is not None:
        return _PLAN_REPLACED
    if state is GroupState.GONE and deleted:
        return _deleted(files, deleted)
    is_undone = state in (GroupState.ROLLED_BACK, GroupState.RETURNED)
    is_lost = is_gone_at_source and state in (GroupState.ROLLED_BACK, GroupState.NOT_STARTED)
    step = (
        (files.is_unconfirmed and _OF_UNCONFIRMED.get(state)) or (left_out and _OF_LEFT_OUT.get(state)) or NEXT[state]
    )
    if not files.can_roll_back:
        step = step.replace(f", or run {_ROLL_BACK}", "").replace(f"{_ROLL_BACK} and ", "")
    return _STOP * (is_undone and in_use_at_destination) + step + _RESTORE * is_lost


def _deleted(files: GroupFiles, names: t.Sequence[str]) -> str:
    several = bool(names[1:])
    return _DELETED.format(
        topics=f"{'topics' if several else 'topic'} {first_names(names)}",
        verb="do" if several else "does",
        cluster="source" if files.is_returned else "destination",
        it="them" if several else "it",
    )


def incomplete_line(files: GroupFiles, left_out: int) -> str:
    """What a migration, or its return, has left out of a group, and what to do. left_out: how many partitions."""
    partitions = counted(len(files.consumed), "partition")
    what, directory, playbook = f"{left_out:,} of {partitions} left out", files.directory, _MIGRATE
    if files.is_returned:
        what = f"its return has left out {counted(left_out, 'partition')}"
        directory, playbook = f"{files.directory}/return", _RETURN
    elif not files.written:
        what = f"nothing is written; {left_out:,} of {partitions} blocked"
    causes = f"{files.causes} in {directory}" if files.kept_in is None else files.causes
    return f"{files.shown}: {what}: {causes} say why. Remove the cause, and run {playbook} again."
