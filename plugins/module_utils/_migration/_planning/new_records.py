# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""For a return: which records only the source has, because they were produced there after the migration.

Without a replication tool in this direction, no offset brings them to the destination: the plan says how many stay, and
on_new_records says whether that is wanted.
"""

from __future__ import annotations

import collections
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
_BESIDE = 64  # offsets that are read before those that count: they show what of the records the tools have kept


class Staying(t.NamedTuple):
    """Records that only the source has. None: not counted, because more than search_limit offsets would have to be read.

    unconsumed: those from the committed offset on; first: the source offset of the first of them. consumed: those that
    follow the last consumed record that both clusters have. again: so many records from the planned offset on may be consumed
    ones, as their contents say. doubt: why nobody knows whether the planned offset skips what only the destination has.
    """

    unconsumed: int | None
    first: int | None
    consumed: int
    again: int = 0
    doubt: str = ""

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
        key: _changed(entry, found[key], policy)
        for key, entry in asked.items()
        if found[key].unconsumed != 0 or found[key].consumed or found[key].doubt
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
                its = [_spans(entry, source, destination)[0 if is_source else 1]]
                its += [_anchor(entry)] if is_source else []
                for start, end in its:
                    spans.setdefault(partition, set()).update(side.logs[partition].unread(start, end))
        side.read({partition: each for partition, each in spans.items() if each})
    return {key: _counted(entry, source, destination, budget) for key, entry in entries.items()}


def _spans(entry: PlanEntry, source: ClusterLogs, destination: ClusterLogs) -> tuple[tuple[int, int], tuple[int, int]]:
    """What is read of both logs: all that is unconsumed, consumed records that have not come, and some before these."""
    committed, offset = _place(entry) or (0, 0)
    log, other = source.logs[entry.source[0].partition], destination.logs[entry.partition]
    start, other_start = committed - _lag(entry) - _BESIDE, offset - _BESIDE
    return (max(log.facts.log_start, start), log.end), (max(other.facts.log_start, other_start), other.end)


def _lag(entry: PlanEntry) -> int:
    """How many consumed offsets follow the last consumed record that has come, where the entry is blocked for that."""
    return (entry.to_come or 0) if entry.offset is None else 0


def _fits(entry: PlanEntry, source: ClusterLogs, destination: ClusterLogs, budget: int) -> bool:
    return all(end - start <= budget + _BESIDE for start, end in _spans(entry, source, destination))


def _counted(entry: PlanEntry, source: ClusterLogs, destination: ClusterLogs, budget: int) -> Staying:
    committed, offset = _place(entry) or (0, 0)
    to_come = _lag(entry)
    if not _fits(entry, source, destination, budget):
        return Staying(None, None, to_come)
    spans = _spans(entry, source, destination)
    records = source.logs[entry.source[0].partition].between(*spans[0])
    other = destination.logs[entry.partition]
    copies = other.between(*spans[1])
    # Brokers that stamp records, and users of match_on, say that times are not kept.
    times = source.match_on.timestamp and not other.facts.log_append_time
    consumed = [record.offset for record in records if record.offset < committed]
    reached = consumed[-1] - to_come if consumed else -1
    matching = _matching(records, copies, times)
    lacking = missing(
        [record for record in records if record.offset >= committed],
        [copy for copy in copies if copy.offset >= offset],
        matching.key,
    )
    again = collections.Counter(copy.bare for copy in copies if copy.offset >= offset)
    again &= collections.Counter(record.bare for record in records if record.offset < committed)
    doubt = ""
    facts = source.logs[entry.source[0].partition].facts
    if times and facts.log_append_time:
        doubt = (
            "the source stamps records (LogAppendTime), so that times do not tell which record was copied from which"
        )
    elif consumed or entry.evidence.before or not (facts.log_start or facts.compacted):
        known = {*source.logs[entry.source[0].partition].between(*_anchor(entry))}
        known |= {record for record in records if record.offset < committed}
        is_whole = spans[0][0] == 0
        before = [copy for copy in copies if copy.offset < offset]
        doubt = _doubt(known, before if is_whole else before[-len(known) :], matching)
    if doubt and times:
        doubt = f"{doubt}; if replication tools or brokers change timestamps, set match_on to key and value"
    coming = sum(at > reached for at in consumed) if to_come else 0
    return Staying(len(lacking), _first(lacking), coming, again.total(), doubt)


def _anchor(entry: PlanEntry) -> tuple[int, int]:
    """The last consumed record that has come, where the plan names it: it may be far before the committed offset."""
    before = entry.evidence.before
    return (before.source, before.source + 1) if before else (0, 0)


def _doubt(consumed: t.Iterable[Record], before: t.Sequence[Record], matching: Matching) -> str:
    """What is to say of the copies before an offset if the last one may be none that the group has consumed.

    An equal record that only the destination has looks like a copy. So the last record counts that is there no more often than
    it was consumed.
    """
    known = collections.Counter(map(matching.key, consumed))
    keys = [matching.key(copy) for copy in before]
    number = collections.Counter(keys)
    for key in reversed(keys):
        if not known[key]:
            break
        if number[key] <= known[key]:
            return ""
    if not before:
        return ""
    return (
        f"a record before the destination's offset {before[-1].offset + 1} is none that the group has consumed, or has another "
        "timestamp, so nobody knows whether the group has consumed it"
    )


def _first(lacking: t.Sequence[Record]) -> int | None:
    return min((record.offset for record in lacking), default=None)


def _matching(records: t.Sequence[Record], copies: t.Sequence[Record], times: bool) -> Matching:
    """Compare headers where anything on both sides has equal ones, and times in any case, unless `times` forbids it.

    The rule takes a record of equal content with another time for a copy. Here it may be one that was produced since, and would
    hide that another record has no copy.
    """
    exact = Matching(timestamp=times, headers=True)
    kept = {exact.key(record) for record in records} & {exact.key(copy) for copy in copies}
    return exact if kept else Matching(timestamp=times, headers=False)


def _changed(entry: PlanEntry, staying: Staying, policy: OnNewRecords) -> PlanEntry:
    if staying.doubt:
        return _without_offset(entry, staying.doubt)
    return _blocked(entry, staying) if policy == OnNewRecords.FAIL else _left(entry, staying)


def _blocked(entry: PlanEntry, staying: Staying) -> PlanEntry:
    remedy = (
        "let a replication tool copy them to the destination and wait for it by wait_for_replication, or set on_new_records to "
        "leave to go on without them"
    )
    if staying.unconsumed is None:
        remedy = f"raise search_limit to have them counted; {remedy}"
    found = _without_offset(entry, f"{staying}; {remedy}")
    return dataclasses.replace(found, lossless=entry.lossless if entry.offset is None else entry.offset)


def _without_offset(entry: PlanEntry, detail: str) -> PlanEntry:
    return dataclasses.replace(
        entry.blocked(Reason.NEW_RECORDS, detail), lossless=None, evidence=Evidence(), absent=None
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
        repeats=staying.consumed + staying.again if lags else entry.repeats,
        detail=detail if lags or not entry.detail else f"{detail}; {entry.detail}",
        lossless=None,
        evidence=entry.evidence._replace(certificate=None),
        to_come=None,
    )
