# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Topics grow by as many partitions as the brokers take at once, because a controller refuses more than 10,000.

Brokers hear of them one after the other.
"""

from __future__ import annotations

import types

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import creation, topic_changes
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import BrokerError

CONNECTION = connection_from({"bootstrap_servers": "127.0.0.1:1"})
COUNTS = {f"orders-{number}": 3001 for number in range(4)}


@pytest.fixture
def controller(monkeypatch):
    """A KRaft controller with topics of one partition each. What is grown beyond its limit it refuses without a word."""
    partitions = dict.fromkeys(COUNTS, 1)

    def exchange(_client, requests):
        return [types.SimpleNamespace(results=_answer(request, partitions)) for request, _node in requests]

    def metadata(_client, names):
        rows = [types.SimpleNamespace(name=name, partitions=[None] * partitions[name]) for name in names]
        return types.SimpleNamespace(controller_id=1, topics=rows)

    monkeypatch.setattr(topic_changes, "attempt", lambda _connection, operation: operation(None))
    monkeypatch.setattr(topic_changes, "exchange", exchange)
    monkeypatch.setattr(topic_changes, "request_metadata", metadata)
    monkeypatch.setattr(topic_changes, "await_leaders", lambda *_arguments: None)
    return partitions


@pytest.fixture
def hearing_brokers(monkeypatch):
    """Two brokers of a topic that has grown from one partition to three; the second one hears of it bit by bit."""
    hears = [[0], [0], [0], [0, 1], [0, 1, None], [0, 1, 2]]

    def metadata(_client, names, node):
        leaders = [0, 1, 2] if node == 1 or len(hears) == 1 else hears.pop(0)
        rows = [
            types.SimpleNamespace(partition_index=at, leader_id=-1 if leader is None else 1)
            for at, leader in enumerate(leaders)
        ]
        return types.SimpleNamespace(
            topics=[types.SimpleNamespace(name=name, error_code=0, partitions=rows) for name in names]
        )

    monkeypatch.setattr(creation, "attempt", lambda _connection, operation: operation(None))
    monkeypatch.setattr(creation, "broker_ids", lambda _client: [1, 2])
    monkeypatch.setattr(creation, "request_metadata", metadata)
    monkeypatch.setattr(creation.time, "sleep", lambda _seconds: None)
    return hears


def _answer(request, partitions):
    left, rows = 10_000, []
    for each in request.topics:
        left -= each.count - partitions[each.name]
        rows.append(types.SimpleNamespace(name=each.name, error_code=0 if left >= 0 else -1, error_message=None))
        if left >= 0 and not request.validate_only:
            partitions[each.name] = each.count
    return rows


def test_more_partitions_than_a_controller_takes_at_once_are_tried(controller):
    assert topic_changes.try_partitions(CONNECTION, COUNTS) == {}
    assert controller == dict.fromkeys(COUNTS, 1)


def test_more_partitions_than_a_controller_takes_at_once_are_added(controller):
    topic_changes.add_partitions(CONNECTION, COUNTS)
    assert controller == COUNTS


def test_every_broker_has_heard_of_what_was_added(hearing_brokers):
    creation.await_leaders(CONNECTION, {"orders": 3})
    assert hearing_brokers == [[0, 1, 2]]


def test_a_broker_that_never_hears_of_it_is_told(hearing_brokers, monkeypatch):
    monkeypatch.setattr(creation, "LEADER_SECONDS", -1.0)
    with pytest.raises(BrokerError, match="topic orders, partition 1: it has no leader"):
        creation.await_leaders(CONNECTION, {"orders": 3})
