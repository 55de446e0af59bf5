# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""Behind the cut: how many consumed records would be read again?"""

from __future__ import annotations

import collections
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.context import Context, Key, Known, Side
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.explain import explain
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.reading import BudgetSpent, LogReader, Reader
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.search import TAIL, Cut
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record

SHORT = 32  # offsets: so few are counted rather than proved by arithmetic
LONGEST = 4096  # offsets behind the cut that are still read to count
_COMPARED = (TAIL, 64, 512)  # offsets at the end that are compared: until there are
_DISTINCT = 4  # different records among them, without which they prove nothing


class Tail(t.NamedTuple):
    """What is known of everything from the cut on.

    repeats: an upper bound of the consumed records there, None when they were not counted.
    equal: how many of them could as well be unconsumed ones.
    again: whether one of them has another copy before the cut.
    later: the first record of a later copy of everything unconsumed, whole and in order, with which the log ends.
    """

    repeats: int | None
    equal: int = 0
    again: bool = False
    later: Record | None = None


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
    if context.has_gaps or len(cut.records) < cut.high - cut.low:
        return False
    for length in _COMPARED:
        start = max(first.offset, destination.end - length)
        tail = destination.records(start, destination.end)
        if len(tail) < destination.end - start or Side.BOTH in known.sides(tail):
            return False
        if start == first.offset or len({known.key(record) for record in tail}) >= _DISTINCT:
            break
    else:
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
    start, end = max(source.start, context.committed), destination.end - offset + context.committed + SHORT
    end = min(source.end, end)
    destination.want(offset, destination.end)
    visible, aborted = source.with_aborted(start, end)
    rest = destination.records(offset, destination.end)
    known.add(visible, aborted)
    try:
        explain(source, context, known, rest)
    except BudgetSpent:
        return NOT_COUNTED
    sides = known.sides(rest)
    expected = [(known.key(r), False) for r in visible]
    if aborted:
        both = sorted(
            [(r.offset, known.key(r), False) for r in visible] + [(r.offset, known.key(r), True) for r in aborted]
        )
        expected = [(name, dispensable) for _unused, name, dispensable in both]
    followed = _followed(known, rest, sides, expected) if cut.settled else 0
    doubtful = [record for record, side in zip(rest, sides, strict=True) if side is Side.BOTH]
    complete = set() if source.facts.compacted else _complete(destination, known, cut, offset, doubtful)
    repeated = [i for i, record in enumerate(rest) if known.repeats(record)]
    again = [i for i in repeated if sides[i] is Side.CONSUMED]
    equal = [i for i in repeated if sides[i] is Side.BOTH and (i >= followed or known.key(rest[i]) not in complete)]
    earlier = {known.key(record) for record in cut.records if record.offset < offset}
    later = None
    if again and end == source.end and not source.facts.compacted and source.start <= context.committed:
        later = _later(known, rest, sides, [known.key(r) for r in visible])
    return Tail(len(again) + len(equal), len(equal), any(known.key(rest[i]) in earlier for i in again), later)


def _complete(destination: LogReader, known: Known, cut: Cut, offset: int, doubtful: list[Record]) -> set[Key]:
    """Those of the doubtful records of whose consumed equals all were passed: so none of those is behind the cut.

    Not at a compacted source: the copies that were passed may be those of equal records that it has lost.
    """
    places = known.consumed_places({known.key(record) for record in doubtful})
    length = known.committed - min((place for found in places.values() for place in found), default=known.committed)
    if not length or length > LONGEST:
        return set()
    passed = destination.records(min(cut.low, offset - length - SHORT), offset)
    here = collections.Counter(known.key(record) for record in passed)
    return {name for name, found in places.items() if here[name] >= len(found)}


def _followed(known: Known, rest: list[Record], sides: list[Side], expected: list[tuple[Key, bool]]) -> int:
    """How many records from the cut on are the source's unconsumed ones, one by one.

    Foreign ones in between pass. expected: the source's, by offset, and whether the copier may have left one out.
    """
    place = 0
    for index, record in enumerate(rest):
        if sides[index] is Side.FOREIGN:
            continue
        name = known.key(record)
        while place < len(expected) and expected[place][1] and expected[place][0] != name:
            place += 1
        if place >= len(expected) or expected[place][0] != name:
            return index
        place += 1
    return len(rest)


def _later(known: Known, rest: list[Record], sides: list[Side], whole: list[Key]) -> Record | None:
    """What follows the last consumed record, if that is the whole unconsumed sequence and nothing else."""
    last = max(i for i, side in enumerate(sides) if side is Side.CONSUMED)
    again, sides = rest[last + 1 :], sides[last + 1 :]
    if Side.BOTH in sides or [known.key(record) for record in again] != whole:
        return None
    return again[0] if again else None
