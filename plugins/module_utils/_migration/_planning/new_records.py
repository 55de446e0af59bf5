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

from ..._matching.evidence import LogFacts
from ..._model.notes import Note, NoteKind
from ..._model.plan import Evidence, PlanEntry
from ..._model.policies import OnNewRecords
from ..._model.progress import Say, counted
from ..._model.records import TopicPartition
from ..._model.verdicts import Reason, Verdict
from ..cluster_logs import ClusterLogs
from .only_at_source import BESIDE, PartitionPair
from .settling import PAUSE

_Key = t.TypeVar("_Key")


_MATCH_ON = "if replication tools or brokers change timestamps, set match_on to key and value"


class Staying(t.NamedTuple):
    """Records that only the source has. None: not counted, because more than search_limit offsets would have to be read.

    unconsumed: those from the committed offset on; first: the source offset of the first of them. consumed: those that
    follow the last consumed record that both clusters have. again: so many records from the planned offset on may be consumed
    ones, as their contents say. doubt: why nobody knows whether the planned offset skips what the group has not consumed.
    is_early: whether what the destination lacks from the planned offset on may be far before it, as timestamps say.
    times_differ: whether the destination may have some of them with other timestamps, as contents say.
    """

    unconsumed: int | None
    first: int | None
    consumed: int
    again: int = 0
    doubt: str = ""
    is_early: bool = False
    times_differ: bool = False

    def __str__(self) -> str:
        unconsumed = "an unknown number of unconsumed records"
        if self.unconsumed is not None:
            unconsumed = counted(self.unconsumed, "unconsumed record")
        at = "" if self.first is None else f" (from source offset {self.first} on)"
        consumed = f" and {counted(self.consumed, 'consumed record')}" if self.consumed else ""
        times = f"; the destination has such records with other timestamps: {_MATCH_ON}" if self.times_differ else ""
        return f"only at the source: {unconsumed}{at}{consumed}{times}"


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
    stayings = _staying(asked, source, destination, budget)
    # Whoever lags in what is consumed has been waited for already.
    while (late := [key for key, staying in stayings.items() if staying.unconsumed and not staying.consumed]) and (
        (left := deadline - time.monotonic()) > 0
    ):
        say(f"waiting for a replication tool to copy {counted(len(late), 'partition')} ({left:.0f} s left)")
        time.sleep(PAUSE)
        destination.learn({asked[key].partition for key in late})
        stayings |= _staying({key: asked[key] for key in late}, source, destination, budget)
    return {
        key: _changed(entry, stayings[key], policy)
        for key, entry in asked.items()
        if stayings[key].unconsumed != 0 or stayings[key].consumed or stayings[key].doubt
    }


def uncounted(entry: PlanEntry, policy: OnNewRecords) -> PlanEntry:
    """An entry of a repartitioned topic, whose records may be in any partition."""
    if policy == OnNewRecords.LEAVE or entry.offset is None:
        return entry
    return _blocked(entry, Staying(None, None, 0))


def new_record_notes(entries: t.Iterable[PlanEntry]) -> list[Note]:
    """What stays at the source on purpose, in a line: the plan has each of these entries. It says itself what it blocks."""
    left = (entry for entry in entries if entry.reason is Reason.NEW_RECORDS and entry.verdict is Verdict.SAFE)
    staying = sorted(left, key=lambda entry: entry.key)
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
    """Of each entry, after all that they need was read at once.

    A tool that was started anew may have written old records after newer ones on the way there.
    """
    stayings = _swept(entries, source, destination, budget)
    early = {key: entries[key] for key, staying in stayings.items() if staying.is_early}
    return stayings | _swept(early, source, destination, budget, far=True) if early else stayings


def _swept(
    entries: t.Mapping[_Key, PlanEntry],
    source: ClusterLogs,
    destination: ClusterLogs,
    budget: int,
    *,
    far: bool = False,
) -> dict[_Key, Staying]:
    """far: look at what is before both offsets, too, as far as the budget allows."""
    fitting = {key: entry for key, entry in entries.items() if _fits(entry, source, destination, budget)}
    stayings = {key: Staying(None, None, _lag(entry)) for key, entry in entries.items()}
    together: dict[tuple[TopicPartition, TopicPartition], list[_Key]] = collections.defaultdict(list)
    for key, entry in fitting.items():
        together[entry.source[0].partition, entry.partition].append(key)
    ranges = {
        pair: [
            min(begins)
            for begins in zip(*(_begins(fitting[key], source, destination, budget, far) for key in keys), strict=True)
        ]
        for pair, keys in together.items()
    }
    for side, number in ((source, 0), (destination, 1)):
        spans: dict[TopicPartition, set[tuple[int, int]]] = collections.defaultdict(set)
        for pair, begins in ranges.items():
            spans[pair[number]].add((begins[number], side.logs[pair[number]].end))
        if not number:
            for entry in fitting.values():
                if (anchor := _anchor(entry)) is not None:
                    spans[entry.source[0].partition].add((anchor, anchor + 1))
        side.read(spans)
    for pair, keys in together.items():
        at_source, at_destination = source.logs[pair[0]], destination.logs[pair[1]]
        # Brokers that stamp records, and users of match_on, say that times are not kept.
        times = source.match_on.timestamp and not at_destination.facts.log_append_time
        counts = PartitionPair(
            at_source.between(0, at_source.end), at_destination.between(0, at_destination.end), times
        )
        for key in sorted(keys, key=lambda key: _place(fitting[key]) or (), reverse=True):
            staying = _counted(fitting[key], at_source.facts, counts, times)
            if times and staying.unconsumed:
                staying = _placed(staying, fitting[key], counts, at_destination.facts.log_start if far else None)
            stayings[key] = staying
    return stayings


