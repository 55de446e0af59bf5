# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""Which copies are those of records that the source has lost, so that they stand for none that it still has.

Retention and compaction take records at the source, and the destination keeps their copies. Where contents recur, such a copy
has the content of records that are still there, and another time. A copy with another time may also be one of those whose time
the replication tool has changed. Both are told apart by what else was copied: while every record up to the last one that has
a copy with its own time has such a copy, the tool keeps times, and what has none is what it still has to copy. A copy with
another time that the tool has written before its last copy, and that is older than each equal record that has none, is then
that of a lost record.
"""

from __future__ import annotations

import collections
import itertools
import operator
import typing as t

from .tallies import Time

NumberedOffset = tuple[int, int]  # the number of a partition among those that are counted together, and an offset


class Sighting(t.NamedTuple):
    """A record of either side. content: without headers. time: None where the broker has stamped it, or nobody compares it."""

    content: t.Hashable
    time: Time
    partition: int
    offset: int


class KeptTimes(t.NamedTuple):
    """How far copies with the times of their records go; those of several contents add up, see of_all_contents().

    last_own: for each source partition the last record that has such a copy. first_without: for each source partition the
    first record that has none, though copies of its content have other times. last_copy: for each destination partition the
    last such copy.
    """

    last_own: dict[int, int]
    first_without: dict[int, int]
    last_copy: dict[int, int]

    @property
    def are_kept(self) -> bool:
        """Does whatever lacks a copy with its own time follow everything that has one?

        Without such a copy, nothing shows that the tool keeps times: it may have written all of them too low.
        """
        return all(
            partition in self.last_own and offset > self.last_own[partition]
            for partition, offset in self.first_without.items()
        )

    def is_lost(self, copy: NumberedOffset) -> bool:
        """Was this copy, older than each equal record that lacks one, written before the last one that has kept its time?"""
        return copy[1] < self.last_copy.get(copy[0], -1)


def of_all_contents(parts: t.Iterable[KeptTimes]) -> KeptTimes:
    """The same of all contents, from the parts that several tasks have seen."""
    result = KeptTimes({}, {}, {})
    for part in parts:
        for into, offsets, better in zip(result, part, (max, min, max), strict=True):
            for partition, offset in offsets.items():
                into[partition] = better(offset, into.get(partition, offset))
    return result


def copies_of_lost(
    source: t.Iterable[Sighting], copies: t.Iterable[Sighting], others: t.Iterable[KeptTimes] = ()
) -> set[NumberedOffset]:
    """The copies that stand for no record of the source. Takes time linear in the records, but for sorting.

    others: what further contents say, none of whose copies are such.
    """
    contents = [_TimedContent(*sides) for sides in _by_content(source, copies)]
    kept = of_all_contents([*(content.kept for content in contents), *others])
    if not kept.are_kept:
        return set()
    return {spot for content in contents for spot in content.older if kept.is_lost(spot)}


def _by_content(
    source: t.Iterable[Sighting], copies: t.Iterable[Sighting]
) -> t.Iterator[tuple[list[Sighting], list[Sighting]]]:
    """The records of each content that both sides have, by offset."""
    sides: dict[t.Hashable, tuple[list[Sighting], list[Sighting]]] = collections.defaultdict(lambda: ([], []))
    for side, record in itertools.chain(zip(itertools.repeat(0), source), zip(itertools.repeat(1), copies)):
        sides[record.content][side].append(record)
    for both in sides.values():
        if all(both):
            yield both


class _TimedContent:
    """One content. kept: see KeptTimes. older: copies with other times that are older than every record that lacks one."""

    def __init__(self, source: list[Sighting], copies: list[Sighting]) -> None:
        own: dict[Time, list[NumberedOffset]] = {record.time: [] for record in source}
        others: list[tuple[NumberedOffset, int]] = []
        for copy in copies:
            if copy.time in own:
                own[copy.time].append((copy.partition, copy.offset))
            elif copy.time is not None and copy.time >= 0:  # a negative one says nothing of its age
                others.append(((copy.partition, copy.offset), copy.time))
        left = {time: len(spots) for time, spots in own.items()}
        copied, without = list[NumberedOffset](), list[Sighting]()
        for record in sorted(source, key=operator.attrgetter("partition", "offset")):
            if left[record.time] > 0:
                copied.append((record.partition, record.offset))
            else:
                without.append(record)
            left[record.time] -= 1
        oldest = _oldest(without or source)
        self.older = [spot for spot, time in others if time < oldest]
        self.kept = KeptTimes(
            _furthest(copied),
            _first(without) if others else {},
            _furthest(itertools.chain.from_iterable(own.values())),
        )


def _oldest(records: t.Iterable[Sighting]) -> int:
    return min(t.cast(int, record.time) for record in records)


def _first(records: t.Iterable[Sighting]) -> dict[int, int]:
    result: dict[int, int] = {}
    for record in records:
        result.setdefault(record.partition, record.offset)
    return result


def _furthest(spots: t.Iterable[NumberedOffset]) -> dict[int, int]:
    result: dict[int, int] = {}
    for partition, offset in spots:
        result[partition] = max(offset, result.get(partition, offset))
    return result
