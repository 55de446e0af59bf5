# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which entries of a plan are still to be verified, and what a verification notes in the plan. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._model.notes import NoteKind
from ..._model.plan import Plan, PlanEntry, Verification
from ..._model.problems import is_tolerated
from ..._model.report import Finding, Report


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


def noted(plan: Plan, report: Report, anchors: Report, wanted: Verification) -> Plan:
    """The plan in which each entry that was found right says how it was verified.

    report: of the entries that were verified as `wanted` says; anchors: of those that had been so before, and were only
    looked at. An entry of which no record was compared, because the limit ended before one came, stays unverified. So does
    one of which unconsumed records were not counted, one of which absent records were only tolerated, because the next
    verification may not tolerate them, and one with a problem, which loses an earlier note.
    """
    notes: dict[tuple[str, t.Any], Verification | None] = {}
    for finding in report.findings:
        is_right = (
            not finding.problems
            and bool(finding.compared or finding.complete)
            and not any(note.kind is NoteKind.NOT_COUNTED or is_tolerated(note) for note in finding.notes)
        )
        notes |= {
            (finding.group, partition): wanted if is_right else None for partition, _offset in finding.destination
        }
    for finding in anchors.findings:
        if finding.problems:
            notes |= {(finding.group, partition): None for partition, _offset in finding.destination}
    entries = (
        dataclasses.replace(entry, verified=notes[entry.key]) if entry.key in notes else entry for entry in plan.entries
    )
    return dataclasses.replace(plan, entries=tuple(entries))


def split(report: Report, verified: t.Iterable[PlanEntry]) -> tuple[Report, Report]:
    """A report of all entries as one of those that had not been verified before, and one of those that had."""
    before = {entry.key for entry in verified}
    new: list[Finding] = []
    old: list[Finding] = []
    for finding in report.findings:
        is_old = all((finding.group, partition) in before for partition, _offset in finding.destination)
        (old if is_old else new).append(finding)
    return dataclasses.replace(report, findings=tuple(new)), dataclasses.replace(report, findings=tuple(old))


def joined(first: Report, second: Report) -> Report:
    """The reports of two verifications of one plan as one, called after the first."""
    return dataclasses.replace(first, findings=first.findings + second.findings)
