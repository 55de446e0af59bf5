# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is true of a destination offset, by brute force from provenance; knows nothing of how offsets are found.

Equal records - same fingerprint, same timestamp - cannot be told apart by anybody, the consumer included. So they
are counted and not named: what is judged is whether exchanging equal destination records makes the offset right.
Of the records of one content that a consumer starting at D reads,

* lost are the different unconsumed ones that are at the destination, less all that it reads: it gets fewer of this
  content than the destination has for it;
* repeated are the copies of consumed ones, less those that stand in for unconsumed ones before D - or never
  copied, where both logs hold the same number of equal records: drops and copies made again then cancel out unseen. Nor is
  anything repeated where no more of a content follow than are unconsumed.

Where a record has no equal this is exactly "all copies are before D" and "copies of consumed records at or after D".
A foreign record with the fingerprint of a source record stands in for its copy in both sums, for the same reason, and
so does the copy of an aborted one after C.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import itertools
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import NO_TIMESTAMP
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.truth import (
    Arrived,
    Scenario,
    Written,
)

Content = tuple[str, int]  # what a consumer can see of a record: its text and, where it can be compared, its time


@dataclasses.dataclass(frozen=True)
class Oracle:
    """The truth of one scenario."""

    scenario: Scenario

    @functools.cached_property
    def compares_time(self) -> bool:
        """Can the timestamps of both sides be compared at all?"""
        s = self.scenario
        stamped = all(written.timestamp != NO_TIMESTAMP for written in s.written)
        return s.policy.with_timestamp and not s.destination_facts.log_append_time and stamped

    def content(self, record: Written | Arrived) -> Content:
        """What makes two records equal."""
        text = record.text.partition("+")[0] if "headers_added" in self.scenario.traits else record.text
        return text, record.timestamp if self.compares_time else 0

    @functools.cached_property
    def visible(self) -> list[Written]:
        """The source records that a read_committed consumer still sees, or will see when open transactions are committed."""
        start = self.scenario.source_facts.log_start
        return [
            w
            for w in self.scenario.written
            if self.scenario.counts(w) and start <= w.offset and w.compacted > self.scenario.stage
        ]

    @functools.cached_property
    def consumed(self) -> dict[int, Written]:
        """Visible source records before the committed offset, by offset."""
        return {w.offset: w for w in self.visible if w.offset < self.scenario.committed}

    @functools.cached_property
    def unconsumed(self) -> dict[int, Written]:
        """Visible source records at or after the committed offset, by offset."""
        return {w.offset: w for w in self.visible if w.offset >= self.scenario.committed}

    @functools.cached_property
    def owed(self) -> collections.Counter[Content]:
        """How many different unconsumed records of each content are at the destination."""
        copied = {a.origin for a in self.scenario.arrived}
        return collections.Counter(self.content(w) for w in self.unconsumed.values() if w.offset in copied)

    def ahead(self, offset: int) -> collections.Counter[Content]:
        """What a consumer reads that starts at this destination offset."""
        return collections.Counter(self.content(a) for a in self.scenario.arrived if a.offset >= offset)

    def lost(self, offset: int) -> int:
        """How many unconsumed records that are at the destination a consumer misses that starts here."""
        ahead = self.ahead(offset)
        return sum(max(0, owed - ahead[content]) for content, owed in self.owed.items())

    def repeats(self, offset: int) -> int:
        """How many consumed records, still at the source, a consumer reads again that starts here."""
        again = collections.Counter(
            self.content(a) for a in self.scenario.arrived if a.offset >= offset and a.origin in self.consumed
        )
        wanted = collections.Counter(self.content(w) for w in self.unconsumed.values())
        ahead = self.ahead(offset)
        return sum(
            min(max(0, count - self._stand_ins(content, offset)), max(0, ahead[content] - wanted[content]))
            for content, count in again.items()
        )

    def _stand_ins(self, content: Content, offset: int) -> int:
        """How many copies of consumed records may be taken for equal ones: unconsumed, aborted or foreign ones after."""
        equal, at_source = self._equal_copies[content], self._equal_at_source[content]
        read = {a.origin for a in equal if a.offset >= offset}
        copied = {a.origin for a in equal}
        visible = sum(1 for w in at_source if self.scenario.counts(w))
        counted_out = len(equal) in (visible, len(at_source))
        missed = [
            w.offset
            for w in at_source
            if w.offset in self.unconsumed and w.offset not in read and (w.offset in copied or counted_out)
        ]
        never_due = {w.offset for w in at_source if w.kind == "aborted" and w.offset >= self.scenario.committed}
        unseen = [a for a in equal if a.offset < offset and (a.origin is None or a.origin in never_due)]
        return len(missed) + len(unseen)

    @functools.cached_property
    def _equal_copies(self) -> dict[Content, list[Arrived]]:
        equal: dict[Content, list[Arrived]] = collections.defaultdict(list)
        for arrived in self.scenario.arrived:
            equal[self.content(arrived)].append(arrived)
        return equal

    @functools.cached_property
    def _equal_at_source(self) -> dict[Content, list[Written]]:
        """Visible and aborted ones."""
        equal: dict[Content, list[Written]] = collections.defaultdict(list)
        for written in (*self.visible, *(w for w in self.scenario.written if w.kind == "aborted")):
            equal[self.content(written)].append(written)
        return equal

    def lost_for_good(self, offset: int) -> list[int]:
        """Source offsets of unconsumed records that only the destination still has, before this offset."""
        ahead = {a.origin for a in self.scenario.arrived if a.offset >= offset}
        before = {a.origin for a in self.scenario.arrived if a.offset < offset} - ahead
        facts = self.scenario.source_facts
        return [
            w.offset
            for w in self.scenario.written
            if w.kind == "data"
            and self.scenario.committed <= w.offset < facts.end
            and w.offset not in self.unconsumed
            and w.offset in before
        ]

    def best(self) -> tuple[int, int]:
        """(offset, repeats): what loses nothing and repeats fewest; the first of several."""
        facts = self.scenario.destination_facts
        offsets = [facts.log_start, *(a.offset + 1 for a in self.scenario.arrived)]
        repeats, offset = min((self.repeats(offset), offset) for offset in offsets if self.lost(offset) == 0)
        return offset, repeats

    # What can be known from reading everything that is left

    @functools.cached_property
    def all_unlike(self) -> bool:
        """Has every record that the source ever held its own text, and no foreign record one of them?"""
        ever = [self.content(w)[0] for w in self.scenario.written if w.kind != "marker"]
        foreign = {self.content(a)[0] for a in self.scenario.arrived if a.origin is None}
        return len(ever) == len(set(ever)) and foreign.isdisjoint(ever)

    @functools.cached_property
    def within(self) -> bool:
        """Does the committed offset lie in what a consumer can read, so that the rule itself has to answer?"""
        facts = self.scenario.source_facts
        return self.scenario.committed > 0 and facts.log_start <= self.scenario.committed <= facts.end

    @functools.cached_property
    def purely_unconsumed_copied(self) -> bool:
        """Is a record at the destination that can only be a copy of an unconsumed one?"""
        before = {
            self.content(w) for w in self.scenario.written if w.kind != "marker" and w.offset < self.scenario.committed
        }
        return any(content not in before for content in self.owed)

    @functools.cached_property
    def exact_is_known(self) -> bool:
        """Does reading everything tell an offset that neither loses nor repeats?"""
        facts = self.scenario.source_facts
        if not self.within:
            return False
        aborted = {w.offset for w in self.scenario.written if w.kind == "aborted"}
        if any(arrived.origin in aborted for arrived in self.scenario.arrived):
            return False  # what is counted leaves aborted records out, and their copies are nobody's
        copied = {arrived.origin for arrived in self.scenario.arrived}
        if self.scenario.destination_facts.log_append_time and any(offset not in copied for offset in self.consumed):
            return False  # no time shows that the replication tool has passed a consumed record without a copy
        if not self.visible:
            return not self.scenario.arrived and self.scenario.committed == facts.end == facts.high_watermark
        return self._mirrored or (self.all_unlike and self._sides_stand_apart)

    @property
    def _times_are_doubted(self) -> bool:
        """Has a time more copies of a text than records, and another one fewer? Then some may have been given another time."""
        if not self.scenario.policy.with_timestamp or self.scenario.destination_facts.log_append_time:
            return False
        surplus = collections.Counter((a.text, a.timestamp) for a in self.scenario.arrived)
        surplus.subtract((w.text, w.timestamp) for w in self.visible)
        more = {text for (text, _time), count in surplus.items() if count > 0}
        return any(text in more for (text, _time), count in surplus.items() if count < 0)

    @property
    def _mirrored(self) -> bool:
        """Is the destination the source's beginning, record by record?

        Equal records on both sides of the committed offset are then told by counting, if all of them have arrived,
        and the source has none besides that it lost or that was aborted.
        """
        s, facts = self.scenario, self.scenario.source_facts
        contents = [self.content(a) for a in s.arrived]
        if facts.compacted or facts.log_start or contents != [self.content(w) for w in self.visible][: len(contents)]:
            return False
        before = collections.Counter(self.content(w) for w in self.consumed.values())
        after = collections.Counter(self.content(w) for w in self.unconsumed.values())
        aborted = {self.content(w) for w in s.written if w.kind == "aborted"}
        on_both_sides = before.keys() & after.keys()
        counts = collections.Counter(contents)
        return (
            0 < len(self.consumed) <= len(contents)
            and not self._times_are_doubted
            and aborted.isdisjoint(contents)
            and all(counts[content] == before[content] + after[content] for content in on_both_sides)
        )

    @property
    def _sides_stand_apart(self) -> bool:
        """Where every record has its own content: do all consumed ones stand before all unconsumed ones?

        Each destination record is known to be consumed, unconsumed, or not at the source (any more). What stands
        between the two sides must be told apart as well: it can only be foreign where the source has lost
        nothing on the consumed side, and only be consumed or foreign where it has lost nothing on the other.
        Where the end of the destination is reached, lag and loss look the same unless the last consumed record
        arrived.
        """
        s, facts = self.scenario, self.scenario.source_facts
        aborted = [w for w in s.written if w.kind == "aborted" and w.compacted > s.stage]
        sided = {w.offset for w in aborted if facts.log_start <= w.offset < facts.end}
        sided.update(
            self.consumed, self.unconsumed
        )  # aborted records have their side too, some replication tools copy them
        consumed = [a for a in s.arrived if a.origin in sided and a.origin < s.committed]
        unconsumed = [a for a in s.arrived if a.origin in sided and a.origin >= s.committed]
        origins = [a.origin for a in s.arrived if a.origin in sided]
        in_order = all(x < y for x, y in itertools.pairwise(origins) if x is not None and y is not None)
        lossless = s.source_facts.log_start == 0 and not s.source_facts.compacted
        if not in_order and not (lossless and unconsumed):
            return False
        if not unconsumed:
            if not consumed or t.cast(int, consumed[-1].origin) < max(self.consumed, default=s.committed):
                return False
            nothing_follows = s.arrived[-1] is consumed[-1]
            return (
                nothing_follows
                or not s.source_facts.compacted
                or self._complete(t.cast(int, consumed[-1].origin), s.committed)
            )
        first = unconsumed[0]
        if not consumed:
            between = [a for a in s.arrived if a.offset < first.offset]
            if not between or lossless or (not self.consumed and not s.source_facts.compacted):
                return True
        else:
            last = consumed[-1]
            if last.offset > first.offset:
                return False
            between = [a for a in s.arrived if last.offset < a.offset < first.offset]
            if not between or not s.source_facts.compacted or self._complete(t.cast(int, last.origin), s.committed):
                return True
        older = self.compares_time and all(a.timestamp < first.timestamp for a in between)
        complete = not s.source_facts.compacted or self._complete(s.committed, t.cast(int, first.origin))
        return older and complete

    def _complete(self, start: int, end: int) -> bool:
        """Has the source still every record of [start, end), not so much as a marker's gap in between?"""
        s = self.scenario
        return all(
            w.kind in ("data", "aborted") and w.compacted > s.stage and w.offset >= s.source_facts.log_start
            for w in s.written[start:end]
        )
