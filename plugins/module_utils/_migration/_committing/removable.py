# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which groups of the source may be removed, because others have got all that they had committed. Pure."""

from __future__ import annotations

import typing as t

from ..._model.errors import DestinationChanged, EntryMissing, OptionRefused, OtherCluster
from ..._model.group_state import GroupReading, commit_text, same_commit
from ..._model.grouping import values_by_key
from ..._model.option_names import option_name
from ..._model.plan import Plan, PlanEntry, SourcePosition
from ..._model.policies import OnAdvance, OnBlocked, OnRewind, keeps
from ..._model.receipt import Key, Receipt, ReceiptEntry
from ..one_cluster import check_none_is_both
from . import conflicts
from .conflicts import Commits, Target

_CONNECTOR = "connect-"  # Kafka Connect calls the group of a sink connector so, and its name follows


def source_groups(plan: Plan) -> list[str]:
    """The groups that the plan gives to others, by name."""
    return sorted({at.group for entry in plan.entries for at in _given_up(entry)})


def _given_up(entry: PlanEntry) -> list[SourcePosition]:
    """The committed offsets that become this one."""
    return [at for at in entry.source if at.offset is not None]


def check_names(plan: Plan, cluster: str) -> None:
    """Raise Refused where a group is to be removed that a connector needs or that is a new one as well, or for two clusters."""
    difference = plan.source_identity.difference(plan.destination_identity)
    if difference is not None:
        raise OtherCluster(
            f"the plan is from one cluster to another: the destination {difference}",
            cluster=cluster,
            why="only groups that got another name inside one cluster are removed",
            remedy="leave the groups at the source: they are the way back",
        )
    connector = next((group for group in source_groups(plan) if group.startswith(_CONNECTOR)), None)
    if connector is not None:
        raise OptionRefused(
            f"the group belongs to the sink connector {connector.removeprefix(_CONNECTOR)} of Kafka Connect",
            cluster=cluster,
            group=connector,
            why="without it, the connector would start anew",
            remedy="do not remove the old groups; once the connector is gone, delete its group by hand",
        )
    check_none_is_both(
        source_groups(plan),
        {entry.group for entry in plan.entries},
        cluster,
        "the group is to be removed, and it is a new name in the plan, too",
        remedy="give the new groups names that no selected group has, or do not remove the old ones",
    )


def kept_groups(plan: Plan, on_blocked: OnBlocked, cluster: str) -> dict[str, str]:
    """The old groups that stay because on_blocked leaves a new group without an offset of theirs, and a line for each.

    None with fail, which refuses them.
    """
    if on_blocked == OnBlocked.FAIL:
        return {}
    remaining, _blocked, _whole = conflicts.without_blocked(plan.entries, on_blocked, cluster)
    given = {entry.key for entry in remaining}
    lines: dict[str, str] = {}
    policy = f"{option_name('on_blocked')}: {on_blocked}"
    for entry in plan.entries:
        for at in _given_up(entry) if entry.key not in given else ():
            why = f"{entry.group} does not get its offset {at.offset} of {at.partition} ({policy})"
            lines.setdefault(at.group, f"{at.group}: is not removed, because {why}")
    return lines


def check_covered(plan: Plan, current: Commits, cluster: str) -> None:
    """Raise Refused for a committed offset that the plan gives to no other group."""
    planned = values_by_key(
        ((at.group, at.partition), (at.offset, entry.target)) for entry in plan.entries for at in _given_up(entry)
    )
    for key, committed in sorted(current.items()):
        given = planned.get(key, [])
        others = [offset for offset, _target in given if offset != committed.offset]
        if not given:
            what, remedy = "which no new group gets", "select all topics of the group, or do not remove it"
        elif others:
            what, remedy = f"and the plan was made for {others[0]}", "stop its consumers, and run the same again"
        elif all(target is not None for _offset, target in given):
            continue
        else:
            what = "and a new group does not get it"
            remedy = f"remove the cause and plan again, or keep such groups by {option_name('on_blocked')}: skip_group"
        lost = f"the group has committed offset {committed.offset}, {what}: without the group it would be lost"
        raise conflicts.entry_refusal(key, lost, cluster, remedy, EntryMissing)


