# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""From a snapshot to entries of a plan: names are mapped, and what can be said without records is said."""

from __future__ import annotations

import sys
import typing as t

from .._matching.evidence import Decision
from .._model.errors import InvalidInput
from .._model.group_state import CommittedOffset, open_text
from .._model.known_names import is_repartition_topic
from .._model.mapping import NO_PREFIXES, Mapping
from .._model.match_on import EVERYTHING, MatchOn
from .._model.option_names import option_name, ways
from .._model.plan import Evidence, PlanEntry, SourcePosition
from .._model.policies import OnConflict, OnUncommitted
from .._model.records import TopicPartition
from .._model.snapshot import IN_BACKUP, OpenTransaction, Snapshot
from .._model.verdicts import Reason, Verdict
from .._model.wording import first_names, first_of


class Draft(t.NamedTuple):
    """A commit of the source and the destination's group and partition that it belongs to. committed is None without.

    others: the other groups that become this one, and what they have committed on the same partition.
    """

    group: str
    partition: TopicPartition
    source_group: str
    source_partition: TopicPartition
    committed: CommittedOffset | None
    others: tuple[SourcePosition, ...] = ()

    @property
    def key(self) -> tuple[str, TopicPartition]:
        """What makes it unique in the plan."""
        return self.group, self.partition

    @property
    def offset(self) -> int:
        """The committed offset; ValueError for a draft without one."""
        if self.committed is None:
            raise ValueError(f"{self.source_group} has committed nothing for {self.source_partition}")
        return self.committed.offset

    @property
    def position(self) -> SourcePosition:
        """Where the source's group stands."""
        offset = None if self.committed is None else self.committed.offset
        return SourcePosition(self.source_group, self.source_partition, offset)

    @property
    def metadata(self) -> str:
        """What was committed with the offset."""
        return self.committed.metadata if self.committed else ""

    @property
    def positions(self) -> tuple[SourcePosition, ...]:
        """Where the source's group stands, and the others that become one with it."""
        return self.position, *self.others

    def entry(self, verdict: Verdict, offset: int | None = None, **more: t.Any) -> PlanEntry:
        """The plan's entry for this draft; metadata is carried unchanged."""
        metadata = "" if offset is None else self.metadata
        return PlanEntry(self.group, self.partition, offset, verdict, self.positions, metadata=metadata, **more)

    def uncommitted(
        self, on_uncommitted: OnUncommitted, log_start: int, end: int, why: str, repeats: int | None = None
    ) -> PlanEntry:
        """The entry for a draft without a commit: left alone, or the destination's start or end, as the option says.

        repeats: 0 where the source has none; None where it may have one that is not known, such as without a checkpoint.
        """
        match on_uncommitted:
            case OnUncommitted.IGNORE:
                # Where there are many such entries, they share their text.
                return self.entry(Verdict.UNCOMMITTED, detail=sys.intern(f"{why}: left alone (on_uncommitted: ignore)"))
            case OnUncommitted.START:
                offset = log_start
            case OnUncommitted.END:
                offset = end
            case _:
                t.assert_never(on_uncommitted)
        detail = f"{why}: the destination's {on_uncommitted} (on_uncommitted: {on_uncommitted})"
        return self.entry(Verdict.REQUESTED, offset, repeats=repeats, detail=detail)


def from_snapshot(snapshot: Snapshot, mapping: Mapping, on_conflict: OnConflict = OnConflict.FAIL) -> list[Draft]:
    """A draft for each commit and new name. Raises InvalidInput when two sources map to one destination group and topic.

    Several topics that are repartitioned may become one, each from one group. Unless on_conflict is fail, several groups may
    become one on any other topic: _planning/merged_groups.py makes one draft of theirs.
    """
    names: dict[tuple[str, str], tuple[str, ...]] = {}
    sources: dict[tuple[str, str], dict[str, str]] = {}
    # None for a partition whose first commit is in an open transaction.
    committed_by: dict[tuple[str, TopicPartition], CommittedOffset | None] = {
        (group, partition): committed for group, partition, committed in snapshot.entries
    }
    for transaction in snapshot.open:
        if not mapping.is_repartitioned(transaction.partition.topic):  # there, every draft has an offset
            committed_by.setdefault((transaction.group, transaction.partition), None)
    topics: dict[str, str] = {}
    for group, topic in dict.fromkeys((group, partition.topic) for group, partition in committed_by):
        names[group, topic] = mapping.groups(group, topic)
        if topic not in topics:
            topics[topic] = mapping.topic(topic)
        for name in names[group, topic]:
            become = name, topics[topic]
            known = sources.setdefault(become, {})
            known.setdefault(topic, group)
            # All that have become this one so far may do so together: the first of them speaks for those of other topics.
            for other in dict.fromkeys((next(iter(known)), topic)):
                _check_sources(mapping, on_conflict, (known[other], other), (group, topic), become)
    return [
        Draft(name, TopicPartition(topics[source.topic], source.partition), group, source, committed)
        for (group, source), committed in committed_by.items()
        for name in names[group, source.topic]
    ]


