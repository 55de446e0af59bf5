"""Brokers name leaders once for look-ups that follow closely, and again if that is old or a leader has changed."""

import io
import types

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import attempts, positions
from ansible_collections.streamshift.kafka.plugins.module_utils._control.error_codes import ErrorCode
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.open_clients import keeping
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition

CLUSTER = connection_from({"bootstrap_servers": "b1:9092"}, "source cluster")
WHERE = TopicPartition("orders", 0)


class Cluster:
    """Of one partition. leader: whom brokers name. Another broker refuses to tell where the log ends."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.leader, self.described, self.now = 1, 0, 1000.0
        monkeypatch.setattr(attempts, "connect", lambda _connection: io.StringIO())
        monkeypatch.setattr(attempts.time, "sleep", lambda _seconds: None)
        monkeypatch.setattr(positions, "monotonic", lambda: self.now)
        monkeypatch.setattr(positions, "request_metadata", self._describe)
        monkeypatch.setattr(positions, "exchange", self._answer)

    def _describe(self, _client, names):
        self.described += 1
        partition = types.SimpleNamespace(partition_index=0, leader_id=self.leader)
        return types.SimpleNamespace(
            topics=[types.SimpleNamespace(name=name, error_code=0, partitions=[partition]) for name in names]
        )

    def _answer(self, _client, requests):
        refusal = ErrorCode.NOT_LEADER_OR_FOLLOWER
        return [
            types.SimpleNamespace(
                topics=[
                    types.SimpleNamespace(
                        name="orders",
                        partitions=[
                            types.SimpleNamespace(
                                partition_index=0, error_code=refusal if node != self.leader else 0, offset=self.leader
                            )
                        ],
                    )
                ]
            )
            for node in (request.node for request in requests)
        ]

    def end(self) -> int:
        return positions.partition_bounds(CLUSTER, [WHERE])[WHERE].end


def test_leaders_are_asked_for_once_and_again_when_that_is_old(monkeypatch):
    cluster = Cluster(monkeypatch)
    with keeping():
        assert (cluster.end(), cluster.end(), cluster.described) == (1, 1, 1)
        cluster.now += positions._FRESH_SECONDS + 1
        assert (cluster.end(), cluster.described) == (1, 2)


def test_a_leader_that_has_changed_is_asked_for_again(monkeypatch):
    cluster = Cluster(monkeypatch)
    with keeping():
        assert cluster.end() == 1
        cluster.leader = 2
        assert (cluster.end(), cluster.described) == (2, 2)
