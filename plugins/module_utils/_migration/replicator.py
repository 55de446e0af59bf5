# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Where a Confluent Replicator has stopped: by what it has stored in Kafka Connect, or by its group at the source."""

from __future__ import annotations

import collections
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._control import groups, positions, topics
from ansible_collections.streamshift.kafka.plugins.module_utils._model import connect_offsets
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connect_offsets import ConnectorKey
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import DamagedRecord, NotFound, Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._records.scanning import Range
from ansible_collections.streamshift.kafka.plugins.module_utils._records.tables import StoredRecord, read_records


class Stored(t.NamedTuple):
    """offsets: of the last record that was copied, by the source's partition. others: connectors that the topic also holds.

    unknown: how many keys are of no connector at all.
    """

    offsets: dict[TopicPartition, int]
    others: tuple[str, ...]
    unknown: int


def last_records(connection: Connection, topic: str, committed: bool) -> list[StoredRecord]:
    """The last record of every key in every partition of a compacted topic, in order of partitions and offsets."""
    count = topics.partition_counts(connection, [topic]).get(topic)
    if count is None:
        raise NotFound(
            "the topic does not exist", cluster=str(connection), topic=topic, remedy="name the topic that Connect uses"
        )
    bounds = positions.partition_bounds(connection, [TopicPartition(topic, number) for number in range(count)])
    # Aborted records lie below the high watermark, those of open transactions as well.
    ranges = [Range(where, its.log_start, its.end) for where, its in bounds.items()]
    last = {(record.partition, record.key): record for record in read_records(connection, ranges, committed)}
    return sorted(last.values(), key=lambda record: record[:2])


def stored(connection: Connection, topic: str, connector: str) -> Stored:
    """What a connector of this name has stored. Raises Refused for a record of its that tells no position plainly."""
    found: dict[TopicPartition, list[tuple[StoredRecord, int]]] = collections.defaultdict(list)
    others: set[str] = set()
    unknown = 0
    for record in last_records(connection, topic, committed=True):
        key = _key(connection, record, connector)
        if key is None:
            unknown += 1
        elif key.connector != connector:
            others.add(key.connector)
        else:
            try:
                where = connect_offsets.replicator_partition(key)
                offset = connect_offsets.read_offset(record.value)
            except DamagedRecord as exc:
                raise _refused(connection, record, exc) from exc
            if offset is not None:
                found[where].append((record, offset))
    for where, candidates in sorted(found.items()):
        if len({offset for _record, offset in candidates}) > 1:
            told = ", ".join(f"{offset} in {record.partition} at {record.offset}" for record, offset in candidates)
            raise Refused(
                f"{connector} has stored several positions for {where}: {told}",
                cluster=str(connection),
                topic=topic,
                why="which of them is the newest cannot be known",
                remedy="write a tombstone for the wrong key, or take the position of its group (position: group)",
            )
    if not found:
        there = f"it holds those of {', '.join(sorted(others))}" if others else "it holds those of no connector"
        raise NotFound(
            f"no position of {connector} is there",
            cluster=str(connection),
            topic=topic,
            why=there,
            remedy="correct the connector's name or the topic",
        )
    return Stored({where: each[0][1] for where, each in found.items()}, tuple(sorted(others)), unknown)


def of_group(source: Connection, group: str) -> dict[TopicPartition, int]:
    """The last record that a copier's group at the source has consumed, where it has consumed any."""
    offsets = groups.read_groups(source, [group])[group].offsets
    return {where: each.offset - 1 for where, each in offsets.items() if each.offset > 0}


def _key(connection: Connection, record: StoredRecord, connector: str) -> ConnectorKey | None:
    """A record's key, None for one that is no connector's. Raises Refused for one that may be this connector's."""
    try:
        return connect_offsets.read_key(record.key)
    except DamagedRecord as exc:
        if f'"{connector}"'.encode() in (record.key or b""):
            raise _refused(connection, record, exc) from exc
        return None


def _refused(connection: Connection, record: StoredRecord, exc: DamagedRecord) -> Refused:
    return Refused(
        f"the record at offset {record.offset} tells no position: {exc.what}",
        cluster=str(connection),
        why=exc.why,
        remedy="correct or remove it with a tombstone, or take the position of the group (position: group)",
        **record.partition._asdict(),
    )
