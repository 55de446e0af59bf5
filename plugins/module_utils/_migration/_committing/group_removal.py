# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Use case: the old groups of a rename are removed, or made again as they were."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._control import clusters
from ..._control.topics import partition_counts
from ..._model.connection import Connection
from ..._model.errors import MigrationError, OptionRefused, Refused, WouldMoveBack
from ..._model.faults import all_of
from ..._model.group_state import GroupReading, commit_text, commits_of, same_commit
from ..._model.notes import Note
from ..._model.option_names import option_name
from ..._model.plan import Plan
from ..._model.policies import OnActiveGroup, OnAdvance, OnBlocked, OnRewind
from ..._model.receipt import Key, Receipt, ReceiptEntry
from ..._model.records import TopicPartition
from ..._model.removed import Removed
from ..._model.selection import Selection
from ..._model.visible_text import group_partition, visible_name
from ..._model.wording import first_of
from .. import not_taken
from ..file_clusters import check_cluster, correct_file, keeps_rollback, plan_again
from . import conflicts, removable, rollback, rollback_checks, writing
from .commit import check_restorable, roll_back
from .conflicts import Commits, Target
from .outcome import CommitOptions

Save = t.Callable[[Removed], None]


@dataclasses.dataclass(frozen=True, slots=True)
class RemovalOptions:
    """The options of kafka_group_removal; idle_wait in seconds."""

    on_active_group: OnActiveGroup = OnActiveGroup.FAIL
    on_blocked: OnBlocked = OnBlocked.FAIL
    on_rewind: OnRewind = OnRewind.FAIL
    on_advance: OnAdvance = OnAdvance.FAIL
    idle_wait: float = 5.0


@dataclasses.dataclass(frozen=True, slots=True)
class RemovalOutcome:
    """What was, or in check mode would be, done: the groups, and what each partition of theirs had and has committed.

    left_out: one line for each group that a policy leaves alone, and for each partition that cannot be restored. removed: what
    the file holds afterwards.
    """

    groups: list[str]
    before: dict[Key, Target]
    after: dict[Key, Target]
    left_out: list[str]
    notes: list[Note]
    removed: Removed | None


def remove_old_groups(
    plan: Plan,
    receipt: Receipt | None,
    removed: Removed | None,
    cluster: Connection,
    options: RemovalOptions,
    save: Save | None,
) -> RemovalOutcome:
    """Remove every group of the plan's source that nobody is in, and that others have got everything of.

    :param save: writes the file of removed groups; called before the first group is removed. None predicts only, and does not
        ask whether the new groups have their offsets already, because in a dry run they have not.
    Everything is checked before anything is removed. Raises Refused, GroupBusy, NotAuthorized, BrokerError.
    """
    name = str(cluster)
    check_cluster("plan", plan.destination_identity, cluster, plan_again())
    noted = Removed(plan.destination_id) if removed is None else removed
    identity = check_cluster("file of removed groups", noted.identity, cluster, keeps_rollback())
    known = dataclasses.replace(noted, cluster_id=identity.cluster_id)
    removable.check_names(plan, name)
    sources = removable.source_groups(plan)
    all_readings = writing.read_named_groups(cluster, {*sources, *(entry.group for entry in plan.entries)})
    readings = {group: all_readings[group] for group in sources if all_readings[group].exists}
    staying = {
        **removable.left_groups(plan, receipt, all_readings, options.on_rewind, options.on_advance),
        **removable.kept_groups(plan, options.on_blocked, name),
    }
    kept = {group: line for group, line in sorted(staying.items()) if group in readings}
    readings = {group: reading for group, reading in readings.items() if group not in kept}
    busy = writing.busy_groups(cluster, sorted(readings), readings, options.on_active_group, 0)
    wanted = {group: reading for group, reading in readings.items() if group not in busy}
    had = commits_of(wanted)
    removable.check_covered(plan, had, name)
    writing.check_write_acls(cluster, had, "the removal", wanted)
    notes = writing.hidden_notes(cluster, wanted)
    gone = known.gone()
    accounted = readings | kept | gone
    left_out = [*kept.values(), *writing.left_out_lines(busy)]
    left_out += [f"{group}: is gone already" for group in sources if group not in accounted]
    before: dict[Key, Target] = dict(sorted(had.items()))
    topics = clusters.identify(cluster, {partition.topic for _group, partition in had}).traits
    others = {group: commits for group, commits in gone.items() if group not in wanted}
    left_out += not_taken.recreated_lines(others, known.traits.recreated(topics))
    done = known.with_removed(wanted.values(), topics)
    outcome = RemovalOutcome(
        sorted(wanted), before, dict.fromkeys(before), left_out, notes, done if wanted else removed
    )
    if save is None or not wanted:
        return outcome
    # The last request before the removal: what the new groups had a moment ago may be gone.
    new_groups = writing.read_named_groups(cluster, {entry.group for entry in plan.entries})
    removable.check_given(plan, receipt, wanted, new_groups, name)
    save(done)
    try:
        not_removed = writing.remove_groups(cluster, wanted)
        writing.check_removed(cluster, not_removed, "stop its consumers, and run the same again")
    except MigrationError:  # the file tells of no group that is still there
        remaining = {group for group, reading in writing.read_named_groups(cluster, wanted).items() if reading.exists}
        save(known.with_removed((wanted[group] for group in wanted if group not in remaining), topics))
        raise
    return outcome


