"""Topics grow by as many partitions as the brokers take at once, because a controller refuses more than 10,000.

Brokers hear of them one after the other.
"""

import types

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import topic_changes
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import BrokerError

INVALID_PARTITIONS = 37
CONNECTION = connection_from({"bootstrap_servers": "127.0.0.1:1"})
COUNTS = {f"orders-{number}": 3001 for number in range(4)}


@pytest.fixture
def controller(monkeypatch):
    """A KRaft controller with topics of one partition each. What is grown beyond its limit it refuses without a word."""
    partitions = dict.fromkeys(COUNTS, 1)

    def exchange(_client, requests):
        return [types.SimpleNamespace(results=_answer(request.fields, partitions)) for request in requests]

    def metadata(_client, names):
        rows = [types.SimpleNamespace(name=name, partitions=[None] * partitions[name]) for name in names]
        return types.SimpleNamespace(controller_id=1, topics=rows)

    monkeypatch.setattr(topic_changes, "attempt", lambda _connection, operation: operation(None))
    monkeypatch.setattr(topic_changes, "exchange", exchange)
    monkeypatch.setattr(topic_changes, "request_metadata", metadata)
    monkeypatch.setattr(topic_changes, "await_leaders", lambda *_arguments: None)
    monkeypatch.setattr(
        topic_changes,
        "describe_topics",
        lambda _connection, names: {name: types.SimpleNamespace(partitions=partitions[name]) for name in names},
    )
    return partitions


def _answer(fields, partitions):
    left, rows = 10_000, []
    for each in fields["topics"]:
        left -= each["count"] - partitions[each["name"]]
        rows.append(types.SimpleNamespace(name=each["name"], error_code=0 if left >= 0 else -1, error_message=None))
        if left >= 0 and not fields["validate_only"]:
            partitions[each["name"]] = each["count"]
    return rows


def test_more_partitions_than_a_controller_takes_at_once_are_tried_and_added(controller):
    assert topic_changes.try_partitions(CONNECTION, COUNTS) == {}
    assert controller == dict.fromkeys(COUNTS, 1)
    topic_changes.add_partitions(CONNECTION, COUNTS)
    assert controller == COUNTS


def test_partitions_that_were_added_though_the_answer_was_lost_are_no_failure(controller, monkeypatch):
    """The broker that is asked how many there are may not know it yet, and the next try is refused."""
    told = dict.fromkeys(COUNTS, 1)
    name = next(iter(COUNTS))

    def refuse(_client, _requests):
        controller.update(COUNTS)
        row = types.SimpleNamespace(name=name, error_code=INVALID_PARTITIONS, error_message="has 3001 already")
        return [types.SimpleNamespace(results=[row])]

    def metadata(_client, names):
        rows = [types.SimpleNamespace(name=each, partitions=[None] * told[each]) for each in names]
        return types.SimpleNamespace(controller_id=1, topics=rows)

    monkeypatch.setattr(topic_changes, "exchange", refuse)
    monkeypatch.setattr(topic_changes, "request_metadata", metadata)
    topic_changes.add_partitions(CONNECTION, {name: COUNTS[name]})
    with pytest.raises(BrokerError, match="has 3001 already"):
        topic_changes.add_partitions(CONNECTION, {name: COUNTS[name] + 1})
