# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What an earlier plan has proved, and still holds: so that a group that has not moved costs nothing."""

from __future__ import annotations

from ..._matching.evidence import Anchor, Need, Policy, Question
from ..._matching.shifted import goes_on, where_it_goes_on
from ..._model.match_on import MatchOn
from ..._model.plan import PlanEntry
from ..._model.records import TopicPartition
from ..._model.verdicts import Verdict
from ..drafts import Draft
from .settling import Case, answer_all
from .strategy import DraftKey, StrategyInput

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
    last: dict[_Run, tuple[Anchor, bool]] = {}
    for key, draft in given.searched.items():
        entry = known.get(key)
        anchor = _anchor(entry, draft, given.options.match_on) if entry is not None else None
        if entry is None or anchor is None or (entry.offset or 0) <= destination.logs[draft.partition].facts.log_start:
            continue
        if same_offsets and entry.offset != draft.offset:
            continue
        same[key] = entry
        candidate = anchor, "timestamp" in entry.evidence.matched_by
        run = run_of[key] = draft.source_partition, draft.partition, anchor.source_offset - anchor.destination_offset
        last[run] = max(last.get(run, candidate), candidate, key=lambda each: each[0].source_offset)

    def rule(run: _Run, question: Question) -> bool | Need:
        copied, timestamp = last[run]
        return goes_on(question, copied, timestamp)

    def unknown(_error: Exception, _question: Question) -> bool:
        return False  # they are decided anew

    holds = answer_all({run: Case(0, *run[:2]) for run in last}, given.source, destination, Policy(), rule, unknown)
    kept = {key: entry for key, entry in same.items() if holds[run_of[key]]}
    return kept, {key: draft for key, draft in given.searched.items() if key not in kept}


def _anchor(entry: PlanEntry, draft: Draft, match_on: MatchOn) -> Anchor | None:
    """A record and its copy of an exact entry about this very commit, which lacked nothing; None for any other entry."""
    if entry.verdict is not Verdict.EXACT or entry.lacks_certificate or entry.source != (draft.position,):
        return None
    if entry.absent or entry.repeated_copy or entry.skipped_copy:  # the latter where somebody has edited it
        return None
    if entry.metadata != (draft.committed.metadata if draft.committed else ""):
        return None
    if match_on.parts and MatchOn.of(entry.evidence.matched_by) != match_on:
        return None
    before, after = (copied and Anchor(*copied[:3]) for copied in (entry.evidence.before, entry.evidence.after))
    return where_it_goes_on(draft.offset, entry.offset or 0, before, after)
