"""What is sent in one request, and what is said of its answer."""

import contextlib
import types
from unittest import mock

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import commits
from ansible_collections.streamshift.kafka.plugins.module_utils._control.reasons import KafkaFailure
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import BrokerError
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition

NOWHERE = connection_from({"bootstrap_servers": ["127.0.0.1:1"]})
HERE = [TopicPartition("orders", partition) for partition in range(3)]


def answer(codes):
    partitions = [types.SimpleNamespace(partition_index=index, error_code=code) for index, code in codes.items()]
    return types.SimpleNamespace(topics=[types.SimpleNamespace(name="orders", partitions=partitions)])


def test_large_commits_are_sent_in_batches_that_a_broker_takes():
    group = "ä" * 10_000  # the key of each record has it, too
    wanted = {TopicPartition("orders", n): CommittedOffset(n, "ä" * 2000) for n in range(300)}
    batches = list(commits._batches(group, wanted))
    assert {where: commit for batch in batches for where, commit in batch.items()} == wanted
    assert sum(map(len, batches)) == len(wanted)
    sizes = [sum(len(group.encode()) + len(each.metadata.encode()) for each in batch.values()) for batch in batches]
    assert max(sizes) < 500_000
    assert list(commits._batches("billing", {})) == []


@pytest.mark.parametrize("offset", [-1, 1 << 63])
def test_what_no_file_may_hold_is_refused_before_anything_is_sent(monkeypatch, offset):
    monkeypatch.setattr(commits, "attempt", lambda *_arguments: pytest.fail("a broker was asked"))
    with pytest.raises(ValueError, match="an offset cannot be committed"):
        commits.commit_offsets(NOWHERE, {"g": {TopicPartition("orders", 0): CommittedOffset(offset)}})


def test_a_group_whose_coordinator_is_away_stops_no_other_and_is_the_only_one_that_may_not_be_stored(monkeypatch):
    away = 15  # COORDINATOR_NOT_AVAILABLE
    sent = []

    def exchange(_client, requests, **_how):
        sent.extend(request.fields["group_id"] for request in requests)
        return [answer({0: 0}) for _each in requests]

    def attempt(connection, once, _deadline):
        for _try in range(3):
            with contextlib.suppress(KafkaFailure):
                return once(None)
        raise BrokerError("the broker refused", cluster=str(connection))

    monkeypatch.setattr(commits, "attempt", attempt)
    monkeypatch.setattr(commits, "exchange", exchange)
    monkeypatch.setattr(
        commits,
        "find_coordinators",
        lambda _client, names: {name: (-1, away) if name == "lost" else (1, 0) for name in names},
    )
    found = commits.commit_offsets(
        NOWHERE, {name: {HERE[0]: CommittedOffset(1)} for name in ("billing", "lost", "shipping")}
    )
    assert sent == ["billing", "shipping"]
    assert (found["billing"], found["shipping"]) == ({}, {}) and list(found["lost"]) == [HERE[0]]


def try_twice(monkeypatch, exchange):
    """Every operation, at one coordinator. exchange: stands for the library's; what it raises ends the first try."""

    def attempt(_connection, once, _deadline):
        with contextlib.suppress(KafkaFailure):
            once(None)
        once(None)

    monkeypatch.setattr(commits, "attempt", attempt)
    monkeypatch.setattr(commits, "exchange", exchange)
    monkeypatch.setattr(commits, "find_coordinators", lambda _client, names: dict.fromkeys(names, (1, 0)))


@pytest.mark.parametrize(
    ("codes", "refused"),
    [
        ({0: 0, 1: 29}, {1: "TOPIC_AUTHORIZATION_FAILED: needs ACL TOPIC READ on orders", 2: "UNKNOWN"}),
        (
            {0: 0, 1: 25, 2: 30},
            {
                1: "UNKNOWN_MEMBER_ID: the group has members",
                2: "GROUP_AUTHORIZATION_FAILED: needs ACL GROUP READ on billing",
            },
        ),
    ],
    ids=["a partition that the answer leaves out is not taken for stored", "members are told from other refusals"],
)
def test_each_partition_is_told_why_it_was_not_stored(monkeypatch, codes, refused):
    try_twice(monkeypatch, lambda *_given, **_how: [answer(codes)])
    found = commits.commit_offsets(NOWHERE, {"billing": dict.fromkeys(HERE, CommittedOffset(1))})
    assert found == {"billing": {HERE[number]: why for number, why in refused.items()}}


@pytest.mark.parametrize(
    ("first", "is_known"),
    [
        pytest.param(KafkaFailure("the connection was lost"), False, id="no answer"),
        pytest.param([answer({0: 14})], True, id="the coordinator was loading"),
    ],
)
def test_a_refusal_does_not_hide_that_an_earlier_try_without_an_answer_may_have_been_stored(
    monkeypatch, first, is_known
):
    try_twice(monkeypatch, mock.Mock(side_effect=[first, [answer({0: 25})]]))
    (why,) = commits.commit_offsets(NOWHERE, {"billing": {HERE[0]: CommittedOffset(1)}})["billing"].values()
    assert (
        why.startswith("UNKNOWN_MEMBER_ID: the group has members")
        and isinstance(why, commits.Unanswered) is not is_known
    )


def test_what_is_answered_stays_when_the_connection_is_lost_among_many_groups(monkeypatch):
    sent = []

    def exchange(_client, requests, **_how):
        sent.append([request.fields["group_id"] for request in requests])
        if len(sent) == 2:
            raise KafkaFailure("the connection was lost")
        return [answer({0: 0}) for _each in requests]

    try_twice(monkeypatch, exchange)
    names = [f"group-{number}" for number in range(500)]
    found = commits.commit_offsets(NOWHERE, {name: {HERE[0]: CommittedOffset(1)} for name in names})
    assert sent == [names[:200], names[200:400], names[200:400], names[400:]]
    assert found == {name: {} for name in names}
