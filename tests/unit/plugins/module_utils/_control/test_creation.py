# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which topics a call has made is what brokers have confirmed, whatever breaks in between."""

from __future__ import annotations

import types
import uuid

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import creation
from ansible_collections.streamshift.kafka.plugins.module_utils._control.creation import Creation
from ansible_collections.streamshift.kafka.plugins.module_utils._control.kafka_library import errors
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import BrokerError
from ansible_collections.streamshift.kafka.plugins.module_utils._model.new_topics import NewTopic

NOWHERE = connection_from({"bootstrap_servers": "127.0.0.1:1"}, "destination cluster")
ID = "11111111-2222-3333-4444-555555555555"
NEW = NewTopic(1, 1, {})


def row(name, error=errors.NoError):
    return types.SimpleNamespace(name=name, error_code=error.errno, error_message=None, topic_id=uuid.UUID(ID))


@pytest.fixture
def answers(monkeypatch):
    """What brokers answer, a list for each try; an exception in it breaks the connection."""
    tries, asked = [], []

    def rows(_client, _connection, topics, _validate_only):
        asked.append(sorted(topics))
        for each in tries.pop(0):
            if isinstance(each, Exception):
                raise each
            yield each

    def attempt(_connection, operation):
        while True:
            try:
                return operation(None)
            except errors.KafkaConnectionError:
                continue

    monkeypatch.setattr(creation, "creation_rows", rows)
    monkeypatch.setattr(creation, "attempt", attempt)
    monkeypatch.setattr(creation, "await_leaders", lambda *_args: None)

    def create(*given):
        tries.extend(given)
        noted = []
        topics = dict.fromkeys(("a", "b"), NEW)
        return lambda: creation.create_topics(NOWHERE, topics, noted.append), noted, asked

    return create


def test_one_that_was_there_is_found(answers):
    create, noted, _asked = answers([row("a"), row("b", errors.TopicAlreadyExistsError)])
    assert create() == Creation({"a": ID}, frozenset({"b"})) == noted[0]


def test_what_was_confirmed_is_not_asked_again_and_what_was_not_is_nobody_s(answers):
    """The connection breaks after the first answer: the second topic may have been made by this call."""
    create, noted, asked = answers(
        [row("a"), errors.KafkaConnectionError()], [row("b", errors.TopicAlreadyExistsError)]
    )
    assert create() == Creation({"a": ID}, frozenset()) and asked == [["a", "b"], ["b"]] and len(noted) == 1


def test_what_was_made_is_noted_though_another_topic_is_refused(answers):
    create, noted, _asked = answers([row("a"), row("b", errors.PolicyViolationError)])
    with pytest.raises(BrokerError, match="topic b: the topic cannot be created: POLICY_VIOLATION"):
        create()
    assert noted == [Creation({"a": ID}, frozenset())]


def test_what_was_made_is_noted_though_it_gets_no_leader(answers, monkeypatch):
    def no_leader(*_args):
        raise BrokerError("it has no leader")

    create, noted, _asked = answers([row("a"), row("b")])
    monkeypatch.setattr(creation, "await_leaders", no_leader)
    with pytest.raises(BrokerError, match="it has no leader"):
        create()
    assert noted == [Creation({"a": ID, "b": ID}, frozenset())]
