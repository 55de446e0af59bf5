# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The records beside the offsets of a plan: are they still those that were matched?"""

from __future__ import annotations

import functools
import typing as t

from ..._matching.evidence import Span
from ..._model.background import at_once
from ..._model.connection import Connection
from ..._model.grouping import values_by_key
from ..._model.match_on import MatchOn
from ..._model.plan import PlanEntry
from ..._model.receipt import Key
from ..._model.records import Record, TopicPartition
from ..._model.report import Flaw, ProblemKind
from ..._model.verdicts import Copied
from ..cluster_logs import ClusterLogs


def differing(entries: t.Collection[PlanEntry], source: Connection, destination: Connection) -> dict[Key, list[Flaw]]:
    """What is wrong with the records beside the offsets of these entries, by group and partition; nothing where all is right.

    To count records does not show that a topic was created again: none of its new records has a copy yet.
    """
    flaws_by_key: dict[Key, list[Flaw]] = {}
    for alike, source_logs, destination_logs in by_parts(entries, source, destination):
        anchors = [(entry, at) for entry in alike for at in anchors_of(entry)]
        originals = {(source_partition(entry, at), (at.source, at.source + 1)) for entry, at in anchors}
        copies = {(entry.partition, (at.destination, at.destination + 1)) for entry, at in anchors}
        at_once(
            functools.partial(read_spans, source_logs, originals),
            functools.partial(read_spans, destination_logs, copies),
        )
        for entry in alike:
            if flaws := list(flaws_of(entry, source_logs, destination_logs)):
                flaws_by_key[entry.key] = flaws
    return flaws_by_key


def by_parts(
    entries: t.Collection[PlanEntry], source: Connection, destination: Connection
) -> t.Iterator[tuple[list[PlanEntry], ClusterLogs, ClusterLogs]]:
    """The entries whose records were matched by the same parts, with logs of both clusters that compare these."""
    for parts in sorted({entry.evidence.matched_by for entry in entries}):
        alike = [entry for entry in entries if entry.evidence.matched_by == parts]
        yield alike, ClusterLogs(source, MatchOn.of(parts)), ClusterLogs(destination, MatchOn.of(parts))


def anchors_of(entry: PlanEntry) -> list[Copied]:
    """The records beside the offset of an entry, with their copies, as far as the plan names them."""
    return [at for at in (entry.evidence.before, entry.evidence.after) if at is not None]


def source_partition(entry: PlanEntry, anchor: Copied) -> TopicPartition:
    """Where the original of such a copy is."""
    return anchor.partition or entry.source[0].partition


def read_spans(side: ClusterLogs, wanted: set[tuple[TopicPartition, Span]]) -> None:
    """Read these spans of logs of which nothing is known yet."""
    if not wanted:
        return
    side.learn({partition for partition, _span in wanted})
    side.read(values_by_key(wanted))


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
        original = _record(source_logs, source_partition(entry, at), at.source)
        copy = _record(destination_logs, entry.partition, at.destination)
        # What has expired since the plan was made cannot be read again; its fingerprint stands in the plan.
        for side, record in (("source", original), ("destination", copy)):
            offset = at.source if side == "source" else at.destination
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
