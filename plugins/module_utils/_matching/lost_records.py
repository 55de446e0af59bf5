# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""Records that a group has not consumed and the source has lost: how many there were, and how many the destination has."""

from __future__ import annotations

import collections
import dataclasses
import functools
import itertools

from .._model.match_on import Matching
from .._model.progress import counted
from .._model.record_sum import Bound, RecordSum
from .._model.records import Record
from .between import Back, count_back
from .context import read_context
from .evidence import Decision
from .log_reader import Reader

_FEW = 4096  # records that are read for the sake of a number alone
_HEAD = 8  # records at the start of a log that tell it from another


@dataclasses.dataclass(frozen=True)
class LostRecords:
    """What has expired at the source before a group has consumed it.

    first: the first unconsumed record that is at the destination (L), None where none is. position: its offset at the source,
    or that of the destination's end.
    """

    reader: Reader
    first: Record | None
    position: int
    matching: Matching

    @property
    def expired(self) -> int:
        """How many offsets."""
        return self.reader.source.start - self.reader.committed

    @property
    def each_a_record(self) -> bool:
        """Was each of these offsets a record, as far as is known of the log?"""
        return not self.reader.source.has_gaps

    @property
    def begin(self) -> int:
        """The offset of L at the destination, or the destination's end."""
        return self.reader.destination.end if self.first is None else self.first.offset

    @functools.cached_property
    def counted_back(self) -> Back:
        """How far back at the destination as many records begin. Raises NotRead, BudgetSpent."""
        missing = self.position - self.reader.committed
        return count_back(self.reader.destination, self.matching, self.begin, self.first, missing)

    def back(self) -> tuple[int, str]:
        """The offset from which the destination has these records, as far as it has them, and how it was found."""
        offset, found, _records = self.counted_back
        if found:
            return offset, f"counted back {counted(found, 'record')}, assuming that nothing else writes there"
        return (
            offset,
            "the destination has none of them, and the group starts at the first record that the source still has",
        )

    def with_numbers(self, decision: Decision, ends_well: bool | None) -> Decision:
        """The decision that an option has led to, with how many records are repeated and lost, as far as that is known.

        ends_well: whether nothing consumed follows L; None where that is to be looked at here. Raises NotRead.
        """
        offset = decision.offset
        if offset is None or ("counted_back" not in vars(self) and self.position - self.reader.committed > _FEW):
            return decision
        repeats, lost = None, self._lost()
        if self.begin - offset <= _FEW and (self._ends_well() if ends_well is None else ends_well):
            repeats = len(self.reader.destination.records(offset, self.begin))
        bound = lost_bound(lost, self.expired, self.each_a_record)
        return dataclasses.replace(with_lost(decision, lost, bound), repeats=repeats)

    def _lost(self) -> int | None:
        """How many the destination has lost, too, or has never got. Without L, what it has may be consumed.

        None as well where only equal records of one time could be the missing ones: nobody can tell them from second copies.
        And where L has a lower offset than at the source, because what was counted back may be consumed records instead.
        """
        back = self.counted_back
        if self.first is None and back.found:
            return None
        missing = min(self.expired, self.position - self.reader.committed)
        if back.found >= missing:
            return 0 if self.begin >= self.position else None
        # Markers may be among the missing ones, and consumed records among those counted back: with both, it is no bound.
        is_bound = self.each_a_record or not back.records
        return missing - back.records if back.records < missing and is_bound else None

    def _ends_well(self) -> bool:
        """Where both logs were read whole: does each content from L on stand there as often as the source still has it?

        Where a copy of it is missing, one that is there may be that of an equal consumed record, made again.
        """
        source, destination = self.reader.source, self.reader.destination
        if not self.reader.fits:
            return False
        copies = collections.Counter(map(self.matching.key, destination.records(self.begin, destination.end)))
        kept = itertools.chain(*source.with_aborted(source.start, source.end))
        originals = collections.Counter(map(self.matching.key, kept))
        return all(originals[key] == count for key, count in copies.items())


def lost_bound(lost: int | None, expired: int, each_a_record: bool) -> Bound:
    """What a number of lost records is to the true one. expired: how many offsets the source has lost."""
    if not lost:
        return Bound.EXACTLY
    if not each_a_record:
        return Bound.AT_MOST
    return Bound.AT_LEAST if lost < expired else Bound.EXACTLY


def with_lost(decision: Decision, lost: int | None, bound: Bound, label: str = "lost on both clusters") -> Decision:
    """The decision, with how many records are lost, and the same in words in its detail."""
    text = f"; {label}: {RecordSum(lost, bound).clause('record')}" if lost else ""
    return dataclasses.replace(decision, lost=lost, lost_bound=bound, detail=decision.detail + text)


def lost_until(reader: Reader) -> int | None:
    """Up to which time (ms) a destination-only record may be a copy of a consumed record that the source has lost.

    That is as old as the last consumed record which is left; or as the first unconsumed one if the source has lost all
    consumed ones, or if compaction may have taken some in between. None where nothing was lost. Raises NotRead.
    """
    facts = reader.source.facts
    if not facts.is_lossy:
        return None
    context = read_context(reader.source, reader.committed, 1)
    last, following = context.before[-1:], context.after[:1]
    may_follow = not last or (facts.compacted and last[0].offset + 1 < reader.committed)
    youngest = following if may_follow and following else last
    return youngest[0].timestamp if youngest else None


def lost_before_any(reader: Reader) -> int | None:
    """How many records have left both logs of all that there were; None where the copy of the source's first one is not found.

    Raises NotRead.
    """
    source, destination = reader.source, reader.destination
    if not source.start:
        return 0
    if destination.facts.log_start == destination.facts.high_watermark:
        return source.start  # nothing was copied, or all of it has expired, too
    originals, _aborted = source.with_aborted(source.start, source.start + _HEAD)
    copies = destination.records(destination.start, destination.start + _HEAD)
    if not originals:
        return None
    if [record.bare for record in originals] == [record.bare for record in copies]:
        return source.start
    first = originals[0]
    begin = destination.first_at(first.timestamp)
    near = [] if begin is None else destination.records(begin, begin + _HEAD)
    at = next((copy.offset for copy in near if (copy.timestamp, copy.bare) == (first.timestamp, first.bare)), None)
    return None if at is None else max(0, source.start - (at - destination.start))
