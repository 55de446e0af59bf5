# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""From the count of two whole logs to a decision: counted here, or by Spark where the logs are long."""

from __future__ import annotations

import collections
import dataclasses
import typing as t

from .._model.match_on import Matching
from .._model.records import Record
from .._model.verdicts import Absent, Copied, Reason, Verdict, Way, deleted_before
from .._model.wording import counted
from . import rows
from .between import Between, Located, offset_between
from .certificates import DISTINCT, CountedBefore, WholeLogs
from .counting import Logs, LogSet
from .evidence import Decision, Need, Question, Span
from .group_count import Answer, Copy, GroupCount
from .log_reader import BudgetSpent, LogReader, NotRead, Reader
from .lost_records import lost_until

SMALL = 256  # offsets: logs that are no longer are counted at once
_ALIKE = 8  # records that are compared to see that the last consumed one has come
_NEAR = 64  # offsets in which they must not come again

Why = tuple[Reason, str]  # with the detail for the user

_RECOPIED = Reason.RECOPIED, "the replication tool began again and copied consumed records a second time"
_CHANGES_TIMES = "If the tool changes timestamps, leave timestamp out of match_on"
OLDER = (
    "copies from the offset on are older than all that the source still has: they may be those of equal consumed records that "
    f"it has lost. {_CHANGES_TIMES}"
)
_ORDER_DIFFERS = (
    Reason.ORDER_DIFFERS,
    "the replication tool did not keep the order: consumed records follow the first unconsumed one",
)


def decide_counted(question: Question, count: GroupCount, doubt: str = "") -> Decision | Need:
    """Decide an entry from Spark's count of both logs; single records may have to be read as well. Pure.

    doubt: why the near way has not decided it.
    """
    reader = Reader(question)
    try:
        edge = rows.at_the_edges(reader)
        return edge.by(Way.ENDS) if edge else from_count(reader, count).by(Way.SPARK_COUNT, doubt)
    except NotRead:
        return reader.need()
    except BudgetSpent:
        return rows.budget_spent(question.policy).by(Way.SPARK_COUNT, doubt)


def are_small(reader: Reader) -> bool:
    """Are both logs so short that they are counted at once?"""
    return reader.longest <= min(SMALL, reader.policy.search_limit)


def count_logs(reader: Reader) -> GroupCount:
    """Count both logs. Raises NotRead."""
    source, destination = reader.source, reader.destination
    source.want(source.start, source.end)
    copies = destination.records(destination.start, destination.end)
    originals, aborted = source.with_aborted(source.start, source.end)
    edges = source.start, source.end, destination.start, destination.end
    key = id(reader.question.source), edges, len(originals), reader.policy.with_timestamp
    made = reader.question.destination.made
    if key not in made:
        facts = source.facts
        made[key] = Logs(
            # The offsets before the start mean the same as the start.
            LogSet([originals], (0,), (source.end,)),
            LogSet([copies], (destination.start,), (destination.end,)),
            timestamps=reader.policy.with_timestamp,
            aborted=aborted,
            stable=(facts.end,),
            lossy=facts.is_lossy,
        )
    (count,) = made[key].count([(reader.committed,)], lost_until(reader))
    return t.cast(GroupCount, count)


def _place_of_last(reader: Reader, offset: int) -> int | None:
    """The offset after the last consumed record, if it has come, although neither its time says so nor its content alone.

    The copy of its content may be that of a record that the source has lost, or somebody else's. The contents around it tell,
    if they stand in the whole destination once: where a series comes again, the source may have lost an earlier one. Where few
    are left before it, those from it on count as well. The offset need not follow that copy, because records that are needed
    may stand before it. Raises NotRead.
    """
    before, after = _around(reader.source, reader.committed)
    if not reader.fits:
        return offset if before and _alike(before, after, *_around(reader.destination, offset)) else None
    known, last = {*before, *after}, before[-_ALIKE:]
    series = last + after[: _ALIKE - len(last)]
    destination = reader.destination
    copies = [copy for copy in destination.records(destination.start, destination.end) if copy.bare in known]
    contents = [copy.bare for copy in copies]
    begins = [at for at in range(len(contents)) if contents[at : at + len(series)] == series]
    if len(begins) != 1 or len({*series}) < DISTINCT:
        return None
    # At the source, a series that comes again may also have stood before what is left of it.
    near = before + after
    comes_again = any(near[at : at + len(series)] == series[: len(near) - at] for at in range(1, len(near) - 1))
    if len(last) < _ALIKE and comes_again:
        return None
    if not last:
        return copies[begins[0]].offset
    place = copies[begins[0] + len(last) - 1].offset + 1
    is_told = len(last) < _ALIKE or _alike(before, after, *_around(destination, place))
    return place if is_told else None


