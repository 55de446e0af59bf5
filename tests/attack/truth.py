# SPDX-License-Identifier: GPL-3.0-or-later

"""What is true of an offset at the destination, by provenance; knows nothing of how offsets are found.

A consumer that starts at an offset D

* skips an unconsumed record that is at the destination when none of the copies from D on can be taken for it;
* repeats a consumed record for each copy of one from D on, less those that can be taken for unconsumed records of which
  it reads no copy.

One record can be taken for another when nobody can tell them apart: same content, and same time where the destination
has kept it. Whoever has set another time (the broker, a tool that does not keep times) has left the content alone to go by.
Records of open transactions are unconsumed; their copies may be there already. Copies of aborted records are nobody's, but
can be taken for equal ones. What the tool is still to write for the first time counts among the repeats, never as skipped.
"""

from __future__ import annotations

import bisect
import collections
import dataclasses
import functools
import math
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.content import doubted
from tests.attack.case import Case, Copy, Lately, Original

LONG = 60  # copies of a log of which the best offset is not looked for: that takes the square of it
_OTHER = None  # the time of copies whose times nobody can compare


class Logs:
    """What is true of both logs, whoever reads them."""

    def __init__(self, case: Case) -> None:
        self.case = case
        edges = case.source_edges
        self.left = [  # what the source still has, committed or not
            record
            for record in case.source
            if record.kind in ("data", "open") and not record.gone and edges.start <= record.offset < edges.end
        ]
        self._originals = {record.offset: record.text for record in case.source}
        # Contents are compared without headers where the tool has changed those of some copies.
        self.changed = {_bare(copy.text) for copy in case.destination if self.is_changed(copy)}
        self.time_of = {record.offset: record.time for record in case.source}
        self._times: dict[str, set[int]] = collections.defaultdict(set)
        for record in case.source:
            self._times[self.text_of(record.text)].add(record.time)
        # The contents of which some copy has a time of its own.
        self._rewritten = {
            self.text_of(copy.text)
            for copy in case.destination
            if copy.origin is not None and copy.time != self.time_of[copy.origin]
        }
        # The destination's records that can be read, with content and comparable time.
        self.visible = [self.seen(copy) for copy in case.destination if copy.kind == "data"]
        self.offsets = [copy.offset for copy, _text, _time in self.visible]
        self.copies_of: dict[str, list[tuple[Copy, int | None]]] = collections.defaultdict(list)
        # The times and the texts of their copies that can be seen.
        self.copied_times: dict[int | None, set[int]] = {}
        self._copied_texts: dict[int | None, set[str]] = {}
        for copy, text, time in self.visible:
            self.copies_of[text].append((copy, time))
            self.copied_times.setdefault(copy.origin, set()).add(copy.time)
            self._copied_texts.setdefault(copy.origin, set()).add(copy.text)

    def text_of(self, text: str) -> str:
        """The content of a record with this text."""
        bare = _bare(text)
        return bare if bare in self.changed else text

    def is_changed(self, copy: Copy) -> bool:
        """Has it other headers than its record?"""
        return copy.origin is not None and self._originals[copy.origin] != copy.text

    def look_alike(self, record: Original, copy: Copy, time: int | None) -> bool:
        """Can a copy of its content, with this comparable time, be taken for one of the record?"""
        texts = self._copied_texts.get(record.offset, set())
        if time not in (_OTHER, record.time) and copy.time not in self.copied_times.get(record.offset, ()):
            return False
        if copy.text in (record.text, *texts):
            return True
        return self.is_changed(copy) and (
            record.text not in texts or self._originals[t.cast(int, copy.origin)] == record.text
        )

    def seen(self, copy: Copy) -> tuple[Copy, str, int | None]:
        """A copy with its content and comparable time."""
        text = self.text_of(copy.text)
        if copy.stamped or not self.case.options.with_timestamp:
            return copy, text, _OTHER
        if copy.origin is not None:
            return copy, text, copy.time if copy.time == self.time_of[copy.origin] else _OTHER
        return copy, text, _OTHER if text in self._rewritten and copy.time not in self._times[text] else copy.time


