# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Strategy `identical`: the same offsets, where records at equal offsets were seen to be equal."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._matching.absent import with_absent
from ..._matching.certificates import NoRecordBefore, NothingConsumed, SameLog
from ..._matching.evidence import Decision, LogFacts, Need, Question, blocked, internal_error
from ..._matching.log_reader import NotRead, Reader
from ..._matching.lost_records import with_lost
from ..._matching.shifted import keeps_offsets
from ..._model.errors import InvalidInput
from ..._model.option_names import at_destination, option_name
from ..._model.plan import PlanEntry
from ..._model.policies import OnExpired
from ..._model.record_sum import Bound
from ..._model.verdicts import Reason, Verdict
from ..drafts import Draft, decided
from .by_records import decide_in_time
from .kept import part_kept
from .settling import Case, answer_all
from .strategy import DraftKey, StrategyInput, StrategyOutput, TopicIds

_UNIDENTIFIED = "nothing shows that the topic is still the one that the offset was committed on: its id is not known"


def identical(given: StrategyInput) -> StrategyOutput:
    """Every draft's own offset, leader epoch included inside one log, or blocked with the reason.

    In another log the records around every commit and at both ends of the destination are compared first: the offsets are
    the same only where a replication tool has kept them. on_expired: fail blocks offsets that have expired; no other value can
    find an earlier record. Raises InvalidInput for repartitioned topics.
    """
    if given.merged:
        raise InvalidInput(
            f"{option_name('strategy')} identical keeps offsets, and repartitioned topics have others",
            topic=given.merged[0].source_partition.topic,
            remedy=f"use {option_name('strategy')} records, or take the topic out of {option_name('repartitioned')}",
        )
    destination, match_on, on_expired = given.destination, given.options.match_on, given.options.policy.on_expired
    entries: dict[DraftKey, PlanEntry] = {}
    others: dict[DraftKey, Draft] = {}
    for key, draft in given.searched.items():
        ids = given.same_topics.get(draft.partition.topic)
        if ids is not None and draft.source_partition == draft.partition:
            entries[key] = _in_one_log(draft, ids, destination.logs[draft.partition].facts, on_expired)
        else:
            others[key] = draft
    kept, compared = part_kept(dataclasses.replace(given, searched=others), same_offsets=True)
    entries |= kept
    cases = {key: Case(draft.offset, draft.source_partition, draft.partition) for key, draft in compared.items()}
    decisions = decide_in_time(
        cases, given, lambda asked, say: answer_all(asked, given, _compared, internal_error, say)
    )
    entries |= {key: decided(draft, decisions[key], match_on) for key, draft in compared.items()}
    return StrategyOutput(entries, len(kept))


def _in_one_log(draft: Draft, ids: TopicIds, facts: LogFacts, on_expired: OnExpired) -> PlanEntry:
    """Inside one log an offset means the same record, whoever has committed it. Without ids, it may be another log by now."""
    outside = _outside(draft.offset, facts, on_expired)
    if outside is not None:
        return decided(draft, _with_lost(outside, draft.offset, facts.log_start, "lost"))
    epoch = draft.committed.leader_epoch if draft.committed else None
    before, now = ids
    if before is None or now is None or before != now:
        decision = Decision(Verdict.REQUESTED, draft.offset, Reason.TOPIC_UNIDENTIFIED, detail=_UNIDENTIFIED)
    else:
        proof = SameLog(True, (before, now), draft.source_partition, draft.partition)
        decision = Decision.exact(proof, draft.offset)
    return dataclasses.replace(decided(draft, decision), leader_epoch=epoch)


def _outside(offset: int, facts: LogFacts, on_expired: OnExpired) -> Decision | None:
    """The decision for an offset that lies outside of the destination's log; None for one inside."""
    if offset > facts.high_watermark:
        detail = f"offset {offset} is after the end of the log{at_destination()}, {facts.high_watermark}"
        return blocked(Reason.BEYOND_END, detail)
    start = facts.log_start
    if offset >= start:
        return None
    what = f"offset {offset} has expired, because the log{at_destination()} starts at {start}"
    match on_expired:
        case OnExpired.FAIL:
            detail = f"{what}; on_expired says fail"
            return blocked(Reason.POLICY_FAIL, detail, lossless=NoRecordBefore(start, records=0))
        case OnExpired.COUNT_BACK | OnExpired.START | OnExpired.FIRST_VISIBLE:
            detail = f"{what}; the plan takes the first remaining record"
            return Decision(Verdict.SAFE, start, Reason.EXPIRED, 0, detail)
        case _:
            t.assert_never(on_expired)


def _with_lost(decision: Decision, offset: int, start: int, clause: str) -> Decision:
    """The decision for an offset, with how many records are lost because no log starts before `start`."""
    lost = max(0, start - offset)
    if decision.offset is None or not lost:
        return decision
    return with_lost(decision, lost, Bound.AT_MOST, clause)


def _compared(_key: DraftKey, question: Question) -> Decision | Need:
    answer = _by_edges_or_records(question)
    if isinstance(answer, Need):
        return answer
    reader = Reader(question)
    try:
        return with_absent(reader, answer)
    except NotRead:
        return reader.need()


def _by_edges_or_records(question: Question) -> Decision | Need:
    facts, committed = question.destination.facts, question.committed
    lags = facts.high_watermark < committed <= question.source.facts.high_watermark
    outside = None if lags else _outside(committed, facts, question.policy.on_expired)
    if outside is not None and outside.verdict is Verdict.BLOCKED:
        return outside
    both_start, clause = min(facts.log_start, question.source.facts.log_start), "lost on both clusters"
    if committed == 0:
        decision = Decision.exact(NothingConsumed(committed), facts.log_start, detail="nothing was ever consumed")
        return _with_lost(decision, committed, both_start, clause)
    answer = keeps_offsets(question, question.policy.with_timestamp and not facts.log_append_time)
    if answer is None:
        why = "around it, or at an edge of what both logs have, the records at equal offsets differ, or too few tell"
        if committed < question.source.facts.log_start:
            why = f"it has expired at the source, whose log starts at {question.source.facts.log_start}"
        detail = (
            f"offset {committed} is not proved to mean the same record on both clusters: {why}; use strategy records"
        )
        return blocked(Reason.OFFSETS_DIFFER, detail)
    if outside is not None and isinstance(answer, Decision):
        outside = _with_lost(outside, committed, both_start, clause)
        return dataclasses.replace(outside, after=answer.after, matched_by=answer.matched_by)
    return answer
