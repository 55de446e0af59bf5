"""Brokers that tell less than those of today, or tell it to fewer users.

While brokers are upgraded, some are older than the one that the client has asked first: what the oldest offers counts.
"""

import asyncio
import contextlib
from types import SimpleNamespace as Row

import pytest
from kafka.protocol.api_key import ApiKey
from kafka.protocol.broker_version_data import BrokerVersionData

from ansible_collections.streamshift.kafka.plugins.module_utils._control import (
    admin_client,
    attempts,
    commits,
    groups,
    permissions,
    topics,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._control.abilities import Ability
from ansible_collections.streamshift.kafka.plugins.module_utils._control.reasons import ErrorCode, KafkaFailure
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import NotAuthorized
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition

CLUSTER = connection_from({"bootstrap_servers": "b1:9092"}, "source cluster")
ORDERS = TopicPartition("orders", 0)
NEW, OLD = 1, 2  # brokers, by their numbers


class Brokers:
    """Two brokers, and the client has asked the newer one first.

    The old one has the group billing, the new one all others; each has committed offset 7. sent: the name and the version of
    each request that a broker has got, by its number. created: topics that were asked for in versions that create them.
    described: how many groups each request describes. gone: groups that nobody has. The library is stood in for as far as it
    chooses versions.
    """

    def __init__(self, monkeypatch, new, old):
        offers = {number: BrokerVersionData(broker_version=version) for number, version in ((NEW, new), (OLD, old))}
        self.connections = {NEW: Row(broker_version_data=offers[NEW])}
        self.sent = {NEW: [], OLD: []}
        self.created = []
        self.asked = NEW  # for what any broker may answer
        self.unaware = set()  # brokers that have not heard of the topic orders yet
        self.gone = set()  # groups
        self.list_error = self.offset_error = 0
        self.described = []
        self.manager = Row(
            broker_version_data=offers[NEW],
            _conns=self.connections,
            cluster=Row(brokers=lambda: [Row(node_id=each) for each in offers]),
            send=self._send,
            run=lambda coroutine: asyncio.run(coroutine()),
        )
        self._offers = offers
        library = Row(_manager=self.manager, close=lambda: None)
        self.client = admin_client.AdminClient(library)
        monkeypatch.setattr(attempts, "connect", lambda _connection: self.client)

    def _send(self, message, node_id):
        node = self.asked if node_id is None else node_id
        self.connections.setdefault(node, Row(broker_version_data=self._offers[node]))

        async def answered():
            version = self._offers[node].api_version(message)
            name = message.name.removesuffix("Request")
            self.sent[node].append((name, version))
            return self._answer(name, version, message, node)

        return asyncio.ensure_future(answered())

    def _answer(self, name, version, message, node):
        match name:
            case "FindCoordinator":
                return Row(error_code=0, node_id=OLD if message.key == "billing" else NEW)
            case "Metadata":
                if version < Ability.NO_CREATION.value.version:
                    self.created += [topic.name for topic in message.topics or ()]
                partition = Row(partition_index=0, leader_id=OLD)
                orders = Row(name="orders", error_code=0, partitions=[partition])
                if node in self.unaware:
                    orders = Row(name="orders", error_code=3, partitions=[])
                return Row(brokers=[Row(node_id=NEW), Row(node_id=OLD)], topics=[orders])
            case "ListGroups":
                names = ("billing", "shipping")
                listed = [Row(group_id=each, protocol_type="consumer") for each in names]
                return Row(error_code=self.list_error, groups=listed)
            case "DescribeGroups":
                self.described.append(len(message.groups))
                states = {each: "Dead" if each in self.gone else "Empty" for each in message.groups}
                kind = {"error_code": 0, "protocol_type": "consumer"}
                return Row(groups=[Row(group_id=each, group_state=state, **kind) for each, state in states.items()])
            case "OffsetFetch":
                commit = Row(partition_index=0, error_code=0, committed_offset=7, metadata="")
                topics = [] if message.group_id in self.gone else [Row(name="orders", partitions=[commit])]
                return Row(error_code=self.offset_error, topics=topics)
            case "OffsetDelete" | "OffsetCommit":
                removed = Row(partition_index=0, error_code=0)
                return Row(error_code=0, topics=[Row(name="orders", partitions=[removed])])
        raise AssertionError(name)


def test_a_group_whose_coordinator_does_not_tell_open_transactions_says_so(monkeypatch):
    brokers = Brokers(monkeypatch, new=(2, 6), old=(2, 4))
    readings = groups.read_groups(CLUSTER, ["billing"])
    assert readings["billing"].offsets == {ORDERS: CommittedOffset(7)}
    assert "whether a transaction that commits offsets is open" in readings["billing"].not_told.text
    assert ("OffsetFetch", 6) in brokers.sent[OLD]


def test_no_broker_creates_a_topic_because_it_is_asked_for_it(monkeypatch):
    brokers = Brokers(monkeypatch, new=(0, 11), old=(0, 10, 2))
    brokers.asked = OLD
    described = topics.describe_topics(CLUSTER, ["missing", "orders"])
    assert described["missing"].error == "UNKNOWN_TOPIC_OR_PARTITION" and described["orders"].partitions == 1
    assert brokers.created == []


def test_a_copy_is_refused_where_one_of_its_progress_groups_is_at_a_broker_that_is_too_old_for_it(monkeypatch):
    Brokers(monkeypatch, new=(2, 6), old=(2, 4))
    assert permissions.copy_obstacles(CLUSTER, ["shipping"]) == []
    (unfit,) = permissions.copy_obstacles(CLUSTER, ["billing", "shipping"])
    assert "do not offer OffsetFetch 7, which Kafka has since 2.5, but only OffsetFetch 6" in str(unfit)


def test_a_group_at_an_older_broker_gets_its_offsets_in_the_version_of_that_one(monkeypatch):
    brokers = Brokers(monkeypatch, new=(2, 6), old=(1, 1))
    wanted = {name: {ORDERS: CommittedOffset(7)} for name in ("shipping", "billing")}
    assert commits.commit_offsets(CLUSTER, wanted) == {"shipping": {}, "billing": {}}
    versions = {
        node: [version for name, version in sent if name == "OffsetCommit"] for node, sent in brokers.sent.items()
    }
    assert versions == {NEW: [8], OLD: [3]}


def test_a_topic_that_one_broker_has_not_heard_of_is_not_taken_for_deleted(monkeypatch):
    brokers = Brokers(monkeypatch, new=(2, 6), old=(2, 6))
    brokers.unaware = {NEW}
    assert topics.partition_counts(CLUSTER, ["orders"]) == {}
    assert topics.partition_counts(CLUSTER, ["orders"], surely=True) == {"orders": 1}
    brokers.unaware = {NEW, OLD}
    assert topics.partition_counts(CLUSTER, ["orders"], surely=True) == {}


def test_a_broker_that_cannot_remove_single_offsets_removes_no_group_instead(monkeypatch):
    """The check has asked the coordinators, and a group has moved to an older one since."""
    brokers = Brokers(monkeypatch, new=(2, 6), old=(2, 3))
    assert permissions.not_offered(CLUSTER, Ability.REMOVE_OFFSETS, groups=["shipping"]) == []
    failed = commits.delete_offsets(CLUSTER, {name: [ORDERS] for name in ("shipping", "billing", "refunds")})
    assert (failed["shipping"], failed["refunds"]) == ({}, {})
    assert [name for name, _version in brokers.sent[NEW] if name == "OffsetDelete"] == ["OffsetDelete"] * 2
    refused = failed["billing"][ORDERS]
    lacking = "OffsetDelete 0, which Kafka has since 2.4, nor any version of it"
    assert refused == f"UNSUPPORTED_VERSION: the group's broker does not offer {lacking}"
    assert not isinstance(refused, commits.Unanswered)  # surely not done
    assert "DeleteGroups" not in {name for sent in brokers.sent.values() for name, _version in sent}
    (need,) = permissions.not_offered(CLUSTER, Ability.REMOVE_OFFSETS, groups=["billing", "shipping"])
    assert need.request == "OffsetDelete"


def without_lists(monkeypatch, version):
    """Brokers of one version, which deny lists of groups, as before 2.1 without an ACL."""
    brokers = Brokers(monkeypatch, version, version)
    brokers.list_error = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    return brokers


@pytest.mark.parametrize("version", [(0, 10, 2), (1, 1), (2, 0)])
def test_groups_that_are_named_need_no_list(monkeypatch, version):
    without_lists(monkeypatch, version).gone = {"billing-old"}
    readings = groups.read_groups(CLUSTER, ["billing", "billing-old"])
    assert (readings["billing"].state, readings["billing-old"].exists) == ("Empty", False)
    assert readings["billing"].offsets == {ORDERS: CommittedOffset(7)}


def test_many_groups_are_described_in_parts(monkeypatch):
    brokers = without_lists(monkeypatch, (2, 0))
    groups.read_groups(CLUSTER, [f"group-{number}" for number in range(450)])
    assert brokers.described == [200, 200, 50]


def test_the_acl_is_named_that_a_list_needs(monkeypatch):
    without_lists(monkeypatch, (1, 1))
    with pytest.raises(NotAuthorized, match="needs ACL CLUSTER DESCRIBE on kafka-cluster: brokers before Kafka 2.1"):
        groups.list_groups(CLUSTER)


@pytest.mark.parametrize(("version", "operation"), [((0, 10, 2), "READ"), ((0, 11), "READ"), ((1, 0), "DESCRIBE")])
def test_the_acl_is_named_that_committed_offsets_need(monkeypatch, version, operation):
    brokers = without_lists(monkeypatch, version)
    brokers.offset_error = ErrorCode.GROUP_AUTHORIZATION_FAILED
    offered = {key: each for key, each in brokers.client.offered_versions.items() if key != ApiKey.DescribeLogDirs}
    brokers.manager.broker_version_data = BrokerVersionData(version, offered)  # services need not offer all
    with pytest.raises(NotAuthorized, match=f"needs ACL GROUP {operation} on billing"):
        groups.read_groups(CLUSTER, ["billing"])


@pytest.mark.parametrize(("answers_until_it_ends", "is_open"), [(1, False), (3, True)])
def test_a_transaction_has_its_time_from_the_first_answer_that_shows_it(monkeypatch, answers_until_it_ends, is_open):
    """The brokers are slow at first, as after a restart: it takes longer to be answered than a transaction may take."""
    brokers, now, asked = without_lists(monkeypatch, (2, 5)), [0.0], []

    def attempt(_connection, operation, deadline=60.0):
        with contextlib.suppress(KafkaFailure):
            return operation(brokers.client)
        assert now[0] < deadline
        return attempt(_connection, operation, deadline)

    def answer(name, version, message, node):
        told = Brokers._answer(brokers, name, version, message, node)
        if name == "OffsetFetch" and message.require_stable:
            asked.append(message)
            now[0] += 20 if len(asked) == 1 else groups.STABLE_SECONDS / 2
            if len(asked) <= answers_until_it_ends:
                told.topics[0].partitions[0].error_code = ErrorCode.UNSTABLE_OFFSET_COMMIT
        return told

    monkeypatch.setattr(brokers, "_answer", answer)
    monkeypatch.setattr(groups, "attempt", attempt)
    monkeypatch.setattr(groups, "time", Row(monotonic=lambda: now[0]))
    monkeypatch.setattr(groups, "named_transactions", lambda _client, names: dict.fromkeys(names, "till-1"))
    reading = groups.read_groups(CLUSTER, ["billing"])["billing"]
    assert reading.offsets == {ORDERS: CommittedOffset(7)}
    assert bool(reading.open) is is_open
