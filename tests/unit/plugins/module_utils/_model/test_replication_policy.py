"""Names are those that a real MirrorMaker 2 has given."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.mapping import Mapping, prefixes_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.replication_policy import (
    InternalTopic,
    ReplicationPolicy,
)
from tests.support.mirror_records import runs

RUNS = runs()


def policy_of(run: str) -> ReplicationPolicy:
    its = RUNS[run]
    settings = dict(line.split(" = ") for line in its["extra"].splitlines())
    return ReplicationPolicy(
        its["source"],
        its["target"],
        "identity" if "Identity" in settings.get("replication.policy.class", "") else "default",
        settings.get("replication.policy.separator", "."),
        settings.get("replication.policy.internal.topic.separator.enabled") != "false",
        settings.get("offset-syncs.topic.location", "source"),  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("run", RUNS)
def test_internal_topics_are_called_as_they_were(run):
    policy = policy_of(run)
    found = {(row["kind"], row["cluster"], row["topic"]) for row in RUNS[run]["records"]}
    assert ("checkpoint", *policy.checkpoints) in found
    assert ("offset-sync", *policy.offset_syncs) in found
    assert ("connect-offset", *policy.connect_offsets) in found


@pytest.mark.parametrize("run", RUNS)
def test_topics_are_called_as_they_were_and_known_again(run):
    policy, its = policy_of(run), RUNS[run]
    copied = {"orders", "foo", "with-dash.x"} & set(its["topics_source"])
    assert copied
    for topic in (*copied, "heartbeats"):
        assert policy.topic(topic) in its["topics_target"]
        assert policy.source_topic(policy.topic(topic)) == topic


@pytest.mark.parametrize("topic", ["device_heartbeats", "iot.heartbeats", "heartbeats"])
def test_a_topic_that_looks_like_heartbeats_gets_a_prefix_with_identity_too(topic):
    """IdentityReplicationPolicy.looksLikeHeartbeat() asks how the name ends, and MirrorMaker 2 went on in another topic."""
    policy = ReplicationPolicy("onprem", "cloud", "identity")
    assert policy.topic(topic) == f"onprem.{topic}" == Mapping(prefixes=prefixes_from(policy._asdict())).topic(topic)
    assert policy.source_topic(f"onprem.{topic}") == topic
    assert policy.source_topic(topic) is None
    assert policy.topic("heartbeats_of_devices") == "heartbeats_of_devices"


def test_a_topic_of_another_flow_is_not_ours():
    policy = ReplicationPolicy("onprem", "cloud")
    assert policy.source_topic("elsewhere.orders") is None
    assert policy.source_topic("onprem.") is None
    assert ReplicationPolicy("onprem", "cloud", "identity").source_topic("orders") == "orders"
    assert policy.checkpoints == InternalTopic("target", "onprem.checkpoints.internal")


@pytest.mark.parametrize("name", ["identity", "default"])
def test_a_separator_is_in_the_names_of_internal_topics_with_each_policy(name):
    """Kafka's IdentityReplicationPolicy extends the DefaultReplicationPolicy, and leaves these names as they are there."""
    policy = ReplicationPolicy("onprem", "cloud", name, "")
    assert policy.checkpoints.name == "onpremcheckpointsinternal"
    assert policy.offset_syncs.name == "mm2-offset-syncscloudinternal"
    assert policy.topic("heartbeats") == "onpremheartbeats" and policy.source_topic("onpremheartbeats") == "heartbeats"
    assert policy._replace(internal_topic_separator_enabled=False).checkpoints.name == "onprem.checkpoints.internal"


@pytest.mark.parametrize("topic", ["cloud.orders", "x.cloud.orders", "cloud.heartbeats"])
def test_copies_of_the_targets_own_topics_are_never_copied_back(topic):
    """MirrorSourceConnector.isCycle(): identity knows no origin but that of heartbeats."""
    assert ReplicationPolicy("onprem", "cloud").never_copies(topic)
    assert ReplicationPolicy("onprem", "cloud", "identity").never_copies(topic) is topic.endswith("heartbeats")
    assert not ReplicationPolicy("onprem", "").never_copies(topic)


def test_internal_topics_are_known_by_their_names():
    policy = ReplicationPolicy("onprem", "cloud", separator="_")
    assert all(map(policy.never_copies, ("__audit", ".x", "mm2-offset-syncs_b_internal", "b_checkpoints_internal")))
    assert not any(map(policy.never_copies, ("orders", "internal", "cloud.orders", "bill_internal")))
    assert policy.may_not_copy("bill_internal") and not policy.may_not_copy("internal")
