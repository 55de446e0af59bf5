"""The order of changes to ACLs: a run that is killed halfway allows nobody what somebody has denied."""

import types

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import acl_requests
from ansible_collections.streamshift.kafka.plugins.module_utils._model.acls import Acl
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import BrokerError, NotAuthorized

CONNECTION = Connection("destination", ("127.0.0.1:1",))
BILLING = Acl("TOPIC", "orders", "LITERAL", "User:billing", "*", "READ", "ALLOW")
ACLS = {
    Acl("TOPIC", name, "LITERAL", "User:billing", "*", "READ", permission)
    for name in ("orders", "payments")
    for permission in ("ALLOW", "DENY")
}


@pytest.fixture
def sent(monkeypatch):
    """The rows of each exchange."""
    calls = []

    def exchange(_client, requests):
        (request,) = requests
        (rows,) = request.fields.values()
        calls.append(rows)
        done = [types.SimpleNamespace(error_code=0, matching_acls=[])] * len(rows)
        return [types.SimpleNamespace(results=done, filter_results=done)]

    monkeypatch.setattr(acl_requests, "exchange", exchange)
    monkeypatch.setattr(acl_requests, "attempt", lambda _connection, operation: operation(None))
    monkeypatch.setattr(acl_requests, "attempt_until", lambda *_given: True)
    return calls


def test_nothing_is_allowed_before_what_denies_is_created(sent):
    acl_requests.create_acls(CONNECTION, ACLS)
    assert [[(row["resource_name"], row["permission_type"]) for row in rows] for rows in sent] == [
        [("orders", 2), ("payments", 2)], [("orders", 3), ("payments", 3)]
    ]  # fmt: skip


def test_what_denies_is_deleted_last(sent):
    acl_requests.delete_acls(CONNECTION, ACLS)
    acl_requests.delete_acls(CONNECTION, [BILLING])  # nothing is sent of what denies
    assert [[row["permission_type"] for row in rows] for rows in sent] == [[3, 3], [2, 2], [3]]


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (0, "brokers do not show after 10 s that ACLs were deleted: ALLOW READ on"),
        (-1, "cannot be deleted.*the store does not answer"),
        (31, "CLUSTER ALTER"),
    ],
)
def test_an_acl_that_a_broker_finds_and_does_not_delete_is_an_error(sent, monkeypatch, code, told):
    part = types.SimpleNamespace(error_code=code, error_message="the store does not answer")
    row = types.SimpleNamespace(error_code=0, error_message=None, matching_acls=[part])
    answer = types.SimpleNamespace(filter_results=[row])
    monkeypatch.setattr(acl_requests, "exchange", lambda _client, _requests: [answer])
    monkeypatch.setattr(acl_requests, "attempt_until", lambda *_given: False)
    with pytest.raises(NotAuthorized if code == 31 else BrokerError, match=told):
        acl_requests.delete_acls(CONNECTION, [BILLING])


def test_a_broker_that_shows_the_acls_is_not_asked_again_while_another_one_lags(sent, monkeypatch):
    """Of ten thousand ACLs, each list takes seconds, and what is created has to show within ten."""
    asked = []

    def listed(_client, _connection, node):
        asked.append(node)
        return frozenset([BILLING] if node == 1 or asked.count(node) > 2 else [])

    def attempt_until(_connection, holds, _seconds):
        return any(holds(None) for _try in range(3))

    monkeypatch.setattr(acl_requests, "_listed", listed)
    monkeypatch.setattr(acl_requests, "broker_ids", lambda _client: [1, 2])
    monkeypatch.setattr(acl_requests, "attempt_until", attempt_until)
    acl_requests.create_acls(CONNECTION, [BILLING])
    assert sorted(asked) == [1, 2, 2, 2]
