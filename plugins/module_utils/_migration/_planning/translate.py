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
from ..._model.errors import OtherCluster
from ..._model.mapping import Mapping
from ..._model.notes import NoteKind
from ..._model.plan import Plan, PlanEntry
from ..._model.policies import Strategy
from ..._model.progress import Say, silent
from ..._model.receipt import Receipt
from ..._model.records import TopicPartition
from ..._model.snapshot import Snapshot
from ..._model.topic_plan import TopicPlan
from ..._model.verdicts import NOT_IN_BACKUP, Reason, Verdict
from ..._records.range_reader import expect_ranges
from ..._spark.session import session_on_demand
from .. import drafts
from ..cluster_logs import ClusterLogs, expect_reading, learn_both
from ..cut_logs import CutOff, cut_off
from ..drafts import Draft
from ..expected import still_true, with_expected, without_needless_moves
from ..file_clusters import check_snapshot_cluster, equal_ids
from ..one_cluster import check_nothing_stays, check_rules_fit
from ..unknown_rules import unknown_rules
from . import merged_groups, new_records
from .by_mirror_maker import by_mirror_maker, no_copies
from .by_records import by_records
from .identical import identical
from .strategy import (
    DraftKey,
    StrategyInput,
    StrategyOutput,
    TopicIds,
    TranslateOptions,
    Translation,
    entry_note,
    lost_notes,
)

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
    one_cluster = _check_clusters(snapshot, wanted, mapping, source, destination, options)
    merged = [draft for draft in wanted if mapping.is_repartitioned(draft.source_partition.topic)]
    plain = [draft for draft in wanted if not mapping.is_repartitioned(draft.source_partition.topic)]
    begun, predicted = _look(snapshot, plain, merged, mapping, source, destination, options)
    source_counts, counts = begun.source_traits.counts, begun.destination_traits.counts
    notes_of_names = (
        *equal_ids(begun.source_id, begun.destination_id, one_cluster),
        *unknown_rules(wanted, mapping, source),
    )
    # Topics and the edges of logs decide what they can, the strategy what is left.
    together = merged_groups.merge_drafts(drafts.with_uncommitted(plain, source_counts), options.on_conflict)
    by_topics = {draft.key: drafts.without_records(draft, source_counts, counts, mapping) for draft in together}
    entries = {key: entry for key, entry in by_topics.items() if entry is not None}
    searched = [draft for draft in together if draft.key not in entries]
    source_logs = ClusterLogs(source, options.match_on, with_open=True)
    destination_logs = ClusterLogs(destination, options.match_on, predicted=predicted)
    originals = {draft.source_partition for draft in searched}
    learn_both(source_logs, originals, destination_logs, {draft.partition for draft in searched})
    entries |= {
        draft.key: _uncommitted(draft, destination_logs, options) for draft in searched if draft.committed is None
    }
    same_topics = _same_topics(begun, snapshot, options) if one_cluster else {}
    left = {draft.key for draft in (*searched, *merged)}
    cut = _cut_off(
        source, [draft for draft in wanted if draft.key in left], source_counts, same_topics, options.strategy
    )
    entries |= _on_cut_logs(searched, plain, cut)
    undecided = {draft.key: draft for draft in searched if draft.key not in entries}
    highest = merged_groups.at_highest(undecided)
    earlier = still_true(previous, begun) if previous is not None else None
    logs = source_logs, destination_logs
    with session_on_demand(options.spark, say) as spark:
        given = StrategyInput(
            undecided | highest, merged, *logs, source_counts, counts, same_topics, earlier, options, spark, say, cut
        )
        outcome = STRATEGIES[options.strategy](given)
    entries |= outcome.entries
    entries |= _completed(entries, searched, given)
    entries = {key: entry for key, entry in entries.items() if key not in highest}
    entries |= _returning(entries, searched, given)
    made = tuple(drafts.without_open(entries.values(), snapshot, mapping))
    plan = with_expected(dataclasses.replace(begun, entries=made), destination, previous, receipt)
    plan = without_needless_moves(plan, destination_logs, options.policy.search_limit)
    lacking = [entry for entry in plan.entries if entry.absent]
    read_logs = {draft.partition: destination_logs.logs[draft.partition].facts for draft in searched}
    return Translation(
        plan,
        outcome.kept,
        records_read=source_logs.records_read + destination_logs.records_read,
        index=outcome.index,
        logs={at: LogRange(facts.log_start, facts.high_watermark) for at, facts in read_logs.items()}
        if one_cluster
        else None,
        notes=(
            *notes_of_names,
            *lost_notes(plan),
            *outcome.notes,
            *entry_note(NoteKind.ABSENT, lacking, lambda entry: entry.absent),
            *new_records.new_record_notes(plan.entries),
        ),
    )


