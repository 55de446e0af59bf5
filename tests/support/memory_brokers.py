"""Brokers of two clusters whose partitions are lists in memory, for what reads logs through `cluster_logs`."""

import types
import typing as t

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.positions import Bounds
from ansible_collections.streamshift.kafka.plugins.module_utils._migration import cluster_logs, cut_logs
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection, connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record, TopicPartition

SOURCE = connection_from({"bootstrap_servers": ["127.0.0.1:1"]}, "source cluster")
DESTINATION = connection_from({"bootstrap_servers": ["127.0.0.1:2"]}, "destination cluster")
ORDERS = TopicPartition("orders", 0)


class MemoryBrokers:
    """Any partition of a cluster has its records, by the cluster's name. A subclass may refuse what it is asked.

    Where partitions have records of their own, a subclass says in log_of() by what they are told apart. aborted: what only
    a read_uncommitted consumer sees.
    """

    def __init__(self, records: dict[t.Any, list[Record]], compacted: bool = False) -> None:
        self.records = records
        self.aborted: dict[t.Any, list[Record]] = {}
        self.compacted = compacted
        self.stamps: set[str] = set()  # the clusters that write the time of arrival
        self.epochs: dict[
            tuple[TopicPartition, int], int
        ] = {}  # where the source's leader epochs end, where that is told
        self.epochs_asked: list[tuple[TopicPartition, int]] = []

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Be what `cluster_logs` asks."""
        for name in ("topics", "positions", "range_reader"):
            monkeypatch.setattr(cluster_logs, name, self)
        monkeypatch.setattr(cut_logs, "positions", self)

    def log_of(self, connection: Connection, _partition: TopicPartition) -> t.Any:
        """The key of its records."""
        return connection.name

    def check_exist(self, connection: Connection, partitions: t.Iterable[TopicPartition]) -> None:
        """Raise where a broker would say nothing of them."""

    def topic_settings(self, connection: Connection, names: t.Iterable[str]) -> dict[str, t.Any]:
        self.check_exist(connection, [TopicPartition(name, 0) for name in names])
        stamps = connection.name in self.stamps
        its = types.SimpleNamespace(log_append_time=stamps, compacted=self.compacted, retention_ms=None)
        return dict.fromkeys(names, its)

    def partition_bounds(self, connection: Connection, partitions: t.Iterable[TopicPartition]) -> dict[t.Any, Bounds]:
        self.check_exist(connection, partitions)
        return {where: self.bounds_of(self.log_of(connection, where)) for where in partitions}

    def epoch_ends(
        self, _connection: Connection, wanted: t.Iterable[tuple[TopicPartition, int]]
    ) -> dict[tuple[TopicPartition, int], int]:
        self.epochs_asked += list(wanted)
        return {asked: self.epochs[asked] for asked in self.epochs_asked if asked in self.epochs}

    def bounds_of(self, log: t.Any) -> Bounds:
        records = self.records[log]
        start, end = (records[0].offset, records[-1].offset + 1) if records else (0, 0)
        return Bounds(start, end, end)

    def read_ranges(
        self, connection: Connection, wanted: t.Mapping[t.Any, t.Any], committed: bool = True, **_options: t.Any
    ) -> t.Any:
        self.check_exist(connection, wanted)
        found: dict[t.Any, t.Any] = {where: [] for where in wanted}
        for where, spans in wanted.items():
            log = self.log_of(connection, where)
            hidden = [] if committed else self.aborted.get(log, [])
            for start, end in spans:
                more = [each for each in hidden if start <= each.offset < end]
                found[where].append((start, end, sorted([*self.read(log, start, end), *more])))
        return found

    def read(self, log: t.Any, start: int, end: int) -> list[Record]:
        return [each for each in self.records[log] if start <= each.offset < end]

    def lookup_all_times(
        self, connection: Connection, wanted: t.Iterable[tuple[TopicPartition, int]], _refused: t.Any = None
    ) -> dict[tuple[TopicPartition, int], int | None]:
        asked = list(wanted)
        self.check_exist(connection, [where for where, _time in asked])
        assert all(time >= 0 for _where, time in asked), "no broker looks up a negative time"
        return {(where, time): self.lookup(self.log_of(connection, where), time) for where, time in asked}

    def lookup(self, log: t.Any, time: int) -> int | None:
        return next((each.offset for each in self.records[log] if each.timestamp >= time), None)
