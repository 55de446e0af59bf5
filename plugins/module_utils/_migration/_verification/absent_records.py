# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which unconsumed records an entry's destination lacks although later ones are there, as far as the records beside it tell."""

from __future__ import annotations

import dataclasses

from ..._matching.absent import FIRST, NEAR, missing
from ..._matching.evidence import Span
from ..._model.match_on import Matching
from ..._model.notes import Note, NoteKind
from ..._model.plan import PlanEntry
from ..._model.report import Finding, Flaw, ProblemKind
from ..._model.verdicts import Absent, deleted_before
from ..cluster_logs import ClusterLogs
from .anchor_records import source_partition


def unseen(entry: PlanEntry) -> tuple[Span, Span] | None:
    """What to read at the source and at the destination: from the committed offset to the first record that has a copy.

    None where that record is the first one after the committed offset, so that nothing can be absent before it; and for
    repartitioned topics, whose partitions have no such record. Where the plan knows of no copy, the first records are read.
    """
    after, committed, offset = entry.evidence.after, entry.source[0].offset, entry.offset
    if committed is None or offset is None or len({at.partition for at in entry.source}) > 1:
        return None
    if after is None:
        return (committed, committed + FIRST), (offset, offset + FIRST)
    if after.source <= committed:
        return None
    return (committed, min(after.source, committed + NEAR)), (offset, offset + NEAR)


def absent_beside(
    entry: PlanEntry, source_logs: ClusterLogs, destination_logs: ClusterLogs, *, is_consumed: bool = False
) -> Absent | None:
    """What the plan says to be absent, or else what unseen() shows, and the first unconsumed record if its copy is deleted.

    is_consumed: whether the group has consumed the copy meanwhile, which may then be deleted.
    """
    spans, after = unseen(entry), entry.evidence.after
    if entry.absent or (spans is None and after is None):
        return entry.absent
    parts = entry.evidence.matched_by
    key = Matching("timestamp" in parts, headers=bool(parts)).key
    at = entry.source[0].partition if after is None else source_partition(entry, after)
    source, destination = source_logs.logs[at], destination_logs.logs[entry.partition]
    log_start = destination.facts.log_start
    absent: list[int] = []
    if spans is not None:
        records = source.between(*spans[0])
        lacking = missing(records, destination.between(*spans[1]), key)
        copied = [record.offset for record in records if record not in lacking]
        arrived = after.source if after is not None else copied[-1] if copied else -1
        absent = [record.offset for record in lacking if record.offset < arrived]
    if after is not None and not is_consumed and after.destination < log_start:
        absent += [record.offset for record in source.between(after.source, after.source + 1)]
    if not absent:
        return None
    start = deleted_before(log_start, entry.offset or 0, absent[0], absent[-1] + 1)
    return Absent(len(absent), absent[0], False, source.facts.open_from, start)


def with_absent_flaw(finding: Finding, absent: Absent | None, is_compacted: bool) -> Finding:
    """The finding, with these records as a problem.

    is_compacted: the destination may have dropped them because their keys came again, and they are a note.
    """
    if absent is None:
        return finding
    first = finding.first_difference or (absent.source, None)
    finding = dataclasses.replace(finding, absent=absent.records, first_difference=first)
    if is_compacted:
        text = f"{absent}; it is compacted, so that only each key's newest record counts"
        return dataclasses.replace(finding, notes=(*finding.notes, Note(NoteKind.ABSENT, text)))
    flaw = Flaw(ProblemKind.ABSENT, f"{absent.what}{absent.cause}")
    return dataclasses.replace(finding, problems=(*finding.problems, flaw))
