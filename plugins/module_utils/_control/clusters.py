# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which cluster a connection leads to, and whether two connections lead to one."""

from __future__ import annotations

import typing as t

from .._model.background import at_once
from .._model.cluster_identity import UNKNOWN_ID, ClusterIdentity, Traits, address_mark, seem_one
from .._model.connection import Connection
from .._model.records import TopicPartition
from .admin_client import AdminClient
from .attempts import attempt
from .positions import served_bounds
from .reasons import ErrorCode
from .topics import id_of, known_id, raise_for_topics, request_metadata


def identify(connection: Connection, names: t.Collection[str] = ()) -> ClusterIdentity:
    """What tells the cluster from others: its id, its brokers' addresses, and the ids of these topics.

    Topics that do not exist, or that the user may not describe, are left out.
    """
    return attempt(connection, lambda client: _identity(request_metadata(client, sorted(set(names)))))


def look_at_brokers(connection: Connection) -> dict[str, t.Any]:
    """How many brokers there are, which version they seem to have, and the versions of each request that one of them knows."""

    def read(client: AdminClient) -> dict[str, t.Any]:
        answer = request_metadata(client, [])
        requests = {str(key): list(versions) for key, versions in sorted(client.offered_versions.items())}
        return {"brokers": len(answer.brokers), "version": client.broker_version, "requests": requests}

    return attempt(connection, read)


def look_at(connection: Connection, names: t.Collection[str], others: t.Collection[str] = ()) -> ClusterIdentity:
    """The same with all logs of these topics, for a plan that rests on them. Raises NotAuthorized naming topics.

    others: topics of which only the ids are asked for.
    """

    def read(client: AdminClient) -> ClusterIdentity:
        answer = request_metadata(client, sorted({*names, *others}))
        wanted = [topic for topic in answer.topics if topic.name in names]
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        codes = {topic.name: topic.error_code for topic in wanted if topic.error_code not in (0, unknown)}
        raise_for_topics(connection, codes, "READ")
        return _with_logs(client, answer, wanted)

    return attempt(connection, read)


def are_one(source: Connection, destination: Connection) -> bool:
    """Do both connections lead to one cluster? Two listeners of a cluster have other addresses, and the same topics and logs.

    Only where the ids do not tell, and the addresses differ, are all topics and logs looked at that the users may describe.
    """
    first, second = at_once(lambda: identify(source), lambda: identify(destination))
    if UNKNOWN_ID not in (first.cluster_id, second.cluster_id) and first.cluster_id != second.cluster_id:
        return False
    if set(first.traits.brokers) & set(second.traits.brokers):
        return True
    # Logs grow meanwhile: those of one cluster lie between two readings of the other's.
    before, between, after = _everything(source), _everything(destination), _everything(source)
    return seem_one(before, between, after)


def _everything(connection: Connection) -> Traits:
    def read(client: AdminClient) -> ClusterIdentity:
        answer = request_metadata(client, None)
        return _with_logs(client, answer, answer.topics)

    return attempt(connection, read).traits


def _identity(answer: t.Any) -> ClusterIdentity:
    brokers = sorted(address_mark(broker.host, broker.port) for broker in answer.brokers)
    ids = {topic.name: known_id(topic) for topic in answer.topics if topic.partitions}
    return ClusterIdentity(id_of(answer), Traits(tuple(brokers), ids))


def _with_logs(client: AdminClient, answer: t.Any, topics: t.Iterable[t.Any]) -> ClusterIdentity:
    numbers = {topic.name: sorted(each.partition_index for each in topic.partitions) for topic in topics}
    wanted = {TopicPartition(name, number) for name, numbers_of_topic in numbers.items() for number in numbers_of_topic}
    bounds = served_bounds(client, answer, wanted)
    ranges = {at: log_bounds.log for at, log_bounds in bounds.items()}
    logs = {
        name: tuple(ranges.get(TopicPartition(name, number)) for number in numbers_of_topic)
        for name, numbers_of_topic in numbers.items()
        if numbers_of_topic
    }
    identity = _identity(answer)
    return identity._replace(traits=identity.traits._replace(logs=logs))
