# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Topics whose records stand in other partitions at the destination, or of which several became one."""

from __future__ import annotations

import dataclasses
import functools

from ..._matching.evidence import Decision, Log, blocked, failed
from ..._matching.group_count import Copy, GroupCount
from ..._matching.merged import Position, Sources, blocked_by_one, decide_merged, untouched
from ..._model.match_on import Matching
from ..._model.plan import PlanEntry, SourcePosition
from ..._model.policies import OnUncommitted
from ..._model.verdicts import Copied, Reason, Way
from ..._model.wording import part_of
from ..cluster_logs import ClusterLogs, learn_both, while_records_expire
from ..drafts import entry_of
from .merged_counts import (
    Merged,
    NotCounted,
    counting,
    due_from,
    found_in,
    is_older,
    lacking,
    merged_topics,
    missing_records,
    read_around,
)
from .settling import ReplicationWait
from .strategy import DraftKey, StrategyInput, TranslateOptions

_Decisions = list[Decision]  # one for each partition of the destination


def repartitioned_entries(given: StrategyInput) -> dict[DraftKey, PlanEntry]:
    """An entry for every partition of every destination topic and group that is merged, from all of its source partitions.

    Both topics' partitions may have any number. A session of Spark is only asked for where one of the clusters has more
    offsets than search_limit.
    """
    source, destination = given.source, given.destination
    all_merged = merged_topics(given.merged, given.source_counts, given.destination_counts)
    result: dict[DraftKey, PlanEntry] = {}
    readable: list[Merged] = []
    for merged in all_merged:
        detail = lacking(merged, given.source_counts, given.destination_counts)
        if detail is None:
            readable.append(merged)
        else:
            decision = blocked(Reason.TOPIC_MISSING, detail)
            for group in merged.groups:
                result |= _entries(merged, group, [decision] * len(merged.targets), given)
    originals = {partition for merged in readable for partition in merged.sources}
    learn_both(source, originals, destination, {partition for merged in readable for partition in merged.targets})
    waiting = ReplicationWait(given.options.wait_for_replication, given.say)
    for merged in readable:
        decisions = _without_records(merged, given)
        left = {group: merged.groups[group] for group in merged.groups if group not in decisions}
        if left:
            read = functools.partial(_by_records, dataclasses.replace(merged, groups=left), given, waiting)
            try:
                decisions |= while_records_expire(read, source, merged.sources, destination, merged.targets, given.say)
            except NotCounted as exc:
                not_counted = blocked(Reason.SEARCH_BUDGET_SPENT, str(exc))
                decisions |= dict.fromkeys(left, [not_counted] * len(merged.targets))
        for group, by_target in decisions.items():
            result |= _entries(merged, group, by_target, given)
    return result


def _without_records(merged: Merged, given: StrategyInput) -> dict[str, _Decisions]:
    """The decisions for groups whose positions alone decide: those that are refused, or have never consumed anything."""
    decisions: dict[str, _Decisions] = {}
    on_uncommitted = given.options.on_uncommitted
    for group, drafts in merged.groups.items():
        sources = Sources(merged.positions(drafts, given.source, on_uncommitted))
        details = (given.cut.get((draft.source_group, draft.source_partition)) for draft in drafts)
        cut = next(filter(None, details), None)
        refusal = blocked(Reason.BEYOND_END, cut) if cut else blocked_by_one(sources.positions)
        if refusal is not None:
            decisions[group] = [refusal] * len(merged.targets)
        elif not sources.consumed:
            by_target = [untouched(sources, given.destination.logs[partition].facts) for partition in merged.targets]
            decisions[group] = [_with_uncommitted(decision, sources, on_uncommitted) for decision in by_target]
    return decisions


def _by_records(merged: Merged, given: StrategyInput, waiting: ReplicationWait) -> dict[str, _Decisions]:
    """Count both sides and decide for all groups; while consumed records are still to come, and there is time, read on."""
    source, destination, options = given.source, given.destination, given.options

    def positions() -> list[tuple[Position, ...]]:
        return [merged.positions(drafts, source, options.on_uncommitted) for drafts in merged.groups.values()]

    with counting(merged, given) as (way, count):
        while True:
            counts = count([tuple(at.consumed_below for at in of_group) for of_group in positions()])
            source.learn_starts(merged.sources)
            keep_times = [group_count.keeps_times or group_count.matching.timestamp for group_count in counts]
            older = not all(keep_times) and is_older(merged, source, destination, options.policy)
            sources = [
                Sources(
                    of_group,
                    missing_records(of_group, group_count),
                    due_from(of_group, group_count, source),
                    is_older=older and not keeps_times,
                )
                for of_group, group_count, keeps_times in zip(positions(), counts, keep_times, strict=True)
            ]
            starts = {at: destination.logs[at].facts.log_start for at in merged.targets}
            read_around(merged, destination, zip(sources, counts, strict=True), options.policy)
            if any(destination.logs[at].facts.log_start > start for at, start in starts.items()):
                continue  # some of what was counted has expired
            decisions = {
                group: _decided(merged, group_sources, group_count, destination, options, way)
                for group, group_sources, group_count in zip(merged.groups, sources, counts, strict=True)
            }
            reasons = {decision.reason for by_target in decisions.values() for decision in by_target}
            if Reason.DESTINATION_LAGS not in reasons or not _more_arrives(merged, given, waiting):
                return decisions


