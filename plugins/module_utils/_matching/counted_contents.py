# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""The one engine of counting: contents of any number of source and destination partitions, for any number of groups.

Whatever it says (count_parts.py) is a lowest or highest place, a sum, or a yes. So contents can be dealt out in
any way: the process counts them all at once, and each task of Spark those that it has. Here they are dealt out by how they are
counted: singles.py, recopied.py, units.py.
A place is a partition's number and an offset (axis.Axis); a commit is a place in each source partition.
"""

from __future__ import annotations

import bisect
import typing as t

from .axis import Sides
from .content import Content
from .count_parts import Commits, Counted, Facts, Placed, Placing, Reach, highest, lowest
from .recopied import Recopied
from .singles import Pair, Singles, lowest_from, singles_of
from .units import Unit, Units, units_of

# A record, its only copy, the record's time, and whether the broker has stamped the copy. Otherwise it has the record's time.
Once = tuple[int, int, int, bool]


class CountedContents:
    """Contents, ready to be counted. Building takes time linear in the records, but for sorting.

    contents: each once; those without source records are what only the destination has. once: further ones that occur once on
    each side. singles: further ones of these, as they are.
    ages: the times of copies by their places, where there are several destination partitions; the youngest copies are needed.
    recurs: may equal records have been lost? Then only a copy with its own time is surely a record's.
    aborted: places of copies of aborted records, with those of the records: the offset goes past them. lost: places of copies
    that are in no content, because they can only be those of records that the source has lost. kept: see Facts.kept_times and
    kept_headers.
    Times of destination-only records matter where equal records may have been lost: see Answer.may_be_lost.
    """

    def __init__(
        self,
        sides: Sides,
        contents: t.Iterable[Content],
        singles: Singles | None = None,
        *,
        once: t.Iterable[Once] = (),
        ages: t.Mapping[int, int] | None = None,
        recurs: bool = False,
        aborted: t.Mapping[int, int] | None = None,
        lost: t.Iterable[int] = (),
        kept: tuple[bool, bool] = (True, True),
    ) -> None:
        self._sides, self._aborted = sides, aborted or {}
        nowhere: list[int | None] = [None] * len(sides.destinations)
        self.facts = Facts(nowhere, nowhere.copy(), [None], [None], [False], [kept[0]], [kept[1]])
        # Is the only copy of a content's only record surely its copy if the broker has stamped it, as one with its time is?
        stamps_tell = sides.are_single and not recurs
        pairs: list[Pair] = [
            (record, copy, stamps_tell if is_stamped else not recurs or time >= 0)
            for record, copy, time, is_stamped in once
        ]
        uncopied, recopied, units = list[int](), list[Unit](), list[Unit]()
        timed_only: list[tuple[int, int]] = []  # of the destination, with their times, where records may have been lost
        for content in contents:
            if not content.source:
                self._note_first(self.facts.destination_only, (place for place, _time in content.copies))
                if recurs:
                    timed_only += [(place, time) for place, time in content.copies if time is not None and time >= 0]
                continue
            self.facts.twice[0] |= len(content.copies) > len(content.source)
            for records, copies, by_time, lacking, whole in units_of(content, sides, recurs):
                if len(records) == len(copies) == 1 and whole is None:
                    pairs.append((records[0], copies[0], by_time or (stamps_tell and content.copies[0][1] is None)))
                elif not copies:
                    uncopied += records
                else:
                    # A tool that was started anew leaves only units of one record. Where equal records may have been lost,
                    # copies without their record's time may be of these.
                    is_recopied = sides.are_single and whole is None and len(records) == 1 and (by_time or not recurs)
                    (recopied if is_recopied else units).append(Unit(records, copies, by_time, lacking, whole))
                    if len(copies) > len(records) or (whole is not None and whole.is_doubted):
                        self._note_first(self.facts.surplus, copies)
        self._note_first(self.facts.destination_only, lost)
        columns = [] if singles is None else [singles]
        if pairs or uncopied or not (columns or recopied or units):
            columns.append(singles_of(sides, pairs, uncopied, recurs))
        timed = [int(record) for column in columns for record in column.timed[-1:]]
        untimed = [int(record) for column in columns for record in column.untimed[-1:]]
        self.facts.last_by_time[0] = highest(timed)
        self.facts.last_pair[0] = highest(timed if recurs else timed + untimed)
        self._kinds: list[Counted] = [*columns]
        if recopied:
            self._kinds.append(Recopied(sides, recopied))
        if units:
            self._kinds.append(Units(sides, units, recurs, ages or {}))
        self._destination_only = sorted(timed_only)
        self._oldest_from = lowest_from([time for _place, time in self._destination_only])

    def _note_first(self, firsts: list[int | None], places: t.Iterable[int]) -> None:
        """Put these places of the destination into the first ones of each of its partitions, where they are earlier."""
        for place in places:
            at = self._sides.destination_at(place)
            firsts[at] = lowest((firsts[at], place))

    def reach(self, commits: Commits) -> Reach:
        """How far the offset of a group may go that has consumed what is before these places."""
        return Reach.of_all(kind.reach(commits) for kind in self._kinds)

    def placed(self, placing: Placing) -> Placed:
        """What is before and after these offsets."""
        placed = Placed.of_all(kind.placed(placing) for kind in self._kinds)
        for copy, original in self._aborted.items():
            if original < placing.commits[0] and copy < placing.offsets[0]:
                placed.last[0] = highest((placed.last[0], (copy, original)))
        if placing.lost_until is not None:
            placed.may_be_lost[0] = number = self._may_be_lost(placing.offsets[0], placing.lost_until)
            last = -1 if placed.last[0] is None else placed.last[0][0]
            placed.loose[0] |= self._may_be_lost(last, placing.lost_until) > number
        return placed

    def _may_be_lost(self, offset: int, until: int) -> int:
        """How many destination-only records from this place on are so old."""
        at = bisect.bisect_left(self._destination_only, (offset, -1))
        if at == len(self._oldest_from) or self._oldest_from[at] > until:
            return 0
        return sum(time <= until for _place, time in self._destination_only[at:])
