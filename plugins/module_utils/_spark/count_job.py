# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Count the contents of whole logs on Spark, for many groups at once: the answers of _matching.counting.Logs.

Two passes over a frame of contents; only sums leave the workers, a few rows for each committed offset.
"""

from __future__ import annotations

import bisect
import dataclasses
import itertools
import typing as t

from .._matching.counting import Answer
from .._model.match_on import Matching
from .._model.verdicts import Absent
from . import spark_library, worker_lost
from . import worker_tallying as worker
from .slots import GroupPosition, Slots, cuts
from .worker_packing import Axis, Layout
from .worker_tallying import Limits, Loose

if t.TYPE_CHECKING:
    import pyarrow

    from .spark_library import DataFrame

__all__ = ["Copy", "GroupCount", "GroupPosition", "Lag", "count_wide"]


class Copy(t.NamedTuple):
    """A copy at the destination and a source record of its content, on the same side of the committed offset.

    source: the position of the source partition in the pair. fingerprint: hexadecimal.
    """

    source: int
    source_offset: int
    destination_offset: int
    fingerprint: str


class Lag(t.NamedTuple):
    """Of a source partition: its last consumed record, and how many consumed ones have no copy.

    source: the position of the source partition in the pair.
    """

    source: int
    source_offset: int
    records: int


class GroupCount(t.NamedTuple):
    """For one standing. answers, and the copies at their last_consumed and first_wanted: for each destination partition.

    An answer's last_at_source and next_at_source are those of the only source partition; None where there are several.
    matching: what was compared; times if all copies have kept them. not_arrived: the source partitions whose last consumed
    record is not at the destination, nor anything that certainly follows it; it is empty where the answers say `arrived`.
    surplus: for each destination partition the first copy that may be one of a record that the source has lost.
    destination_only: for each destination partition the first record that the source does not have. None where there is none.
    """

    matching: Matching
    answers: tuple[Answer, ...]
    last_consumed: tuple[Copy | None, ...]
    first_wanted: tuple[Copy | None, ...]
    not_arrived: tuple[Lag, ...]
    surplus: tuple[int | None, ...]
    destination_only: tuple[int | None, ...]


_Place = tuple[int, int, bytes]  # of a copy, of a source record that it stands for; their fingerprint


class Sum(t.NamedTuple):
    """What all workers say of a slot: the lowest and the highest row, how many records, and the contents of LOOSE rows."""

    headers: bool | None
    kind: int
    slot: int
    low: _Place
    high: _Place
    records: int
    loose: tuple[bytes, ...] = ()


_Sums = t.Mapping[tuple[int, int], Sum]  # by kind and slot


def count_wide(
    contents: DataFrame,
    layout: Layout,
    standings: t.Sequence[GroupPosition],
    ends: t.Sequence[int],
    *,
    without_headers: bool = True,
    stable: t.Sequence[int] | None = None,
    only_doubled: bool = False,
    expired: t.Collection[int] = (),
    compacted: t.Collection[int] = (),
) -> list[GroupCount]:
    """Where groups belong on the pairs of a frame of contents, which has to be kept: it is read two or three times.

    ends: the end of each destination log. without_headers: compare without headers where that leaves fewer records of a pair
    that only the destination has; without that, headers are always compared. stable: the last stable offset of each source log;
    where it is given, repeats are counted as if all that open transactions hide were aborted; with only_doubled, where anything
    of the pair was copied twice. expired, compacted: the pairs of
    which records may have been at the source that it has lost.
    """
    if not standings:
        return []
    slots = Slots(layout, standings, stable, seen_edges(contents, layout, {*expired, *compacted}), expired)

    def first(batches: t.Iterable[pyarrow.RecordBatch]) -> t.Iterator[pyarrow.RecordBatch]:
        return worker.first_pass(batches, slots, without_headers)

    found = FirstPass.of(summed(contents.mapInArrow(first, worker.SCHEMA)), slots, ends, only_doubled)
    limits = found.limits

    def second(batches: t.Iterable[pyarrow.RecordBatch]) -> t.Iterator[pyarrow.RecordBatch]:
        return worker.second_pass(batches, slots, limits)

    return group_counts(summed(contents.mapInArrow(second, worker.SCHEMA)), found)


def seen_edges(contents: DataFrame, layout: Layout, lossy: t.Collection[int]) -> list[int] | None:
    """The edges before which copies of lost records are left out, see worker_lost.edges_of(); None where there are none."""
    if not lossy or not layout.timestamps:
        return None

    def see(batches: t.Iterable[pyarrow.RecordBatch]) -> t.Iterator[pyarrow.RecordBatch]:
        return worker_lost.seen(batches, layout)

    texts = contents.mapInArrow(see, worker_lost.SCHEMA).toArrow().column(0).to_pylist()
    return worker_lost.edges_of(texts, layout, lossy)


def summed(rows: DataFrame) -> list[Sum]:
    """The workers' rows by slot."""
    f = spark_library.functions
    place = f.struct("place", "source", "fingerprint")
    sums = rows.groupBy("headers", "kind", "slot").agg(
        f.min(place).alias("low"),
        f.max(place).alias("high"),
        f.sum("records").alias("records"),
        f.collect_list(f.when(f.col("kind") == worker.LOOSE, f.col("fingerprint"))).alias("loose"),
    )
    return [
        Sum(
            row["headers"],
            row["kind"],
            row["slot"],
            _place(row["low"]),
            _place(row["high"]),
            row["records"],
            tuple(map(bytes, row["loose"])),
        )
        for row in sums.collect()
    ]


