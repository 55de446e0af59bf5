"""What brokers do not offer: which error names it, and what is asked for instead."""

import types

import pytest
from kafka.protocol.api_key import ApiKey

from ansible_collections.streamshift.kafka.plugins.module_utils._control import topics
from ansible_collections.streamshift.kafka.plugins.module_utils._control.abilities import Ability, not_told_notes
from ansible_collections.streamshift.kafka.plugins.module_utils._control.admin_client import can, missing_part
from ansible_collections.streamshift.kafka.plugins.module_utils._control.reasons import (
    ErrorCode,
    KafkaFailure,
    may_pass,
    needed,
)


def client_of(**versions):
    """A client whose brokers offer these requests up to these versions, or from one to another."""
    offered = {ApiKey[name]: each if isinstance(each, tuple) else (0, each) for name, each in versions.items()}
    return types.SimpleNamespace(offered_versions=offered)


NO_VERSION = "No version of the '{}Request' is supported by both the client"


@pytest.mark.parametrize(
    ("text", "ability", "found", "instead"),
    [
        ("Kafka broker does not support the 'DescribeConfigsRequest'", Ability.CONFIGS, -1, ", nor any version of it"),
        (
            f"{NO_VERSION.format('OffsetFetch')} [7-7] and broker [0-6].",
            Ability.STABLE_OFFSETS,
            6,
            ", but only OffsetFetch 6",
        ),
        (f"{NO_VERSION.format('Metadata')} [10-13] and broker [0-9].", Ability.TOPIC_IDS, 9, ", but only Metadata 9"),
    ],
)
def test_the_error_of_the_library_is_told_by_what_the_request_is_for(text, ability, found, instead):
    need = needed(text)
    assert need == ability.value._replace(found=found)
    assert f"which Kafka has since {need.since}{instead}" in str(need.refusal("cluster"))
    assert (
        need.note("cluster").text
        == f"cluster: the brokers cannot {need.use} ({need.request} {need.version}, since Kafka {need.since}). {need.without}."
    )


@pytest.mark.parametrize("text", ["'VoteRequest'", "UNSUPPORTED_VERSION", "'MetadataRequest' client [14-14]"])
def test_what_the_table_does_not_know_is_not_guessed(text):
    assert needed(text) is None


def test_a_version_or_a_whole_request_may_be_missing():
    client = client_of(OffsetFetch=6)
    assert can(client, Ability.ALL_OFFSETS)
    assert not can(client, Ability.STABLE_OFFSETS)
    assert not can(client, Ability.CONFIGS)
    assert (missing_part(client, Ability.STABLE_OFFSETS).found, missing_part(client, Ability.CONFIGS).found) == (6, -1)


@pytest.mark.parametrize(("versions", "offered"), [((0, 3), True), ((1, 3), False)])
def test_versions_that_only_later_clients_know_are_no_use(versions, offered):
    assert can(client_of(AddPartitionsToTxn=versions), Ability.TRANSACTIONS) is offered


@pytest.mark.parametrize(("version", "asked"), [(3, None), (4, ["missing", "orders"])])
def test_brokers_that_would_create_a_topic_are_not_asked_for_its_name(monkeypatch, version, asked):
    sent = []

    def exchange(_client, requests):
        topics = requests[0].fields["topics"]
        sent.append(topics and [topic["name"] for topic in topics])
        described = types.SimpleNamespace(name="orders", error_code=0, partitions=[1, 2])
        return [types.SimpleNamespace(brokers=[1], topics=[described])]

    monkeypatch.setattr(topics, "exchange", exchange)
    found = topics.request_metadata(client_of(Metadata=version), ["missing", "orders"]).topics
    assert sent == [asked]
    if asked is None:
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert [(topic.name, topic.error_code) for topic in found] == [("missing", unknown), ("orders", 0)]


def test_a_broker_that_has_just_started_and_knows_nothing_yet_is_asked_again(monkeypatch):
    answer = types.SimpleNamespace(brokers=[], topics=[])
    monkeypatch.setattr(topics, "exchange", lambda _client, _requests: [answer])
    with pytest.raises(KafkaFailure) as raised:
        topics.request_metadata(client_of(Metadata=4), ["orders"])
    assert may_pass(raised.value)


def test_what_brokers_do_not_tell_is_one_note_and_says_each_sentence_once():
    operations = Ability.GROUP_OPERATIONS.value, Ability.TOPIC_OPERATIONS.value
    (note,) = not_told_notes(
        {
            "source": operations,
            "destination": [*(need._replace(found=2) for need in operations), Ability.REMOVE_GROUPS.value],
            "new": [],
        }
    )
    assert note.text == (
        "source and destination: the brokers cannot find out what the user may do with groups (DescribeGroups 3, since Kafka "
        "2.3) or find out what the user may do with topics (Metadata 8, since Kafka 2.3). ACLs on groups are not checked in "
        "advance. If one is missing, the step that needs it fails. ACLs on topics are not checked in advance. "
        "destination: the brokers cannot remove groups (DeleteGroups 0, since Kafka 1.1). "
        f"{Ability.REMOVE_GROUPS.value.without}."
    )
    assert not_told_notes({"source": [], "destination": []}) == []
