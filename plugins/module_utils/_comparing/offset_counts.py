# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""Count contents around a group's offsets: what they skip and repeat, by the definition of _matching, without a search. Pure.

Of each content as many copies have to follow the destination's offset as the group has unconsumed records, as far as copies
are there. Where several partitions became several others, copies may be in any of them. The counts of several contents add up,
so contents can be dealt out in any way.
"""

from __future__ import annotations

import bisect
import collections
import itertools
import operator
import typing as t

from .._matching.content import doubted, tallies
from .._matching.contents import Named, told_apart
from .._matching.lost import Sighting, copies_of_lost
from .._matching.tallies import Time
from .claims import PairRun, SingleContent, Window, Windows, pair_runs, run_order
from .sums import Counts, PlaceInClaim, Spot, ToolProgress, total


class CountedRecord(t.NamedTuple):
    """A record of either side; the time of a copy is None where the broker has stamped it, and where none are compared."""

    place: int
    offset: int
    time: Time


class OneContent(t.NamedTuple):
    """The source records and the copies of one content. headers_changed: whether copies have others than their records."""

    source: t.Sequence[CountedRecord]
    copies: t.Sequence[CountedRecord]
    headers_changed: bool = False


class HeaderNames(t.NamedTuple):
    """What tells records apart that are alike but for headers: by partition and offset, of those that have headers."""

    source: dict[PlaceInClaim, bytes]
    copies: dict[PlaceInClaim, bytes]


class AlikeRecords(t.NamedTuple):
    """Records of either side that are alike but for headers."""

    source: list[CountedRecord]
    copies: list[CountedRecord]

    @classmethod
    def none(cls) -> t.Self:
        return cls([], [])

    def contents(self, names: HeaderNames, timestamps: bool) -> t.Iterator[OneContent]:
        """Told apart as the rule does it. names: at least theirs. timestamps: whether times are compared at all."""
        if not self.source or not any(
            record[:2] in its for its, records in zip(names, self, strict=True) if its for record in records
        ):
            yield OneContent(self.source, self.copies)
            return
        for told in told_apart(_named(self.source, names.source), _named(self.copies, names.copies), timestamps):
            yield OneContent(
                [CountedRecord(*spot, time) for spot, time in told.source],
                [CountedRecord(*spot, time) for spot, time in told.copies],
                told.name is None,
            )


def _named(records: t.Iterable[CountedRecord], names: t.Mapping[PlaceInClaim, bytes]) -> list[Named[PlaceInClaim]]:
    return [Named(record[:2], names.get(record[:2], b""), record.time) for record in records]


def without_lost(records: t.Mapping[bytes, AlikeRecords]) -> dict[bytes, AlikeRecords]:
    """The same but for copies of records that the source has lost, if it has lost any. By what records are without headers."""
    lost = copies_of_lost(
        (_sighting(name, record) for name, alike in records.items() for record in alike.source),
        (_sighting(name, record) for name, alike in records.items() for record in alike.copies),
    )
    return {
        name: alike._replace(copies=[copy for copy in alike.copies if copy[:2] not in lost])
        for name, alike in records.items()
    }


def _sighting(name: bytes, record: CountedRecord) -> Sighting:
    return Sighting(name, record.time, record.place, record.offset)


class Contents:
    """Contents of some source partitions and some destination partitions, ready to be counted for any number of claims.

    Building takes time linear in the records, but for sorting; a claim then takes little more than the logarithm, but for
    contents whose times differ in part, and where the order of the two sides does.
    """

    def __init__(
        self,
        contents: t.Iterable[OneContent],
        pairs: t.Iterable[SingleContent] = (),
    ) -> None:
        """contents: the source records and the copies of each content, each once. pairs: further contents, as they are."""
        self.pairs: list[SingleContent] = list(pairs)
        self._plain: list[tuple[_Offsets, _Offsets]] = []
        self._mixed: list[tuple[t.Sequence[CountedRecord], t.Sequence[CountedRecord]]] = []
        once_by_time: list[SingleContent] = []
        lonely: list[CountedRecord] = []
        lonely_copies: list[CountedRecord] = []
        self.progress = ToolProgress({}, {})
        self.headers_changed = False
        for source, copies, headers_changed in contents:
            self.headers_changed |= headers_changed
            if not source:
                lonely_copies += copies
                continue
            if len(source) == len(copies) == 1:
                self._add_pair(source[0], copies[0])
                continue
            parts = _separable(source, copies)
            if parts is None:
                self._mixed.append((source, copies))
                once_by_time += _once_by_time(source, copies)
                self._arrive(source, copies)
                continue
            for originals, part_copies in parts:
                if not part_copies:
                    lonely += originals
                elif len(originals) == len(part_copies) == 1:
                    self._add_pair(originals[0], part_copies[0])
                else:
                    self._plain.append((_offsets(originals), _offsets(part_copies)))
                    self._arrive(originals, part_copies)
        self._lonely, self._destination_only = _offsets(lonely), _offsets(lonely_copies)
        self.pairs.sort(key=run_order)
        self.runs = pair_runs(self.pairs)
        # They say where windows are cut, also where all records are equal and not all of their copies can be told apart.
        self.landmarks = sorted(self.pairs + once_by_time, key=run_order) if once_by_time else self.pairs
        self.landmark_runs = pair_runs(self.landmarks) if once_by_time else self.runs
        for run in self.runs:
            self._arrive([CountedRecord(run.source_place, run.sources[-1], 0)], [CountedRecord(run.place, 0, 0)])

    def _add_pair(self, original: CountedRecord, copy: CountedRecord) -> None:
        self.pairs.append(_pair(original, copy))

    def _arrive(self, source: t.Sequence[CountedRecord], copies: t.Sequence[CountedRecord]) -> None:
        """Only a copy with a record's own time is surely that record's: others may be second copies, or of lost records."""
        in_order = sorted(source, key=operator.itemgetter(1))
        for place, offset, _time in (surely := list(_with_own_copies(in_order, copies))):
            self.progress.arrived[place] = max(offset, self.progress.arrived.get(place, -1))
        for place, offset, _time in itertools.chain(in_order[: len(copies)], surely):
            self.progress.reached[place] = max(offset, self.progress.reached.get(place, -1))

    def counts(self, windows: Windows, progress: ToolProgress) -> Counts:
        """What the offsets of a claim do, as far as these contents are concerned.

        progress: the furthest of all contents.
        """
        return total(
            itertools.chain(
                (_of_run(run, windows) for run in self.runs),
                (_of_offsets(*offsets, windows, progress) for offsets in self._plain),
                (_of_mixed(*records, windows, progress) for records in self._mixed),
                [
                    _of_lonely(self._lonely, windows, progress),
                    Counts(destination_only=_number(self._destination_only, windows.destination, _AT, _NEAR)),
                ],
            )
        )


def _with_own_copies(
    source: t.Iterable[CountedRecord], copies: t.Iterable[CountedRecord]
) -> t.Iterator[CountedRecord]:
    """The records that have a copy with their own time; of equal ones, the first. -1 is no time."""
    left = collections.Counter(copy.time for copy in copies)
    for record in source:
        if record.time != -1 and left[record.time] > 0:
            left[record.time] -= 1
            yield record


def _pair(original: CountedRecord, copy: CountedRecord) -> SingleContent:
    return SingleContent(original.place, original.offset, copy.place, copy.offset)


def _once_by_time(source: t.Iterable[CountedRecord], copies: t.Iterable[CountedRecord]) -> list[SingleContent]:
    """Records of one content whose time occurs once on each side."""
    originals, found = (_single_by_time(each) for each in (source, copies))
    return [_pair(original, found[time]) for time, original in originals.items() if time in found]


def _single_by_time(records: t.Iterable[CountedRecord]) -> dict[int, CountedRecord]:
    by_time: dict[int, CountedRecord | None] = {}
    for record in records:
        if record.time is not None:
            by_time[record.time] = None if record.time in by_time else record
    return {time: record for time, record in by_time.items() if record is not None}


def _of_run(run: PairRun, windows: Windows) -> Counts:
    source, destination = windows.source[run.source_place], windows.destination[run.place]
    find = bisect.bisect_left
    unconsumed, near = find(run.sources, source.at), find(run.sources, source.near)
    low, at, destination_near = (
        find(run.offsets, offset) for offset in (destination.low, destination.at, destination.near)
    )
    first_skipped, first_repeated = max(unconsumed, low), at
    skipped = max(0, min(near, at) - first_skipped)
    repeated = max(0, min(unconsumed, destination_near) - first_repeated)
    if not (skipped or repeated):
        return Counts(max(0, min(near, find(run.offsets, destination.high)) - max(unconsumed, at)))

    def spot(index: int) -> Spot:
        return Spot((run.source_place, run.sources[index]), (run.place, run.offsets[index]))

    return Counts(
        compared=max(0, min(near, find(run.offsets, destination.high)) - max(unconsumed, at)),
        skipped=skipped,
        repeated=repeated,
        first_skipped=spot(first_skipped) if skipped else None,
        first_repeated=spot(first_repeated) if repeated else None,
    )


# Offsets by partition, ascending.
_Offsets = dict[int, list[int]]


def _offsets(records: t.Iterable[CountedRecord]) -> _Offsets:
    found: _Offsets = collections.defaultdict(list)
    for place, offset, _time in records:
        found[place].append(offset)
    for its in found.values():
        its.sort()
    return dict(found)


_LOW, _AT, _HIGH, _NEAR = (operator.attrgetter(name) for name in ("low", "at", "high", "near"))
_Edge = t.Callable[[Window], int]


def _number(offsets: _Offsets, windows: t.Sequence[Window], start: _Edge | None, end: _Edge) -> int:
    """How many of the offsets stand between two edges of their windows; None: from the first one on."""
    return sum(
        max(
            0,
            bisect.bisect_left(its, end(windows[place]))
            - (bisect.bisect_left(its, start(windows[place])) if start else 0),
        )
        for place, its in offsets.items()
    )


def _between(offsets: _Offsets, windows: t.Sequence[Window], start: _Edge, end: _Edge) -> list[PlaceInClaim]:
    return [
        (place, offset)
        for place, its in sorted(offsets.items())
        for offset in its[bisect.bisect_left(its, start(windows[place])) : bisect.bisect_left(its, end(windows[place]))]
    ]


def _of_offsets(source: _Offsets, copies: _Offsets, windows: Windows, progress: ToolProgress) -> Counts:
    """Of records that are counted together whatever is committed: their tally, in numbers."""
    source_windows, destination_windows = windows.source, windows.destination
    consumed = _number(source, source_windows, None, _AT)
    unconsumed, wanted = _number(source, source_windows, _AT, _HIGH), _number(source, source_windows, _AT, _NEAR)
    before, follow = _number(copies, destination_windows, _LOW, _AT), _number(copies, destination_windows, _AT, _HIGH)
    counted = _number(copies, destination_windows, _AT, _NEAR)
    young, perhaps_young = _young_copies(
        min(follow, max(unconsumed - wanted, follow - counted)),
        before + follow - consumed - wanted,
        windows,
        begun_late=before < consumed,
    )
    skipped, perhaps_skipped = (min(before, max(0, wanted - follow + its)) for its in (young, perhaps_young))
    repeated = max(0, counted - unconsumed) if consumed else 0
    lacking = max(0, wanted - before - follow)
    result = Counts(
        min(wanted, follow - young),
        skipped,
        doubtful=perhaps_skipped - skipped,
        repeated=repeated,
        recopied=0 if consumed else max(0, counted - unconsumed),
        pending=min(max(0, consumed - before - follow), _unreached(source, windows, progress)),
    )
    if not (skipped or repeated or lacking):
        return result
    originals = _between(source, source_windows, _AT, _NEAR)
    return result._replace(
        first_skipped=Spot(originals[0], _between(copies, destination_windows, _LOW, _AT)[0]) if skipped else None,
        first_repeated=Spot(None, _between(copies, destination_windows, _AT, _NEAR)[0]) if repeated else None,
        **_fate(_last(originals, lacking), progress),
    )


def _young_copies(young: int, surplus: int, windows: Windows, *, begun_late: bool = False) -> tuple[int, int]:
    """How many equal copies that follow are those of records after `near`, which cannot be skipped: surely, and at most.

    young: how many there may be. surplus: how many more equal copies than earlier records there are. begun_late: whether copies
    of consumed records are missing. Nobody knows where the source has lost records, because these have copies, too, and where
    a limit cuts.
    """
    is_vague = windows.is_lossy or windows.is_cut_above
    surely = 0 if is_vague else min(young, max(0, surplus))
    return surely, young if is_vague or begun_late else surely


def _of_lonely(offsets: _Offsets, windows: Windows, progress: ToolProgress) -> Counts:
    """Of records without any copy."""
    number = _number(offsets, windows.source, _AT, _NEAR)
    edges = [
        window._replace(high=min(window.near, progress.arrived.get(at, 0))) for at, window in enumerate(windows.source)
    ]
    pending = _unreached(offsets, windows, progress)
    absent = _number(offsets, edges, _AT, _HIGH)
    if not absent:
        return Counts(to_come=number, pending=pending)
    return Counts(
        absent=absent,
        to_come=number - absent,
        pending=pending,
        first_absent=Spot(_between(offsets, edges, _AT, _HIGH)[0], None),
    )


def _unreached(offsets: _Offsets, windows: Windows, progress: ToolProgress) -> int:
    """How many consumed records stand after all that the replication tool has copied. None where its end was not read."""
    if any(window.cut_above for window in windows.destination):
        return 0
    return sum(
        max(0, bisect.bisect_left(its, windows.source[place].at) - bisect.bisect_right(its, progress.reached[place]))
        for place, its in offsets.items()
        if place in progress.reached
    )


def _of_mixed(
    source: t.Sequence[CountedRecord], copies: t.Sequence[CountedRecord], windows: Windows, progress: ToolProgress
) -> Counts:
    """Of a content whose copies have partly its times and partly others."""
    consumed, unconsumed, near = [], [], []
    for record in source:
        window = windows.source[record.place]
        if record.offset < window.at:
            consumed.append(record)
        elif record.offset < window.high:
            unconsumed.append(record)
            if record.offset < window.near:
                near.append(record)
    # Their distance from the offset is what counts, in whichever partition.
    distances: list[tuple[int, Time, CountedRecord]] = []
    for record in copies:
        window = windows.destination[record.place]
        if window.low <= record.offset < window.high:
            distances.append((record.offset - window.at, record.time, record))
    distances.sort(key=operator.itemgetter(0))
    counted = [each for each in distances if each[2].offset < windows.destination[each[2].place].near]
    all_copies, counted_copies = [each[:2] for each in distances], [each[:2] for each in counted]
    older, perhaps_older = _without_young(
        all_copies, _times([*consumed, *near]), _times(unconsumed) - _times(near), windows
    )
    needed = tallies(_times(consumed), _times(near), older)
    followed = tallies(_times(consumed), _times(unconsumed), counted_copies)
    skipped, absent = sum(each.skipped(0) for each in needed), sum(each.absent for each in needed)
    perhaps_skipped = sum(each.skipped(0) for each in tallies(_times(consumed), _times(near), perhaps_older))
    repeated = sum(each.surely_repeated(0) for each in followed)
    follow = sum(distance >= 0 for distance, _time in counted_copies)
    near.sort()
    return Counts(
        max(0, len(near) - absent - skipped),
        skipped,
        repeated=repeated,
        recopied=0 if consumed else max(0, follow - len(unconsumed)),
        first_skipped=Spot(near[0][:2], distances[0][2][:2]) if skipped else None,
        first_repeated=Spot(None, next(each[2][:2] for each in counted if each[0] >= 0)) if repeated else None,
        pending=min(max(0, len(consumed) - len(distances)), _unreached(_offsets(consumed), windows, progress)),
        doubtful=max(0, perhaps_skipped - skipped),
        **_fate(_last([record[:2] for record in near], absent), progress),
    )


_Distances = list[tuple[int, Time]]  # of copies from the offset, ascending, with their times
_OTHER = object()  # any time that no record of the content has


def _without_young(
    copies: _Distances, earlier: collections.Counter[Time], later: collections.Counter[Time], windows: Windows
) -> tuple[_Distances, _Distances]:
    """The copies but for those that surely are, and those that may be, of records after `near`. See _young_copies().

    earlier, later: how many of the records before `near`, consumed ones among them, and after it have which time.
    """
    if not later:
        return copies, copies
    times = collections.Counter(time for _distance, time in copies)
    own = +collections.Counter({time: min(number, times[time] - earlier[time]) for time, number in later.items()})
    others = sum(number for time, number in times.items() if time not in earlier and time not in later)
    lacking = (earlier - times).total()
    young = _young_copies(min(later.total() - own.total(), others), others - lacking, windows)
    surely, perhaps = (_without_last(copies, own, {*earlier, *later}, number) for number in young)
    return surely, perhaps


def _without_last(copies: _Distances, own: t.Mapping[Time, int], known: t.Collection[Time], others: int) -> _Distances:
    """The same without the last ones that follow: as many of each time as that, and so many with none of the known times."""
    left: dict[Time | object, int] = {**own, _OTHER: others}
    kept: _Distances = []
    for copy in reversed(copies):
        distance, time = copy
        which = time if time in known else _OTHER
        if distance >= 0 and left.get(which, 0) > 0:
            left[which] -= 1
        else:
            kept.append(copy)
    return kept[::-1]


def _last(places: list[PlaceInClaim], number: int) -> list[PlaceInClaim]:
    """Of equal records the last ones are those that are missing: a replication tool may still have to come to them."""
    return sorted(places, key=operator.itemgetter(1))[len(places) - number :]


def _fate(missing: list[PlaceInClaim], progress: ToolProgress) -> dict[str, t.Any]:
    absent = [(place, offset) for place, offset in missing if offset < progress.arrived.get(place, 0)]
    return {
        "absent": len(absent),
        "to_come": len(missing) - len(absent),
        "first_absent": Spot(min(absent), None) if absent else None,
    }


def _times(records: t.Iterable[CountedRecord]) -> collections.Counter[t.Any]:
    return collections.Counter(record.time for record in records)


def _separable(
    source: t.Sequence[CountedRecord], copies: t.Sequence[CountedRecord]
) -> list[tuple[t.Sequence[CountedRecord], t.Sequence[CountedRecord]]] | None:
    """The records and copies that are counted together whatever is committed; None where that depends on it.

    That is so where all copies have the time of a source record, where all have another one, and where all are stamped.
    """
    known = {record.time for record in source}
    kinds = {(record.time is None, record.time in known) for record in copies}
    if len(kinds) > 1:
        return None
    if kinds != {(False, True)} or len(known) == 1:
        return [(source, copies)]
    parts: dict[Time, tuple[list[CountedRecord], list[CountedRecord]]] = collections.defaultdict(lambda: ([], []))
    for side, records in enumerate((source, copies)):
        for record in records:
            parts[record.time][side].append(record)
    numbers, copy_numbers = ({time: len(part[side]) for time, part in parts.items()} for side in (0, 1))
    return None if doubted(numbers, copy_numbers) else list(parts.values())