_LOGS: Lately[Logs] = Lately(64)


@dataclasses.dataclass(frozen=True)
class Truth:
    """The truth of one case. is_merged: of several partitions or topics, of which docs/the-rule.md promises less."""

    case: Case
    is_merged: bool = False

    @functools.cached_property
    def _logs(self) -> Logs:
        its = self.case
        return _LOGS.of((its.source, its.destination), (its.source_edges, its.options), lambda: Logs(its))

    @functools.cached_property
    def consumed(self) -> dict[int, Original]:
        return {r.offset: r for r in self._logs.left if r.offset < self.case.committed and r.kind == "data"}

    @functools.cached_property
    def unconsumed(self) -> dict[int, Original]:
        return {r.offset: r for r in self._logs.left if r.offset >= self.case.committed}

    def skipped(self, offset: int) -> int:
        """How many unconsumed records that are at the destination a consumer misses that starts here."""
        if offset not in self._skipped:
            self._skipped[offset] = self._count_skipped(offset)
        return self._skipped[offset]

    @functools.cached_property
    def _skipped(self) -> dict[int, int]:
        """What was counted already."""
        return {}

    def _count_skipped(self, offset: int) -> int:
        skipped = 0
        for text, records in self._owed.items():
            copies = [(copy, time) for copy, time in self._logs.copies_of[text] if copy.offset >= offset]
            number = collections.Counter(time for _copy, time in copies)
            times = collections.Counter(record.time for record in records)
            lacking = sum(max(0, count - number[time]) for time, count in times.items())
            if lacking > number[_OTHER] or text in self._logs.changed:
                skipped += len(records) - largest_matching([self._equal(record, copies) for record in records])
        return skipped

    @functools.cached_property
    def _owed(self) -> dict[str, list[Original]]:
        """The unconsumed records that are at the destination, by their contents."""
        owed: dict[str, list[Original]] = collections.defaultdict(list)
        for record in self.unconsumed.values():
            if record.offset in self._logs.copied_times:
                owed[self._logs.text_of(record.text)].append(record)
        return owed

    def _equal(self, record: Original, copies: t.Iterable[tuple[Copy, int | None]]) -> list[int]:
        """The offsets of those copies of its content that can be taken for one of the record: any that looks like one."""
        return [copy.offset for copy, time in copies if self._logs.look_alike(record, copy, time)]

    def repeats(self, offset: int, to_come: bool = False) -> int:
        """How many consumed records a consumer reads again that starts here. to_come: when the tool has caught up."""
        read = self._logs.visible[bisect.bisect_left(self._logs.offsets, offset) :]
        if to_come:
            read = [*read, *self._to_come]
        again = collections.Counter(text for copy, text, _time in read if copy.origin in self.consumed)
        if not again:
            return 0
        wanted = [r for r in self.unconsumed.values() if again[self._logs.text_of(r.text)]]
        everything = [seen for seen in read if again[seen[1]]]
        others = [seen for seen in everything if seen[0].origin not in self.consumed]
        return sum(again.values()) - (self._matched(wanted, everything) - self._matched(wanted, others))

    def repeats_with_lost(self, offset: int) -> int:
        """The same, with the copies of consumed records that the source has lost, as far as docs/the-rule.md promises it.

        Without those that equal a record that is left, whose copies count as any others, or do but for headers, and have its
        time. And without those that nothing tells from somebody else's: copies that have not kept their time, or are younger
        than what is left of the source around C.
        """
        return self._with_lost.repeats(offset)

    @functools.cached_property
    def _with_lost(self) -> Truth:
        """The truth as if the source still had them."""
        start = self.case.source_edges.start
        left = {self._logs.text_of(record.text) for record in self._logs.left}
        left_times = {(_bare(record.text), record.time) for record in self._logs.left}
        moved = {copy.origin for copy, _text, time in self._logs.visible if time is None}
        kept = {copy.origin for copy, _text, _time in self._logs.visible} - moved

        def is_told(record: Original) -> bool:
            has_its_time = record.offset in kept and 0 <= record.time <= self._lost_until
            is_alike = self._logs.text_of(record.text) in left or (_bare(record.text), record.time) in left_times
            return has_its_time and not is_alike

        source = tuple(
            record._replace(gone=(record.gone or record.offset < start) and not is_told(record))
            for record in self.case.source
        )
        edges = dataclasses.replace(self.case.source_edges, start=0)
        return Truth(dataclasses.replace(self.case, source=source, source_edges=edges))

    @property
    def _lost_until(self) -> float:
        """How young a record may be that was consumed, and that the source has lost: no younger than what is next to it."""
        last, following = max(self.consumed, default=None), min(self.unconsumed, default=None)
        has_gap = last is None or (self.case.source_edges.compacted and last + 1 < self.case.committed)
        at = following if has_gap and following is not None else last
        return math.inf if at is None else self._logs.time_of[at]

    def reread(self, offset: int) -> int:
        """How many records that were consumed it reads again, those that the source has lost included."""
        read = self._logs.visible[bisect.bisect_left(self._logs.offsets, offset) :]
        return sum(copy.origin is not None and copy.origin < self.case.committed for copy, _text, _time in read)

    @property
    def hides_all_consumed(self) -> bool:
        """Are copies that an open transaction hides all that is left of the consumed records, and all that is there?"""
        hidden = (copy.origin for copy in self.case.destination if copy.kind == "open" and copy.origin is not None)
        nothing_else = not (self.is_merged or self.consumed or self._logs.visible)
        return nothing_else and any(origin < self.case.committed for origin in hidden)

    @functools.cached_property
    def _to_come(self) -> list[tuple[Copy, str, int | None]]:
        """What the tool will bring, but for what seems to be there: no more equal copies than the source has records."""
        due = collections.Counter(self._logs.text_of(record.text) for record in self._logs.left)
        left = {record.offset for record in self._logs.left}
        alike = {(self._logs.text_of(record.text), record.time) for record in self._logs.left}
        # The copy of a lost record is taken for that of one which is left only where even their times are equal.
        due.subtract(
            text
            for copy, text, time in self._logs.visible
            if self.is_merged or copy.origin is None or copy.origin in left or (text, time) in alike
        )
        coming = []
        for seen in map(self._logs.seen, reversed(self.case.to_come)):
            if due[seen[1]] > 0:
                due[seen[1]] -= 1
                coming.append(seen)
        return coming

    @functools.cached_property
    def is_in_order(self) -> bool:
        """Does all that the tool will bring follow what is there, and what records without an original are equal to?"""
        place = {(self._logs.text_of(record.text), record.time): record.offset for record in self._logs.left}
        left = {record.offset for record in self._logs.left}
        there = (
            copy.origin
            if copy.origin in left
            else place.get((text, copy.time), -1 if copy.origin is None else copy.origin)
            for copy, text, _time in self._logs.visible
        )
        last = max(there, default=-1)
        return all(copy.origin is None or copy.origin > last for copy in self.case.to_come)

    def _matched(self, wanted: t.Sequence[Original], read: t.Sequence[tuple[Copy, str, int | None]]) -> int:
        """How many of these records can be found among what is read, each in another copy."""
        copies = collections.Counter((text, time) for _copy, text, time in read)
        number = collections.Counter((self._logs.text_of(record.text), record.time) for record in wanted)
        found = 0
        for changed in self._logs.changed.intersection(text for text, _time in number):
            number = collections.Counter({key: count for key, count in number.items() if key[0] != changed})
            found += largest_matching(
                [
                    [
                        at
                        for at, (copy, text, time) in enumerate(read)
                        if text == changed and self._logs.look_alike(record, copy, time)
                    ]
                    for record in wanted
                    if self._logs.text_of(record.text) == changed
                ]
            )
        missing: collections.Counter[str] = collections.Counter()
        for (text, time), count in number.items():
            own = min(count, copies[text, time])
            found += own
            missing[text] += count - own
        return found + sum(min(count, copies[text, _OTHER]) for text, count in missing.items())

    @functools.cached_property
    def best(self) -> tuple[int, int]:
        """(offset, repeats): what skips nothing and repeats fewest, the first of several."""
        edges = self.case.destination_edges
        offsets = [edges.start, *(copy.offset + 1 for copy, _text, _time in self._logs.visible)]
        return min(((self.repeats(at, True), at) for at in offsets if not self.skipped(at)), default=(0, edges.start))[
            ::-1
        ]

    @functools.cached_property
    def is_plain(self) -> bool:
        """Can reading everything of a log that is not long tell an offset that neither skips nor repeats?

        It can where nothing is lost at the source, C lies within it, the last consumed record is there, no consumed record may
        still come, each content is on one side of C, and no copy may be a second one or somebody else's.
        """
        case, edges = self.case, self.case.source_edges
        if edges.compacted or edges.start or not 0 < case.committed <= edges.stable or not self.consumed:
            return False
        if len(case.destination) > LONG:
            return False
        if any(record.kind == "open" for record in case.source) or has_later_times(case):
            return False
        before = {self._logs.text_of(record.text) for record in self.consumed.values()}
        after = {self._logs.text_of(record.text) for record in self.unconsumed.values()}
        others = {text for copy, text, _time in self._logs.visible if copy.origin not in self.consumed}
        copied = {copy.origin for copy in case.destination if copy.kind == "data"}
        last = self.consumed[max(self.consumed)]
        has_no_equal = sum(record.text == last.text for record in self._logs.left) == 1
        arrived = last.offset in copied and (has_no_equal or copied.issuperset(self.consumed)) and not is_doubted(case)
        return arrived and before.isdisjoint(after | others) and self.best[1] == 0


