# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Copies in another partition than their record's: of them no partition's own log tells.

The number of partitions may be the same and the records distributed otherwise: partitions were added at the destination after
records had been copied there, or the replication tool has a partitioner of its own. An unconsumed record of one partition then
stands before an offset that is exact for another one.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import operator
import typing as t

from ..._model.grouping import values_by_key
from ..._model.option_names import ways
from ..._model.plan import PlanEntry
from ..._model.records import Record, TopicPartition
from ..._model.verdicts import Reason, Verdict
from ..drafts import Draft, as_repartitioned, or_excluded
from .strategy import DraftKey, StrategyInput
from .strays import WINDOW, Pair, PlacedRecord, Topic, TopicSide

_FIRST = 5  # of the records of a partition that a group has not consumed, so many should have a copy in it
_SAMPLE = 8  # so many of a topic that have none are looked for in its other partitions
_MANY = 1000  # so many of a partition where times do not lead to them, and so whole logs are read
_NEAR = 4  # of the records that were read, so many on both sides of an offset
_PLACES = 4  # so many of the offsets of a partition are looked at
_OWN = 0.75  # of the records around the offsets of a long log, so many have to be in the same partition at the source

_Entries = t.Mapping[TopicPartition, t.Sequence[PlanEntry]]  # by their partition


def corrected_entries(
    given: StrategyInput, decided: t.Mapping[DraftKey, Draft], entries: t.Mapping[DraftKey, PlanEntry]
) -> dict[DraftKey, PlanEntry]:
    """A blocked entry for every draft of a topic of which such a copy is found, also for those that are exact by themselves.

    Where a partition is too long to be searched, its entries are not exact. decided: the drafts that are not kept from the
    previous plan. Only their records are looked for. entries: of all drafts.

    Looked for are the first unconsumed records of each partition that have no copy in it, and what is next to the offsets.
    Where copies do not keep their records' times, whole logs are compared, if they are no longer than search_limit. Of longer
    ones, what stands around the entries' offsets says whether the tool keeps partitions.
    """
    budget = given.options.policy.search_limit
    source, destination = TopicSide(given.source, 0, budget), TopicSide(given.destination, 1, budget)
    search = _Search(given, source, destination, _by_partition(entries.values()))
    without = search.without_copy(decided)
    strays = search.strays(without, _by_partition(entries[key] for key in decided))
    unseen = search.unseen(without)
    corrected = {}
    for key, draft in given.searched.items():
        topics = draft.source_partition.topic, draft.partition.topic
        if topics in strays:
            detail = (
                f"records of {topics[0]} were copied to other partitions of {topics[1]}: {strays[topics]}; "
                f"{or_excluded(topics[0], as_repartitioned(topics[0]))}"
            )
            corrected[key] = draft.entry(Verdict.BLOCKED, reason=Reason.OTHER_PARTITIONS, detail=detail)
        elif draft.partition in unseen and search.can_skip(entries[key]):
            corrected[key] = _unsure(entries[key])
    return corrected


def _by_partition(entries: t.Iterable[PlanEntry]) -> _Entries:
    return values_by_key((entry.partition, entry) for entry in entries)


def _unsure(entry: PlanEntry) -> PlanEntry:
    topic = entry.source[0].partition.topic
    detail = (
        f"it is not known whether records of other partitions of {topic} were copied to {entry.partition} before the offset, "
        "because the replication tool writes timestamps of its own, and the log is longer than search_limit: "
        + ways(
            ("", "raise search_limit"),
            ("repartitioned", f"name {topic} in repartitioned if the tool has a partitioner of its own"),
        )
    )
    detail = "; ".join(text for text in (entry.detail, detail) if text)
    if entry.verdict is Verdict.SAFE:
        return dataclasses.replace(entry, detail=detail)
    return entry.without_certificate(Reason.OTHER_PARTITIONS, detail=detail)


