"""Which topics a call has made is what brokers have confirmed, whatever breaks in between."""

import types
import uuid
from unittest import mock

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import topic_changes
from ansible_collections.streamshift.kafka.plugins.module_utils._control.positions import Unserved
from ansible_collections.streamshift.kafka.plugins.module_utils._control.reasons import ErrorCode
from ansible_collections.streamshift.kafka.plugins.module_utils._control.topic_changes import Creation
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import BrokerError, ConnectionFailed
from ansible_collections.streamshift.kafka.plugins.module_utils._model.new_topics import NewTopic
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition

NOWHERE = connection_from({"bootstrap_servers": "127.0.0.1:1"}, "destination cluster")
ID = "11111111-2222-3333-4444-555555555555"
NEW = NewTopic(1, 1, {})


def row(name, code=0):
    return types.SimpleNamespace(name=name, error_code=code, error_message=None, topic_id=uuid.UUID(ID))


@pytest.fixture
def answers(monkeypatch):
    """What brokers answer, a list for each try; an exception in it breaks the connection."""
    tries, asked = [], []

    def rows(_client, _connection, topics, _validate_only):
        asked.append(sorted(topics))
        for each in tries.pop(0):
            if isinstance(each, Exception):
                raise each
            yield each.name, each

    def attempt(_connection, operation):
        while True:
            try:
                return operation(None)
            except ConnectionFailed:
                continue

    monkeypatch.setattr(topic_changes, "_creation_rows", rows)
    monkeypatch.setattr(topic_changes, "attempt", attempt)
    monkeypatch.setattr(topic_changes, "await_leaders", lambda *_args: None)

    def create(*given):
        tries.extend(given)
        noted = []
        topics = dict.fromkeys(("a", "b"), NEW)
        return lambda: topic_changes.create_topics(NOWHERE, topics, noted.append), noted, asked

    return create


def test_one_that_was_there_is_found(answers):
    create, noted, _asked = answers([row("a"), row("b", ErrorCode.TOPIC_ALREADY_EXISTS)])
    assert create() == Creation({"a": ID}, frozenset({"b"})) == noted[0]


def test_what_was_confirmed_is_not_asked_again_and_what_was_not_is_nobody_s(answers):
    """The connection breaks after the first answer: the second topic may have been made by this call."""
    create, noted, asked = answers(
        [row("a"), ConnectionFailed("the connection was lost")], [row("b", ErrorCode.TOPIC_ALREADY_EXISTS)]
    )
    assert create() == Creation({"a": ID}, frozenset()) and asked == [["a", "b"], ["b"]] and len(noted) == 1


def test_what_was_made_is_noted_though_another_topic_is_refused(answers):
    create, noted, _asked = answers([row("a"), row("b", ErrorCode.POLICY_VIOLATION)])
    with pytest.raises(BrokerError, match="topic b: the topic cannot be created: POLICY_VIOLATION"):
        create()
    assert noted == [Creation({"a": ID}, frozenset())]


def test_what_was_made_is_noted_though_it_gets_no_leader(answers, monkeypatch):
    create, noted, _asked = answers([row("a"), row("b")])
    monkeypatch.setattr(topic_changes, "await_leaders", mock.Mock(side_effect=BrokerError("it has no leader")))
    with pytest.raises(BrokerError, match="it has no leader"):
        create()
    assert noted == [Creation({"a": ID, "b": ID}, frozenset())]


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

    monkeypatch.setattr(topic_changes, "attempt", lambda _connection, operation: operation(None))
    monkeypatch.setattr(topic_changes, "broker_ids", lambda _client: [1, 2])
    monkeypatch.setattr(topic_changes, "request_metadata", metadata)
    monkeypatch.setattr(topic_changes.time, "sleep", lambda _seconds: None)
    monkeypatch.setattr(topic_changes, "unserved", lambda *_args: [])
    return hears


def test_every_broker_has_heard_of_what_was_added(hearing_brokers):
    topic_changes.await_leaders(NOWHERE, {"orders": 3})
    assert hearing_brokers == [[0, 1, 2]]


def test_a_broker_that_never_hears_of_it_is_told(hearing_brokers, monkeypatch):
    monkeypatch.setattr(topic_changes, "LEADER_SECONDS", -1.0)
    with pytest.raises(BrokerError, match="topic orders, partition 1: it has no leader"):
        topic_changes.await_leaders(NOWHERE, {"orders": 3})


@pytest.fixture
def serving(hearing_brokers, monkeypatch):
    """Brokers that know all leaders, and what these do not serve, look by look; the last look lasts. A look takes a second."""
    del hearing_brokers[:-1]
    looks, clock = [], [0.0]

    def unserved(*_args):
        clock[0] += 1
        numbers = looks.pop(0) if len(looks) > 1 else looks[0]
        return [Unserved(TopicPartition("orders", number), 7, "KAFKA_STORAGE_ERROR") for number in numbers]

    monkeypatch.setattr(topic_changes, "unserved", unserved)
    monkeypatch.setattr(topic_changes, "LEADER_SECONDS", 1.5)
    monkeypatch.setattr(
        topic_changes, "time", types.SimpleNamespace(monotonic=lambda: clock[0], sleep=lambda _seconds: None)
    )
    return looks


def test_a_leader_that_does_not_serve_its_partition_is_told(serving):
    serving.extend([[1, 2], [2]])
    why = "topic orders, partition 2: its leader, broker 7, does not serve it after 1.5 s: KAFKA_STORAGE_ERROR. Look at"
    with pytest.raises(BrokerError, match=why):
        topic_changes.await_leaders(NOWHERE, {"orders": 3})


def test_partitions_that_come_one_after_the_other_have_time(serving):
    serving.extend([[0, 1, 2], [0, 1, 2], [1, 2], [1, 2], [2], [2], []])
    topic_changes.await_leaders(NOWHERE, {"orders": 3})
    assert serving == [[]]


def test_brokers_that_end_when_topics_are_made_are_told_with_the_topics(monkeypatch):
    gone = ConnectionFailed("cannot connect", cluster="x", why="connection refused", remedy="any")
    monkeypatch.setattr(topic_changes, "attempt", mock.Mock(side_effect=gone))
    why = (
        "topic a: its partitions were created, and those of 1 more topic, but the brokers do not answer any more: "
        "connection refused. Look at the brokers' own logs: a broker whose disk is full"
    )
    with pytest.raises(ConnectionFailed, match=f"^destination cluster 127.0.0.1:1, {why}"):
        topic_changes.await_leaders(NOWHERE, {"b": 1, "a": 1})
