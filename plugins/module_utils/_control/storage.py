# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""How many brokers and replicas there are, how large logs are, and how much room brokers have."""

from __future__ import annotations

import statistics
import typing as t

from .._model.connection import Connection
from .._model.grouping import values_by_key
from .._model.records import TopicPartition
from .abilities import Ability
from .admin_client import AdminClient, Request, can, exchange
from .attempts import attempt
from .reasons import ErrorCode, raise_if_retriable
from .topics import broker_ids, partition_rows, raise_for_topics, request_metadata, topic_rows


class Replicas(t.NamedTuple):
    """How many replicas a partition has, and how many of them are in sync."""

    replicas: int
    in_sync: int


class BrokerCount(t.NamedTuple):
    """How many brokers are up, and how many are up or have replicas, as far as anybody knows.

    A broker that is down for a moment gives new topics no fewer replicas for good.
    """

    known: int
    up: int


class TopicLayout(t.NamedTuple):
    """How many partitions a topic has, and how many replicas most of them.

    While a partition moves to other brokers, those that it comes to count, too.
    """

    partitions: int
    replicas: int


def partition_replicas(connection: Connection, topics: t.Collection[str]) -> dict[TopicPartition, Replicas]:
    """Of every partition of these topics. Raises NotFound or NotAuthorized naming topics."""

    def read(client: AdminClient) -> dict[TopicPartition, Replicas]:
        described = request_metadata(client, sorted(set(topics))).topics
        raise_for_topics(connection, {topic.name: topic.error_code for topic in described}, "DESCRIBE")
        return {
            partition: Replicas(len(row.replica_nodes), len(row.isr_nodes))
            for partition, row in partition_rows(described)
        }

    return attempt(connection, read) if topics else {}


def topic_layouts(connection: Connection, topics: t.Collection[str]) -> dict[str, TopicLayout]:
    """Of each of these topics. Raises what partition_replicas() raises."""
    replicas = values_by_key(
        (partition.topic, assigned.replicas) for partition, assigned in partition_replicas(connection, topics).items()
    )
    return {topic: TopicLayout(len(counts), statistics.mode(sorted(counts))) for topic, counts in replicas.items()}


def broker_count(connection: Connection) -> BrokerCount:
    """How many brokers there are. They have the last word, and some refuse a topic while one of those that it needs is down."""

    def read(client: AdminClient) -> BrokerCount:
        told = request_metadata(client, None)
        partitions = [partition for topic in told.topics for partition in topic.partitions]
        with_replicas = {node for partition in partitions for node in partition.replica_nodes}
        up = {broker.node_id for broker in told.brokers}
        return BrokerCount(len(with_replicas | up), len(up))

    return attempt(connection, read)


def log_sizes(connection: Connection, partitions: t.Collection[TopicPartition]) -> dict[TopicPartition, int] | None:
    """Bytes on disk of the largest replica of each partition; one that no broker has is left out.

    None where the user lacks ACL CLUSTER DESCRIBE, without which brokers do not tell.
    """

    def read(client: AdminClient) -> dict[TopicPartition, int] | None:
        by_broker = _log_dirs(client, sorted(set(partitions)))
        if by_broker is None:
            return None
        sizes: dict[TopicPartition, int] = {}
        for directories in by_broker.values():
            for partition, row in partition_rows(topic for directory in directories for topic in directory.topics):
                sizes[partition] = max(sizes.get(partition, 0), row.partition_size)
        return dict(sorted(sizes.items()))

    return attempt(connection, read) if partitions else {}


def usable_bytes(connection: Connection) -> dict[int, int] | None:
    """Bytes that are free in all log directories together, by broker id: as many as a copy of many partitions can fill.

    None where a broker does not tell: one before Kafka 3.3, or without ACL CLUSTER DESCRIBE. Brokers and directories
    that share a disk each tell of all its room, so that there may be less.
    """

    def read(client: AdminClient) -> dict[int, int] | None:
        by_broker = _log_dirs(client, [])
        if by_broker is None:
            return None
        room = {node: [directory.usable_bytes for directory in directories] for node, directories in by_broker.items()}
        return None if min(map(min, room.values())) < 0 else {node: sum(free) for node, free in room.items()}

    return attempt(connection, read)


def _log_dirs(client: AdminClient, partitions: t.Sequence[TopicPartition]) -> dict[int, list[t.Any]] | None:
    """The log directories of every broker with these partitions in them, None if they are not told."""
    if not can(client, Ability.LOG_SIZES):
        return None
    topics = topic_rows(((partition, partition.partition) for partition in partitions), name="topic")
    nodes = broker_ids(client)
    answers = exchange(client, [Request("DescribeLogDirs", {"topics": topics}, node) for node in nodes])
    by_broker = {}
    for node, answer in zip(nodes, answers, strict=True):
        if answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            return None
        raise_if_retriable(answer.error_code or 0)
        # a disk that failed tells nothing
        by_broker[node] = [directory for directory in answer.results if not directory.error_code]
        if not by_broker[node]:
            return None  # versions before 3 say that they deny it by telling nothing
    return by_broker
