# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Use case: which entries of a plan a commit would write now, so that only those are verified before it."""

from __future__ import annotations

import typing as t

from ..._control import groups, positions
from ..._model.background import at_once
from ..._model.connection import Connection
from ..._model.errors import MigrationError
from ..._model.group_state import GroupReading, commits_of
from ..._model.idle import EarlierLook
from ..._model.plan import Plan, PlanEntry
from ..._model.policies import OnBlocked
from ..._model.receipt import Receipt
from ..._model.verdicts import Verdict
from ..still_written import written_partitions
from . import conflicts, writing
from .entry_decision import Ground, entries_to_write
from .outcome import CommitOptions


def planned_groups(plan: Plan, destination: Connection) -> dict[str, GroupReading]:
    """The groups that the plan has an offset for, as they are at the destination now."""
    names = sorted({entry.group for entry in plan.entries if entry.offset is not None})
    return groups.read_groups(destination, names) if names else {}


def look_before_commit(
    plan: Plan, source: Connection, destination: Connection, known: t.Mapping[str, GroupReading] | None
) -> EarlierLook | None:
    """What a commit of the plan looks at once more, as it is now; None where that cannot be read, which the commit will say.

    known: of planned_groups(), where they were read just now.
    """
    try:
        readings, ends = at_once(
            lambda: planned_groups(plan, destination) if known is None else known,
            lambda: positions.log_ends(source, written_partitions(plan)),
        )
    except MigrationError:
        return None
    return EarlierLook.of(readings, ends)


def entries_to_commit(
    plan: Plan,
    receipt: Receipt | None,
    destination: Connection,
    readings: t.Mapping[str, GroupReading],
    options: CommitOptions,
) -> list[PlanEntry]:
    """The entries that a commit with these options would write, or refuse to. readings: of planned_groups().

    Not those that are committed already, that were migrated earlier and have consumed since, or that an option leaves
    alone. Of a topic that was repartitioned or merged all entries of a group, when any is written: their records can
    only be verified together. Nothing is refused here; the commit does that.
    """
    blocked = {entry.group for entry in plan.entries if entry.verdict is Verdict.BLOCKED}
    left_out = blocked if options.on_blocked == OnBlocked.SKIP_GROUP else set()
    entries = [entry for entry in plan.entries if entry.offset is not None and entry.group not in left_out]
    busy = writing.groups_left_out({entry.group for entry in entries}, readings, options.on_active_group)
    entries = [entry for entry in entries if entry.group not in busy]
    known = receipt.as_far_as_of(plan.destination_identity) if receipt else Receipt(plan.destination_id)
    known = conflicts.confirmed(known, commits_of(readings))
    ground = Ground(str(destination), readings, known, options, plan.is_within_one_cluster)
    to_write = entries_to_write(entries, ground)
    written = {(entry.group, entry.source) for entry in to_write}
    return [entry for entry in entries if (entry.group, entry.source) in written]
