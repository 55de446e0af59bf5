# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Is a file of the cluster that a connection leads to, and are the topics that a plan rests on still the same?"""

from __future__ import annotations

import functools
import typing as t

from .._control import clusters
from .._model.background import at_once
from .._model.cluster_identity import UNKNOWN_ID, ClusterIdentity, Traits, change_of
from .._model.connection import Connection
from .._model.errors import OtherCluster, TopicRecreated
from .._model.notes import Note, NoteKind
from .._model.option_names import another_directory, correct_clusters, path_option
from .._model.plan import Plan, PlanEntry
from .._model.receipt import Key
from .._model.records import TopicPartition
from .._model.snapshot import Snapshot
from .._model.wording import counted


def keeps_rollback() -> str:
    """The remedy where a file of an earlier run is in the way."""
    return (
        f"{correct_clusters()}; or {another_directory()} for another cluster, because the rollback of the earlier run "
        "needs this file"
    )


def correct_file() -> str:
    """The remedy where the file that is there is the only one that serves."""
    return f"{correct_clusters()}; or correct {path_option()}"


def plan_again() -> str:
    """The remedy for a plan of another cluster."""
    return f"{correct_clusters()}; or plan again"


def check_cluster(file: str, noted: ClusterIdentity, connection: Connection, remedy: str) -> ClusterIdentity:
    """The cluster as it is now, with the topics that the file is about.

    file: such as "plan". remedy: what can be done about it. Raises Refused for the file of another cluster.
    """
    return check_same(file, noted, clusters.identify(connection, noted.traits.topic_ids), connection, remedy)


def check_same(
    file: str, noted: ClusterIdentity, found: ClusterIdentity, connection: Connection, remedy: str
) -> ClusterIdentity:
    """The same for a cluster that was looked at already, which is the result."""
    difference = noted.difference(found)
    if difference is not None:
        raise OtherCluster(
            f"the {file} was made for another cluster: this one {difference}", cluster=str(connection), remedy=remedy
        )
    return found


def check_snapshot_cluster(
    snapshot: Snapshot, source: Connection, otherwise: str = "take the snapshot again"
) -> ClusterIdentity:
    """The source, with the topics of the snapshot. Raises Refused for a snapshot of another cluster; CSV does not tell.

    otherwise: what else can be done about that than to connect to the cluster of the snapshot.
    """
    remedy = f"{correct_clusters()}; or {otherwise}"
    identity = check_cluster("snapshot", snapshot.identity, source, remedy)
    for topic, how in sorted(snapshot.traits.recreated(identity.traits).items()):
        raise TopicRecreated(
            f"the topic is not the one that the snapshot is about: {how}",
            cluster=str(source),
            topic=topic,
            why="it was deleted and created again, or this is another cluster with the same id",
            remedy=remedy,
        )
    return identity


def check_plan_clusters(plan: Plan, source: Connection, destination: Connection) -> None:
    """Raise Refused for a plan of other clusters."""
    at_once(
        lambda: check_cluster("plan", plan.source_identity, source, plan_again()),
        lambda: check_cluster("plan", plan.destination_identity, destination, plan_again()),
    )


class PlanChanges(t.NamedTuple):
    """by_entry: what has become of what entries rest on. destination: as it is now, with the topics and logs."""

    by_entry: dict[Key, str]
    destination: ClusterIdentity


def changed_entries(
    plan: Plan, source: Connection | None, destination: Connection, others: t.Collection[str] = ()
) -> PlanChanges:
    """What has become of topics and logs since the plan was made, by the entries that have an offset and rest on them.

    Partitions that were added, topics that were deleted or created again, and logs that went back; and partitions that an
    edited plan names, and the destination does not have. source: None does not look there. others: more topics of the
    destination of which the ids are learned. Raises Refused for a plan of other clusters, and NotAuthorized.
    """
    was = plan.source_traits, plan.destination_traits
    named = {entry.partition.topic for entry in plan.entries if entry.offset is not None}
    now = at_once(
        functools.partial(_now, plan.source_identity, source),
        functools.partial(_now, plan.destination_identity, destination, named, others),
    )
    traits = now[0].traits, now[1].traits
    change = entry_changes(was, traits)
    changes = {
        entry.key: why
        for entry in plan.entries
        if entry.offset is not None
        if (why := change(entry) or _missing(entry, traits[1])) is not None
    }
    return PlanChanges(changes, now[1])


def _now(
    noted: ClusterIdentity, connection: Connection | None, names: t.Collection[str] = (), others: t.Collection[str] = ()
) -> ClusterIdentity:
    """A cluster as it is now, with the noted topics, and more by name."""
    if connection is None:
        return noted
    identity = clusters.look_at(connection, {*noted.traits.topic_ids, *names}, others)
    return check_same("plan", noted, identity, connection, plan_again())


def _missing(entry: PlanEntry, now: Traits) -> str | None:
    """That the destination does not have the partition, unless it is yet to be made."""
    topic, number = entry.partition
    count = len(now.logs.get(topic, ()))
    if entry.predicted or number < count:
        return None
    has = f"topic {topic} has {counted(count, 'partition')}" if count else f"topic {topic} does not exist"
    return f"the destination has no partition {entry.partition}: {has}; the plan was edited, or the topic has changed since"


def entry_changes(was: tuple[Traits, Traits], now: tuple[Traits, Traits]) -> t.Callable[[PlanEntry], str | None]:
    """What tells of an entry what has changed that it rests on; None for nothing. was, now: of source and destination."""

    @functools.cache  # entries of many groups rest on one partition
    def change(side: int, partition: TopicPartition) -> str | None:
        return change_of(partition, was[side], now[side], ("source", "destination")[side])

    def entry_change(entry: PlanEntry) -> str | None:
        for at in entry.source:
            if (why := change(0, at.partition)) is not None:
                return why
        return change(1, entry.partition)

    return entry_change


def equal_ids(source_id: str, destination_id: str, is_one_cluster: bool) -> list[Note]:
    """A note where two clusters have one id."""
    if is_one_cluster or source_id != destination_id or source_id == UNKNOWN_ID:
        return []
    text = (
        f"Source and destination have the same cluster id {source_id}, and are two clusters: their brokers' addresses differ, "
        "and so do their topics or logs. The files of this migration tell them apart by topic ids and addresses."
    )
    return [Note(NoteKind.EQUAL_CLUSTER_IDS, text)]
