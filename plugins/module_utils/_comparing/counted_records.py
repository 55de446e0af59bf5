# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The records of both sides that a verification counts, by content. Pure."""

from __future__ import annotations

import typing as t

from .._matching.contents import Named, told_apart
from .._matching.lost import KeptTimes, Sighting, copies_of_lost
from .._matching.tallies import Time
from .sums import PlaceInClaim


class CountedRecord(t.NamedTuple):
    """A record of either side; the time of a copy is None where the broker has stamped it, and where none are compared."""

    place: int
    offset: int
    time: Time


class OneContent(t.NamedTuple):
    """The source records and the copies of one content. headers_changed: whether copies have others than their records."""

    source: t.Sequence[CountedRecord]
    copies: t.Sequence[CountedRecord]
    headers_changed: bool = False


class HeaderNames(t.NamedTuple):
    """What tells records apart that are alike but for headers: by partition and offset, of those that have headers."""

    source: dict[PlaceInClaim, bytes]
    copies: dict[PlaceInClaim, bytes]


class AlikeRecords(t.NamedTuple):
    """Records of either side that are alike but for headers."""

    source: list[CountedRecord]
    copies: list[CountedRecord]

    def contents(self, names: HeaderNames, timestamps: bool) -> t.Iterator[OneContent]:
        """Told apart as the rule does it. names: at least theirs. timestamps: whether times are compared at all."""
        if not self.source or not any(
            record[:2] in side_names
            for side_names, records in zip(names, self, strict=True)
            if side_names
            for record in records
        ):
            yield OneContent(self.source, self.copies)
            return
        for told in told_apart(_named(self.source, names.source), _named(self.copies, names.copies), timestamps):
            yield OneContent(
                [CountedRecord(*spot, time) for spot, time in told.source],
                [CountedRecord(*spot, time) for spot, time in told.copies],
                told.name is None,
            )


def _named(records: t.Iterable[CountedRecord], names: t.Mapping[PlaceInClaim, bytes]) -> list[Named[PlaceInClaim]]:
    return [Named(record[:2], names.get(record[:2], b""), record.time) for record in records]


def without_lost(records: t.Mapping[bytes, AlikeRecords], others: t.Iterable[KeptTimes]) -> dict[bytes, AlikeRecords]:
    """The same but for copies of records that the source has lost, if it has lost any. By what records are without headers.

    others: what further contents say, none of whose copies have other times.
    """
    lost = copies_of_lost(
        (_sighting(name, record) for name, alike in records.items() for record in alike.source),
        (_sighting(name, record) for name, alike in records.items() for record in alike.copies),
        others,
    )
    return {
        name: alike._replace(copies=[copy for copy in alike.copies if copy[:2] not in lost])
        for name, alike in records.items()
    }


def _sighting(name: bytes, record: CountedRecord) -> Sighting:
    return Sighting(name, record.time, record.place, record.offset)
