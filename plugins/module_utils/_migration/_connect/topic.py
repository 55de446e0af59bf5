# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The topic in which the workers of Kafka Connect, or a MirrorMaker 2 that runs by itself, store how far connectors are."""

from __future__ import annotations

import dataclasses
import re

from ..._control import storage, topic_changes, topics
from ..._control.kafka_library import murmur2
from ..._control.permissions import missing_topic_acls
from ..._control.topic_changes import create_topics
from ..._model import connect_offsets
from ..._model.connection import Connection
from ..._model.errors import DamagedRecord
from ..._model.new_topics import NewTopic
from ..._model.notes import Note, NoteKind
from ..._model.option_names import option_name
from ..._model.records import TopicPartition
from ..._model.wording import counted
from ..._records.tables import NewRecord, write_records
from .. import topic_making
from ..compacted import WHILE_RECORDS_ARE_DELETED, check_policy, last_records, remove_keys, settled_bounds
from .stores import Changes, Misplaced, StoredOffsets, check_agreed, check_stopped, may_run

_PARTITIONS = 25  # offset.storage.partitions of Connect
_REPLICAS = 3
_SETTINGS = {"cleanup.policy": "compact"}
# Of a dedicated MirrorMaker 2 cluster, whatever its separator: org.apache.kafka.connect.mirror.MirrorMakerConfig.
OFFSETS_TOPICS = re.compile(r"mm2-offsets.+internal")


def connect_partition(key: bytes, partitions: int) -> int:
    """Where Connect looks for this key in a topic of so many partitions: as Java's default partitioner."""
    number: int = murmur2(key) & 0x7FFFFFFF
    return number % partitions


@dataclasses.dataclass(frozen=True, slots=True)
class TopicStore:
    """The offsets topic of a worker that is not running. worker_group: the group by which its members find each other."""

    connection: Connection
    topic: str
    worker_group: str
    connector: str
    source_alias: str

    def __str__(self) -> str:
        return f"topic {self.topic}"

    def check(self) -> tuple[Note, ...]:
        """The worker is stopped; the topic keeps the last value of each key for ever, or can be made; it can be written."""
        check_stopped(self.connection, [self.worker_group])
        objections = topic_making.ChangeObjections(missing_topic_acls(self.connection, "WRITE", [self.topic]))
        if self._exists():
            why = "a worker of Connect does not start unless it is compact"
            check_policy(self.connection, self.topic, why)
        else:
            new, brokers = self._new_topic(), storage.broker_count(self.connection).up
            trial = topic_making.try_topics(self.connection, new, objections)
            objections.problems.extend(
                f"records of topic {name}: min.insync.replicas would be {found.in_sync}, and {found.up} of its "
                f"{counted(found.replicas, 'replica')} on brokers that are up; start the brokers that are down"
                for name, found in topic_making.unwritable(new, trial, brokers).items()
            )
        objections.check(self.connection, "create the topic yourself, or correct its name")
        return may_run(self.connection, self.connector)

    def read(self) -> StoredOffsets:
        """All records and committed ones alike must tell it: see check_agreed()."""
        if not self._exists():
            return StoredOffsets({}, notes=self._doubts())
        remedy = "start and stop MirrorMaker 2 once, or write the positions again without a transaction"
        stored = self._read(committed=True)
        check_agreed(self._read(committed=False) == stored, self.connection, self.topic, remedy)
        return stored

    def check_removal(self, misplaced: Misplaced) -> None:
        """To remove keys, records are deleted, and the topic has other settings meanwhile."""
        objections = topic_making.ChangeObjections(missing_topic_acls(self.connection, "DELETE", [self.topic]))
        refusals = topic_changes.try_settings(self.connection, {self.topic: WHILE_RECORDS_ARE_DELETED})
        objections.add(refusals, "ALTER_CONFIGS", "its settings cannot be changed for a moment")
        objections.check(self.connection, "let the brokers take these settings of the topic")
        settled_bounds(self.connection, {partition for partition, _key in misplaced})

    def write(self, changes: Changes, misplaced: Misplaced) -> None:
        """Plainly: what an aborted transaction holds would count."""
        if not self._exists():
            create_topics(self.connection, self._new_topic())
        if misplaced:
            remove_keys(self.connection, self.topic, misplaced)
        count = topics.partition_counts(self.connection, [self.topic])[self.topic]
        records = []
        for partition, offset in sorted(changes.items()):
            key = self._key(partition)
            place = TopicPartition(self.topic, connect_partition(key, count))
            value = None if offset is None else connect_offsets.offset_value(offset)
            records.append(NewRecord(place, key, value))
        write_records(self.connection, records)

    def _exists(self) -> bool:
        return bool(topics.partition_counts(self.connection, [self.topic]))

    def _new_topic(self) -> dict[str, NewTopic]:
        factor = min(_REPLICAS, storage.broker_count(self.connection).known)
        return {self.topic: NewTopic(_PARTITIONS, factor, _SETTINGS)}

    def _doubts(self) -> tuple[Note, ...]:
        if not OFFSETS_TOPICS.fullmatch(self.topic):  # the user has named it
            text = (
                f"{self.topic} is not there yet: see that {option_name('offsets_topic')} is offset.storage.topic of the "
                f"workers of {self.connector}, which otherwise copy everything again."
            )
            return (Note(NoteKind.OFFSETS_TOPIC_NEW, text),)
        others = [name for name in topics.list_topics(self.connection) if OFFSETS_TOPICS.fullmatch(name)]
        if not others:
            return ()
        text = f"{self.topic} is not there yet, and {', '.join(others)} is: see that source_alias is MirrorMaker 2's."
        return (Note(NoteKind.ALIAS_UNCERTAIN, text),)

    def _key(self, partition: TopicPartition) -> bytes:
        return connect_offsets.mirror_source_key(self.connector, self.source_alias, partition)

    def _partition(self, key: bytes | None) -> TopicPartition | None:
        """The source's partition that a key of this connector is about, with its members in any order."""
        try:
            connector_key = connect_offsets.read_key(key)
            alias, partition = connect_offsets.mirror_source_partition(connector_key)
        except DamagedRecord:
            return None
        return partition if (connector_key.connector, alias) == (self.connector, self.source_alias) else None

    def _read(self, committed: bool) -> StoredOffsets:
        count = topics.partition_counts(self.connection, [self.topic])[self.topic]
        offsets: dict[TopicPartition, int] = {}
        misplaced = []
        for record in last_records(self.connection, self.topic, committed):
            partition = self._partition(record.key)
            if partition is None or record.key is None:
                continue
            right = self._key(partition)
            if record.key != right and record.value is None:
                continue
            # Even a tombstone misleads in another partition: Connect forgets the key where it reads that one last.
            if record.key != right or record.partition.partition != connect_partition(right, count):
                misplaced.append((record.partition, record.key))
                continue
            try:
                offset = connect_offsets.read_offset(record.value)
            except DamagedRecord:
                misplaced.append((record.partition, record.key))
                continue
            if offset is not None:
                offsets[partition] = offset
        return StoredOffsets(offsets, tuple(sorted(misplaced)))