@dataclasses.dataclass(frozen=True, slots=True)
class _Search:
    """What is searched on both sides. entries: all of them."""

    given: StrategyInput
    source: TopicSide
    destination: TopicSide
    entries: _Entries

    def without_copy(self, decided: t.Mapping[DraftKey, Draft]) -> dict[Topic, list[PlacedRecord]]:
        """The first unconsumed records of each partition of these drafts' topics that have no copy where it should be.

        Where no group has committed an offset, all records count.
        """
        lowest: dict[Pair, int] = {}
        for draft in decided.values():
            pair = draft.source_partition, draft.partition
            lowest[pair] = min(draft.offset, lowest.get(pair, draft.offset))
        kept = {(draft.source_partition, draft.partition) for draft in self.given.searched.values()} - lowest.keys()
        names = sorted({(pair[0].topic, pair[1].topic) for pair in lowest})
        counts = self.given.source_counts
        topics = [Topic(*pair, counts[pair[0]], keeps_times=True) for pair in names if counts[pair[0]] > 1]
        keep_times = {topic: self._keeps_times(topic) for topic in topics}
        by_times = [topic for topic in topics if keep_times[topic] is not False]
        copied, result = self._looked_up(by_times, lowest, kept)
        # Where no record tells, but some time has led to a copy, times are kept.
        changing = [topic for topic in topics if not keep_times[topic] and topic not in copied]
        by_contents = [topic._replace(keeps_times=False) for topic in changing]
        _found, more = self._looked_up(by_contents, lowest, kept)
        return {topic: records for topic, records in result.items() if topic not in changing} | more

    def _keeps_times(self, topic: Topic) -> bool | None:
        """Do copies have the times of their records? As the records say that were compared; None where none tell."""
        pairs, given = topic.pairs(), self.given
        if not given.options.policy.with_timestamp or given.destination.logs[pairs[0][1]].facts.log_append_time:
            return False
        topic_entries = [entry for _source, partition in pairs for entry in self.entries.get(partition, ())]
        matched = [
            entry.evidence.matched_by for entry in topic_entries if entry.evidence.before or entry.evidence.after
        ]
        if matched:
            return all("timestamp" in parts for parts in matched)
        # Nothing can be skipped before the start of a log.
        return None if any(map(self.can_skip, topic_entries)) else True

    def can_skip(self, entry: PlanEntry) -> bool:
        """Does anything stand before the offset?"""
        log_start = self.given.destination.logs[entry.partition].facts.log_start
        return entry.verdict in (Verdict.EXACT, Verdict.SAFE) and entry.offset is not None and entry.offset > log_start

    def _looked_up(
        self, topics: t.Sequence[Topic], lowest: t.Mapping[Pair, int], kept: t.Collection[Pair]
    ) -> tuple[set[Topic], dict[Topic, list[PlacedRecord]]]:
        """The topics of which a copy was found where it should be, and of each topic the records that have none there."""
        logs = self.given.source.logs
        begins = {
            (topic, at): lowest.get(pair, logs[pair[0]].facts.log_start)
            for topic in topics
            for at, pair in enumerate(topic.pairs())
            if pair not in kept
        }
        self.given.source.read([(topic.pair(at)[0], (begin, begin + _FIRST)) for (topic, at), begin in begins.items()])
        # Most copies have been read already, or are where they should be: the other partitions are not asked about those.
        numbers: dict[Topic, int] = collections.Counter()
        unread: list[PlacedRecord] = []
        for (topic, at), begin in begins.items():
            records = self._firsts(topic.pair(at), begin)
            numbers[topic] += len(records)
            unread += self.destination.unmatched(topic, at, records)
        self._read_places({placed.pair for placed in unread if not placed.topic.keeps_times})
        unread = [placed for placed in unread if self.destination.equal_at(placed) is None]
        without: dict[Topic, list[PlacedRecord]] = {topic: [] for topic in topics}
        for placed in self.destination.lacking(unread):
            without[placed.topic].append(placed)
        return {topic for topic, number in numbers.items() if number > len(without[topic])}, without

    def _firsts(self, pair: Pair, begin: int) -> list[Record]:
        """The first unconsumed records of a partition; all of them where both logs were read whole."""
        log = self.given.source.logs[pair[0]]
        return log.between(begin, log.end)[: None if self._are_read(pair) else _FIRST]

    def _are_read(self, pair: Pair) -> bool:
        return self.source.is_read(pair[0]) and self.destination.is_read(pair[1])

    def strays(self, without: t.Mapping[Topic, list[PlacedRecord]], decided: _Entries) -> dict[tuple[str, str], str]:
        """A record of each topic that has any whose only copy is in another partition, in words, by both names of the topic."""
        sought = [placed for topic, records in without.items() for placed in self._sample(topic, records)]
        sought += self._neighbours(without, decided)
        elsewhere = [(uncopied, other) for uncopied in sought for other in uncopied.elsewhere()]
        offsets = self.destination.places([other for _uncopied, other in elsewhere])
        copies = [(*pair, offset) for pair, offset in zip(elsewhere, offsets, strict=True) if offset is not None]
        # The other partition may have an equal record of its own, whose copy this is.
        self.source.read_where_times_lead([other for _uncopied, other, _offset in copies])
        strays: dict[tuple[str, str], str] = {}
        for uncopied, other, offset in copies:
            if not self._has_origin(uncopied, other, offset):
                stray = f"{uncopied.pair[0]} offset {uncopied.record.offset} is {other.pair[1]} offset {offset} there"
                strays.setdefault(other.topic[:2], stray)
        return strays

    def _sample(self, topic: Topic, records: list[PlacedRecord]) -> list[PlacedRecord]:
        """A few of them, from all of their time; many of each partition where no look-up is needed for them."""
        if topic.keeps_times and not all(map(self._are_read, topic.pairs())):
            return _spread(sorted(records, key=lambda placed: placed.record.timestamp), _SAMPLE)
        by_partition = itertools.groupby(records, operator.attrgetter("at"))
        return [placed for _at, of_partition in by_partition for placed in _spread(list(of_partition), _MANY)]

    def _neighbours(self, topics: t.Iterable[Topic], decided: _Entries) -> list[PlacedRecord]:
        """The unconsumed records whose copies are next to the offsets of other partitions, and not where they should be.

        Nothing is read where all that is next to the offsets is known to be in the same partition at the source.
        """
        near: list[PlacedRecord] = []
        for topic in topics:
            of_topic: list[PlacedRecord] = []
            for at, (_source, partition) in enumerate(topic.pairs()):
                offsets = [entry.offset for entry in decided.get(partition, ())[:_SAMPLE] if entry.offset is not None]
                log = self.given.destination.logs[partition]
                records = [record for offset in offsets for record in log.between(offset - _NEAR, offset + _NEAR)]
                of_topic += self.source.unmatched(topic, at, records)
            near += _spread(of_topic, _SAMPLE)
        elsewhere = [other for copy in self.source.lacking(near) for other in copy.elsewhere()]
        unconsumed = []
        for other, offset in zip(elsewhere, self.source.places(elsewhere), strict=True):
            partition, copied_to = other.pair
            entries = self.entries.get(copied_to, ())
            lowest = min((entry.source[0].offset or 0 for entry in entries), default=0)
            if offset is not None and offset >= lowest:
                original = self.given.source.logs[partition].between(offset, offset + 1)[0]
                unconsumed.append(other._replace(record=original))
        return self.destination.lacking(unconsumed)

    def _has_origin(self, uncopied: PlacedRecord, other: PlacedRecord, offset: int) -> bool:
        """May what stands at this offset be the copy of a record of its own partition, which is, was aborted, or has expired?

        Of an expired one only if the record that is looked for is still to come to its own partition, as far as that shows.
        """
        if not other.topic.keeps_times and not self.source.is_read(other.pair[0]):
            return True
        if self.source.equal_at(other) is not None or self.source.was_aborted(other):
            return True
        entries = self.entries.get(uncopied.pair[1], ())
        all_evidence = [entry.evidence for entry in entries if entry.offset is not None]
        is_to_come = bool(all_evidence) and all(evidence.before and not evidence.after for evidence in all_evidence)
        return is_to_come and self._precedes_all_copies(other, offset)

    def _precedes_all_copies(self, other: PlacedRecord, offset: int) -> bool:
        """Is this offset before the copies of all records that the source partition still has, if it has lost some?

        Then what stands there may be the copy of a record that it has lost. Reads the start of the source's log, and its
        copies.
        """
        log = self.given.source.logs[other.pair[0]]
        begin = log.facts.log_start
        if not begin:
            return False
        self.given.source.read([(other.pair[0], (begin, begin + _FIRST))])
        alive = [other._replace(record=record) for record in log.between(begin, begin + _FIRST)]
        copies = [copy for copy in self.destination.places(alive) if copy is not None]
        return bool(copies) and offset < min(copies)

    def unseen(self, without: t.Mapping[Topic, t.Sequence[PlacedRecord]]) -> set[TopicPartition]:
        """The partitions of these topics that were not read whole, and do not seem to hold what the source's hold."""
        topics = [topic for topic, records in without.items() if records and not topic.keeps_times]
        long = self._read_places({pair for topic in topics for pair in topic.pairs()})
        return {pair[1] for pair in long if not self._holds_its_own(pair)}

    def _read_places(self, pairs: t.Iterable[Pair]) -> list[Pair]:
        """Read what is around the offsets of entries on these partitions, but for those that were read whole. -> the others."""
        long = [pair for pair in sorted(pairs) if not self._are_read(pair)]
        places = [(pair, place) for pair in long for place in self._places(pair)]
        for logs, side in ((self.given.source, 0), (self.given.destination, 1)):
            logs.read([(pair[side], (place[side] - WINDOW, place[side] + WINDOW)) for pair, place in places])
        return long

    def _holds_its_own(self, pair: Pair) -> bool:
        """Are nearly all records around the offsets in the same partition at the source? They were read."""
        source, destination = self.given.source.logs[pair[0]], self.given.destination.logs[pair[1]]
        for committed, offset in self._places(pair):
            originals = {record.bare for record in source.between(committed - WINDOW, committed + WINDOW)}
            copies = destination.between(offset - WINDOW // 2, offset + WINDOW // 2)
            if sum(record.bare in originals for record in copies) < _OWN * len(copies):
                return False
        return True

    def _places(self, pair: Pair) -> list[tuple[int, int]]:
        """Committed offsets on a partition and what they have become: a few of them."""
        places = sorted(
            {
                (entry.source[0].offset, entry.offset)
                for entry in self.entries.get(pair[1], ())
                if entry.offset is not None and entry.source[0].offset is not None
            }
        )
        return _spread(places, _PLACES)


_Item = t.TypeVar("_Item")


def _spread(items: list[_Item], most: int) -> list[_Item]:
    """So many of them at most, from all over the list."""
    return items[:: max(1, -(-len(items) // most))]
