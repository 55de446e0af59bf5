# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""Where timestamps do not lead: by how much the offsets of both logs differ, if somebody has noted it.

A replication tool that keeps the order, between logs in which every offset holds a record, makes one difference for all
of them. It is believed where both logs show the same records at three places: around the committed offset, where the
destination begins, and where it ends. As many offsets lie in between on both sides then, and nothing else fits in.
Where values come again and again, another difference may show the same: so the last records must differ, and stand
nowhere else at the source.
"""

from __future__ import annotations

from .._model.match_on import Matching
from .._model.verdicts import Copied, Way
from . import rows
from .certificates import DISTINCT, Comparison, EndsBefore, Lossless, NoRecordBefore, SameDifference
from .certify import WIDTHS
from .evidence import Decision, Need, Question, Span
from .log_reader import NotRead, Reader

_LAST = 64  # records at the destination's end, no two of them equal, that must be found at one place only
_ROOM = 10_000  # offsets of the source among which they are looked for


def by_shift(reader: Reader) -> Decision | None:
    """What one of the differences in reader.question.shifts proves; None when none of them does. Raises NotRead."""
    for shift in reader.question.shifts:
        decision = _by_shift(_Shifted(reader, shift), reader.committed)
        if decision is not None:
            return decision
    return None


def where_it_goes_on(committed: int, offset: int, before: Copied | None, after: Copied | None) -> Copied | None:
    """The record and its copy from which goes_on() tells whether an exact decision still holds; None where nothing tells."""
    if before is None:
        return None  # no record was before the offset: nothing tells whether more stood there, or stands there again
    if after is None and before.source - before.destination != committed - offset:
        return None  # the copy was made again: consumed records may follow it once more
    return after or before


def goes_on(question: Question, anchor: Copied, timestamp: bool, gaps: bool = False) -> bool | Need:
    """Do both logs still go on alike, to the destination's end, from a record and its copy that were found before?

    timestamp: whether they were found to be equal with their timestamps. gaps: whether offsets are kept, see _Shifted. If the
    record has expired at the source, its copy and the first records that both logs still have say so. If just all that was
    copied has expired, the copy says so: nothing is before the offset that was not there, and the group reads on where it would
    have.
    """
    reader = Reader(question)
    logs = _Shifted(reader, anchor.source - anchor.destination, timestamp, gaps)
    begin = max(anchor.source, reader.source.start)
    try:
        if not (logs.low <= anchor.source < logs.high and begin <= logs.high <= reader.source.end):
            return False
        logs.want(begin, logs.high)
        if not logs.destination.want(anchor.destination, anchor.destination + 1):
            raise NotRead
        current = logs.anchor(anchor.destination)
        same = current is not None and current.fingerprint == anchor.fingerprint
        if begin == logs.high:
            return (
                same
                and not logs.has_gone_on(logs.high - anchor.source)
                and not logs.has_begun_again(anchor.destination)
            )
        return same and logs.same(begin) is not None and logs.same(logs.high) is not None and logs.alone()
    except NotRead:
        return reader.need()


def keeps_offsets(question: Question, timestamp: bool) -> Decision | Need | None:
    """The committed offset itself, if the copy has kept offsets, those without a record included; None if that is not proved.

    An offset before the destination's start becomes that start. timestamp: whether timestamps are compared.
    """
    reader = Reader(question)
    committed = max(question.committed, reader.destination.start)
    logs = _Shifted(reader, 0, timestamp, gaps=True)
    try:
        if not reader.destination.length and committed > logs.high:
            return _lags(logs, committed, NoRecordBefore(logs.high, records=0))
        return _by_shift(logs, committed)
    except NotRead:
        return reader.need()


def _by_shift(logs: _Shifted, committed: int) -> Decision | None:
    source, destination, first = logs.source, logs.destination, logs.first
    if not source.start <= first < logs.high <= source.end or committed < first:
        return None
    reached = min(committed, logs.high)
    logs.want(first, reached, logs.high)
    at_offset, at_start, at_end = logs.same(reached), logs.same(first), logs.same(logs.high)
    if at_offset is None or at_start is None or at_end is None or not (nowhere_else := logs.alone()):
        return None
    if logs.high < source.end and at_offset.whole and at_offset.distinct < DISTINCT:
        return None  # as few records may as well be the copies of later ones, which had been copied before the tool began again
    if committed > logs.high:
        unconsumed = logs.unconsumed_among_last(committed)
        lossless = None if unconsumed else EndsBefore(destination.end, at_start, at_end, nowhere_else, unconsumed)
        return _lags(logs, committed, lossless)
    offset = committed - logs.shift
    return Decision.exact(
        SameDifference(at_start, at_offset, at_end, nowhere_else),
        offset,
        before=logs.anchor(offset - 1) if committed > first else None,
        after=logs.anchor(offset),
        matched_by=logs.matching.parts,
        way=Way.DIFFERENCE,
    )


def _lags(logs: _Shifted, committed: int, lossless: Lossless | None) -> Decision | None:
    """The answer for an offset after the destination's end; None where no consumed record is seen that is still to come."""
    first = max(logs.high, logs.source.start)
    for width in WIDTHS:
        if consumed := logs.source.records(max(first, committed - width), committed):
            return rows.lags(logs.destination, consumed[-1].offset, lossless, first - 1, at_end=True).by(Way.DIFFERENCE)
    return None


