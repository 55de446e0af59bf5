"""Groups of brokers that tell less than those of today, or tell it to fewer users."""

import contextlib
from types import SimpleNamespace as Row

import pytest
from kafka.protocol.api_key import ApiKey

from ansible_collections.streamshift.kafka.plugins.module_utils._control import admin_client, groups, topics
from ansible_collections.streamshift.kafka.plugins.module_utils._control.abilities import Ability
from ansible_collections.streamshift.kafka.plugins.module_utils._control.reasons import ErrorCode, KafkaFailure
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import NotAuthorized
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition

CONNECTION = Connection("source", ("127.0.0.1:1",))
GONE = "billing-old"


class Brokers:
    """Brokers of this version; the group billing has committed. Lists of groups are denied, as before 2.1 without an ACL."""

    def __init__(self, monkeypatch, version):
        known = [each.value for each in Ability if tuple(map(int, each.value.since.split("."))) <= version]
        names = {each.request for each in known}
        self.offered_versions = {
            ApiKey[name]: (0, max(each.version for each in known if each.request == name)) for name in names
        }
        if version >= (1, 0):
            self.offered_versions[ApiKey.Metadata] = (0, 5)
        self.known_brokers = [1]
        self.offset_error = 0
        self.described = []  # how many groups each request describes
        monkeypatch.setattr(groups, "attempt", lambda _connection, operation, *_deadline: operation(self))
        for module in (admin_client, topics):
            monkeypatch.setattr(module, "exchange", lambda _client, asked: [self.answer(each) for each in asked])

    def answer(self, request):
        match request.name:
            case "ListGroups":
                return Row(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, groups=[])
            case "Metadata":
                return Row(brokers=[Row(node_id=1)], topics=[])
            case "FindCoordinator":
                return Row(error_code=0, node_id=1)
            case "DescribeGroups":
                self.described.append(len(request.fields["groups"]))
                states = {"billing": "Stable"}
                rows = [(name, states.get(name, "Dead")) for name in request.fields["groups"]]
                return Row(
                    groups=[
                        Row(error_code=0, group_id=name, group_state=state, protocol_type="") for name, state in rows
                    ]
                )
            case "OffsetFetch":
                commit = Row(partition_index=0, error_code=0, committed_offset=7, metadata="")
                topics = [Row(name="orders", partitions=[commit])] if request.fields["group_id"] == "billing" else []
                return Row(error_code=self.offset_error, topics=topics)
        raise AssertionError(request)


@pytest.mark.parametrize("version", [(0, 10, 2), (1, 1), (2, 0)])
def test_groups_that_are_named_need_no_list(monkeypatch, version):
    Brokers(monkeypatch, version)
    readings = groups.read_groups(CONNECTION, ["billing", GONE])
    assert (readings["billing"].state, readings[GONE].exists) == ("Stable", False)
    assert readings["billing"].offsets == {TopicPartition("orders", 0): CommittedOffset(7)}


def test_many_groups_are_described_in_parts(monkeypatch):
    brokers = Brokers(monkeypatch, (2, 0))
    groups.read_groups(CONNECTION, [f"group-{number}" for number in range(450)])
    assert brokers.described == [200, 200, 50]


def test_the_acl_is_named_that_a_list_needs(monkeypatch):
    Brokers(monkeypatch, (1, 1))
    with pytest.raises(NotAuthorized, match="needs ACL CLUSTER DESCRIBE on kafka-cluster: brokers before Kafka 2.1"):
        groups.list_groups(CONNECTION)


@pytest.mark.parametrize(("version", "operation"), [((0, 10, 2), "READ"), ((0, 11), "READ"), ((1, 0), "DESCRIBE")])
def test_the_acl_is_named_that_committed_offsets_need(monkeypatch, version, operation):
    brokers = Brokers(monkeypatch, version)
    brokers.offset_error = ErrorCode.GROUP_AUTHORIZATION_FAILED
    brokers.offered_versions.pop(ApiKey.DescribeLogDirs, None)  # services need not offer it
    with pytest.raises(NotAuthorized, match=f"needs ACL GROUP {operation} on billing"):
        groups.read_groups(CONNECTION, ["billing"])


@pytest.mark.parametrize(("answers_until_it_ends", "is_open"), [(1, False), (3, True)])
def test_a_transaction_has_its_time_from_the_first_answer_that_shows_it(monkeypatch, answers_until_it_ends, is_open):
    """The brokers are slow at first, as after a restart: it takes longer to be answered than a transaction may take."""
    brokers, now, asked = Brokers(monkeypatch, (2, 5)), [0.0], []

    def attempt(_connection, operation, deadline=60.0):
        with contextlib.suppress(KafkaFailure):
            return operation(brokers)
        assert now[0] < deadline
        return attempt(_connection, operation, deadline)

    def answer(request):
        told = type(brokers).answer(brokers, request)
        if request.name == "OffsetFetch" and request.fields["require_stable"]:
            asked.append(request)
            now[0] += 20 if len(asked) == 1 else groups.STABLE_SECONDS / 2
            if len(asked) <= answers_until_it_ends:
                told.topics[0].partitions[0].error_code = ErrorCode.UNSTABLE_OFFSET_COMMIT
        return told

    monkeypatch.setattr(brokers, "answer", answer)
    monkeypatch.setattr(groups, "attempt", attempt)
    monkeypatch.setattr(groups, "time", Row(monotonic=lambda: now[0]))
    monkeypatch.setattr(groups, "named_transactions", lambda _client, names: dict.fromkeys(names, "till-1"))
    reading = groups.read_groups(CONNECTION, ["billing"])["billing"]
    assert reading.offsets == {TopicPartition("orders", 0): CommittedOffset(7)}
    assert bool(reading.open) is is_open
