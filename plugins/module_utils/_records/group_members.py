# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Who is in a group: what the brokers tell of its members."""

from __future__ import annotations

import contextlib
import typing as t

from .._model.connection import Connection
from .._model.group_state import GroupMember


def consumer_protocol_members(connection: Connection, groups: t.Collection[str]) -> dict[str, tuple[GroupMember, ...]]:
    """The members of each group of the consumer protocol (KIP-848), sorted.

    A group that the brokers or librdkafka do not describe is left out: one that is gone, share and streams groups, and one with
    a topic that the user may not describe. kafka-python does not know the request. Where a broker goes at that moment,
    librdkafka can end the process (docs/architecture.md, decision 1), so classic groups are not asked for in this way.
    """
    if not groups:
        return {}
    # Most runs meet no member, and this library takes as long to load as half of ours.
    from .confluent_library import AdminClient, KafkaException
    from .consumer_client import client_configuration, unusable_client

    try:
        client = AdminClient({"log_level": 0, **client_configuration(connection)})
        client.poll(0)  # a token is fetched by a callback, which runs only here
        answers = client.describe_consumer_groups(sorted(groups), request_timeout=connection.request_timeout)
    except KafkaException as exc:
        raise unusable_client(connection, exc) from exc
    members_of = {}
    for group, answer in answers.items():
        with contextlib.suppress(KafkaException):  # what members are is a hint: the state says whether there are any
            members_of[group] = tuple(
                sorted(GroupMember(member.client_id, member.host.lstrip("/")) for member in answer.result().members)
            )
    return members_of
