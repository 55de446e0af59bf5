# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which brokers coordinate groups, and what groups have committed, as these tell: of hundreds in one request if possible."""

from __future__ import annotations

import typing as t

from .._model.connection import Connection
from .._model.errors import NotAuthorized
from .._model.group_state import Commits, CommittedOffset
from .._model.grouping import chunks, values_by_key
from .._model.records import TopicPartition
from .._model.wording import MANY_NAMED, first_names
from .abilities import Ability
from .admin_client import AdminClient, BrokerQuestion, Request, answer_to, can, exchange
from .reasons import ErrorCode, as_exception, raise_if_retriable
from .topics import partition_rows, topic_rows

GROUPS_PER_REQUEST = 200
GROUP_KEY = 0  # the key type of FindCoordinator; 1 is a transactional id
_METADATA, _SINCE_KAFKA_1_0 = 3, 5  # the key of the request, and the version that came with it
T = t.TypeVar("T")
Committed = tuple[dict[str, Commits], dict[str, frozenset[TopicPartition]]]


def known_coordinators(
    connection: Connection, found: t.Mapping[str, tuple[int, int]], skip_denied: bool = False
) -> dict[str, int]:
    """The broker of each group, of what find_coordinators() has found.

    Raises NotAuthorized naming the groups that are denied; skip_denied leaves them out.
    """
    denied = ErrorCode.GROUP_AUTHORIZATION_FAILED
    told = {group: each for group, each in found.items() if not skip_denied or each[1] != denied}
    raise_for_groups(connection, {group: code for group, (_node, code) in told.items()})
    return {group: node for group, (node, _code) in told.items()}


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


def told_coordinators(client: AdminClient, groups: t.Sequence[str]) -> dict[str, int]:
    """The broker of each group, without those that are denied."""
    found = find_coordinators(client, groups)
    for _node, code in found.values():
        raise_if_retriable(code)
    return {group: node for group, (node, code) in found.items() if not code}


def learn_of_coordinators(client: AdminClient, groups: t.Sequence[str]) -> None:
    """Take for offered only what the coordinators of these groups offer, too, but of those that are denied."""
    nodes = sorted(set(told_coordinators(client, groups).values()))
    exchange(client, [Request("Metadata", {"topics": []}, node) for node in nodes])  # connects to them
    client.learn_versions()


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


def all_commits(
    client: AdminClient, connection: Connection, coordinators: t.Mapping[str, int], stable: bool
) -> BrokerQuestion[Committed]:
    """What has each group committed, and for which partitions is a transaction open that does so?"""

    def read(rows: t.Sequence[tuple[str, t.Any]]) -> Committed:
        # Kafka 1.0 has lowered what is needed to DESCRIBE (KIP-163). Its other new requests need not be known to a service.
        operation = "DESCRIBE" if client.offered_versions.get(_METADATA, (0, -1))[1] >= _SINCE_KAFKA_1_0 else "READ"
        raise_for_groups(connection, {group: row.error_code for group, row in rows}, operation)
        return {group: _commits(group, row) for group, row in rows}, {group: _unstable(row) for group, row in rows}

    return _question(client, coordinators, lambda _group: None, stable, 2, read)


def first_commits(
    client: AdminClient, coordinators: t.Mapping[str, int], beside: t.Mapping[str, t.Collection[TopicPartition]]
) -> BrokerQuestion[dict[str, frozenset[TopicPartition]]]:
    """For which of these partitions is a transaction open that commits offsets, of each group that has any?

    Asked for everything, a coordinator leaves out partitions for which nothing was committed before. None where brokers do not
    tell.
    """
    if not can(client, Ability.STABLE_OFFSETS):
        return BrokerQuestion([], lambda _answers: {})

    def asked(group: str) -> list[dict[str, t.Any]]:
        return topic_rows(((at, at.partition) for at in sorted(beside[group])), partitions="partition_indexes")

    def read(rows: t.Sequence[tuple[str, t.Any]]) -> dict[str, frozenset[TopicPartition]]:
        return {group: unstable for group, row in rows if (unstable := _unstable(row))}

    return _question(client, coordinators, asked, True, 7, read)


def _question(
    client: AdminClient,
    coordinators: t.Mapping[str, int],
    topics: t.Callable[[str], list[dict[str, t.Any]] | None],
    stable: bool,
    lowest: int,
    read: t.Callable[[t.Sequence[tuple[str, t.Any]]], T],
) -> BrokerQuestion[T]:
    """Of these groups, each with its coordinator. topics: what is asked of a group, None for all. read: a row for each group.

    lowest: the version that a request for a single group needs.
    """

    def asked(group: str) -> dict[str, t.Any]:
        return {"group_id": group, "topics": topics(group)}

    stably = {"require_stable": stable}
    if can(client, Ability.MANY_GROUPS):
        return BrokerQuestion(
            [
                Request("OffsetFetch", {"groups": list(map(asked, groups)), **stably}, node, 8, 8)
                for node, groups in by_node(coordinators)
            ],
            lambda answers: read([(row.group_id, row) for answer in answers for row in answer.groups]),
        )
    return BrokerQuestion(
        [Request("OffsetFetch", {**asked(group), **stably}, node, lowest, 7) for group, node in coordinators.items()],
        lambda answers: read(list(zip(coordinators, answers, strict=True))),
    )


def _commits(group: str, row: t.Any) -> Commits:
    commits = {}
    for partition, commit in partition_rows(row.topics):
        if commit.error_code not in (0, ErrorCode.UNSTABLE_OFFSET_COMMIT):
            raise as_exception(commit.error_code, f"{group} {partition}")
        if not commit.error_code and commit.committed_offset >= 0:
            epoch = getattr(commit, "committed_leader_epoch", -1)
            commits[partition] = CommittedOffset(
                commit.committed_offset, commit.metadata or "", epoch if epoch >= 0 else None
            )
    return commits


def _unstable(row: t.Any) -> frozenset[TopicPartition]:
    unstable = ErrorCode.UNSTABLE_OFFSET_COMMIT
    return frozenset(partition for partition, commit in partition_rows(row.topics) if commit.error_code == unstable)
