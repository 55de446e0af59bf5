# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""Contents of one record that was copied several times, as by a tool that was started anew: columns, as singles are."""

from __future__ import annotations

import bisect
import typing as t

from .axis import Sides
from .count_parts import ARRIVED, SURELY_ARRIVED, Commits, Placed, Placing, Reach
from .singles import lowest_from
from .units import Unit


class Recopied:
    """Records that are the only ones of their contents, each with its copies; of one partition on each side. All are places.

    How far an offset may go is a few bisections. What is before or after it costs a walk over the copies there, and no tally.
    """

    def __init__(self, sides: Sides, units: t.Iterable[Unit]) -> None:
        self._sides = sides
        by_record = sorted((unit.sources[0], unit.copies, unit.by_time) for unit in units)
        self._records = [record for record, _copies, _by_time in by_record]
        self._timed = [record for record, _copies, by_time in by_record if by_time]
        self._lowest_last = lowest_from([copies[-1] for _record, copies, _by_time in by_record])
        self._lowest_first = lowest_from([copies[0] for _record, copies, _by_time in by_record])
        spots = sorted((copy, record, copies[0]) for record, copies, _by_time in by_record for copy in copies)
        self._copies = [copy for copy, _record, _first in spots]
        self._record_of = [record for _copy, record, _first in spots]
        self._first_of = [first for _copy, _record, first in spots]

    def reach(self, commits: Commits) -> Reach:
        """See Counted. From the lowest of the last copies of the unconsumed records on, each of them follows."""
        reach = Reach.of_records(self._sides, commits, [0], [(self._records, ARRIVED), (self._timed, SURELY_ARRIVED)])
        following = bisect.bisect_left(self._records, commits[0])
        if following == len(self._records):
            return reach
        copy = self._lowest_last[following]
        first = copy, self._record_of[bisect.bisect_left(self._copies, copy)]
        # A record with several copies may have got that of an equal one.
        return reach._replace(firsts=[first], recopied=[self._lowest_first[following]], surely=[ARRIVED])

    def placed(self, placing: Placing) -> Placed:
        """See Counted."""
        (commit,), (offset,) = placing.commits, placing.offsets
        placed = Placed.nothing(1)
        begin = bisect.bisect_left(self._copies, offset)
        last = next((at for at in range(begin - 1, -1, -1) if self._record_of[at] < commit), None)
        if last is not None:
            placed.last[0] = self._copies[last], self._record_of[last]
        followed = [begin + at for at, record in enumerate(self._record_of[begin:]) if record < commit]
        placed.repeats[0] = len(followed)
        placed.again[0] = any(self._first_of[at] < offset for at in followed)
        return placed
