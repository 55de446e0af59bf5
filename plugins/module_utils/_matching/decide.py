# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""The rule: where a group must stand at the destination, or what must be read before that can be said."""

from __future__ import annotations

import dataclasses

from ansible_collections.streamshift.kafka.plugins.module_utils._matching import rows
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.context import (
    Context,
    Known,
    Matching,
    read_context,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import (
    Anchor,
    Decision,
    Need,
    Question,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.explain import OtherMatching
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.judging import judged
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.placing import Between, Located, place
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.reading import (
    BudgetSpent,
    LogReader,
    NotRead,
    Reader,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.search import (
    HEAD,
    SOURCE_HEAD,
    TAIL,
    Cut,
    find_cut,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.shifted import by_shift
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.tail import check_tail
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record

WIDTHS = (8, 64, 512, 4096)  # offsets of context on each side; more when there is a doubt
_REPEATED = 512  # enough where consumed records follow unconsumed ones, as they seem to be


def decide(question: Question) -> Decision | Need:
    """Decide an entry from what its logs hold, or say what they must hold first. Pure.

    Asked again with that, it comes to a Decision within few rounds.
    """
    reader = Reader(question)
    stamped = question.destination.facts.log_append_time or not question.policy.with_timestamp
    matching = Matching(timestamp=not stamped, headers=True)
    try:
        while True:
            try:
                decision = rows.at_the_edges(reader, question) or _decide(reader, question, matching)
            except OtherMatching as other:
                matching = other.matching
                continue
            break
    except NotRead:
        return reader.need()
    except BudgetSpent:
        # Without timestamps, differences of offsets were tried before.
        return _given_up(question) if matching.timestamp else rows.budget_spent(question.policy)
    return reader.need() if reader.source.missing_uncommitted else decision


def _given_up(question: Question) -> Decision | Need:
    """Timestamps have not led to the records: the last resort is how much the offsets differ."""
    reader = Reader(question)
    try:
        return by_shift(reader, question) or rows.budget_spent(question.policy)
    except NotRead:
        return reader.need()


def _decide(reader: Reader, question: Question, matching: Matching) -> Decision:
    source, destination = reader.source, reader.destination
    source.want(source.end - TAIL, source.end)
    destination.want(destination.end - TAIL, destination.end)
    if question.committed < source.end:  # else the tails mostly say it all
        source.want(source.start, source.start + SOURCE_HEAD)
        destination.want(destination.start, destination.start + HEAD)
    if not matching.timestamp and (shifted := by_shift(reader, question)) is not None:
        return shifted
    for width in WIDTHS:
        if not matching.timestamp:
            width = _whole_logs(reader, question)
        context = read_context(source, question.committed, width)
        known = Known(context, matching)
        if matching.timestamp and known.without_timestamps():
            raise OtherMatching(matching._replace(timestamp=False))
        if not context.before and not context.after and not context.aborted:
            return rows.no_anchor(reader, question, matching)
        cut = find_cut(reader, context, known)
        settled = context.whole or (cut.settled and width >= _doubt(destination, context, known, cut))
        if not settled and width < WIDTHS[-1]:
            continue
        decision = rows.by_the_cut(reader, question, context, known, cut) or _between(
            reader, question, context, known, cut
        )
        if context.whole or width >= _REPEATED or not decision.repeats:
            break
    return decision


def _doubt(destination: LogReader, context: Context, known: Known, cut: Cut) -> int:
    """How wide the context should be for this cut, so that no equal record beyond it is mistaken for one inside.

    Where the destination has all of the context around the cut, nothing can be. Where it begins or ends there, or lacks A
    or B, more of the source must be seen, and all of a run of equal times.
    """
    if cut.repeated_nearby:
        return _REPEATED
    anchors = (context.before[-1:], cut.last_consumed), (context.after[:1], cut.first_unconsumed)
    lacks_one = any(near and (found is None or known.key(found) != known.key(near[0])) for near, found in anchors)
    before = len(cut.records) if cut.consumed is None else cut.consumed
    after = 0 if cut.unconsumed is None else len(cut.records) - cut.unconsumed - 1
    begins_late = cut.low <= destination.start and before < len(context.before) - 1
    ends_early = cut.high >= destination.end and after < len(context.after) - 1
    if not (lacks_one or begins_late or ends_early):
        return 0
    times = {record.timestamp for near, found in anchors for record in (*near, found) if record is not None}
    return WIDTHS[-1] if context.cuts_off(times) else 64


def _whole_logs(reader: Reader, question: Question) -> int:
    """Without timestamps nothing but all records of both logs proves anything: the width that takes in the source's."""
    logs = (reader.source, reader.destination)
    if any(log.end - log.start > question.policy.budget for log in logs):
        raise BudgetSpent
    reader.destination.want(reader.destination.start, reader.destination.end)
    return max(1, reader.source.end - reader.source.start)


def _between(reader: Reader, question: Question, context: Context, known: Known, cut: Cut) -> Decision:
    """H or L is there: the offset between them, and what follows it."""
    last, first, strangers = cut.last_consumed, cut.first_unconsumed, cut.between
    timed = known.matching.timestamp and first is not None
    placed = place(
        reader,
        known.matching,
        None if last is None else Located(last, known.consumed_at(last)),
        None if first is None else Located(first, known.unconsumed_at(first)),
        Between(bool(strangers), timed and any(first and record.timestamp > first.timestamp for record in strangers)),
    )
    tail = check_tail(reader, context, known, cut, placed.offset, question.policy.tail_check)
    decision = judged(placed, tail, cut.settled)
    return dataclasses.replace(
        decision,
        before=_before(context, known, last),
        after=_after(context, known, tail.later if decision.offset != placed.offset else first),
        matched_by=known.matching.parts,
    )


def _before(context: Context, known: Known, record: Record | None) -> Anchor | None:
    if record is None:
        return None
    nearest = context.before[-1:] and known.key(context.before[-1]) == known.key(record)
    offset = context.before[-1].offset if nearest else known.consumed_at(record)
    return Anchor(offset, record.offset, known.matching.fingerprint(record))


def _after(context: Context, known: Known, record: Record | None) -> Anchor | None:
    if record is None:
        return None
    nearest = context.after[:1] and known.key(context.after[0]) == known.key(record)
    offset = context.after[0].offset if nearest else known.unconsumed_at(record)
    return Anchor(offset, record.offset, known.matching.fingerprint(record))
