# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""Is an offset that timestamps have led to the right one? What few records can prove of it."""

from __future__ import annotations

import collections
import typing as t

from .._model.match_on import Key
from .._model.records import Record
from .certificates import (
    DISTINCT,
    Certificate,
    Comparison,
    ContiguousToTheEnd,
    EndsWithConsumed,
    FromTheEnd,
    has_arrived,
)
from .context import Context, Known, Side, explain
from .log_reader import Doubt, Reader
from .lost_records import lost_until
from .search import TAIL, Cut

SHORT = 32  # offsets after the committed one: so few are read rather than proved by arithmetic
LONGEST = 4096  # offsets after the committed one that are still read, or before the offset
WIDTHS = (TAIL, 64, 512)  # offsets that are compared in one place: until the records tell places apart

_ENDS_OTHERWISE = Doubt("the destination's last records are not the last consumed ones")
_NOT_EXPLAINED = Doubt("records before the offset were not found at the source within search_limit")


def certificate(reader: Reader, context: Context, known: Known, cut: Cut, offset: int) -> Certificate | Doubt:
    """Why nothing unconsumed stands before this offset, and nothing consumed from there on, or why that is not known.

    Raises NotRead, OtherMatching, BudgetSpent, and Doubt where the offset is not right.
    """
    first = cut.first_unconsumed
    if first is None:
        return _ends_with_consumed(reader, context, known, cut)
    following = max(reader.source.end - reader.committed, reader.destination.end - offset)
    if cut.passed_over:
        # Not even the offset is known, unless all that is unconsumed follows it.
        if following > reader.policy.search_limit:
            raise Doubt("a time look-up ended at a control record, and more follows than search_limit")
        return _from_the_end(reader, context, known, cut, offset)
    if not cut.explained:
        return _NOT_EXPLAINED
    if following > SHORT:
        found = _contiguous_to_the_end(reader, context, known, first)
        if following > LONGEST or not isinstance(found, Doubt):
            return found
    return _from_the_end(reader, context, known, cut, offset)


def _ends_with_consumed(reader: Reader, context: Context, known: Known, cut: Cut) -> Certificate | Doubt:
    """The last consumed record's copy must be the one that it seems to be: its neighbours are the same on both clusters."""
    last = cut.last_consumed
    if not cut.explained:
        return _NOT_EXPLAINED
    if last is None or not context.before:
        return _ENDS_OTHERWISE
    unexplained = list(cut.sides[cut.sides.index(Side.CONSUMED) :]).count(Side.UNKNOWN)
    if known.key(last) != known.key(context.before[-1]) or unexplained:
        return _ENDS_OTHERWISE
    _doubt_lost_ones(reader, known, [record for record in cut.records if record.offset > last.offset])
    comparison = same_before(reader, context, known, context.before[-1].offset + 1, last.offset + 1)
    if comparison is None:
        return _ENDS_OTHERWISE
    if comparison.are_many:
        return EndsWithConsumed(comparison, unexplained)
    copies = reader.destination.records(last.offset + 1 - comparison.records, last.offset + 1)
    doubt_copies_of_later_ones(reader, copies)
    return EndsWithConsumed(comparison, unexplained)


def _doubt_lost_ones(reader: Reader, known: Known, following: t.Sequence[Record]) -> None:
    """Raise Doubt where one of these, which follow the offset, may be a copy of a consumed record that the source has lost."""
    until = lost_until(reader)
    if until is not None and any(
        0 <= record.timestamp <= until and known.side(record) is Side.DESTINATION_ONLY for record in following
    ):
        raise Doubt("a record that follows the offset may be a copy of a consumed one that the source has lost")


def doubt_copies_of_later_ones(reader: Reader, copies: t.Sequence[Record]) -> None:
    """Raise Doubt where one of so few records has the content of an unconsumed one, or where that takes too long.

    It may be its copy, also with another time, if the tool rounds times. Raises NotRead, BudgetSpent.
    """
    if reader.source.end - reader.committed > LONGEST:
        raise Doubt(f"few records are before the offset, and more than {LONGEST:,} unconsumed ones may equal them")
    unconsumed = {record.bare for record in reader.source.records(reader.committed, reader.source.end)}
    if any(record.bare in unconsumed for record in copies):
        raise Doubt("a record before the offset has the content of an unconsumed one")


def same_before(reader: Reader, context: Context, known: Known, end: int, copies_end: int) -> Comparison | None:
    """The records before these offsets of both logs, if they are the same and hardly stand together anywhere else.

    None also where one of them may be a copy of an unconsumed record. Raises NotRead, OtherMatching, BudgetSpent.
    """
    source, destination = reader.source, reader.destination
    for width in WIDTHS:
        source.want(end - width, end)
        copies = destination.records(copies_end - width, copies_end)
        originals = source.records(end - width, end)
        length = min(len(copies), len(originals))
        whole = end - width <= source.start
        comparison = _compared(known, originals[len(originals) - length :], copies[len(copies) - length :], whole)
        if comparison is None or len(copies) < len(originals):
            return None
        if context.unconsumed_among(copies):
            return None
        if comparison.tells_places_apart:
            return comparison
    return None


def _compared(
    known: Known, originals: t.Sequence[Record], copies: t.Sequence[Record], whole: bool
) -> Comparison | None:
    """What equal records these are; None where they are not, or where one may be a copy of either side."""
    known.check_stamps(list(copies))
    keys = [known.key(record) for record in originals]
    if not keys or keys != [known.key(record) for record in copies]:
        return None
    return Comparison(len(keys), len(set(keys)), len({record.timestamp for record in originals}), whole)


