# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.

"""Records that a group has not consumed and the source has lost: how many there were, and how many the destination has."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import itertools

from .._model.match_on import Matching
from .._model.record_sum import Bound, RecordSum
from .._model.records import Record
from .._model.wording import counted
from .between import Back, count_back
from .context import read_context
from .evidence import Decision, LogFacts
from .log_reader import BudgetSpent, Reader

_FEW = 4096  # records that are read for the sake of a number alone
_AROUND = 8  # offsets around the committed one, which the near way has read, too
_SEEN = 512  # offsets at the start of a log that tell whether it has markers
_HEAD = 8  # records at the start of a log that tell it from another


@dataclasses.dataclass(frozen=True)
class LostRecords:
    """What has expired at the source before a group has consumed it.

    first: the first unconsumed record that is at the destination (L), None where none is. position: its offset at the source,
    or that of the destination's end. counted: whether both logs were read whole. first_copied: the destination offset of the
    first copy of what the source still has, if that may be before L, and not both logs were read.
    """

    reader: Reader
    first: Record | None
    position: int
    matching: Matching
    counted: bool = False
    first_copied: int | None = None

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

    @property
    def has_copies(self) -> bool:
        """Has the destination any record? Raises NotRead."""
        destination = self.reader.destination
        return self.first is not None or bool(destination.last_before(destination.end, _AROUND))

    @property
    def missing(self) -> int:
        """How many offsets were before L, or the destination's end, that the group has not consumed."""
        return self.position - self.reader.committed

    @functools.cached_property
    def counted_back(self) -> Back:
        """How far back at the destination as many records begin. Raises NotRead, BudgetSpent."""
        return self._count_back(self.reader.destination.budget)

    def _count_back(self, reach: int) -> Back:
        """reach: see count_back()."""
        begin = copies_from(self.reader) if self.first is None else self.begin
        if self.first_copied is not None:
            begin = min(begin, self.first_copied)
        lost = self.missing
        if self.counted and not self.reader.source.facts.compacted:
            lost = min(lost, self.expired)  # no copy counts of what the source still has, aborted records included
        return count_back(self.reader, self.matching, begin, self.first, lost, reach, whole=self.counted)

    def back(self) -> tuple[int, str]:
        """The offset from which the destination has these records, as far as it has them, and how it was found."""
        offset, found, _records, is_sure = self.counted_back
        none_known = none_equal(self.reader) if self.first is None and self.has_copies else ""
        if found:
            earlier = (
                "" if is_sure else " and that none of these has an earlier copy more than search_limit offsets back"
            )
            how = (
                f"counted back {counted(found, 'record')}, assuming that nothing else writes there{earlier}{none_known}"
            )
            return offset, how
        if self.first is not None and offset < self.begin:
            how = "no record of the destination is surely one of them, and the group starts at the start of its log"
        elif self.first is not None:
            how = "the destination has none of them, and the group starts at the first record that the source still has"
        elif self.has_copies:
            how = (
                "no record is before those that may be copies of what the source still has, and the group starts there"
            )
        else:
            deleted = deleted_records(self.reader.destination.facts)
            how = f"the destination has none of them, and the group starts at its end{deleted}"
        return offset, how + none_known

    def with_numbers(self, decision: Decision, ends_well: bool | None) -> Decision:
        """The decision that an option has led to, with how many records are repeated and lost, as far as that is known.

        ends_well: whether nothing consumed follows L; None where that is to be looked at here. Raises NotRead.
        """
        offset = decision.offset
        to_read = self.reader.destination.length if self.first is None else self.missing
        if offset is None or (
            "counted_back" not in vars(self) and to_read > min(_FEW, self.reader.policy.search_limit)
        ):
            return decision
        repeats = lost = None
        with contextlib.suppress(BudgetSpent):
            reach = min(_FEW, self.reader.policy.search_limit)
            lost = self._lost(vars(self).get("counted_back") or self._count_back(reach))
        if self.begin - offset <= _FEW and (self._ends_well() if ends_well is None else ends_well):
            repeats = len(self.reader.destination.records(offset, self.begin))
        bound = lost_bound(lost, self.expired, self.each_a_record)
        return dataclasses.replace(with_lost(decision, lost, bound), repeats=repeats)

    def _lost(self, back: Back) -> int | None:
        """How many the destination has lost, too, or has never got. Without L, what it has may be consumed.

        None as well where only equal records of one time could be the missing ones: nobody can tell them from second copies.
        And where L has a lower offset than at the source, or records come more than once, because what was counted back may be
        consumed records instead. And where times do not tell, and L may be the copy of an equal lost record.
        """
        if (self.first is None and self.has_copies) or back.records is None or not back.is_sure:
            return None
        if self.first is not None and not self.matching.timestamp and not self._ends_well():
            return None
        missing = min(self.expired, self.missing)
        if back.found >= missing:
            return 0 if self.begin >= self.position and back.records == back.found else None
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
    if lost < expired:  # markers may be among those that are missing, and other records among those that are there
        return Bound.ABOUT
    return Bound.EXACTLY if each_a_record else Bound.AT_MOST


def with_lost(decision: Decision, lost: int | None, bound: Bound, label: str = "lost on both clusters") -> Decision:
    """The decision, with how many records are lost, and the same in words in its detail."""
    text = f"; {label}: {RecordSum(lost, bound).clause('record')}" if lost else ""
    return dataclasses.replace(decision, lost=lost, lost_bound=bound, detail=decision.detail + text)


def copies_from(reader: Reader) -> int:
    """Where the destination's copies of unconsumed records that the source still has can begin, if none of them is known.

    The replication tool may have changed them, or it lags. Copies have the times of their records, or later ones, or none. The
    destination's end where the source has no such record, or none can be there. Raises NotRead.
    """
    destination = reader.destination
    times = [record.timestamp for record in read_context(reader.source, reader.committed, _AROUND).after]
    if times and any(record.timestamp < 0 for record in destination.last_before(destination.end, _AROUND)):
        return destination.start
    begin = destination.first_at(min(times)) if times else None
    return destination.end if begin is None else begin


def none_equal(reader: Reader) -> str:
    """That no record of the destination is known, a clause; nothing if the source has none to compare with. Raises NotRead."""
    if not read_context(reader.source, reader.committed, _AROUND).after:
        return ""
    return (
        "; no record of the destination equals one that the source still has: the replication tool lags or changes records, or "
        "this is another topic"
    )


def deleted_records(destination: LogFacts) -> str:
    """That the destination has deleted what it had before, a clause; nothing where it has all."""
    start = destination.log_start
    if not start:
        return ""
    begins, gone = ("is empty and starts", "there") if destination.high_watermark <= start else ("starts", "before")
    return (
        f"; the destination's log {begins} at offset {start}: retention or DeleteRecords has deleted what was {gone}, which "
        "a replication tool that goes on does not copy again"
    )


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
    """How many records have left both logs of all that there were, see lost_bound().

    None where the copy of the source's first one is not found, or where nobody knows how many offsets were markers. Raises
    NotRead.
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
    if at is None:
        return None
    # Markers are no records. Of many offsets, the first ones tell whether there are any.
    before = at - destination.start
    seen = min(before, _SEEN)
    known = len(destination.records(destination.start, destination.start + seen))
    if known < seen:
        if seen < before or source.has_gaps:
            return None
        before = known
    return max(0, source.start - before)
