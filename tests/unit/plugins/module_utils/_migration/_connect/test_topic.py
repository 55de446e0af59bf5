# SPDX-License-Identifier: GPL-3.0-or-later

"""The offsets topic of a worker that is stopped: whatever would keep a hand-over from writing it is told beforehand."""

from __future__ import annotations

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.configs import TopicConfigs
from ansible_collections.streamshift.kafka.plugins.module_utils._control.topic_changes import Refusal, Trial
from ansible_collections.streamshift.kafka.plugins.module_utils._migration import compacted
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._connect import topic
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import NotAuthorized, Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition

DENIED = Refusal("TOPIC_AUTHORIZATION_FAILED", "denied")


@pytest.mark.parametrize(
    ("counts", "missing", "refusals", "needed"),
    [
        ({"offsets": 25}, ["TOPIC WRITE on offsets"], {}, "TOPIC WRITE on offsets"),
        ({}, [], {"offsets": DENIED}, "TOPIC CREATE on offsets"),
        ({}, [], {}, None),
    ],
)
def test_what_is_not_allowed_is_told_before_anything_is_written(monkeypatch, counts, missing, refusals, needed):
    for name in ("check_stopped", "check_policy"):
        monkeypatch.setattr(topic, name, lambda *_given: None)
    monkeypatch.setattr(topic, "may_run", lambda *_given: ())
    monkeypatch.setattr(topic.topics, "partition_counts", lambda *_given: counts)
    monkeypatch.setattr(topic.storage, "broker_count", lambda _connection: topic.storage.BrokerCount(3, 1))
    monkeypatch.setattr(topic, "missing_topic_acls", lambda *_given: missing)
    monkeypatch.setattr(topic.topic_making.topic_changes, "try_creation", lambda *_given: Trial(refusals, {}, {}))
    store = topic.TopicStore(Connection("cloud", ("d:1",)), "offsets", "workers", "mirror", "src")
    if needed is None:
        assert store.check() == ()
        return
    with pytest.raises(NotAuthorized, match=f"needs ACL {needed}"):
        store.check()


def test_a_topic_that_the_user_has_named_and_that_is_not_there_yet_is_doubted(monkeypatch):
    """Its name may be misspelt, whatever topics of a dedicated MirrorMaker 2 there are."""
    monkeypatch.setattr(topic.topics, "partition_counts", lambda *_given: {})
    monkeypatch.setattr(topic.topics, "list_topics", lambda _connection: ["mm2-offsets.src.internal"])
    stored = topic.TopicStore(Connection("cloud", ("d:1",)), "connect-offsetz", "workers", "mirror", "src").read()
    (note,) = stored.notes
    assert stored.offsets == {} and note.kind == "offsets_topic_new"
    assert "connect-offsetz is not there yet: see that offsets_topic is offset.storage.topic" in note.text


def test_a_new_topic_that_takes_no_records_while_brokers_are_down_is_told_before_it_is_made(monkeypatch):
    monkeypatch.setattr(topic, "check_stopped", lambda *_given: None)
    monkeypatch.setattr(topic.topics, "partition_counts", lambda *_given: {})
    monkeypatch.setattr(topic.storage, "broker_count", lambda _connection: topic.storage.BrokerCount(3, 1))
    monkeypatch.setattr(topic, "missing_topic_acls", lambda *_given: [])
    trial = Trial({}, {"offsets": TopicConfigs({"min.insync.replicas": "2"}, {})}, {})
    monkeypatch.setattr(topic.topic_making.topic_changes, "try_creation", lambda *_given: trial)
    with pytest.raises(Refused, match="would be 2, and 1 of its 3 replicas on brokers that are up; start the brokers"):
        topic.TopicStore(Connection("cloud", ("d:1",)), "offsets", "workers", "mirror", "src").check()


@pytest.mark.parametrize(
    ("missing", "refusals", "error", "why"),
    [
        (
            ["TOPIC DELETE on offsets"],
            {"offsets": DENIED},
            NotAuthorized,
            "DELETE on offsets; TOPIC ALTER_CONFIGS on off",
        ),
        ([], {"offsets": Refusal("POLICY_VIOLATION", "only compact")}, Refused, "changed for a moment: only compact"),
        ([], {}, Refused, "offsets, partition 3: a transaction is open from offset 4 on"),
    ],
)
def test_what_keeps_keys_from_being_removed_is_told_beforehand(monkeypatch, missing, refusals, error, why):
    monkeypatch.setattr(topic, "missing_topic_acls", lambda *_given: missing)
    monkeypatch.setattr(topic.topic_changes, "try_settings", lambda _connection, _wanted: refusals)
    bounds = compacted.Bounds(0, 4, 9)
    monkeypatch.setattr(compacted.positions, "partition_bounds", lambda _at, places: dict.fromkeys(places, bounds))
    store = topic.TopicStore(Connection("cloud", ("d:1",)), "offsets", "workers", "mirror", "src")
    with pytest.raises(error, match=why):
        store.check_removal([(TopicPartition("offsets", 3), b"key")])
