# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""The rule for a partition that was read whole: where each of its groups must stand, or how many records would repeat.

A survey holds no records. Destination records that come one after the other, and that lie on the same side for every
group, are one run: a faithful copy has hardly more runs than there are groups, however long it is.
"""

from __future__ import annotations

import bisect
import dataclasses
import itertools
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching import rows
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.context import Matching, Side
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import (
    Anchor,
    Decision,
    Need,
    Question,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.judging import Tail, judged
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.placing import Between, Located, Place, place
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.reading import BudgetSpent, NotRead, Reader
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record

NOWHERE = -1  # the place of a record that is not at the source
_MOST_ALIGNED = 512  # offsets
_MOST_READ = 4096  # offsets between both sides that are read to see how old the records there are


class Origin(t.NamedTuple):
    """The lowest and the highest source offset that a destination record may come from; both NOWHERE for a foreign one."""

    low: int
    high: int


class Run(t.NamedTuple):
    """Destination records in a row that are alike for every group.

    first, last: offsets of its first and last record; records: how many there are. opens, closes: where these two come from.
    highest: the highest source offset of any of them. rising: each comes from one place only, behind the one before.
    """

    first: int
    last: int
    records: int
    opens: Origin
    closes: Origin
    highest: int
    rising: bool


class Part(t.NamedTuple):
    """The visible source records between two neighbouring commits: how many, and the first and last of their offsets."""

    records: int
    first: int
    last: int


@dataclasses.dataclass(frozen=True, slots=True)
class Survey:
    """What was read of a source partition and its copy.

    commits: the groups' committed offsets, each once, ascending. parts: the source's records before the first commit,
    between each two, and behind the last. runs: those of the destination, by offset; none goes on across a commit's
    destination offset of which the tail is counted. matching: what was compared.
    """

    commits: tuple[int, ...]
    parts: tuple[Part, ...]
    runs: tuple[Run, ...]
    matching: Matching

    @property
    def foreign(self) -> int:
        """How many destination records do not come from the source."""
        return sum(run.records for run in self.runs if run.opens.low == NOWHERE)


def merged(runs: t.Iterable[Run], commits: t.Sequence[int], borders: t.Collection[int] = ()) -> list[Run]:
    """The same runs by offset, with those joined that were only cut where two readers met, and not at one of these borders."""
    result: list[Run] = []
    for run in sorted(runs):
        if result and run.first <= result[-1].last:
            raise ValueError(f"{run} begins within {result[-1]}")
        if result and run.first not in borders and alike(result[-1], run, commits):
            last = result[-1]
            rising = last.rising and run.rising and last.closes.high < run.opens.low
            result[-1] = Run(
                last.first,
                run.last,
                last.records + run.records,
                last.opens,
                run.closes,
                max(last.highest, run.highest),
                rising,
            )
        else:
            result.append(run)
    return result


def alike(one: Run, other: Run, commits: t.Sequence[int]) -> bool:
    """Are both on the same side for every group?"""
    return _sides(one.opens, commits) == _sides(other.opens, commits)


def _sides(origin: Origin, commits: t.Sequence[int]) -> tuple[int, int]:
    if origin.low == NOWHERE:
        return NOWHERE, NOWHERE
    return bisect.bisect_right(commits, origin.low), bisect.bisect_right(commits, origin.high)


def decide_surveyed(question: Question, survey: Survey) -> Decision | Need:
    """Decide an entry from a survey of both logs, all of them; single records may have to be read as well. Pure."""
    reader = Reader(question)
    try:
        return rows.at_the_edges(reader, question) or _decide(reader, question, survey)
    except NotRead:
        return reader.need()
    except BudgetSpent:
        return rows.budget_spent(question.policy)


def count_tail(question: Question, decision: Decision, survey: Survey) -> Decision | Need:
    """The decision for an entry whose offset is proved to lose nothing, when what follows it has been surveyed. Pure."""
    if decision.offset is None:
        return decision
    reader = Reader(question)
    runs = _sided(survey, question.committed)
    earlier = [(side, run) for side, run in runs if run.last < decision.offset]
    try:
        tail = _tail(reader, question, survey, earlier, runs[len(earlier) :])
    except NotRead:
        return reader.need()
    answer = judged(Place(decision.offset, True), tail, True)
    after = decision.after
    if tail.later is not None and answer.offset != decision.offset:
        after = _anchor(tail.later, _unconsumed(survey, question.committed)[0].first, survey.matching)
    return dataclasses.replace(answer, before=decision.before, after=after, matched_by=decision.matched_by)


def goes_on(survey: Survey, offset: int) -> bool:
    """Is every record from this destination offset on another one of those that were read of the source, in their order?

    Then none of them can be the second copy of an earlier record, even of an equal one that was not read.
    """
    runs = [run for run in survey.runs if run.last >= offset]
    return survey.matching.timestamp and _rise(runs)


def _rise(runs: t.Sequence[Run]) -> bool:
    """Does each record of these runs come from one place only, behind that of the one before?"""
    return all(run.rising and run.opens.low != NOWHERE for run in runs) and all(
        one.closes.high < other.opens.low for one, other in itertools.pairwise(runs)
    )


_Sided = tuple[Side, Run]


def _sided(survey: Survey, committed: int) -> list[_Sided]:
    return [(_side(run, survey.commits, committed), run) for run in survey.runs]


def _side(run: Run, commits: t.Sequence[int], committed: int) -> Side:
    low, high = _sides(run.opens, commits)
    consumed = bisect.bisect_left(commits, committed)  # so many parts lie before this commit, besides the first
    if low == NOWHERE:
        return Side.FOREIGN
    if high <= consumed:
        return Side.CONSUMED
    return Side.UNCONSUMED if low > consumed else Side.BOTH


def _unconsumed(survey: Survey, committed: int) -> list[Part]:
    """The parts of the source that a group has still to consume, as far as they hold anything."""
    return [part for part in survey.parts if part.records and part.first >= committed]


def _decide(reader: Reader, question: Question, survey: Survey) -> Decision:
    unconsumed = _unconsumed(survey, question.committed)
    consumed = [part for part in survey.parts if part.records and part not in unconsumed]
    if not consumed and not unconsumed:
        return rows.no_anchor(reader, question, survey.matching)
    runs = _aligned(reader, survey, _sided(survey, question.committed), question.committed)
    cut = next((index for index, (side, _unused) in enumerate(runs) if side & Side.UNCONSUMED), len(runs))
    before = next((run for side, run in reversed(runs[:cut]) if side is Side.CONSUMED), None)
    first = runs[cut][1] if cut < len(runs) else None
    position = rows.position_of_end(reader, unconsumed[0].first if unconsumed else None)
    if question.committed < reader.source.start:
        record = None if first is None else _record(reader, first.first)
        return rows.expired(reader, question, record, position if first is None else first.opens.high, survey.matching)
    if first is None and not consumed:
        return rows.by_policy(reader, question, survey.matching, position)
    if (
        first is None
        and max((run.highest for side, run in runs if side is Side.CONSUMED), default=-1) < consumed[-1].last
    ):
        return rows.lags(consumed[-1].last, reader.destination.end if before is None else before.last + 1)
    last = None if before is None else Located(_record(reader, before.last), before.closes.low)
    beyond = None if first is None else Located(_record(reader, first.first), first.opens.high)
    strangers = sum(run.records for side, run in runs[:cut] if before is None or run.first > before.last)
    younger = bool(strangers) and _younger(reader, survey.matching, last, beyond)
    placed = place(reader, survey.matching, last, beyond, Between(bool(strangers), younger))
    tail = _tail(reader, question, survey, runs[:cut], runs[cut:])
    settled = first is None or runs[cut][0] is not Side.BOTH
    decision = judged(placed, tail, settled)
    after = None if beyond is None else _anchor(beyond.record, beyond.source_offset, survey.matching)
    if tail.later is not None and decision.offset != placed.offset:
        after = _anchor(tail.later, unconsumed[0].first, survey.matching)
    return dataclasses.replace(
        decision,
        before=None if last is None else _anchor(last.record, last.source_offset, survey.matching),
        after=after,
        matched_by=survey.matching.parts,
    )


def _aligned(reader: Reader, survey: Survey, runs: list[_Sided], committed: int) -> list[_Sided]:
    """Settle equal records on both sides where they stand between two records that come from one place each.

    Where both clusters hold the same sequence there, each copy is known. The ends of both logs are such places as well.
    """
    result: list[_Sided] = []
    for doubtful, stretch in itertools.groupby(runs, lambda each: each[0] is Side.BOTH):
        part = list(stretch)
        if doubtful:
            before = next((run for side, run in reversed(result) if side is not Side.FOREIGN), None)
            if before is not None and result[-1][0] is Side.FOREIGN:
                result += part
                continue
            behind = next((run for _unused, run in runs if run.first > part[-1][1].last), None)
            part = _settled(reader, survey, part, before, behind, committed) or part
        result += part
    return result


def _settled(
    reader: Reader, survey: Survey, doubtful: list[_Sided], before: Run | None, behind: Run | None, committed: int
) -> list[_Sided] | None:
    """The doubtful records one by one, if the source has just these, in this order, between the same neighbours."""
    source, destination = reader.source, reader.destination
    begins = [] if before is None else [before.closes]
    ends = [] if behind is None else [behind.opens]
    if any(place.low != place.high or place.low == NOWHERE for place in (*begins, *ends)):
        return None
    if before is None and source.start > 0:
        return None  # copies of what has expired may be among them
    low = begins[0].low + 1 if begins else source.start
    high = ends[0].low if ends else source.end
    first, last = doubtful[0][1].first, doubtful[-1][1].last
    if not 0 < high - low <= _MOST_ALIGNED or last - first >= _MOST_ALIGNED:
        return None
    source.want(low, high)
    there = destination.records(first, last + 1)
    here = source.records(low, high)
    key = survey.matching.key
    if [key(record) for record in here] != [key(record) for record in there]:
        return None
    settled = []
    for original, copy in zip(here, there, strict=True):
        origin = Origin(original.offset, original.offset)
        side = Side.CONSUMED if original.offset < committed else Side.UNCONSUMED
        settled.append((side, Run(copy.offset, copy.offset, 1, origin, origin, origin.high, True)))
    return settled


def _younger(reader: Reader, matching: Matching, last: Located | None, first: Located | None) -> bool:
    """Is anything between both younger than L, as far as that can be compared and read? When in doubt, it is."""
    if last is None or first is None or not matching.timestamp:
        return False
    begin, end = last.record.offset + 1, first.record.offset
    if end - begin > _MOST_READ:
        return True
    return any(record.timestamp > first.record.timestamp for record in reader.destination.records(begin, end))


def _tail(reader: Reader, question: Question, survey: Survey, earlier: list[_Sided], behind: list[_Sided]) -> Tail:
    """Everything from the cut on: what comes again, and whether a later copy is whole."""
    again = [run for side, run in behind if side is Side.CONSUMED]
    equal = sum(run.records for side, run in behind if side is Side.BOTH)
    passed = max((run.highest for side, run in earlier if side is Side.CONSUMED), default=NOWHERE)
    twice = any(run.opens.low <= passed for run in again)
    repeats = sum(run.records for run in again) + equal
    later = _later(reader, question, survey, behind) if repeats else None
    return Tail(repeats, equal, twice, later)


def _later(reader: Reader, question: Question, survey: Survey, behind: list[_Sided]) -> Record | None:
    """The first record behind the last consumed one, if from there on the destination is the whole unconsumed sequence.

    As long as the source has lost none of that sequence.
    """
    source = reader.source
    if source.facts.compacted or source.start > question.committed:
        return None
    rest = list(itertools.takewhile(lambda each: each[0] is Side.UNCONSUMED, reversed(behind)))[::-1]
    runs = [run for _unused, run in rest]
    due = sum(part.records for part in _unconsumed(survey, question.committed))
    if not runs or not _rise(runs) or sum(run.records for run in runs) != due:
        return None
    return _record(reader, runs[0].first)


def _record(reader: Reader, offset: int) -> Record:
    return reader.destination.records(offset, offset + 1)[0]


def _anchor(record: Record, source_offset: int, matching: Matching) -> Anchor:
    return Anchor(source_offset, record.offset, matching.fingerprint(record))