def _check_clusters(
    snapshot: Snapshot,
    wanted: t.Sequence[Draft],
    mapping: Mapping,
    source: Connection,
    destination: Connection,
    options: TranslateOptions,
) -> bool:
    """Are both one cluster? Raises Refused for a snapshot of another one, and for names that do not fit the answer."""
    one_cluster, _of_snapshot = at_once(
        lambda: clusters.are_one(source, destination), lambda: check_snapshot_cluster(snapshot, source)
    )
    # A misspelt rule is why something stays, and says so more plainly.
    check_rules_fit(wanted, mapping, one_cluster, destination)
    if not options.restores:
        check_nothing_stays(wanted, one_cluster, source, destination)
    return one_cluster


def _look(
    snapshot: Snapshot,
    plain: t.Sequence[Draft],
    merged: t.Sequence[Draft],
    mapping: Mapping,
    source: Connection,
    destination: Connection,
    options: TranslateOptions,
) -> tuple[Plan, frozenset[TopicPartition]]:
    """A plan without entries, of both clusters as they are now, and the partitions that a promotion will make.

    It is before anything is decided by them: what changes from now on is seen by the commit.
    """
    wanted = [*plain, *merged]
    at_source, at_destination = at_once(
        lambda: clusters.look_at(source, {draft.source_partition.topic for draft in wanted}),
        lambda: clusters.look_at(destination, {draft.partition.topic for draft in wanted}),
    )
    cluster_ids = at_source.cluster_id, at_destination.cluster_id
    # A repartitioned topic has other partitions than the source's, and no promotion makes it.
    promoted = {draft.partition.topic for draft in plain} - {draft.partition.topic for draft in merged}
    counts, predicted = _predicted(options.promotion, cluster_ids, promoted, at_destination.traits.counts)
    if options.mirror is not None and wanted and not counts:
        raise no_copies(wanted, destination, mapping)
    begun = Plan(
        *cluster_ids,
        snapshot.digest(),
        (),
        at_source.traits,
        at_destination.traits.with_counts(counts),
        options.match_on.parts,
        # On a return, what begins so is what was migrated: producers may have moved to it, as the groups have.
        own_prefix="" if options.on_new_records or mapping.prefixes.ending else mapping.prefixes.of_destination,
    )
    return begun, predicted


def _uncommitted(draft: Draft, destination_logs: ClusterLogs, options: TranslateOptions) -> PlanEntry:
    facts = destination_logs.logs[draft.partition].facts
    return draft.uncommitted(
        options.on_uncommitted,
        facts.log_start,
        facts.end,
        NOT_IN_BACKUP if options.restores else "no commit in the snapshot",
        repeats=None if options.restores else 0,
    )


def _cut_off(
    source: Connection,
    candidates: t.Iterable[Draft],
    source_counts: t.Mapping[str, int],
    same_topics: t.Mapping[str, TopicIds],
    strategy: Strategy,
) -> CutOff:
    """Which of these commits the source's logs have not kept.

    In one log, consumers whose commits keep their leader epochs find themselves that it was cut off, as they do now.
    """
    identified = {topic for topic, ids in same_topics.items() if None not in ids}
    stay = identified if strategy is Strategy.IDENTICAL else frozenset[str]()
    return cut_off(
        source,
        [
            draft
            for draft in candidates
            if draft.source_partition.partition < source_counts.get(draft.source_partition.topic, 0)
            and (draft.partition.topic not in stay or draft.partition != draft.source_partition)
        ],
    )


