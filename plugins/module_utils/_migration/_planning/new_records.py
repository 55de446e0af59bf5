# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""For a return: which records only the source has, because they were produced there after the migration.

Without a replication tool in this direction, no offset brings them to the destination: the plan says how many stay, and
on_new_records says whether that is wanted.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..._matching.evidence import LogFacts, Span
from ..._model.grouping import nested
from ..._model.notes import Note, NoteKind
from ..._model.plan import Evidence, PlanEntry
from ..._model.policies import OnNewRecords
from ..._model.progress import Say
from ..._model.records import TopicPartition
from ..._model.verdicts import Reason, Verdict
from ..._model.wording import counted
from ..cluster_logs import ClusterLogs
from .only_at_source import BESIDE, PartitionPair
from .settling import ReplicationWait
from .strategy import entry_note

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
    asked = {key: case for key, entry in entries.items() if (case := _asked(entry)) is not None}
    logs = _ReturnLogs(source, destination, budget)
    waiting = ReplicationWait(wait, say)
    stayings = logs.staying(asked)
    # The destination's ends are older than the source's: what it has got in between, it does not lack.
    is_known = False
    # Whoever lags in what is consumed has been waited for already.
    while (late := [key for key, staying in stayings.items() if staying.unconsumed and not staying.consumed]) and (
        not is_known or waiting.goes_on(f"a replication tool to copy {counted(len(late), 'partition')}")
    ):
        destination.learn({asked[key].entry.partition for key in late})
        stayings |= logs.staying({key: asked[key] for key in late})
        is_known = True
    changed = {}
    for key, case in asked.items():
        staying = stayings[key]
        if staying.doubt:
            changed[key] = _without_offset(case.entry, staying.doubt)
        elif staying.unconsumed != 0 or staying.consumed:
            decide = _blocked if policy == OnNewRecords.FAIL else _left
            changed[key] = decide(case.entry, staying)
    return changed


def uncounted(entry: PlanEntry, policy: OnNewRecords) -> PlanEntry:
    """An entry of a repartitioned topic, whose records may be in any partition."""
    if policy == OnNewRecords.LEAVE or entry.offset is None:
        return entry
    return _blocked(entry, Staying(None, None, 0))


def new_record_notes(entries: t.Iterable[PlanEntry]) -> list[Note]:
    """What stays at the source on purpose, in a line: the plan has each of these entries. It says itself what it blocks."""
    left = (entry for entry in entries if entry.reason is Reason.NEW_RECORDS and entry.verdict is Verdict.SAFE)
    return entry_note(NoteKind.NEW_RECORDS, left, lambda entry: entry.shown_detail)


class _Asked(t.NamedTuple):
    """An entry whose records are compared.

    committed: the offset that its group has committed at the source; offset: the one that belongs to it at the destination.
    lag: how many consumed offsets follow the last consumed record that has come, where the entry is blocked for that.
    """

    entry: PlanEntry
    committed: int
    offset: int
    lag: int

    @property
    def partitions(self) -> tuple[TopicPartition, TopicPartition]:
        """That of the source, and that of the destination."""
        return self.entry.source[0].partition, self.entry.partition

    @property
    def begin(self) -> int:
        """The source offset from which on records are compared: consumed ones that have not come, and some before these."""
        return self.committed - self.lag - BESIDE

    @property
    def anchor(self) -> int | None:
        """The source offset of the last consumed record that has come, where the plan names it: it may be far before."""
        return self.entry.evidence.before.source if self.entry.evidence.before else None


def _asked(entry: PlanEntry) -> _Asked | None:
    """The entry with its offsets on both clusters; None where no records are compared."""
    lags = entry.reason is Reason.DESTINATION_LAGS
    offset = entry.lossless if lags and entry.offset is None else entry.offset
    committed = min((at.offset for at in entry.source if at.offset is not None), default=None)
    if entry.verdict in (Verdict.REQUESTED, Verdict.UNCOMMITTED) or offset is None or committed is None:
        return None
    return _Asked(entry, committed, offset, (entry.to_come or 0) if entry.offset is None else 0)