def left_groups(
    plan: Plan,
    receipt: Receipt | None,
    readings: t.Mapping[str, GroupReading],
    on_rewind: OnRewind,
    on_advance: OnAdvance,
) -> dict[str, str]:
    """The old groups that stay because a policy leaves a new group at another offset, and a line for each."""
    lines: dict[str, str] = {}
    for entry, now, ours in _not_given(plan, receipt, set(source_groups(plan)), readings):
        is_new = now is None and not (ours and ours.is_confirmed)  # then it gets its offset by the commit
        if not is_new and keeps(now and now.offset, entry.offset or 0, on_rewind, on_advance):
            what = f"{entry.group} is left at {commit_text(now)} instead of {commit_text(entry.target)}"
            for at in _given_up(entry):
                lines.setdefault(at.group, f"{at.group}: is not removed, because {what}")
    return lines


def check_given(
    plan: Plan,
    receipt: Receipt | None,
    groups: t.Collection[str],
    readings: t.Mapping[str, GroupReading],
    cluster: str,
) -> None:
    """Raise Refused unless the new groups have what the plan gives them of these groups, or have consumed since."""
    for entry, now, ours in _not_given(plan, receipt, groups, readings):
        what = f"the group has the committed offset {commit_text(now)}, and not {commit_text(entry.target)} of the plan"
        remedy = "commit the plan first"
        if ours is not None and ours.has_moved_alone(now, readings[entry.group].had_members):
            what += ", although no consumer has ever joined it"
            remedy = (
                f"start a consumer of {entry.group} once if it may go on there; "
                f"or commit the plan with {option_name('on_rewind')}: rewind"
            )
        raise conflicts.entry_refusal(
            entry.key,
            what,
            cluster,
            why=f"{entry.source[0].group} is removed only after this offset was committed",
            remedy=remedy,
            error=DestinationChanged,
        )


def _not_given(
    plan: Plan, receipt: Receipt | None, groups: t.Collection[str], readings: t.Mapping[str, GroupReading]
) -> t.Iterator[tuple[PlanEntry, Target, ReceiptEntry | None]]:
    """What these groups give to new ones that have something else, and have not consumed since.

    Each with what the new group has now, and with the line of the receipt if the plan was committed.
    """
    for entry in plan.entries:
        reading, ours = readings[entry.group], receipt.line_of(entry) if receipt is not None else None
        now = reading.offsets.get(entry.partition)
        is_given = same_commit(now, entry.target) or (ours is not None and ours.accounts_for(reading))
        is_of_these = any(at.group in groups for at in _given_up(entry))
        if entry.target is not None and is_of_these and not is_given:
            yield entry, now, ours


def check_order(names: t.Container[str], removed: t.Container[str], receipt: Receipt | None, cluster: str) -> None:
    """Raise Refused where a group would be made again although its new group was renamed as well, and goes on as another.

    names: the groups to make again. removed: groups that do not exist, because they were removed.
    """
    for entry in receipt.entries if receipt is not None else ():
        old = next((origin.group for origin in entry.origins if origin.group in names), None)
        if old is not None and entry.written is not None and entry.group in removed:
            raise OptionRefused(
                f"the group became {entry.group}, which was renamed as well",
                cluster=cluster,
                group=old,
                why="made again beside the last new name, both would consume the same records",
                remedy=f"roll back {entry.group} first",
            )


def check_not_given(wanted: t.Container[Key], current: Commits, receipt: Receipt | None, cluster: str) -> None:
    """Raise Refused where a removed group has got offsets of another one since, because its name was given to that.

    wanted: what is to be made again, and differs now. A rollback of both would take from the group what it gets here.
    """
    for entry in receipt.entries if receipt is not None else ():
        old = next((origin.group for origin in entry.origins if origin.group != entry.group), None)
        if old is not None and entry.written is not None and entry.key in wanted and entry.key in current:
            raise conflicts.entry_refusal(
                entry.key,
                f"the group was removed, and {old} has got its name since",
                cluster,
                why=f"made again, the group would lose the committed offset that it has from {old}",
                remedy=f"roll back {old} first",
                error=OptionRefused,
            )
