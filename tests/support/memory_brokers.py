"""Brokers of two clusters whose partitions are lists in memory, for what reads logs through `cluster_logs`."""

import types
import typing as t

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.positions import Bounds
from ansible_collections.streamshift.kafka.plugins.module_utils._migration import cluster_logs
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection, connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record, TopicPartition

SOURCE = connection_from({"bootstrap_servers": ["127.0.0.1:1"]}, "source cluster")
DESTINATION = connection_from({"bootstrap_servers": ["127.0.0.1:2"]}, "destination cluster")
ORDERS = TopicPartition("orders", 0)


class MemoryBrokers:
    """Any partition of a cluster has its records, by the cluster's name. A subclass may refuse what it is asked."""

    def __init__(self, records: dict[str, list[Record]], compacted: bool = False) -> None:
        self.records = records
        self.settings = types.SimpleNamespace(log_append_time=False, compacted=compacted, retention_ms=None)

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Be what `cluster_logs` asks."""
        for name in ("topics", "positions", "range_reader"):
            monkeypatch.setattr(cluster_logs, name, self)

    def check_exists(self, connection: Connection, partitions: t.Iterable[TopicPartition]) -> None:
        """Raise where a broker would say nothing of them."""

    def topic_settings(self, connection: Connection, names: t.Iterable[str]) -> dict[str, t.Any]:
        self.check_exists(connection, [TopicPartition(name, 0) for name in names])
        return dict.fromkeys(names, self.settings)

    def partition_bounds(self, connection: Connection, partitions: t.Iterable[TopicPartition]) -> dict[t.Any, Bounds]:
        self.check_exists(connection, partitions)
        return dict.fromkeys(partitions, self.bounds_of(connection.name))

    def bounds_of(self, name: str) -> Bounds:
        records = self.records[name]
        start, end = (records[0].offset, records[-1].offset + 1) if records else (0, 0)
        return Bounds(start, end, end)

    def read_ranges(self, connection: Connection, wanted: t.Mapping[t.Any, t.Any], **_options: t.Any) -> t.Any:
        self.check_exists(connection, wanted)
        return {
            where: [(start, end, self.read(connection.name, start, end)) for start, end in spans]
            for where, spans in wanted.items()
        }

    def read(self, name: str, start: int, end: int) -> list[Record]:
        return [each for each in self.records[name] if start <= each.offset < end]

    def lookup_all_times(
        self, connection: Connection, wanted: t.Iterable[tuple[TopicPartition, int]], _refused: t.Any = None
    ) -> dict[tuple[TopicPartition, int], int | None]:
        asked = list(wanted)
        self.check_exists(connection, [where for where, _time in asked])
        assert all(time >= 0 for _where, time in asked), "no broker looks up a negative time"
        return {(where, time): self.lookup(connection.name, time) for where, time in asked}

    def lookup(self, name: str, time: int) -> int | None:
        return next((each.offset for each in self.records[name] if each.timestamp >= time), None)
