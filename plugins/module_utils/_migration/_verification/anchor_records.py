# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The records beside the offsets of a plan: are they still those that were matched, and are later ones there without them?"""

from __future__ import annotations

import dataclasses
import functools
import typing as t

from ..._matching.absent import FIRST, NEAR, missing
from ..._matching.evidence import Span
from ..._model.background import at_once
from ..._model.connection import Connection
from ..._model.match_on import Matching, MatchOn
from ..._model.notes import Note, NoteKind
from ..._model.plan import PlanEntry
from ..._model.receipt import Key
from ..._model.records import Record, TopicPartition
from ..._model.report import Finding, Flaw, ProblemKind
from ..._model.verdicts import Absent, Copied, deleted_before
from ..cluster_logs import ClusterLogs

Spans = set[tuple[TopicPartition, Span]]


def differing(entries: t.Collection[PlanEntry], source: Connection, destination: Connection) -> dict[Key, list[Flaw]]:
    """What is wrong with the records beside the offsets of these entries, by group and partition; nothing where all is right.

    To count records does not show that a topic was created again: none of its new records has a copy yet.
    """
    flaws_by_key: dict[Key, list[Flaw]] = {}
    for alike, source_logs, destination_logs in by_parts(entries, source, destination, anchor_spans):
        for entry in alike:
            if flaws := list(flaws_of(entry, source_logs, destination_logs)):
                flaws_by_key[entry.key] = flaws
    return flaws_by_key


def by_parts(
    entries: t.Collection[PlanEntry],
    source: Connection,
    destination: Connection,
    wanted: t.Callable[[PlanEntry], tuple[Spans, Spans]],
) -> t.Iterator[tuple[list[PlanEntry], ClusterLogs, ClusterLogs]]:
    """The entries whose records were matched by the same parts, with logs of both clusters that compare these.

    wanted: what is read of both for an entry.
    """
    for parts in sorted({entry.evidence.matched_by for entry in entries}):
        alike = [entry for entry in entries if entry.evidence.matched_by == parts]
        sides = ClusterLogs(source, MatchOn.of(parts)), ClusterLogs(destination, MatchOn.of(parts))
        spans = [wanted(entry) for entry in alike]
        at_once(
            functools.partial(read_spans, sides[0], {span for originals, _copies in spans for span in originals}),
            functools.partial(read_spans, sides[1], {span for _originals, copies in spans for span in copies}),
        )
        yield alike, *sides


def anchor_spans(entry: PlanEntry) -> tuple[Spans, Spans]:
    """Where the records beside the offset of an entry are at the source, and their copies at the destination."""
    anchors = anchors_of(entry)
    return (
        {(source_partition(entry, at), (at.source, at.source + 1)) for at in anchors},
        {(entry.partition, (at.destination, at.destination + 1)) for at in anchors},
    )


def anchors_of(entry: PlanEntry) -> list[Copied]:
    """The records beside the offset of an entry, with their copies, as far as the plan names them."""
    return [at for at in (entry.evidence.before, entry.evidence.after) if at is not None]


def source_partition(entry: PlanEntry, anchor: Copied) -> TopicPartition:
    """Where the original of such a copy is."""
    return anchor.partition or entry.source[0].partition


def read_spans(side: ClusterLogs, wanted: Spans) -> None:
    """Read these spans of logs of which nothing is known yet."""
    if not wanted:
        return
    side.learn({partition for partition, _span in wanted})
    side.read(wanted)


def flaws_of(entry: PlanEntry, source_logs: ClusterLogs, destination_logs: ClusterLogs) -> t.Iterator[Flaw]:
    """What is wrong with the records beside the offset of an entry, which were read."""
    if entry.offset is None:
        return
    if repeated := entry.repeated_copy:
        what = f"offset {repeated.destination}, the copy of the last consumed record, is not before the offset {entry.offset}"
        yield Flaw(ProblemKind.REPEATED, f"{what}: the group would read it again")
    if skipped := entry.skipped_copy:
        what = f"offset {skipped.destination}, the copy of the first unconsumed record, is before the offset {entry.offset}"
        yield Flaw(ProblemKind.SKIPPED, f"{what}: the group would skip it")
    for at in anchors_of(entry):
        sides = (
            ("source", source_logs, source_partition(entry, at), at.source),
            ("destination", destination_logs, entry.partition, at.destination),
        )
        for side, logs, partition, offset in sides:
            record = _record(logs, partition, offset)
            # What has expired since the plan was made cannot be read again; its fingerprint stands in the plan.
            if record is not None and record.fingerprint.hex() != at.fingerprint:
                why = f"the {side}'s record at {offset} is not the one that was matched"
                yield Flaw(ProblemKind.RECORD_DIFFERS, why)


def found(entry: PlanEntry, destination_logs: ClusterLogs) -> int:
    """How many of the records beside the offset of an entry are at the destination where the plan has their copies."""
    copies = [(at, _record(destination_logs, entry.partition, at.destination)) for at in anchors_of(entry)]
    return sum(copy is not None and copy.fingerprint.hex() == at.fingerprint for at, copy in copies)


def _record(side: ClusterLogs, partition: TopicPartition, offset: int) -> Record | None:
    records = side.logs[partition].between(offset, offset + 1)
    return records[0] if records else None


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
    entry: PlanEntry, source_logs: ClusterLogs, destination_logs: ClusterLogs, *, is_consumed: bool
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
