"""An ACL is missing where brokers deny it, and not where they do not tell."""

from types import SimpleNamespace

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import acl_requests, permissions
from ansible_collections.streamshift.kafka.plugins.module_utils._control.reasons import ErrorCode
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection

CONNECTION = Connection("destination", ("127.0.0.1:1",))
READ, DESCRIBE = 3, 8
DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
NEEDED = ["GROUP DESCRIBE on billing", "GROUP READ on billing", "TOPIC READ on orders"]


def missing(monkeypatch, operations, group_error=0, topic_error=0, settings_error=DENIED, **needs):
    """The ACLs that the user lacks, where the brokers answer with these operations; None as KIP-430 encodes "not told"."""
    group = SimpleNamespace(group_id="billing", error_code=group_error, authorized_operations=operations)
    topic = SimpleNamespace(name="orders", error_code=topic_error, authorized_operations=operations)
    monkeypatch.setattr(permissions, "attempt", lambda _connection, operation: operation(None))
    monkeypatch.setattr(permissions, "can", lambda *_given: True)
    monkeypatch.setattr(permissions, "told_coordinators", lambda _client, names: dict.fromkeys(names, 1))
    monkeypatch.setattr(
        permissions,
        "exchange",
        lambda _client, requests: [
            SimpleNamespace(groups=[group]) for each in requests if each.name == "DescribeGroups"
        ],
    )
    monkeypatch.setattr(permissions, "request_metadata", lambda *_given, **_options: SimpleNamespace(topics=[topic]))
    settings = SimpleNamespace(resource_name="orders", error_code=settings_error)
    monkeypatch.setattr(permissions, "config_rows", lambda *_given: [settings])
    return permissions.missing_acls(
        CONNECTION,
        **needs or {"reads_groups": ["billing"], "commits_groups": ["billing"], "commits_topics": ["orders"]},
    )


def test_what_brokers_do_not_tell_is_not_missing(monkeypatch):
    assert missing(monkeypatch, None) == []


def test_what_brokers_tell_is_believed(monkeypatch):
    assert missing(monkeypatch, {DESCRIBE}) == ["GROUP READ on billing", "TOPIC READ on orders"]
    assert missing(monkeypatch, {READ, DESCRIBE}) == []
    assert missing(monkeypatch, set()) == NEEDED
    assert permissions.missing_topic_acls(CONNECTION, "DELETE", ["orders"]) == ["TOPIC DELETE on orders"]
    assert permissions.missing_topic_acls(CONNECTION, "DELETE", []) == []


def test_what_is_denied_altogether_is_missing(monkeypatch):
    denied = ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert missing(monkeypatch, None, *denied) == NEEDED


def test_settings_that_may_be_read_are_not_missing_where_the_topic_may_not_be_described(monkeypatch):
    """READ implies DESCRIBE, and DESCRIBE_CONFIGS does not: without READ, brokers tell no operation at all."""
    lacking = ["TOPIC DESCRIBE_CONFIGS on orders", "TOPIC READ on orders"]
    for settings_error, told in ((0, lacking[1:]), (DENIED, lacking)):
        found = missing(monkeypatch, None, topic_error=DENIED, settings_error=settings_error, reads_topics=["orders"])
        assert found == told


@pytest.mark.parametrize(("operations", "lacking"), [(None, []), ({DESCRIBE}, ["CLUSTER ALTER on kafka-cluster"])])
def test_the_same_holds_for_the_cluster(monkeypatch, operations, lacking):
    answer = SimpleNamespace(error_code=0, authorized_operations=operations)
    monkeypatch.setattr(acl_requests, "attempt", lambda _connection, operation: operation(None))
    monkeypatch.setattr(acl_requests, "can", lambda *_given: True)
    monkeypatch.setattr(acl_requests, "exchange", lambda *_given: [answer])
    assert acl_requests.missing_cluster_acls(CONNECTION, "DESCRIBE", "ALTER") == lacking
