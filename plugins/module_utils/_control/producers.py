# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Who has written to partitions, as far as brokers tell.

KIP-664: brokers of version 2.8 and later know the producers that are idempotent or transactional, and forget them a day after
their last write (producer.id.expiration.ms). Brokers of version 3.0 and later tell their transactional ids.
"""

from __future__ import annotations

import typing as t

from .._model.connection import Connection
from .._model.grouping import values_by_key
from .._model.records import TopicPartition
from .admin_client import AdminClient, Request, exchange
from .attempts import attempt
from .positions import partition_leaders
from .reasons import NotOffered
from .topics import broker_ids, topic_rows


class Writer(t.NamedTuple):
    """A producer. last: the timestamp of its last record in the partition, in milliseconds since the epoch.

    transactional_id: empty for one without, and where brokers do not tell.
    """

    producer_id: int
    last: int
    transactional_id: str = ""


def last_writers(
    connection: Connection, partitions: t.Collection[TopicPartition], *, in_transaction: bool = False
) -> dict[TopicPartition, tuple[Writer, ...]]:
    """The known producers of each partition, the last one first. Nothing of partitions of which brokers tell nothing.

    in_transaction: only those that have a transaction open there.

    Raises as positions.partition_bounds() does.
    """

    def read(client: AdminClient) -> dict[TopicPartition, tuple[Writer, ...]]:
        topics = sorted({partition.topic for partition in partitions})
        leaders = partition_leaders(client, connection, topics, partitions)
        by_leader = values_by_key((leaders[partition], partition) for partition in sorted(partitions))
        try:
            answers = exchange(client, [_request(leader, led) for leader, led in by_leader.items()])
        except NotOffered:
            return {}
        names = _transactional_ids(client)
        return {
            TopicPartition(topic.name, partition.partition_index): _writers(partition, names, in_transaction)
            for answer in answers
            for topic in answer.topics
            for partition in topic.partitions
            if not partition.error_code
        }

    return attempt(connection, read) if partitions else {}


def _request(leader: int, partitions: t.Iterable[TopicPartition]) -> Request:
    rows = ((partition, partition.partition) for partition in partitions)
    return Request("DescribeProducers", {"topics": topic_rows(rows, partitions="partition_indexes")}, leader)


def _writers(partition: t.Any, names: t.Mapping[int, str], in_transaction: bool) -> tuple[Writer, ...]:
    writers = [
        Writer(producer.producer_id, producer.last_timestamp, names.get(producer.producer_id, ""))
        for producer in partition.active_producers
        if producer.current_txn_start_offset >= 0 or not in_transaction
    ]
    return tuple(sorted(writers, key=lambda writer: (-writer.last, writer.producer_id)))


def _transactional_ids(client: AdminClient) -> dict[int, str]:
    """By producer id: of those that the user may see. Empty where brokers do not list transactions."""
    every: dict[str, list[t.Any]] = {"state_filters": [], "producer_id_filters": []}
    try:
        answers = exchange(client, [Request("ListTransactions", every, node) for node in broker_ids(client)])
    except NotOffered:
        return {}
    return {each.producer_id: each.transactional_id for answer in answers for each in answer.transaction_states}
