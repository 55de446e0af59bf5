"""A connector asked by REST is checked before anything is stored for it: Connect itself would take everything."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.connect_rest import ConnectRest
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._connect import worker
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._connect.worker import RestStore
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidInput, Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.replication_policy import ReplicationPolicy

PACKAGE = "org.apache.kafka.connect.mirror"
IDENTITY = {"replication.policy.class": f"{PACKAGE}.IdentityReplicationPolicy"}
SOURCE = {"connector.class": f"{PACKAGE}.MirrorSourceConnector", "source.cluster.alias": "src"}


DESTINATION = Connection("destination", ("d:1",))


def check(monkeypatch, config, policy, cluster_id="D"):
    monkeypatch.setattr(worker.connect_rest, "check_worker", lambda _rest: cluster_id)
    monkeypatch.setattr(worker.topics, "cluster_id", lambda connection: "D" if connection is DESTINATION else "S")
    monkeypatch.setattr(worker.connect_rest, "wait_until_stopped", lambda _rest, _connector: None)
    monkeypatch.setattr(worker.connect_rest, "read_config", lambda _rest, _connector: config)
    return RestStore(ConnectRest("http://127.0.0.1:1"), DESTINATION, "mirror", policy).check()


@pytest.mark.parametrize(
    ("config", "name", "separator"),
    [
        (SOURCE, "default", "."),
        (SOURCE | {"connector.class": "MirrorSource"}, "default", "."),
        (SOURCE | IDENTITY, "identity", "."),
        (SOURCE | IDENTITY | {"replication.policy.separator": "-"}, "identity", "."),
        (SOURCE | {"replication.policy.separator": "-"}, "default", "-"),
        (SOURCE | {"source.cluster.alias": "${env:ALIAS}"}, "default", "."),
        (SOURCE | {"replication.policy.class": "com.example.Policy"}, "identity", "."),
    ],
)
def test_a_connector_with_the_same_policy_is_fine(monkeypatch, config, name, separator):
    check(monkeypatch, config, ReplicationPolicy("src", "", name, separator))


@pytest.mark.parametrize(
    ("config", "name", "told"),
    [
        ({}, "default", "connector mirror is a "),
        (SOURCE | {"connector.class": f"{PACKAGE}.MirrorCheckpointConnector"}, "default", "is a org.*Checkpoint"),
        (SOURCE | {"source.cluster.alias": "primary"}, "default", "source.cluster.alias primary, .* says src"),
        ({"connector.class": "MirrorSource"}, "default", "source.cluster.alias source, .* says src"),
        (SOURCE, "identity", "DefaultReplicationPolicy, .* says .*Identity"),
        (SOURCE | IDENTITY, "default", "IdentityReplicationPolicy, .* says .*Default"),
        (SOURCE | {"replication.policy.separator": "-"}, "default", "separator -, .* says ."),
    ],
)
def test_a_connector_that_would_not_find_the_positions_is_refused(monkeypatch, config, name, told):
    with pytest.raises(InvalidInput, match=told):
        check(monkeypatch, config, ReplicationPolicy("src", "", name))


def test_a_worker_of_another_cluster_is_refused_unless_the_connector_copies_elsewhere(monkeypatch):
    """Its connector would go on after what was copied to the destination, and its own cluster lack these records."""
    policy = ReplicationPolicy("src", "", "default")
    for cluster_id in ("D", None):  # None: of brokers that have no id
        assert check(monkeypatch, SOURCE, policy, cluster_id) == ()
    with pytest.raises(
        Refused, match="belongs to the cluster X, and the destination is D: .* Correct rest, or"
    ) as refused:
        check(monkeypatch, SOURCE, policy, "X")
    assert refused.value.kind == "other_cluster"
    elsewhere = SOURCE | {"producer.override.bootstrap.servers": "d:1"}
    (note,) = check(monkeypatch, elsewhere, policy, "X")
    assert note.kind is NoteKind.NOT_COMPARED and "See that producer.override.bootstrap.servers of conn" in note.text


def test_only_offsets_of_the_same_source_are_read(monkeypatch):
    where = {"cluster": "src", "topic": "orders", "partition": 0}
    told = [
        (where, {"offset": 7}),
        ({**where, "partition": 1}, None),
        ({**where, "cluster": "primary"}, {"offset": 8}),
        ({**where, "extra": 1}, {"offset": 9}),
        ({"filename": "/x"}, {"position": 3}),
    ]
    monkeypatch.setattr(worker.connect_rest, "read_offsets", lambda _rest, _connector: told)
    store = RestStore(ConnectRest("http://127.0.0.1:1"), DESTINATION, "mirror", ReplicationPolicy("src", ""))
    assert store.read().offsets == {TopicPartition("orders", 0): 7}
