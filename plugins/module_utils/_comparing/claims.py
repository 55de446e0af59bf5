# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What is claimed of a group's offsets, and how much of the logs is read to verify it. Pure.

Where a log is read only in part, the other one is counted only as far as its records have their copies, or originals, in that
part: both are cut at the same place. The places are found by contents that occur once on each side, or once with their time.
"""

from __future__ import annotations

import bisect
import itertools
import typing as t

from .._matching.certificates import DISTINCT
from .._model.records import TopicPartition
from .._model.report import PartitionOffset

# Of so many such contents, the outermost one does not count: so far a replication tool may have changed the order.
_OUTERMOST = 16


class Claim(t.NamedTuple):
    """What is said of a group's offsets. repeats: how many consumed records may come again, None for any number.

    leaves: whether records that only the source has stay there on purpose, so that nothing is still to be copied.
    uncommitted: source partitions of which the group has no committed offset. The offset says what counts as consumed there: 0
    for nothing.
    """

    group: str
    source: tuple[PartitionOffset, ...]
    destination: tuple[PartitionOffset, ...]
    repeats: int | None
    leaves: bool = False
    uncommitted: frozenset[TopicPartition] = frozenset()


class Window(t.NamedTuple):
    """The offsets [low, high) of a partition that are read around the offset `at` of a group.

    near: records from this offset on only serve as partners of others, because their own may stand where nothing was read, or
    because they are too young to be skipped.
    cut_below, cut_above: whether the log has offsets before the window, or after it. seen: records before this offset may have
    their partners before the other window. `at` is outside the window where the log has lost that offset, or never had it.
    """

    low: int
    at: int
    high: int
    near: int
    cut_below: bool
    cut_above: bool
    seen: int = 0

    @property
    def following(self) -> int:
        """How many offsets of the window are from `at` on."""
        return max(0, self.high - max(self.low, self.at))


class Windows(t.NamedTuple):
    """A window for each source partition and each destination partition, as the claim lists them.

    is_lossy: whether records may have been at the source that it has lost, or that are before its window.
    """

    source: tuple[Window, ...]
    destination: tuple[Window, ...]
    is_lossy: bool = False

    @property
    def is_cut_above(self) -> bool:
        """Does any of the logs go on after its window?"""
        return any(window.cut_above for window in (*self.source, *self.destination))

    @property
    def is_complete(self) -> bool:
        """Are all logs read whole?"""
        return not any(window.cut_below or window.cut_above for window in (*self.source, *self.destination))


class SingleContent(t.NamedTuple):
    """A content that occurs once on each side, or does so with its time.

    The places are the numbers of the partitions among the claim's.
    """

    source_place: int
    source: int
    place: int
    offset: int


def window(at: int, log_start: int, log_end: int, reach: int | None) -> Window:
    """The window of a partition, up to `reach` offsets on both sides of an offset; None for the whole log.

    What is before the start of the log means the same as the start, and what is after its end the same as the end.
    """
    end = max(log_start, log_end)
    if reach is None:
        return Window(log_start, at, end, end, cut_below=False, cut_above=False)
    nearest = min(max(log_start, at), end)
    low, high = max(log_start, nearest - reach), min(end, nearest + reach)
    return Window(low, at, high, high, low > log_start, high < end)


def extent(window: Window, log_start: int, log_end: int, step: int | None) -> tuple[int, int]:
    """What is read for a window: [start, end), up to the next multiples of `step`, or all where little more is left.

    So offsets near to one another share what is read, and no claim's result depends on the others. None: the whole log.
    """
    end = max(log_start, log_end)
    if step is None:
        return log_start, end
    low, high = window.low - window.low % step, window.high + -window.high % step
    return (log_start if low <= log_start + step else low), (end if high >= end - step else high)


class PairRun(t.NamedTuple):
    """Single contents of one source partition and one destination partition, in the same order on both sides.

    sources and offsets: where they stand at the source and at the destination, both ascending.
    """

    source_place: int
    sources: list[int]
    place: int
    offsets: list[int]

    @property
    def places(self) -> tuple[int, int]:
        """The numbers of the two partitions."""
        return self.source_place, self.place

    @property
    def pairs(self) -> t.Iterator[SingleContent]:
        """One by one."""
        for source, offset in zip(self.sources, self.offsets, strict=True):
            yield SingleContent(self.source_place, source, self.place, offset)


def run_order(pair: SingleContent) -> tuple[int, int, int]:
    """By source partition, by destination partition, and by the offset at the source."""
    return pair.source_place, pair.place, pair.source


def pair_runs(pairs: t.Iterable[SingleContent]) -> list[PairRun]:
    """As few as that takes; in order of the source. In a faithful copy one for each two partitions."""
    runs: list[PairRun] = []
    run = None
    for source_place, source, place, offset in sorted(pairs, key=run_order):
        if run is None or run.source_place != source_place or run.place != place or run.offsets[-1] > offset:
            run = PairRun(source_place, [], place, [])
            runs.append(run)
        run.sources.append(source)
        run.offsets.append(offset)
    return runs


def with_pairs(runs: t.Sequence[PairRun], pairs: t.Collection[SingleContent]) -> list[PairRun]:
    """The runs of all of these, as pair_runs() finds them. runs: as it has found them. Fast where few pairs are added."""
    if not (runs and pairs):
        return pair_runs(pairs) if pairs else list(runs)
    if len(runs) == 1 and {(pair.source_place, pair.place) for pair in pairs} == {runs[0].places}:
        sources = sorted([*runs[0].sources, *(pair.source for pair in pairs)])
        offsets = sorted([*runs[0].offsets, *(pair.offset for pair in pairs)])
        find = bisect.bisect_left
        if all(find(sources, pair.source) == find(offsets, pair.offset) for pair in pairs):  # all in the same order
            return [runs[0]._replace(sources=sources, offsets=offsets)]
    return pair_runs([*itertools.chain.from_iterable(run.pairs for run in runs), *pairs])


def aligned(windows: Windows, runs: t.Iterable[PairRun]) -> Windows:
    """The same, cut at the same place. runs: those that were read of the claim's partitions, or a sample of them.

    Where there are none, nothing is known to stand in both windows. Takes the logarithm of their length, for each run.
    """
    if windows.is_complete:
        return windows
    source, destination = windows.source, windows.destination
    in_both, source_nears, destination_nears, destination_lows = _Slices(), _Slices(), _Slices(), _Slices()
    find = bisect.bisect_left
    for run in runs:
        source_window, destination_window = source[run.source_place], destination[run.place]
        start = max(find(run.sources, source_window.low), find(run.offsets, destination_window.low))
        stop = min(find(run.sources, source_window.high), find(run.offsets, destination_window.high))
        unconsumed = max(start, find(run.sources, source_window.at))
        at = max(start, find(run.offsets, destination_window.at))
        in_both.add(run.source_place, run.place, _Slice(run.sources, start, stop))
        source_nears.add(run.source_place, run.place, _Slice(run.sources, unconsumed, stop))
        destination_nears.add(run.place, run.source_place, _Slice(run.offsets, at, stop))
        destination_lows.add(run.place, run.source_place, _Slice(run.offsets, start, min(at, stop)))
    if any(window.cut_below for window in destination):
        source = tuple(window._replace(seen=in_both.seen(at, window.high)) for at, window in enumerate(source))
    if any(window.cut_above for window in destination):
        nears = [source_nears.last(at, window.at) for at, window in enumerate(source)]
        source = tuple(window._replace(near=min(window.near, near)) for window, near in zip(source, nears, strict=True))
    if any(window.cut_above for window in windows.source):
        destination = tuple(
            window._replace(near=destination_nears.last(at, window.at)) for at, window in enumerate(destination)
        )
    if any(window.cut_below for window in windows.source):
        destination = tuple(
            window._replace(low=destination_lows.first(at, window.at)) for at, window in enumerate(destination)
        )
    return windows._replace(source=source, destination=destination)


class _Slice(t.NamedTuple):
    """Some ascending offsets of a list, which is not copied."""

    offsets: list[int]
    start: int
    stop: int


class _Slices:
    """Slices of the offsets of partitions, by the partition, and by the one on the other side."""

    def __init__(self) -> None:
        self._slices: dict[int, dict[int, list[_Slice]]] = {}

    def add(self, place: int, other: int, part: _Slice) -> None:
        """Take it in, unless it is empty."""
        if part.start < part.stop:
            self._slices.setdefault(place, {}).setdefault(other, []).append(part)

    def seen(self, place: int, default: int) -> int:
        """The first offset of a partition. Fewer than that many show nothing, because a record may come again later."""
        of_place = [*itertools.chain.from_iterable(self._of(place))]
        return min(each.offsets[each.start] for each in of_place) if _number(of_place) >= DISTINCT else default

    def last(self, place: int, default: int) -> int:
        """After this offset of a partition only the outermost ones stand, whichever partition the others belong to."""
        return min((_nth(each, -1 - _number(each) // _OUTERMOST) + 1 for each in self._of(place)), default=default)

    def first(self, place: int, default: int) -> int:
        """Before this offset of a partition only the outermost ones stand, whichever partition the others belong to."""
        return max((_nth(each, _number(each) // _OUTERMOST) for each in self._of(place)), default=default)

    def _of(self, place: int) -> t.Collection[list[_Slice]]:
        return self._slices.get(place, {}).values()


def _number(slices: t.Iterable[_Slice]) -> int:
    return sum(each.stop - each.start for each in slices)


def _nth(slices: t.Sequence[_Slice], index: int) -> int:
    """Of all these offsets together the one with this index, from the end where it is negative."""
    if len(slices) == 1:
        offsets, start, stop = slices[0]
        return offsets[(start if index >= 0 else stop) + index]
    return sorted(itertools.chain.from_iterable(each.offsets[each.start : each.stop] for each in slices))[index]
