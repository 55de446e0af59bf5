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

from ..._model.option_names import ways
from ..._model.plan import PlanEntry
from ..._model.records import Record, TopicPartition
from ..._model.verdicts import Reason, Verdict
from ..drafts import Draft, as_repartitioned, or_excluded
from .neighbours import neighbours
from .strategy import DraftKey, StrategyInput
from .strays import (
    Entries,
    Pair,
    Sought,
    Topic,
    by_partition,
    equal_at,
    holds_its_own,
    is_read,
    precedes_all_copies,
    read_missing,
    read_places,
    read_where_times_lead,
    unmatched,
    was_aborted,
)

_FIRST = 5  # of the records of a partition that a group has not consumed, so many should have a copy in it
_SAMPLE = 8  # so many of a topic that have none are looked for in its other partitions
_MANY = 1000  # so many of a partition where times do not lead to them, and so whole logs are read


class Stray(t.NamedTuple):
    """A record at the source whose only copy stands in another partition of the destination."""

    partition: TopicPartition
    offset: int
    copy_partition: TopicPartition
    copy_offset: int

    def __str__(self) -> str:
        return f"{self.partition} offset {self.offset} is {self.copy_partition} offset {self.copy_offset} there"


class Found(t.NamedTuple):
    """strays: one of each topic that has any, by the topic's names on both sides.

    unseen: partitions of the destination that are too long to be searched, and hold records of other source partitions, as it
    seems.
    """

    strays: dict[tuple[str, str], Stray]
    unseen: set[TopicPartition]


class _Without(t.NamedTuple):
    """An unconsumed record that has no copy where it should be. pair: its partition on both sides."""

    topic: Topic
    pair: Pair
    record: Record


def corrected_entries(
    given: StrategyInput, decided: t.Mapping[DraftKey, Draft], entries: t.Mapping[DraftKey, PlanEntry]
) -> dict[DraftKey, PlanEntry]:
    """A blocked entry for every draft of a topic of which such a copy is found, also for those that are exact by themselves.

    Where a partition is too long to be searched, its entries are not exact. decided: the drafts that are not kept from the
    previous plan. Only their records are looked for. entries: of all drafts.
    """
    found = find_strays(given, decided, entries)
    corrected = {}
    for key, draft in given.searched.items():
        topics = draft.source_partition.topic, draft.partition.topic
        if topics in found.strays:
            detail = (
                f"records of {topics[0]} were copied to other partitions of {topics[1]}: {found.strays[topics]}; "
                f"{or_excluded(topics[0], as_repartitioned(topics[0]))}"
            )
            corrected[key] = draft.entry(Verdict.BLOCKED, reason=Reason.OTHER_PARTITIONS, detail=detail)
        elif draft.partition in found.unseen and _can_skip(given, entries[key]):
            corrected[key] = _unsure(entries[key])
    return corrected


def _can_skip(given: StrategyInput, entry: PlanEntry) -> bool:
    """Does anything stand before the offset?"""
    log_start = given.destination.logs[entry.partition].facts.log_start
    return entry.verdict in (Verdict.EXACT, Verdict.SAFE) and entry.offset is not None and entry.offset > log_start


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
    evidence = entry.evidence._replace(certificate=None)
    return dataclasses.replace(
        entry, verdict=Verdict.SAFE, reason=Reason.OTHER_PARTITIONS, repeats=None, detail=detail, evidence=evidence
    )


def find_strays(
    given: StrategyInput, decided: t.Mapping[DraftKey, Draft], all_entries: t.Mapping[DraftKey, PlanEntry]
) -> Found:
    """What is found of the first unconsumed records of each partition that have no copy in it, and next to the offsets.

    Where copies do not keep their records' times, whole logs are compared, if they are no longer than search_limit. Of longer
    ones, what stands around the entries' offsets says whether the tool keeps partitions.
    """
    entries = by_partition(all_entries.values())
    without = _without_copy(given, decided, entries)
    sought = [uncopied for topic_and_records in without.items() for uncopied in _sample(given, *topic_and_records)]
    sought += _neighbours(given, without, entries, by_partition(all_entries[key] for key in decided))
    copies = _in_other_partitions(given, sought)
    # The other partition may have an equal record of its own, whose copy this is.
    origins = [Sought(uncopied.topic, uncopied.topic.pair(at)[0], uncopied.record) for uncopied, at, _offset in copies]
    read_where_times_lead(given.source, origins, given.options.policy.budget)
    strays: dict[tuple[str, str], Stray] = {}
    for (uncopied, at, offset), origin in zip(copies, origins, strict=True):
        if not _has_origin(given, uncopied, origin, offset, entries):
            stray = Stray(
                uncopied.pair[0], uncopied.record.offset, TopicPartition(uncopied.topic.destination, at), offset
            )
            strays.setdefault((uncopied.topic.source, uncopied.topic.destination), stray)
    return Found(strays, _unseen(given, without, entries))