def _bare(text: str) -> str:
    return text.partition("+")[0]


def largest_matching(wishes: t.Sequence[t.Sequence[int]]) -> int:
    """How many can get one of what they wish for, each another one: by augmenting paths."""
    owner: dict[int, int] = {}

    def find(number: int, seen: set[int]) -> bool:
        for wish in wishes[number]:
            if wish not in seen:
                seen.add(wish)
                if wish not in owner or find(owner[wish], seen):
                    owner[wish] = number
                    return True
        return False

    return sum(find(number, set()) for number in range(len(wishes)))


def is_doubted(case: Case) -> bool:
    """May copies have the time of an equal record whose copies they are not?"""
    times: dict[str, tuple[list[int], list[int]]] = collections.defaultdict(lambda: ([], []))
    for original in case.source:
        if not original.gone and original.kind != "aborted":
            times[original.text.partition("+")[0]][0].append(original.time)
    for copy in case.destination:
        times[copy.text.partition("+")[0]][1].append(copy.time)
    return any(
        doubted(collections.Counter(source), collections.Counter(destination)) for source, destination in times.values()
    )


def has_later_times(case: Case) -> bool:
    """Has a record, or one like it, a copy with its own time or headers, and a second one with others?"""
    records = {record.offset: record for record in case.source}
    origins = [(records[copy.origin], copy) for copy in case.destination if copy.origin is not None]
    for part, others in (("time", ("text", "time")), ("text", ("text",))):
        kept = [
            (tuple(getattr(record, other) for other in others), getattr(record, part) == getattr(copy, part))
            for record, copy in origins
        ]
        if not {its for its, is_own in kept if is_own}.isdisjoint(its for its, is_own in kept if not is_own):
            return True
    return False
