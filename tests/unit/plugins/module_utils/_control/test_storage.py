"""How large topics are, from what brokers say of their partitions."""

from ansible_collections.streamshift.kafka.plugins.module_utils._control import storage
from ansible_collections.streamshift.kafka.plugins.module_utils._control.storage import Replicas, TopicLayout
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition

NOWHERE = connection_from({"bootstrap_servers": "127.0.0.1:1"}, "source cluster")


def test_a_topic_has_as_many_replicas_as_the_partition_with_the_most(monkeypatch):
    replicas = {("orders", 0): 1, ("orders", 1): 3, ("orders", 2): 2, ("returns", 0): 1}
    found = {TopicPartition(*where): Replicas(count, 1) for where, count in replicas.items()}
    monkeypatch.setattr(storage, "partition_replicas", lambda _connection, _topics: found)
    layouts = storage.topic_layouts(NOWHERE, ["orders", "returns"])
    assert layouts == {"orders": TopicLayout(3, 3), "returns": TopicLayout(1, 1)}
