"""The order of changes to ACLs: a run that is killed halfway allows nobody what somebody has denied."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import acl_requests
from ansible_collections.streamshift.kafka.plugins.module_utils._model.acls import Acl
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection

CONNECTION = Connection("destination", ("127.0.0.1:1",))
ACLS = {
    Acl("TOPIC", name, "LITERAL", "User:billing", "*", "READ", permission)
    for name in ("orders", "payments")
    for permission in ("ALLOW", "DENY")
}


@pytest.fixture
def sent(monkeypatch):
    """The ACLs and the requests of the last change."""
    calls = []
    monkeypatch.setattr(acl_requests, "_change", lambda _at, acls, requests, *_more: calls.append((acls, requests)))
    return calls


def test_what_denies_is_created_first(sent):
    acl_requests.create_acls(CONNECTION, ACLS)
    ((acls, requests),) = sent
    assert [acl.permission for acl in acls] == ["DENY", "DENY", "ALLOW", "ALLOW"]
    rows = [row for request in requests for row in request.fields["creations"]]
    assert [(row["resource_name"], row["permission_type"]) for row in rows] == [
        ("orders", 2), ("payments", 2), ("orders", 3), ("payments", 3)
    ]  # fmt: skip


def test_what_denies_is_deleted_last(sent):
    acl_requests.delete_acls(CONNECTION, ACLS)
    ((acls, requests),) = sent
    assert [acl.permission for acl in acls] == ["ALLOW", "ALLOW", "DENY", "DENY"]
    rows = [row for request in requests for row in request.fields["filters"]]
    assert [row["permission_type"] for row in rows] == [3, 3, 2, 2]
