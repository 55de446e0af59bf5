# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""The rule: where a group must stand at the destination, or what must be read before that can be said.

There are two ways. The whole way counts both logs (counting.py, whole.py): it is the definition of what is promised. The near
way reads a few records around the committed offset and at the ends of both logs. It answers only with a certificate that its
answer is what counting would say; in any doubt both logs are counted, here or by Spark.
"""

from __future__ import annotations

import typing as t

from .._model.match_on import Matching
from .._model.records import Record
from .._model.verdicts import Reason, Verdict
from . import rows, whole
from .absent import with_absent
from .certify import certificate, doubt_copies_of_later_ones
from .context import Context, Known, read_context
from .evidence import Anchor, Decision, Need, Question
from .explain import OtherMatching
from .log_reader import BudgetSpent, Doubt, Measure, NotRead, Reader
from .placing import Between, Located, place
from .search import HEAD, SOURCE_HEAD, TAIL, Cut, find_cut
from .shifted import by_shift

SMALL = 256  # offsets: logs that are no longer are counted at once
WIDTH = 8  # offsets of context on each side of the committed one


def decide(question: Question) -> Decision | Need:
    """Decide an entry from what its logs hold, or say what they must hold first. Pure.

    Asked again with that, it comes to a Decision within few rounds.
    """
    reader = Reader(question)
    try:
        edge = rows.at_the_edges(reader, question)
        decision = with_absent(reader, question, edge) if edge else _decide(reader, question)
    except NotRead:
        return reader.need()
    except BudgetSpent:
        return rows.budget_spent(question.policy)
    return reader.need() if reader.source.missing_uncommitted else decision


def _decide(reader: Reader, question: Question) -> Decision:
    if max(reader.source.length, reader.destination.length) <= SMALL and whole.fits(reader, question):
        return whole.from_count(reader, question, whole.count_logs(reader, question))
    near = _near(reader, question)
    if near is not None and near.reason is not Reason.TAIL_NOT_COUNTED:
        return with_absent(reader, question, near)
    if not whole.fits(reader, question):
        return with_absent(reader, question, near) if near else rows.budget_spent(question.policy)
    # What the near way has asked for on its way is not needed for that.
    return whole.from_count(reader, question, whole.count_logs(reader, question))


def _near(reader: Reader, question: Question) -> Decision | None:
    """What few records prove; TAIL_NOT_COUNTED for an offset without a certificate; None where not even that is known."""
    stamped = question.destination.facts.log_append_time or not question.policy.with_timestamp
    matching, measure = Matching(timestamp=not stamped, headers=True), Measure()
    while matching.timestamp:
        measure.shrink(len(matching.parts))
        try:
            return _by_times(reader, question, matching)
        except OtherMatching as other:
            matching = other.matching
        except (BudgetSpent, Doubt):
            break
    # Timestamps have not led to the records: what may is how much the offsets differ.
    return by_shift(reader, question)


def _by_times(reader: Reader, question: Question, matching: Matching) -> Decision | None:
    source, destination = reader.source, reader.destination
    source.want(source.end - TAIL, source.end)
    destination.want(destination.end - TAIL, destination.end)
    if question.committed < source.end:  # else the tails mostly say it all
        source.want(source.start, source.start + SOURCE_HEAD)
        destination.want(destination.start, destination.start + HEAD)
    context = read_context(source, question.committed, WIDTH)
    known = Known(context, matching)
    if known.without_timestamps():
        raise OtherMatching(matching._replace(timestamp=False))
    if not context.before and not context.after and not context.aborted:
        return rows.no_anchor(reader, question, matching)
    # At the destination, each record that follows may have a control record of its own.
    may_pass_over = 2 * (source.end - question.committed) <= question.policy.budget
    cut = find_cut(reader, context, known, may_pass_over=may_pass_over)
    decision = rows.by_the_cut(reader, question, context, known, cut)
    return decision or _between(reader, question, context, known, cut)


def _between(reader: Reader, question: Question, context: Context, known: Known, cut: Cut) -> Decision | None:
    """H or L is there: the offset between them, and whether it is certain."""
    last, first, between = cut.last_consumed, cut.first_unconsumed, cut.between
    placed = place(
        reader,
        known.matching,
        None if last is None else Located(last, known.consumed_at(last)),
        None if first is None else Located(first, known.unconsumed_at(first)),
        Between(bool(between), first is not None and any(record.timestamp > first.timestamp for record in between)),
    )
    if not placed.proved:
        raise Doubt
    before, after = _before(context, known, last), _after(context, known, first)
    evidence: dict[str, t.Any] = {"before": before, "after": after, "matched_by": known.matching.parts}
    found = certificate(reader, context, known, cut, placed.offset, question.policy)
    if found is not None:
        return Decision.exact(found, placed.offset, **evidence)
    if not cut.explained and first is None and last is None:
        return None
    if first is None:
        doubt_copies_of_later_ones(reader, cut.records)
    return Decision(
        Verdict.SAFE,
        placed.offset,
        Reason.TAIL_NOT_COUNTED,
        detail="by timestamps, no unconsumed record is before the offset; repeated records were not counted, as "
        "search_limit says",
        **evidence,
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