def _check_new_groups_go(
    receipt: Receipt,
    selection: Selection | None,
    removed: Removed,
    names: t.Collection[str],
    cluster: Connection,
    options: RemovalOptions,
) -> list[ReceiptEntry]:
    """What the rollback takes from new groups. Raises Refused where it would leave one, with the same records as its old one.

    removed: all removed groups. names: those of them that are made again.
    """
    policies = CommitOptions(
        on_rewind=OnRewind.REWIND if options.on_rewind == OnRewind.REWIND else OnRewind.KEEP,
        on_advance=OnAdvance.ADVANCE if options.on_advance == OnAdvance.ADVANCE else OnAdvance.KEEP,
        on_active_group=options.on_active_group,
        idle_wait=0.0,  # the rollback itself reads twice
    )
    outcome = roll_back(receipt, selection, cluster, policies, None, removed=removed)
    _check_all_topics_go(receipt, selection, removed, names, cluster)
    groups = {*outcome.kept_groups}
    kept = [entry for entry in receipt.entries if entry.group in groups and entry.key in outcome.before]
    stays = {key: now for key, now in outcome.after.items() if key[0] in groups and now is not None}
    beside = {group for group, _partition in stays}
    to_move = [entry for entry in kept if entry.group in beside and rollback.is_to_move(entry, stays)]
    moved = [entry for entry in to_move if not rollback.is_as_set(entry, stays.get(entry.key))]
    if moved or outcome.active_groups:
        raise _beside_new_groups(moved, stays, outcome.active_groups, policies, cluster)
    # All that is kept has nothing now, and stays beside no group; but fail refuses the rollback of it.
    rollback.without_kept(kept, stays, options.on_rewind, options.on_advance, str(cluster))
    return [entry for entry in receipt.entries if outcome.before.get(entry.key) and entry.key in outcome.set]


def _check_all_topics_go(
    receipt: Receipt, selection: Selection | None, removed: Removed, names: t.Collection[str], cluster: Connection
) -> None:
    """Raise Refused where new groups would stay because they have got topics of these old groups that are not selected."""
    chosen = {entry.key for entry in rollback.choose(receipt, selection, str(cluster), removed).entries}
    others = [
        (entry, origin)
        for entry in receipt.entries
        for origin in entry.origins
        if origin.group in names and entry.key not in chosen
    ]
    current = commits_of(writing.read_named_groups(cluster, {entry.group for entry, _origin in others}))
    stays = sorted(
        {
            f"{visible_name(entry.group)} has {entry.partition.topic} of {visible_name(origin.group)}"
            for entry, origin in others
            if entry.key in current and rollback.is_to_move(entry, current)
        }
    )
    if stays:
        raise OptionRefused(
            f"the removed groups would be made again beside new groups that stay: {first_of(stays)}",
            cluster=str(cluster),
            why="a removed group comes back with all of its topics, not all of them are selected, and both would consume the "
            "same records",
            remedy=f"select all topics of these groups by {option_name('topics')}, {option_name('topic_patterns')} and "
            f"{option_name('exclude_topic_patterns')}; or leave these groups out, and they go on by their new names",
        )


def _beside_new_groups(
    moved: list[ReceiptEntry],
    current: Commits,
    in_use: t.Iterable[str],
    policies: CommitOptions,
    cluster: Connection,
) -> Refused:
    """The refusal to make groups again beside new ones that stay: these entries have moved, or the groups are in use."""
    stays = [
        f"{group_partition(*entry.key)} was set to {commit_text(entry.written)} and has {commit_text(now)} now"
        for entry in moved
        for now in [current.get(entry.key)]
    ]
    stays += [f"{visible_name(group)} is in use" for group in in_use]
    refused = f", so {option_name('on_rewind')}: keep is refused, too" if moved else ""
    alone = rollback.unjoined(writing.read_named_groups(cluster, {entry.group for entry in moved}))
    repeats = rollback.repeats(moved, current, never_joined=alone, one_cluster=True)
    why = (f"both would consume the same records{refused}", repeats)

    def keep(on_rewind: OnRewind, on_advance: OnAdvance) -> bool:
        return bool(rollback.without_kept(moved, current, on_rewind, on_advance, str(cluster))[1])

    allowing = [f"{option_name('on_rewind')} to rewind"] if keep(policies.on_rewind, OnAdvance.ADVANCE) else []
    allowing += [f"{option_name('on_advance')} to advance"] if keep(OnRewind.REWIND, policies.on_advance) else []
    accept = f", and set {' and '.join(allowing)} to accept that" if allowing else ""
    return WouldMoveBack(
        f"the removed groups would be made again beside new groups that stay: {first_of(stays)}",
        cluster=str(cluster),
        why="; ".join(filter(None, why)),
        remedy=f"stop the consumers of the new groups{accept}; or leave these groups out, and they go on by their new names",
    )


