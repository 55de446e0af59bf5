# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What has become of each migrated group, from the files of its migration and from what both clusters say now. Pure."""

from __future__ import annotations

import collections
import typing as t

from .cluster_identity import LogRange
from .documents import utc_text
from .group_lag import GroupLag, lag_members, lag_on
from .group_state import CommittedOffset, GroupReading
from .grouping import values_by_key
from .migrated_groups import GroupFiles
from .next_steps import GroupState, incomplete_line, next_step
from .receipt import ReceiptEntry
from .records import TopicPartition
from .visible_text import table, unbroken
from .wording import first_of

Readings = t.Mapping[str, GroupReading]
_NOT_ASKED = GroupReading("", False, "", "", "", {})
_WHY_LAGS_DIFFER = (
    "Lags count offsets: they differ where one cluster has transaction markers or records that the other lacks (compacted, "
    "expired, its own, or still to be copied), or where partitions are left out."
)


class Deleted(t.NamedTuple):
    """The topics of the migrated groups that do not exist any more. Not those that the user may not describe."""

    at_source: t.Collection[str] = ()
    at_destination: t.Collection[str] = ()


NONE_DELETED = Deleted()


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
    rests on. deleted: the topics of its committed offsets that are gone with them.

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
    deleted: tuple[str, ...] = ()

    @property
    def next(self) -> str:
        """What somebody has to do, as a clause."""
        return next_step(
            self.state,
            self.files,
            in_use_at_source=self.in_use_at_source,
            in_use_at_destination=self.in_use_at_destination,
            left_out=self.left_out,
            is_gone_at_source=self.is_gone_at_source,
            deleted=self.deleted,
        )

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


def assess(
    files: GroupFiles,
    source: Readings | None,
    destination: Readings,
    source_logs: t.Mapping[TopicPartition, LogRange],
    destination_logs: t.Mapping[TopicPartition, LogRange],
    way_back: WayBack,
    deleted: Deleted = NONE_DELETED,
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
    gone = {line.partition.topic for line, now in others if now is None and line not in pending}
    deleted_topics = gone.intersection(deleted.at_source if files.is_returned else deleted.at_destination)
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
        tuple(sorted(deleted_topics)),
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
    return [incomplete_line(group.files, group.left_out) for group in groups if group.left_out]


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
