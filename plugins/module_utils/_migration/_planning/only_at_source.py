# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""For a return: what of one partition only the source has, counted for all groups on it in one sweep. Pure."""

from __future__ import annotations

import bisect
import collections
import functools
import heapq
import itertools
import operator
import typing as t

from ..._model.grouping import values_by_key
from ..._model.match_on import Key, Matching
from ..._model.records import Record

BESIDE = 64  # offsets before those that count: they show what of the records the tools have kept
_OFFSET = operator.attrgetter("offset")


class PartitionPair:
    """The records of a source partition and of the destination's, each from some offset to its end.

    times: whether equal timestamps tell copies. Ask for committed offsets in descending order, so that each record is looked at
    once.
    """

    def __init__(self, records: t.Sequence[Record], copies: t.Sequence[Record], times: bool) -> None:
        self._records, self._copies, self._times = records, copies, times
        key = _matching(records, copies, times).key
        self._keys, self._copy_keys = list(map(key, records)), list(map(key, copies))
        # From the two offsets that were asked for last on.
        self._at, self._copies_at = len(records), len(copies)
        self._wanted, self._copied = collections.Counter[Key](), collections.Counter[Key]()
        self._lacking = 0
        self._offsets: dict[Key, list[int]] = collections.defaultdict(list)  # of wanted records, the last one first
        self._first: list[tuple[int, int, Key]] = []  # a heap: where a key lacks so many copies, the offset of the last

    def lacking(self, committed: int, offset: int) -> tuple[int, int | None]:
        """How many records from `committed` on have no copy from `offset` on, and where the first of them is.

        Of equal records, the last ones have none.
        """
        at, copies_at = self._place(self._records, committed), self._place(self._copies, offset)
        while self._at > at:
            self._at -= 1
            key = self._keys[self._at]
            self._wanted[key] += 1
            self._offsets[key].append(self._records[self._at].offset)
            self._lack_one(key)
        while self._copies_at > copies_at:
            self._copies_at -= 1
            key = self._copy_keys[self._copies_at]
            self._lacking -= self._wanted[key] > self._copied[key]
            self._copied[key] += 1
        while self._copies_at < copies_at:
            key = self._copy_keys[self._copies_at]
            self._copied[key] -= 1
            self._lack_one(key)
            self._copies_at += 1
        while self._first and self._wanted[self._first[0][2]] - self._copied[self._first[0][2]] < self._first[0][1]:
            heapq.heappop(self._first)
        return self._lacking, self._first[0][0] if self._first else None

    def _lack_one(self, key: Key) -> None:
        """There is a record more of this key, or a copy less."""
        missing = self._wanted[key] - self._copied[key]
        if missing > 0:
            self._lacking += 1
            heapq.heappush(self._first, (self._offsets[key][missing - 1], missing, key))

    @property
    def first_copy(self) -> int:
        """The offset of the first copy that was read; 0 where there is none."""
        return self._copies[0].offset if self._copies else 0

    def last_consumed(self, committed: int, count: int) -> int:
        """How many of the last `count` offsets that a group has consumed, which end with a record, hold one."""
        at = self._place(self._records, committed)
        return at - self._place(self._records, self._records[at - 1].offset - count + 1) if at else 0

    def has_consumed(self, committed: int, offset: int) -> bool:
        """Whether any record from `offset` on is consumed."""
        return self._place(self._records, committed) > self._place(self._records, offset)

    def again(self, committed: int, offset: int) -> int:
        """How many records from `offset` on may be consumed ones, as their contents say."""
        contents = collections.Counter(copy.bare for copy in self._copies[self._place(self._copies, offset) :])
        return sum(
            min(number, bisect.bisect_left(self._by_content.get(content, ()), committed))
            for content, number in contents.items()
        )

    @functools.cached_property
    def times_differ(self) -> bool:
        """Whether records that lack a copy have one by their contents, with another timestamp."""
        known = set(self._keys) & set(self._copy_keys)
        unmatched = [
            {record.bare for record, key in zip(records, keys, strict=True) if key not in known}
            for records, keys in ((self._records, self._keys), (self._copies, self._copy_keys))
        ]
        return self._times and not unmatched[0].isdisjoint(unmatched[1])

    def follows_unknown(self, committed: int, begin: int, offset: int, anchor: int | None) -> bool:
        """Whether a copy before `offset` may be none that the group has consumed: the last one, or one of what lacks a copy.

        An equal record that only the destination has looks like a copy. So the last one counts that is there no more often than
        it was consumed. Ask lacking() for both offsets first.

        :param begin: the consumed records from this offset on are compared, and as many copies; all of them from 0 on.
        :param anchor: the offset of another consumed record, or None.
        """
        at, copies_at = self._place(self._records, committed), self._place(self._copies, offset)
        known = self._keys[self._place(self._records, begin) : at]
        if anchor is not None and anchor < begin and (place := self._place(self._records, anchor)) < at:
            known.append(self._keys[place])
        copies_from = self._place(self._copies, offset - BESIDE)
        copies = self._copy_keys[copies_from if begin <= 0 else max(copies_from, copies_at - len(known)) : copies_at]
        consumed, copied = collections.Counter(known), collections.Counter(copies)
        if any(self._wanted[key] > self._copied[key] and copied[key] > consumed[key] for key in copied):
            return True
        for key in reversed(copies):
            if not consumed[key]:
                return True
            if copied[key] <= consumed[key]:
                return False
        return bool(copies)

    def is_early(self, first: int, begin: int, offset: int) -> bool:
        """Whether a record from `first` on is no later than a copy between `begin` and `offset`, by their timestamps."""
        at = self._place(self._records, first)
        copies = self._copies[self._place(self._copies, begin) : self._place(self._copies, offset)]
        latest = max((copy.timestamp for copy in copies), default=None)
        return at < len(self._records) and latest is not None and self._earliest[at] <= latest

    def precedes(self, committed: int, offset: int) -> bool:
        """Whether what lacks a copy from `offset` on has one before it, which is not that of a consumed record.

        Ask lacking() for both offsets first.
        """
        consumed, before = self._offsets_by_key
        lacking = {key for _first, _missing, key in self._first if self._wanted[key] > self._copied[key]}
        return any(
            bisect.bisect_left(before[key], offset) > bisect.bisect_left(consumed.get(key, ()), committed)
            for key in lacking & before.keys()
        )

    @functools.cached_property
    def _by_content(self) -> dict[bytes, list[int]]:
        """The offsets of the records of each content."""
        return values_by_key((record.bare, record.offset) for record in self._records)

    @functools.cached_property
    def _earliest(self) -> list[int]:
        """The lowest timestamp from each record on."""
        return [*itertools.accumulate((record.timestamp for record in reversed(self._records)), min)][::-1]

    @functools.cached_property
    def _offsets_by_key(self) -> list[dict[Key, list[int]]]:
        """The offsets of each key: of records, and of copies."""
        sides = (self._keys, self._records), (self._copy_keys, self._copies)
        return [values_by_key(zip(keys, map(_OFFSET, records), strict=True)) for keys, records in sides]

    @staticmethod
    def _place(records: t.Sequence[Record], offset: int) -> int:
        return bisect.bisect_left(records, offset, key=_OFFSET)


def _matching(records: t.Sequence[Record], copies: t.Sequence[Record], times: bool) -> Matching:
    """Compare headers where anything on both sides has equal ones, and times in any case, unless `times` forbids it.

    The rule takes a record of equal content with another time for a copy. Here it may be one that was produced since, and would
    hide that another record has no copy.
    """
    exact = Matching(timestamp=times, headers=True)
    kept = {exact.key(record) for record in records} & {exact.key(copy) for copy in copies}
    return exact if kept else Matching(timestamp=times, headers=False)