def _begins(
    entry: PlanEntry, source: ClusterLogs, destination: ClusterLogs, budget: int, far: bool = False
) -> tuple[int, int]:
    """From where on both logs are read: all that is unconsumed, consumed records that have not come, and some before these.

    If any have not come, what was consumed before may be at the destination from the offset on.
    """
    committed, offset = _place(entry) or (0, 0)
    log, other = source.logs[entry.source[0].partition], destination.logs[entry.partition]
    start = committed - _lag(entry) - BESIDE
    start = start if entry.offset is not None and not far else min(start, log.end - budget)
    before = min(offset - BESIDE, other.end - budget) if far else offset - BESIDE
    return max(log.facts.log_start, start), max(other.facts.log_start, before)


def _lag(entry: PlanEntry) -> int:
    """How many consumed offsets follow the last consumed record that has come, where the entry is blocked for that."""
    return (entry.to_come or 0) if entry.offset is None else 0


def _fits(entry: PlanEntry, source: ClusterLogs, destination: ClusterLogs, budget: int) -> bool:
    ends = source.logs[entry.source[0].partition].end, destination.logs[entry.partition].end
    begins = _begins(entry, source, destination, budget)
    return all(end - begin <= budget + BESIDE for begin, end in zip(begins, ends, strict=True))


def _anchor(entry: PlanEntry) -> int | None:
    """The source offset of the last consumed record that has come, where the plan names it: it may be far before."""
    return entry.evidence.before.source if entry.evidence.before else None


def _counted(entry: PlanEntry, facts: LogFacts, counts: PartitionPair, times: bool) -> Staying:
    committed, offset = _place(entry) or (0, 0)
    lag = _lag(entry)
    begin = committed - lag - BESIDE
    lacking, first = counts.lacking(committed, offset)
    doubt = ""
    if times and facts.log_append_time:
        doubt = (
            "the source stamps records (LogAppendTime), so that times do not tell which record was copied from which"
        )
    elif (
        counts.has_consumed(committed, begin)
        or _anchor(entry) is not None
        or not facts.is_lossy  # then nothing was consumed
    ) and counts.follows_unknown(committed, begin, offset, _anchor(entry)):
        doubt = (
            f"the destination has a record before offset {offset} that is not one of those that the group has consumed, or "
            "that has another timestamp, so nobody knows whether the group has consumed it"
        )
    if doubt and times:
        doubt = f"{doubt}; {_MATCH_ON}"
    return Staying(
        lacking,
        first,
        counts.last_consumed(committed, lag) if lag else 0,
        counts.again(committed, offset) if entry.offset is None else 0,
        doubt,
        times_differ=bool(lacking or lag) and counts.times_differ,
    )


def _placed(staying: Staying, entry: PlanEntry, counts: PartitionPair, log_start: int | None) -> Staying:
    """What lacks a copy from the planned offset on may have one before it, which the group would skip.

    log_start: the destination's, where all was read that the budget allows; None where only what is near was read.
    """
    committed, offset = _place(entry) or (0, 0)
    first = committed if staying.first is None else staying.first
    if log_start is None:
        return staying._replace(is_early=counts.is_early(first, offset - BESIDE, offset))
    begin, doubt = counts.first_copy, ""
    if counts.precedes(committed, offset):
        doubt = (
            f"an unconsumed record has a copy before the destination's offset {offset}: a tool has not copied in order"
        )
    elif begin > log_start and counts.is_early(first, begin, begin + 1):
        doubt = (
            f"an unconsumed record may have a copy before the destination's offset {begin}; raise search_limit to look"
        )
    return staying._replace(doubt=staying.doubt or doubt)


def _changed(entry: PlanEntry, staying: Staying, policy: OnNewRecords) -> PlanEntry:
    if staying.doubt:
        return _without_offset(entry, staying.doubt)
    return _blocked(entry, staying) if policy == OnNewRecords.FAIL else _left(entry, staying)


def _blocked(entry: PlanEntry, staying: Staying) -> PlanEntry:
    remedy = (
        "let a replication tool copy them to the destination and wait for it by wait_for_replication, or set on_new_records to "
        "leave to go on without them"
    )
    if staying.times_differ:
        remedy = f"otherwise, {remedy}"
    if staying.unconsumed is None:
        remedy = f"raise search_limit to have them counted; {remedy}"
    without_offset = _without_offset(entry, f"{staying}; {remedy}")
    return dataclasses.replace(without_offset, lossless=entry.lossless if entry.offset is None else entry.offset)


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
