# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Where a MirrorSourceConnector finds how far it is: in the topic of its worker, or behind the REST interface of Connect."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._control import connect_rest, groups, storage, topics
from ansible_collections.streamshift.kafka.plugins.module_utils._control.configs import (
    NewTopic,
    create_topics,
    topic_configs,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._control.connect_rest import ConnectRest
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.replicator import last_records
from ansible_collections.streamshift.kafka.plugins.module_utils._model import connect_offsets
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import (
    BrokerError,
    DamagedRecord,
    GroupBusy,
    Refused,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._records.tables import NewRecord, write_records

_PARTITIONS = 25  # offset.storage.partitions of Connect
_REPLICAS = 3
_SETTINGS = {"cleanup.policy": "compact"}
_IDLE = ("Empty", "Dead", "")

Changes: t.TypeAlias = "t.Mapping[TopicPartition, int | None]"


class Found(t.NamedTuple):
    """What a connector has stored, by the source's partition; misplaced: keys in a partition where nobody should look."""

    offsets: dict[TopicPartition, int]
    misplaced: tuple[tuple[TopicPartition, bytes], ...] = ()


class Store(t.Protocol):
    """Where offsets are kept. str() says where, for messages and receipts."""

    def check(self) -> None:
        """Raise where the offsets must not be changed now: something runs, or a topic is not as it should be."""

    def read(self) -> Found:
        """What is stored now."""

    def write(self, changes: Changes, misplaced: t.Sequence[tuple[TopicPartition, bytes]]) -> None:
        """Store these offsets, None for none, and forget what is misplaced."""


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

    def check(self) -> None:
        """The worker is stopped; the topic, if it is there, keeps the last value of each key for ever."""
        check_stopped(self.connection, [self.worker_group])
        if not self._is_there():
            return
        policy = topic_configs(self.connection, [self.topic])[self.topic].effective.get("cleanup.policy")
        if policy != "compact":
            raise Refused(
                f"cleanup.policy is {policy}, and a worker of Connect does not start unless it is compact",
                cluster=str(self.connection),
                topic=self.topic,
                remedy="set it to compact, or correct the topic's name",
            )

    def read(self) -> Found:
        """Connect reads what was aborted too, unless it copies exactly once: both views must agree."""
        if not self._is_there():
            return Found({})
        found, of_committed = self._read(committed=False), self._read(committed=True)
        if found != of_committed:
            raise Refused(
                "aborted transactions have left other positions than committed ones",
                cluster=str(self.connection),
                topic=self.topic,
                remedy="start and stop MirrorMaker 2 once, or write the positions again without a transaction",
            )
        return found

    def write(self, changes: Changes, misplaced: t.Sequence[tuple[TopicPartition, bytes]]) -> None:
        """Plainly: what an aborted transaction holds would count."""
        if not self._is_there():
            factor = min(_REPLICAS, storage.broker_count(self.connection))
            create_topics(self.connection, {self.topic: NewTopic(_PARTITIONS, factor, _SETTINGS)})
        count = topics.partition_counts(self.connection, [self.topic])[self.topic]
        records = [NewRecord(where, key, None) for where, key in misplaced]
        for partition, offset in sorted(changes.items()):
            key = self._key(partition)
            where = TopicPartition(self.topic, connect_offsets.partition_of(key, count))
            records.append(NewRecord(where, key, None if offset is None else connect_offsets.offset_value(offset)))
        write_records(self.connection, records)

    def _is_there(self) -> bool:
        return bool(topics.partition_counts(self.connection, [self.topic]))

    def _key(self, partition: TopicPartition) -> bytes:
        return connect_offsets.mirror_source_key(self.connector, self.source_alias, partition)

    def _read(self, committed: bool) -> Found:
        count = topics.partition_counts(self.connection, [self.topic])[self.topic]
        offsets: dict[TopicPartition, int] = {}
        misplaced = []
        for record in last_records(self.connection, self.topic, committed):
            try:
                key = connect_offsets.read_key(record.key)
                if key.connector != self.connector:
                    continue
                alias, partition = connect_offsets.mirror_source_partition(key)
                offset = connect_offsets.read_offset(record.value)
            except DamagedRecord:
                continue  # nobody finds it under the key that Connect looks for, or the key is another connector's
            if alias != self.source_alias or offset is None:
                continue
            right = self._key(partition)
            place = connect_offsets.partition_of(right, count)
            if record.key != right or record.partition.partition != place:
                misplaced.append((record.partition, record.key or b""))
            else:
                offsets[partition] = offset
        return Found(offsets, tuple(sorted(misplaced)))


@dataclasses.dataclass(frozen=True, slots=True)
class RestStore:
    """A connector of a running worker, which is stopped itself."""

    rest: ConnectRest
    connector: str
    source_alias: str

    def __str__(self) -> str:
        return f"connector {self.connector}"

    def check(self) -> None:
        """The worker answers, and the connector is STOPPED."""
        connect_rest.check(self.rest)
        connect_rest.wait_until_stopped(self.rest, self.connector)

    def read(self) -> Found:
        """What the worker tells of this source's partitions."""
        offsets: dict[TopicPartition, int] = {}
        for partition, offset in connect_rest.read_offsets(self.rest, self.connector):
            try:
                its = connect_offsets.ConnectorKey(self.connector, partition)
                alias, where = connect_offsets.mirror_source_partition(its)
            except DamagedRecord:
                continue
            last = None if offset is None else offset.get("offset")
            if alias == self.source_alias and isinstance(last, int) and last >= 0:
                offsets[where] = last
        return Found(offsets)

    def write(self, changes: Changes, misplaced: t.Sequence[tuple[TopicPartition, bytes]]) -> None:
        """Connect writes the keys itself, so none is misplaced."""
        connect_rest.write_offsets(
            self.rest,
            self.connector,
            [
                (
                    {"cluster": self.source_alias, **where._asdict()},
                    None if offset is None else {"offset": offset},
                )
                for where, offset in sorted(changes.items())
            ],
        )


def check_stopped(connection: Connection, worker_groups: t.Collection[str]) -> None:
    """Raise GroupBusy where a worker of Connect, or a copier, is a member of one of these groups."""
    listed = {each.group: each for each in groups.list_groups(connection)}
    for name in sorted(worker_groups):
        its = listed.get(name)
        if its is not None and its.state not in _IDLE:
            raise GroupBusy(
                f"it has members (its state is {its.state})",
                cluster=str(connection),
                group=name,
                why="a worker that runs does not see what is written now, and writes over it when it stops",
                remedy="stop it, and wait until its session has timed out",
            )


def check_read_back(store: Store, changes: Changes, cluster: str) -> dict[TopicPartition, int]:
    """What is stored now. Raises BrokerError where that is not what was written, or a key is in two partitions."""
    found = store.read()
    for partition, offset in sorted(changes.items()):
        if found.offsets.get(partition) != offset:
            raise BrokerError(
                f"{partition} reads back as {found.offsets.get(partition)}, and {offset} was written",
                cluster=cluster,
                why="somebody else writes to it at the same time",
                remedy="stop them, and run the same again",
            )
    if found.misplaced:
        where, key = found.misplaced[0]
        raise BrokerError(f"{where} holds the key {key!r}, which belongs elsewhere", cluster=cluster)
    return found.offsets
