# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Use case: find where groups must stand at the destination."""

from __future__ import annotations

import dataclasses
import time
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._control import topics
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import Policy
from ansible_collections.streamshift.kafka.plugins.module_utils._migration import drafts
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning import identical, repartitioned
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning.kept import kept_entries
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning.mirror_index import (
    MirrorIndex,
    read_index,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning.settling import (
    PAUSE,
    SAY_WAITING_EVERY,
    Case,
    settle,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning.wide import settle_wide
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.cluster_logs import ClusterLogs
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.drafts import Draft
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.expected import with_expected
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.one_cluster import check_nothing_stays
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.take_snapshot import check_cluster
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidInput, NotFound
from ansible_collections.streamshift.kafka.plugins.module_utils._model.mapping import Mapping
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import Plan, PlanEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import OnUncommitted
from ansible_collections.streamshift.kafka.plugins.module_utils._model.progress import Say, counted, paced, silent
from ansible_collections.streamshift.kafka.plugins.module_utils._model.receipt import Receipt
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.replication_policy import ReplicationPolicy
from ansible_collections.streamshift.kafka.plugins.module_utils._model.snapshot import Snapshot
from ansible_collections.streamshift.kafka.plugins.module_utils._model.spark import SparkOptions
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.session import session_on_demand

if t.TYPE_CHECKING:
    from ansible_collections.streamshift.kafka.plugins.module_utils._spark.spark_library import SparkSession


@dataclasses.dataclass(frozen=True, slots=True)
class TranslateOptions:
    """The options of kafka_offset_translate; wait_for_replication in seconds, spark_limit in records.

    mirror: how MirrorMaker 2 calls its topics, for strategy mirror_maker.
    """

    strategy: str = "records"
    wait_for_replication: float = 0
    on_uncommitted: OnUncommitted = OnUncommitted.IGNORE
    match_on: tuple[str, ...] = ()
    policy: Policy = dataclasses.field(default_factory=Policy)
    spark: SparkOptions = dataclasses.field(default_factory=SparkOptions)
    spark_limit: int = 1_000_000_000
    mirror: ReplicationPolicy | None = None

    def of_merged(self) -> repartitioned.TopicOptions:
        """What of them is about repartitioned topics."""
        return repartitioned.TopicOptions(self.policy, self.on_uncommitted, self.match_on, self.wait_for_replication)

    def sides(self, source: Connection, destination: Connection) -> tuple[ClusterLogs, ClusterLogs]:
        """Both clusters, to be read with what match_on says; by default everything, headers only where they match."""
        if not self.match_on:
            return ClusterLogs(source, with_open=True), ClusterLogs(destination)
        parts = tuple(part for part in self.match_on if part != "timestamp")
        return ClusterLogs(source, parts, False, with_open=True), ClusterLogs(destination, parts, False)


@dataclasses.dataclass(frozen=True, slots=True)
class Translation:
    """A plan, and what it took: how many entries were kept from the previous one, and how many records were read.

    index: how much MirrorMaker 2 has noted, for strategy mirror_maker. Records that Spark has read are not counted.
    """

    plan: Plan
    kept: int = 0
    records_read: int = 0
    index: dict[str, int] | None = None


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
    wanted = drafts.from_snapshot(snapshot, mapping)
    source_id, destination_id = topics.cluster_id(source), topics.cluster_id(destination)
    check_cluster(snapshot, source_id, source)
    check_nothing_stays(wanted, source_id, destination_id, source, destination)
    merged = [draft for draft in wanted if mapping.is_repartitioned(draft.source_partition.topic)]
    if merged and options.strategy == "identical":
        raise InvalidInput(
            "strategy identical keeps offsets, and repartitioned topics have others",
            topic=merged[0].source_partition.topic,
            remedy="use strategy records, or take the topic out of repartitioned",
        )
    source_counts = topics.partition_counts(source, {draft.source_partition.topic for draft in wanted})
    destination_counts = topics.partition_counts(destination, {draft.partition.topic for draft in wanted})
    if options.mirror is not None and wanted and not destination_counts:
        raise _no_copies(wanted, destination)
    entries: dict[tuple[str, TopicPartition], PlanEntry] = {}
    searched: dict[tuple[str, TopicPartition], Draft] = {}
    plain = [draft for draft in wanted if not mapping.is_repartitioned(draft.source_partition.topic)]
    for draft in drafts.with_uncommitted(plain, source_counts):
        entry = drafts.without_records(draft, source_counts, destination_counts)
        if entry is None:
            searched[draft.key] = draft
        else:
            entries[draft.key] = entry

    here, there = options.sides(source, destination)
    # The destination's end first: what arrives there later must not make the source look shorter than it is.
    there.learn({draft.partition for draft in searched.values()})
    here.learn({draft.source_partition for draft in searched.values()})
    for key, draft in list(searched.items()):
        if draft.committed is None:
            facts = there.logs[draft.partition].facts
            entries[key] = draft.uncommitted(
                options.on_uncommitted, facts.log_start, facts.end, "no commit at the source"
            )
            del searched[key]
    index, kept = None, dict[tuple[str, TopicPartition], PlanEntry]()
    if options.mirror is not None:
        index = read_index(source, destination, options.mirror)
    if previous is not None and (previous.source_id, previous.destination_id) == (source_id, destination_id):
        same_offsets = options.strategy == "identical"
        kept = kept_entries(searched, previous, here, there, options.match_on, same_offsets)
        entries |= kept
        searched = {key: draft for key, draft in searched.items() if key not in kept}
    if options.strategy == "identical":
        entries |= identical.entries(
            searched, here, there, source_id == destination_id, options.match_on, options.policy.on_expired
        )
    else:
        with session_on_demand(options.spark, say) as spark:
            entries |= _by_records(searched, here, there, options, index, spark, say)
            entries |= repartitioned.entries(
                merged, source_counts, destination_counts, here, there, options.of_merged(), spark, say
            )

    made = Plan(source_id, destination_id, snapshot.digest(), tuple(entries.values()))
    plan = with_expected(made, destination, previous, receipt)
    return Translation(plan, len(kept), here.records_read + there.records_read, index.counts() if index else None)


def _no_copies(wanted: t.Sequence[Draft], destination: Connection) -> NotFound:
    """Topics that may still come are no reason to fail, but where none is there, the policy is mostly another one."""
    names = sorted({draft.partition.topic for draft in wanted})
    sources = tuple({draft.source_partition.topic for draft in wanted})
    like = [name for name in topics.list_topics(destination) if name.endswith(sources)]
    return NotFound(
        f"none of the topics that replication_policy expects exists: {', '.join(names[:5])}",
        cluster=str(destination),
        why=f"there is {', '.join(like[:5])}" if like else "no topic name ends with these names either",
        remedy="correct replication_policy: name, source_alias and separator are those of MirrorMaker 2",
    )


def _by_records(
    searched: t.Mapping[tuple[str, TopicPartition], Draft],
    here: ClusterLogs,
    there: ClusterLogs,
    options: TranslateOptions,
    index: MirrorIndex | None,
    spark: t.Callable[[], SparkSession],
    say: Say,
) -> dict[tuple[str, TopicPartition], PlanEntry]:
    """Settle by the rule; while copies are still to come, and there is time, look again. Read on with Spark at the end."""
    cases = {key: _case(draft, index) for key, draft in searched.items()}
    deadline = time.monotonic() + options.wait_for_replication
    decisions = settle(cases, here, there, options.policy, say=say)
    say_waiting = paced(say, SAY_WAITING_EVERY)
    while True:
        lagging = {key: case for key, case in cases.items() if decisions[key].reason is Reason.DESTINATION_LAGS}
        left = deadline - time.monotonic()
        if not lagging or left <= 0:
            decisions = settle_wide(
                cases, decisions, here, there, options.policy, options.spark, options.spark_limit, spark, say
            )
            return {key: drafts.decided(draft, decisions[key], options.match_on) for key, draft in searched.items()}
        partitions = len({case.destination for case in lagging.values()})
        lag = "lags" if partitions == 1 else "lag"
        say_waiting(f"waiting for the replication tool: {counted(partitions, 'partition')} {lag} ({left:.0f} s left)")
        time.sleep(PAUSE)
        there.learn({case.destination for case in lagging.values()})
        here.learn({case.source for case in lagging.values()})
        decisions |= settle(lagging, here, there, options.policy)


def _case(draft: Draft, index: MirrorIndex | None) -> Case:
    its = draft.offset, draft.source_partition, draft.partition
    return Case(*its, index.shifts(*its) if index else ())
