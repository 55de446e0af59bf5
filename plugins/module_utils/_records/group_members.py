# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Who is in a group: what the brokers tell of its members."""

from __future__ import annotations

import typing as t

from .._model.connection import Connection
from .._model.errors import BrokerError
from .._model.group_state import GroupMember


def group_members(connection: Connection, groups: t.Collection[str]) -> dict[str, tuple[GroupMember, ...]]:
    """The members of each group of the classic and of the consumer protocol, sorted.

    A group that the brokers cannot describe is left out.
    librdkafka knows the requests for both protocols; kafka-python knows that of the classic one alone. Raises BrokerError
    naming the group that a broker refuses to describe.
    """
    if not groups:
        return {}
    # Most runs meet no member, and this library takes as long to load as half of ours.
    from .confluent_library import AdminClient, KafkaError, KafkaException
    from .consumer_client import client_configuration, unusable_client

    # Groups that are gone meanwhile, or of a type that this request is not for: share and streams groups.
    no_members_told = (KafkaError.GROUP_ID_NOT_FOUND, KafkaError.INVALID_GROUP_ID, KafkaError.UNSUPPORTED_VERSION)
    try:
        client = AdminClient({"log_level": 0, **client_configuration(connection)})
        client.poll(0)  # a token is fetched by a callback, which runs only here
        answers = client.describe_consumer_groups(sorted(groups), request_timeout=connection.request_timeout)
    except KafkaException as exc:
        raise unusable_client(connection, exc) from exc
    members_of = {}
    for group, answer in answers.items():
        try:
            members: list[t.Any] = answer.result().members
        except KafkaException as exc:
            error = exc.args[0]
            if error.code() not in no_members_told:
                raise BrokerError(
                    "the members of the group cannot be read",
                    cluster=str(connection),
                    group=group,
                    why=error.str(),
                    remedy="see what the brokers' logs say of it, and run again",
                ) from exc
        else:
            members_of[group] = tuple(
                sorted(GroupMember(member.client_id, member.host.lstrip("/")) for member in members)
            )
    return members_of
