# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""What follows a group's offset at the destination, compared with what follows it at the source. Pure.

Blocks that are equal need no record; of the others the records are read, and paired by what they are. What stays
without a partner is then looked for before the offsets (fates.py).
"""

from __future__ import annotations

import dataclasses
import enum
import itertools
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.blocks import (
    MOST,
    Block,
    Pairing,
    best_how,
    pair_blocks,
    pair_up,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.context import Matching

# Records of blocks without a partner that are read for one entry; they are held in memory.
READ_AT_MOST = 1_000_000

Content: t.TypeAlias = "tuple[bytes, int | None]"  # fingerprint, and timestamp where it is compared


class Row(t.NamedTuple):
    """A record of a block that has no equal. place is the number of the partition among those of its side."""

    place: int
    offset: int
    timestamp: int
    fingerprint: bytes
    bare: bytes

    def content(self, how: Matching) -> Content:
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
    offset. unexamined, unexamined_copies: records of the source, of the destination, in blocks that would be too many to
    read. first_difference: the offsets on both sides
    where the sequences part, None where one has ended. in_order is None where several partitions are one side.
    """

    how: Matching
    compared: int
    missing: list[Unpaired]
    extra: list[Unpaired]
    unread: list[Block]
    unexamined: int
    unexamined_copies: int
    first_difference: tuple[int | None, int | None] | None
    in_order: bool | None


class Reading(t.NamedTuple):
    """Of which blocks the records have to be read; see Comparison for the rest."""

    source: list[Block]
    destination: list[Block]
    unread: list[Block]
    unexamined: int
    unexamined_copies: int


@dataclasses.dataclass(frozen=True, slots=True)
class Sides:
    """Both sides of an entry, how they may be compared and how they are, and which of their blocks are equal by that."""

    source: Half
    destination: Half
    hows: tuple[Matching, ...]
    how: Matching
    pairing: Pairing[Block]

    @property
    def is_sequence(self) -> bool:
        """Is each side one partition, so that there is one order to keep?"""
        return len(self.source.windows) == len(self.destination.windows) == 1


def sides_of(source: Half, destination: Half, hows: t.Sequence[Matching]) -> Sides:
    """The comparison of `hows` by which most is equal, and what is equal by it."""
    how = best_how(source.blocks, destination.blocks, hows)
    return Sides(source, destination, tuple(hows), how, pair_blocks(source.blocks, destination.blocks, how))


def to_read(sides: Sides, whole: bool = False) -> Reading:
    """Of which blocks the records must be read to compare the sides.

    whole: also of those that the copier has yet to write, as it seems, as many as may be read.
    """
    source, destination = sides.pairing.source, sides.pairing.destination
    unread: list[Block] = []
    if sides.is_sequence:
        here, there = _last_paired(sides)
        source = _without_margin(source, here, sides.source, sides.destination)
        destination = _without_margin(destination, there, sides.destination, sides.source)
        if not sides.destination.is_cut:
            count = READ_AT_MOST if whole else sum(block.records for block in destination) + MOST
            source, unread = _beginning(source, here, count)
    if sides.is_sequence and (source or destination or not _in_order(sides.pairing.pairs, [])):
        number = _first_difference(sides)
        source = sorted({*source, *sides.source.blocks[number : number + 1]} - {*unread})
        destination = sorted({*destination, *sides.destination.blocks[number : number + 1]})
    source, unexamined = _at_most(source)
    destination, unexamined_copies = _at_most(destination)
    return Reading(source, destination, unread, unexamined, unexamined_copies)


def compare(sides: Sides, reading: Reading, source: t.Iterable[Row], destination: t.Iterable[Row]) -> Comparison:
    """source, destination: the records of the blocks that were to be read."""
    here, there = _within(sorted(source), reading.source), _within(sorted(destination), reading.destination)
    if not sides.pairing.pairs:  # then only the records tell how they are to be compared
        sides = dataclasses.replace(sides, how=max(sides.hows, key=lambda how: _equal(here, there, how)))
    paired, in_order = _pair_rows(sides, _within(here, sides.pairing.source), _within(there, sides.pairing.destination))
    last_here, last_there = _last_of_each(sides, paired)
    missing = _unpaired(sides, paired.source, last_here, sides.source, sides.destination)
    extra = _unpaired(sides, paired.destination, last_there, sides.destination, sides.source)
    parted = None
    unexamined = reading.unexamined or reading.unexamined_copies
    if sides.is_sequence and (missing or extra or reading.unread or unexamined or in_order is False):
        parted = _where_they_part(sides, here, there)
        if parted[1] is None and not extra and not unexamined:
            # The destination has a beginning of the sequence: whatever was paired, what is missing is its end.
            if not sides.destination.is_cut:
                missing = [Unpaired(each.row, Fate.TO_COME) for each in missing]
            elif sides.destination.blocks:
                missing = []
    return Comparison(
        sides.how,
        sum(block.records for block, _copy in sides.pairing.pairs) + len(paired.pairs),
        missing,
        extra,
        reading.unread,
        reading.unexamined,
        reading.unexamined_copies,
        parted,
        in_order,
    )


def _last_paired(sides: Sides) -> tuple[int | None, int | None]:
    """Where on each side the last equal blocks end."""
    pairs = sides.pairing.pairs
    return max((block.end for block, _copy in pairs), default=None), max(
        (copy.end for _block, copy in pairs), default=None
    )


