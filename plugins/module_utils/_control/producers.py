# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Who has written to partitions, and which transactions commit offsets for a group, as far as brokers tell.

KIP-664: brokers of version 2.8 and later know the producers that are idempotent or transactional, and forget them a day after
their last write (producer.id.expiration.ms). Brokers of version 3.0 and later list transactions to users with ACL
TRANSACTIONAL_ID DESCRIBE. They tell the partition of __consumer_offsets that a transaction writes to, but not the groups:
several groups may share it.
"""

from __future__ import annotations

import datetime
import typing as t

from .._model.connection import Connection
from .._model.grouping import values_by_key
from .._model.records import TopicPartition
from .abilities import Ability
from .admin_client import AdminClient, Request, can, exchange
from .attempts import attempt
from .positions import partition_leaders
from .reasons import KafkaFailure, NotOffered
from .topics import broker_ids, partition_rows, request_metadata, topic_rows

OFFSETS_TOPIC = "__consumer_offsets"
_OPEN = ["Ongoing", "PrepareCommit", "PrepareAbort"]
_NAMED = 3


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
            partition: _writers(row, names, in_transaction)
            for answer in answers
            for partition, row in partition_rows(answer.topics)
            if not row.error_code
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
    listed = _listed(client) if can(client, Ability.OPEN_TRANSACTIONS) else {}
    return {each.producer_id: each.transactional_id for transactions in listed.values() for each in transactions}


def named_transactions(client: AdminClient, groups: t.Collection[str]) -> dict[str, str]:
    """For each group the open transactions that may commit its offsets, in words; empty where brokers do not tell."""
    try:
        (topic,) = request_metadata(client, [OFFSETS_TOPIC]).topics
        transactions = _open(client) if topic.partitions else []
    except (KafkaFailure, ValueError):
        return dict.fromkeys(groups, "")
    texts = {}
    by_partition = values_by_key((partition, row) for row in transactions for partition in _written(row))
    for group in groups:
        partition = offsets_partition(group, len(topic.partitions)) if topic.partitions else -1
        named = list(map(_text, by_partition.get(partition, ())))
        texts[group] = " or ".join(named[:_NAMED]) + (f" or {len(named) - _NAMED} more" if named[_NAMED:] else "")
    return texts


def offsets_partition(group: str, count: int) -> int:
    """The partition of __consumer_offsets that keeps a group's offsets: GroupCoordinator.partitionFor()."""
    code = 0
    units = group.encode("utf-16-be")
    for high, low in zip(units[::2], units[1::2], strict=True):  # String.hashCode()
        code = (31 * code + (high << 8) + low) & 0xFFFFFFFF
    code -= (code >> 31) << 32
    return (0 if code == -(1 << 31) else abs(code)) % count


def _open(client: AdminClient) -> list[t.Any]:
    """What the coordinators tell of all open transactions, by transactional id."""
    asked = [
        Request("DescribeTransactions", {"transactional_ids": [each.transactional_id for each in transactions]}, node)
        for node, transactions in _listed(client, _OPEN).items()
        if transactions
    ]
    rows = [row for answer in exchange(client, asked) for row in answer.transaction_states if not row.error_code]
    return sorted(rows, key=lambda row: str(row.transactional_id))


def _written(row: t.Any) -> set[int]:
    return {partition for each in row.topics if each.topic == OFFSETS_TOPIC for partition in each.partitions}


def _text(row: t.Any) -> str:
    begun = datetime.datetime.fromtimestamp(row.transaction_start_time_ms // 1000, datetime.UTC)
    return (
        f"transactional id {row.transactional_id} (producer id {row.producer_id}, open since {begun:%Y-%m-%dT%H:%M:%SZ}, "
        f"transaction.timeout.ms {row.transaction_timeout_ms})"
    )


def _listed(client: AdminClient, states: t.Sequence[str] = ()) -> dict[int, list[t.Any]]:
    """The transactions in these states, or in any, that the user may see, by their coordinators."""
    nodes = broker_ids(client)
    filters = {"state_filters": list(states), "producer_id_filters": []}
    answers = exchange(client, [Request("ListTransactions", filters, node) for node in nodes])
    return {node: answer.transaction_states for node, answer in zip(nodes, answers, strict=True)}
