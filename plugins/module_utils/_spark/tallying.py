# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What runs on Spark's workers to count contents: what a task's records say of the questions of slots.Slots, in two passes.

The first pass finds how far an offset may go: the lowest copy that has to follow it. The second one, which knows that limit,
finds the last consumed copy before it, and what is repeated.
"""

from __future__ import annotations

import collections
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.counting import Content, Tally, tallies
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.packing import Records, grouped, unpack
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.slots import Slots, cuts
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.units import Unit, units

if t.TYPE_CHECKING:
    import pyarrow

    from ansible_collections.streamshift.kafka.plugins.module_utils._spark.packing import Column, Flags

# A row of either pass. headers: whether they were compared, null where that made no difference. slot: of which question, cell
# and so on, as the kind says. place, source, fingerprint: a copy and a source record that it stands for, as places.
SCHEMA = "headers boolean, kind int, slot bigint, place bigint, source bigint, fingerprint binary, records bigint"

(
    FOLLOWS,  # cell: the lowest copy that has to follow where a record of the cell's interval is the first unconsumed one
    WANTED,  # question: the lowest copy that has to follow
    LAST,  # arrival: place is that of the last consumed source record, source is 1 where it has arrived
    SURE,  # arrival: a copy is certainly that of an unconsumed record
    FOREIGN,  # pair: records that the source does not have
    PAIRED,  # interval of the destination's axis, cut at all limits: the last copy and how many
    UNCONSUMED,  # cell: how many of them stand for records of the cell's interval
    CONSUMED,  # question: the last consumed copy before the limit
    REPEATED,  # question: how many copies of consumed records from the limit on
    EQUAL,  # question: how many of them have a content that is unconsumed as well
    AGAIN,  # question: one of them has another copy before the limit
    LOOSE,  # question: copies before the limit that may be repeated, see Loose
) = range(12)


class Loose(t.NamedTuple):
    """Copies of consumed records that are not taken for copies where the offset is placed: those that follow it are repeated.

    wanted: how many unconsumed records they may stand for; copies: all of them. following: how many stand from the limit on.
    before: the places of those before the limit, without such as have a consumed copy after them.
    """

    wanted: int
    copies: int
    following: int
    before: tuple[int, ...]

    def tally(self, place: int) -> tuple[int, int]:
        """How many follow a place that is at most the limit; how many of these are repeated at most."""
        following = self.following + sum(1 for copy in self.before if copy >= place)
        return following, max(0, following - self.wanted)

    def packed(self) -> bytes:
        """As a column's value."""
        import numpy as np

        return np.array([self.wanted, self.copies, self.following, *self.before], np.int64).tobytes()

    @classmethod
    def unpacked(cls, content: bytes) -> t.Self:
        import numpy as np

        wanted, copies, following, *before = np.frombuffer(content, np.int64).tolist()
        return cls(wanted, copies, following, tuple(before))


class Limits(t.NamedTuple):
    """What the first pass has found. headers: for each pair, whether they are compared; places: for each question, the place

    of the lowest copy that has to follow, or of the log's end.
    """

    headers: tuple[bool, ...]
    places: tuple[int, ...]


def first_pass(
    batches: t.Iterable[pyarrow.RecordBatch], slots: Slots, without_headers: bool
) -> t.Iterator[pyarrow.RecordBatch]:
    """FOLLOWS, WANTED, LAST, SURE and FOREIGN of a task's chunks; without_headers: by what is without them, too."""
    import numpy as np

    records = unpack(batches, slots.layout)
    both = without_headers and bool(records.with_headers.any())
    for headers in (True, False) if both else (True,):
        rows = _Rows(records, slots, np.full(len(slots.of_pair), headers))
        _find_limits(rows)
        yield rows.batch(headers if both else None)