def _place(value: t.Any) -> _Place:
    return value["place"], value["source"], bytes(value["fingerprint"])


@dataclasses.dataclass(frozen=True, slots=True)
class FirstPass:
    """What the first pass says. firsts: for each question the lowest copy that has to follow."""

    slots: Slots
    limits: Limits
    firsts: list[_Place | None]
    by_matching: dict[bool, _Follow]

    @classmethod
    def of(cls, sums: t.Sequence[Sum], slots: Slots, ends: t.Sequence[int], only_doubled: bool = False) -> t.Self:
        """ends: the end of each destination log. only_doubled: see count_wide()."""
        by_matching = {headers: _Follow(_merged(sums, headers), slots) for headers in (True, False)}
        # Where more are found without their headers, the replication tool has added some.
        headers = tuple(
            by_matching[True].destination_only(pair) <= by_matching[False].destination_only(pair)
            for pair in range(len(slots.of_pair))
        )
        firsts: list[_Place | None] = []
        places: list[int] = []
        for number, standing in enumerate(slots.standings):
            for position, destination in enumerate(slots.destinations[standing.pair]):
                first = by_matching[headers[standing.pair]].first(number, position)
                firsts.append(first)
                places.append(
                    slots.layout.destination.place(destination, ends[destination]) if first is None else first[0]
                )
        hidden = tuple(
            not only_doubled or by_matching[headers[pair]].has_surplus(pair) for pair in range(len(slots.destinations))
        )
        return cls(slots, Limits(headers, tuple(places), hidden), firsts, by_matching)

    def of_pair(self, pair: int) -> _Follow:
        """What it says in the way in which the pair's records are compared."""
        return self.by_matching[self.limits.headers[pair]]


