"""What brokers would refuse is named all together, before anything is written."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.configs import TopicConfigs
from ansible_collections.streamshift.kafka.plugins.module_utils._control.topic_changes import Refusal, Trial
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._promotion import trial
from ansible_collections.streamshift.kafka.plugins.module_utils._model.acls import Acl
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import BrokerError, NotAuthorized, Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.topic_plan import (
    AclChange,
    SettingChange,
    TopicChange,
    TopicPlan,
)

DESTINATION = Connection("destination", ("d:1",))
DENIED = Refusal("TOPIC_AUTHORIZATION_FAILED", "denied")
PLAN = TopicPlan(
    "s",
    "d",
    (
        TopicChange("new", "new", None, 2, 1, {"retention.ms": SettingChange(None, "5", "source")}),
        TopicChange("small", "small", 1, 2),
        TopicChange(
            "there",
            "there",
            1,
            1,
            None,
            {name: SettingChange(None, "5", "source") for name in ("retention.ms", "segment.ms")},
        ),
    ),
    (AclChange(Acl("TOPIC", "new", "LITERAL", "User:a", "*", "READ", "ALLOW"), "add"),),
)


@pytest.fixture
def brokers(monkeypatch):
    """What brokers say: a dictionary of refusals by kind of change, and of settings that are refused."""
    said = {"create": {}, "configs": {}, "replicas": {}, "grow": {}, "set": {}, "settings": {}, "cluster": [], "up": 3}

    def try_settings(_connection, changes):
        refused = {
            topic: Refusal("INVALID_CONFIG", "one of them is wrong" if len(its) > 1 else f"{name} is wrong")
            for topic, its in changes.items()
            for name in its
            if name in said["settings"]
        }
        return said["set"] | refused

    monkeypatch.setattr(
        trial.topic_making.topic_changes,
        "try_creation",
        lambda *_args: Trial(said["create"], said["configs"], said["replicas"]),
    )
    monkeypatch.setattr(trial.topic_changes, "try_partitions", lambda *_args: said["grow"])
    monkeypatch.setattr(trial.topic_changes, "try_settings", try_settings)
    monkeypatch.setattr(trial.storage, "broker_count", lambda *_args: trial.storage.BrokerCount(3, said["up"]))
    monkeypatch.setattr(trial, "missing_cluster_acls", lambda *_args: said["cluster"])
    monkeypatch.setattr(trial, "not_offered", lambda _connection, *needs: [each.value for each in needs])
    return said


def test_brokers_that_know_no_prefixed_acls_are_asked_for_none(brokers):
    prefixed = Acl("TOPIC", "new", "PREFIXED", "User:a", "*", "READ", "ALLOW")
    with pytest.raises(BrokerError, match="cannot create prefixed ACLs: .* since 2.0. Promote topics without ACLs"):
        trial.check(DESTINATION, TopicPlan("s", "d", (), (AclChange(prefixed, "add"),)))
    trial.check(DESTINATION, TopicPlan("s", "d", (), (AclChange(prefixed, "extra"),)))


def test_every_missing_acl_is_named(brokers):
    brokers |= {"create": {"new": DENIED}, "grow": {"small": DENIED}, "set": {"there": DENIED}}
    brokers["cluster"] = ["CLUSTER ALTER on kafka-cluster"]
    needed = "needs ACL TOPIC CREATE on new; TOPIC ALTER on small; TOPIC ALTER_CONFIGS on there; CLUSTER ALTER on kafka-cluster"
    with pytest.raises(NotAuthorized, match=needed):
        trial.check(DESTINATION, PLAN)


def test_every_topic_that_would_be_refused_is_named_with_the_broker_s_words(brokers):
    brokers["create"] = {"new": Refusal("POLICY_VIOLATION", "too few replicas")}
    brokers["grow"] = {"small": Refusal("INVALID_PARTITIONS", "too many partitions")}
    with pytest.raises(Refused) as refused:
        trial.check(DESTINATION, PLAN)
    assert "new: it cannot be created: too few replicas" in str(refused.value)
    assert "small: partitions cannot be added: too many partitions" in str(refused.value)
    assert "or change replication_factor, or create the topic yourself" in str(refused.value)


def test_the_replication_factor_is_the_way_on_only_where_a_topic_cannot_be_created(brokers):
    brokers["grow"] = {"small": Refusal("INVALID_PARTITIONS", "too many partitions")}
    with pytest.raises(Refused, match=r"Correct overrides, (?!.*replication_factor)"):
        trial.check(DESTINATION, PLAN)


@pytest.mark.parametrize(("in_sync", "replicas"), [("2", 1), ("3", 2)])
def test_a_new_topic_that_nothing_could_be_written_to_is_refused(brokers, in_sync, replicas):
    brokers |= {"configs": {"new": TopicConfigs({"min.insync.replicas": in_sync}, {})}, "replicas": {"new": replicas}}
    with pytest.raises(Refused, match=rf"topic new: min\.insync\.replicas would be {in_sync}, and the topic has"):
        trial.check(DESTINATION, PLAN)
    brokers["replicas"] = {"new": int(in_sync)}
    trial.check(DESTINATION, PLAN)
    brokers["up"] = replicas
    why = f"has {in_sync} replicas, {replicas} of them on brokers that are up: .* Start the brokers that are down"
    with pytest.raises(Refused, match=why):
        trial.check(DESTINATION, PLAN)


def test_a_setting_that_would_be_refused_is_named(brokers):
    brokers["settings"] = ["segment.ms"]
    with pytest.raises(Refused, match=r"there: its settings cannot be changed: segment\.ms: segment\.ms is wrong"):
        trial.check(DESTINATION, PLAN)
