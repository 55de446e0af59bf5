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

_Placed = tuple[int, Record]  # a record, and the number of its partition
Spans = t.Sequence[Span]  # offsets [start, end) of each partition, as a claim lists them


class SharedRecords:
    """Records of a claim's source partitions and of its destination partitions, each by offset. how: what is compared.

    Takes time linear in the records; extents then take it for those records alone whose contents occur several times.
    """

    def __init__(
        self, source: t.Sequence[t.Iterable[Record]], copies: t.Sequence[t.Iterable[Record]], how: MatchOn
    ) -> None:
        self._timestamps, self._headers = how.timestamp, how.compares_headers
        self._families_have_headers = how.compares_headers and not how.headers_may_differ
        self._names = HeaderNames({}, {})
        self._several: dict[bytes, AlikeRecords] = {}
        self._lonely: list[CountedRecord] = []
        kept, stamped = list[SingleContent](), list[SingleContent]()
        originals, copies_by_family = self._by_family(source), self._by_family(copies)
        for family, family_records in originals.items():
            family_copies = copies_by_family.pop(family, None)
            if family_copies is None:
                self._lonely += [self._counted(*placed) for placed in family_records]
                continue
            # Nearly all: the only copy of a record has its headers, and its time or one that the broker has stamped.
            if len(family_records) == len(family_copies) == 1:
                (place, record), (copy_place, copy) = family_records[0], family_copies[0]
                own, time = self._time(record), self._time(copy, may_be_stamped=True)
                if (time is None or own == time != -1) and self._name(record) == self._name(copy):
                    (stamped if time is None else kept).append(
                        SingleContent(place, record.offset, copy_place, copy.offset)
                    )
                    continue
            self._several[family] = self._alike(family, family_records, family_copies)
        self._lonely.sort()
        only_copies = itertools.chain.from_iterable(copies_by_family.values())
        self._destination_only = sorted(self._counted(*placed, may_be_stamped=True) for placed in only_copies)
        self._runs = pair_runs(kept), pair_runs(stamped)

    def _by_family(self, logs: t.Sequence[t.Iterable[Record]]) -> dict[bytes, list[_Placed]]:
        """The records by what they are without headers that may differ."""
        families: dict[bytes, list[_Placed]] = collections.defaultdict(list)
        for place, records in enumerate(logs):
            for record in records:
                families[record.fingerprint if self._families_have_headers else record.bare].append((place, record))
        return families

    def _name(self, record: Record) -> bytes:
        return record.fingerprint if self._headers else record.bare

    def _time(self, record: Record, may_be_stamped: bool = False) -> int | None:
        if may_be_stamped and (record.log_append_time or not self._timestamps):
            return None
        return record.timestamp if self._timestamps else 0

    def _counted(self, place: int, record: Record, may_be_stamped: bool = False) -> CountedRecord:
        return CountedRecord(place, record.offset, self._time(record, may_be_stamped))

    def _alike(self, family: bytes, source: t.Sequence[_Placed], copies: t.Sequence[_Placed]) -> AlikeRecords:
        for names, records in zip(self._names, (source, copies), strict=True):
            names.update(
                {(at, record.offset): self._name(record) for at, record in records if self._name(record) != family}
            )
        return AlikeRecords(
            [self._counted(*placed) for placed in source],
            [self._counted(*placed, may_be_stamped=True) for placed in copies],
        )

    def contents(self, source: Spans, copies: Spans, *, is_lossy: bool) -> Contents:
        """Those of the records in these extents. is_lossy: see Windows."""
        lonely, others = _within(self._lonely, source), _within(self._destination_only, copies)
        kept, stamped = (_sliced(runs, source, copies, lonely, others) for runs in self._runs)
        several = {
            name: AlikeRecords(_within(alike.source, source), _within(alike.copies, copies))
            for name, alike in self._several.items()
        }
        if is_lossy and self._timestamps:
            several = without_lost(several, map(_kept_times, kept))
        told = (alike.contents(self._names, self._timestamps) for alike in several.values())
        rest = OneContent(lonely, []), OneContent([], others)
        return Contents(itertools.chain(itertools.chain.from_iterable(told), rest), kept, stamped)


def _kept_times(run: PairRun) -> KeptTimes:
    return KeptTimes({run.source_place: run.sources[-1]}, {}, {run.place: max(run.offsets)})


def _within(records: list[CountedRecord], spans: Spans) -> list[CountedRecord]:
    """Those of these offsets, of records by partition and offset."""
    inside: list[CountedRecord] = []
    for place, (start, end) in enumerate(spans):
        low = bisect.bisect_left(records, (place, start))
        inside += records[low : bisect.bisect_left(records, (place, end), low)]
    return inside


def _sliced(
    runs: t.Iterable[PairRun], source: Spans, copies: Spans, lonely: list[CountedRecord], others: list[CountedRecord]
) -> list[PairRun]:
    """The runs of what is in extents on both sides; what is so on one side only goes into the other lists."""
    shared_runs: list[PairRun] = []
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
        if shared_runs and shared_runs[-1].places == part.places and shared_runs[-1].offsets[-1] <= part.offsets[0]:
            shared_runs[-1].sources.extend(part.sources)
            shared_runs[-1].offsets.extend(part.offsets)
        else:
            shared_runs.append(part)
    return shared_runs


def _bounds(offsets: list[int], span: Span) -> tuple[int, int]:
    low = bisect.bisect_left(offsets, span[0])
    return low, bisect.bisect_left(offsets, span[1], low)
