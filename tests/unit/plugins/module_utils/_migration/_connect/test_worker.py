"""A connector asked by REST is checked before anything is stored for it: Connect itself would take everything."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.connect_rest import ConnectRest
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._connect import worker
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._connect.worker import RestStore
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidInput
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.replication_policy import ReplicationPolicy

PACKAGE = "org.apache.kafka.connect.mirror"
IDENTITY = {"replication.policy.class": f"{PACKAGE}.IdentityReplicationPolicy"}
SOURCE = {"connector.class": f"{PACKAGE}.MirrorSourceConnector", "source.cluster.alias": "src"}


def check(monkeypatch, config, policy):
    monkeypatch.setattr(worker.connect_rest, "check_worker", lambda _rest: None)
    monkeypatch.setattr(worker.connect_rest, "wait_until_stopped", lambda _rest, _connector: None)
    monkeypatch.setattr(worker.connect_rest, "read_config", lambda _rest, _connector: config)
    RestStore(ConnectRest("http://127.0.0.1:1"), "mirror", policy).check()


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
    store = RestStore(ConnectRest("http://127.0.0.1:1"), "mirror", ReplicationPolicy("src", ""))
    assert store.read().offsets == {TopicPartition("orders", 0): 7}
