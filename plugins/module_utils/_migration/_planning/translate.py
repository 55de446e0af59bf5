# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Use case: find where groups must stand at the destination.

A new strategy is a function from StrategyInput to StrategyOutput in a file of its own, a value of policies.Strategy, and a
line of STRATEGIES.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..._control import clusters
from ..._model.background import at_once
from ..._model.cluster_identity import ClusterIdentity, LogRange
from ..._model.connection import Connection
from ..._model.mapping import Mapping
from ..._model.match_on import MatchOn
from ..._model.notes import Note, NoteKind
from ..._model.plan import Plan, PlanEntry
from ..._model.policies import OnUncommitted, Strategy
from ..._model.progress import Say, counted, silent
from ..._model.receipt import Receipt
from ..._model.records import TopicPartition
from ..._model.snapshot import Snapshot
from ..._model.topic_plan import TopicPlan
from ..._model.verdicts import Reason, Verdict
from ..._records.range_reader import expect_ranges
from ..._spark.session import session_on_demand
from .. import drafts
from ..cluster_logs import ClusterLogs, expect_reading, learn_both
from ..cut_logs import CutOff, cut_off
from ..drafts import Draft
from ..expected import still_true, with_expected, without_needless_moves
from ..file_clusters import equal_ids
from ..one_cluster import check_nothing_stays, check_rules_fit
from ..take_snapshot import check_snapshot_cluster
from ..unknown_rules import unknown_rules
from . import merged_groups, new_records
from .by_mirror_maker import by_mirror_maker, no_copies
from .by_records import by_records
from .identical import identical
from .predicted import Prediction, predict
from .strategy import DraftKey, StrategyInput, StrategyOutput, TranslateOptions, Translation, lost_notes

STRATEGIES: t.Mapping[Strategy, t.Callable[[StrategyInput], StrategyOutput]] = {
    Strategy.RECORDS: by_records,
    Strategy.IDENTICAL: identical,
    Strategy.MIRROR_MAKER: by_mirror_maker,
}


def translate(
    snapshot: Snapshot,
    source: Connection,
    destination: Connection,
    mapping: Mapping,
    options: TranslateOptions,
    previous: Plan | None = None,
    receipt: Receipt | None = None,
    say: Say = silent,
) -> Translation:
    """Make the plan. A verdict never raises; what raises is a cluster that cannot be read, or is another one.

    previous and receipt: what earlier runs left. An entry of which the decision is the same keeps what it expected
    to find at the destination, where the receipt explains what is there now.
    """
    wanted = drafts.from_snapshot(snapshot, mapping, options.on_conflict)
    expect_reading(expect_ranges, source, destination)
    one_cluster, _of_snapshot = at_once(
        lambda: clusters.are_one(source, destination), lambda: check_snapshot_cluster(snapshot, source)
    )
    # Before anything is decided by it: what changes from now on is seen by the commit.
    at_source, at_destination = _checked_clusters(
        wanted, mapping, one_cluster, source, destination, restores=options.restores
    )
    cluster_ids = at_source.cluster_id, at_destination.cluster_id
    notes_of_names = (*equal_ids(*cluster_ids, one_cluster), *unknown_rules(wanted, mapping, source))
    merged = [draft for draft in wanted if mapping.is_repartitioned(draft.source_partition.topic)]
    plain = [draft for draft in wanted if not mapping.is_repartitioned(draft.source_partition.topic)]
    prediction = _predicted(plain, merged, at_destination.traits.counts, cluster_ids, options.promotion)
    if options.mirror is not None and wanted and not prediction.counts:
        raise no_copies(wanted, destination, mapping)
    source_counts, counts = at_source.traits.counts, prediction.counts
    destination_traits = at_destination.traits.with_counts(counts)
    begun = Plan(*cluster_ids, snapshot.digest(), (), at_source.traits, destination_traits, options.match_on.parts)
    # Topics and the edges of logs decide what they can, the strategy what is left.
    together = merged_groups.merge_drafts(drafts.with_uncommitted(plain, source_counts), options.on_conflict)
    entries, searched = _by_topics(together, source_counts, counts, mapping)
    logs = _learned_logs(searched, source, destination, options.match_on, prediction)
    entries |= _by_edges(searched, logs.destination, options.on_uncommitted)
    same_topics = begun.same_topics if one_cluster else {}
    left = {draft.key for draft in [*searched, *merged]}
    read = [draft for draft in wanted if draft.key in left]
    cut = cut_off(source, _read_otherwise(read, source_counts, same_topics, options.strategy))
    entries |= _on_cut_logs(searched, plain, cut)
    undecided = {draft.key: draft for draft in searched if draft.key not in entries}
    highest = merged_groups.at_highest(undecided)
    earlier = still_true(previous, begun) if previous is not None else None
    with session_on_demand(options.spark, say) as spark:
        given = StrategyInput(
            undecided | highest, merged, *logs, source_counts, counts, same_topics, earlier, options, spark, say, cut
        )
        outcome = STRATEGIES[options.strategy](given)
    entries |= outcome.entries
    entries |= _completed(entries, searched, logs.destination, prediction, options)
    entries = {key: entry for key, entry in entries.items() if key not in highest}
    entries |= _returning(entries, searched, logs, options, say)
    made = tuple(drafts.without_open(entries.values(), snapshot, mapping))
    plan = with_expected(dataclasses.replace(begun, entries=made), destination, previous, receipt)
    plan = without_needless_moves(plan, logs.destination, options.policy.budget)
    of_new_records = new_records.new_record_notes(plan.entries)
    return Translation(
        plan,
        outcome.kept,
        records_read=logs.source.records_read + logs.destination.records_read,
        index=outcome.index,
        logs=logs.of_destination(searched) if one_cluster else None,
        notes=(*notes_of_names, *lost_notes(plan), *outcome.notes, *_absent_notes(plan), *of_new_records),
    )


