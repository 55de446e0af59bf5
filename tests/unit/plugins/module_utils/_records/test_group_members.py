"""Who is in a group is a hint: one group that nobody describes hides neither its own state nor the others."""

from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException

from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import GroupMember
from ansible_collections.streamshift.kafka.plugins.module_utils._records import confluent_library
from ansible_collections.streamshift.kafka.plugins.module_utils._records.group_members import consumer_protocol_members

NOT_DESCRIBED = [
    KafkaError._INVALID_ARG,  # 'GroupId connect-workers is not a consumer group (connect)'
    KafkaError.TOPIC_AUTHORIZATION_FAILED,  # of a group of the consumer protocol, for one topic
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.GROUP_ID_NOT_FOUND,
    KafkaError._TIMED_OUT,
]


@pytest.mark.parametrize("code", NOT_DESCRIBED)
def test_a_group_that_is_not_described_is_left_out_and_the_others_are_told(monkeypatch, code):
    def described(_client, groups, **_options):
        answers = {group: Future() for group in groups}
        for group, answer in answers.items():
            if group == "billing":
                answer.set_result(SimpleNamespace(members=[SimpleNamespace(client_id="worker-1", host="/10.0.0.7")]))
            else:
                answer.set_exception(KafkaException(KafkaError(code)))
        return answers

    monkeypatch.setattr(confluent_library.AdminClient, "describe_consumer_groups", described)
    nobody = connection_from({"bootstrap_servers": ["127.0.0.1:1"]})
    assert consumer_protocol_members(nobody, ["connect-workers", "billing"]) == {
        "billing": (GroupMember("worker-1", "10.0.0.7"),)
    }
