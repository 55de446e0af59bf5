# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What a strategy gets and gives: committed offsets whose counterparts it finds, and what becomes of them."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._matching.evidence import Policy
from ..._model.cluster_identity import LogRange
from ..._model.match_on import EVERYTHING, MatchOn
from ..._model.notes import Note, NoteKind
from ..._model.plan import Plan, PlanEntry
from ..._model.policies import OnConflict, OnNewRecords, OnUncommitted, Strategy
from ..._model.progress import Say
from ..._model.records import TopicPartition
from ..._model.replication_policy import ReplicationPolicy
from ..._model.spark import SparkOptions
from ..._model.topic_plan import TopicPlan
from ..._model.wording import counted, first_of
from ..cluster_logs import ClusterLogs
from ..cut_logs import CutOff
from ..drafts import Draft

if t.TYPE_CHECKING:
    from ..._spark.spark_library import SparkSession

DraftKey = tuple[str, TopicPartition]  # group and partition, as they are called at the destination
TopicIds: t.TypeAlias = "tuple[str | None, str | None]"  # of a topic, in the snapshot and now; None: not known


@dataclasses.dataclass(frozen=True, slots=True)
class TranslateOptions:
    """The options of kafka_offset_translate; wait_for_replication in seconds, spark_limit in records.

    mirror: how MirrorMaker 2 calls its topics, for strategy mirror_maker. promotion: the topics that will be made before the
    plan is committed. restores: groups of one cluster get back what they had committed.
    on_new_records: for a return; None for a migration, whose replication tool copies what is new.
    """

    strategy: Strategy = Strategy.RECORDS
    wait_for_replication: float = 0
    on_uncommitted: OnUncommitted = OnUncommitted.IGNORE
    match_on: MatchOn = EVERYTHING
    policy: Policy = dataclasses.field(default_factory=Policy)
    spark: SparkOptions = dataclasses.field(default_factory=SparkOptions)
    spark_limit: int = 1_000_000_000
    mirror: ReplicationPolicy | None = None
    on_conflict: OnConflict = OnConflict.FAIL
    promotion: TopicPlan | None = None
    on_new_records: OnNewRecords | None = None
    restores: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class StrategyInput:
    """What is left to decide when topics and the edges of logs have decided what they can.

    searched: committed offsets on partitions that both clusters have, with the edges of both logs known. merged: those on
    topics that are repartitioned or merged, of which nothing is known yet. The counts are partitions by topic; a missing
    topic is not in them. same_topics: those that are the same at both, in one cluster, and their ids. previous: what still
    holds of the last plan, if it is about the same two clusters. spark opens a session, once. cut: which commits of merged
    the source's logs have not kept.
    """

    searched: t.Mapping[DraftKey, Draft]
    merged: t.Sequence[Draft]
    source: ClusterLogs
    destination: ClusterLogs
    source_counts: t.Mapping[str, int]
    destination_counts: t.Mapping[str, int]
    same_topics: t.Mapping[str, TopicIds]
    previous: Plan | None
    options: TranslateOptions
    spark: t.Callable[[], SparkSession]
    say: Say
    cut: CutOff = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class StrategyOutput:
    """An entry for each draft. kept: how many are the previous plan's. index: how much MirrorMaker 2 has noted.

    notes: what the user should know of how they were found.
    """

    entries: dict[DraftKey, PlanEntry]
    kept: int = 0
    index: dict[str, int] | None = None
    notes: tuple[Note, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Translation:
    """A plan, and what it took: how many entries were kept from the previous one, and how many records were read.

    index: how much MirrorMaker 2 has noted, for strategy mirror_maker. Records that Spark has read are not counted.
    logs: where those that were read start and end, for a plan inside one cluster. notes: what the user should know of options.
    not_taken: lines about what was selected and is not planned, with the names of options.
    unruled: the group-partitions that no rule of a reset fits.
    """

    plan: Plan
    kept: int = 0
    records_read: int = 0
    index: dict[str, int] | None = None
    logs: dict[TopicPartition, LogRange] | None = None
    notes: tuple[Note, ...] = ()
    not_taken: tuple[str, ...] = ()
    unruled: tuple[DraftKey, ...] = ()


def lost_notes(plan: Plan) -> list[Note]:
    """What groups have not consumed, and no cluster has any more."""
    lost = [entry for entry in sorted(plan.entries, key=lambda entry: entry.key) if entry.lost]
    named = [f"{entry.group} {entry.partition} ({entry.lost_records})" for entry in lost]
    text = f"These groups have not consumed records that have expired, and that no cluster has: {first_of(named)}."
    return [Note(NoteKind.RECORDS_EXPIRED, text)] if lost else []


def entry_note(kind: NoteKind, entries: t.Iterable[PlanEntry], text: t.Callable[[PlanEntry], object]) -> list[Note]:
    """A note of the first of these entries, with what is to be said of it, and how many there are besides; none of none."""
    ordered = sorted(entries, key=lambda entry: entry.key)
    more = f" (and {counted(len(ordered) - 1, 'more group-partition')})" if ordered[1:] else ""
    return [Note(kind, f"{first.group} {first.partition}: {text(first)}{more}") for first in ordered[:1]]
