# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""What follows a group's offset at the destination, compared with what follows it at the source. Pure.

Blocks that are equal need no record; of the others the records are read, and paired by what they are. What stays
without a partner is then looked for before the offsets (fates.py).
"""

from __future__ import annotations

import enum
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.blocks import (
    MOST,
    Block,
    How,
    Pairing,
    best_how,
    pair_blocks,
    pair_up,
)

# Records of blocks without a partner that are read for one entry; they are held in memory.
READ_AT_MOST = 1_000_000

Content = tuple[bytes, int | None]  # fingerprint, and timestamp where it is compared


class Row(t.NamedTuple):
    """A record of a block that has no equal. place is the number of the partition among those of its side."""

    place: int
    offset: int
    timestamp: int
    fingerprint: bytes
    bare: bytes

    def content(self, how: How) -> Content:
        """What makes it the same record on both sides."""
        return self.fingerprint if how.headers else self.bare, self.timestamp if how.timestamp else None


class Window(t.NamedTuple):
    """What of a partition is read for an entry: [start, end) of a log that ends at log_end.

    Up to `counted`, a record without a partner is a difference; what is read beyond serves as partner only, where the
    log goes on behind the window.
    """

    start: int
    counted: int
    end: int
    log_end: int

    @property
    def is_cut(self) -> bool:
        """Does the log go on?"""
        return self.end < self.log_end


class Half(t.NamedTuple):
    """One side of an entry: its windows, one a place, and the blocks that were made of them, in order."""

    windows: tuple[Window, ...]
    blocks: list[Block]

    @property
    def is_cut(self) -> bool:
        """Does any of the logs go on behind its window?"""
        return any(window.is_cut for window in self.windows)

    def beyond(self, place: int, offset: int) -> bool:
        """Is this record there as partner only?"""
        return offset >= self.windows[place].counted


class Fate(enum.Enum):
    """What becomes of a record that has no partner behind the offset, unless it is found before it."""

    COUNTS = enum.auto()  # a later record is there
    TO_COME = enum.auto()  # the destination has come to its end
    BEYOND = enum.auto()  # its partner may be where nothing was read


class Unpaired(t.NamedTuple):
    """A record without a partner."""

    row: Row
    fate: Fate


class Comparison(t.NamedTuple):
    """compared: pairs of equal records. missing: of the source; extra: of the destination.

    unread: blocks at the source's end of which no record was read, all of them still to come unless they are before the
    offset. unexamined: records of blocks that would be too many to read. first_difference: the offsets on both sides
    where the sequences part, None where one has ended. in_order is None where several partitions are one side.
    """

    how: How
    compared: int
    missing: list[Unpaired]
    extra: list[Unpaired]
    unread: list[Block]
    unexamined: int
    first_difference: tuple[int | None, int | None] | None
    in_order: bool | None


class Reading(t.NamedTuple):
    """Of which blocks the records have to be read; see Comparison for the rest."""

    source: list[Block]
    destination: list[Block]
    unread: list[Block]
    unexamined: int


class Sides:
    """Both sides of an entry, and how they are compared; how=None takes the comparison that finds most equal."""

    def __init__(self, source: Half, destination: Half, hows: t.Sequence[How]) -> None:
        self.source, self.destination = source, destination
        self.how = hows[0] if len(hows) == 1 else best_how(source.blocks, destination.blocks, hows)
        self.pairing: Pairing[Block] = pair_blocks(source.blocks, destination.blocks, self.how)
        self.is_sequence = len(source.windows) == len(destination.windows) == 1

    def reading(self, whole: bool = False) -> Reading:
        """What has to be read; with whole=True all blocks of the end that a copier has yet to write as well."""
        source, destination = self.pairing.source, self.pairing.destination
        unread: list[Block] = []
        if self.is_sequence:
            last = [max((pair[side].end for pair in self.pairing.pairs), default=None) for side in (0, 1)]
            source = _without_margin(source, last[0], self.source, self.destination)
            destination = _without_margin(destination, last[1], self.destination, self.source)
            if not self.destination.is_cut and not whole:
                source, unread = _first_of_end(source, last[0] or 0, sum(block.count for block in destination) + MOST)
        first = self._first_difference() if source or destination or not self._blocks_in_order() else None
        wanted = [
            sorted({*blocks, *([half.blocks[first]] if first is not None and first < len(half.blocks) else [])})
            for half, blocks in ((self.source, source), (self.destination, destination))
        ]
        kept, unexamined = _at_most(wanted[0], wanted[1])
        return Reading(*kept, unread, unexamined)

    def compare(self, reading: Reading, source: t.Iterable[Row], destination: t.Iterable[Row]) -> Comparison:
        """source, destination: the records of the blocks that were to be read."""
        here, there = sorted(source), sorted(destination)
        unpaired_here = _of_blocks(here, {*self.pairing.source} & {*reading.source})
        unpaired_there = _of_blocks(there, {*self.pairing.destination} & {*reading.destination})
        found, in_order = self._pair_rows(unpaired_here, unpaired_there)
        last = [_last(self.pairing, found, side) for side in (0, 1)]
        missing = self._unpaired(found.source, last[0], self.source, self.destination)
        extra = self._unpaired(found.destination, last[1], self.destination, self.source)
        differs = missing or extra or reading.unread or in_order is False
        return Comparison(
            self.how,
            sum(block.count for block, _copy in self.pairing.pairs) + len(found.pairs),
            missing,
            extra,
            reading.unread,
            reading.unexamined,
            self._place_of_difference(here, there) if differs else None,
            in_order,
        )

    def _pair_rows(self, here: list[Row], there: list[Row]) -> tuple[Pairing[Row], bool | None]:
        """Of equal records the first ones are paired, or the last ones where only that keeps the order.

        Where nothing keeps the order the last ones are, for then what is missing is not taken for what is still to come.
        """
        found = pair_up(here, there, self._content)
        if not self.is_sequence:
            return found, None
        if self._in_order(found.pairs):
            return found, True
        found = pair_up(here, there, self._content, last_first=True)
        return found, self._in_order(found.pairs)

    def _content(self, row: Row) -> Content:
        return row.content(self.how)

    def _blocks_in_order(self) -> bool:
        return self._in_order([])

    def _in_order(self, rows: t.Iterable[tuple[Row, Row]]) -> bool:
        points = sorted((record.offset, copy.offset) for record, copy in rows)
        points += [(block.start, copy.start) for block, copy in self.pairing.pairs]
        points += [(block.end - 1, copy.end - 1) for block, copy in self.pairing.pairs]
        points.sort()
        return all(before[1] <= after[1] for before, after in zip(points, points[1:], strict=False))

    def _unpaired(self, rows: list[Row], last: dict[int, int], own: Half, other: Half) -> list[Unpaired]:
        """What each of them may be. A window's end hides the partners of what comes last, and of records in disorder."""
        found = []
        for row in rows:
            behind = row.offset > last.get(row.place, -1)
            if other.is_cut and (not self.is_sequence or behind or own.beyond(row.place, row.offset)):
                if self.is_sequence and behind and last:
                    continue  # where its partner stands, nothing was read
                found.append(Unpaired(row, Fate.BEYOND))
            else:
                found.append(Unpaired(row, Fate.TO_COME if behind else Fate.COUNTS))
        return found

    def _first_difference(self) -> int | None:
        """The number of the first block that differs, of those that stand at the same place in both sequences."""
        if not self.is_sequence:
            return None
        here, there = self.source.blocks, self.destination.blocks
        number = [None, *self.pairing.pairs] and _common(here, there, self.how)
        return None if number == len(here) == len(there) else number

    def _place_of_difference(self, here: list[Row], there: list[Row]) -> tuple[int | None, int | None] | None:
        number = self._first_difference()
        if number is None:
            return None
        ours, copies = self.source.blocks[number:], self.destination.blocks[number:]
        rows, others = _of_blocks(here, set(ours[:1])), _of_blocks(there, set(copies[:1]))
        same = 0
        while same < min(len(rows), len(others)) and self._content(rows[same]) == self._content(others[same]):
            same += 1
        return _offset_at(rows, same, ours), _offset_at(others, same, copies)


def _common(here: list[Block], there: list[Block], how: How) -> int:
    from itertools import takewhile

    return sum(1 for _pair in takewhile(lambda pair: pair_blocks(pair[:1], pair[1:], how).pairs, zip(here, there)))


def _offset_at(rows: list[Row], number: int, blocks: list[Block]) -> int | None:
    if number < len(rows):
        return rows[number].offset
    rest = blocks[1:] if rows else blocks
    return rest[0].start if rest else None
