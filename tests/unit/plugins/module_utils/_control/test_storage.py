"""How large topics are, and how much room brokers have, from what they say of their partitions and disks."""

import types

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import storage
from ansible_collections.streamshift.kafka.plugins.module_utils._control.storage import Replicas, TopicLayout
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition

NOWHERE = connection_from({"bootstrap_servers": "127.0.0.1:1"}, "source cluster")


@pytest.mark.parametrize(("up", "count"), [([1, 2], (3, 2)), ([1, 2, 3, 4], (4, 4))])
def test_a_broker_that_is_down_for_a_moment_counts(monkeypatch, up, count):
    """New topics got fewer replicas for good, and the note said that the destination had fewer brokers."""
    partitions = [types.SimpleNamespace(replica_nodes=nodes) for nodes in ([1, 2], [2, 3])]
    told = types.SimpleNamespace(
        brokers=[types.SimpleNamespace(node_id=node) for node in up],
        topics=[types.SimpleNamespace(partitions=partitions), types.SimpleNamespace(partitions=[])],
    )
    monkeypatch.setattr(storage, "attempt", lambda _connection, read: read(None))
    monkeypatch.setattr(storage, "request_metadata", lambda _client, topics: told)
    assert storage.broker_count(NOWHERE) == count


def test_a_topic_has_as_many_replicas_as_most_partitions_while_others_move(monkeypatch):
    replicas = {("orders", 0): 3, ("orders", 1): 6, ("orders", 2): 3, ("returns", 0): 3, ("returns", 1): 2}
    found = {TopicPartition(*where): Replicas(count, 1) for where, count in replicas.items()}
    monkeypatch.setattr(storage, "partition_replicas", lambda _connection, _topics: found)
    layouts = storage.topic_layouts(NOWHERE, ["orders", "returns"])
    assert layouts == {"orders": TopicLayout(3, 3), "returns": TopicLayout(2, 2)}


@pytest.mark.parametrize(
    "free, room",
    [
        ({1: [2 << 30, 3 << 30], 2: [1 << 30]}, {1: 5 << 30, 2: 1 << 30}),
        ({1: [2 << 30, -1], 2: [1 << 30]}, None),
        (None, None),
    ],
)
def test_partitions_can_fill_all_disks_of_a_broker(monkeypatch, free, room):
    told = free and {node: [types.SimpleNamespace(usable_bytes=each) for each in its] for node, its in free.items()}
    monkeypatch.setattr(storage, "attempt", lambda _connection, read: read(None))
    monkeypatch.setattr(storage, "_log_dirs", lambda _client, _partitions: told)
    assert storage.usable_bytes(NOWHERE) == room
