# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What an earlier plan has proved, and still holds: so that a group that has not moved costs nothing, and stays."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._matching.evidence import Need, Policy, Question, Span
from ..._matching.shifted import goes_on, where_it_goes_on
from ..._model.match_on import MatchOn
from ..._model.plan import PlanEntry
from ..._model.record_sum import Bound, RecordSum
from ..._model.records import TopicPartition
from ..._model.verdicts import Copied, Reason, Verdict
from ..drafts import Draft
from .settling import Case, answer_all
from .strategy import DraftKey, StrategyInput

_CHOSEN = Reason.EXPIRED, Reason.CAUGHT_UP, Reason.POLICY_FAIL  # by an option, because the source has lost records
_NOT_COUNTED = (
    "the offset of the last plan, because records have expired at the source since; not counted: whether the replication tool "
    "has copied consumed records again"
)
_LOST = "lost on both clusters"
_Run = tuple[TopicPartition, TopicPartition, int]  # both partitions, and by how much offsets differ


def part_kept(
    given: StrategyInput, same_offsets: bool = False
) -> tuple[dict[DraftKey, PlanEntry], dict[DraftKey, Draft]]:
    """The entries that are kept from the previous plan, and the drafts that are to be decided.

    Kept are those that are about the same commits, and as exact as they were. Of each partition one record and its copy are
    read again, the last that the plan names, and what stands at the destination's end: a topic that was recreated shows there,
    and a replication tool that has begun again. That speaks for entries of the same difference of offsets: a tool may have
    begun again while the plan waited for it, between two entries.
    same_offsets: only entries that keep the source's offset, as strategy identical demands.
    """
    known = given.previous.by_key if given.previous else {}
    destination = given.destination
    same: dict[DraftKey, PlanEntry] = {}
    run_of: dict[DraftKey, _Run] = {}
    last: dict[_Run, tuple[Copied, bool]] = {}
    for key, draft in given.searched.items():
        entry = known.get(key)
        anchor = _anchor(entry, draft, given.options.match_on) if entry is not None else None
        if entry is None or anchor is None or (entry.offset or 0) <= destination.logs[draft.partition].facts.log_start:
            continue
        if same_offsets and entry.offset != draft.offset:
            continue
        same[key] = entry
        candidate = anchor, "timestamp" in entry.evidence.matched_by
        run = run_of[key] = draft.source_partition, draft.partition, anchor.source - anchor.destination
        last[run] = max(last.get(run, candidate), candidate, key=lambda each: each[0].source)

    def rule(run: _Run, question: Question) -> bool | Need:
        copied, timestamp = last[run]
        return goes_on(question, copied, timestamp, gaps=same_offsets)

    # What fails is decided anew. How much may be read for a decision does not matter: this reads little.
    cases = {run: Case(0, *run[:2]) for run in last}
    holds = answer_all(cases, given, rule, lambda _error, _question: False, policy=Policy())
    kept = {key: entry for key, entry in same.items() if holds[run_of[key]]}
    return kept, {key: draft for key, draft in given.searched.items() if key not in kept}


def in_place_of_later(given: StrategyInput, decided: t.Mapping[DraftKey, PlanEntry]) -> dict[DraftKey, PlanEntry]:
    """The previous plan's offsets of the same commits where only an option could choose one now, or the rule would go further.

    Such an offset was found while the source had the last consumed record. What is before it does not change, and what has come
    to the destination since follows it: so it skips nothing, and whoever does not see that record does not know more. Only what
    is repeated is not known, if the destination has got more since. No entry that an option has chosen names that record.
    If unconsumed records have left the source that the destination does not have, the plan says so, and `fail` blocks.
    """
    known = given.previous.by_key if given.previous else {}
    ids = given.previous.source_traits.topic_ids if given.previous else {}
    found: dict[DraftKey, PlanEntry] = {}
    spans: list[tuple[TopicPartition, Span]] = []
    for key, entry in decided.items():
        previous, draft, facts = known.get(key), given.searched[key], given.destination.logs[entry.partition].facts
        if previous is None or previous.evidence.before is None or not _knows_less(entry, previous):
            continue
        copies = _copies(previous)
        # Without its id, a source topic that was made again, and has grown and expired since, would look like this one.
        if not ids.get(draft.source_partition.topic) or not _is_of(previous, draft, given.options.match_on):
            continue
        if all(facts.log_start <= offset < facts.end for offset in copies):
            found[key] = previous
            spans += [(entry.partition, (offset, offset + 1)) for offset in copies]
    given.destination.read(spans)

    def stands(previous: PlanEntry) -> bool:
        """Are the last consumed and the first unconsumed record, as the entry names them, where they were?"""
        log = given.destination.logs[previous.partition]
        records = {offset: log.between(offset, offset + 1) for offset in _copies(previous)}
        return all(
            any(fingerprint in (record.fingerprint.hex(), record.bare.hex()) for record in records[offset])
            for offset, fingerprint in _copies(previous).items()
        )

    return {key: _kept(previous, decided[key], given) for key, previous in found.items() if stands(previous)}