def _same_topics(begun: Plan, snapshot: Snapshot, options: TranslateOptions) -> t.Mapping[str, TopicIds]:
    """The topics that are the same at both, inside one cluster, and their ids: when the snapshot was taken, and now.

    Records decide for a snapshot of brokers that give no ids, then and now. Of a backup, they would prove nothing.
    """
    then, now = snapshot.traits.topic_ids, begun.destination_traits.topic_ids
    return {
        topic: (then.get(topic), topic_id)
        for topic, topic_id in now.items()
        if options.restores or begun.is_same_topic(topic) or topic not in then
    }


def _predicted(
    promotion: TopicPlan | None, cluster_ids: tuple[str, str], topics: t.Collection[str], counts: t.Mapping[str, int]
) -> tuple[dict[str, int], frozenset[TopicPartition]]:
    """How many partitions topics have once a promotion is done, and which do not exist yet. None stands for no promotion.

    cluster_ids: of source and destination. topics: those of the destination that are asked about. counts: how many partitions
    they have now; missing topics are not in it. A change that is made already, or does not fit what is there, predicts nothing.
    Raises Refused for a promotion of other clusters.
    """
    if promotion is None:
        return dict(counts), frozenset()
    pairs = zip((promotion.source_id, promotion.destination_id), cluster_ids, strict=True)
    difference = next(
        (how for was, now in pairs if (how := ClusterIdentity(was).difference(ClusterIdentity(now))) is not None), None
    )
    if difference is not None:
        raise OtherCluster(
            f"the promotion was planned for another cluster: this one {difference}",
            remedy="plan the promotion again for these clusters",
        )
    after = {
        change.topic: change.after
        for change in promotion.topics
        if change.after is not None and change.topic in topics and counts.get(change.topic) == change.before
    }
    new = {
        TopicPartition(topic, number) for topic, count in after.items() for number in range(counts.get(topic, 0), count)
    }
    return {**counts, **after}, frozenset(new)


def _on_cut_logs(searched: t.Iterable[Draft], plain: t.Iterable[Draft], cut: CutOff) -> dict[DraftKey, PlanEntry]:
    """The entries of commits that the source's logs have not kept. plain: each group's own drafts, before a merge of groups."""
    details = {draft.key: why for draft in plain if (why := cut.get((draft.source_group, draft.source_partition)))}
    return {
        draft.key: draft.entry(Verdict.BLOCKED, reason=Reason.BEYOND_END, detail=details[draft.key])
        for draft in searched
        if draft.key in details
    }


def _completed(
    entries: t.Mapping[DraftKey, PlanEntry], searched: t.Iterable[Draft], given: StrategyInput
) -> dict[DraftKey, PlanEntry]:
    """The searched entries with what no strategy knows: the other groups of a merge, and partitions that are yet to be made."""
    completed, options = {}, given.options
    for draft in searched:
        facts = given.destination.logs[draft.partition].facts
        entry = entries[draft.key]
        highest = entries.get(merged_groups.highest_key(draft.key), entry)
        entry = merged_groups.merged_entry(entry, highest, draft, options.on_conflict, options.on_uncommitted, facts)
        is_predicted = draft.partition in given.destination.predicted
        if entry.predicted != is_predicted:  # a copy of each entry would cost more than all else that is done here
            entry = dataclasses.replace(entry, predicted=is_predicted)
        completed[draft.key] = entry
    return completed


def _returning(
    entries: t.Mapping[DraftKey, PlanEntry], searched: t.Iterable[Draft], given: StrategyInput
) -> dict[DraftKey, PlanEntry]:
    """The entries of a return that are others, because the source has records that nothing copies to the destination."""
    policy = given.options.on_new_records
    if policy is None:
        return {}
    plain = {draft.key: entries[draft.key] for draft in searched}
    merged = {key: new_records.uncounted(entry, policy) for key, entry in entries.items() if key not in plain}
    budget, wait = given.options.policy.search_limit, given.options.wait_for_replication
    return merged | new_records.with_new_records(
        plain, given.source, given.destination, policy, budget, wait, given.say
    )
