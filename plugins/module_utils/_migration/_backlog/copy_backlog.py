# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Use case: what groups have not consumed is at the destination, once, and a plan says where they go on there."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._control import clusters, commits, topics
from ..._model.background import at_once
from ..._model.backlog import Backlog
from ..._model.connection import Connection
from ..._model.mapping import Mapping
from ..._model.notes import Note, NoteKind
from ..._model.plan import Plan, PlanEntry
from ..._model.progress import Say
from ..._model.receipt import Receipt
from ..._model.snapshot import Snapshot
from ..expected import with_expected
from . import entries, others, planning, preconditions, suspended_settings, takeover, unconsumed
from .copy_state import existing_groups
from .copy_steps import CopyRun
from .entries import RangeSummary
from .planning import CopyOptions
from .suspended_settings import Save


class Earlier(t.NamedTuple):
    """What earlier runs have left."""

    backlog: Backlog | None
    plan: Plan | None
    receipt: Receipt | None

    @property
    def is_enough(self) -> bool:
        """Is everything copied and planned, so that the source has nothing more to tell?"""
        return self.backlog is not None and self.backlog.is_done and self.plan is not None


@dataclasses.dataclass(frozen=True, slots=True)
class CopyOutcome:
    """What was, or in check mode would be, done.

    before: the copy as an earlier run has left it. plan: None while records are still to be copied; entries then have no
    true offsets. changed: whether anything beside the plan file is, or would be, another one.
    """

    before: Backlog | None
    backlog: Backlog
    ranges: list[RangeSummary]
    entries: list[PlanEntry]
    plan: Plan | None
    changed: bool
    notes: list[Note]


def copy_backlog(
    snapshot: Snapshot,
    source: Connection,
    destination: Connection,
    mapping: Mapping,
    options: CopyOptions,
    earlier: Earlier,
    save: Save | None,
    say: Say,
) -> CopyOutcome:
    """Plan the copy, or go on with the plan of an earlier run; carry it out; restore topics that all groups are past.

    Settings that were restored are suspended again where a group has all that was copied ahead of it, as after a rollback.

    save: writes the copy file; None predicts only.
    """
    before, receipt = earlier.backlog, earlier.receipt
    if before is not None and earlier.plan is not None:
        preconditions.check_plan(before, earlier.plan, destination)
    # 1. Plan what is copied and up to where, or see that the plan of an earlier run still holds. Nothing is written.
    wanted = planning.entries_of(snapshot, mapping, source)
    grown: list[Note] = []
    if before is None:
        backlog, bounds, sizes = planning.plan(snapshot, wanted, source, destination, options)
        if earlier.plan is not None:  # which would be overwritten
            preconditions.check_plan(backlog, earlier.plan, destination)
        notes = unconsumed.after_transactions(wanted, bounds, options.on_uncommitted)
        planned = entries.copy_entries(backlog, wanted, options.on_uncommitted)
        ours = {entry.key for entry in planned if entry.offset is not None}
        notes += others.readers_of_appended(backlog, destination, ours)
    else:
        backlog = before
        wanted, bounds, notes = planning.check_known(before, snapshot, wanted, source, destination, options)
        sizes = preconditions.sizes(before, source, bounds)
        planned = entries.copy_entries(before, wanted, options.on_uncommitted)
        may_grow = options.live or (before.is_done and entries.are_set(before, planned, destination, receipt))
        grown = planning.growth(before, bounds, source, may_grow)
        # Before Spark starts: what stands against the claim is then refused with nothing written.
        if not before.is_done:
            lost = takeover.check_takeover(before, destination, options.append)
            takeover.check_lost(before, source, destination, lost, options.on_lost_progress)
    if save is None and not backlog.is_done:
        notes += unconsumed.zero_times(source, backlog.ranges)
    elif save is not None and not backlog.is_done:
        run = CopyRun(source, destination, options, save, say)
        # 2. Start Spark, because nothing may be written, and no other run ended, where it cannot copy.
        with run.spark(backlog) as spark:
            # 3. Save the plan before anything else is written, because every later run has to copy up to the same ends.
            save(backlog)
            # 4. Make the topics, and suspend settings that would lose or change copied records.
            backlog, prepared = run.make_topics(backlog)
            if spark is not None:
                # 5. Claim the copy: every other run of it ends, and its progress names this one.
                backlog = run.claim(spark, backlog, prepared.made)
                # 6. Copy: each transaction holds records, progress and boundaries.
                notes += run.copy_records(spark, backlog, prepared, size=sum(filter(None, sizes.values())))
                backlog, set_back = suspended_settings.suspend_again(backlog, destination, save)
                notes += set_back
        # 7. Note what has become of every range, unless the source has more by now.
        backlog, grown = run.finished(backlog)
    notes += grown
    # 8. Plan where each group goes on.
    planned = entries.copy_entries(backlog, wanted, options.on_uncommitted)
    plan, set_now = None, False
    if backlog.is_done:
        made = _plan(backlog, planned, source, destination)
        plan = with_expected(made, destination, earlier.plan, receipt)
        # 9. Bring the topics' settings to where the groups' progress allows them to be.
        backlog, kept, set_now = _settled(backlog, planned, destination, options, receipt, save)
        notes += kept
    ranges = entries.summaries(backlog, wanted, sizes, bounds, options.on_uncommitted)
    notes += entries.copy_notes(backlog, ranges, planned)
    return CopyOutcome(
        before, backlog, ranges, planned, plan, backlog != before or not backlog.is_done or set_now, notes
    )


