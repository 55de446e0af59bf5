# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""The situations in which the committed offset has no consumed or no unconsumed record to go by."""

from __future__ import annotations

import contextlib
import dataclasses

from .._model.match_on import Matching
from .._model.policies import OnNoAnchor
from .._model.records import Record
from .._model.verdicts import BEFORE_LOSS, Copied, Reason
from .._model.wording import counted
from . import chosen
from .between import count_back
from .certificates import DISTINCT, ConsumedBefore, Lossless, NoRecordBefore, NothingConsumed, NothingThere
from .certify import certificate, doubt_copies_of_later_ones, same_before
from .context import Context, Known, OtherMatching, Side
from .evidence import Decision, LogFacts, Policy, blocked
from .log_reader import BudgetSpent, Doubt, LogReader, Reader
from .lost_records import (
    LostRecords,
    copies_from,
    deleted_records,
    lost_before_any,
    lost_bound,
    none_equal,
    with_lost,
)
from .search import TAIL, Cut

WAIT = "wait for the replication tool (wait_for_replication)"
_NONE_KNOWN = "no record that was read at the destination equals one of the source"


def budget_spent(policy: Policy) -> Decision:
    """More would have to be read than one entry may."""
    return blocked(
        Reason.SEARCH_BUDGET_SPENT, f"more than {policy.search_limit:,} records (search_limit) would have to be read"
    )


def at_the_edges(reader: Reader) -> Decision | None:
    """What the edges of the logs decide without any record: None when they do not."""
    facts, committed = reader.source.facts, reader.committed
    if committed == 0:
        return _nothing_consumed(reader)
    if committed > facts.high_watermark:
        return blocked(
            Reason.BEYOND_END,
            f"the source ends at {facts.high_watermark}, and {committed} is committed: the topic was recreated or truncated "
            "after the commit, or a file says a wrong offset; correct the file, or first reset the group at the source "
            f"{BEFORE_LOSS}",
        )
    if committed > facts.end:
        return blocked(
            Reason.OPEN_TRANSACTION,
            f"an open transaction keeps the source's records from {facts.end} on from being read; "
            "try again when it is over",
        )
    return None


def _nothing_consumed(reader: Reader) -> Decision:
    """The start of the destination's log, and what has expired before anybody has consumed it. Raises NotRead."""
    expired, lost = reader.source.start, lost_before_any(reader)
    each_a_record = not reader.source.has_gaps
    detail = "nothing was ever consumed"
    if expired:
        detail += f"; {chosen.expired_text(expired, each_a_record)}"
        detail += ", and the destination may have some of them" if lost is None else ""
    destination = reader.destination
    if not destination.length and destination.facts.hidden < reader.source.length:  # else, all copies may be hidden
        detail += deleted_records(destination.facts)
    decision = Decision.exact(NothingConsumed(reader.committed), destination.start, detail=detail)
    return with_lost(decision, lost, lost_bound(lost, expired, each_a_record))


def no_anchor(reader: Reader, matching: Matching) -> Decision:
    """The source partition has no visible record at all."""
    facts = reader.source.facts
    if facts.end < facts.high_watermark:
        return blocked(
            Reason.OPEN_TRANSACTION,
            "the source shows no record while a transaction is open; try again when it is over",
        )
    if reader.committed < facts.log_start:
        return decide_expired(reader, None, facts.high_watermark, matching)
    return by_policy(reader, matching, facts.end)