def _more_arrives(merged: Merged, given: StrategyInput, waiting: ReplicationWait) -> bool:
    """Wait until the destination has grown, and learn both sides' edges again. False: the time is over."""
    destination = given.destination
    before = {at: destination.logs[at].facts.end for at in merged.targets}
    while waiting.goes_on(f"the replication tool: topic {merged.topic} lags"):
        destination.learn(merged.targets)
        if any(destination.logs[at].facts.end != end for at, end in before.items()):
            given.source.learn(merged.sources)
            return True
    return False


def _decided(
    merged: Merged, sources: Sources, counts: GroupCount, destination: ClusterLogs, options: TranslateOptions, way: Way
) -> _Decisions:
    result: _Decisions = []
    for number, partition in enumerate(merged.targets):
        log = destination.logs[partition]
        try:
            partition_count = found_in(sources, counts, number, log, options.policy)
            decision = decide_merged(sources, partition_count, log.facts, options.policy)
        except Exception as error:  # noqa: BLE001 - a fault of this code, at one partition, must not stop all others
            its_facts = [at.facts for at in sources.positions]
            decision = failed(error, [at.committed for at in sources.positions], its_facts, log.facts)
        decision = _with_uncommitted(decision, sources, options.on_uncommitted)
        copies = counts.last_consumed[number], counts.first_wanted[number]
        before, after = (_anchor(merged, copy, log, counts.matching) for copy in copies)
        offset = decision.offset
        if offset is None or (before is not None and before.destination >= offset):
            before = None
        if offset is None or (after is not None and after.destination < offset):
            after = None
        matched_by = () if offset is None else counts.matching.parts
        result.append(dataclasses.replace(decision.by(way), before=before, after=after, matched_by=matched_by))
    return result


def _with_uncommitted(decision: Decision, sources: Sources, on_uncommitted: OnUncommitted) -> Decision:
    """Say what was assumed of partitions without a commit."""
    count = sum(at.committed is None for at in sources.positions)
    if not count:
        return decision
    side = "consumed" if on_uncommitted == OnUncommitted.END else "unconsumed"
    assumed = (
        f"{part_of(count, len(sources.positions), 'source partition')} {'has' if count == 1 else 'have'} no committed offset: "
        f"all records of {'it' if count == 1 else 'them'} count as {side} "
        f"(on_uncommitted: {on_uncommitted})"
    )
    return dataclasses.replace(decision, detail="; ".join(filter(None, (decision.detail, assumed))))


def _anchor(merged: Merged, copy: Copy | None, log: Log, matching: Matching) -> Copied | None:
    """None also where it has left the log since it was counted."""
    records = [] if copy is None else log.between(copy.destination_offset, copy.destination_offset + 1)
    if copy is None or not records:
        return None
    fingerprint = matching.fingerprint(records[0])
    return Copied(copy.source_offset, copy.destination_offset, fingerprint, merged.sources[copy.source])


def _entries(merged: Merged, group: str, decisions: _Decisions, given: StrategyInput) -> dict[DraftKey, PlanEntry]:
    drafts = {draft.source_partition: draft for draft in merged.groups[group]}
    names = {draft.source_partition.topic: draft.source_group for draft in drafts.values()}
    ends = {}
    if given.options.on_uncommitted == OnUncommitted.END:
        ends = {at: given.source.logs[at].facts.end for at in merged.sources if at in given.source.logs}
    positions = tuple(
        SourcePosition(names[at.topic], at, drafts[at].offset)
        if at in drafts
        else SourcePosition(names[at.topic], at, None, ends.get(at, 0))
        for at in sorted({*merged.sources, *drafts})
    )
    metadata = {draft.metadata for draft in drafts.values() if draft.committed is not None}
    # One text for several commits is theirs only where they agree.
    common = metadata.pop() if len(metadata) == 1 else ""
    return {
        (group, partition): entry_of(decision, group, partition, positions, common, given.options.match_on)
        for partition, decision in zip(merged.targets, decisions, strict=True)
    }
