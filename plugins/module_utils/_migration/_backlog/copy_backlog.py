# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Use case: what groups have not consumed is at the destination, once, and a plan says where they stand there."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._control import clusters
from ..._model.background import at_once
from ..._model.backlog import Backlog
from ..._model.connection import Connection
from ..._model.mapping import Mapping
from ..._model.notes import Note, NoteKind
from ..._model.option_names import option_name
from ..._model.plan import Plan, PlanEntry
from ..._model.policies import OnLostProgress
from ..._model.progress import Say, counted, first_of
from ..._model.receipt import Receipt
from ..._model.records import TopicPartition
from ..._model.snapshot import Snapshot
from ..._model.verdicts import Verdict
from ..expected import with_expected
from . import copy_steps, entries, identity, obstacles, planning, takeover, unconsumed
from .copy_steps import Save
from .entries import RangeSummary
from .planning import CopyOptions

_NAMED = 5  # partitions in a note


class Earlier(t.NamedTuple):
    """What earlier runs have left."""

    backlog: Backlog | None
    plan: Plan | None
    receipt: Receipt | None


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
    before, notes = earlier.backlog, list[Note]()
    if before is not None and earlier.plan is not None:
        identity.check_plan(before, earlier.plan, destination)
    wanted = planning.entries_of(snapshot, mapping, source)
    if before is None:
        backlog, bounds = planning.plan(snapshot, wanted, source, destination, options)
        if save is not None:
            save(backlog)
    else:
        backlog = before
        bounds, grown = planning.check_known(before, snapshot, wanted, source, destination, options)
        notes += grown
    sizes = obstacles.sizes(backlog, source, bounds)
    if save is not None and not backlog.is_done:
        size = sum(filter(None, sizes.values()))
        backlog, told = copy_steps.carry_out(backlog, source, destination, options, save, say, before is None, size)
        notes += told
    elif before is not None and not backlog.is_done:
        lost = takeover.check_takeover(backlog, destination)
        if lost and options.on_lost_progress == OnLostProgress.FAIL:
            raise takeover.lost_progress(backlog, destination, lost)
    planned = entries.copy_entries(backlog, wanted, options.on_uncommitted)
    plan = None
    if backlog.is_done:
        made = _plan(backlog, planned, source, destination)
        plan = with_expected(made, destination, earlier.plan, earlier.receipt)
        backlog, kept = _settle_topics(backlog, planned, destination, options, save)
        notes += kept
    will_copy = save is None and not backlog.is_done
    if will_copy:
        notes += _zero_times(unconsumed.zero_times(source, backlog.ranges))
    ranges = entries.summaries(backlog, wanted, sizes, bounds, options.on_uncommitted)
    return CopyOutcome(
        before,
        backlog,
        ranges,
        planned,
        plan,
        backlog != before or will_copy,
        notes + _lost(ranges) + _uncommitted(ranges, planned) + _notes(backlog),
    )


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


def _settle_topics(
    backlog: Backlog, planned: list[PlanEntry], destination: Connection, options: CopyOptions, save: Save | None
) -> tuple[Backlog, list[Note]]:
    """Restore the settings of topics that all groups are past, or suspend them again; remove the progress after the last one.

    -> the copy as it is, or would be, afterwards.
    """
    stands = entries.standing_of_groups(backlog, planned, destination)
    identity.check_done(backlog, destination, stands.past)
    everything = {topic.name for topic in backlog.topics}
    if not options.restore_retention:  # after a rollback
        backlog = copy_steps.hold_again(backlog, destination, stands.ahead, save)
    names = everything if options.restore_retention else stands.past
    restored, notes = copy_steps.restore_topics(backlog, destination, names, predict=save is None)
    if save is not None and restored != backlog:
        save(restored)
    if save is not None and stands.past == everything:
        notes = [*notes, *copy_steps.remove_progress(backlog, destination)]
    return restored, notes


def _lost(ranges: t.Iterable[RangeSummary]) -> list[Note]:
    """What groups have not consumed and nobody can copy any more."""
    lost = [each for each in ranges if each.lost]
    named = [f"{each.range.source} ({each.lost} offsets of {', '.join(each.groups)})" for each in lost]
    said = first_of(named, _NAMED, "more partitions")
    text = f"Unconsumed records have left the source's logs, and are lost: {said}."
    return [Note(NoteKind.RECORDS_EXPIRED, text)] if lost else []


def _uncommitted(ranges: t.Iterable[RangeSummary], planned: t.Iterable[PlanEntry]) -> list[Note]:
    """Where records are, and a group of the topic has committed nothing."""
    holding = {
        each.range.destination: each.range.source for each in ranges if each.left or each.range.start < each.range.end
    }
    alone = [
        f"{entry.group} {holding[entry.partition]}"
        for entry in planned
        if entry.verdict is Verdict.UNCOMMITTED and entry.partition in holding
    ]
    if not alone:
        return []
    return [
        Note(
            NoteKind.UNCOMMITTED,
            f"Not planned, because they have no committed offset at the source ({option_name('on_uncommitted')}: ignore): "
            f"{first_of(alone, _NAMED)}. "
            "Partitions without any committed offset are not copied. On the others, these groups start according to "
            "their auto.offset.reset.",
        )
    ]


def _zero_times(counts: t.Mapping[TopicPartition, int]) -> list[Note]:
    """What the copy will not keep."""
    named = [f"{where} (up to {counted(count, 'record')})" for where, count in sorted(counts.items())]
    text = (
        "Records with the timestamp 0 cannot be written so, and would have 1 (ms) at the destination: "
        f"{first_of(named, _NAMED, 'more partitions')}."
    )
    return [Note(NoteKind.TIMESTAMP_CHANGED, text)] if named else []


def _notes(backlog: Backlog) -> list[Note]:
    """What a copy could not do as it should."""
    done = [(each, each.done) for each in backlog.ranges if each.done is not None]
    notes = [
        Note(
            NoteKind.RECORDS_EXPIRED,
            f"{each.source}: {its.expired} offsets expired at the source after the copy was planned, before they were "
            "copied.",
        )
        for each, its in done
        if its.expired
    ]
    stamped = sum(its.without_timestamp for _each, its in done)
    if stamped:
        text = f"{stamped} records have the timestamp 0, which cannot be written, and have 1 (ms) at the destination."
        notes.append(Note(NoteKind.TIMESTAMP_CHANGED, text))
    return notes
