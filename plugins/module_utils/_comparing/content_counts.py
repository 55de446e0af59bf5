# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What the records and copies of one content say of a claim, whichever way they are counted. Pure."""

from __future__ import annotations

import bisect
import collections
import operator
import typing as t

from .._matching.content import tallies
from .._matching.tallies import Time
from .claims import PairRun, Window, Windows
from .counted_records import CountedRecord
from .sums import Counts, PlaceInClaim, Spot, ToolProgress


def of_run(run: PairRun, windows: Windows) -> Counts:
    """Of records and their only copies."""
    source, destination = windows.source[run.source_place], windows.destination[run.place]
    find = bisect.bisect_left
    unconsumed, near = find(run.sources, source.at), find(run.sources, source.near)
    low, at, destination_near = (
        find(run.offsets, offset) for offset in (destination.low, destination.at, destination.near)
    )
    first_skipped, first_repeated = max(unconsumed, low), at
    skipped = max(0, min(near, at) - first_skipped)
    repeated = max(0, min(unconsumed, destination_near) - first_repeated)
    unseen = max(0, min(near, low) - unconsumed)  # an equal record of before the source's window may have these copies
    result = Counts(
        max(0, min(near, find(run.offsets, destination.high)) - max(unconsumed, at)),
        skipped,
        to_come=unseen,
        repeated=repeated,
        unseen=unseen,
    )
    if not (skipped or repeated):
        return result

    def spot(index: int) -> Spot:
        return Spot((run.source_place, run.sources[index]), (run.place, run.offsets[index]))

    return result._replace(
        first_skipped=spot(first_skipped) if skipped else None,
        first_repeated=spot(first_repeated) if repeated else None,
    )


# Offsets by partition, ascending.
Offsets = dict[int, list[int]]


def offsets_by_partition(records: t.Iterable[CountedRecord]) -> Offsets:
    """Where they stand."""
    offsets: Offsets = collections.defaultdict(list)
    for place, offset, _time in records:
        offsets[place].append(offset)
    for partition_offsets in offsets.values():
        partition_offsets.sort()
    return dict(offsets)


_LOW, _AT, _HIGH, _NEAR = (operator.attrgetter(name) for name in ("low", "at", "high", "near"))
_Edge = t.Callable[[Window], int]


def _bounds(ascending: list[int], window: Window, start: _Edge | None, end: _Edge) -> tuple[int, int]:
    """Which of the offsets stand between two edges of their window: [low, high). None: from the first one on."""
    low = bisect.bisect_left(ascending, start(window)) if start else 0
    return low, bisect.bisect_left(ascending, end(window), low)


def _number(offsets: Offsets, windows: t.Sequence[Window], start: _Edge | None, end: _Edge) -> int:
    """How many of the offsets stand there."""
    bounds = (_bounds(ascending, windows[place], start, end) for place, ascending in offsets.items())
    return sum(high - low for low, high in bounds)


def _between(offsets: Offsets, windows: t.Sequence[Window], start: _Edge, end: _Edge) -> list[PlaceInClaim]:
    return [
        (place, offset)
        for place, ascending in sorted(offsets.items())
        for offset in ascending[slice(*_bounds(ascending, windows[place], start, end))]
    ]


def of_offsets(source: Offsets, copies: Offsets, windows: Windows, progress: ToolProgress) -> Counts:
    """Of records that are counted together whatever is committed, such as those without any copy: their tally, in numbers."""
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
    skipped, perhaps_skipped = (
        min(before, max(0, wanted - follow + young_copies)) for young_copies in (young, perhaps_young)
    )
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
        **_fate(_last(originals, lacking), windows, progress),
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


def of_destination_only(copies: Offsets, windows: Windows) -> Counts:
    """Of copies of no record."""
    return Counts(destination_only=_number(copies, windows.destination, _AT, _NEAR))


