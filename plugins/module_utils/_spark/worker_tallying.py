# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What runs on Spark's workers to count contents: what a task's records say of the questions of slots.Slots, in two passes.

The first pass finds how far an offset may go: the lowest copy that has to follow it. The second one, which knows that limit,
finds the last consumed copy before it, and what is repeated.
"""

from __future__ import annotations

import bisect
import collections
import json
import typing as t

from .._matching.content import Content, doubted, tallies
from .._matching.tallies import Count, Mixed, Tally, surplus_wanted
from .slots import Slots, cuts
from .worker_lost import left_in, without_own
from .worker_packing import Records, grouped, unpack
from .worker_units import Unit, units

if t.TYPE_CHECKING:
    import pyarrow

    from .worker_packing import Column, Flags

# A row of either pass. headers: whether they were compared, null where that made no difference. slot: of which question, cell
# and so on, as the kind says. place, source, fingerprint: a copy and a source record that it stands for, as places.
SCHEMA = "headers boolean, kind int, slot bigint, place bigint, source bigint, fingerprint binary, records bigint"

(
    FOLLOWS,  # cell: the lowest copy that has to follow where a record of the cell's interval is the first unconsumed one
    WANTED,  # question: the lowest copy that has to follow
    EARLIEST,  # cell: the first copy of those records of the cell's interval that have several copies
    RECOPIED,  # question: the first copy of unconsumed records that may have others after it
    AT_SOURCE,  # interval: the first source record
    LAST,  # arrival: place is that of the last consumed source record, source is 1 where it has arrived, 2 where firmly
    SURE,  # arrival: a copy is certainly that of an unconsumed record
    FIRM,  # arrival: the same as Tally.firmly_unconsumed
    BY_TIME,  # cell: the lowest copy with the time of the one record that it can stand for, in the cell's interval
    LACKING,  # interval: how many source records have no copy; of equal ones, the last
    DESTINATION_ONLY,  # destination partition: the first record that the source does not have, and how many
    SURPLUS,  # destination partition: see Units.surplus
    CHANGED,  # pair: copies that have not the time of a source record
    PAIRED,  # interval of the destination's axis, cut at all limits: the last copy and how many
    UNCONSUMED,  # cell: how many of them stand for records of the cell's interval
    CONSUMED,  # question: the last consumed copy before the limit
    REPEATED,  # question: how many consumed records are repeated from the limit on, at most
    EQUAL,  # question: how many of them have a content that is unconsumed as well
    AGAIN,  # question: one of them has another copy before the limit
    LOOSE,  # question: see Loose
) = range(20)


class Loose(t.NamedTuple):
    """What is repeated of a content that has copies between the last consumed one and the limit: it depends on the offset.

    wanted: whether the content is unconsumed as well. places: of these copies, ascending. repeated: how many are repeated from
    the first of them on or earlier, from the second one on, and so on; at last, from the limit on. before: whether another
    copy is before that.
    """

    wanted: bool
    places: tuple[int, ...]
    repeated: tuple[int, ...]
    before: tuple[bool, ...]

    @classmethod
    def of(cls, count: Count, copies: t.Iterable[int], last: int, limit: int) -> t.Self:
        """copies: all of them. last: a consumed copy before the limit, of any content; what is before it does not matter."""
        places = tuple(sorted(place for place in copies if last < place < limit))
        offsets = (*places, limit)
        return cls(
            count.wanted > 0,
            places,
            tuple(count.repeated(offset) for offset in offsets),
            tuple(count.comes_before(offset) for offset in offsets),
        )

    def at(self, place: int) -> tuple[int, bool]:
        """How many are repeated from this place on; whether another copy is before it."""
        number = bisect.bisect_left(self.places, place)
        return self.repeated[number], self.before[number]

    def packed(self) -> bytes:
        """As a column's value."""
        return json.dumps([self.wanted, self.places, self.repeated, self.before]).encode()

    @classmethod
    def unpacked(cls, content: bytes) -> t.Self:
        wanted, *lists = json.loads(content)
        return cls(wanted, *map(tuple, lists))