def second_pass(
    batches: t.Iterable[pyarrow.RecordBatch], slots: Slots, limits: Limits
) -> t.Iterator[pyarrow.RecordBatch]:
    """PAIRED, UNCONSUMED, CONSUMED, REPEATED, EQUAL, AGAIN and LOOSE of a task's chunks."""
    import numpy as np

    records = unpack(batches, slots.layout)
    rows = _Rows(records, slots, np.array(limits.headers, bool))
    _count_singles(rows, limits)
    loose: list[tuple[int, Tally]] = []
    _count_repeated(rows, limits)
    _count_several(rows, limits, loose)
    last = rows.last_consumed()
    for question, tally in loose:
        rows.add_loose(question, tally, limits.places[question], last.get(question, -1))
    yield rows.batch(None)


class _Rows:
    """The records of a task, told apart, and what is found of them. Of all rows of a slot the best is kept here already."""

    def __init__(self, records: Records, slots: Slots, headers: Flags) -> None:
        self.records, self.slots, self.headers = records, slots, headers
        self.groups = grouped(records, headers)
        self.units = units(records, self.groups, slots.layout)
        self._columns: list[tuple[int, t.Any, t.Any, t.Any, t.Any, t.Any]] = []
        self._lowest: dict[tuple[int, int], tuple[int, int, int]] = {}
        self._highest: dict[tuple[int, int], tuple[int, int, int]] = {}
        self._sums: collections.Counter[tuple[int, int]] = collections.Counter()
        self._loose: list[tuple[int, bytes]] = []

    def add(self, kind: int, slots: Column, copies: Column, sources: Column, rows: Column, records: Column) -> None:
        """Many rows at once; rows: of the records whose fingerprints are told."""
        self._columns.append((kind, slots, copies, sources, rows, records))

    def add_lowest(self, kind: int, slot: int, copy: int, source: int, row: int) -> None:
        found = copy, source, row
        self._lowest[kind, slot] = min(found, self._lowest.get((kind, slot), found))

    def add_highest(self, kind: int, slot: int, copy: int, source: int, row: int) -> None:
        found = copy, source, row
        self._highest[kind, slot] = max(found, self._highest.get((kind, slot), found))

    def add_sum(self, kind: int, slot: int, number: int) -> None:
        if number:
            self._sums[kind, slot] += number

    def add_loose(self, question: int, tally: Tally, limit: int, last: int) -> None:
        """last: the place of a consumed copy before the limit."""
        following = tally.from_on(limit)
        before = tuple(int(copy) for copy in tally.copies[: len(tally.copies) - following] if copy > last)
        self._loose.append((question, Loose(tally.wanted, len(tally.copies), following, before).packed()))

    def last_consumed(self) -> dict[int, int]:
        """For each question the last consumed copy before its limit, as far as this task's records tell."""
        return {slot: found[0] for (kind, slot), found in self._highest.items() if kind == CONSUMED}

    def batch(self, headers: bool | None) -> pyarrow.RecordBatch:
        """Everything that was added, as one batch."""
        import numpy as np
        import pyarrow as pa

        kinds, numbers, fingerprints = [], [], []
        for kind, *columns, rows, records in self._columns:
            kinds += [kind] * len(rows)
            numbers.append(np.stack([*columns, records]))
            fingerprints += [self._fingerprint(row) for row in rows.tolist()]
        scalars: list[tuple[int, int, int, int, int]] = []
        for found in (self._lowest, self._highest):
            for (kind, slot), (copy, source, row) in found.items():
                scalars.append((kind, slot, copy, source, 1))
                fingerprints.append(self._fingerprint(row))
        scalars += [(kind, slot, 0, 0, number) for (kind, slot), number in self._sums.items()]
        fingerprints += [b""] * len(self._sums)
        scalars += [(LOOSE, slot, 0, 0, 1) for slot, _content in self._loose]
        fingerprints += [content for _slot, content in self._loose]
        kinds += [row[0] for row in scalars]
        numbers.append(np.array([row[1:] for row in scalars], np.int64).reshape(-1, 4).T)
        slots, places, sources, records = np.concatenate(numbers, axis=1)
        columns = [
            pa.array([headers] * len(kinds), pa.bool_()),
            pa.array(kinds, pa.int32()),
            *(pa.array(column, pa.int64()) for column in (slots, places, sources)),
            pa.array(fingerprints, pa.binary()),
            pa.array(records, pa.int64()),
        ]
        return pa.RecordBatch.from_arrays(columns, [field.split()[0] for field in SCHEMA.split(", ")])

    def _fingerprint(self, row: int) -> bytes:
        return self.records.fingerprint(row, bool(self.headers[self.records.pairs[row]])) if row >= 0 else b""


