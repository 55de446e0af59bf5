# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What Kafka Connect's source connectors have stored: how far each of them has read each of its partitions.

A record's key is JSON, `[connector, partition]`, its value `{"offset": n}` or, for nothing, null. Connect looks keys up byte by
byte, in the partition that Java's default partitioner gives them: one byte else, or another partition, and it finds nothing.
MirrorMaker 2 and Replicator store the offset of the last record that they have copied, and go on after it.
"""

from __future__ import annotations

import json
import typing as t

from .documents import json_of
from .errors import DamagedRecord
from .records import LEGAL_TOPIC, TopicPartition
from .visible_text import shortened

_Json = t.Any


class ConnectorKey(t.NamedTuple):
    """A connector's name, and what it calls a partition: for Kafka's own, topic, partition and maybe a cluster's alias."""

    connector: str
    partition: dict[str, t.Any]


def mirror_source_key(connector: str, source_alias: str, partition: TopicPartition) -> bytes:
    """The key of a MirrorSourceConnector for a partition of the source, byte for byte as Connect writes it.

    connector: MirrorSourceConnector for a MirrorMaker 2 that runs by itself, else the name that it has in Connect.
    The order of the members is the one that Java's HashMap gives these three.
    """
    source_partition = {"cluster": source_alias, "partition": partition.partition, "topic": partition.topic}
    return _compact([connector, source_partition])


def offset_value(offset: int) -> bytes:
    """The value for the offset of the last record that was copied."""
    return _compact({"offset": offset})


def read_key(key: bytes | None) -> ConnectorKey:
    """The key of a stored offset, with its members in any order. Raises DamagedRecord for what is none."""
    match _json("key", key):
        case [str(connector), dict(partition)]:
            return ConnectorKey(connector, partition)
    raise _damaged("its key is not [connector, partition]", key)


def read_offset(value: bytes | None) -> int | None:
    """The offset of a value, None for a tombstone. Raises DamagedRecord: a guess would skip or repeat records."""
    if value is None:
        return None
    document = _json("value", value)
    offset = document.get("offset") if isinstance(document, dict) else None
    # Text and floats make a task of MirrorMaker 2 die; and a negative number counts as none at all.
    if isinstance(offset, bool) or not isinstance(offset, int) or not 0 <= offset < 1 << 63:
        raise _damaged("its value has no whole number from 0 on as offset", value)
    return offset


def kafka_partition(key: ConnectorKey) -> TopicPartition:
    """The partition of Kafka that a replication tool's key is about. Raises DamagedRecord where it is not said plainly."""
    topic, partition = key.partition.get("topic"), key.partition.get("partition")
    if not isinstance(topic, str) or not LEGAL_TOPIC.fullmatch(topic):
        raise DamagedRecord(f"its topic is {_shown(topic)}, which is no name of a topic")
    if isinstance(partition, bool) or not isinstance(partition, int) or not 0 <= partition < 1 << 31:
        raise DamagedRecord(f"its partition is {_shown(partition)}, which is no number of a partition")
    return TopicPartition(topic, partition)


def replicator_partition(key: ConnectorKey) -> TopicPartition:
    """The source's partition in a key of Confluent Replicator. Raises DamagedRecord for one with other members."""
    strange = sorted(set(key.partition) - {"topic", "partition"})
    if strange:
        raise DamagedRecord(f"its key has {', '.join(strange)} beside topic and partition, and may mean something else")
    return kafka_partition(key)


def mirror_source_partition(key: ConnectorKey) -> tuple[str, TopicPartition]:
    """The source's alias and partition in a key of a MirrorSourceConnector; as replicator_partition() otherwise."""
    alias = key.partition.get("cluster")
    if set(key.partition) != {"cluster", "topic", "partition"} or not isinstance(alias, str):
        raise DamagedRecord("its key is not cluster, partition and topic")
    return alias, kafka_partition(key)


def _compact(document: _Json) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def _json(part: str, content: bytes | None) -> _Json:
    if content is None:
        raise DamagedRecord(f"it has no {part}")
    try:
        return json_of(content.decode())
    except ValueError as exc:  # UnicodeDecodeError is one
        raise _damaged(f"its {part} is not JSON", content) from exc


def _damaged(what: str, content: bytes | None) -> DamagedRecord:
    return DamagedRecord(what, why=f"it is {shortened(repr(content), 200)}" if content is not None else None)


def _shown(value: _Json) -> str:
    return "missing" if value is None else shortened(json.dumps(value), 100)