class _ReturnLogs(t.NamedTuple):
    """The logs of both clusters, and how many offsets of each are read for an entry, at most."""

    source: ClusterLogs
    destination: ClusterLogs
    budget: int

    def staying(self, asked: t.Mapping[_Key, _Asked]) -> dict[_Key, Staying]:
        """Of each entry, after all that they need was read at once.

        A tool that was started anew may have written old records after newer ones on the way there.
        """
        stayings = self._compared(asked)
        early = {key: asked[key] for key, staying in stayings.items() if staying.is_early}
        return stayings | self._compared(early, far=True) if early else stayings

    def _compared(self, asked: t.Mapping[_Key, _Asked], *, far: bool = False) -> dict[_Key, Staying]:
        """Of each entry, after one reading of both logs for all of them.

        far: look at what is before both offsets, too, as far as the budget allows.
        """
        fitting = nested(((case.partitions, key), case) for key, case in asked.items() if self._fits(case))
        self._read(fitting, far)
        stayings = {key: Staying(None, None, case.lag) for key, case in asked.items()}
        for (partition, copied_to), cases in fitting.items():
            log, copies = self.source.logs[partition], self.destination.logs[copied_to]
            # Brokers that stamp records, and users of match_on, say that times are not kept.
            times = self.source.match_on.timestamp and not copies.facts.log_append_time
            counts = PartitionPair(log.between(0, log.end), copies.between(0, copies.end), times)
            for key in sorted(cases, key=lambda key: (cases[key].committed, cases[key].offset), reverse=True):
                staying = _counted(cases[key], log.facts, counts, times)
                if times and staying.unconsumed:
                    log_start = copies.facts.log_start if far else None
                    staying = _with_earlier_copies(staying, cases[key], counts, log_start)
                stayings[key] = staying
        return stayings

    def _read(
        self, asked: t.Mapping[tuple[TopicPartition, TopicPartition], t.Mapping[_Key, _Asked]], far: bool
    ) -> None:
        """Read each pair of partitions to their ends, from where the first of its entries needs them."""
        originals: list[tuple[TopicPartition, Span]] = []
        copies: list[tuple[TopicPartition, Span]] = []
        for (partition, copied_to), cases in asked.items():
            begins = [self._begins(case, far) for case in cases.values()]
            begin, copies_begin = map(min, zip(*begins, strict=True))
            originals.append((partition, (begin, self.source.logs[partition].end)))
            copies.append((copied_to, (copies_begin, self.destination.logs[copied_to].end)))
            anchors = {case.anchor for case in cases.values() if case.anchor is not None}
            originals += [(partition, (anchor, anchor + 1)) for anchor in anchors]
        self.source.read(originals)
        self.destination.read(copies)

    def _begins(self, case: _Asked, far: bool = False) -> tuple[int, int]:
        """From where on both logs are read: at the source from case.begin on, with all that is unconsumed.

        If consumed records have not come, what was consumed before may be at the destination from the offset on.
        """
        log, copies = self.source.logs[case.partitions[0]], self.destination.logs[case.partitions[1]]
        begin, copies_begin = case.begin, case.offset - BESIDE
        if far or case.entry.offset is None:
            begin = min(begin, log.end - self.budget)
        if far:
            copies_begin = min(copies_begin, copies.end - self.budget)
        return max(log.facts.log_start, begin), max(copies.facts.log_start, copies_begin)

    def _fits(self, case: _Asked) -> bool:
        """Does the budget allow to read both logs from there on?"""
        ends = self.source.logs[case.partitions[0]].end, self.destination.logs[case.partitions[1]].end
        return all(end - begin <= self.budget + BESIDE for begin, end in zip(self._begins(case), ends, strict=True))


def _counted(case: _Asked, facts: LogFacts, counts: PartitionPair, times: bool) -> Staying:
    """What counting says of an entry. facts: those of the source's log. times: whether equal timestamps tell copies."""
    lacking, first = counts.lacking(case.committed, case.offset)
    return Staying(
        lacking,
        first,
        counts.last_consumed(case.committed, case.lag) if case.lag else 0,
        counts.again(case.committed, case.offset) if case.entry.offset is None else 0,
        _doubt(case, facts, counts, times),
        times_differ=bool(lacking or case.lag) and counts.times_differ,
    )


def _doubt(case: _Asked, facts: LogFacts, counts: PartitionPair, times: bool) -> str:
    """Why nobody knows whether what is before the planned offset is consumed; nothing where that is known."""
    nothing_compared = not counts.has_consumed(case.committed, case.begin) and case.anchor is None
    if times and facts.log_append_time:
        doubt = (
            "the source stamps records (LogAppendTime), so that times do not tell which record was copied from which"
        )
    elif nothing_compared and facts.is_lossy:  # if it is not, nothing was consumed
        return ""
    elif counts.follows_unknown(case.committed, case.begin, case.offset, case.anchor):
        doubt = (
            f"the destination has a record before offset {case.offset} that is not one of those that the group has consumed, "
            "or that has another timestamp, so nobody knows whether the group has consumed it"
        )
    else:
        return ""
    return f"{doubt}; {_MATCH_ON}" if times else doubt


def _with_earlier_copies(staying: Staying, case: _Asked, counts: PartitionPair, log_start: int | None) -> Staying:
    """What lacks a copy from the planned offset on may have one before it, which the group would skip.

    log_start: the destination's, where all was read that the budget allows; None where only what is near was read.
    """
    first = case.committed if staying.first is None else staying.first
    if log_start is None:
        return staying._replace(is_early=counts.is_early(first, case.offset - BESIDE, case.offset))
    begin, doubt = counts.first_copy, ""
    if counts.precedes(case.committed, case.offset):
        doubt = f"an unconsumed record has a copy before the destination's offset {case.offset}: a tool has not copied in order"
    elif begin > log_start and counts.is_early(first, begin, begin + 1):
        doubt = (
            f"an unconsumed record may have a copy before the destination's offset {begin}; raise search_limit to look"
        )
    return staying._replace(doubt=staying.doubt or doubt)


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
    lags, repeats = entry.offset is None, entry.repeats
    if lags:
        # Of merged groups that have committed different offsets, only what the lowest one has consumed was counted.
        repeats = staying.consumed + staying.again if len({at.offset for at in entry.source}) == 1 else None
    return entry.without_certificate(
        Reason.NEW_RECORDS,
        offset=entry.lossless if lags else entry.offset,
        repeats=repeats,
        detail=detail if lags or not entry.detail else f"{detail}; {entry.detail}",
        lossless=None,
        to_come=None,
        chosen=entry.why_chosen,
    )