def _contiguous_to_the_end(reader: Reader, context: Context, known: Known, first: Record) -> Certificate | Doubt:
    """Is the destination's last record as far from the first unconsumed one at the destination as at the source?

    That says something only where no offset is without a record: gaps in what was read speak against it.
    """
    source, destination = reader.source, reader.destination
    if context.has_gaps or not context.after or known.key(first) != known.key(context.after[0]):
        return Doubt(
            "the first unconsumed record is not at the destination, or offsets around the committed one have no record"
        )
    begin = context.after[0].offset
    shift = begin - first.offset
    end = destination.end + shift  # where the destination ends, as an offset of the source
    if end > source.end:
        return Doubt("the destination has more records after the offset than the source")
    at_offset = _gapless(reader, known, shift, begin, end, from_end=False)
    at_end = _gapless(reader, known, shift, begin, end, from_end=True)
    if at_offset is None or at_end is None:
        return Doubt("the destination's last records are not as far from the offset as at the source")
    before = None
    if at_offset.distinct < DISTINCT:  # all that the destination has there: they may be copies of later equal records
        before = same_before(reader, context, known, begin, first.offset)
        if before is None or not before.are_many:
            return Doubt(
                "too few different records are at the ends, and those before the offset are not the same as at the source"
            )
    return ContiguousToTheEnd(at_offset, at_end, end - begin, destination.end - first.offset, before)


def _gapless(reader: Reader, known: Known, shift: int, begin: int, end: int, *, from_end: bool) -> Comparison | None:
    """The records at one edge of [begin, end) of the source, and their copies; None where they are not the same."""
    source, destination = reader.source, reader.destination
    for width in WIDTHS:
        low, high = (max(begin, end - width), end) if from_end else (begin, min(begin + width, end))
        destination.want(low - shift, high - shift)
        originals = source.records(low, high)
        copies = destination.records(low - shift, high - shift)
        if len(originals) < high - low or len(copies) < high - low or Side.BOTH in known.sides(copies):
            return None
        comparison = _compared(known, originals, copies, whole=high - low == end - begin)
        if comparison is None or comparison.tells_places_apart:
            return comparison
    return None


def _from_the_end(reader: Reader, context: Context, known: Known, cut: Cut, offset: int) -> Certificate:
    """Read all that is unconsumed, and the destination from the offset on: each must be there as often as it should.

    Raises Doubt where it is not, or where anything consumed is there: counting both logs may find a better offset.
    """
    source, destination = reader.source, reader.destination
    destination.want(offset, destination.end)
    unconsumed = source.records(reader.committed, source.end)
    rest = destination.records(offset, destination.end)
    known.check_stamps(rest)
    known.add(unconsumed)
    explain(source, context, known, rest)
    _doubt_lost_ones(reader, known, rest)
    wanted = collections.Counter(known.key(record) for record in unconsumed)
    copies = collections.Counter(known.key(record) for record in rest)
    repeated = 0
    for record, side in zip(rest, known.sides(rest), strict=True):
        repeated += side is Side.CONSUMED and known.repeats(record)
        # The consumed twin of an unconsumed record may not have been read.
        if side & Side.UNCONSUMED and copies[known.key(record)] != wanted[known.key(record)]:
            raise Doubt("an unconsumed record stands after the offset more often, or less often, than at the source")
    follows = _follows_the_last_consumed(context, known, cut, offset)
    distinct, before = len(wanted.keys() & copies.keys()), None
    if follows and context.before and distinct < DISTINCT:
        before = same_before(reader, context, known, context.before[-1].offset + 1, offset)
    arrived = has_arrived(before, distinct) or (follows and not context.before)
    missing = wanted - copies
    if missing and distinct < DISTINCT and not (before and before.are_many):
        doubt_copies_of_later_ones(reader, [record for record in cut.records if record.offset < offset])
    are_not_before = not missing or (follows and _are_not_before(reader, known, offset, unconsumed, missing))
    if repeated:
        raise Doubt("consumed records follow the offset")
    if not arrived:
        raise Doubt("too few different unconsumed records have come to show that all consumed ones have")
    if not are_not_before:
        raise Doubt("unconsumed records do not follow the offset, and may stand before it")
    return FromTheEnd(len(unconsumed), missing.total(), are_not_before, arrived, repeated)


def _follows_the_last_consumed(context: Context, known: Known, cut: Cut, offset: int) -> bool:
    """Is the record before the offset the last consumed one? Then the tool has kept its time, as time look-ups assume."""
    before = [record for record in cut.records if record.offset < offset][-1:]
    if not context.before:
        return not before
    return bool(before) and known.key(before[0]) == known.key(context.before[-1])


def _are_not_before(
    reader: Reader, known: Known, offset: int, unconsumed: t.Sequence[Record], missing: t.Mapping[Key, int]
) -> bool:
    """Does a time look-up say that none of the missing records stands before the offset, or do the records there?"""
    destination = reader.destination
    begin = destination.first_at(min(record.timestamp for record in unconsumed if known.key(record) in missing))
    if begin is None or begin >= offset:
        return True
    if offset - begin > LONGEST:
        return False
    passed = destination.records(begin, offset)
    known.check_stamps(passed)
    return not any(known.key(record) in missing for record in passed)