def _find_limits(rows: _Rows) -> None:
    import numpy as np

    records, slots, groups, its = rows.records, rows.slots, rows.groups, rows.units
    alone = groups.sources == 0
    foreign = np.bincount(records.pairs[groups.order[groups.starts[alone]]], groups.copies[alone])
    for pair in np.flatnonzero(foreign).tolist():
        rows.add_sum(FOREIGN, pair, int(foreign[pair]))
    last = its.repeated[2]
    sources = np.append(its.singles[0], its.repeated[0][last])
    copies = np.append(its.singles[1], its.repeated[1][last])
    source_places, copy_places = records.places[sources], records.places[copies]
    cells = slots.cells_of(source_places, copy_places)
    order = np.lexsort((copy_places, cells))
    first = order[_begins(cells[order])]
    ones = np.ones(len(first), np.int64)
    rows.add(FOLLOWS, cells[first], copy_places[first], source_places[first], sources[first], ones)
    arrived = np.zeros(
        records.sources, np.int64
    )  # of source records: 1 arrived, 0 not, below it depends on the commits
    arrived[sources] = 1
    for number, unit in enumerate(its.several):
        arrived[unit.sources] = -1 - number
        for standing in slots.of_pair[int(records.pairs[unit.sources[0]])]:
            _find_limit(rows, unit, standing)
    _find_last(rows, arrived)