class _Follow:
    """What the first pass says if records are compared in one way."""

    def __init__(self, sums: _Sums, slots: Slots) -> None:
        self._sums, self._slots = sums, slots
        self._lowest: dict[tuple[int, int, int], list[_Place | None]] = {}
        self._intervals = _by_log(slots.cuts, slots.layout.source)

    def sum(self, kind: int, slot: int) -> int:
        return _records(self._sums, kind, slot)

    def destination_only(self, pair: int) -> int:
        """How many records of a pair's destination partitions the source does not have."""
        return sum(self.sum(worker.DESTINATION_ONLY, number) for number in self._slots.destinations[pair])

    def has_surplus(self, pair: int) -> bool:
        """Are there more copies than records of anything?"""
        return any(self.sum(worker.SURPLUS, number) for number in self._slots.destinations[pair])

    def first_in(self, kind: int, number: int) -> int | None:
        """The place of the first copy of this kind (such as SURPLUS) in the destination partition with this number."""
        its = self._sums.get((kind, number))
        return None if its is None else its.low[0]

    def lacking(self, standing: int, position: int) -> int:
        """How many consumed records of a source partition have no copy."""
        commit = self._slots.commits[standing][position]
        intervals = self._intervals[self._slots.sources[self._slots.standings[standing].pair][position]]
        return sum(self.sum(worker.LACKING, at) for at in intervals if self._slots.cuts[at] < commit)

    def absent(self, standing: int) -> Absent | None:
        """That the first unconsumed record without a copy is before one that has arrived, with its own time.

        None for several source partitions. How many there are is not known, because no such record leaves the workers.
        """
        commits = list(self._commits(standing))
        if len(commits) != 1:
            return None
        intervals = [at for at in self._intervals[commits[0][0]] if self._slots.cuts[at] >= commits[0][1]]
        destinations = range(len(self._slots.destinations[self._slots.standings[standing].pair]))
        cells = [self._slots.cells[at] + destination for at in intervals for destination in destinations]
        copies = [its for cell in cells if (its := self._sums.get((worker.BY_TIME, cell)))]
        arrived = max((place[1] for its in copies for place in (its.low, its.high)), default=-1)
        lacking = [its.low[0] for at in intervals if (its := self._sums.get((worker.LACKING, at)))]
        first = min(lacking, default=arrived)
        return Absent(1, self._slots.layout.source.at(first)[1], exactly=False) if first < arrived else None

    def first(self, standing: int, destination: int) -> _Place | None:
        """The lowest copy that has to follow in a destination partition, given by its position."""
        return self._lowest_of(standing, destination, worker.WANTED, worker.FOLLOWS)

    def recopied(self, standing: int, destination: int) -> _Place | None:
        """The lowest copy of unconsumed records in a destination partition, of those that have several."""
        return self._lowest_of(standing, destination, worker.RECOPIED, worker.EARLIEST)

    def _lowest_of(self, standing: int, destination: int, of_question: int, of_cell: int) -> _Place | None:
        slots = self._slots
        its = self._sums.get((of_question, slots.questions[standing] + destination))
        lowest = None if its is None else its.low
        for source, commit in self._commits(standing):
            lowest = _lower(lowest, self._from_on(of_cell, source, commit, destination))
        return lowest

    def last_at_source(self, standing: int) -> list[int | None]:
        """The place of the last consumed record of each source partition."""
        begin, end = self._slots.arrivals[standing : standing + 2]
        lasts = [self._sums.get((worker.LAST, arrival)) for arrival in range(begin, end)]
        return [None if last is None else last.high[0] for last in lasts]

    def next_at_source(self, standing: int) -> list[int | None]:
        """The place of the first unconsumed record of each source partition."""
        firsts = [self._from_on(worker.AT_SOURCE, source, commit, 0) for source, commit in self._commits(standing)]
        return [None if first is None else first[0] for first in firsts]

    def not_arrived(self, standing: int, firmly: bool = False) -> list[int]:
        """The positions of the source partitions whose last consumed record is not there, nor anything after it.

        firmly: also those of which all that is there may be copies of equal records.
        """
        kind = worker.BY_TIME if firmly else worker.FOLLOWS
        slots = self._slots
        destinations = range(len(slots.destinations[slots.standings[standing].pair]))
        return [
            position
            for position, (source, commit) in enumerate(self._commits(standing))
            if not self._has_arrived(slots.arrivals[standing] + position, firmly)
            and all(self._from_on(kind, source, commit, at) is None for at in destinations)
        ]

    def _commits(self, standing: int) -> t.Iterator[tuple[int, int]]:
        pair = self._slots.standings[standing].pair
        return zip(self._slots.sources[pair], self._slots.commits[standing], strict=True)

    def _has_arrived(self, arrival: int, firmly: bool) -> bool:
        last = self._sums.get((worker.LAST, arrival))
        kind, enough = (worker.FIRM, 2) if firmly else (worker.SURE, 1)
        return last is None or last.high[1] >= enough or (kind, arrival) in self._sums

    def _from_on(self, kind: int, source: int, commit: int, destination: int) -> _Place | None:
        """The lowest of what is said of the intervals of a source partition that begin at this place or after it."""
        intervals = self._intervals[source]
        key = kind, source, destination
        if key not in self._lowest:
            slots = intervals if kind == worker.AT_SOURCE else [self._slots.cells[at] + destination for at in intervals]
            of = [self._sums.get((kind, slot)) for slot in reversed(slots)]
            self._lowest[key] = list(itertools.accumulate((None if its is None else its.low for its in of), _lower))[
                ::-1
            ]
        return self._lowest[key][bisect.bisect_left(self._slots.cuts, commit) - intervals.start]


