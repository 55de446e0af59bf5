"""What the brokers would not take is refused by its entry. That they count like this: tests/integration/test_control.py."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing import commit_decision
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition

CLOUD = connection_from({"bootstrap_servers": ["127.0.0.1:1"]}, "destination cluster")


def check(monkeypatch, metadata, limit):
    monkeypatch.setattr(commit_decision, "broker_number", lambda _connection, _name: limit)
    targets = {("billing", TopicPartition("orders", 0)): CommittedOffset(1, "short")}
    targets[("billing", TopicPartition("orders", 1))] = CommittedOffset(1, metadata)
    commit_decision.check_targets(CLOUD, {**targets, ("billing", TopicPartition("orders", 2)): None})


@pytest.mark.parametrize(("limit", "length"), [(10, 10), (4096, 4096), (5000, 5000), (None, 4096)])
def test_metadata_as_long_as_the_limit_is_taken_and_no_longer(monkeypatch, limit, length):
    check(monkeypatch, "é" * length, limit)
    with pytest.raises(Refused, match=f"topic orders, partition 1: the metadata of {length + 1} characters"):
        check(monkeypatch, "x" * (length + 1), limit)


def test_a_character_beyond_the_basic_plane_counts_twice(monkeypatch):
    check(monkeypatch, "\N{GRINNING FACE}" * 5, 10)
    with pytest.raises(Refused, match="12 characters"):
        check(monkeypatch, "\N{GRINNING FACE}" * 6, 10)


def test_who_may_not_read_the_limit_is_told_how(monkeypatch):
    with pytest.raises(Refused, match="Grant ACL CLUSTER DESCRIBE_CONFIGS, or shorten the metadata"):
        check(monkeypatch, "x" * 5000, None)


def test_no_cluster_is_asked_where_nothing_has_metadata(monkeypatch):
    monkeypatch.setattr(commit_decision, "broker_number", lambda _connection, _name: pytest.fail("it was asked"))
    commit_decision.check_targets(CLOUD, {("billing", TopicPartition("orders", 0)): CommittedOffset(1)})
