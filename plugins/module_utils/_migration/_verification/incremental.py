# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which entries of a plan are still to be verified, and what a verification notes in the plan. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._model.notes import NoteKind
from ..._model.plan import Plan, PlanEntry, Verification
from ..._model.report import Report, is_tolerated


class Parted(t.NamedTuple):
    """Entries that have offsets: those that were not verified so far as is wanted now, and the others."""

    unverified: list[PlanEntry]
    verified: list[PlanEntry]


def part(entries: t.Iterable[PlanEntry], wanted: Verification) -> Parted:
    """Part entries by what the plan notes. Those of a repartitioned topic are verified together, or not at all."""
    planned = [entry for entry in entries if entry.offset is not None]
    lacking = {
        (entry.group, entry.source) for entry in planned if entry.verified is None or not entry.verified.covers(wanted)
    }
    return Parted(
        [entry for entry in planned if (entry.group, entry.source) in lacking],
        [entry for entry in planned if (entry.group, entry.source) not in lacking],
    )


def noted(plan: Plan, report: Report, verified: t.Iterable[PlanEntry], wanted: Verification) -> Plan:
    """The plan in which each entry that was found right says how it was verified.

    report: of the entries that were verified as `wanted` says, and of those that had been so before (`verified`), and were only
    looked at. An entry of which no record was compared, because the limit ended before one came, stays unverified. So does
    one of which unconsumed records were not counted, one of which absent records were only tolerated, because the next
    verification may not tolerate them, and one with a problem, which loses an earlier note.
    """
    looked_at = {entry.key for entry in verified}
    notes: dict[tuple[str, t.Any], Verification | None] = {}
    for finding in report.findings:
        keys = [(finding.group, partition) for partition, _offset in finding.destination]
        is_right = finding.is_verified and not any(
            note.kind is NoteKind.NOT_COUNTED or is_tolerated(note) for note in finding.notes
        )
        if finding.problems or not looked_at.issuperset(keys):
            notes |= dict.fromkeys(keys, wanted if is_right else None)
    entries = (
        dataclasses.replace(entry, verified=notes[entry.key]) if entry.key in notes else entry for entry in plan.entries
    )
    return dataclasses.replace(plan, entries=tuple(entries))