def restore_settings(earlier: Earlier, destination: Connection, save: Save | None) -> CopyOutcome:
    """Give back what is still suspended; it is enough. Asks nobody but the destination. save: as of copy_backlog().

    A topic that is gone, that was made anew, or that another copy has written to is left alone and named. What is planned for a
    topic that no longer holds what was copied is left out of the entries.
    """
    backlog, plan = earlier.backlog, earlier.plan
    if backlog is None or plan is None:
        raise ValueError("not everything is copied and planned")
    preconditions.check_plan(backlog, plan, destination)
    preconditions.check_copy_cluster(backlog, destination)
    ids = topics.topic_ids(destination, [topic.name for topic in backlog.topics])
    ours = {topic.name for topic in backlog.topics if preconditions.is_same(topic, ids)}
    everything = {topic.name for topic in backlog.topics}
    others = everything - ours
    restored, notes, changed = suspended_settings.bring_settings(backlog, destination, everything, save, left=others)
    worthless = {
        name: f"The topic {name} is gone, or was deleted and created again: its settings are left alone, and its planned "
        "offsets are worth nothing."
        for name in sorted(others)
    }
    for name, why in sorted(preconditions.truncated(backlog, destination, ours).items()):
        worthless[name] = f"The planned offsets of this topic are worth nothing: {why}"
    notes += [Note(NoteKind.TOPIC_RECREATED, text) for text in worthless.values()]
    ranges = [RangeSummary(each, (), 0, 0, None, None) for each in backlog.ranges]
    left = [entry for entry in plan.entries if entry.partition.topic not in worthless]
    return CopyOutcome(backlog, restored, ranges, left, plan, changed, notes)


def _plan(backlog: Backlog, planned: list[PlanEntry], source: Connection, destination: Connection) -> Plan:
    """The plan of a finished copy, with the topics that it rests on as they are now."""
    at_source, at_destination = at_once(
        lambda: clusters.look_at(source, {topic.source for topic in backlog.topics}),
        lambda: clusters.look_at(destination, {topic.name for topic in backlog.topics}),
    )
    return Plan(
        backlog.source_id,
        backlog.destination_id,
        backlog.snapshot,
        tuple(planned),
        at_source.traits,
        at_destination.traits,
    )


def _settled(
    backlog: Backlog,
    planned: list[PlanEntry],
    destination: Connection,
    options: CopyOptions,
    receipt: Receipt | None,
    save: Save | None,
) -> tuple[Backlog, list[Note], bool]:
    """Restore the settings of topics that all groups are past, or suspend them again; in the end, remove the progress."""
    standing = entries.standing_of_groups(backlog, planned, destination, receipt)
    preconditions.check_done(backlog, destination, standing.needed)
    everything = {topic.name for topic in backlog.topics}
    restored = {topic.name for topic in backlog.topics if topic.restored}
    free = everything if options.restore_retention else standing.past | (restored - standing.ahead)
    brought, notes, changed = suspended_settings.bring_settings(backlog, destination, free, save)
    notes += entries.unsure_notes([entry for entry in standing.unsure if entry.partition.topic not in free])
    if standing.past != everything:
        return brought, notes, changed
    stays, removes = remove_progress(backlog, destination, predict=save is None)
    return brought, notes + stays, changed or removes


def remove_progress(backlog: Backlog, destination: Connection, predict: bool) -> tuple[list[Note], bool]:
    """Remove the progress groups of a copy, when every group is past what was copied.

    Not before: a run that finds none, and records at the destination, cannot go on. -> what could not be removed, and whether
    any was, or would be. predict: only tell.
    """
    left = existing_groups(backlog, destination)
    failed = {} if predict else commits.delete_groups(destination, left)
    notes = [Note(NoteKind.PROGRESS_STAYS, f"{group}: {why}") for group, why in sorted(failed.items())]
    return notes, len(failed) < len(left)