def group_counts(sums: t.Sequence[Sum], first: FirstPass) -> list[GroupCount]:
    """The answers, from the sums of the second pass."""
    slots = first.slots
    paired = _Paired(_merged(sums, True), first)
    return [_counted(number, paired, first) for number in range(len(slots.standings))]


def _counted(standing: int, paired: _Paired, first: FirstPass) -> GroupCount:
    slots = first.slots
    pair = slots.standings[standing].pair
    its = first.of_pair(pair)
    missing = its.not_arrived(standing)
    # Where times are not compared, they cannot show anything either.
    unsure = set(its.not_arrived(standing, firmly=True)).difference(missing) if slots.layout.timestamps else set()
    to_come = sum(its.lacking(standing, position) for position in unsure)
    at_source = [
        [_source_offset(place, slots) for place in places]
        for places in (its.last_at_source(standing), its.next_at_source(standing))
    ]
    last_at_source, next_at_source = (each[0] if len(each) == 1 else None for each in at_source)
    absent = its.absent(standing)
    answers: list[Answer] = []
    befores: list[Copy | None] = []
    afters: list[Copy | None] = []
    for position, number in enumerate(slots.destinations[pair]):
        question = slots.questions[standing] + position
        last, found, recopied = paired.last(number, question), first.firsts[question], its.recopied(standing, position)
        begin = number * slots.layout.destination.step if last is None else last[0] + 1
        before, after = (None if place is None else _copy(place, slots, pair) for place in (last, found))
        answers.append(
            Answer(
                slots.layout.destination.starts[number] if before is None else before.destination_offset + 1,
                *paired.repeats(standing, position, begin),
                not missing,
                None if before is None else before.destination_offset,
                None if after is None else after.destination_offset,
                recopied is not None and recopied[0] < begin,
                last_at_source,
                next_at_source,
                to_come,
                absent,
            )
        )
        befores.append(before)
        afters.append(after)

    def firsts(kind: int) -> tuple[int | None, ...]:
        return tuple(_destination_offset(its.first_in(kind, at), slots) for at in slots.destinations[pair])

    timestamps = slots.layout.timestamps and not its.sum(worker.CHANGED, pair)
    return GroupCount(
        Matching(timestamps, first.limits.headers[pair]),
        tuple(answers),
        tuple(befores),
        tuple(afters),
        tuple(Lag(at, at_source[0][at] or 0, its.lacking(standing, at)) for at in missing),
        firsts(worker.SURPLUS),
        firsts(worker.DESTINATION_ONLY),
    )


def _source_offset(place: int | None, slots: Slots) -> int | None:
    return None if place is None else slots.layout.source.at(place)[1]


def _destination_offset(place: int | None, slots: Slots) -> int | None:
    return None if place is None else slots.layout.destination.at(place)[1]


