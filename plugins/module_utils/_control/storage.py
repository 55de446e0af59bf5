# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""How many brokers and replicas there are, how large logs are, and how much room brokers have."""

from __future__ import annotations

import typing as t

from .._model.connection import Connection
from .._model.records import TopicPartition
from .abilities import Ability
from .admin_client import AdminClient, Request, can, exchange
from .attempts import attempt
from .error_codes import ErrorCode
from .reasons import raise_if_retriable
from .topics import broker_ids, raise_for_topics, request_metadata, topic_rows


class Replicas(t.NamedTuple):
    """How many replicas a partition has, and how many of them are in sync."""

    replicas: int
    in_sync: int


class TopicLayout(t.NamedTuple):
    """How many partitions a topic has, and how many replicas the partition with the most."""

    partitions: int
    replicas: int


def partition_replicas(connection: Connection, topics: t.Collection[str]) -> dict[TopicPartition, Replicas]:
    """Of every partition of these topics. Raises NotFound or NotAuthorized naming topics."""

    def read(client: AdminClient) -> dict[TopicPartition, Replicas]:
        found = request_metadata(client, sorted(set(topics))).topics
        raise_for_topics(connection, {topic.name: topic.error_code for topic in found}, "DESCRIBE")
        return {
            TopicPartition(topic.name, each.partition_index): Replicas(len(each.replica_nodes), len(each.isr_nodes))
            for topic in found
            for each in topic.partitions
        }

    return attempt(connection, read) if topics else {}


def topic_layouts(connection: Connection, topics: t.Collection[str]) -> dict[str, TopicLayout]:
    """Of each of these topics. Raises what partition_replicas() raises."""
    found: dict[str, TopicLayout] = {}
    for partition, its in partition_replicas(connection, topics).items():
        partitions, replicas = found.get(partition.topic, (0, 0))
        found[partition.topic] = TopicLayout(partitions + 1, max(replicas, its.replicas))
    return found


def broker_count(connection: Connection) -> int:
    """How many brokers are up."""
    return len(attempt(connection, broker_ids))


def log_sizes(connection: Connection, partitions: t.Collection[TopicPartition]) -> dict[TopicPartition, int] | None:
    """Bytes on disk of the largest replica of each partition; one that no broker has is left out.

    None where the user lacks ACL CLUSTER DESCRIBE, without which brokers do not tell.
    """

    def read(client: AdminClient) -> dict[TopicPartition, int] | None:
        found = _log_dirs(client, sorted(set(partitions)))
        if found is None:
            return None
        sizes: dict[TopicPartition, int] = {}
        for directories in found.values():
            for topic in (topic for each in directories for topic in each.topics):
                for each in topic.partitions:
                    where = TopicPartition(topic.name, each.partition_index)
                    sizes[where] = max(sizes.get(where, 0), each.partition_size)
        return dict(sorted(sizes.items()))

    return attempt(connection, read) if partitions else {}


def usable_bytes(connection: Connection) -> dict[int, int] | None:
    """Bytes that are free in the log directory with the most room, by broker id.

    None where a broker does not tell: one before Kafka 3.3, or without ACL CLUSTER DESCRIBE. Brokers and directories
    that share a disk each tell of all its room.
    """

    def read(client: AdminClient) -> dict[int, int] | None:
        found = _log_dirs(client, [])
        if found is None:
            return None
        room = {node: max(each.usable_bytes for each in directories) for node, directories in found.items()}
        return None if min(room.values()) < 0 else room

    return attempt(connection, read)


def _log_dirs(client: AdminClient, partitions: t.Sequence[TopicPartition]) -> dict[int, list[t.Any]] | None:
    """The log directories of every broker with these partitions in them, None if they are not told."""
    if not can(client, Ability.LOG_SIZES):
        return None
    topics = topic_rows(((where, where.partition) for where in partitions), name="topic")
    nodes = broker_ids(client)
    answers = exchange(client, [Request("DescribeLogDirs", {"topics": topics}, node) for node in nodes])
    found = {}
    for node, answer in zip(nodes, answers, strict=True):
        if answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            return None
        raise_if_retriable(answer.error_code or 0)
        found[node] = [each for each in answer.results if not each.error_code]  # a disk that failed tells nothing
        if not found[node]:
            return None  # versions before 3 say that they deny it by telling nothing
    return found
