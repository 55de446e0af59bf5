# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""Contents of one record that was copied several times, as by a tool that was started anew: columns, as singles are."""

from __future__ import annotations

import bisect
import typing as t

from .singles import CopyAndRecord, lowest_from


class Recopied:
    """Records that are the only ones of their contents, each with its copies; of one partition on each side. All are places.

    Most questions are a bisection. What is before or after an offset costs a walk over the copies there, and no tally for each.
    """

    def __init__(self, contents: t.Iterable[tuple[int, t.Sequence[int]]]) -> None:
        by_record = sorted(contents)
        self._records = [record for record, _copies in by_record]
        self._lowest_last = lowest_from([copies[-1] for _record, copies in by_record])
        self._lowest_first = lowest_from([copies[0] for _record, copies in by_record])
        spots = sorted((copy, record, copies[0]) for record, copies in by_record for copy in copies)
        self._copies = [copy for copy, _record, _first in spots]
        self._record_of = [record for _copy, record, _first in spots]
        self._first_of = [first for _copy, _record, first in spots]

    def has_unconsumed(self, commit: int) -> bool:
        """Has a record from this commit on arrived?"""
        return bool(self._records) and self._records[-1] >= commit

    def first_wanted(self, commit: int) -> CopyAndRecord | None:
        """The lowest of the last copies of the unconsumed records: from there on, each of them follows."""
        following = bisect.bisect_left(self._records, commit)
        if following == len(self._records):
            return None
        copy = self._lowest_last[following]
        return copy, self._record_of[bisect.bisect_left(self._copies, copy)]

    def earliest(self, commit: int) -> int | None:
        """The first copy of an unconsumed record."""
        following = bisect.bisect_left(self._records, commit)
        return self._lowest_first[following] if following < len(self._records) else None

    def last_consumed(self, commit: int, offset: int) -> CopyAndRecord | None:
        """The last copy before an offset whose record is before the commit."""
        before = range(bisect.bisect_left(self._copies, offset) - 1, -1, -1)
        at = next((at for at in before if self._record_of[at] < commit), None)
        return None if at is None else (self._copies[at], self._record_of[at])

    def repeated(self, commit: int, offset: int) -> tuple[int, bool]:
        """How many copies of consumed records follow an offset, and whether such a record has another one before it."""
        begin = bisect.bisect_left(self._copies, offset)
        followed = [begin + at for at, record in enumerate(self._record_of[begin:]) if record < commit]
        return len(followed), any(self._first_of[at] < offset for at in followed)
