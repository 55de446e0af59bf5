# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""Behind the cut: how many consumed records would be read again?"""

from __future__ import annotations

import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.context import Context, Known, Side
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.explain import explain
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.reading import BudgetSpent, Reader
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.search import TAIL, Cut
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record

SHORT = 32  # offsets: so few are counted rather than proved by arithmetic
LONGEST = 4096  # offsets behind the cut that are still read to count
_DISTINCT = 4  # different records among the last ones, at least, for them to prove anything


class Tail(t.NamedTuple):
    """What is known of everything from the cut on.

    repeats: an upper bound of the consumed records there, None when they were not counted.
    equal: how many of them could as well be unconsumed ones.
    again: whether one of them has another copy before the cut.
    later: a later offset from which on all unconsumed records stand again, once and in order, and no consumed one.
    """

    repeats: int | None
    equal: int = 0
    again: bool = False
    later: int | None = None


NOT_COUNTED = Tail(None)


def check_tail(reader: Reader, context: Context, known: Known, cut: Cut, offset: int, check: str) -> Tail:
    """Prove that nothing consumed is behind `offset`, or count it. check: as the option tail_check.

    Raises NotRead and OtherMatching.
    """
    destination = reader.destination
    if not context.before or (cut.unconsumed is None and cut.explained and cut.settled):
        return Tail(0)
    first = cut.first_unconsumed
    if check == "none" or first is None or not cut.explained:
        return NOT_COUNTED
    length = destination.end - offset
    if check == "records" and length <= SHORT:
        counted = _count(reader, context, known, cut, offset)
        if counted.repeats is not None:
            return counted
    if cut.settled and not cut.repeated_nearby and _runs_on_to_the_end(reader, context, known, cut, first):
        return Tail(0)
    if check == "records" and length <= LONGEST:
        return _count(reader, context, known, cut, offset)
    return NOT_COUNTED


def _runs_on_to_the_end(reader: Reader, context: Context, known: Known, cut: Cut, first: Record) -> bool:
    """Is the destination's last record as far from L at the destination as at the source?

    Then as many records lie in between on both sides, and none of them is a repeated one. That holds where no offset is
    without a record: gaps in what was read, or equal records at the end, speak against it.
    """
    source, destination = reader.source, reader.destination
    if context.has_gaps:
        return False
    tail = destination.records(max(first.offset, destination.end - TAIL), destination.end)
    if len(tail) < min(TAIL, destination.end - first.offset):
        return False
    if cut.records and len(cut.records) < cut.high - cut.low:
        return False
    if len({known.key(record) for record in tail}) < min(len(tail), _DISTINCT):
        return False
    origin = context.after[0] if context.after and known.key(context.after[0]) == known.key(first) else None
    begin = origin.offset if origin else known.unconsumed_at(first)
    shift = begin - first.offset
    if tail[-1].offset + shift >= source.end:
        return False
    there = source.records(tail[0].offset + shift, tail[-1].offset + shift + 1)
    return [known.key(record) for record in there] == [known.key(record) for record in tail]


def _count(reader: Reader, context: Context, known: Known, cut: Cut, offset: int) -> Tail:
    """Read everything behind the offset, and the unconsumed records at the source that it should be."""
    source, destination = reader.source, reader.destination
    start = context.committed
    end = min(source.end, start + (destination.end - offset) + SHORT)
    rest_read = destination.want(offset, destination.end)
    expected = source.records(start, end)
    rest = destination.records(offset, destination.end)
    assert rest_read
    if len(expected) < end - max(start, source.start):
        aborted = source.aborted(start, end)
        expected = sorted([*expected, *aborted], key=lambda record: record.offset)
        dispensable = {record.offset for record in aborted}
    else:
        dispensable = set()
    known.add(expected)
    try:
        explain(source, context, known, rest)
    except BudgetSpent:
        return NOT_COUNTED
    sides = known.sides(rest)
    followed = _followed(known, rest, sides, expected, dispensable) if cut.settled else 0
    consumed = [i for i, side in enumerate(sides) if side is Side.CONSUMED]
    equal = [i for i, side in enumerate(sides) if side is Side.BOTH and i >= followed]
    earlier = {known.key(record) for record in cut.records if record.offset < offset}
    return Tail(
        len(consumed) + len(equal),
        len(equal),
        any(known.key(rest[i]) in earlier for i in consumed),
        _later(reader, known, rest, sides, expected, dispensable, end),
    )


def _followed(
    known: Known, rest: list[Record], sides: list[Side], expected: list[Record], dispensable: set[int]
) -> int:
    """How many records from the cut on are the source's unconsumed ones, one by one; foreign ones in between pass."""
    place = 0
    for index, record in enumerate(rest):
        if sides[index] is Side.FOREIGN:
            continue
        while (
            place < len(expected)
            and expected[place].offset in dispensable
            and known.key(expected[place]) != known.key(record)
        ):
            place += 1
        if place >= len(expected) or known.key(expected[place]) != known.key(record):
            return index
        place += 1
    return len(rest)


def _later(
    reader: Reader,
    known: Known,
    rest: list[Record],
    sides: list[Side],
    expected: list[Record],
    dispensable: set[int],
    end: int,
) -> int | None:
    """The offset behind the last consumed record, if all unconsumed ones that are at the destination follow it in order."""
    last = max((i for i, side in enumerate(sides) if side is Side.CONSUMED), default=None)
    lost = reader.source.facts.log_start > known.committed or reader.source.facts.compacted
    if last is None or lost or end < reader.source.end:
        return None
    again = rest[last + 1 :]
    visible = [known.key(record) for record in expected if record.offset not in dispensable]
    if not again or [known.key(record) for record in again] != visible:
        return None
    return again[0].offset
