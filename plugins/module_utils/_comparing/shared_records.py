# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The records of some partitions, grouped once, of which any extents are counted. Pure.

What a claim is told depends on its extents alone, whatever else was read for other claims. Nearly all contents occur once on
each side: they are kept as runs, of which extents take slices. Only the others are grouped anew for each extents.
"""

from __future__ import annotations

import bisect
import collections
import itertools
import typing as t

from .._matching.evidence import Span
from .._matching.lost import KeptTimes
from .._model.match_on import MatchOn
from .._model.records import Record
from .claims import PairRun, SingleContent, pair_runs
from .counted_records import AlikeRecords, CountedRecord, HeaderNames, OneContent, without_lost
from .offset_counts import Contents

Spans = t.Sequence[Span]  # offsets [start, end) of each partition, as a claim lists them


class SharedRecords:
    """Records of a claim's source partitions and of its destination partitions, each by offset. how: what is compared.

    Takes time linear in the records; extents then take it for those records alone whose contents occur several times.
    """

    def __init__(
        self, source: t.Sequence[t.Iterable[Record]], copies: t.Sequence[t.Iterable[Record]], how: MatchOn
    ) -> None:
        self._timestamp = how.timestamp
        self._names = HeaderNames({}, {})
        self._several: dict[bytes, AlikeRecords] = {}
        self._lonely: list[CountedRecord] = []
        self._destination_only: list[CountedRecord] = []
        self._times: dict[tuple[int, int], int] = {}  # of records whose only copies the broker has stamped
        kept, stamped = list[SingleContent](), list[SingleContent]()
        for name, alike in self._alike(source, copies, how).items():
            if not alike.copies:
                self._lonely += alike.source
            elif not alike.source:
                self._destination_only += alike.copies
            elif self._is_single(alike):
                (original,), (copy,) = alike
                (stamped if copy.time is None else kept).append(SingleContent(*original[:2], *copy[:2]))
                if copy.time is None:
                    self._times[original[:2]] = t.cast(int, original.time)
            else:
                self._several[name] = alike
        self._lonely.sort()
        self._destination_only.sort()
        self._runs = pair_runs(kept), pair_runs(stamped)

    def _alike(
        self, source: t.Sequence[t.Iterable[Record]], copies: t.Sequence[t.Iterable[Record]], how: MatchOn
    ) -> dict[bytes, AlikeRecords]:
        found: dict[bytes, AlikeRecords] = collections.defaultdict(AlikeRecords.none)
        headers, may_differ = how.compares_headers, how.headers_may_differ
        for is_copy, logs in enumerate((source, copies)):
            for place, records in enumerate(logs):
                for record in records:
                    name = record.fingerprint if headers else record.bare
                    family = record.bare if may_differ else name
                    time = _time(record, self._timestamp, is_copy > 0)
                    found[family][is_copy].append(CountedRecord(place, record.offset, time))
                    if name != family:
                        self._names[is_copy][place, record.offset] = name
        return found

    def _is_single(self, alike: AlikeRecords) -> bool:
        """Is it a record and its only copy, which has its headers, and its time or one that the broker has stamped?"""
        if len(alike.source) > 1 or len(alike.copies) > 1:
            return False
        (original,), (copy,) = alike
        has_time = copy.time is None or original.time == copy.time != -1
        return has_time and self._names.source.get(original[:2]) == self._names.copies.get(copy[:2])

    def contents(self, source: Spans, copies: Spans, *, is_lossy: bool) -> Contents:
        """Those of the records in these extents. is_lossy: see Windows."""
        lonely, others = _within(self._lonely, source), _within(self._destination_only, copies)
        kept, stamped = (_sliced(runs, source, copies, lonely, others) for runs in self._runs)
        several = {
            name: AlikeRecords(_within(alike.source, source), _within(alike.copies, copies))
            for name, alike in self._several.items()
        }
        if is_lossy and self._timestamp:
            several = without_lost(several, self._kept_times(kept, stamped))
        told = (alike.contents(self._names, self._timestamp) for alike in several.values())
        rest = OneContent(lonely, []), OneContent([], others)
        return Contents(itertools.chain(itertools.chain.from_iterable(told), rest), kept, stamped)

    def _kept_times(self, kept: t.Iterable[PairRun], stamped: t.Iterable[PairRun]) -> list[KeptTimes]:
        times = (self._times[run.source_place, offset] for run in stamped for offset in run.sources)
        nothing = KeptTimes({}, {}, {})
        return [
            *(KeptTimes({run.source_place: run.sources[-1]}, {}, {run.place: max(run.offsets)}) for run in kept),
            nothing._replace(oldest=min(times, default=nothing.oldest)),
        ]


def _time(record: Record, timestamp: bool, may_be_stamped: bool) -> int | None:
    if may_be_stamped and (record.log_append_time or not timestamp):
        return None
    return record.timestamp if timestamp else 0


def _within(records: list[CountedRecord], spans: Spans) -> list[CountedRecord]:
    """Those of these offsets, of records by partition and offset."""
    found: list[CountedRecord] = []
    for place, (start, end) in enumerate(spans):
        low = bisect.bisect_left(records, (place, start))
        found += records[low : bisect.bisect_left(records, (place, end), low)]
    return found


def _sliced(
    runs: t.Iterable[PairRun], source: Spans, copies: Spans, lonely: list[CountedRecord], others: list[CountedRecord]
) -> list[PairRun]:
    """The runs of what is in extents on both sides; what is so on one side only goes into the other lists."""
    found: list[PairRun] = []
    for run in runs:
        low, high = _bounds(run.sources, source[run.source_place])
        first, last = _bounds(run.offsets, copies[run.place])
        begin = max(low, first)
        end = max(begin, min(high, last))
        for into, place, offsets, (start, stop) in (
            (lonely, run.source_place, run.sources, (low, high)),
            (others, run.place, run.offsets, (first, last)),
        ):
            alone = itertools.chain(offsets[start : min(begin, stop)], offsets[end:stop])
            into += [CountedRecord(place, offset, 0) for offset in alone]
        if begin == end:
            continue
        part = PairRun(run.source_place, run.sources[begin:end], run.place, run.offsets[begin:end])
        if found and found[-1].places == part.places and found[-1].offsets[-1] <= part.offsets[0]:
            found[-1].sources.extend(part.sources)
            found[-1].offsets.extend(part.offsets)
        else:
            found.append(part)
    return found


def _bounds(offsets: list[int], span: Span) -> tuple[int, int]:
    low = bisect.bisect_left(offsets, span[0])
    return low, bisect.bisect_left(offsets, span[1], low)
