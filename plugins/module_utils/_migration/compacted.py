# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Compacted topics as tables: the last record of each key, and keys that are removed so that nothing of them is left."""

from __future__ import annotations

import typing as t

from .._control import configs, deletion, positions, topics
from .._control.positions import Bounds
from .._model.connection import Connection
from .._model.errors import NotFound, PositionsUnclear, TopicUnsuitable
from .._model.records import TopicPartition, every_partition
from .._records.scanning import Range
from .._records.tables import NewRecord, StoredRecord, read_records, write_records

# Brokers delete records of topics only that may be deleted by age or size as well: no age and no size is reached then.
WHILE_RECORDS_ARE_DELETED = {"cleanup.policy": "compact,delete", "retention.ms": "-1", "retention.bytes": "-1"}


def cleanup_policy(connection: Connection, topic: str) -> str | None:
    """The topic's cleanup.policy; None where brokers do not tell it."""
    return configs.topic_configs(connection, [topic])[topic].effective.get("cleanup.policy")


def check_policy(connection: Connection, topic: str, why: str) -> None:
    """Raise Refused for a topic that does not keep each key's last record for ever, as Kafka Connect's do."""
    policy = cleanup_policy(connection, topic)
    if policy != "compact":
        what = f"cleanup.policy is {policy}, and {why}"
        raise TopicUnsuitable(
            what, cluster=str(connection), topic=topic, remedy="set it to compact, or correct the topic's name"
        )


def all_records(connection: Connection, topic: str, committed: bool, remedy: str = "run again") -> list[StoredRecord]:
    """Every record of a topic to its end, in order of partitions and offsets.

    committed: as a read_committed consumer sees it; else with what was aborted, and up to the high watermark. remedy: of the
    NotFound that a missing topic raises.
    """
    count = topics.partition_counts(connection, [topic]).get(topic)
    if count is None:
        raise NotFound("the topic does not exist", cluster=str(connection), topic=topic, remedy=remedy)
    bounds = positions.partition_bounds(connection, every_partition({topic: count}))
    ranges = [
        Range(partition, log.log_start, log.end if committed else log.high_watermark)
        for partition, log in bounds.items()
    ]
    return read_records(connection, ranges, committed)


def last_records(connection: Connection, topic: str, committed: bool, remedy: str = "run again") -> list[StoredRecord]:
    """Of all_records() the last of every key in every partition."""
    last = {(record.partition, record.key): record for record in all_records(connection, topic, committed, remedy)}
    return sorted(last.values(), key=lambda record: record[:2])


def settled_bounds(connection: Connection, partitions: t.Collection[TopicPartition]) -> dict[TopicPartition, Bounds]:
    """The bounds of partitions of which keys are removed.

    Raises Refused while a transaction is open: what is committed after its first record is not read, and would be deleted.
    """
    bounds = positions.partition_bounds(connection, partitions)
    for partition, log in bounds.items():
        if log.end < log.high_watermark:
            raise PositionsUnclear(
                f"a transaction is open from offset {log.end} on, and what follows it cannot be kept",
                cluster=str(connection),
                **partition._asdict(),
                remedy="wait until its transaction.timeout.ms is over, or stop the worker that writes it, and run again",
            )
    return bounds


def remove_keys(connection: Connection, topic: str, unwanted: t.Collection[tuple[TopicPartition, bytes]]) -> None:
    """Remove keys from partitions of a compacted topic for good. Nobody may write to it meanwhile.

    A tombstone is not enough for a key that is in another partition, too: whoever reads the topic as one table may read the
    tombstone last, and forgets the key. So the other records of the partition are written again, and what is before them
    is deleted. Killed in between, the topic has lost nothing, but may be left with a cleanup.policy of compact,delete.
    Raises as settled_bounds().
    """
    concerned = {partition for partition, _key in unwanted}
    bounds = settled_bounds(connection, concerned)
    kept = [
        NewRecord(record.partition, record.key, record.value)
        for record in last_records(connection, topic, committed=True)
        if record.key is not None and record.partition in concerned and (record.partition, record.key) not in unwanted
    ]
    write_records(connection, kept)
    own = configs.topic_configs(connection, [topic])[topic].own
    configs.alter_topic_configs(connection, {topic: WHILE_RECORDS_ARE_DELETED})
    try:
        deletion.delete_records(connection, {partition: log.high_watermark for partition, log in bounds.items()})
    finally:
        configs.alter_topic_configs(connection, {topic: {name: own.get(name) for name in WHILE_RECORDS_ARE_DELETED}})