def without_open(entries: t.Iterable[PlanEntry], snapshot: Snapshot, mapping: Mapping) -> list[PlanEntry]:
    """The entries, blocked where a transaction that commits offsets for the source's group was open.

    Of a repartitioned topic, every partition is made of all partitions of the source's.
    """
    if not snapshot.open:
        return list(entries)
    opened: dict[tuple[str, TopicPartition | str], OpenTransaction] = {}
    for transaction in snapshot.open:
        opened[transaction.group, transaction.partition] = transaction
        if mapping.is_repartitioned(transaction.partition.topic):
            opened[transaction.group, transaction.partition.topic] = transaction
    result = []
    for entry in entries:
        places = [place for at in entry.source for place in ((at.group, at.partition), (at.group, at.partition.topic))]
        first = next((opened[place] for place in places if place in opened), None)
        result.append(entry if first is None else _blocked_by_transaction(entry, first))
    return result


def _blocked_by_transaction(entry: PlanEntry, transaction: OpenTransaction) -> PlanEntry:
    if transaction.told == IN_BACKUP:
        detail = (
            f"the first commit for {transaction.partition} was in a transaction that was open {IN_BACKUP}: use another backup, "
            "or set on_blocked to skip_partition, which leaves such partitions as they are"
        )
    else:
        detail = (
            f"{open_text({transaction.partition: transaction.told})} at the source: wait for its application, or for its "
            "transaction.timeout.ms, and plan again; kafka-transactions abort ends one that its coordinator has forgotten"
        )
    return PlanEntry(
        entry.group, entry.partition, None, Verdict.BLOCKED, entry.source, reason=Reason.OPEN_TRANSACTION, detail=detail
    )


def _check_sources(
    mapping: Mapping, on_conflict: OnConflict, one: tuple[str, str], other: tuple[str, str], become: tuple[str, str]
) -> None:
    """Raise InvalidInput unless two sources, each a group and a topic, may become one destination."""
    if one == other:
        return
    repartitioned = [mapping.is_repartitioned(topic) for _group, topic in (one, other)]
    if one[1] == other[1]:
        if on_conflict != OnConflict.FAIL and not any(repartitioned):
            return
        merge = ("on_conflict", f"set {option_name('on_conflict')} to lowest or highest to merge the groups")
    else:
        if all(repartitioned):
            return
        merge = ("repartitioned", f"name both topics in {option_name('repartitioned')} to merge them")
    # Inside one cluster, an earlier run may have made the one of them that would stay as it is.
    old = next((each for each, stays in ((one, other), (other, one)) if stays == become), become)
    raise InvalidInput(
        f"two sources map to one destination: {' '.join(one)} and {' '.join(other)} both become {' '.join(become)}",
        remedy=ways(
            *without_new({become[0]} - {old[0]}, {become[1]} - {old[1]}),
            ("topic_map", f"correct {option_name('topic_map')}"),
            ("group_map", f"correct {option_name('group_map')}"),
            merge,
        ),
    )


def without_new(groups: t.Collection[str], topics: t.Collection[str]) -> list[tuple[str, str]]:
    """Ways on, see option_names.ways(), where new names of groups and topics are those of selected ones, too."""
    named = {"exclude_group_patterns": first_names(sorted(groups)), "exclude_topic_patterns": first_of(sorted(topics))}
    return [(option, f"leave {names} out by {option_name(option)}") for option, names in named.items() if names]


def with_uncommitted(drafts: list[Draft], partitions: t.Mapping[str, int]) -> list[Draft]:
    """Add the partitions without a commit of every topic that a group has committed some partition of.

    partitions: how many the source's topics have, by name; missing topics are not in it.
    """
    known = {draft.key for draft in drafts}
    result = list(drafts)
    # Thousands of groups share the partitions of a topic, and each takes memory only once.
    topics = {(draft.partition.topic, draft.source_partition.topic) for draft in drafts}
    shared = {
        pair: [[TopicPartition(topic, number) for topic in pair] for number in range(partitions.get(pair[1], 0))]
        for pair in topics
    }
    for draft in {(draft.group, draft.partition.topic): draft for draft in drafts}.values():
        for partition, source in shared[draft.partition.topic, draft.source_partition.topic]:
            key = draft.group, partition
            if key not in known:
                known.add(key)
                result.append(Draft(*key, draft.source_group, source, None))
    return result