def _knows_less(entry: PlanEntry, previous: PlanEntry) -> bool:
    """Has the source lost the last consumed record, and an option or the first unconsumed one led to the offset?

    Others may write to the destination, too: what is between their offsets need not be consumed. Where both are the same, the
    next plan still needs to know the last consumed record.
    """
    if entry.reason in _CHOSEN:
        return True
    if entry.offset is None or previous.offset is None or entry.evidence.before is not None:
        return False
    both_exact = entry.verdict is previous.verdict is Verdict.EXACT
    return entry.offset > previous.offset or (both_exact and entry.offset == previous.offset)


def _copies(entry: PlanEntry) -> dict[int, str]:
    """The fingerprints of the copies that the entry names, by offset."""
    return {copied.destination: copied.fingerprint for copied in entry.evidence[:2] if copied is not None}


def _kept(previous: PlanEntry, entry: PlanEntry, given: StrategyInput) -> PlanEntry:
    """The previous entry, with what is lost by now. entry: what is said without it."""
    noted = given.previous.destination_traits.log_of(entry.partition) if given.previous else None
    existed = entry.offset == previous.offset or (noted is not None and (entry.offset or 0) <= noted.end)
    if entry.reason not in _CHOSEN and previous.verdict is Verdict.EXACT and existed:
        # What is between the two was there already, and is no copy of a consumed record.
        evidence = entry.evidence._replace(before=previous.evidence.before)
        return dataclasses.replace(entry, offset=previous.offset, evidence=evidence)
    log = given.source.logs[given.searched[entry.key].source_partition]
    end = given.destination.logs[entry.partition].facts.high_watermark
    missing = _missing(previous, entry, log.facts.log_start, end, noted.end if noted else 0)
    if missing and entry.reason is Reason.POLICY_FAIL:
        return entry
    has_gaps = log.facts.compacted or any(len(log.between(*span)) < span[1] - span[0] for span in log.read)
    text = RecordSum(missing, Bound.AT_MOST if has_gaps else Bound.AT_LEAST).clause("record")
    if has_gaps:
        text += ", transaction markers and compacted records included"
    lost = None if missing < 0 or (missing and has_gaps) else missing
    has_not_grown = noted is not None and end <= noted.end
    clauses = [
        previous.detail.partition(_LOST)[0].rstrip("; ") if has_not_grown else _NOT_COUNTED,
        f"{_LOST}: {text}" if missing > 0 else "",
    ]
    bound = Bound.AT_LEAST if lost else Bound.EXACTLY
    kept = dataclasses.replace(previous, lost=lost, lost_bound=bound, detail="; ".join(filter(None, clauses)))
    return kept if has_not_grown else kept.without_certificate(Reason.EXPIRED, verified=None)


def _missing(previous: PlanEntry, entry: PlanEntry, start: int, end: int, noted: int) -> int:
    """How many offsets of unconsumed records have expired at the source, less those that the destination has for them.

    Negative where it has more: others have written there, or transactions have ended. start: of the source. end: of the
    destination by now; noted: when the last plan was made.
    """
    copied, committed = previous.evidence.after or previous.evidence.before, entry.source[0].offset or 0
    following = entry.evidence.after.destination if entry.evidence.after else end  # what the source still has
    if copied is None or start <= max(copied.source, committed):
        return 0
    if previous.lost == 0 and following < noted:
        return 0  # it had been copied before the records up to it expired
    return start - copied.source - (following - copied.destination)


def _anchor(entry: PlanEntry, draft: Draft, match_on: MatchOn) -> Copied | None:
    """A record and its copy of an exact entry about this very commit, which lacked nothing; None for any other entry."""
    if entry.verdict is not Verdict.EXACT or entry.lacks_certificate or not _is_of(entry, draft, match_on):
        return None
    return where_it_goes_on(draft.offset, entry.offset or 0, entry.evidence.before, entry.evidence.after)


def _is_of(entry: PlanEntry, draft: Draft, match_on: MatchOn) -> bool:
    """Has the entry an offset for this very commit, found by these parts of records, that lacked nothing?"""
    if entry.offset is None or draft.others or entry.source != (draft.position,) or entry.metadata != draft.metadata:
        return False
    if entry.absent or entry.repeated_copy or entry.skipped_copy:  # the latter where somebody has edited it
        return False
    return not match_on.parts or MatchOn.of(entry.evidence.matched_by) == match_on
