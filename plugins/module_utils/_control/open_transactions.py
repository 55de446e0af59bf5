# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which transactions commit offsets for a group, as far as brokers tell.

KIP-664: brokers of version 3.0 and later list transactions to users with ACL TRANSACTIONAL_ID DESCRIBE. They tell the partition
of __consumer_offsets that a transaction writes to, but not the groups: several groups may share it.
"""

from __future__ import annotations

import datetime
import typing as t

from .._model.records import TopicPartition
from .abilities import Ability, can
from .admin_client import exchange
from .broker_questions import BrokerQuestion
from .coordinators import by_node, chunks
from .kafka_library import (
    DescribeTransactionsRequest,
    KafkaAdminClient,
    ListTransactionsRequest,
    OffsetFetchRequest,
    errors,
)
from .topics import broker_ids, request_metadata

OFFSETS_TOPIC = "__consumer_offsets"
_OPEN = ["Ongoing", "PrepareCommit", "PrepareAbort"]
_NAMED = 3


def named_transactions(client: KafkaAdminClient, groups: t.Collection[str]) -> dict[str, str]:
    """For each group the open transactions that may commit its offsets, in words; empty where brokers do not tell."""
    try:
        (topic,) = request_metadata(client, [OFFSETS_TOPIC]).topics
        found = _open(client) if topic.partitions else []
    except (errors.KafkaError, ValueError):
        return dict.fromkeys(groups, "")
    texts = {}
    for group in groups:
        partition = offsets_partition(group, len(topic.partitions)) if topic.partitions else -1
        its = [_text(row) for row in found if partition in _written(row)]
        texts[group] = " or ".join(its[:_NAMED]) + (f" or {len(its) - _NAMED} more" if its[_NAMED:] else "")
    return texts


def first_commits(
    client: KafkaAdminClient, where: t.Mapping[str, int], beside: t.Mapping[str, t.Collection[TopicPartition]]
) -> BrokerQuestion[dict[str, frozenset[TopicPartition]]]:
    """For which of these partitions is a transaction open that commits offsets, of each group that has any?

    Asked for everything, a coordinator leaves out partitions for which nothing was committed before. None where brokers do not
    tell.
    """
    if not can(client, Ability.STABLE_OFFSETS):
        return BrokerQuestion([], lambda _answers: {})
    many = can(client, Ability.MANY_GROUPS)

    def read(answers: t.Sequence[t.Any]) -> dict[str, frozenset[TopicPartition]]:
        if many:
            rows = [(row.group_id, row.topics) for answer in answers for row in answer.groups]
        else:
            rows = [(group, answer.topics) for group, answer in zip(where, answers, strict=True)]
        found = {}
        for group, topics in rows:
            unstable = {
                TopicPartition(topic.name, each.partition_index)
                for topic in topics
                for each in topic.partitions
                if each.error_code == errors.UnstableOffsetCommitError.errno
            }
            if unstable:
                found[group] = frozenset(unstable)
        return found

    if not many:
        return BrokerQuestion([(_fetch_of_one(group, beside[group]), node) for group, node in where.items()], read)
    parts = [(part, node) for node, groups in by_node(where).items() for part in chunks(groups)]
    return BrokerQuestion([(_fetch_of_many(part, beside), node) for part, node in parts], read)


def _fetch_of_one(group: str, partitions: t.Iterable[TopicPartition]) -> OffsetFetchRequest:
    topics = _topics(OffsetFetchRequest.OffsetFetchRequestTopic, partitions)
    return OffsetFetchRequest(group_id=group, topics=topics, require_stable=True, min_version=7, max_version=7)


def _fetch_of_many(groups: t.Iterable[str], beside: t.Mapping[str, t.Collection[TopicPartition]]) -> OffsetFetchRequest:
    group_of = OffsetFetchRequest.OffsetFetchRequestGroup
    wanted = [
        group_of(group_id=group, topics=_topics(group_of.OffsetFetchRequestTopics, beside[group])) for group in groups
    ]
    return OffsetFetchRequest(groups=wanted, require_stable=True, min_version=8, max_version=8)


def _topics(topic_of: t.Any, partitions: t.Iterable[TopicPartition]) -> list[t.Any]:
    numbers: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        numbers.setdefault(topic, []).append(number)
    return [topic_of(name=name, partition_indexes=its) for name, its in numbers.items()]


def offsets_partition(group: str, count: int) -> int:
    """The partition of __consumer_offsets that keeps a group's offsets: GroupCoordinator.partitionFor()."""
    code = 0
    units = group.encode("utf-16-be")
    for high, low in zip(units[::2], units[1::2], strict=True):  # String.hashCode()
        code = (31 * code + (high << 8) + low) & 0xFFFFFFFF
    code -= (code >> 31) << 32
    return (0 if code == -(1 << 31) else abs(code)) % count


def _open(client: KafkaAdminClient) -> list[t.Any]:
    """What the coordinators tell of all open transactions, by transactional id."""
    nodes = broker_ids(client)
    listed = exchange(
        client, [(ListTransactionsRequest(state_filters=_OPEN, producer_id_filters=[]), node) for node in nodes]
    )
    asked = [
        (
            DescribeTransactionsRequest(
                transactional_ids=[each.transactional_id for each in answer.transaction_states]
            ),
            node,
        )
        for node, answer in zip(nodes, listed, strict=True)
        if answer.transaction_states
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
