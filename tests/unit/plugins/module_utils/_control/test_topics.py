"""A topic that may not be seen is not one that does not exist."""

import types
import uuid

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import topics
from ansible_collections.streamshift.kafka.plugins.module_utils._control.reasons import ErrorCode
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import NotAuthorized

NOWHERE = connection_from({"bootstrap_servers": "127.0.0.1:1"}, "destination cluster")
ID = uuid.uuid4()
NO_ID = uuid.UUID(int=0)


@pytest.fixture
def ids(monkeypatch):
    def ids(codes):
        rows = [
            types.SimpleNamespace(name=name, topic_id=NO_ID if code else ID, error_code=code)
            for name, code in codes.items()
        ]
        monkeypatch.setattr(topics, "request_metadata", lambda _client, names: types.SimpleNamespace(topics=rows))
        monkeypatch.setattr(topics, "attempt", lambda _connection, operation: operation(None))
        return topics.topic_ids(NOWHERE, list(codes))

    return ids


def test_ids_of_the_topics_that_are_there(ids):
    assert ids({"gone": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "orders": 0}) == {"orders": str(ID)}


def test_every_topic_that_may_not_be_seen_is_named(ids):
    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    with pytest.raises(NotAuthorized, match="needs ACL TOPIC DESCRIBE on bills, orders"):
        ids({"orders": denied, "bills": denied, "seen": 0})


def test_a_topic_that_may_not_be_described_is_not_counted_as_a_missing_one(monkeypatch):
    described = {"gone": topics.TopicDescription(0, "UNKNOWN_TOPIC_OR_PARTITION"), "seen": topics.TopicDescription(2)}
    monkeypatch.setattr(topics, "describe_topics", lambda *_given: described)
    assert topics.partition_counts(NOWHERE, described) == {"seen": 2}
    described["orders"] = topics.TopicDescription(0, "TOPIC_AUTHORIZATION_FAILED")
    with pytest.raises(NotAuthorized, match="needs ACL TOPIC READ on orders"):
        topics.partition_counts(NOWHERE, described)