class _Shifted:
    """Both logs, if a record's offset at the source is that of its copy plus `shift`.

    low and high are the edges of what the destination has, as offsets of the source. gaps: both logs may have offsets without
    a record, if they are the same ones, and the destination may have records that the source has lost: first is where both
    begin. There, four different records are always needed.
    """

    def __init__(self, reader: Reader, shift: int, timestamp: bool = False, gaps: bool = False) -> None:
        self.matching = Matching(timestamp, headers=True)
        self._gaps = gaps
        self.source, self.destination, self.shift = reader.source, reader.destination, shift
        self.low = reader.destination.start + shift
        self.high = reader.destination.end + shift
        self.first = max(self.low, self.source.start) if gaps else self.low

    def want(self, *places: int) -> None:
        """Note that same() will be asked for all of these."""
        for place in places:
            start, end = self._around(place, WIDTHS[0])
            self.source.want(start, end)
            self.destination.want(start - self.shift, end - self.shift)

    def same(self, place: int) -> Comparison | None:
        """The records around this offset of the source, if both logs show the same, and enough different ones."""
        for width in WIDTHS:
            start, end = self._around(place, width)
            if not all([self.source.want(start, end), self.destination.want(start - self.shift, end - self.shift)]):
                raise NotRead
            key = self.matching.key
            originals = self.source.records(start, end)
            copies = self.destination.records(start - self.shift, end - self.shift)
            source_keys = [(record.offset, key(record)) for record in originals]
            destination_keys = [(record.offset + self.shift, key(record)) for record in copies]
            if source_keys != destination_keys or (len(source_keys) < end - start and not self._gaps):
                return None
            distinct, whole = len({key(record) for record in originals}), end - start == self.high - self.low
            if (whole and originals) or distinct >= DISTINCT:
                return Comparison(len(source_keys), distinct, 1, whole)
        return None

    def has_gone_on(self, most: int) -> bool:
        """Is the destination's last record one of the first ones that the source has, or is that not known?

        Where the tool has not copied records that have expired, it may have copied as many of those that follow.
        """
        last = self.destination.records(self.destination.end - 1, self.destination.end)
        if most > _ROOM or not last:
            return not self._gaps  # whoever keeps offsets leaves gaps for what it has not copied, and for markers
        following = self.source.records(self.source.start, self.source.start + most)
        return last[0].bare in {record.bare for record in following}

    def has_begun_again(self, offset: int) -> bool:
        """Is a record after this offset of the destination a second copy, as times tell of the first ones and the last one?

        Raises NotRead.
        """
        end = self.destination.end
        after = self.destination.records(offset + 1, min(offset + 1 + _LAST, end)) + self.destination.records(
            end - 1, end
        )
        after = [record for record in after if record.offset > offset]
        self.destination.want_times(record.timestamp for record in after)
        for record in after:
            place = self.destination.first_at(record.timestamp)
            until = max(offset + 1, record.offset - _LAST)  # equal records of one time may stand side by side
            if place is not None and place < until:
                earlier = self.destination.records(place, min(place + _LAST, until))
                if any(record.bare == each.bare for each in earlier):
                    return True
        return False

    def alone(self) -> bool:
        """Do the destination's last records stand nowhere else at the source, as far as the destination might be shifted?

        Records of different times do not, unless producers write what they have written before.
        """
        start, end = self._around(self.high, _LAST)
        last = self.destination.records(start - self.shift, end - self.shift)
        if self.matching.timestamp and len({record.timestamp for record in last}) > 1:
            return True
        last_keys = [self.matching.key(record) for record in last]
        # Where destination-only records come first, the last copy stands further forward than that.
        earliest = min(self.source.start + self.high - self.low, self.high)
        if len(set(last_keys)) < len(last_keys) or self.source.end - earliest > _ROOM:
            return False
        source_keys = [
            self.matching.key(record) for record in self.source.records(earliest - len(last), self.source.end)
        ]
        ends = (end for end, key in enumerate(source_keys, 1) if key == last_keys[-1])
        return sum(source_keys[end - len(last_keys) : end] == last_keys for end in ends) == 1

    def unconsumed_among_last(self, committed: int) -> int:
        """How many of the destination's last records have the content of one of the first unconsumed ones."""
        last = self.destination.records(self.destination.end - _LAST, self.destination.end)
        contents = {record.bare for record in self.source.records(committed, committed + _LAST)}
        return sum(record.bare in contents for record in last)

    def anchor(self, offset: int) -> Copied | None:
        """The record that stands at this offset of the destination, if there is one."""
        for record in self.destination.records(offset, offset + 1):
            return Copied(offset + self.shift, offset, self.matching.fingerprint(record))
        return None

    def _around(self, place: int, width: int) -> Span:
        return max(place - width, self.low, self.source.start), min(place + width, self.high)
