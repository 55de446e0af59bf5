# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Strategy `identical`: the same offsets, where records at equal offsets were seen to be equal."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import Log, Span
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.drafts import Draft
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.reading import Side
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import Copied, Evidence, PlanEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record, TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason, Verdict

_NEIGHBOURS = 4  # offsets on each side of a commit that are compared
_EVERYTHING = ("key", "value", "headers", "timestamp")

_Key = tuple[str, TopicPartition]


def entries(
    searched: t.Mapping[_Key, Draft], here: Side, there: Side, same_cluster: bool, match_on: tuple[str, ...] = ()
) -> dict[_Key, PlanEntry]:
    """Every draft's own offset, leader epoch included inside one cluster, or blocked with the reason.

    In another cluster the records around every commit are compared first: the offsets are the same only where
    a copier has kept them. The sides' logs must be known. match_on: the parts that are compared, empty for all.
    """
    if same_cluster:
        return {key: _in_range(draft, there.logs[draft.partition]) or _same(draft) for key, draft in searched.items()}
    here.read(_spans((draft.source_partition, draft, here) for draft in searched.values()))
    there.read(_spans((draft.partition, draft, there) for draft in searched.values()))
    return {
        key: _in_range(draft, there.logs[draft.partition])
        or _compared(draft, here.logs[draft.source_partition], there.logs[draft.partition], match_on or _EVERYTHING)
        for key, draft in searched.items()
    }


def _same(draft: Draft) -> PlanEntry:
    epoch = draft.committed.leader_epoch if draft.committed else None
    return dataclasses.replace(draft.entry(Verdict.EXACT, draft.offset, repeats=0), leader_epoch=epoch)


def _in_range(draft: Draft, log: Log) -> PlanEntry | None:
    """The entry for an offset that lies outside the destination's log; None for one inside."""
    if draft.offset < log.facts.log_start:
        detail = f"offset {draft.offset} has expired: the first record that is still there, without loss of any other"
        return draft.entry(Verdict.SAFE, log.facts.log_start, reason=Reason.EXPIRED, repeats=0, detail=detail)
    if draft.offset <= log.facts.high_watermark:
        return None
    detail = f"offset {draft.offset} lies beyond the destination's end {log.facts.high_watermark}"
    return draft.entry(Verdict.BLOCKED, reason=Reason.BEYOND_END, detail=detail)


def _span(draft: Draft, log: Log) -> Span:
    offset = draft.offset
    return max(log.facts.log_start, offset - _NEIGHBOURS), min(log.facts.end, offset + _NEIGHBOURS)


def _spans(wanted: t.Iterable[tuple[TopicPartition, Draft, Side]]) -> dict[TopicPartition, set[Span]]:
    result: dict[TopicPartition, set[Span]] = {}
    for partition, draft, side in wanted:
        start, end = _span(draft, side.logs[partition])
        if start < end:
            result.setdefault(partition, set()).add((start, end))
    return result


def _compared(draft: Draft, source: Log, destination: Log, parts: tuple[str, ...]) -> PlanEntry:
    committed = draft.offset
    here = {record.offset: record for record in source.between(*_span(draft, source))}
    there = {record.offset: record for record in destination.between(*_span(draft, destination))}
    low = max(_span(draft, source)[0], _span(draft, destination)[0])
    high = min(_span(draft, source)[1], _span(draft, destination)[1])
    differs = [
        offset
        for offset in sorted({*here, *there})
        if low <= offset < high and _content(here.get(offset), parts) != _content(there.get(offset), parts)
    ]
    if differs:
        detail = f"the records at offset {differs[0]} differ: this copy does not keep offsets; use strategy records"
        return draft.entry(Verdict.BLOCKED, reason=Reason.OFFSETS_DIFFER, detail=detail)
    shared = sorted(offset for offset in here if low <= offset < high)
    if not shared and committed != 0:
        detail = f"no record near offset {committed} is on both sides to prove that this copy keeps offsets"
        return draft.entry(Verdict.BLOCKED, reason=Reason.OFFSETS_DIFFER, detail=detail)
    before = [offset for offset in shared if offset < committed]
    after = [offset for offset in shared if offset >= committed]
    evidence = Evidence(
        _anchor(here[before[-1]]) if before else None, _anchor(here[after[0]]) if after else None, parts
    )
    return draft.entry(Verdict.EXACT, committed, repeats=0, evidence=evidence)


def _content(record: Record | None, parts: tuple[str, ...]) -> tuple[bytes, int | None] | None:
    return record and (record.digest, record.timestamp if "timestamp" in parts else None)


def _anchor(record: Record) -> Copied:
    return Copied(record.offset, record.offset, record.digest.hex())