def by_the_cut(reader: Reader, context: Context, known: Known, cut: Cut) -> Decision | None:
    """What is decided by the anchors that are missing: None when H and L, or A, are there."""
    if reader.committed < reader.source.start:
        first = cut.first_unconsumed
        if first is None:
            _doubt_unknown_records(reader, context)
        position = position_of_end(reader, _first_after(context)) if first is None else known.unconsumed_at(first)
        ends_well = _is_certain(reader, context, known, cut)
        if not ends_well and reader.fits:
            raise Doubt("records have expired, and consumed ones may follow the first unconsumed one")
        return decide_expired(reader, first, position, known.matching, ends_well)
    if not context.before and cut.unconsumed is None:
        _doubt_unknown_records(reader, context)
        return by_policy(reader, known.matching, position_of_end(reader, _first_after(context)))
    if context.before and cut.unconsumed is None and not _has_come_to(context.before[-1], known, cut):
        last = cut.last_consumed
        if last is None and tail(reader.destination):
            raise Doubt(_NONE_KNOWN)  # not even that timestamps are kept
        reached = reader.source.start - 1 if last is None else known.consumed_at(last)
        lossless = _lossless(reader, context, known, cut, reached)
        return lags(reader.destination, context.before[-1].offset, lossless, reached)
    return None


def _lossless(reader: Reader, context: Context, known: Known, cut: Cut, reached: int) -> Lossless | None:
    """The offset after the last consumed record that has come, the one of source offset `reached`; None if it may skip some.

    A tool that rounds times may give the copy of an unconsumed record the time of an equal consumed one. So the records
    before that one have to be those that are before it at the source.
    """
    last = cut.last_consumed
    if last is None:
        return NoRecordBefore(reader.destination.end, records=0)
    unconsumed = context.unconsumed_among(cut.records)
    offset = last.offset + 1
    comparison = None if unconsumed else same_before(reader, context, known, reached + 1, offset)
    if comparison is None:
        return None
    all_of_them = offset - comparison.records <= reader.destination.start
    if comparison.distinct < DISTINCT:
        if not all_of_them:
            return None
        try:
            doubt_copies_of_later_ones(reader, reader.destination.records(offset - comparison.records, offset))
        except Doubt:
            return None
    return ConsumedBefore(offset, comparison, all_of_them, unconsumed)


def _doubt_unknown_records(reader: Reader, context: Context) -> None:
    """Raise Doubt where the source has unconsumed records, and the destination records of which none is known.

    They may be copies whose times and headers the replication tool has changed.
    """
    if context.after and tail(reader.destination):
        raise Doubt(_NONE_KNOWN)