def _returning(
    entries: t.Mapping[DraftKey, PlanEntry],
    searched: t.Iterable[Draft],
    logs: _Logs,
    options: TranslateOptions,
    say: Say,
) -> dict[DraftKey, PlanEntry]:
    """The entries of a return that are others, because the source has records that nothing copies to the destination."""
    policy = options.on_new_records
    if policy is None:
        return {}
    plain = {draft.key: entries[draft.key] for draft in searched}
    merged = {key: new_records.uncounted(entry, policy) for key, entry in entries.items() if key not in plain}
    wait = options.wait_for_replication
    return merged | new_records.with_new_records(plain, *logs, policy, options.policy.budget, wait, say)


def _absent_notes(plan: Plan) -> list[Note]:
    """What the destination lacks, in a line."""
    lacking = sorted((entry for entry in plan.entries if entry.absent), key=lambda entry: entry.key)
    if not lacking:
        return []
    more = f" (and {counted(len(lacking) - 1, 'more group-partition')})" if lacking[1:] else ""
    return [Note(NoteKind.ABSENT, f"{lacking[0].group} {lacking[0].partition}: {lacking[0].absent}{more}")]


class _Logs(t.NamedTuple):
    """The logs of both clusters."""

    source: ClusterLogs
    destination: ClusterLogs

    def of_destination(self, searched: t.Iterable[Draft]) -> dict[TopicPartition, LogRange]:
        """Where the destination's logs start and end."""
        facts = {draft.partition: self.destination.logs[draft.partition].facts for draft in searched}
        return {
            partition: LogRange(log_facts.log_start, log_facts.high_watermark) for partition, log_facts in facts.items()
        }


def _checked_clusters(
    wanted: list[Draft],
    mapping: Mapping,
    one_cluster: bool,
    source: Connection,
    destination: Connection,
    *,
    restores: bool,
) -> tuple[ClusterIdentity, ClusterIdentity]:
    """Source and destination, with all topics. Raises Refused where the mapping is not made for them."""
    # A misspelt rule is why something stays, and says so more plainly.
    check_rules_fit(wanted, mapping, one_cluster, destination)
    if not restores:
        check_nothing_stays(wanted, one_cluster, source, destination)
    return at_once(
        lambda: clusters.look_at(source, {draft.source_partition.topic for draft in wanted}),
        lambda: clusters.look_at(destination, {draft.partition.topic for draft in wanted}),
    )


