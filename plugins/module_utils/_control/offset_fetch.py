# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What groups have committed, as their coordinators tell: of hundreds in one request where brokers can do that."""

from __future__ import annotations

import typing as t

from .._model.connection import Connection
from .._model.group_state import Commits, CommittedOffset
from .._model.records import TopicPartition
from .abilities import Ability
from .admin_client import AdminClient, BrokerQuestion, Request, can
from .coordinators import by_node, raise_for_groups
from .reasons import ErrorCode, as_exception
from .topics import topic_rows

_METADATA, _SINCE_KAFKA_1_0 = 3, 5  # the key of the request, and the version that came with it
T = t.TypeVar("T")
Committed = tuple[dict[str, Commits], dict[str, frozenset[TopicPartition]]]


def all_commits(
    client: AdminClient, connection: Connection, coordinators: t.Mapping[str, int], stable: bool
) -> BrokerQuestion[Committed]:
    """What has each group committed, and for which partitions is a transaction open that does so?"""

    def read(rows: t.Sequence[tuple[str, t.Any]]) -> Committed:
        # Kafka 1.0 has lowered what is needed to DESCRIBE (KIP-163). Its other new requests need not be known to a service.
        operation = "DESCRIBE" if client.offered_versions.get(_METADATA, (0, -1))[1] >= _SINCE_KAFKA_1_0 else "READ"
        raise_for_groups(connection, {group: row.error_code for group, row in rows}, operation)
        both = {group: _commits(group, row) for group, row in rows}
        return {group: each[0] for group, each in both.items()}, {group: each[1] for group, each in both.items()}

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
        unstable_by_group = {group: frozenset(_unstable(row)) for group, row in rows}
        return {group: unstable for group, unstable in unstable_by_group.items() if unstable}

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


def _commits(group: str, row: t.Any) -> tuple[Commits, frozenset[TopicPartition]]:
    commits, unstable = {}, []
    for partition, commit in _partitions(row):
        if commit.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT:
            unstable.append(partition)
        elif commit.error_code:
            raise as_exception(commit.error_code, f"{group} {partition}")
        elif commit.committed_offset >= 0:
            epoch = getattr(commit, "committed_leader_epoch", -1)
            commits[partition] = CommittedOffset(
                commit.committed_offset, commit.metadata or "", epoch if epoch >= 0 else None
            )
    return commits, frozenset(unstable)


def _unstable(row: t.Any) -> t.Iterator[TopicPartition]:
    return (
        partition for partition, commit in _partitions(row) if commit.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT
    )


def _partitions(row: t.Any) -> t.Iterator[tuple[TopicPartition, t.Any]]:
    for topic in row.topics:
        for partition in topic.partitions:
            yield TopicPartition(topic.name, partition.partition_index), partition