def _neighbours(given: StrategyInput, topics: t.Iterable[Topic], entries: Entries, decided: Entries) -> list[_Without]:
    """The unconsumed records whose copies are next to the offsets of other partitions, and not where they should be."""
    budget = given.options.policy.budget
    candidates = [
        _Without(topic, pair, record)
        for topic, at, record in neighbours(given.source, given.destination, topics, decided, budget)
        for pair in topic.pairs()[at : at + 1]
        if record.offset >= min((entry.source[0].offset or 0 for entry in entries.get(pair[1], ())), default=0)
    ]
    read_where_times_lead(
        given.destination,
        [Sought(uncopied.topic, uncopied.pair[1], uncopied.record) for uncopied in candidates],
        budget,
    )
    return [uncopied for uncopied in candidates if _own_copy(given, uncopied) is None]


def _in_other_partitions(given: StrategyInput, sought: t.Sequence[_Without]) -> list[tuple[_Without, int, int]]:
    """The records of which a copy is there, with its partition and offset."""
    copies = [
        (uncopied, at, Sought(uncopied.topic, pair[1], uncopied.record))
        for uncopied in sought
        for at, pair in enumerate(uncopied.topic.pairs())
        if pair != uncopied.pair
    ]
    read_where_times_lead(given.destination, [wanted for _uncopied, _at, wanted in copies], given.options.policy.budget)
    offsets = [(uncopied, at, equal_at(given.destination, wanted)) for uncopied, at, wanted in copies]
    return [(uncopied, at, offset) for uncopied, at, offset in offsets if offset is not None]


def _unseen(
    given: StrategyInput, without: t.Mapping[Topic, t.Sequence[_Without]], entries: Entries
) -> set[TopicPartition]:
    """The partitions of these topics that were not read whole, and do not seem to hold what their source partitions hold."""
    long = sorted(
        pair
        for topic, records in without.items()
        if records and not topic.keeps_times
        for pair in topic.pairs()
        if not _are_read(given, pair)
    )
    read_places(given.source, given.destination, long, entries)
    return {pair[1] for pair in long if not holds_its_own(given.source, given.destination, pair, entries)}


def _has_origin(given: StrategyInput, uncopied: _Without, origin: Sought, offset: int, entries: Entries) -> bool:
    """May what stands at this offset be the copy of a record of its own partition, which is, was aborted, or has expired?

    Of an expired one only if the record that is looked for is still to come to its own partition, as far as that shows.
    """
    topic, partition, _record = origin
    if not topic.keeps_times and not is_read(given.source, partition):
        return True
    if equal_at(given.source, origin) is not None or was_aborted(given.source, origin):
        return True
    all_evidence = [entry.evidence for entry in entries.get(uncopied.pair[1], ()) if entry.offset is not None]
    is_to_come = bool(all_evidence) and all(evidence.before and not evidence.after for evidence in all_evidence)
    budget = given.options.policy.budget
    return is_to_come and precedes_all_copies(
        given.source, given.destination, topic, partition.partition, offset, budget
    )


def _without_copy(
    given: StrategyInput, decided: t.Mapping[DraftKey, Draft], entries: Entries
) -> dict[Topic, list[_Without]]:
    """The first unconsumed records of each partition of these drafts' topics that have no copy where it should be.

    Where no group has committed an offset, all records count.
    """
    lowest: dict[Pair, int] = {}
    for draft in decided.values():
        pair = draft.source_partition, draft.partition
        lowest[pair] = min(draft.offset, lowest.get(pair, draft.offset))
    kept = {(draft.source_partition, draft.partition) for draft in given.searched.values()} - lowest.keys()
    names = sorted({(pair[0].topic, pair[1].topic) for pair in lowest})
    topics = [
        Topic(*name_pair, given.source_counts[name_pair[0]], keeps_times=True)
        for name_pair in names
        if given.source_counts[name_pair[0]] > 1
    ]
    keep_times = {topic: _keeps_times(given, topic, entries) for topic in topics}
    by_times = [topic for topic in topics if keep_times[topic] is not False]
    copied, result = _looked_up(given, by_times, lowest, kept, entries)
    # Where no record tells, but some time has led to a copy, times are kept.
    changing = [topic for topic in topics if not keep_times[topic] and topic not in copied]
    by_contents = [topic._replace(keeps_times=False) for topic in changing]
    _found, more = _looked_up(given, by_contents, lowest, kept, entries)
    return {topic: records for topic, records in result.items() if topic not in changing} | more


