# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""One content: its records and its copies, and which of them are counted together."""

from __future__ import annotations

import bisect
import collections
import dataclasses
import math
import operator
import typing as t

from .tallies import Count, Doubted, Mixed, Tally, Time


@dataclasses.dataclass(frozen=True, slots=True)
class Content:
    """All records of one content: (offset, time) at the source, (offset, time) of the copies; both by offset.

    The time of a copy is None where the broker has stamped it, and where times are not compared.
    """

    source: t.Sequence[tuple[int, int]]
    copies: t.Sequence[tuple[int, Time]]

    def tallies(self, committed: int, stable: float = math.inf) -> list[Count]:
        """What is counted together, for a group that has consumed what lies before the committed offset.

        stable: the source's last stable offset.
        """
        at = bisect.bisect_left(self.source, committed, key=_offset)
        return tallies(
            collections.Counter(time for _offset, time in self.source[:at]),
            collections.Counter(time for _offset, time in self.source[at:]),
            self.copies,
            sum(offset >= stable for offset, _time in self.source[at:]),
        )

    def has_arrived(self, committed: int) -> bool:
        """Are there as many copies as the source has records of this content up to its last consumed one?"""
        at = bisect.bisect_left(self.source, committed, key=_offset)
        consumed = collections.Counter(time for _offset, time in self.source[:at])
        times = collections.Counter(time for _offset, time in self.copies)
        last = self.source[at - 1][1]
        known = {time for _offset, time in self.source}
        missing = sum(max(0, number - times[time]) for time, number in consumed.items())
        rest = sum(number for time, number in times.items() if time not in known)
        if times[None] and at == len(self.source):
            rest -= times[None]
            enough = times.total() - rest >= at
        else:
            enough = times[last] >= consumed[last]
        return enough or 0 < missing <= rest

    def has_firmly_arrived(self, committed: int) -> bool:
        """The same even if copies are those of equal records: has its last consumed one its own time, and a copy?"""
        last = self.source[bisect.bisect_left(self.source, committed, key=_offset) - 1][1]
        alone = sum(time == last for _offset, time in self.source) == 1
        return alone and any(time == last for _offset, time in self.copies) and not self._is_doubted

    @property
    def without_own(self) -> list[int]:
        """The offsets of the records that have no copy with their own time; of equal ones, the last."""
        left = collections.Counter(time for _offset, time in self.copies)
        lacking = []
        for offset, time in self.source:
            if left[time] <= 0:
                lacking.append(offset)
            left[time] -= 1
        return lacking

    @property
    def _is_doubted(self) -> bool:
        return doubted(
            collections.Counter(time for _offset, time in self.source),
            collections.Counter(time for _offset, time in self.copies),
        )


def tallies(
    consumed: t.Mapping[int, int],
    unconsumed: t.Mapping[int, int],
    copies: t.Sequence[tuple[int, Time]],
    hidden: int = 0,
) -> list[Count]:
    """The tallies of one content, from how many consumed and unconsumed source records have which time, and from its copies.

    copies: (offset, time) by offset; a time is None where the broker has stamped it. hidden: see Tally.
    """
    if not copies:
        return [Tally([], sum(unconsumed.values()), sum(consumed.values()), hidden)]
    known = {*consumed, *unconsumed}
    kinds = {_kind(time, known) for _offset, time in copies}
    if _OWN in kinds and doubted(
        collections.Counter(consumed) + collections.Counter(unconsumed),
        collections.Counter(time for _offset, time in copies),
    ):
        return [Doubted(consumed, unconsumed, copies, hidden)]
    if len(kinds) > 1:
        return [Mixed(consumed, unconsumed, copies, hidden)]
    if kinds != {_OWN}:
        return [Tally([offset for offset, _time in copies], sum(unconsumed.values()), sum(consumed.values()), hidden)]
    own: dict[int, list[int]] = {time: [] for time in known}
    for offset, copied in copies:
        own[t.cast(int, copied)].append(offset)
    return [Tally(places, unconsumed.get(time, 0), consumed.get(time, 0), hidden, True) for time, places in own.items()]


def separable(content: Content) -> list[tuple[list[int], list[int], bool]] | None:
    """The offsets of records and copies that are counted together, and whether by time; None where the commit decides.

    The commit does not matter where all copies have the time of a source record that they may be of, where all have another
    one, and where all are stamped.
    """
    known = {time for _offset, time in content.source}
    kinds = {_kind(time, known) for _offset, time in content.copies}
    if len(kinds) > 1:
        return None
    if kinds == {_OWN} and len(known) > 1:
        originals: dict[int, list[int]] = collections.defaultdict(list)
        copies: dict[Time, list[int]] = collections.defaultdict(list)
        for offset, time in content.source:
            originals[time].append(offset)
        for offset, copied in content.copies:
            copies[copied].append(offset)
        if doubted(_numbers(originals), _numbers(copies)):
            return None
        return [(offsets, copies[time], True) for time, offsets in originals.items()]
    by_time = kinds == {_OWN}
    return [([offset for offset, _time in content.source], [offset for offset, _time in content.copies], by_time)]


def doubted(records: t.Mapping[t.Any, int], copies: t.Mapping[t.Any, int]) -> bool:
    """May copies have the time of an equal record whose copies they are not? How many records and copies have which time."""
    return any(number > records[time] for time, number in copies.items() if time in records) and any(
        copies.get(time, 0) < number for time, number in records.items()
    )


def _numbers(offsets: t.Mapping[t.Any, t.Sequence[int]]) -> dict[t.Any, int]:
    return {time: len(its) for time, its in offsets.items()}


_STAMPED, _OWN, _OTHER = range(3)


def _kind(time: Time, known: t.Collection[int]) -> int:
    return _STAMPED if time is None else _OWN if time in known else _OTHER


_offset = operator.itemgetter(0)
