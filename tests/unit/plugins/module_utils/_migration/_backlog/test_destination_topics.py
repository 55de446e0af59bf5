# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Topics are made so that records can be written; what somebody else has made meanwhile is not taken for the copy's."""

from __future__ import annotations

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.configs import TopicConfigs
from ansible_collections.streamshift.kafka.plugins.module_utils._control.storage import TopicLayout
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog import destination_topics
from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import BacklogTopic, Created, Suspended
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import Refused

NOWHERE = connection_from({"bootstrap_servers": "127.0.0.1:1"}, "destination cluster")
LIMIT = "message.timestamp.before.max.ms"
PLANNED = BacklogTopic(
    "orders",
    "orders",
    Created(2, 1, {"retention.ms": "-1", "segment.ms": "1000"}),
    {"retention.ms": Suspended("600000", "-1"), LIMIT: Suspended(None, "9")},
)
OURS = {"retention.ms": "-1", "segment.ms": "1000"}


@pytest.fixture
def prepare(monkeypatch):
    """Prepare a topic that was planned to be made, and that is there; or is there by the time that it is made."""

    def prepare(own, partitions=2, topic_id="its", made=False):
        effective = {LIMIT: "5", "max.message.bytes": "1000"} | own
        patch = monkeypatch.setattr
        counts = [{} if made else {"orders": partitions}]
        patch(
            destination_topics.topics,
            "partition_counts",
            lambda *_args: counts.pop(0) if counts else {"orders": partitions},
        )
        patch(destination_topics.topics, "topic_ids", lambda _connection, names: dict.fromkeys(names, topic_id))
        patch(destination_topics, "create_topics", lambda _connection, wanted: {"orders": None} if made else {})
        for module in (destination_topics, destination_topics.identity):
            patch(module, "topic_configs", lambda *_args: {"orders": TopicConfigs(effective, own)})
        patch(destination_topics, "alter_topic_configs", lambda *_args: None)
        return destination_topics.prepare(NOWHERE, [PLANNED], lambda _noted: None)

    return prepare


@pytest.mark.parametrize("own, partitions", [({"retention.ms": "777"}, 2), ({}, 2), (OURS, 3), (OURS | {"x": "y"}, 2)])
def test_a_topic_of_somebody_else_is_refused(prepare, own, partitions):
    with pytest.raises(Refused, match="topic orders.*somebody else has created the topic"):
        prepare(own, partitions)


@pytest.mark.parametrize("own", [OURS, OURS | {LIMIT: "9"}])
def test_a_run_that_was_killed_after_it_had_made_the_topic_goes_on(prepare, own):
    assert prepare(own).topics[0].suspended["retention.ms"] == Suspended("600000", "-1")


def test_where_brokers_give_no_ids_nobody_can_know(prepare):
    assert prepare({"retention.ms": "777"}, topic_id=None).topics[0].suspended["retention.ms"].before == "777"


def test_what_this_run_has_made_is_its_own(prepare):
    assert prepare(OURS, made=True).made == {"orders"}


@pytest.mark.parametrize(
    "replicas, default, own, wanted",
    [(1, "2", {}, {"min.insync.replicas": "1"}), (3, "2", {}, {}), (3, "2", {"min.insync.replicas": "3"}, None)],
)
def test_a_topic_that_is_made_wants_no_more_replicas_in_sync_than_it_has(monkeypatch, replicas, default, own, wanted):
    effective = {"min.insync.replicas": default} | own
    for name, answer in (
        ("topic_configs", {"orders": TopicConfigs(own, own)}),
        ("_check_replicas", None),
        ("create_topics", {"orders": TopicConfigs(effective, own)}),
    ):
        monkeypatch.setattr(destination_topics, name, lambda *_args, _answer=answer, **_named: _answer)
    counts = [{"orders": 2}, {}]
    monkeypatch.setattr(destination_topics.topics, "partition_counts", lambda *_args: counts.pop(0))
    monkeypatch.setattr(destination_topics.storage, "broker_count", lambda *_args: 3)
    layouts = {"orders": TopicLayout(2, replicas)}
    monkeypatch.setattr(destination_topics.storage, "topic_layouts", lambda *_args: layouts)
    pair = destination_topics.TopicPair("orders", "orders", copies=False)
    (topic,) = destination_topics.plan_topics(NOWHERE, NOWHERE, [pair])
    assert topic.created == Created(2, replicas, own if wanted is None else wanted)


def test_settings_that_belong_to_the_source_s_brokers_do_not_follow(monkeypatch):
    own = {
        "leader.replication.throttled.replicas": "0:1",
        "message.timestamp.difference.max.ms": "5",
        "message.format.version": "2.8-IV1",
        "remote.storage.enable": "true",
        "segment.ms": "7",
        "unclean.leader.election.enable": "true",
    }
    made = destination_topics.TopicPair("orders", "orders", copies=False)
    topic = destination_topics._missing(made, 2, 1, own)
    assert topic.created.configs == {"segment.ms": "7", "unclean.leader.election.enable": "true"}