def _find_limit(rows: _Rows, unit: Unit, standing: int) -> None:
    counted = _Counted(rows, unit, standing)
    unconsumed = unit.sources[~counted.consumed]
    if not len(unconsumed):
        return
    source = int(rows.records.places[unconsumed].min())
    sure = False
    for question, tally, _wanted in counted.by_question():
        if tally.need:
            rows.add_lowest(WANTED, question, int(tally.copies[-tally.need]), source, int(unit.sources[0]))
    sure = any(tally.surely_unconsumed for tally in counted.tallies)
    if sure:
        numbers = set((rows.records.places[unconsumed] // rows.slots.layout.source.step).tolist())
        if len(numbers) == 1:
            first = rows.slots.sources[rows.slots.standings[standing].pair][0]
            rows.add_highest(SURE, rows.slots.arrivals[standing] + numbers.pop() - first, 0, 0, -1)


def _find_last(rows: _Rows, arrived: Column) -> None:
    """Of each standing and source partition the last consumed record, and whether it has arrived."""
    import numpy as np

    records, slots = rows.records, rows.slots
    of_source = records.places[: records.sources]
    if not len(of_source) or not slots.standings:
        return
    order = np.argsort(of_source)
    places = of_source[order]
    commits = np.array([place for its in slots.commits for place in its], np.int64)
    of = np.array([number for its in slots.standings for number in slots.sources[its.pair]], np.int64)
    standing = np.repeat(np.arange(len(slots.standings)), [len(its) for its in slots.commits])
    at = np.searchsorted(places, commits) - 1
    there = (at >= 0) & (places[np.maximum(at, 0)] // slots.layout.source.step == of)
    arrivals = np.flatnonzero(there)
    last = order[at[there]]
    state = arrived[last]
    for index in np.flatnonzero(state < 0).tolist():
        unit = rows.units.several[-1 - int(state[index])]
        state[index] = _Counted(rows, unit, int(standing[arrivals[index]])).has_arrived(int(last[index]))
    nothing = np.full(len(last), -1)
    rows.add(LAST, arrivals, of_source[last], state, nothing, np.ones(len(last), np.int64))


class _Counted:
    """A unit as a standing sees it. consumed: which of its source records; copies: (place, time) by place."""

    def __init__(self, rows: _Rows, unit: Unit, standing: int) -> None:
        import numpy as np

        self._rows, self._unit, self._standing = rows, unit, standing
        slots, records = rows.slots, rows.records
        its = slots.standings[standing]
        self._numbers = slots.destinations[its.pair]
        commits = np.array(slots.commits[standing], np.int64)
        places = records.places[unit.sources]
        self.consumed: Flags = places < commits[places // slots.layout.source.step - slots.sources[its.pair][0]]
        self.copies: Column = np.sort(records.places[unit.copies])
        self.tallies = self._tallies()

    def _tallies(self) -> list[Tally]:
        if not self._unit.mixed:
            consumed = int(self.consumed.sum())
            unconsumed = len(self.consumed) - consumed
            return [Tally(t.cast("t.Sequence[int]", self.copies), unconsumed, consumed, consumed > 0, consumed)]
        times = self._rows.records.times[self._unit.sources]
        consumed_times, unconsumed_times = (
            collections.Counter(times[which].tolist()) for which in (self.consumed, ~self.consumed)
        )
        return tallies(consumed_times, unconsumed_times, self._timed())

    def _timed(self) -> list[tuple[int, int | None]]:
        """The copies with their times, by place."""
        records, rows = self._rows.records, self._unit.copies
        compared = self._rows.slots.layout.timestamps
        columns = (records.places[rows].tolist(), records.times[rows].tolist(), records.stamped[rows].tolist())
        return sorted(
            (place, time if compared and not stamped else None) for place, time, stamped in zip(*columns, strict=True)
        )

    def by_question(self) -> t.Iterator[tuple[int, Tally, bool]]:
        """The tallies of each destination partition, with the number of its question, and whether they stand for unconsumed

        records in any partition. A group that reads all partitions needs as many copies as it has not consumed in all of them
        together: the youngest ones.
        """
        first = self._rows.slots.questions[self._standing]
        for tally in self.tallies:
            if len(self._numbers) == 1:
                yield first, tally, tally.wanted > 0
                continue
            step = self._rows.slots.layout.destination.step
            ages = self._ages(tally.copies)
            wanted = collections.Counter(place // step for place in ages[len(ages) - tally.need :])
            of: dict[int, list[int]] = collections.defaultdict(list)
            for place in tally.copies:
                of[int(place) // step].append(int(place))
            for number, copies in of.items():
                part = tally._replace(copies=copies, wanted=wanted[number])
                yield first + number - self._numbers[0], part, tally.wanted > 0

    def _ages(self, places: t.Sequence[int]) -> list[int]:
        """Places by the records' times, the youngest last."""
        records, rows = self._rows.records, self._unit.copies
        age = dict(zip(records.places[rows].tolist(), records.times[rows].tolist(), strict=True))
        return sorted((int(place) for place in places), key=lambda place: (age[place], place))

    def has_arrived(self, row: int) -> int:
        """Is the consumed record of this row at the destination?"""
        consumed = int(self.consumed.sum())
        if not self._unit.mixed:
            return int(len(self.copies) >= consumed)
        times = self._rows.records.times
        # In an order in which this one is the last consumed one, wherever it stands.
        sources = [
            *(int(its) for its in self._unit.sources[self.consumed] if its != row),
            row,
            *self._unit.sources[~self.consumed].tolist(),
        ]
        content = Content([(at, int(times[its])) for at, its in enumerate(sources)], self._timed())
        return int(content.has_arrived(consumed))


def _count_singles(rows: _Rows, limits: Limits) -> None:
    """One record, one copy: before a limit all copies are consumed; from it on, all but those of unconsumed records."""
    import numpy as np

    records, slots = rows.records, rows.slots
    sources, copies = rows.units.singles
    source_places, copy_places = records.places[sources], records.places[copies]
    edges = np.array(cuts(slots.layout.destination, limits.places), np.int64)
    intervals = np.searchsorted(edges, copy_places, "right") - 1
    order = np.lexsort((copy_places, intervals))
    last = order[_ends(intervals[order])]
    number = np.bincount(intervals, minlength=1)[intervals[last]]
    rows.add(PAIRED, intervals[last], copy_places[last], source_places[last], copies[last], number)
    cells, numbers = np.unique(slots.cells_of(source_places, copy_places), return_counts=True)
    zero = np.zeros(len(cells), np.int64)
    rows.add(UNCONSUMED, cells, zero, zero, zero - 1, numbers)


def _count_repeated(rows: _Rows, limits: Limits) -> None:
    """One record, several copies."""
    import numpy as np

    records, slots = rows.records, rows.slots
    sources, copies, _last = rows.units.repeated
    if not len(copies):
        return
    order = np.argsort(records.places[copies])
    sources, copies = sources[order], copies[order]
    places = records.places[copies]
    numbers = places // slots.layout.destination.step
    for number in np.unique(numbers).tolist():
        begin, end = np.searchsorted(numbers, [number, number + 1])
        here, there = sources[begin:end], places[begin:end]
        lowest = _lowest_of(here, there)
        pair = slots.layout.destination_pairs[number]
        of = records.places[here] // slots.layout.source.step - slots.sources[pair][0]
        for standing in slots.of_pair[pair]:
            question = slots.questions[standing] + number - slots.destinations[pair][0]
            limit = limits.places[question]
            consumed = records.places[here] < np.array(slots.commits[standing], np.int64)[of]
            at = int(np.searchsorted(there, limit))
            rows.add_sum(REPEATED, question, int(consumed[at:].sum()))
            if (consumed[at:] & (lowest[at:] < limit)).any():
                rows.add_sum(AGAIN, question, 1)
            before = np.flatnonzero(consumed[:at])
            if len(before):
                last = int(before[-1])
                source = int(records.places[here[last]])
                rows.add_highest(CONSUMED, question, int(there[last]), source, int(here[last]))


def _lowest_of(sources: Column, places: Column) -> Column:
    """For each copy the lowest one of the same source record; the copies are given by place."""
    import numpy as np

    _its, first, of = np.unique(sources, return_index=True, return_inverse=True)
    lowest: Column = places[first][of]
    return lowest


def _count_several(rows: _Rows, limits: Limits, loose: list[tuple[int, Tally]]) -> None:
    """All other contents. loose: takes the tallies of LOOSE rows."""
    records, slots = rows.records, rows.slots
    for unit in rows.units.several:
        for standing in slots.of_pair[int(records.pairs[unit.sources[0]])]:
            counted = _Counted(rows, unit, standing)
            if not counted.consumed.any():
                continue
            source = int(records.places[unit.sources[counted.consumed]].max())
            for question, tally, wanted in counted.by_question():
                limit = limits.places[question]
                before = len(tally.copies) - tally.from_on(limit)
                if not tally.consumed:
                    continue
                if before and not tally.is_copy:
                    loose.append((question, tally))
                    continue
                if before:
                    last = int(tally.copies[before - 1])
                    rows.add_highest(CONSUMED, question, last, source, int(unit.sources[0]))
                repeated = tally.repeated(limit)
                rows.add_sum(REPEATED, question, repeated)
                if wanted:
                    rows.add_sum(EQUAL, question, repeated)
                elif before and repeated:
                    rows.add_sum(AGAIN, question, 1)


def _begins(values: Column) -> Flags:
    """Which of sorted values are the first of their kind."""
    import numpy as np

    flags: Flags = np.ones(len(values), bool)
    flags[1:] = values[1:] != values[:-1]
    return flags


def _ends(values: Column) -> Flags:
    """Which of sorted values are the last of their kind."""
    flags: Flags = _begins(values[::-1])[::-1]
    return flags
