# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What is counted for a claim, and how the counts of several contents add up. Pure."""

from __future__ import annotations

import typing as t

PlaceInClaim = tuple[int, int]  # the number of a partition among those of a claim, and an offset


class Spot(t.NamedTuple):
    """Where a record is: at the source, at the destination, or on both sides."""

    source: PlaceInClaim | None
    destination: PlaceInClaim | None


class Counts(t.NamedTuple):
    """What the offsets of a claim do.

    compared: unconsumed records with a copy from the offset on. skipped: unconsumed records whose copy lies before it.
    absent: unconsumed records without a copy, though the replication tool has copied later ones; to_come: the others.
    repeated: consumed records from the offset on. recopied: unconsumed ones that are there more often than at the
    source. destination_only: destination-only records. pending: consumed records that the replication tool has still to
    copy, which then come after the offset. doubtful: unconsumed records that are skipped if copies which follow the offset
    are those of equal records that were written later. aborted: copies of records of aborted transactions, which are
    neither destination-only nor recopied. unseen: of those to come, the records that have a copy if it is before all that was
    read. The first of three kinds are named.
    """

    compared: int = 0
    skipped: int = 0
    absent: int = 0
    to_come: int = 0
    repeated: int = 0
    recopied: int = 0
    destination_only: int = 0
    pending: int = 0
    doubtful: int = 0
    aborted: int = 0
    unseen: int = 0
    first_skipped: Spot | None = None
    first_absent: Spot | None = None
    first_repeated: Spot | None = None


# So many members of Counts are numbers; the others are spots.
NUMBERS = 11


class ToolProgress(t.NamedTuple):
    """How far the replication tool has come, by source partition: the last offset of a record that is there.

    timed: by copies with the times of their records; timed_once: by those that are the only one of content and time, as is the
    record. once, in_a_row: by contents that occur once on each side, whatever their times; the second by at least four such
    contents. reached: as far as any number of copies may mean; a record that stands after it and has no copy is still to come.
    The first is never too high in a faithful copy of all records, the last never too low.
    """

    timed: dict[int, int]
    timed_once: dict[int, int]
    once: dict[int, int]
    in_a_row: dict[int, int]
    reached: dict[int, int]

    @classmethod
    def none(cls) -> t.Self:
        """Nothing is known."""
        return cls({}, {}, {}, {}, {})

    def arrived(self, everything: bool) -> dict[int, int]:
        """Before these offsets, records without a copy are absent.

        everything: whether all that was ever at the source was counted. If not, contents may occur once because others like
        them were not, and if times are not kept, the copy may be that of one of these. So it may if several equal records have
        one time, as others of this time may have been lost.
        """
        return (self.timed or self.once) if everything else (self.timed_once or self.in_a_row)


def furthest(progress: t.Iterable[ToolProgress]) -> ToolProgress:
    """Of all of these together."""
    result = ToolProgress.none()
    for part in progress:
        for highest, offsets in zip(result, part, strict=True):
            for place, offset in offsets.items():
                highest[place] = max(offset, highest.get(place, -1))
    return result


def total(counts: t.Iterable[Counts]) -> Counts:
    """All of these together, with the first spot of each kind."""
    several = [each for each in counts if any(each)]
    if len(several) < 2:
        return several[0] if several else Counts()
    columns = list(zip(*several, strict=True))
    firsts = [min((spot for spot in column if spot), key=_order, default=None) for column in columns[NUMBERS:]]
    numbers: list[t.Any] = [sum(column) for column in columns[:NUMBERS]]
    return Counts(*numbers, *firsts)


def with_aborted(counts: Counts, uncommitted: Counts) -> Counts:
    """The counts of what a read_committed consumer sees of the source, with copies of aborted records named as such.

    uncommitted: the counts of the same offsets, where aborted records count as records of the source, too.
    """
    destination_only = min(counts.destination_only, uncommitted.destination_only)
    recopied = min(counts.recopied, uncommitted.recopied)
    aborted = counts.destination_only - destination_only + counts.recopied - recopied
    return counts._replace(destination_only=destination_only, recopied=recopied, aborted=aborted)


def _order(spot: Spot) -> tuple[PlaceInClaim, PlaceInClaim]:
    return spot.source or (0, 0), spot.destination or (0, 0)