def _unreached(offsets: Offsets, windows: Windows, progress: ToolProgress) -> int:
    """How many consumed records stand after all that the replication tool has copied. None where its end was not read."""
    if any(window.cut_above for window in windows.destination):
        return 0
    return sum(
        max(
            0,
            bisect.bisect_left(ascending, windows.source[place].at)
            - bisect.bisect_right(ascending, progress.reached[place]),
        )
        for place, ascending in offsets.items()
        if place in progress.reached
    )


def of_mixed(
    source: t.Sequence[CountedRecord], copies: t.Sequence[CountedRecord], windows: Windows, progress: ToolProgress
) -> Counts:
    """Of a content whose copies have partly its times and partly others."""
    consumed = [record for record in source if record.offset < windows.source[record.place].at]
    unconsumed = _inside(source, windows.source, _AT, _HIGH)
    near = sorted(_inside(unconsumed, windows.source, _AT, _NEAR))
    consumed_times, unconsumed_times, near_times = map(_times, (consumed, unconsumed, near))

    def distance(copy: CountedRecord) -> int:
        """From the offset of its partition: that is what counts, in whichever partition it is."""
        return copy.offset - windows.destination[copy.place].at

    in_windows = sorted(_inside(copies, windows.destination, _LOW, _HIGH), key=distance)
    near_copies = _inside(in_windows, windows.destination, _LOW, _NEAR)
    following = _inside(near_copies, windows.destination, _AT, _NEAR)
    distances, near_distances = ([(distance(copy), copy.time) for copy in part] for part in (in_windows, near_copies))
    older, perhaps_older = _without_young(
        distances, consumed_times + near_times, unconsumed_times - near_times, windows
    )
    needed = tallies(consumed_times, near_times, older)
    skipped, absent = sum(tally.skipped(0) for tally in needed), sum(tally.absent for tally in needed)
    perhaps = needed if perhaps_older is older else tallies(consumed_times, near_times, perhaps_older)
    perhaps_skipped = sum(tally.skipped(0) for tally in perhaps)
    repeated = sum(tally.surely_repeated(0) for tally in tallies(consumed_times, unconsumed_times, near_distances))
    return Counts(
        max(0, len(near) - absent - skipped),
        skipped,
        repeated=repeated,
        recopied=0 if consumed else max(0, len(following) - len(unconsumed)),
        first_skipped=Spot(near[0][:2], in_windows[0][:2]) if skipped else None,
        first_repeated=Spot(None, following[0][:2]) if repeated else None,
        pending=min(
            max(0, len(consumed) - len(in_windows)), _unreached(offsets_by_partition(consumed), windows, progress)
        ),
        doubtful=max(0, perhaps_skipped - skipped),
        **_fate(_last([record[:2] for record in near], absent), windows, progress),
    )


def _inside(
    records: t.Iterable[CountedRecord], windows: t.Sequence[Window], start: _Edge, end: _Edge
) -> list[CountedRecord]:
    """The records that stand between two edges of their windows."""
    return [record for record in records if start(windows[record.place]) <= record.offset < end(windows[record.place])]


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
    left: dict[t.Any, int] = {**own, _OTHER: others}
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


def _fate(missing: list[PlaceInClaim], windows: Windows, progress: ToolProgress) -> dict[str, t.Any]:
    """What became of unconsumed records without a copy. The copies of the first ones may be before the window."""
    arrived = progress.arrived(windows.is_complete and not windows.is_lossy)
    absent = [
        (place, offset) for place, offset in missing if windows.source[place].seen <= offset < arrived.get(place, 0)
    ]
    return {
        "absent": len(absent),
        "to_come": len(missing) - len(absent),
        "unseen": sum(offset < windows.source[place].seen for place, offset in missing),
        "first_absent": Spot(min(absent), None) if absent else None,
    }


def _times(records: t.Iterable[CountedRecord]) -> collections.Counter[t.Any]:
    return collections.Counter(record.time for record in records)