class Limits(t.NamedTuple):
    """What the first pass has found.

    headers: for each pair, whether they are compared; places: for each question, the place of the lowest copy that has
    to follow, or of the log's end. hidden: for each pair, whether repeats are counted as if open transactions were aborted.
    """

    headers: tuple[bool, ...]
    places: tuple[int, ...]
    hidden: tuple[bool, ...]


def first_pass(
    batches: t.Iterable[pyarrow.RecordBatch], slots: Slots, without_headers: bool
) -> t.Iterator[pyarrow.RecordBatch]:
    """The rows of FOLLOWS to CHANGED of a task's chunks. without_headers: compare in both ways, where that matters."""
    import numpy as np

    records = left_in(unpack(batches, slots.layout), slots.edges)
    both = without_headers and bool(records.with_headers.any())
    for headers in (True, False) if both else (True,):
        rows = _Rows(records, slots, np.full(len(slots.of_pair), headers))
        _find_limits(rows)
        yield rows.batch(headers if both else None)


def second_pass(
    batches: t.Iterable[pyarrow.RecordBatch], slots: Slots, limits: Limits
) -> t.Iterator[pyarrow.RecordBatch]:
    """The rows of PAIRED to LOOSE of a task's chunks."""
    import numpy as np

    records = left_in(unpack(batches, slots.layout), slots.edges)
    rows = _Rows(records, slots, np.array(limits.headers, bool), limits.hidden)
    _count_singles(rows, limits)
    _count_repeated(rows, limits)
    loose = _count_several(rows, limits)
    last = rows.last_consumed()
    for question, count, copies in loose:
        rows.add_loose(question, Loose.of(count, copies, last.get(question, -1), limits.places[question]))
    yield rows.batch(None)


