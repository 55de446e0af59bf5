"""The company's own replication tool, for what MirrorMaker was not to copy: its habits are those of many scripts."""

from __future__ import annotations

import zlib

from demo.company import PARTITIONS
from testbed.clients import Message, Servers, Stored, create_topic, produce, read

TOPICS = ("sessions", "events")
EVENT_PARTITIONS = 6


def copy_sessions(source: Servers, destination: Servers) -> None:
    """Copy them, and once more from the beginning: the tool was restarted, and had forgotten where it was."""
    create_topic(destination, "sessions", PARTITIONS["sessions"], retention_ms=-1)
    records = _by_time(source, "sessions")
    for _unused in range(2):
        produce(destination, "sessions", [_copy(record, record.partition) for record in records])


def copy_events(source: Servers, destination: Servers) -> None:
    """Copy them into a topic with more partitions, by key, as a producer would."""
    create_topic(destination, "events", EVENT_PARTITIONS, retention_ms=-1)
    records = _by_time(source, "events")
    copies = [_copy(record, zlib.crc32(record.key or b"") % EVENT_PARTITIONS) for record in records]
    produce(destination, "events", copies)


def _by_time(cluster: Servers, topic: str) -> list[Stored]:
    return sorted(read(cluster, topic), key=lambda record: record.timestamp)


def _copy(record: Stored, partition: int) -> Message:
    return Message(record.value, record.key, record.headers, record.timestamp, partition)
