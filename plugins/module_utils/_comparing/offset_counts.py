# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Count contents around a group's offsets: what they skip and repeat, by the definition of _matching, without a search. Pure.

Of each content as many copies have to follow the destination's offset as the group has unconsumed records, as far as copies
are there. Where several partitions became several others, copies may be in any of them. The counts of several contents add up,
so contents can be dealt out in any way.
"""

from __future__ import annotations

import collections
import itertools
import operator
import typing as t

from .._matching.certificates import DISTINCT
from .._matching.content import Content, separable
from .claims import PairRun, SingleContent, Windows, with_pairs
from .content_counts import Offsets, of_destination_only, of_mixed, of_offsets, of_run, offsets_by_partition
from .counted_records import CountedRecord, OneContent
from .sums import Counts, ToolProgress, total


class Contents:
    """Contents of some source partitions and some destination partitions, ready to be counted for any number of claims.

    Building takes time linear in the records, but for sorting; a claim then takes little more than the logarithm, but for
    contents whose times differ in part, and where the order of the two sides does.
    """

    def __init__(
        self,
        contents: t.Iterable[OneContent],
        timed: t.Sequence[PairRun] = (),
        by_content: t.Sequence[PairRun] = (),
    ) -> None:
        """contents: the source records and the copies of each content, each once. timed, by_content: further single ones.

        timed: copies have the times of their records; by_content: they do not.
        """
        self._pairs: list[SingleContent] = []
        self._others: list[SingleContent] = []
        self._plain: list[tuple[Offsets, Offsets]] = []
        self._mixed: list[tuple[t.Sequence[CountedRecord], t.Sequence[CountedRecord]]] = []
        once_by_time: list[SingleContent] = []
        lonely: list[CountedRecord] = []
        lonely_copies: list[CountedRecord] = []
        self.progress = ToolProgress.none()
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
                    self._plain.append((offsets_by_partition(originals), offsets_by_partition(part_copies)))
                    self._arrive(originals, part_copies)
        self._plain.append((offsets_by_partition(lonely), {}))
        self._destination_only = offsets_by_partition(lonely_copies)
        timed, by_content = with_pairs(timed, self._pairs), with_pairs(by_content, self._others)
        self.runs = timed + by_content
        # They say where windows are cut, also where all records are equal and not all of their copies can be told apart.
        further = (
            [*itertools.chain.from_iterable(run.pairs for run in by_content), *once_by_time] if timed else once_by_time
        )
        self.landmark_runs = with_pairs(timed or by_content, further)
        for run in timed:
            self._arrive([CountedRecord(run.source_place, run.sources[-1], 0)], [CountedRecord(run.place, 0, 0)])
        only = ((pair.source_place, pair.source) for pair in once_by_time)
        for place, offset in itertools.chain(only, ((run.source_place, run.sources[-1]) for run in timed)):
            self.progress.timed_once[place] = max(offset, self.progress.timed_once.get(place, -1))
        for run in self.runs:
            in_a_row = [self.progress.in_a_row] * (len(run.sources) >= DISTINCT)
            for highest in (self.progress.once, self.progress.reached, *in_a_row):
                highest[run.source_place] = max(run.sources[-1], highest.get(run.source_place, -1))

    def _add_pair(self, original: CountedRecord, copy: CountedRecord) -> None:
        is_own = original.time == copy.time != -1
        (self._pairs if is_own else self._others).append(_pair(original, copy))

    def _arrive(self, source: t.Sequence[CountedRecord], copies: t.Sequence[CountedRecord]) -> None:
        """Only a copy with a record's own time is surely that record's: others may be second copies, or of lost records."""
        in_order = sorted(source, key=operator.itemgetter(1))
        for place, offset, _time in (surely := list(_with_own_copies(in_order, copies))):
            self.progress.timed[place] = max(offset, self.progress.timed.get(place, -1))
        for place, offset, _time in itertools.chain(in_order[: len(copies)], surely):
            self.progress.reached[place] = max(offset, self.progress.reached.get(place, -1))

    @property
    def landmarks(self) -> list[SingleContent]:
        """Single contents that say where windows are cut, by run_order()."""
        return [*itertools.chain.from_iterable(run.pairs for run in self.landmark_runs)]

    def counts(self, windows: Windows, progress: ToolProgress) -> Counts:
        """What the offsets of a claim do, as far as these contents are concerned.

        progress: the furthest of all contents.
        """
        return total(
            itertools.chain(
                (of_run(run, windows) for run in self.runs),
                (of_offsets(*offsets, windows, progress) for offsets in self._plain),
                (of_mixed(*records, windows, progress) for records in self._mixed),
                [of_destination_only(self._destination_only, windows)],
            )
        )


def _with_own_copies(source: t.Iterable[CountedRecord], copies: t.Iterable[CountedRecord]) -> t.Iterator[CountedRecord]:
    """The records that have a copy with their own time; of equal ones, the first. -1 is no time."""
    left = collections.Counter(copy.time for copy in copies)
    for record in source:
        if record.time != -1 and left[record.time] > 0:
            left[record.time] -= 1
            yield record


def _pair(original: CountedRecord, copy: CountedRecord) -> SingleContent:
    return SingleContent(original.place, original.offset, copy.place, copy.offset)


def _once_by_time(source: t.Sequence[CountedRecord], copies: t.Sequence[CountedRecord]) -> list[SingleContent]:
    """Records of one content whose time occurs once on each side."""
    originals, only_copies = (_single_by_time(records) for records in (source, copies))
    return [_pair(original, only_copies[time]) for time, original in originals.items() if time in only_copies]


def _single_by_time(records: t.Sequence[CountedRecord]) -> dict[int, CountedRecord]:
    times = collections.Counter(record.time for record in records)
    return {record.time: record for record in records if record.time is not None and times[record.time] == 1}


def _separable(
    source: t.Sequence[CountedRecord], copies: t.Sequence[CountedRecord]
) -> list[tuple[t.Sequence[CountedRecord], t.Sequence[CountedRecord]]] | None:
    """The records and copies that are counted together whatever is committed; None where that depends on it."""
    numbers = [(at, t.cast(int, record.time)) for at, record in enumerate(source)]
    parts = separable(Content(numbers, [(at, copy.time) for at, copy in enumerate(copies)]))
    if parts is None:
        return None
    return [
        ([source[at] for at in indices], [copies[at] for at in copy_indices]) for indices, copy_indices, _by in parts
    ]