def _alike(before: list[bytes], after: list[bytes], copies_before: list[bytes], copies_after: list[bytes]) -> bool:
    """Do the same contents stand right before two offsets, and nowhere else near that of the source?

    Where few are left before it, those from it on count as well.
    """
    known = {*before, *after}  # compaction may have taken others
    copies_before, copies_after = (
        [content for content in copies if content in known] for copies in (copies_before, copies_after)
    )
    contents = before[-_ALIKE:]  # before these, the destination may have copies of what the source has lost
    if not contents or contents != copies_before[-len(contents) :]:
        return False
    near = before + after
    once = {content for content, number in collections.Counter(near).items() if number == 1}
    if len(once.intersection(contents)) < DISTINCT:
        length = min(len(after), len(copies_after), _ALIKE)
        if copies_after[:length] != after[:length]:
            return False
        contents += after[:length]
    # Where contents come again in a fixed order, they also did so in what the source has lost.
    again = sum(near[at : at + len(contents)] == contents for at in range(len(near)))
    is_alone = again == 1 and (len(before) > _NEAR // 2 or len(once.intersection(contents)) >= DISTINCT)
    return is_alone and len(set(contents)) >= DISTINCT


def _around(log: LogReader, offset: int) -> tuple[list[bytes], list[bytes]]:
    """The contents of the records before this offset, and of those from it on."""
    log.want(offset - _NEAR, offset + _NEAR)
    return (
        [record.bare for record in log.records(offset - _NEAR, offset)],
        [record.bare for record in log.records(offset, offset + _NEAR)],
    )


def from_count(reader: Reader, count: GroupCount) -> Decision:
    """The decision by a count of both logs, with the records that are absent. Raises NotRead, BudgetSpent."""
    decision = _from_count(reader, count)
    # A compacted log lacks older records of its keys as it should.
    if decision.offset is None or reader.destination.facts.compacted:
        return decision
    return noting_absent(reader, decision, absent_of(reader, count))


def noting_absent(reader: Reader, decision: Decision, absent: Absent | None) -> Decision:
    """The decision with absent records, which say whether the destination has deleted what was where they would be."""
    offset, after = decision.offset, decision.after
    if absent is None or offset is None:
        return decision
    next_copied = reader.source.end if after is None else after.source
    start = deleted_before(reader.destination.start, offset, absent.source, next_copied)
    return dataclasses.replace(decision, absent=absent._replace(deleted_before=start))


def absent_of(reader: Reader, count: GroupCount) -> Absent | None:
    """The absent records of a single partition, with the transaction that is open at the source, if one is."""
    absent = count.answers[0].absent
    return absent and absent._replace(open_from=reader.source.facts.open_from)


def _from_count(reader: Reader, count: GroupCount) -> Decision:
    (answer,), matching, (before,), (after,) = count.answers, count.matching, count.last_consumed, count.first_wanted
    if answer.last_at_source is None and answer.next_at_source is None:
        return rows.no_anchor(reader, matching)
    position = rows.position_of_end(reader, answer.next_at_source)
    if reader.committed < reader.source.start:
        first = None if after is None else _record(reader, after)
        position = position if after is None else after.source_offset
        return rows.decide_expired(reader, first, position, matching, first_copied=answer.first_copied)
    if answer.last_at_source is None and after is None:
        return rows.by_policy(reader, matching, position)
    if answer.last_at_source is not None and not answer.arrived:
        reached = reader.source.start - 1 if before is None else before.source_offset
        destination = reader.destination
        destination_only = 0 if before or after else len(destination.records(destination.start, destination.end))
        lossless = CountedBefore(answer.offset, answer.first_wanted)
        return rows.lags(destination, answer.last_at_source, lossless, reached, destination_only)
    last, first_wanted = _located(reader, before), _located(reader, after)
    is_unsure = answer.at_most > answer.repeats
    # Where the tool keeps times, copies with others may be those of a producer that writes to both clusters, in the same order.
    has_kept_times = matching.timestamp or count.keeps_times
    is_older = not has_kept_times and _is_older(reader, last if first_wanted is None else first_wanted)
    may_tell = reader.destination.facts.log_append_time or not (count.keeps_times or is_older)
    at = answer.offset if before is not None or first_wanted is None else first_wanted.record.offset
    place = _place_of_last(reader, at) if is_unsure and may_tell else None
    if place is not None:  # so no consumed record is to come, and none follows an offset from there on
        answer = answer._replace(to_come=0, if_lost=answer.if_lost if at < place else 0)
    placed = offset_between(reader, matching, last, first_wanted, _between(reader, matching, last, first_wanted))
    if placed.offset != answer.offset:
        answer = answer._replace(may_be_lost=answer.may_be_lost_later)
    evidence: dict[str, t.Any] = {
        "before": _anchor(last, matching),
        "after": _anchor(first_wanted, matching),
        "matched_by": matching.parts,
    }
    if not placed.proved:
        copies = _copies_between(reader.destination, placed.offset, _gap(reader.destination, last, first_wanted)[1])
        lost = f"{counted(copies, 'record')} from the offset on may be copies of consumed records that it has lost"
        detail = f"the source's log is compacted: {lost}"
        at_most = answer.at_most + copies - (answer.may_be_lost - answer.may_be_lost_later)  # which are counted twice
        return Decision(Verdict.SAFE, placed.offset, Reason.SOURCE_LOST_RECORDS, at_most, detail=detail, **evidence)
    if is_older:
        most = max(answer.at_most, reader.destination.end - placed.offset + answer.to_come)
        return Decision(Verdict.SAFE, placed.offset, Reason.SOURCE_LOST_RECORDS, most, detail=OLDER, **evidence)
    to_come = _may_come(answer.to_come, times_changed=not (matching.timestamp or reader.source.facts.is_lossy))
    otherwise = _RECOPIED if answer.again else _ORDER_DIFFERS
    return by_count(answer, placed.offset, answer.arrived, to_come, otherwise, **evidence)


def _is_older(reader: Reader, located: Located | None) -> bool:
    """Is a copy older than all that the source still has, so that it may be that of an equal record which the source has lost?

    Then the replication tool lags, unless it has written lower times. Raises NotRead.
    """
    source = reader.source
    if located is None or not source.facts.is_lossy or not reader.policy.with_timestamp:
        return False
    copy = located.record
    if copy.log_append_time or copy.timestamp < 0:
        return False
    source.want(source.start, source.start + _ALIKE)
    first = source.records(source.start, source.start + _ALIKE)
    return all(copy.timestamp < record.timestamp for record in first)


def _may_come(records: int, *, times_changed: bool) -> Why:
    """That so many consumed records may still come.

    times_changed: whether copies have other times than records of which the source has lost none.
    """
    may_be = "copies that may be those of equal records"
    if times_changed:
        may_be = f"records with other timestamps than the source's, which may be somebody else's. {_CHANGES_TIMES}"
    detail = (
        f"{counted(records, 'consumed record')} may still come to the destination: all that says that the "
        f"replication tool has passed them are {may_be}"
    )
    return Reason.DESTINATION_LAGS, detail


def _between(reader: Reader, matching: Matching, last: Located | None, first: Located | None) -> Between:
    """What lies between the two copies, or beside one of them, as far as it matters and can be read."""
    begin, end = _gap(reader.destination, last, first)
    if begin >= end or (last is None and first is None):
        return Between(False, False)
    if last is not None and not reader.source.facts.compacted:
        return Between(True, False)  # whatever it is, the source has not lost it
    if end - begin > reader.destination.budget:
        return Between(True, True)
    between = reader.destination.records(begin, end)
    return Between.of(between, first.record if first is not None and matching.timestamp else None)


def _gap(destination: LogReader, last: Located | None, first: Located | None) -> Span:
    """The offsets between the two copies; the start and the end of the log stand for those that are not there."""
    begin = destination.start if last is None else last.record.offset + 1
    return begin, destination.end if first is None else first.record.offset


def _copies_between(destination: LogReader, begin: int, end: int) -> int:
    """How many records these offsets hold, at most. Raises NotRead."""
    return end - begin if end - begin > destination.budget else len(destination.records(begin, end))


def _located(reader: Reader, copy: Copy | None) -> Located | None:
    return None if copy is None else Located(_record(reader, copy), copy.source_offset)


def _anchor(located: Located | None, matching: Matching) -> Copied | None:
    if located is None:
        return None
    return Copied(located.source_offset, located.record.offset, matching.fingerprint(located.record))


def _record(reader: Reader, copy: Copy) -> Record:
    return reader.destination.records(copy.destination_offset, copy.destination_offset + 1)[0]


def by_count(
    answer: Answer, offset: int, arrived: bool, to_come: Why, otherwise: Why, offsets: str = "offset", **evidence: t.Any
) -> Decision:
    """The decision for an offset that skips nothing.

    arrived: whether the replication tool has come as far as the group. to_come: why records may be repeated, if consumed ones
    may still come. otherwise: the same if nothing is to come, the source has lost nothing that matters, and a repeated record
    has a content that is not unconsumed as well. offsets: what the user has committed, one offset or several.
    """
    repeats = answer.at_most
    if not repeats:
        certificate = WholeLogs(offset, answer.first_wanted, repeats, arrived)
        again = Reason.RECOPIED if answer.recopied else None
        detail = "records were recopied; the group starts after the last consumed copy" if again else ""
        return Decision.exact(certificate, offset, again, detail, **evidence)
    if answer.to_come:
        reason, detail = to_come
    elif answer.if_lost or not answer.repeats:
        reason, detail = Reason.SOURCE_LOST_RECORDS, answer.lost_detail
    elif answer.repeats == answer.equal:
        reason = Reason.EQUAL_RECORDS
        detail = f"equal records are before and after the committed {offsets}; their copies cannot be distinguished"
    else:
        reason, detail = otherwise
    return Decision(Verdict.SAFE, offset, reason, repeats, detail=detail, **evidence)