def as_repartitioned(topic: str) -> tuple[str, str]:
    """The remedy where a topic's records are not in the partitions of the same numbers, and its option, for ways()."""
    return "repartitioned", f"name {topic} in repartitioned, so that each record is looked for in all partitions"


def or_excluded(topic: str, *remedies: tuple[str, str]) -> str:
    """The remedies whose options the user can set, as ways() joins them; without any, to leave the topic out."""
    return ways(*remedies) or f"exclude {topic} in exclude_topic_patterns"


def missing_at_source(partition: TopicPartition, count: int) -> str:
    """That the source's topic has only so many partitions."""
    return f"{partition} does not exist at the source, which has {count} partitions of this topic"


def missing_at_destination(topic: str, has_policy: bool = False) -> str:
    """That the topic does not exist there, and what to do. has_policy: whether a policy has named it."""
    # Whoever creates a topic that has another name there waits for ever, because nothing fills it.
    wrong = "if MirrorMaker 2 copies it to a topic with a prefix, set replication_policy; otherwise "
    if has_policy:
        wrong = "if MirrorMaker 2 copies it to a topic of another name, correct replication_policy; otherwise "
    prefixed = ways(("replication_policy", wrong))
    return (
        f"topic {topic} does not exist at the destination: {prefixed}create it and let the replication tool fill it, map it in "
        "topic_map, or exclude it in exclude_topic_patterns"
    )


def without_records(
    draft: Draft,
    source_partitions: t.Mapping[str, int],
    destination_partitions: t.Mapping[str, int],
    mapping: Mapping | None = None,
) -> PlanEntry | None:
    """The entry that topics alone decide, or None: a missing topic or partition, or partition counts that differ.

    mapping: that of the draft, if it may be why a topic is missing.
    """
    topic, copy = draft.source_partition.topic, draft.partition.topic
    source_count, count = source_partitions.get(topic), destination_partitions.get(copy)
    reason = Reason.TOPIC_MISSING
    if source_count is None:
        detail = f"topic {topic} does not exist at the source: exclude it"
    elif count is None and is_repartition_topic(topic, draft.source_group):
        detail = (
            f"{copy} does not exist at the destination, and is a repartition topic, which Kafka Streams makes itself: do not "
            "fill it. Let the application consume it to its end at the source, then name it in exclude_topic_patterns"
        )
    elif count is None:
        detail = missing_at_destination(copy, mapping is not None and mapping.prefixes != NO_PREFIXES)
        detail += mapping.hint_of_own(topic) if mapping else ""
    elif source_count != count:
        reason = Reason.PARTITION_COUNT_DIFFERS
        remedy = or_excluded("it", as_repartitioned("it"))
        if count < source_count:
            # A replication tool adds partitions later than the source; a return finds them added after the migration.
            wait = "wait until the replication tool adds the missing ones, or add them yourself, if each record belongs in the "
            remedy = ways(as_repartitioned("it"), ("", f"{wait}partition that it is in"))
        destination = count if topic == copy else f"{copy} has {count}"
        detail = f"{topic} has {source_count} partitions at the source, and {destination} at the destination: {remedy}"
    elif draft.source_partition.partition >= source_count:
        detail = missing_at_source(draft.source_partition, source_count)
    else:
        return None
    return draft.entry(Verdict.BLOCKED, reason=reason, detail=detail)


def decided(draft: Draft, decision: Decision, match_on: MatchOn = EVERYTHING) -> PlanEntry:
    """The entry for a draft that the rule has decided."""
    return entry_of(decision, *draft.key, draft.positions, draft.metadata, match_on)


def entry_of(
    decision: Decision,
    group: str,
    partition: TopicPartition,
    source: tuple[SourcePosition, ...],
    metadata: str,
    match_on: MatchOn,
) -> PlanEntry:
    """The entry for a decision: of which group and partition of the destination, and for what the source has committed.

    metadata: what was committed with the offset; an entry without an offset has none.
    """
    certificate = decision.certificate.name if decision.certificate else None
    matched_by = match_on.matched_by(decision.matched_by)
    return PlanEntry(
        group,
        partition,
        decision.offset,
        decision.verdict,
        source,
        metadata="" if decision.offset is None else metadata,
        reason=decision.reason,
        repeats=decision.repeats,
        detail="; ".join(str(each) for each in (decision.detail, decision.absent) if each),
        lossless=decision.lossless_offset,
        to_come=decision.to_come,
        lost=decision.lost,
        lost_bound=decision.lost_bound,
        absent=decision.absent,
        skipped=decision.skipped,
        evidence=Evidence(decision.before, decision.after, matched_by, certificate, decision.way, decision.doubt),
    )
