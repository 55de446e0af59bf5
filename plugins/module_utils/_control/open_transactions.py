# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which transactions commit offsets for a group, as far as brokers tell.

KIP-664: brokers of version 3.0 and later list transactions to users with ACL TRANSACTIONAL_ID DESCRIBE. They tell the partition
of __consumer_offsets that a transaction writes to, but not the groups: several groups may share it.
"""

from __future__ import annotations

import datetime
import typing as t

from .admin_client import AdminClient, Request, exchange
from .reasons import KafkaFailure
from .topics import broker_ids, request_metadata

OFFSETS_TOPIC = "__consumer_offsets"
_OPEN = ["Ongoing", "PrepareCommit", "PrepareAbort"]
_NAMED = 3


def named_transactions(client: AdminClient, groups: t.Collection[str]) -> dict[str, str]:
    """For each group the open transactions that may commit its offsets, in words; empty where brokers do not tell."""
    try:
        (topic,) = request_metadata(client, [OFFSETS_TOPIC]).topics
        transactions = _open(client) if topic.partitions else []
    except (KafkaFailure, ValueError):
        return dict.fromkeys(groups, "")
    texts = {}
    for group in groups:
        partition = offsets_partition(group, len(topic.partitions)) if topic.partitions else -1
        named = [_text(row) for row in transactions if partition in _written(row)]
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
    nodes = broker_ids(client)
    filters = {"state_filters": _OPEN, "producer_id_filters": []}
    listed = exchange(client, [Request("ListTransactions", filters, node) for node in nodes])
    asked = [
        Request(
            "DescribeTransactions",
            {"transactional_ids": [transaction.transactional_id for transaction in answer.transaction_states]},
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