def restore_old_groups(
    removed: Removed,
    selection: Selection | None,
    cluster: Connection,
    options: RemovalOptions,
    save: Save | None,
    receipt: Receipt | None,
) -> RemovalOutcome:
    """Make removed groups again, with all that they had committed. As remove_old_groups() otherwise.

    The new groups are rolled back afterwards, by roll_back(). What would refuse that, or leave a new group beside its old
    one, is refused here.

    :param selection: which groups; None for all. One that is not in the file was not removed, and is left alone. Topics select
        the groups that had committed on them, which are made again as a whole; only topics that were created again, and
        partitions that do not exist any more, are left out.
    :param receipt: which new groups they became. Where these were renamed as well, the later rename is rolled back first.
    """
    name = str(cluster)
    identity = check_cluster("file of removed groups", removed.identity, cluster, correct_file())
    gone = removed.gone()
    topics = _selected_topics(gone, selection)
    names = set(topics)
    all_readings = writing.read_named_groups(cluster, gone)
    removable.check_order(
        names, {group for group, reading in all_readings.items() if not reading.exists}, receipt, name
    )
    taken = _check_new_groups_go(receipt, selection, removed, names, cluster, options) if receipt is not None else []
    readings = {group: reading for group, reading in all_readings.items() if group in names}
    current = commits_of(readings)
    recreated = removed.traits.recreated(identity.traits)
    had: dict[Key, Target] = {
        (group, partition): commit
        for group in sorted(names)
        for partition, commit in sorted(gone[group].items())
        if partition.topic in topics[group] or partition.topic not in recreated
    }
    counts = partition_counts(cluster, {partition.topic for _group, partition in had}, surely=True)
    was = {key: commit for key, commit in had.items() if key[1].partition < counts.get(key[1].topic, 0)}
    deleted = [f"{group_partition(*key)}: does not exist any more: left out" for key in had if key not in was]
    wanted = {key: target for key, target in was.items() if not same_commit(current.get(key), target)}
    removable.check_not_given(wanted, current, receipt, name)
    kept = _kept_by_policies(wanted, readings, options, name)
    staying = {group for group, _partition in kept}
    wanted = {key: target for key, target in wanted.items() if key[0] not in staying}
    rollback_checks.check_recreated(wanted, recreated, name)
    notes, _whole = check_restorable(cluster, wanted, "making the groups again", "removed.json")
    groups = sorted({group for group, _partition in wanted})
    busy = writing.busy_groups(cluster, groups, readings, options.on_active_group, options.idle_wait)
    wanted = {key: target for key, target in wanted.items() if key[0] not in busy}
    back = names - staying - busy.keys()
    old = {origin.group for entry in taken for origin in entry.origins}
    rollback_checks.check_old_groups(taken, old - (names - back), gone, name)
    after = {key: target if key[0] in back else current.get(key) for key, target in was.items()}
    outcome = RemovalOutcome(
        sorted({group for group, _partition in wanted}),
        {key: current.get(key) for key in was},
        after,
        [*kept.values(), *writing.left_out_lines(busy), *deleted],
        notes,
        removed.with_restored(back),
    )
    if save is None:
        return outcome
    if wanted:
        save(removed)
    written = writing.write_commits(cluster, wanted)
    if back := back - written.failed_groups:
        save(removed.with_restored(back))
    written.check(cluster, "the groups were made again", "run the same again: what is back already is left alone")
    return outcome


def _selected_topics(
    gone: t.Mapping[str, t.Collection[TopicPartition]], selection: Selection | None
) -> dict[str, set[str]]:
    """The selected ones of the topics on which removed groups had committed, by group; no group without any."""
    topics = {name: {partition.topic for partition in partitions} for name, partitions in gone.items()}
    if selection is None:
        return topics
    chosen = selection.topics_of({name: gone[name] for name in selection.select_groups(gone).names if name in gone})
    selected = {name: topics[name].intersection(of_group.names) for name, of_group in chosen.items()}
    return {name: of_group for name, of_group in selected.items() if of_group}


def _kept_by_policies(
    wanted: t.Mapping[Key, Target], readings: t.Mapping[str, GroupReading], options: RemovalOptions, cluster: str
) -> dict[Key, str]:
    """The group-partitions that on_rewind or on_advance keeps where they are, with a line for each.

    wanted: what removed groups had committed, and what differs now. Raises Refused where a policy says fail.
    """
    policies, current = (options.on_rewind, options.on_advance), commits_of(readings)
    as_entries = (ReceiptEntry(*key, target, target, None) for key, target in wanted.items())
    alone = rollback.unjoined(readings)
    why = rollback.repeats(as_entries, current, never_joined=alone, one_cluster=True, are_named=True)
    lines = all_of(
        lambda key: conflicts.kept_by_policy(key, current.get(key), wanted[key], *policies, cluster, "groups", why),
        wanted,
    )
    return {key: line for key, line in zip(wanted, lines, strict=True) if line is not None}