def _without_margin(blocks: list[Block], last: int | None, own: Half, other: Half) -> list[Block]:
    """Without those at the window's end whose partners stand where nothing was read."""
    if last is None or not other.is_cut:
        return blocks
    return [block for block in blocks if block.start < last or not own.beyond(block.place, block.start)]


def _beginning(blocks: list[Block], last: int | None, count: int) -> tuple[list[Block], list[Block]]:
    """Cut off the blocks at the end that come after `count` records behind the last equal block."""
    for number, block in enumerate(blocks):
        if last is not None and block.start < last:
            continue
        if count <= 0:
            return blocks[:number], blocks[number:]
        count -= block.records
    return blocks, []


def _at_most(blocks: list[Block]) -> tuple[list[Block], int]:
    """The first blocks that may be read, and how many records the others have."""
    total = 0
    for number, block in enumerate(blocks):
        total += block.records
        if total > READ_AT_MOST:
            return blocks[:number], sum(each.records for each in blocks[number:])
    return blocks, 0


def _within(rows: t.Sequence[Row], blocks: t.Iterable[Block]) -> list[Row]:
    """The records that these blocks hold; both are in order."""
    found = []
    waiting = iter(sorted(blocks))
    block = next(waiting, None)
    for row in rows:
        while block is not None and (block.place, block.end) <= (row.place, row.offset):
            block = next(waiting, None)
        if block is None:
            break
        if (block.place, block.start) <= (row.place, row.offset):
            found.append(row)
    return found


def _pair_rows(sides: Sides, here: list[Row], there: list[Row]) -> tuple[Pairing[Row], bool | None]:
    """Of equal records the first ones are paired, or the last ones where only that keeps the order.

    Where nothing keeps it the last ones are: then no record that is missing is taken for one that is still to come.
    """

    def content(row: Row) -> Content:
        return row.content(sides.how)

    paired = pair_up(here, there, content)
    if not sides.is_sequence:
        return paired, None
    if _in_order(sides.pairing.pairs, paired.pairs):
        return paired, True
    paired = pair_up(here, there, content, last_first=True)
    return paired, _in_order(sides.pairing.pairs, paired.pairs)


def _equal(here: list[Row], there: list[Row], how: Matching) -> int:
    return len(pair_up(here, there, lambda row: row.content(how)).pairs)


def _in_order(blocks: t.Iterable[tuple[Block, Block]], rows: t.Iterable[tuple[Row, Row]]) -> bool:
    points = [(record.offset, copy.offset) for record, copy in rows]
    points += [(block.start, copy.start) for block, copy in blocks]
    points.sort()
    return all(before[1] < after[1] for before, after in itertools.pairwise(points))


def _last_of_each(sides: Sides, paired: Pairing[Row]) -> tuple[dict[int, int], dict[int, int]]:
    """The offset of the last record with a partner, by place, of each side."""
    last: tuple[dict[int, int], dict[int, int]] = {}, {}
    ends = [((block.place, block.end - 1), (copy.place, copy.end - 1)) for block, copy in sides.pairing.pairs]
    ends += [((record.place, record.offset), (copy.place, copy.offset)) for record, copy in paired.pairs]
    for both in ends:
        for found, (place, offset) in zip(last, both, strict=True):
            found[place] = max(offset, found.get(place, -1))
    return last


def _unpaired(sides: Sides, rows: list[Row], last: dict[int, int], own: Half, other: Half) -> list[Unpaired]:
    found = []
    for row in rows:
        is_behind = row.offset > last.get(row.place, -1)
        if not other.is_cut:
            found.append(Unpaired(row, Fate.TO_COME if is_behind else Fate.COUNTS))
        elif not sides.is_sequence or is_behind or own.beyond(row.place, row.offset):
            # Behind the last record with a partner, others stand where nothing was read, which means nothing.
            if not (sides.is_sequence and is_behind and last):
                found.append(Unpaired(row, Fate.BEYOND))
        else:
            found.append(Unpaired(row, Fate.COUNTS))
    return found


def _first_difference(sides: Sides) -> int:
    """The number of the first block that is another on both sides, or that one side does not have."""
    for index, (block, copy) in enumerate(zip(sides.source.blocks, sides.destination.blocks, strict=False)):
        if block.content(sides.how) != copy.content(sides.how):
            return index
    return min(len(sides.source.blocks), len(sides.destination.blocks))


def _where_they_part(sides: Sides, here: list[Row], there: list[Row]) -> tuple[int | None, int | None]:
    number = _first_difference(sides)
    blocks, copies = sides.source.blocks[number:], sides.destination.blocks[number:]
    rows, others = _within(here, blocks[:1]), _within(there, copies[:1])
    same = 0
    while same < min(len(rows), len(others)) and rows[same].content(sides.how) == others[same].content(sides.how):
        same += 1
    return _offset_at(rows, same, blocks), _offset_at(others, same, copies)


def _offset_at(rows: list[Row], number: int, blocks: list[Block]) -> int | None:
    """The offset of a record of the first of these blocks, or of the first one of the next."""
    if number < len(rows):
        return rows[number].offset
    rest = blocks[1:] if number else blocks
    return rest[0].start if rest else None
