"""A topic is deleted by its id, so that one that was made anew under its name meanwhile is not."""

import types
import uuid

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import attempts, deletion
from ansible_collections.streamshift.kafka.plugins.module_utils._control.reasons import ErrorCode
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import NotAuthorized

NOWHERE = connection_from({"bootstrap_servers": "127.0.0.1:1"}, "destination cluster")
FIRST, SECOND = uuid.uuid4(), uuid.uuid4()


@pytest.fixture
def delete(monkeypatch):
    def delete(code, shown):
        sent = []

        def exchange(_client, requests):
            sent.extend(requests)
            row = types.SimpleNamespace(name=None, topic_id=FIRST, error_code=code)
            return [types.SimpleNamespace(responses=[row])]

        def metadata(_client, names, node=None):
            rows = [types.SimpleNamespace(name=name, topic_id=shown, error_code=0) for name in names]
            return types.SimpleNamespace(controller_id=1, topics=rows)

        for its_module in (deletion, attempts):
            monkeypatch.setattr(its_module, "attempt", lambda _connection, operation: operation(None))
        monkeypatch.setattr(deletion, "broker_ids", lambda _client: [1])
        monkeypatch.setattr(deletion, "request_metadata", metadata)
        monkeypatch.setattr(deletion, "exchange", exchange)
        deletion.delete_topics(NOWHERE, {"orders": str(FIRST)})
        return sent

    return delete


@pytest.mark.parametrize("code", [0, ErrorCode.UNKNOWN_TOPIC_ID])
def test_another_topic_of_the_name_stays_and_is_not_waited_for(delete, code):
    (request,) = delete(code, SECOND)
    assert request.fields["topics"] == [{"name": None, "topic_id": FIRST}]


def test_a_refusal_names_the_topic(delete):
    with pytest.raises(NotAuthorized, match="needs ACL TOPIC DELETE on orders"):
        delete(ErrorCode.TOPIC_AUTHORIZATION_FAILED, FIRST)
