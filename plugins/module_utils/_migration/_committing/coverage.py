# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Does a plan cover the snapshot that it is applied to, or what is selected now? Pure."""

from __future__ import annotations

import typing as t

from ..._model.errors import EntryMissing, OtherCluster, Refused
from ..._model.faults import raise_any
from ..._model.grouping import nested, values_by_key
from ..._model.idle import moves, moves_text
from ..._model.option_names import because_of, option_name, ways
from ..._model.plan import Plan
from ..._model.policies import OnMissingEntry
from ..._model.records import TopicPartition
from ..._model.selection import Selection
from ..._model.snapshot import OpenTransaction, Snapshot, SnapshotEntry
from ..._model.visible_text import visible_name
from ..._model.wording import are, counted, first_names, first_of

_Positions = t.Mapping[tuple[str, TopicPartition], "int | None"]


class NotPlanned(t.NamedTuple):
    """What a plan has no entry for. lines: what there is to say of it.

    groups: those that lack an entry, at the destination, and those that were asked for and of which nothing was taken.
    """

    groups: frozenset[str] = frozenset()
    lines: tuple[str, ...] = ()


def check_covers(
    plan: Plan,
    snapshot: Snapshot,
    on_missing_entry: OnMissingEntry,
    kept: t.Callable[[], Snapshot | None] = lambda: None,
) -> NotPlanned:
    """Raise Refused unless the plan was made from exactly this snapshot and has an entry for everything in it.

    :param on_missing_entry: fail, or skip, which leaves out what the plan has no entry for.
    :param kept: reads the snapshot beside the plan, which serves a message alone.
    Returns what is left out so: commits by their names at the source. One that goes to several groups or partitions may lack
    a part of its entries: these are counted by the group at the destination.
    """
    difference = plan.source_identity.difference(snapshot.identity)
    if difference is not None:
        raise OtherCluster(
            f"the plan was made for another source cluster: that of the snapshot {difference}", remedy="plan again"
        )
    planned = {(at.group, at.partition): at.offset for entry in plan.entries for at in entry.source}
    taken = {(entry.group, entry.partition): entry.committed.offset for entry in snapshot.entries}
    if not snapshot.has_digest(plan.snapshot):
        others = _other_groups({group for group, _partition in planned}, {group for group, _partition in taken})
        raise Refused(
            "the selected groups that have committed offsets are not those that the plan was made for"
            if others
            else "the source's groups have moved since the plan was made, or other topics are selected now",
            why=others or _difference(planned, taken) or _other_than_offsets(plan, kept(), snapshot),
            remedy="select what the plan was made for, or plan again",
        )
    _check_unedited(planned, taken)
    _check_names(plan)
    commits = sorted(taken.keys() - planned.keys())
    missing = [f"{group} {partition}" for group, partition in commits]
    lost = sum(plan.removed_lines.values())
    in_part = [f"{counted(lines, 'line')} of {visible_name(group)}" for group, lines in plan.removed_lines.items()]
    if (missing or lost) and on_missing_entry == OnMissingEntry.FAIL:
        raise EntryMissing(
            f"the plan has no entry for {counted(len(missing), 'commit')} of the snapshot that it was made from: "
            f"{first_of(missing)}"
            if missing
            else f"the plan lacks what it was made with: {first_of(in_part)}",
            why="somebody has removed lines of the plan; without an offset, a consumer would start by its auto.offset.reset",
            remedy=ways(
                ("", "plan again"),
                ("on_missing_entry", f"set {option_name('on_missing_entry')} to skip to leave out what was removed"),
            ),
        )
    missing += in_part if lost > len(missing) else []
    why = f"no entry in the plan: left out{because_of('on_missing_entry', 'skip')}"
    groups = _at_destination(plan, {group for group, _partition in commits}).union(plan.removed_lines)
    return NotPlanned(_not_taken(plan, snapshot).union(groups), tuple(f"{name}: {why}" for name in missing))


def _not_taken(plan: Plan, snapshot: Snapshot) -> frozenset[str]:
    """The groups of which nothing was taken: what is left out says why. Not one whose name another group has in the plan."""
    planned = {name for entry in plan.entries for name in (entry.group, *(at.group for at in entry.source))}
    groups = frozenset(group.name for group in snapshot.groups)
    return groups.difference(planned, (entry.group for entry in snapshot.entries))


def _at_destination(plan: Plan, groups: t.Iterable[str]) -> set[str]:
    """What the remaining entries call these groups of the source: a plan of an earlier release tells of no other lines."""
    names = values_by_key((at.group, entry.group) for entry in plan.entries for at in entry.source)
    return {name for group in groups for name in names.get(group, [group])}


