# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""The definition of what is promised: counting contents in two logs that were read whole.

A consumer sees the content of a record: key, value, headers, and the timestamp where the destination keeps it. It cannot tell
records of equal content apart, so the rule does not have to either. For each content, the group has not consumed `wanted`
records, and the destination holds some copies. The offset is the largest one from which on every content stands as often as
it is wanted, as far as it is there: nothing is skipped, and no lower offset repeats less. Then the offset moves down to the
last consumed copy before it, because what stands in between is new to the group.

Time only separates what content cannot. A copy with the source's time is counted by content and time. A copy whose time the
broker has stamped is counted by content alone. A copy with another time stands for those records of its content that are not
there with their own.
"""

from __future__ import annotations

import collections
import typing as t

from .._model.records import Record
from .axis import Axis, Sides
from .contents import Alike, Named, alike_contents, copies_of_aborted, put_together
from .counted_contents import CountedContents, Once
from .group_count import CountedPair, GroupCount, GroupPosition, count_group
from .lost import Sighting, copies_of_lost
from .tallies import Name


class LogSet(t.NamedTuple):
    """Whole logs of one cluster that are counted together: the visible records of each, and its start and its end."""

    records: t.Sequence[t.Sequence[Record]]
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    @property
    def axis(self) -> Axis:
        """Their places."""
        return Axis(self.starts)

    def places(self) -> t.Iterator[tuple[int, int, Record]]:
        """The position of each record's log, its place, and the record."""
        axis = self.axis
        for position, records in enumerate(self.records):
            base = position * axis.step - self.starts[position]
            for record in records:
                yield position, base + record.offset, record


class Logs:
    """Logs that were read whole, and those that hold their copies, ready to be counted for any number of groups.

    source: the records that the source still has, aborted ones left out and those of open transactions included. copies:
    the visible records of the destination. timestamps: whether times are compared at all. Copies whose headers the source does
    not have (tools add some) count as copies with another time, unless they have the source's.
    stable, only_doubled, lossy: see CountedPair. Copies that can only be those of lost records stand for nothing.
    aborted: source records of aborted transactions, which some tools copy. The group never reads them at the source, so the
    offset goes past copies of those before the committed one where that skips nothing. Only of a single log.
    """

    def __init__(
        self,
        source: LogSet,
        copies: LogSet,
        *,
        timestamps: bool,
        aborted: t.Sequence[Record] = (),
        stable: tuple[int, ...] | None = None,
        only_doubled: bool = True,
        lossy: bool = False,
    ) -> None:
        sides = Sides(source.axis, range(len(source.records)), copies.axis, range(len(copies.records)))
        self._pair = CountedPair(sides, copies.ends, timestamps, stable, only_doubled, lossy)
        lost: list[int] = []
        if timestamps and lossy:
            copies, lost = self._without_lost(source, copies)
        self._of_aborted = self._copies_of_aborted(aborted, source, copies)
        once, others = self._told_apart(source, copies)
        self._contents = CountedContents(
            sides,
            others.contents,
            once=once,
            ages={place: copy.timestamp for _at, place, copy in copies.places()}
            if len(sides.destinations) > 1
            else None,
            recurs=self._pair.recurs,
            aborted=self._of_aborted,
            lost=lost,
            kept=(others.kept_times, others.kept_headers),
        )

    def count(self, committed: t.Sequence[tuple[int, ...]], lost_until: int | None = None) -> list[GroupCount]:
        """Where groups belong that have consumed everything before these offsets, one for each source log.

        lost_until: see GroupPosition.
        """
        positions = (GroupPosition(0, offsets, lost_until) for offsets in committed)
        return [count_group(self._pair, self._contents, position) for position in positions]

    def _without_lost(self, source: LogSet, copies: LogSet) -> tuple[LogSet, list[int]]:
        """The copies without those that can only be of lost records, and the places of these."""
        lost = copies_of_lost(
            (Sighting(record.bare, record.timestamp, at, record.offset) for at, _place, record in source.places()),
            (Sighting(copy.bare, _kept_time(copy), at, copy.offset) for at, _place, copy in copies.places()),
        )
        left = [[copy for copy in log if (at, copy.offset) not in lost] for at, log in enumerate(copies.records)]
        places = [place for at, place, copy in copies.places() if (at, copy.offset) in lost]
        return copies._replace(records=left), places

    def _told_apart(self, source: LogSet, copies: LogSet) -> tuple[list[Once], Alike]:
        """What occurs once on each side, with all that tells it apart; other contents, with what all copies have kept."""
        originals, copies_by_family = self._by_family(source), self._by_family(copies)
        once: list[Once] = []
        others: list[Alike] = []
        for family, records in originals.items():
            family_copies = copies_by_family.pop(family, [])
            if len(records) == len(family_copies) == 1:  # nearly all
                (place, record), (copy_place, copy) = records[0], family_copies[0]
                time = self._time(copy)
                if record.fingerprint == copy.fingerprint and (time is None or time == record.timestamp):
                    once.append((place, copy_place, record.timestamp, time is None))
                    continue
            others.append(self._alike(records, family_copies))
        others += [self._alike([], family_copies) for family_copies in copies_by_family.values()]
        together = put_together(others)
        kept_times = together.kept_times and not any(is_stamped for *_pair_and_time, is_stamped in once)
        return once, together._replace(kept_times=kept_times)

    def _by_family(self, logs: LogSet) -> dict[Name, list[tuple[int, Record]]]:
        families: dict[Name, list[tuple[int, Record]]] = collections.defaultdict(list)
        for _at, place, record in logs.places():
            families[record.bare].append((place, record))
        return families

    def _alike(self, records: list[tuple[int, Record]], copies: list[tuple[int, Record]]) -> Alike:
        # Beside copies that have kept their headers, that of an aborted record is none of an equal one that has other headers.
        names = {record.fingerprint for _place, record in records}
        not_theirs = self._of_aborted if any(copy.fingerprint in names for _place, copy in copies) else {}
        return alike_contents(
            [Named(place, record.fingerprint, record.timestamp) for place, record in records],
            [
                Named(place, copy.fingerprint, None if place in not_theirs else self._time(copy))
                for place, copy in copies
            ],
            self._pair.timestamps,
        )

    def _time(self, copy: Record) -> int | None:
        return _kept_time(copy) if self._pair.timestamps else None

    def _copies_of_aborted(self, aborted: t.Sequence[Record], source: LogSet, copies: LogSet) -> dict[int, int]:
        if not aborted:
            return {}
        known = {record.fingerprint for _at, _place, record in source.places()}
        sides = self._pair.sides
        originals = copies_of_aborted(aborted, known, copies.records[0], self._pair.timestamps)
        return {
            sides.destination.place(0, copy): sides.source.place(0, original) for copy, original in originals.items()
        }


def _kept_time(copy: Record) -> int | None:
    return None if copy.log_append_time else copy.timestamp