def _keeps_times(given: StrategyInput, topic: Topic, entries: Entries) -> bool | None:
    """Do copies have the times of their records? As the records say that were compared; None where none tell."""
    pairs = topic.pairs()
    if not given.options.policy.with_timestamp or given.destination.logs[pairs[0][1]].facts.log_append_time:
        return False
    topic_entries = [entry for _source, partition in pairs for entry in entries.get(partition, ())]
    matched = [entry.evidence.matched_by for entry in topic_entries if entry.evidence.before or entry.evidence.after]
    if matched:
        return all("timestamp" in parts for parts in matched)
    # Nothing can be skipped before the start of a log.
    return None if any(_can_skip(given, entry) for entry in topic_entries) else True


def _looked_up(
    given: StrategyInput,
    topics: t.Sequence[Topic],
    lowest: t.Mapping[Pair, int],
    kept: t.Collection[Pair],
    entries: Entries,
) -> tuple[set[Topic], dict[Topic, list[_Without]]]:
    """The topics of which a copy was found where it should be, and of each topic the records that have none there."""
    begins = [
        (topic, pair, lowest.get(pair, given.source.logs[pair[0]].facts.log_start))
        for topic in topics
        for pair in topic.pairs()
        if pair not in kept
    ]
    read_missing(given.source, ((pair[0], (begin, begin + _FIRST)) for _topic, pair, begin in begins))
    # Most copies have been read already, or are where they should be: the other partitions are not asked about those.
    numbers: dict[Topic, int] = collections.Counter()
    unread: list[_Without] = []
    for topic, pair, begin in begins:
        records = list(_firsts(given, pair, begin))
        numbers[topic] += len(records)
        unread += [_Without(topic, pair, record) for record in unmatched(given.destination, topic, pair[1], records)]
    long = {
        uncopied.pair for uncopied in unread if not uncopied.topic.keeps_times and not _are_read(given, uncopied.pair)
    }
    read_places(given.source, given.destination, sorted(long), entries)
    unread = [uncopied for uncopied in unread if _own_copy(given, uncopied) is None]
    sought = [Sought(topic, pair[1], record) for topic, pair, record in unread]
    read_where_times_lead(given.destination, sought, given.options.policy.budget)
    without: dict[Topic, list[_Without]] = {topic: [] for topic in topics}
    for uncopied in unread:
        if _own_copy(given, uncopied) is None:
            without[uncopied.topic].append(uncopied)
    return {topic for topic, number in numbers.items() if number > len(without[topic])}, without


def _are_read(given: StrategyInput, pair: Pair) -> bool:
    return is_read(given.source, pair[0]) and is_read(given.destination, pair[1])


def _firsts(given: StrategyInput, pair: Pair, begin: int) -> t.Iterable[Record]:
    """The first unconsumed records of a partition; all of them where both logs were read whole."""
    log = given.source.logs[pair[0]]
    records = log.between(begin, log.end)
    return records if _are_read(given, pair) else itertools.islice(records, _FIRST)


def _own_copy(given: StrategyInput, uncopied: _Without) -> int | None:
    return equal_at(given.destination, Sought(uncopied.topic, uncopied.pair[1], uncopied.record))


def _sample(given: StrategyInput, topic: Topic, records: list[_Without]) -> list[_Without]:
    """A few of them, from all of their time; many of each partition where no look-up is needed for them."""
    if topic.keeps_times and not all(_are_read(given, pair) for pair in topic.pairs()):
        return sorted(records, key=lambda uncopied: uncopied.record.timestamp)[:: -(-len(records) // _SAMPLE) or 1]
    each_pair = [list(of_pair) for _pair, of_pair in itertools.groupby(records, operator.attrgetter("pair"))]
    return [uncopied for of_pair in each_pair for uncopied in of_pair[:: -(-len(of_pair) // _MANY)]]