def _check_unedited(planned: _Positions, taken: _Positions) -> None:
    """Raise Refused where a plan has other groups, partitions or offsets of the source than the snapshot it was made from."""
    # A plan may also have what has committed nothing: partitions of a group, or a whole group.
    strange = sorted(key for key, offset in planned.items() if offset is not None and key not in taken)
    if strange:
        raise Refused(
            f"the plan has {counted(len(strange), 'commit')} of the source that {are(len(strange))} not in the snapshot it was "
            f"made from ({first_of([f'{group} {partition}' for group, partition in strange])})",
            why="somebody has edited the groups, topics or partitions of the source in the plan",
            remedy="plan again, and select the groups and topics that are meant",
        )
    edited = {key: offset for key, offset in taken.items() if planned.get(key, offset) != offset}
    if edited:
        raise Refused(
            "somebody has edited the offsets of the source in the plan",
            why=_difference(edited, {key: planned[key] for key in edited}) + " in the plan",
            remedy="plan again; where a group goes on is the offset of the destination, not that of the source",
        )


def _check_names(plan: Plan) -> None:
    """Raise Refused where groups have other names than the plan was made with.

    No mapping takes partitions of one topic of a group to other groups than its other ones.
    """
    if plan.lines and (strange := sorted(plan.lines_left.keys() - plan.lines.keys())):
        raise _renamed(f"it was made without {first_names(strange)}")
    names: dict[tuple[str, str], dict[TopicPartition, set[str]]] = {}
    renamed = {at.group for entry in plan.entries for at in entry.source if at.group != entry.group}
    for entry in plan.entries:
        for at in entry.source:
            if at.group in renamed:
                names.setdefault((at.group, at.partition.topic), {}).setdefault(at.partition, set()).add(entry.group)
    for (group, _topic), by_partition in sorted(names.items()):
        most = max(by_partition.values(), key=len)
        for partition, groups in by_partition.items():
            if not groups <= most:
                others = first_of(sorted(most))
                why = f"this partition goes to {first_of(sorted(groups))}, and others of the topic to {others}"
                raise _renamed(why, group=group, **partition._asdict())


def _renamed(why: str, **place: t.Any) -> Refused:
    return Refused(
        "somebody has edited the names of groups in the plan",
        **place,
        why=why,
        remedy=ways(("", "plan again"), ("group_map", f"set {option_name('group_map')} for another name, and plan")),
    )


def check_selected(plan: Plan, selection: Selection) -> NotPlanned:
    """Raise Refused where a plan that was made from no snapshot has groups or topics that are not selected now.

    Returns the groups that are named and not in the plan.
    """
    partitions = values_by_key(entry.key for entry in plan.entries)
    strange = sorted(partitions.keys() - {*selection.select_groups(partitions).names})
    topics = selection.topics_of(partitions)
    others = sorted(
        {at.topic for group, of_group in partitions.items() for at in of_group if not topics[group].has(at.topic)}
    )
    raise_any(
        Refused(
            f"the plan has {counted(len(names), what)} that {are(len(names))} not selected: {first_of(names)}",
            remedy="select what the plan was made for, or plan again",
        )
        for what, names in (("group", strange), ("topic", others))
        if names
    )
    named = [name for name in selection.groups if name not in partitions]
    return NotPlanned(frozenset(named), tuple(f"{name}: not in the plan" for name in named))


def _other_groups(planned: set[str], taken: set[str]) -> str:
    """Which groups are only in the plan, or only selected; empty where they are the same."""
    clauses = []
    if gone := sorted(planned - taken):
        clauses.append(f"in the plan, and not selected or without committed offsets now: {first_names(gone)}")
    if new := sorted(taken - planned):
        clauses.append(f"selected, and not in the plan: {first_names(new)}")
    return "; ".join(clauses)


def _difference(planned: _Positions, taken: _Positions) -> str:
    """What differs, group by group, with both offsets; empty where every offset is the same."""
    before, after = nested(planned.items()), nested(taken.items())
    moved = {
        group: moves(before.get(group, {}), after.get(group, {})) for group in sorted(before.keys() | after.keys())
    }
    lines = [f"group {group}: {moves_text(changes)}" for group, changes in moved.items() if changes]
    return first_of(lines, more="more groups")


def _other_than_offsets(plan: Plan, kept: Snapshot | None, taken: Snapshot) -> str:
    """What differs where every offset is the same. kept: the snapshot that the plan was made from, or another one, or none."""
    told = kept is not None and kept.has_digest(plan.snapshot) and _changes(kept, taken)
    return f"every offset is the same, but {told or 'metadata, leader epochs or the types of groups'} differ"


def _changes(before: Snapshot, after: Snapshot) -> str:
    """What differs between two snapshots besides offsets, and of which groups and partitions; empty for nothing."""
    committed = {(entry.group, entry.partition): entry.committed for entry in before.entries}
    pairs = [(entry, committed.get(entry[:2], entry.committed)) for entry in after.entries]
    types = {group.name: group.type for group in before.groups}
    changes = {
        "metadata": [_at(entry) for entry, was in pairs if was.metadata != entry.committed.metadata],
        "leader epochs": [_at(entry) for entry, was in pairs if was.leader_epoch != entry.committed.leader_epoch],
        "types": [visible_name(name) for name, kind in after.groups if types.get(name, kind) != kind],
        "open transactions": [_at(transaction) for transaction in sorted({*before.open} ^ {*after.open})],
    }
    return " and ".join(f"the {what} of {first_of(names)}" for what, names in changes.items() if names)


def _at(of_group: SnapshotEntry | OpenTransaction) -> str:
    return f"{visible_name(of_group.group)} {of_group.partition}"