def _predicted(
    plain: list[Draft],
    merged: list[Draft],
    counts: t.Mapping[str, int],
    cluster_ids: tuple[str, str],
    promotion: TopicPlan | None,
) -> Prediction:
    """The partitions that the destination has, once topics are promoted. counts: those that it has now."""
    plain_topics, merged_topics = ({draft.partition.topic for draft in part} for part in (plain, merged))
    # A repartitioned topic has other partitions than the source's, and no promotion makes it.
    return predict(promotion, cluster_ids, plain_topics - merged_topics, counts)


def _by_topics(
    wanted: list[Draft],
    source_counts: t.Mapping[str, int],
    destination_counts: t.Mapping[str, int],
    mapping: Mapping,
) -> tuple[dict[DraftKey, PlanEntry], list[Draft]]:
    """The entries that topics alone decide, and the drafts that they do not."""
    entries: dict[DraftKey, PlanEntry] = {}
    searched: list[Draft] = []
    for draft in wanted:
        entry = drafts.without_records(draft, source_counts, destination_counts, mapping)
        if entry is None:
            searched.append(draft)
        else:
            entries[draft.key] = entry
    return entries, searched


def _learned_logs(
    searched: list[Draft], source: Connection, destination: Connection, match_on: MatchOn, prediction: Prediction
) -> _Logs:
    """The logs of both clusters, with the edges of those that are searched."""
    source_logs = ClusterLogs(source, match_on, with_open=True)
    destination_logs = ClusterLogs(destination, match_on, predicted=prediction.partitions)
    originals = {draft.source_partition for draft in searched}
    learn_both(source_logs, originals, destination_logs, {draft.partition for draft in searched})
    return _Logs(source_logs, destination_logs)


def _by_edges(
    searched: t.Iterable[Draft], destination: ClusterLogs, on_uncommitted: OnUncommitted
) -> dict[DraftKey, PlanEntry]:
    """The entries of partitions without a commit, which begin at an edge of the destination's log, or nowhere."""
    entries: dict[DraftKey, PlanEntry] = {}
    for draft in searched:
        if draft.committed is None:
            facts = destination.logs[draft.partition].facts
            why = "no commit at the source"
            entries[draft.key] = draft.uncommitted(on_uncommitted, facts.log_start, facts.end, why)
    return entries


def _read_otherwise(
    wanted: t.Iterable[Draft],
    source_counts: t.Mapping[str, int],
    same_topics: t.Container[str],
    strategy: Strategy,
) -> t.Iterator[Draft]:
    """The drafts on partitions that the source has, but for those that stay in one log with their leader epochs.

    There the group's consumers find themselves that the log was cut off, as they do now.
    """
    for draft in wanted:
        stays = draft.partition.topic in same_topics and draft.partition == draft.source_partition
        exists = draft.source_partition.partition < source_counts.get(draft.source_partition.topic, 0)
        if exists and not (stays and strategy is Strategy.IDENTICAL):
            yield draft


def _on_cut_logs(searched: t.Iterable[Draft], plain: t.Iterable[Draft], cut: CutOff) -> dict[DraftKey, PlanEntry]:
    """The entries of commits that the source's logs have not kept. plain: each group's own drafts, before a merge of groups."""
    details = {
        draft.key: cut[draft.source_group, draft.source_partition]
        for draft in plain
        if (draft.source_group, draft.source_partition) in cut
    }
    return {
        draft.key: draft.entry(Verdict.BLOCKED, reason=Reason.BEYOND_END, detail=details[draft.key])
        for draft in searched
        if draft.key in details
    }


def _completed(
    entries: t.Mapping[DraftKey, PlanEntry],
    searched: t.Iterable[Draft],
    destination: ClusterLogs,
    prediction: Prediction,
    options: TranslateOptions,
) -> dict[DraftKey, PlanEntry]:
    """The searched entries with what no strategy knows: the other groups of a merge, and partitions that are yet to be made."""
    completed = {}
    for draft in searched:
        log_start = destination.logs[draft.partition].facts.log_start
        entry = entries[draft.key]
        highest = entries.get(merged_groups.highest_key(draft.key), entry)
        entry = merged_groups.merged_entry(
            entry, highest, draft, options.on_conflict, options.on_uncommitted, log_start
        )
        is_predicted = draft.partition in prediction.partitions
        if entry.predicted != is_predicted:  # a copy of each entry would cost more than all else that is done here
            entry = dataclasses.replace(entry, predicted=is_predicted)
        completed[draft.key] = entry
    return completed
