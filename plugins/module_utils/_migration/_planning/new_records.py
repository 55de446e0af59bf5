# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""For a return: which records only the source has, because they were produced there after the migration.

Without a replication tool in this direction, no offset brings them to the destination: the plan says how many stay, and
on_new_records says whether that is wanted.
"""

from __future__ import annotations

import dataclasses
import time
import typing as t

from ..._matching.absent import missing
from ..._model.match_on import Matching
from ..._model.notes import Note, NoteKind
from ..._model.plan import Evidence, PlanEntry
from ..._model.policies import OnNewRecords
from ..._model.progress import Say, counted
from ..._model.records import Record
from ..._model.verdicts import Reason, Verdict
from ..cluster_logs import ClusterLogs
from .settling import PAUSE

_Key = t.TypeVar("_Key")
_HIDDEN = 64  # offsets of transaction markers that may follow the last consumed record


class Staying(t.NamedTuple):
    """Records that only the source has. None: not counted, because more than search_limit offsets would have to be read.

    unconsumed: those from the committed offset on; first: the source offset of the first of them. consumed: those that
    follow the last consumed record that both clusters have.
    """

    unconsumed: int | None
    first: int | None
    consumed: int

    def __str__(self) -> str:
        unconsumed = "an unknown number of unconsumed records"
        if self.unconsumed is not None:
            unconsumed = counted(self.unconsumed, "unconsumed record")
        at = "" if self.first is None else f" (from source offset {self.first} on)"
        consumed = f" and {counted(self.consumed, 'consumed record')}" if self.consumed else ""
        return f"only at the source: {unconsumed}{at}{consumed}"


def with_new_records(
    entries: t.Mapping[_Key, PlanEntry],
    source: ClusterLogs,
    destination: ClusterLogs,
    policy: OnNewRecords,
    budget: int,
    wait: float,
    say: Say,
) -> dict[_Key, PlanEntry]:
    """The entries that on_new_records changes.

    :param source, destination: the edges of all logs are known. What comes to the source later is not counted.
    :param budget: so many offsets of a log are read for an entry, at most.
    :param wait: so many seconds a replication tool has to bring what is missing.
    """
    asked = {key: entry for key, entry in entries.items() if _place(entry) is not None}
    deadline = time.monotonic() + wait
    found = _staying(asked, source, destination, budget)
    # Whoever lags in what is consumed has been waited for already.
    while (late := [key for key, its in found.items() if its.unconsumed and not its.consumed]) and (
        (left := deadline - time.monotonic()) > 0
    ):
        say(f"waiting for a replication tool to copy {counted(len(late), 'partition')} ({left:.0f} s left)")
        time.sleep(PAUSE)
        destination.learn({asked[key].partition for key in late})
        found |= _staying({key: asked[key] for key in late}, source, destination, budget)
    return {
        key: _blocked(entry, found[key]) if policy == OnNewRecords.FAIL else _left(entry, found[key])
        for key, entry in asked.items()
        if found[key].unconsumed != 0 or found[key].consumed
    }


def uncounted(entry: PlanEntry, policy: OnNewRecords) -> PlanEntry:
    """An entry of a repartitioned topic, whose records may be in any partition."""
    if policy == OnNewRecords.LEAVE or entry.offset is None:
        return entry
    return _blocked(entry, Staying(None, None, 0))


def new_record_notes(entries: t.Iterable[PlanEntry]) -> list[Note]:
    """What stays at the source, in a line: the plan has each of these entries."""
    staying = sorted((entry for entry in entries if entry.reason is Reason.NEW_RECORDS), key=lambda entry: entry.key)
    if not staying:
        return []
    more = f" (and {counted(len(staying) - 1, 'more group-partition')})" if staying[1:] else ""
    first = staying[0]
    return [Note(NoteKind.NEW_RECORDS, f"{first.group} {first.partition}: {first.shown_detail}{more}")]


def _place(entry: PlanEntry) -> tuple[int, int] | None:
    """The committed offset, and the offset that belongs to it at the destination; None where no records are compared."""
    lags = entry.reason is Reason.DESTINATION_LAGS
    offset = entry.lossless if lags and entry.offset is None else entry.offset
    committed = min((at.offset for at in entry.source if at.offset is not None), default=None)
    if entry.verdict in (Verdict.REQUESTED, Verdict.UNCOMMITTED) or offset is None or committed is None:
        return None
    return committed, offset


def _staying(
    entries: t.Mapping[_Key, PlanEntry], source: ClusterLogs, destination: ClusterLogs, budget: int
) -> dict[_Key, Staying]:
    """Of each entry, after all that they need was read at once."""
    for side, is_source in ((source, True), (destination, False)):
        spans: dict[t.Any, set[tuple[int, int]]] = {}
        for entry in entries.values():
            if _fits(entry, source, destination, budget):
                partition = entry.source[0].partition if is_source else entry.partition
                start, end = _spans(entry, source, destination)[0 if is_source else 1]
                spans.setdefault(partition, set()).update(side.logs[partition].unread(start, end))
        side.read({partition: each for partition, each in spans.items() if each})
    return {key: _counted(entry, source, destination, budget) for key, entry in entries.items()}


def _spans(entry: PlanEntry, source: ClusterLogs, destination: ClusterLogs) -> tuple[tuple[int, int], tuple[int, int]]:
    """What is read of both logs: all that is unconsumed, and at the source the consumed records that have not come."""
    committed, offset = _place(entry) or (0, 0)
    consumed = entry.to_come + _HIDDEN if entry.offset is None and entry.to_come else 0
    log, other = source.logs[entry.source[0].partition], destination.logs[entry.partition]
    return (max(log.facts.log_start, committed - consumed), log.end), (offset, other.end)


def _fits(entry: PlanEntry, source: ClusterLogs, destination: ClusterLogs, budget: int) -> bool:
    return all(end - start <= budget for start, end in _spans(entry, source, destination))


def _counted(entry: PlanEntry, source: ClusterLogs, destination: ClusterLogs, budget: int) -> Staying:
    committed, offset = _place(entry) or (0, 0)
    to_come = (entry.to_come or 0) if entry.offset is None else 0
    if not _fits(entry, source, destination, budget):
        return Staying(None, None, to_come)
    (start, end), (_offset, other_end) = _spans(entry, source, destination)
    log, other = source.logs[entry.source[0].partition], destination.logs[entry.partition]
    consumed = log.between(start, committed) if to_come else []
    reached = consumed[-1].offset - to_come if consumed else 0
    matching = _matching(entry, log_append_time=other.facts.log_append_time)
    lacking = missing(log.between(max(start, committed), end), other.between(offset, other_end), matching.key)
    return Staying(len(lacking), _first(lacking), sum(record.offset > reached for record in consumed))


def _first(lacking: t.Sequence[Record]) -> int | None:
    return min((record.offset for record in lacking), default=None)


def _matching(entry: PlanEntry, *, log_append_time: bool) -> Matching:
    """As the rule has compared; all that can be equal where it has compared nothing, so that no two records count as one."""
    parts = entry.evidence.matched_by
    if not parts:
        return Matching(timestamp=not log_append_time, headers=True)
    return Matching("timestamp" in parts, "headers" in parts)


def _blocked(entry: PlanEntry, staying: Staying) -> PlanEntry:
    remedy = (
        "let a replication tool copy them to the destination and wait for it by wait_for_replication, or set on_new_records to "
        "leave to go on without them"
    )
    if staying.unconsumed is None:
        remedy = f"raise search_limit to have them counted; {remedy}"
    return dataclasses.replace(
        entry,
        offset=None,
        verdict=Verdict.BLOCKED,
        reason=Reason.NEW_RECORDS,
        repeats=None,
        detail=f"{staying}; {remedy}",
        lossless=entry.lossless if entry.offset is None else entry.offset,
        evidence=Evidence(),
        absent=None,
    )


def _left(entry: PlanEntry, staying: Staying) -> PlanEntry:
    """The group goes on after all of the destination that it has consumed. A tool that copies the rest later repeats some."""
    detail = f"{staying}; they stay there (on_new_records: leave)"
    lags = entry.offset is None
    return dataclasses.replace(
        entry,
        offset=entry.lossless if lags else entry.offset,
        verdict=Verdict.SAFE,
        reason=Reason.NEW_RECORDS,
        repeats=staying.consumed if lags else entry.repeats,
        detail=detail if lags or not entry.detail else f"{detail}; {entry.detail}",
        lossless=None,
        evidence=entry.evidence._replace(certificate=None),
        to_come=None,
    )