class _Paired:
    """What the second pass says."""

    def __init__(self, sums: _Sums, first: FirstPass) -> None:
        self._sums, self._slots, self._limits = sums, first.slots, first.limits.places
        self._edges = cuts(first.slots.layout.destination, first.limits.places)
        self._paired = _by_log(self._edges, first.slots.layout.destination)
        self._lasts: dict[int, list[_Place | None]] = {}
        self._copies: dict[int, list[int]] = {}
        self._unconsumed: dict[tuple[int, int], list[int]] = {}
        self._intervals = _by_log(first.slots.cuts, first.slots.layout.source)

    def last(self, number: int, question: int) -> _Place | None:
        """The last consumed copy before the limit of a question about the destination partition with this number."""
        if number not in self._lasts:
            of = [self._sums.get((worker.PAIRED, at)) for at in self._paired[number]]
            highs = [None if its is None else its.high for its in of]
            self._lasts[number] = [None, *itertools.accumulate(highs, _higher)]
        at = bisect.bisect_left(self._edges, self._limits[question]) - self._paired[number].start
        its = self._sums.get((worker.CONSUMED, question))
        return _higher(self._lasts[number][at], None if its is None else its.high)

    def repeats(self, standing: int, position: int, begin: int) -> tuple[int, int, bool]:
        """How many consumed records follow the place `begin` in a destination partition, at most.

        And how many of these have a content that is unconsumed as well, and whether one of them has another copy before
        it.
        """
        question = self._slots.questions[standing] + position
        repeated = self._following(standing, position) + _records(self._sums, worker.REPEATED, question)
        equal = _records(self._sums, worker.EQUAL, question)
        again = (worker.AGAIN, question) in self._sums
        found = self._sums.get((worker.LOOSE, question))
        for loose in map(Loose.unpacked, found.loose if found else ()):
            number, before = loose.at(begin)
            repeated += number
            if loose.wanted:
                equal += number
            elif number and before:
                again = True
        return repeated, equal, again

    def _following(self, standing: int, position: int) -> int:
        """Of the records with one copy, how many consumed ones' copies stand from the limit on."""
        slots = self._slots
        pair = slots.standings[standing].pair
        number = slots.destinations[pair][position]
        if number not in self._copies:
            self._copies[number] = _suffixes(_records(self._sums, worker.PAIRED, at) for at in self._paired[number])
        limit = self._limits[slots.questions[standing] + position]
        copies = self._copies[number][bisect.bisect_left(self._edges, limit) - self._paired[number].start]
        for source, commit in zip(slots.sources[pair], slots.commits[standing], strict=True):
            key = source, position
            intervals = self._intervals[source]
            if key not in self._unconsumed:
                self._unconsumed[key] = _suffixes(
                    _records(self._sums, worker.UNCONSUMED, slots.cells[at] + position) for at in intervals
                )
            copies -= self._unconsumed[key][bisect.bisect_left(slots.cuts, commit) - intervals.start]
        return copies


def _copy(place: _Place, slots: Slots, pair: int) -> Copy:
    copy, source, fingerprint = place
    number, source_offset = slots.layout.source.at(source)
    _destination, offset = slots.layout.destination.at(copy)
    return Copy(number - slots.sources[pair][0], source_offset, offset, fingerprint.hex())


def _merged(sums: t.Sequence[Sum], headers: bool) -> dict[tuple[int, int], Sum]:
    """What is said if headers are compared, or if not; most of it holds in both cases."""
    found: dict[tuple[int, int], Sum] = {}
    for its in sums:
        if its.headers in (None, headers):
            key = its.kind, its.slot
            other = found.get(key, its._replace(records=0, loose=()))
            found[key] = Sum(
                headers,
                *key,
                min(its.low, other.low),
                max(its.high, other.high),
                its.records + other.records,
                its.loose + other.loose,
            )
    return found


def _by_log(edges: t.Sequence[int], axis: Axis) -> list[range]:
    """Which of the intervals that begin at the edges lie in each log."""
    begins = [bisect.bisect_left(edges, number * axis.step) for number in range(len(axis.starts) + 1)]
    return [range(*each) for each in itertools.pairwise(begins)]


def _records(sums: _Sums, kind: int, slot: int) -> int:
    its = sums.get((kind, slot))
    return its.records if its else 0


def _suffixes(numbers: t.Iterable[int]) -> list[int]:
    """How much the numbers from each on make together, and 0 at last."""
    return list(itertools.accumulate(reversed(list(numbers)), initial=0))[::-1]


def _lower(one: _Place | None, other: _Place | None) -> _Place | None:
    return min((its for its in (one, other) if its is not None), default=None)


def _higher(one: _Place | None, other: _Place | None) -> _Place | None:
    return max((its for its in (one, other) if its is not None), default=None)
