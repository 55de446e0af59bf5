# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Who is in a group: what the brokers tell of its members."""

from __future__ import annotations

import typing as t

from .._model.connection import Connection
from .._model.group_state import GroupMember


def consumer_protocol_members(connection: Connection, groups: t.Collection[str]) -> dict[str, tuple[GroupMember, ...]]:
    """The members of each group of the consumer protocol (KIP-848), sorted.

    A group that the brokers or librdkafka do not describe is left out: one that is gone, share and streams groups, and those of
    assigned_unseen().
    """
    # What members are is a hint: the state says whether there are any.
    return {
        group: tuple(sorted(GroupMember(member.client_id, member.host.lstrip("/")) for member in answer.members))
        for group, answer in _described(connection, groups).items()
        if answer is not None
    }


def assigned_unseen(connection: Connection, groups: t.Collection[str]) -> list[str]:
    """Those of these groups of the consumer protocol whose members are assigned topics that the user may not describe.

    Brokers do not tell which topics.
    """
    return [group for group, answer in _described(connection, groups).items() if answer is None]


def _described(connection: Connection, groups: t.Collection[str]) -> dict[str, t.Any]:
    """The library's description of each group, by name; None for one with a topic that the user may not describe.

    kafka-python does not know the request. Where a broker goes at that moment, librdkafka can end the process
    (docs/architecture.md, decision 1), so classic groups are not asked for in this way.
    """
    if not groups:
        return {}
    # Most runs meet no member, and this library takes as long to load as half of ours.
    from .confluent_library import AdminClient, KafkaError, KafkaException
    from .consumer_client import client_configuration, unusable_client

    try:
        client = AdminClient({"log_level": 0, **client_configuration(connection)})
        client.poll(0)  # a token is fetched by a callback, which runs only here
        answers = client.describe_consumer_groups(sorted(groups), request_timeout=connection.request_timeout)
    except KafkaException as exc:
        raise unusable_client(connection, exc) from exc
    described = dict[str, t.Any]()
    for group, answer in answers.items():
        try:
            described[group] = answer.result()
        except KafkaException as exc:
            if exc.args[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
                described[group] = None
    return described
