# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Serve the comparison of what follows groups' offsets on two clusters: records are read for all of them together."""

from __future__ import annotations

import bisect
import collections
import dataclasses
import operator
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.blocks import MOST, Block
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.comparing import (
    READ_AT_MOST,
    Comparison,
    Half,
    Reading,
    Row,
    Sides,
    Window,
    compare,
    sides_of,
    to_read,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.context import Matching
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import Span, united
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.fates import Elsewhere, count
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.stretches import (
    Stretches,
    joined,
    stretches_of,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.verified import Claim, finding
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._proof.elsewhere import Looked, look, places
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.reading import Side
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.progress import Say, counted, silent
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.report import Finding, Position
from ansible_collections.streamshift.kafka.plugins.module_utils._model.spark import SparkOptions
from ansible_collections.streamshift.kafka.plugins.module_utils._records.scanning import Range
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.library import SparkSession
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.proof import (
    Asked,
    Edges,
    read_blocks,
    read_rows,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.session import open_session

# Offsets that are read behind a limit, as partners for what comes before it: markers are on one side only, and foreign
# records, and the block that the limit falls into has to end.
MARGIN = 2 * MOST

_start = operator.attrgetter("start")
_offset = operator.attrgetter("offset")
_T = t.TypeVar("_T")
_Windows = tuple[tuple[Window, ...], tuple[Window, ...]]
_ByPartition = dict[TopicPartition, list[_T]]
_Spans = t.Sequence[tuple[TopicPartition, int, int]]


class Case(t.NamedTuple):
    """A claim, and how its records may be compared. parts: what of a record the fingerprints cover."""

    claim: Claim
    parts: tuple[str, ...]
    hows: tuple[Matching, ...]


def findings(
    cases: t.Sequence[Case],
    source: Connection,
    destination: Connection,
    limit: int | None,
    spark: SparkOptions,
    say: Say = silent,
) -> list[Finding]:
    """What is found of every case, in order.

    limit: after so many offsets the comparison of a partition may stop; None compares all of them. Spark is started
    where there is anything to read. Raises as open_session() and scan() do.
    """
    here, there = Side(source), Side(destination)
    # The destination's end first: what it has must be there at the source.
    there.learn({partition for case in cases for partition, _offset in case.claim.destination})
    here.learn({partition for case in cases for partition, _offset in case.claim.source})
    windows = [_both_windows(case.claim, here, there, limit) for case in cases]
    if not any(window.start < window.end for both in windows for side in both for window in side):
        return [_placed(Finding(*case.claim[:3]), here, there) for case in cases]
    found: dict[int, Finding] = {}
    with open_session(spark, say) as session:
        for parts in sorted({case.parts for case in cases}):
            run = _Run(session, here, there, parts, None if limit is None else limit + MARGIN, say)
            numbers = [number for number, case in enumerate(cases) if case.parts == parts]
            answers = run.findings([cases[number] for number in numbers], [windows[number] for number in numbers])
            found |= dict(zip(numbers, answers, strict=True))
    return [_placed(found[number], here, there) for number in range(len(cases))]


def _placed(found: Finding, here: Side, there: Side) -> Finding:
    """The same, with a problem for each offset that lies behind the end of its log."""
    wrong = [
        f"offset {offset} of {partition} is beyond the {name}'s end {side.logs[partition].facts.high_watermark}"
        for name, side, positions in (("source", here, found.source), ("destination", there, found.destination))
        for partition, offset in positions
        if offset > side.logs[partition].facts.high_watermark
    ]
    return dataclasses.replace(found, problems=(*wrong, *found.problems))


def _both_windows(claim: Claim, here: Side, there: Side, limit: int | None) -> _Windows:
    margin = MARGIN
    several = max(len(claim.source), len(claim.destination))
    if limit is not None and several > 1:
        # There is no order that would make blocks equal, so that all of it will be in memory.
        limit, margin = max(1, min(limit, READ_AT_MOST // 2 // several)), 0
    return _windows(here, claim.source, limit, margin), _windows(there, claim.destination, limit, margin)


def _windows(side: Side, positions: t.Iterable[Position], limit: int | None, margin: int) -> tuple[Window, ...]:
    windows = []
    for partition, offset in positions:
        facts = side.logs[partition].facts
        start = max(offset, facts.log_start)
        log_end = max(start, facts.end)
        if limit is None:
            windows.append(Window(start, log_end, log_end, log_end))
        else:
            windows.append(Window(start, min(log_end, start + limit), min(log_end, start + limit + margin), log_end))
    return tuple(windows)


@dataclasses.dataclass(frozen=True, slots=True)
class _Run:
    """Two clusters, what is known of their logs, and the session by which records are read."""

    spark: SparkSession
    here: Side
    there: Side
    parts: tuple[str, ...]
    far: int | None
    say: Say

    def findings(self, cases: t.Sequence[Case], windows: t.Sequence[_Windows]) -> list[Finding]:
        """What is found of cases whose fingerprints cover the same parts."""
        sides = self._sides(cases, windows)
        comparisons = self._compared(cases, sides, [to_read(each) for each in sides])
        looked = [
            Looked(case.claim, *its) for case, its in zip(cases, zip(sides, comparisons, strict=True), strict=True)
        ]
        wanted = places(looked, self.here, self.there, self.far)
        # The end that seems still to come has to be read where it may have a partner after all.
        again = [
            number
            for number, each in enumerate(looked)
            if each.comparison.unread
            and (each.comparison.extra or (each.comparison.how.timestamp and wanted[number].skipped))
        ]
        if again:
            chosen = [sides[number] for number in again]
            readings = [to_read(each, whole=True) for each in chosen]
            newer = self._compared([cases[number] for number in again], chosen, readings)
            for number, comparison in zip(again, newer, strict=True):
                looked[number] = looked[number]._replace(comparison=comparison)
            wanted = places(looked, self.here, self.there, self.far)
        if any(each.skipped or each.consumed or each.unconsumed for each in wanted):
            self.say("looking elsewhere in the logs for records that are missing or foreign")
        found = look(self.spark, wanted, self.here, self.there, self.parts)
        return [self._finding(*each) for each in zip(looked, found, strict=True)]

    def _finding(self, looked: Looked, elsewhere: Elsewhere) -> Finding:
        claim, sides, comparison = looked
        found = finding(
            claim,
            comparison,
            count(comparison, elsewhere),
            is_complete=not (sides.source.is_cut or sides.destination.is_cut),
            is_compacted=any(self.there.logs[partition].facts.compacted for partition, _offset in claim.destination),
        )
        parts = tuple(part for part in found.matched_by if part in (*self.parts, "timestamp"))
        return dataclasses.replace(found, matched_by=parts)

    def _sides(self, cases: t.Sequence[Case], windows: t.Sequence[_Windows]) -> list[Sides]:
        ours: list[tuple[TopicPartition, int, int]] = []
        theirs: list[tuple[TopicPartition, int, int]] = []
        for case, (its, others) in zip(cases, windows, strict=True):
            ours += [(at, window.start, window.end) for (at, _o), window in zip(case.claim.source, its, strict=True)]
            theirs += [
                (at, window.start, window.end) for (at, _o), window in zip(case.claim.destination, others, strict=True)
            ]
        ranges = _united(ours), _united(theirs)
        size = max(sum(each.end - each.start for each in its) for its in ranges)
        partitions = {each.partition for each in ranges[1]}
        self.say(f"comparing up to {counted(size, 'record')} a side of {counted(len(partitions), 'partition')}")
        here, there = self._read(read_blocks, *ranges, _edges(ranges[0], ours), _edges(ranges[1], theirs))
        known: dict[t.Any, Stretches] = {}
        return [
            sides_of(*_halves(case.claim, both, here, there, hows := self._hows(case), known), hows)
            for case, both in zip(cases, windows, strict=True)
        ]

    def _hows(self, case: Case) -> tuple[Matching, ...]:
        """Without timestamps, where the destination has its own and something else is possible."""
        own = any(self.there.logs[partition].facts.log_append_time for partition, _offset in case.claim.destination)
        return tuple(how for how in case.hows if not (own and how.timestamp)) or case.hows

    def _compared(
        self, cases: t.Sequence[Case], sides: t.Sequence[Sides], readings: t.Sequence[Reading]
    ) -> list[Comparison]:
        """Read the records that the comparisons need, not more at a time than memory holds."""
        found: list[Comparison] = []
        for numbers in _batches(readings):
            ours, theirs = [], []
            for number in numbers:
                ours += _spans(cases[number].claim.source, readings[number].source)
                theirs += _spans(cases[number].claim.destination, readings[number].destination)
            if size := sum(end - start for _partition, start, end in (*ours, *theirs)):
                self.say(f"looking closer at up to {counted(size, 'record')} where the two sides differ")
            here, there = self._read(read_rows, _united(ours), _united(theirs))
            for number in numbers:
                reading = readings[number]
                own = _rows(cases[number].claim.source, reading.source, here)
                others = _rows(cases[number].claim.destination, reading.destination, there)
                found.append(compare(sides[number], reading, own, others))
        return found

    def _read(
        self,
        read: t.Callable[..., list[list[list[_T]]]],
        ours: list[Range],
        theirs: list[Range],
        our_edges: Edges = (),
        their_edges: Edges = (),
    ) -> tuple[_ByPartition[_T], _ByPartition[_T]]:
        """What `read` makes of both clusters' ranges, in one job, by partition and in order."""
        here, there = read(
            self.spark,
            Asked(self.here.connection, ours, self.parts, our_edges),
            Asked(self.there.connection, theirs, self.parts, their_edges),
        )
        return _by_partition(ours, here), _by_partition(theirs, there)


def _by_partition(ranges: list[Range], found: list[list[_T]]) -> _ByPartition[_T]:
    """The ranges of a partition neither overlap nor come in another order than their records."""
    result: _ByPartition[_T] = collections.defaultdict(list)
    for each, items in zip(ranges, found, strict=True):
        result[each.partition] += items
    return result


def _united(spans: _Spans) -> list[Range]:
    """Ranges that hold every span, and every offset once."""
    merged: dict[TopicPartition, list[Span]] = {}
    for partition, start, end in spans:
        merged[partition] = united(merged.get(partition, []), (start, end))
    return [Range(partition, *span) for partition, its in sorted(merged.items()) for span in its]


def _edges(ranges: t.Iterable[Range], spans: _Spans) -> list[list[int]]:
    """For each range the starts of spans in it: where groups part, blocks have to begin on both clusters."""
    starts: dict[TopicPartition, set[int]] = collections.defaultdict(set)
    for partition, start, _end in spans:
        starts[partition].add(start)
    return [sorted(start for start in starts[partition] if low < start < high) for partition, low, high in ranges]


def _halves(
    claim: Claim,
    windows: _Windows,
    here: _ByPartition[Block],
    there: _ByPartition[Block],
    hows: tuple[Matching, ...],
    known: dict[t.Any, Stretches],
) -> tuple[Half, Half]:
    """The blocks of an entry's windows. known: what entries with the same partitions have found of those."""
    its, others = windows
    if len(its) > 1 or len(others) > 1:
        return _half(claim.source, its, here), _half(claim.destination, others, there)
    (source, _offset), (destination, _other) = claim.source[0], claim.destination[0]
    key = (source, destination, hows)
    if key not in known:
        known[key] = stretches_of(here[source], there[destination], hows)
    mine, copies = joined(known[key], _numbers(here[source], its[0]), _numbers(there[destination], others[0]))
    return Half(its, mine), Half(others, copies)


def _half(positions: t.Iterable[Position], windows: tuple[Window, ...], blocks: _ByPartition[Block]) -> Half:
    mine = []
    for place, ((partition, _offset), window) in enumerate(zip(positions, windows, strict=True)):
        its = blocks[partition]
        mine += [its[number]._replace(place=place) for number in _numbers(its, window)]
    return Half(windows, mine)


def _numbers(blocks: list[Block], window: Window) -> range:
    """Which of a partition's blocks begin in the window."""
    return range(*(bisect.bisect_left(blocks, edge, key=_start) for edge in (window.start, window.end)))


def _spans(positions: t.Sequence[Position], blocks: t.Iterable[Block]) -> list[tuple[TopicPartition, int, int]]:
    return [(positions[block.place][0], block.start, block.end) for block in blocks]


def _rows(positions: t.Sequence[Position], blocks: t.Iterable[Block], rows: _ByPartition[Row]) -> list[Row]:
    """The records of the blocks, as one entry counts its partitions."""
    mine = []
    for block in blocks:
        its = rows[positions[block.place][0]]
        low, high = (bisect.bisect_left(its, edge, key=_offset) for edge in (block.start, block.end))
        mine += [row._replace(place=block.place) for row in its[low:high]]
    return mine


def _batches(readings: t.Sequence[Reading]) -> t.Iterator[list[int]]:
    """Numbers of readings, in order, that together hold no more records than memory does."""
    batch: list[int] = []
    total = 0
    for number, reading in enumerate(readings):
        size = sum(block.records for block in (*reading.source, *reading.destination))
        if batch and total + size > READ_AT_MOST:
            yield batch
            batch, total = [], 0
        batch.append(number)
        total += size
    if batch:
        yield batch
