# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""One content: its records and its copies, and which of them are counted together."""

from __future__ import annotations

import collections
import typing as t

from .tallies import SECOND, Count, Doubted, Mixed, Numbers, Tally, Time, TimedCopies, surplus_wanted


class Content(t.NamedTuple):
    """All records of one content: (place, time) at the source, (place, time) of the copies; both by place.

    The time of a copy is None where the broker has stamped it, and where times are not compared.
    """

    source: t.Sequence[tuple[int, int]]
    copies: TimedCopies

    def has_arrived(self, consumed: Numbers, last: int) -> bool:
        """Are there as many copies as consumed records? consumed: how many have which time; last: that of the last one."""
        times = collections.Counter(time for _place, time in self.copies)
        known = {time for _place, time in self.source}
        missing = sum(max(0, number - times[time]) for time, number in consumed.items())
        rest = sum(number for time, number in times.items() if time not in known and time != SECOND)
        number = sum(consumed.values())
        if times[None] and number == len(self.source):
            rest -= times[None]
            enough = times.total() - rest >= number
        else:
            enough = times[last] >= consumed[last]
        return enough or 0 < missing <= rest

    def has_firmly_arrived(self, last: int) -> bool:
        """The same even if copies are those of equal records: has its last consumed one its own time, and a copy?"""
        alone = last >= 0 and sum(time == last for _place, time in self.source) == 1
        return alone and any(time == last for _place, time in self.copies) and not self.is_doubted

    @property
    def without_own(self) -> list[int]:
        """The places of the records that have no copy with their own time, or no time; of equal ones, the last."""
        left = collections.Counter(time for _place, time in self.copies)
        lacking = []
        for place, time in self.source:
            if left[time] <= 0 or time < 0:
                lacking.append(place)
            left[time] -= 1
        return lacking

    @property
    def is_doubted(self) -> bool:
        """May some copies have the time of an equal record whose copies they are not?"""
        return doubted(
            collections.Counter(time for _place, time in self.source),
            collections.Counter(time for _place, time in self.copies),
        )


def tallies(consumed: Numbers, unconsumed: Numbers, copies: TimedCopies, hidden: int = 0) -> list[Count]:
    """The tallies of one content, from how many consumed and unconsumed source records have which time, and from its copies.

    copies: (offset, time) by offset; a time is None where the broker has stamped it. hidden: see Tally.
    """
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


def separate(consumed: Numbers, unconsumed: Numbers, copies: TimedCopies, hidden: int = 0) -> list[Count]:
    """The same where copies are in several partitions: own times one by one, and the rest for what has no copy so."""
    own: dict[int, list[int]] = {time: [] for time in (*consumed, *unconsumed)}
    rest: list[int] = []
    for place, time in copies:
        (rest if time is None else own.get(time, rest)).append(place)
    numbers = _numbers(own)
    result: list[Count] = [
        Tally(places, unconsumed.get(time, 0), consumed.get(time, 0), hidden, True)
        for time, places in own.items()
        if places
    ]
    lacking = sum(max(0, number - numbers[time]) for time, number in unconsumed.items())
    first = [place for place, time in copies if time not in own and time != SECOND]
    second = len(rest) - len(first)
    loose = [rest, first] if second else [rest]
    result += [Tally(places, lacking, sum(consumed.values()), hidden + second) for places in loose]
    if doubted(collections.Counter(consumed) + collections.Counter(unconsumed), numbers):  # see Doubted
        every = [place for place, _time in copies]
        result.append(Tally(every, sum(unconsumed.values()), sum(consumed.values()), hidden))
        for time, number in surplus_wanted(consumed, unconsumed, numbers).items():
            result.append(Tally(own[time], number, consumed.get(time, 0), hidden))
    return result


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
    return {time: len(places) for time, places in offsets.items()}


_STAMPED, _OWN, _OTHER = range(3)


def _kind(time: Time, known: t.Collection[int]) -> int:
    return _STAMPED if time is None else _OWN if time in known else _OTHER
