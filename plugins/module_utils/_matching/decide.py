# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""The rule: where a group must stand at the destination, or what must be read before that can be said.

There are two ways. The whole way counts both logs (counting.py, whole.py): it is the definition of what is promised. The near
way reads a few records around the committed offset and at the ends of both logs. It calls an offset exact only with a
certificate that counting would say so; in any doubt both logs are counted, here or by Spark. An answer names its way, and the
doubt that a way which reads less has left.
"""

from __future__ import annotations

import typing as t

from .._model.match_on import Matching
from .._model.records import Record
from .._model.verdicts import Copied, Reason, Verdict, Way
from . import rows, whole
from .absent import with_absent
from .between import Between, Located, offset_between
from .certify import certificate, doubt_copies_of_later_ones
from .context import Context, Known, OtherMatching, read_context
from .evidence import Decision, Need, Question
from .log_reader import BudgetSpent, Doubt, Measure, NotRead, Reader
from .search import HEAD, SOURCE_HEAD, TAIL, Cut, find_cut
from .shifted import by_shift

WIDTH = 8  # offsets of context on each side of the committed one


def decide(question: Question) -> Decision | Need:
    """Decide an entry from what its logs hold, or say what they must hold first. Pure.

    Asked again with that, it comes to a Decision within few rounds.
    """
    reader = Reader(question)
    try:
        edge = rows.at_the_edges(reader)
        decision = with_absent(reader, edge.by(Way.ENDS)) if edge else _decide(reader)
    except NotRead:
        return reader.need()
    except BudgetSpent:
        return rows.budget_spent(question.policy).by(Way.NEAR)
    return reader.need() if reader.source.missing_uncommitted else decision


def _decide(reader: Reader) -> Decision:
    if whole.are_small(reader):
        return _counted(reader)
    near = _near(reader)
    if near.is_open and reader.fits:
        # What the near way has asked for on its way is not needed for that.
        return _counted(reader, near.doubt)
    return with_absent(reader, near)


def _counted(reader: Reader, doubt: str = "") -> Decision:
    try:
        decision = whole.from_count(reader, whole.count_logs(reader))
    except BudgetSpent:
        decision = rows.budget_spent(reader.policy)
    decision = decision.by(Way.COUNT, doubt)
    # That a record has arrived is not counted where all copies come twice, and equal records may have been lost. Without times,
    # the first copy may be that of one of these: nothing may have arrived.
    may_have_arrived = decision.after is None or "timestamp" in decision.matched_by
    return with_absent(reader, decision) if decision.reason is Reason.EXPIRED and may_have_arrived else decision


def _near(reader: Reader) -> Decision:
    """What few records prove.

    Where that is not enough, `doubt` says why: the reason is TAIL_NOT_COUNTED for an offset without a certificate, and
    SEARCH_BUDGET_SPENT where not even the offset is known.
    """
    try:
        return _by_matchings(reader).by(Way.NEAR)
    except Doubt as exc:
        doubt = exc
    except BudgetSpent:
        doubt = Doubt("more records would have to be read one by one than search_limit")
    # By its time no record was found, or none that is beyond doubt: how much the offsets differ may lead there, too.
    shifted = by_shift(reader)
    if shifted is not None:
        return shifted.by(Way.DIFFERENCE, str(doubt))
    return rows.budget_spent(reader.policy).by(Way.NEAR, str(doubt))


def _by_matchings(reader: Reader) -> Decision:
    """By times and headers, or without headers where copies have others. Raises NotRead, BudgetSpent, Doubt."""
    stamped = reader.destination.facts.log_append_time or not reader.policy.with_timestamp
    matching, measure = Matching(timestamp=not stamped, headers=True), Measure()
    while matching.timestamp:
        measure.shrink(len(matching.parts))
        try:
            return _by_times(reader, matching)
        except OtherMatching as other:
            matching = other.matching
    raise Doubt("timestamps do not lead to the copies, which have others, or timestamps are not compared")


def _by_times(reader: Reader, matching: Matching) -> Decision:
    """What the records say to which time look-ups lead. Raises NotRead, OtherMatching, BudgetSpent, Doubt."""
    source, destination = reader.source, reader.destination
    source.want(source.end - TAIL, source.end)
    destination.want(destination.end - TAIL, destination.end)
    if reader.committed < source.end:  # else the tails mostly say it all
        source.want(source.start, source.start + SOURCE_HEAD)
        destination.want(destination.start, destination.start + HEAD)
    context = read_context(source, reader.committed, WIDTH)
    known = Known(context, matching)
    if known.without_timestamps():
        raise OtherMatching(matching._replace(timestamp=False))
    if not context.before and not context.after and not context.aborted:
        return rows.no_anchor(reader, matching)
    # At the destination, each record that follows may have a control record of its own.
    may_pass_over = 2 * (source.end - reader.committed) <= reader.policy.search_limit
    cut = find_cut(reader, context, known, may_pass_over=may_pass_over)
    return rows.by_the_cut(reader, context, known, cut) or _between(reader, context, known, cut)


def _between(reader: Reader, context: Context, known: Known, cut: Cut) -> Decision:
    """H or L is there: the offset between them, exact if few records prove it."""
    last, first, between = cut.last_consumed, cut.first_unconsumed, cut.between
    placed = offset_between(
        reader,
        known.matching,
        None if last is None else Located(last, known.consumed_at(last)),
        None if first is None else Located(first, known.unconsumed_at(first)),
        Between.of(between, first),
    )
    if not placed.proved:
        raise Doubt("the source's log is compacted, and copies of what it has lost may be before the offset")
    evidence: dict[str, t.Any] = {
        "before": _anchor(known, last, context.before[-1:], known.consumed_at),
        "after": _anchor(known, first, context.after[:1], known.unconsumed_at),
        "matched_by": known.matching.parts,
    }
    proof = certificate(reader, context, known, cut, placed.offset)
    if not isinstance(proof, Doubt):
        return Decision.exact(proof, placed.offset, **evidence)
    if not cut.explained and first is None and last is None:
        return rows.budget_spent(reader.policy).by(Way.NEAR, str(proof))
    if first is None:
        doubt_copies_of_later_ones(reader, cut.records)
    return Decision(
        Verdict.SAFE,
        placed.offset,
        Reason.TAIL_NOT_COUNTED,
        detail="by timestamps, no unconsumed record is before the offset; repeated records were not counted, because "
        "a log is longer than search_limit",
        doubt=str(proof),
        **evidence,
    )


def _anchor(
    known: Known, record: Record | None, nearest: t.Sequence[Record], offset_of: t.Callable[[Record], int]
) -> Copied | None:
    """nearest: the source's record next to the committed offset, if there is one. offset_of: that of any other original."""
    if record is None:
        return None
    is_nearest = nearest and known.key(nearest[0]) == known.key(record)
    offset = nearest[0].offset if is_nearest else offset_of(record)
    return Copied(offset, record.offset, known.matching.fingerprint(record))
