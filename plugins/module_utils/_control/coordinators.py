# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which broker coordinates each group, and what answers of coordinators mean."""

from __future__ import annotations

import typing as t

from .._model.connection import Connection
from .._model.errors import NotAuthorized
from .._model.grouping import chunks, values_by_key
from .._model.progress import MANY_NAMED, first_names
from .abilities import Ability
from .admin_client import AdminClient, BrokerQuestion, Request, answer_to, can
from .reasons import ErrorCode, as_exception

GROUPS_PER_REQUEST = 200
GROUP_KEY = 0  # the key type of FindCoordinator; 1 is a transactional id


def known_coordinators(
    connection: Connection, found: t.Mapping[str, tuple[int, int]], skip_denied: bool = False
) -> dict[str, int]:
    """The broker of each group, of what find_coordinators() has found.

    Raises NotAuthorized naming the groups that are denied; skip_denied leaves them out.
    """
    if skip_denied:
        found = {
            group: coordinator
            for group, coordinator in found.items()
            if coordinator[1] != ErrorCode.GROUP_AUTHORIZATION_FAILED
        }
    raise_for_groups(connection, {group: code for group, (_node, code) in found.items()})
    return {group: node for group, (node, _code) in found.items()}


def find_coordinators(client: AdminClient, groups: t.Sequence[str]) -> dict[str, tuple[int, int]]:
    """(broker, error code) for each group; unlike the library's call it neither caches nor asks one by one."""
    return answer_to(client, coordinators_of(client, groups))


def coordinators_of(client: AdminClient, groups: t.Sequence[str]) -> BrokerQuestion[dict[str, tuple[int, int]]]:
    """The question that find_coordinators() asks."""
    if can(client, Ability.MANY_COORDINATORS):
        return BrokerQuestion(
            [
                Request("FindCoordinator", {"coordinator_keys": list(chunk), "key_type": GROUP_KEY}, lowest=4)
                for chunk in chunks(groups, GROUPS_PER_REQUEST)
            ],
            lambda answers: {
                row.key: (row.node_id, row.error_code) for answer in answers for row in answer.coordinators
            },
        )
    return BrokerQuestion(
        [Request("FindCoordinator", {"key": group, "key_type": GROUP_KEY}, highest=3) for group in groups],
        lambda answers: {group: (row.node_id, row.error_code) for group, row in zip(groups, answers, strict=True)},
    )


def raise_for_groups(connection: Connection, codes: t.Mapping[str, int], operation: str = "DESCRIBE") -> None:
    """Raise NotAuthorized naming the groups that are denied, or the error that lets attempt() retry, with its group."""
    denied = []
    for group, code in codes.items():
        if code == ErrorCode.GROUP_AUTHORIZATION_FAILED:
            denied.append(group)
        elif code not in (0, ErrorCode.GROUP_ID_NOT_FOUND):
            raise as_exception(code, group)
    if denied:
        raise NotAuthorized(
            f"needs ACL GROUP {operation} on {first_names(sorted(denied), MANY_NAMED)}", cluster=str(connection)
        )


def by_node(coordinators: t.Mapping[str, int]) -> list[tuple[int, t.Sequence[str]]]:
    """The groups of each broker, in parts for a request each."""
    nodes = values_by_key((node, group) for group, node in coordinators.items())
    return [(node, chunk) for node, groups in nodes.items() for chunk in chunks(groups, GROUPS_PER_REQUEST)]
