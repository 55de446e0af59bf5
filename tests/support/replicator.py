"""A stand-in for Confluent Replicator, which is no free software, and what MirrorMaker 2 is left with."""

import json
import zlib

from testbed.clients import Message, Servers, Stored, commit, create_topic, produce, read
from tests.support import replication_tool

Places = dict[tuple[str, int], list[tuple[int, bytes | None]]]


class Replicator:
    """It copies, stores and commits as Replicator does."""

    def __init__(self, source: Servers, destination: Servers, connector: str) -> None:
        self.source, self.destination, self.connector = source, destination, connector
        self.offsets_topic = f"{connector}-offsets"
        create_topic(destination, self.offsets_topic, 25, cleanup_policy="compact")

    def copy(self, topic: str, to: str, lag: int, junk: int = 0) -> dict[int, int]:
        """Copy all but the last so many records of each partition. -> the last offsets copied.

        junk: so many records of somebody else come before the copies.
        """
        copies = replication_tool.copy(self.source, self.destination, topic, to, lag=lag, junk=junk)
        last: dict[int, int] = {}
        for partition, offset in copies:
            last[partition] = max(last.get(partition, 0), offset)
        for partition, offset in last.items():
            self.store(topic, partition, json.dumps({"offset": offset}, separators=(",", ":")))
        commit(self.source, self.connector, {(topic, partition): offset + 1 for partition, offset in last.items()})
        return last

    def store(self, topic: str, partition: int, value: str | None) -> None:
        """Store a value for a partition, with the order of members that Replicator's keys have."""
        key = json.dumps([self.connector, {"topic": topic, "partition": partition}], separators=(",", ":")).encode()
        value_bytes = None if value is None else value.encode()
        produce(self.destination, self.offsets_topic, [Message(value_bytes, key, partition=zlib.crc32(key) % 25)])


def places(cluster: Servers, offsets_topic: str) -> Places:
    """What a topic holds of MirrorMaker 2's source connector, by the source's partition: the value in each partition of it."""
    found: dict[tuple[str, int], dict[int, bytes | None]] = {}
    for record in read(cluster, offsets_topic):
        connector, where = json.loads(record.key or b"")
        if connector == "MirrorSourceConnector":
            found.setdefault((where["topic"], where["partition"]), {})[record.partition] = record.value
    return {key: sorted(its.items()) for key, its in found.items()}


def without_junk(records: list[Stored]) -> list[Stored]:
    """Without what a copy began with."""
    return [record for record in records if not (record.value or b"").startswith(b"junk ")]
