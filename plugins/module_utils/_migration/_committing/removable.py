# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which groups of the source may be removed, because others have got all that they had committed. Pure."""

from __future__ import annotations

import typing as t

from ..._model.errors import Refused
from ..._model.failure_kinds import FailureKind
from ..._model.group_state import commit_text, same_commit
from ..._model.option_names import option_name
from ..._model.plan import Plan, PlanEntry
from ..._model.policies import OnBlocked
from ..._model.receipt import Receipt
from . import conflicts
from .conflicts import Commits

_CONNECTOR = "connect-"  # Kafka Connect calls the group of a sink connector so, and its name follows


def source_groups(plan: Plan) -> list[str]:
    """The groups that the plan gives to others, by name."""
    return sorted({at.group for entry in plan.entries for at in entry.source if at.offset is not None})


def check_names(plan: Plan, cluster: str) -> None:
    """Raise Refused where a group is to be removed that a connector needs or that is a new one as well, or for two clusters."""
    difference = plan.source_identity.difference(plan.destination_identity)
    if difference is not None:
        raise Refused(
            f"the plan is from one cluster to another: the destination {difference}",
            cluster=cluster,
            why="only groups that got another name inside one cluster are removed",
            remedy="leave the groups at the source: they are the way back",
            kind=FailureKind.OTHER_CLUSTER,
        )
    connector = next((group for group in source_groups(plan) if group.startswith(_CONNECTOR)), None)
    if connector is not None:
        raise Refused(
            f"the group belongs to the sink connector {connector.removeprefix(_CONNECTOR)} of Kafka Connect",
            cluster=cluster,
            group=connector,
            why="without it, the connector would start anew",
            remedy="do not remove the old groups; once the connector is gone, delete its group by hand",
            kind=FailureKind.INVALID_OPTION,
        )
    both = sorted({entry.group for entry in plan.entries} & set(source_groups(plan)))
    if both:
        raise Refused(
            "the group is to be removed, and it is a new name in the plan, too",
            cluster=cluster,
            group=both[0],
            remedy="give the new groups names that no selected group has, or do not remove the old ones",
            kind=FailureKind.INVALID_OPTION,
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
    for entry in plan.entries:
        for at in entry.source if entry.key not in given else ():
            policy = f"{option_name('on_blocked')}: {on_blocked}"
            why = f"{entry.group} does not get its offset {at.offset} of {at.partition} ({policy})"
            if at.offset is not None:
                lines.setdefault(at.group, f"{at.group}: is not removed, because {why}")
    return dict(sorted(lines.items()))


def check_covered(plan: Plan, current: Commits, cluster: str) -> None:
    """Raise Refused for a committed offset that the plan gives to no other group."""
    planned = {
        (at.group, at.partition): (at.offset, entry)
        for entry in plan.entries
        for at in entry.source
        if at.offset is not None
    }
    for key, committed in sorted(current.items()):
        offset, entry = planned.get(key, (None, None))
        if offset == committed.offset and entry is not None and entry.target is not None:
            continue
        if offset is None:
            what, remedy = "which no new group gets", "select all topics of the group, or do not remove it"
        elif offset != committed.offset:
            what, remedy = f"and the plan was made for {offset}", "stop its consumers, and run the same again"
        else:
            what = "and no new group gets it"
            remedy = f"remove the cause and plan again, or keep such groups by {option_name('on_blocked')}: skip_group"
        lost = f"the group has committed offset {committed.offset}, {what}: without the group it would be lost"
        raise conflicts.entry_refusal(key, lost, cluster, remedy, FailureKind.ENTRY_MISSING)


def check_given(plan: Plan, receipt: Receipt | None, groups: t.Collection[str], current: Commits, cluster: str) -> None:
    """Raise Refused unless the new groups have what the plan gives them of these groups, or have consumed since."""
    written = receipt.by_key if receipt is not None else {}
    for entry in plan.entries:
        if entry.target is None or not _is_of(entry, groups):
            continue
        commit, ours = current.get(entry.key), written.get(entry.key)
        if same_commit(commit, entry.target):
            continue
        if ours is not None and ours.written == entry.target and ours.explains(commit):
            continue
        raise conflicts.entry_refusal(
            entry.key,
            f"the group has the committed offset {commit_text(commit)}, and not {commit_text(entry.target)} of the plan",
            cluster,
            why=f"{entry.source[0].group} is removed only after this offset was committed",
            remedy="commit the plan first",
            kind=FailureKind.DESTINATION_CHANGED,
        )


def check_order(names: t.Container[str], removed: t.Container[str], receipt: Receipt | None, cluster: str) -> None:
    """Raise Refused where a group would be made again although its new group was renamed as well, and goes on as another.

    names: the groups to make again. removed: groups that do not exist, because they were removed.
    """
    for entry in receipt.entries if receipt is not None else ():
        old = next((origin.group for origin in entry.origins if origin.group in names), None)
        if old is not None and entry.written is not None and entry.group in removed:
            raise Refused(
                f"the group became {entry.group}, which was renamed as well",
                cluster=cluster,
                group=old,
                why="made again beside the last new name, both would consume the same records",
                remedy=f"roll back {entry.group} first",
                kind=FailureKind.INVALID_OPTION,
            )


def _is_of(entry: PlanEntry, groups: t.Collection[str]) -> bool:
    return any(at.group in groups and at.offset is not None for at in entry.source)