class _Rows:
    """The records of a task, told apart, and what is found of them. Of all rows of a slot the best is kept here already."""

    def __init__(self, records: Records, slots: Slots, headers: Flags, hidden: t.Sequence[bool] = ()) -> None:
        """hidden: see Limits; the first pass counts no repeats."""
        self.records, self.slots, self.headers, self.hidden = records, slots, headers, hidden
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

    def add_loose(self, question: int, loose: Loose) -> None:
        self._loose.append((question, loose.packed()))

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
    for pair, number in enumerate(np.bincount(records.pairs[its.changed]).tolist()):
        rows.add_sum(CHANGED, pair, number)
    destination_only = groups.order[np.repeat(groups.sources == 0, groups.sources + groups.copies)]
    for kind, copies in (DESTINATION_ONLY, destination_only), (SURPLUS, its.surplus):
        _add_firsts(rows, kind, records.places[copies], records.places[copies] // slots.layout.destination.step)
    lacking = records.places[_lacking(rows)]
    _add_firsts(rows, LACKING, lacking, np.searchsorted(np.array(slots.cuts, np.int64), lacking, "right") - 1)
    last = its.repeated[2]
    sources = np.append(its.singles[0], its.repeated[0][last])
    copies = np.append(its.singles[1], its.repeated[1][last])
    _add_lowest(rows, FOLLOWS, sources, copies)
    _add_lowest(rows, BY_TIME, *its.by_time)
    _add_lowest(rows, EARLIEST, *its.repeated[:2])
    arrived = np.zeros(
        records.sources, np.int64
    )  # of source records: 1 arrived, 0 not, below it depends on the commits
    arrived[sources] = 1
    arrived[its.by_time[0]] = 2
    for number, unit in enumerate(its.several):
        arrived[unit.sources] = -1 - number
        for standing in slots.of_pair[int(records.pairs[unit.sources[0]])]:
            _find_limit(rows, unit, standing)
    _find_last(rows, arrived)


def _lacking(rows: _Rows) -> Column:
    """The rows of source records without a copy; where equal ones may have expired, without one that is surely theirs."""
    import numpy as np

    records, lacking = rows.records, rows.units.lacking
    if not rows.slots.expired:
        return lacking
    doubted = np.isin(records.pairs, rows.slots.expired)
    surely = without_own(records)
    return np.append(lacking[~doubted[lacking]], surely[doubted[surely]])


def _add_firsts(rows: _Rows, kind: int, places: Column, numbers: Column) -> None:
    """For each slot the lowest place, and how many there are; numbers: the slot of each place."""
    import numpy as np

    order = np.argsort(places)
    places, numbers = places[order], numbers[order]  # these ascend with the places
    begins = np.flatnonzero(_begins(numbers))
    zero = np.zeros(len(begins), np.int64)
    rows.add(kind, numbers[begins], places[begins], zero, zero - 1, np.diff(begins, append=len(numbers)))


def _add_lowest(rows: _Rows, kind: int, sources: Column, copies: Column) -> None:
    """For each cell the lowest copy; given are the rows of source records and of their copies."""
    import numpy as np

    source_places, copy_places = rows.records.places[sources], rows.records.places[copies]
    cells = rows.slots.cells_of(source_places, copy_places)
    order = np.lexsort((copy_places, cells))
    first = order[_begins(cells[order])]
    ones = np.ones(len(first), np.int64)
    rows.add(kind, cells[first], copy_places[first], source_places[first], sources[first], ones)


def _find_limit(rows: _Rows, unit: Unit, standing: int) -> None:
    counted = _Counted(rows, unit, standing)
    unconsumed = unit.sources[~counted.consumed]
    if not len(unconsumed):
        return
    source, row = int(rows.records.places[unconsumed].min()), int(unit.sources[0])
    for question, count, _wanted, copies in counted.by_question():
        if count.first_wanted is not None:
            rows.add_lowest(WANTED, question, int(count.first_wanted), source, row)
        if count.wanted and not count.consumed:
            earliest = next((int(copy) for copy in copies if count.comes_before(int(copy) + 1)), None)
            if earliest is not None:
                rows.add_lowest(RECOPIED, question, earliest, source, row)
    if any(count.surely_unconsumed for count in counted.counts):
        numbers = set((rows.records.places[unconsumed] // rows.slots.layout.source.step).tolist())
        if len(numbers) == 1:
            first = rows.slots.sources[rows.slots.standings[standing].pair][0]
            arrival = rows.slots.arrivals[standing] + numbers.pop() - first
            rows.add_highest(SURE, arrival, 0, 0, -1)
            if any(count.firmly_unconsumed for count in counted.counts):
                rows.add_highest(FIRM, arrival, 0, 0, -1)


def _find_last(rows: _Rows, arrived: Column) -> None:
    """The first source record of each interval, and the last consumed one of each standing and source partition.

    Of the latter also whether it has arrived.
    """
    import numpy as np

    records, slots = rows.records, rows.slots
    of_source = records.places[: records.sources]
    if not len(of_source) or not slots.standings:
        return
    order = np.argsort(of_source)
    places = of_source[order]
    intervals = np.searchsorted(np.array(slots.cuts, np.int64), places, "right") - 1
    begins = np.flatnonzero(_begins(intervals))
    firsts = np.zeros(len(begins), np.int64)
    rows.add(AT_SOURCE, intervals[begins], places[begins], firsts, firsts - 1, firsts + 1)
    commits = np.array([place for its in slots.commits for place in its], np.int64)
    of = np.array([number for its in slots.standings for number in slots.sources[its.pair]], np.int64)
    standing = np.repeat(np.arange(len(slots.standings)), [len(its) for its in slots.commits])
    at = np.searchsorted(places, commits) - 1
    has_last = (at >= 0) & (places[np.maximum(at, 0)] // slots.layout.source.step == of)
    arrivals = np.flatnonzero(has_last)
    last = order[at[has_last]]
    state = arrived[last]
    for index in np.flatnonzero(state < 0).tolist():
        unit = rows.units.several[-1 - int(state[index])]
        state[index] = _Counted(rows, unit, int(standing[arrivals[index]])).has_arrived(int(last[index]))
    nothing = np.full(len(last), -1)
    rows.add(LAST, arrivals, of_source[last], state, nothing, np.ones(len(last), np.int64))


class _Counted:
    """A unit as a standing sees it. consumed: which of its source records; counts: of all destination partitions."""

    def __init__(self, rows: _Rows, unit: Unit, standing: int) -> None:
        import numpy as np

        self._rows, self._unit, self._standing = rows, unit, standing
        slots, records = rows.slots, rows.records
        its = slots.standings[standing]
        self._numbers = slots.destinations[its.pair]
        commits = np.array(slots.commits[standing], np.int64)
        places = records.places[unit.sources]
        numbers = places // slots.layout.source.step
        self.consumed: Flags = places < commits[numbers - slots.sources[its.pair][0]]
        hides = bool(rows.hidden) and rows.hidden[its.pair]
        self._hidden = int((places >= np.array(slots.hidden, np.int64)[numbers]).sum()) if hides else 0
        self._copies: list[int] = np.sort(records.places[unit.copies]).tolist()
        self.counts = self._count()

    def _count(self) -> list[Count]:
        if not self._unit.mixed:
            consumed = int(self.consumed.sum())
            return [Tally(self._copies, len(self.consumed) - consumed, consumed, self._hidden, self._unit.by_time)]
        times = self._rows.records.times[self._unit.sources]
        consumed_times, unconsumed_times = (
            collections.Counter(times[which].tolist()) for which in (self.consumed, ~self.consumed)
        )
        if len(self._numbers) == 1:
            return tallies(consumed_times, unconsumed_times, self._timed(), self._hidden)
        return _separate(consumed_times, unconsumed_times, self._timed(), self._hidden)

    def _timed(self) -> list[tuple[int, int | None]]:
        """The copies with their times, by place."""
        records, rows = self._rows.records, self._unit.copies
        compared = self._rows.slots.layout.timestamps
        columns = (records.places[rows].tolist(), records.times[rows].tolist(), records.stamped[rows].tolist())
        timed = [
            (place, time if compared and not stamped else None) for place, time, stamped in zip(*columns, strict=True)
        ]
        return sorted(timed, key=lambda its: its[0])

    def by_question(self) -> t.Iterator[tuple[int, Count, bool, t.Sequence[int]]]:
        """The counts of each destination partition, with the number of its question, and the copies.

        And whether they stand for unconsumed records in any partition. A group that reads all partitions needs as many
        copies as it has not consumed in all of them together: the youngest ones.
        """
        first = self._rows.slots.questions[self._standing]
        for count in self.counts:
            if len(self._numbers) == 1 or isinstance(count, Mixed):
                yield first, count, count.wanted > 0, self._copies
                continue
            step = self._rows.slots.layout.destination.step
            need = min(count.wanted, len(count.copies))
            wanted = collections.Counter(
                place // step for place in self._ages(count.copies)[len(count.copies) - need :]
            )
            of: dict[int, list[int]] = collections.defaultdict(list)
            for place in count.copies:
                of[place // step].append(place)
            missing = max(0, count.consumed + count.wanted - len(count.copies)) if count.wanted else 0
            for number, copies in of.items():
                # Where copies are missing, nobody knows of which side, nor in which partition.
                consumed = missing + len(copies) - wanted[number] if count.consumed else 0
                part = Tally(copies, wanted[number], consumed, count.hidden)
                yield first + number - self._numbers[0], part, count.wanted > 0, copies

    def _ages(self, places: t.Sequence[int]) -> list[int]:
        """Places by the records' times, the youngest last."""
        records, rows = self._rows.records, self._unit.copies
        age = dict(zip(records.places[rows].tolist(), records.times[rows].tolist(), strict=True))
        return sorted(places, key=lambda place: (age[place], place))

    def has_arrived(self, row: int) -> int:
        """Is the consumed record of this row at the destination? 0, 1, or 2 if so by a time that no equal one has."""
        consumed = int(self.consumed.sum())
        if not self._unit.mixed:
            return int(len(self._copies) >= consumed)
        times = self._rows.records.times
        # In an order in which this one is the last consumed one, wherever it stands.
        sources = [
            *(int(its) for its in self._unit.sources[self.consumed] if its != row),
            row,
            *self._unit.sources[~self.consumed].tolist(),
        ]
        content = Content([(at, int(times[its])) for at, its in enumerate(sources)], self._timed())
        return 2 if content.has_firmly_arrived(consumed) else int(content.has_arrived(consumed))


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
        source_rows, destination_places = sources[begin:end], places[begin:end]
        lowest = _lowest_of(source_rows, destination_places)
        pair = slots.layout.destination_pairs[number]
        of = records.places[source_rows] // slots.layout.source.step - slots.sources[pair][0]
        for standing in slots.of_pair[pair]:
            question = slots.questions[standing] + number - slots.destinations[pair][0]
            limit = limits.places[question]
            consumed = records.places[source_rows] < np.array(slots.commits[standing], np.int64)[of]
            at = int(np.searchsorted(destination_places, limit))
            rows.add_sum(REPEATED, question, int(consumed[at:].sum()))
            if (consumed[at:] & (lowest[at:] < limit)).any():
                rows.add_sum(AGAIN, question, 1)
            before = np.flatnonzero(consumed[:at])
            if len(before):
                last = int(before[-1])
                source = int(records.places[source_rows[last]])
                rows.add_highest(CONSUMED, question, int(destination_places[last]), source, int(source_rows[last]))


def _lowest_of(sources: Column, places: Column) -> Column:
    """For each copy the lowest one of the same source record; the copies are given by place."""
    import numpy as np

    _its, first, of = np.unique(sources, return_index=True, return_inverse=True)
    lowest: Column = places[first][of]
    return lowest


def _count_several(rows: _Rows, limits: Limits) -> list[tuple[int, Count, t.Sequence[int]]]:
    """All other contents. -> those of which what is repeated may depend on where exactly the offset is, and their copies."""
    records, slots = rows.records, rows.slots
    loose: list[tuple[int, Count, t.Sequence[int]]] = []
    for unit in rows.units.several:
        for standing in slots.of_pair[int(records.pairs[unit.sources[0]])]:
            counted = _Counted(rows, unit, standing)
            if not counted.consumed.any():
                continue
            source = int(records.places[unit.sources[counted.consumed]].max())
            for question, count, wanted, copies in counted.by_question():
                limit = limits.places[question]
                last = count.last_consumed(limit)
                if last is not None:
                    rows.add_highest(CONSUMED, question, last, source, int(unit.sources[0]))
                if isinstance(count, Mixed) and copies[0] < limit:
                    loose.append((question, count, copies))
                    continue
                repeated = count.repeated(limit)
                rows.add_sum(REPEATED, question, repeated)
                if wanted:
                    rows.add_sum(EQUAL, question, repeated)
                elif repeated and count.comes_before(limit):
                    rows.add_sum(AGAIN, question, 1)
    return loose


def _separate(
    consumed: t.Mapping[int, int],
    unconsumed: t.Mapping[int, int],
    copies: t.Sequence[tuple[int, int | None]],
    hidden: int,
) -> list[Count]:
    """The counts of a mixed content in several partitions: own times one by one, and the rest for what has no copy so."""
    own: dict[int, list[int]] = {time: [] for time in (*consumed, *unconsumed)}
    rest: list[int] = []
    for place, time in copies:
        (rest if time is None else own.get(time, rest)).append(place)
    lacking = sum(max(0, number - len(own[time])) for time, number in unconsumed.items())
    doubts: list[Count] = []
    records = collections.Counter(consumed) + collections.Counter(unconsumed)
    numbers = {time: len(places) for time, places in own.items()}
    if doubted(records, numbers):  # see _matching.tallies.Doubted
        doubts = [
            Tally([place for place, _time in copies], sum(unconsumed.values()), sum(consumed.values()), hidden),
            *(
                Tally(own[time], number, consumed.get(time, 0), hidden)
                for time, number in surplus_wanted(consumed, unconsumed, numbers).items()
            ),
        ]
    return [
        *doubts,
        *(
            Tally(places, unconsumed.get(time, 0), consumed.get(time, 0), hidden, True)
            for time, places in own.items()
            if places
        ),
        Tally(rest, lacking, sum(consumed.values()), hidden),
    ]


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