def lags(
    destination: LogReader,
    anchor: int,
    lossless: Lossless | None,
    reached: int,
    destination_only: int = 0,
    at_end: bool = False,
) -> Decision:
    """The last consumed record has not come to the destination, nor any after it. lossless: None where it is not known.

    reached: the source offset of the last consumed record that has come. destination_only: how many records the destination
    has, where none of them is a copy of one of the source's. at_end: whether the copy is to follow what the destination has, so
    that retention cannot have deleted it alone.
    """
    doubt = (
        f". None of the destination's {destination_only:,} records is at the source: is it the right topic?"
        if destination_only
        else ""
    )
    deleted = "" if at_end and destination.length else deleted_records(destination.facts)
    # A later one may be there, and equal to one that is deleted.
    others = "nor any after it that can be told from consumed ones" if deleted else "and none after it"
    wait = WAIT + (" only if it has not copied this record yet" if deleted else "")
    to_come = max(1, anchor - reached)  # of equal records, the copies may be those of the last ones
    hidden = hidden_records(destination.facts, (to_come + 1) // 2)  # the source may have a marker after each record
    return blocked(
        Reason.DESTINATION_LAGS,
        f"the last consumed record, source offset {anchor}, is not at the destination, {others}{deleted}{hidden}; {wait}, or "
        f"see the documentation of this reason if it leaves out such records{doubt}",
        lossless=lossless,
        to_come=to_come,
    )


def hidden_records(destination: LogFacts, least: int = 1) -> str:
    """That nobody can read what an open transaction hides at the destination, a clause; nothing below so many offsets."""
    if destination.hidden < least:
        return ""
    return (
        f"; a transaction that is open at the destination hides {counted(destination.hidden, 'offset')} from {destination.end} "
        "on, which may be copies of consumed records"
    )


def _first_after(context: Context) -> int | None:
    return context.after[0].offset if context.after else None


def position_of_end(reader: Reader, after: int | None) -> int:
    """Where the destination's end is at the source, when nothing is there that the source still has.

    Before its first visible unconsumed record, `after`; but compaction may have taken what came after that, and was copied.
    """
    facts = reader.source.facts
    if after is None:
        return facts.high_watermark
    return facts.end if facts.compacted else after


def _has_come_to(anchor: Record, known: Known, cut: Cut) -> bool:
    """Is the last consumed record at the destination, or an aborted one after it?"""
    name = known.key(anchor)
    return any(
        known.key(record) == name or (side is Side.CONSUMED and known.consumed_at(record) > anchor.offset)
        for record, side in zip(cut.records, cut.sides, strict=True)
    )


def decide_expired(
    reader: Reader,
    first: Record | None,
    position: int,
    matching: Matching,
    ends_well: bool | None = None,
    first_copied: int | None = None,
) -> Decision:
    """The source has lost records that the group has not consumed; the destination may still have them.

    position: the source offset of `first` (L), or of the destination's end when there is none. ends_well: whether nothing
    consumed follows L, None where both logs were counted, and that is to be looked at here. first_copied: see LostRecords.
    """
    counted = first is not None and ends_well is None and reader.fits
    lost = LostRecords(reader, first, position, matching, counted, None if counted else first_copied)
    decision = chosen.expired(
        reader.policy.on_expired,
        lost.expired,
        reader.destination.start,
        lost.begin,
        lost.back,
        matching.parts,
        lost.each_a_record,
    )
    after = None if first is None else Copied(position, first.offset, matching.fingerprint(first))
    return dataclasses.replace(lost.with_numbers(decision, ends_well), after=after)


def _is_certain(reader: Reader, context: Context, known: Known, cut: Cut) -> bool:
    """Is it certain that nothing consumed follows the first unconsumed record, if that is there? Raises NotRead."""
    first = cut.first_unconsumed
    if first is None:
        return True
    with contextlib.suppress(Doubt, BudgetSpent, OtherMatching):
        return not isinstance(certificate(reader, context, known, cut, first.offset), Doubt)
    return False


def by_policy(reader: Reader, matching: Matching, position: int) -> Decision:
    """Nothing consumed is left at the source, and nothing unconsumed that it has is at the destination.

    position: the source offset of the destination's end; what compaction took before it may be at the destination.
    """
    source, destination, policy = reader.source, reader.destination, reader.policy
    is_empty, hidden = not tail(destination), hidden_records(destination.facts)
    if is_empty and not hidden:
        nothing = NothingThere(copies=0, hidden=destination.facts.hidden, consumed_left=0)
        deleted = deleted_records(destination.facts) if source.end > reader.committed else ""
        return Decision.exact(nothing, destination.end, detail=f"the destination is empty{deleted}")
    retention = source.facts.retention_ms

    def first_young() -> int | None:
        return destination.first_at(max(0, policy.now - (retention or 0)))

    decision = chosen.without_anchor(
        policy.on_no_anchor, destination.start, destination.end, retention, first_young, matching.parts
    )
    if is_empty:  # but for what is hidden, which may be copies of consumed records
        decision = dataclasses.replace(decision, detail=decision.detail + hidden)
    if policy.on_no_anchor != OnNoAnchor.BY_RETENTION or decision.offset is None or is_empty:
        return decision
    offset = min(decision.offset, begin := copies_from(reader))
    if source.facts.compacted and offset > destination.start:
        missing = position - reader.committed
        offset = min(offset, count_back(reader, matching, begin, None, missing, destination.budget, whole=False).offset)
    return dataclasses.replace(decision, offset=offset, detail=decision.detail + none_equal(reader))


def tail(log: LogReader) -> list[Record]:
    """The last visible records of a log; none where it has no visible one."""
    return log.last_before(log.end, TAIL)
