# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Topics whose records stand in other partitions at the destination, or of which several became one."""

from __future__ import annotations

import dataclasses
import time
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import Decision, Policy
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.merged import (
    Found,
    Missing,
    Position,
    Sources,
    decide_merged,
    refused,
    young_from,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.drafts import Draft
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.reading import PAUSE, SAY_WAITING_EVERY, Side
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import (
    Copied,
    Evidence,
    PlanEntry,
    SourcePosition,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.progress import Say, counted, paced, silent
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason, Verdict
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.growing import Growing
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.merging import (
    Pair,
    Told,
    choose_matching,
    tell_apart,
)

if t.TYPE_CHECKING:
    from ansible_collections.streamshift.kafka.plugins.module_utils._spark.library import SparkSession


_Key = tuple[str, TopicPartition]
_Decisions = list[tuple[Decision, Evidence]]  # one for each partition of the destination


@dataclasses.dataclass(frozen=True, slots=True)
class Wanted:
    """What the user wants of these topics. match_on: the parts that are compared, empty for all; wait in seconds."""

    policy: Policy
    on_uncommitted: str
    match_on: tuple[str, ...]
    wait_for_replication: float


@dataclasses.dataclass(frozen=True, slots=True)
class _Merged:
    """Source topics that became one topic, and the groups that have committed something for all of these, and no others.

    sources, targets: all their partitions. groups: the drafts by the destination's group.
    """

    topics: tuple[str, ...]
    topic: str
    groups: dict[str, list[Draft]]
    sources: list[TopicPartition]
    targets: list[TopicPartition]

    def positions(self, drafts: t.Iterable[Draft], here: Side, on_uncommitted: str) -> tuple[Position, ...]:
        """Where a group stands. What it has not committed is all unconsumed, unless on_uncommitted is end."""
        committed = {draft.source_partition: draft.offset for draft in drafts}
        positions = []
        for partition in self.sources:
            facts, offset = here.logs[partition].facts, committed.get(partition)
            otherwise = facts.end if on_uncommitted == "end" else facts.log_start
            positions.append(Position(partition, offset, otherwise if offset is None else offset, facts))
        return tuple(positions)


def entries(
    drafts: t.Iterable[Draft],
    source_counts: t.Mapping[str, int],
    destination_counts: t.Mapping[str, int],
    here: Side,
    there: Side,
    wanted: Wanted,
    spark: t.Callable[[], SparkSession],
    say: Say = silent,
) -> dict[_Key, PlanEntry]:
    """An entry for every partition of every destination topic and group, from all of its source partitions.

    Both topics' partitions may have any number. spark is asked for a session only where records have to be read.
    """
    merged = _merged(drafts, source_counts, destination_counts)
    result: dict[_Key, PlanEntry] = {}
    readable: list[_Merged] = []
    for its in merged:
        detail = _lacking(its, source_counts, destination_counts)
        if detail is None:
            readable.append(its)
        else:
            blocked = Decision(Verdict.BLOCKED, None, Reason.TOPIC_MISSING, detail=detail)
            for group in its.groups:
                result |= _entries(its, group, [(blocked, Evidence())] * len(its.targets))
    # The destination's end first: what arrives there later must not make the source look shorter than it is.
    there.learn({partition for its in readable for partition in its.targets})
    here.learn({partition for its in readable for partition in its.sources})
    deadline = time.monotonic() + wanted.wait_for_replication
    for its in readable:
        decisions = _without_records(its, here, there, wanted)
        left = {group: its.groups[group] for group in its.groups if group not in decisions}
        if left:
            decisions |= _by_records(spark(), dataclasses.replace(its, groups=left), here, there, wanted, deadline, say)
        for group, each in decisions.items():
            result |= _entries(its, group, each)
    return result


def _merged(
    drafts: t.Iterable[Draft], source_counts: t.Mapping[str, int], destination_counts: t.Mapping[str, int]
) -> list[_Merged]:
    """What belongs together, by destination topic and source topics: one pair of scans serves all groups of it."""
    by_group: dict[tuple[str, str], list[Draft]] = {}
    for draft in drafts:
        by_group.setdefault((draft.partition.topic, draft.group), []).append(draft)
    found: dict[tuple[str, tuple[str, ...]], dict[str, list[Draft]]] = {}
    for (topic, group), its in by_group.items():
        topics = tuple(sorted({draft.source_partition.topic for draft in its}))
        found.setdefault((topic, topics), {})[group] = its
    merged = []
    for (topic, topics), groups in sorted(found.items()):
        sources = [TopicPartition(name, at) for name in topics for at in range(source_counts.get(name, 0))]
        # A topic that is not there gets entries as if it had the source's partitions.
        width = destination_counts.get(topic) or max([1, *(source_counts.get(name, 0) for name in topics)])
        merged.append(_Merged(topics, topic, groups, sources, [TopicPartition(topic, at) for at in range(width)]))
    return merged


def _lacking(its: _Merged, source_counts: t.Mapping[str, int], destination_counts: t.Mapping[str, int]) -> str | None:
    """What of these topics does not exist."""
    for name in its.topics:
        if name not in source_counts:
            return f"topic {name} does not exist at the source: exclude it"
    if its.topic not in destination_counts:
        return f"topic {its.topic} does not exist at the destination: fill it, map it, or exclude it"
    known = set(its.sources)
    for drafts in its.groups.values():
        for draft in drafts:
            if draft.source_partition not in known:
                count = source_counts[draft.source_partition.topic]
                return (
                    f"{draft.source_partition} does not exist at the source, which has {count} partitions of this topic"
                )
    return None


def _without_records(its: _Merged, here: Side, there: Side, wanted: Wanted) -> dict[str, _Decisions]:
    """The decisions for groups whose positions alone decide: those that are refused, or have never consumed anything."""
    decisions: dict[str, _Decisions] = {}
    for group, drafts in its.groups.items():
        positions = its.positions(drafts, here, wanted.on_uncommitted)
        refusal = refused(positions)
        if refusal is not None:
            decisions[group] = [(refusal, Evidence())] * len(its.targets)
        elif Sources(positions).nothing_consumed:
            decisions[group] = _decided(its, Sources(positions), None, there, wanted, ())
    return decisions


def _by_records(
    spark: SparkSession, its: _Merged, here: Side, there: Side, wanted: Wanted, deadline: float, say: Say
) -> dict[str, _Decisions]:
    """Read both sides and decide for all groups; while consumed records are still to come, and there is time, read on."""
    stamped = any(there.logs[partition].facts.log_append_time for partition in its.targets)
    compares_times = wanted.policy.with_timestamp and not stamped
    _say_size(say, its, here, there)
    with (
        Growing(spark, there.connection, its.targets, there.parts) as copies,
        Growing(spark, here.connection, its.sources, here.parts, with_open=True) as originals,
    ):
        while True:
            destination = copies.up_to({at: there.logs[at].facts for at in its.targets})
            source = originals.up_to({at: here.logs[at].facts for at in its.sources})
            matching = choose_matching(source, destination, compares_times, here.leave_headers_out)
            policy = dataclasses.replace(wanted.policy, with_timestamp=matching.timestamp)
            standing = {
                group: its.positions(drafts, here, wanted.on_uncommitted) for group, drafts in its.groups.items()
            }
            told = tell_apart(
                spark,
                source,
                destination,
                matching,
                [[at.consumed_below for at in positions] for positions in standing.values()],
                len(its.targets),
                young_from(Sources(next(iter(standing.values()))), policy.now),
            )
            decisions = {
                group: _decided(
                    its,
                    Sources(positions, _missing(positions, each)),
                    each,
                    there,
                    dataclasses.replace(wanted, policy=policy),
                    wanted.match_on or matching.parts,
                )
                for (group, positions), each in zip(standing.items(), told, strict=True)
            }
            if not _lags(decisions) or not _more_arrives(its, here, there, deadline, say):
                return decisions


def _lags(decisions: t.Mapping[str, _Decisions]) -> bool:
    return any(each.reason is Reason.DESTINATION_LAGS for its in decisions.values() for each, _evidence in its)


def _say_size(say: Say, its: _Merged, here: Side, there: Side) -> None:
    logs = [*(here.logs[at].facts for at in its.sources), *(there.logs[at].facts for at in its.targets)]
    size = sum(facts.end - facts.log_start for facts in logs)
    say(f"comparing up to {counted(size, 'record')} of topic {its.topic} with Spark")


def _more_arrives(its: _Merged, here: Side, there: Side, deadline: float, say: Say) -> bool:
    """Wait until the destination has grown, and learn both sides' edges again. False: the time is over."""
    before = {at: there.logs[at].facts.end for at in its.targets}
    say = paced(say, SAY_WAITING_EVERY)
    while (left := deadline - time.monotonic()) > 0:
        say(f"waiting for the replication tool: topic {its.topic} lags ({left:.0f} s left)")
        time.sleep(PAUSE)
        there.learn(its.targets)
        if any(there.logs[at].facts.end != end for at, end in before.items()):
            here.learn(its.sources)
            return True
    return False


def _missing(positions: t.Sequence[Position], told: Told) -> Missing | None:
    """What is still to come; of partitions without a commit nothing is, for it was never consumed."""
    its = {at: each for at, each in sorted(told.missing.items()) if positions[at].committed is not None}
    if not its:
        return None
    first = next(iter(its))
    return Missing(sum(records for records, _offset in its.values()), positions[first].partition, its[first][1])


def _decided(
    its: _Merged,
    sources: Sources,
    told: Told | None,
    there: Side,
    wanted: Wanted,
    matched_by: tuple[str, ...],
) -> _Decisions:
    result: _Decisions = []
    for number, partition in enumerate(its.targets):
        found = told.found[number] if told else Found()
        decision = decide_merged(sources, found, there.logs[partition].facts, wanted.policy)
        decision = _with_uncommitted(decision, sources, wanted.on_uncommitted)
        pairs = told.pairs[number] if told else (None, None)
        before, after = (None if pair is None else _copied(its, pair) for pair in pairs)
        offset = decision.offset
        if offset is None or (before is not None and before.destination >= offset):
            before = None
        if offset is None or (after is not None and after.destination < offset):
            after = None
        result.append((decision, _evidence(decision, before, after, matched_by)))
    return result


def _evidence(decision: Decision, before: Copied | None, after: Copied | None, matched_by: tuple[str, ...]) -> Evidence:
    certificate = decision.certificate.name if decision.certificate else None
    return Evidence(before, after, matched_by if decision.offset is not None else (), certificate)


def _with_uncommitted(decision: Decision, sources: Sources, on_uncommitted: str) -> Decision:
    """Say what was assumed of partitions without a commit."""
    count = sum(at.committed is None for at in sources.positions)
    if not count:
        return decision
    side = "consumed" if on_uncommitted == "end" else "unconsumed"
    assumed = (
        f"{count} of {len(sources.positions)} source partitions have no commit: all of them counts as {side} "
        f"(on_uncommitted: {on_uncommitted})"
    )
    return dataclasses.replace(decision, detail="; ".join(filter(None, (decision.detail, assumed))))


def _copied(its: _Merged, pair: Pair) -> Copied:
    return Copied(pair.source, pair.destination, pair.fingerprint, its.sources[pair.range])


def _entries(its: _Merged, group: str, decisions: _Decisions) -> dict[_Key, PlanEntry]:
    drafts = {draft.source_partition: draft for draft in its.groups[group]}
    names = {draft.source_partition.topic: draft.source_group for draft in drafts.values()}
    positions = tuple(
        SourcePosition(names[at.topic], at, drafts[at].offset if at in drafts else None)
        for at in sorted({*its.sources, *drafts})
    )
    metadata = {draft.committed.metadata for draft in drafts.values() if draft.committed is not None}
    # One text for several commits is theirs only where they agree.
    common = metadata.pop() if len(metadata) == 1 else ""
    return {
        (group, partition): PlanEntry(
            group,
            partition,
            decision.offset,
            decision.verdict,
            positions,
            metadata=common if decision.offset is not None else "",
            reason=decision.reason,
            repeats=decision.repeats,
            detail=decision.detail,
            lossless=decision.lossless,
            evidence=evidence,
        )
        for partition, (decision, evidence) in zip(its.targets, decisions, strict=True)
    }
