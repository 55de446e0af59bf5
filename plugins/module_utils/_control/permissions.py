# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which ACLs are missing, named before anything is written."""

from __future__ import annotations

import typing as t
import uuid

from .._model.background import at_once
from .._model.connection import Connection
from .._model.errors import BrokerError
from .._model.grouping import values_by_key
from .._model.notes import Note
from .._model.option_names import option_name
from .abilities import Ability, KnownSince, not_told_notes
from .admin_client import AdminClient, Request, can, exchange, missing_part
from .attempts import attempt
from .coordinators import by_node, learn_of_coordinators, told_coordinators
from .reasons import ErrorCode, raise_if_retriable
from .topics import config_rows, request_metadata

# Codes in authorized_operations: those of org.apache.kafka.common.acl.AclOperation.
OPERATIONS = {"READ": 3, "WRITE": 4, "DELETE": 6, "DESCRIBE": 8, "DESCRIBE_CONFIGS": 10, "ALTER_CONFIGS": 11}
_ALL = frozenset(OPERATIONS.values())
_ON_SETTINGS = frozenset({OPERATIONS["DESCRIBE_CONFIGS"], OPERATIONS["ALTER_CONFIGS"]})
TRANSACTIONAL_ID_KEY = 1  # the key type of FindCoordinator


def missing_acls(
    connection: Connection,
    *,
    reads_groups: t.Collection[str] = (),
    commits_groups: t.Collection[str] = (),
    reads_topics: t.Collection[str] = (),
    commits_topics: t.Collection[str] = (),
    deletes_groups: t.Collection[str] = (),
    writes_topics: t.Collection[str] = (),
    transactional_ids: t.Collection[str] = (),
    alters_topics: t.Collection[str] = (),
    deletes_topics: t.Collection[str] = (),
) -> list[str]:
    """Every ACL that the user of this cluster lacks, sorted, such as "GROUP READ on billing".

    reads_groups: DESCRIBE. commits_groups: READ. deletes_groups, which removes single commits too: DELETE.
    reads_topics, their records and settings: READ and DESCRIBE_CONFIGS. commits_topics, those that groups commit for:
    READ. writes_topics, also in transactions that commit offsets for them, with settings that are changed for a while:
    WRITE, READ, DESCRIBE_CONFIGS and ALTER_CONFIGS. transactional_ids: WRITE, which is taken as given where the user has
    DESCRIBE, since brokers tell no more without beginning a transaction. alters_topics, whose settings are read and changed:
    DESCRIBE_CONFIGS and ALTER_CONFIGS. deletes_topics, after their records were read: DELETE and READ.
    Without an authorizer nothing is missing, nor for a topic that does not exist, nor what brokers do not tell (not_told()),
    but for what is denied altogether. Groups need not exist.
    """
    groups = _needs((reads_groups, {"DESCRIBE"}), (commits_groups, {"READ"}), (deletes_groups, {"DELETE"}))
    topics = _needs(
        (reads_topics, {"READ", "DESCRIBE_CONFIGS"}),
        (commits_topics, {"READ"}),
        (writes_topics, {"WRITE", "READ", "DESCRIBE_CONFIGS", "ALTER_CONFIGS"}),
        (alters_topics, {"DESCRIBE_CONFIGS", "ALTER_CONFIGS"}),
        (deletes_topics, {"DELETE", "READ"}),
    )
    transactions = _needs((transactional_ids, {"WRITE"}))

    def read(client: AdminClient) -> list[str]:
        on_groups, on_topics = at_once(
            lambda: _allowed_on_groups(client, sorted(groups)), lambda: _allowed_on_topics(client, sorted(topics))
        )
        in_transactions = _allowed_in_transactions(client, transactions)
        return sorted(
            f"{kind} {operation} on {name}"
            for kind, needs, allowed in (
                ("GROUP", groups, on_groups),
                ("TOPIC", topics, on_topics),
                ("TRANSACTIONAL_ID", transactions, in_transactions),
            )
            for name, operations in needs.items()
            for operation in operations
            if OPERATIONS[operation] not in allowed[name]
        )

    return attempt(connection, read) if groups or topics or transactions else []


def missing_topic_acls(connection: Connection, operation: str, topics: t.Collection[str]) -> list[str]:
    """The same of one operation on topics."""
    if not topics:
        return []
    allowed = attempt(connection, lambda client: _allowed_on_topics(client, sorted(topics)))
    return [f"TOPIC {operation} on {name}" for name in sorted(topics) if OPERATIONS[operation] not in allowed[name]]


def sees_every_topic(connection: Connection, nobody_s: str | None = None) -> bool:
    """May the user describe any topic? Only then an OffsetFetch tells all that a group has committed.

    It is not noticed if an ACL denies single topics.

    nobody_s: the name of a topic that is not there, to be asked about.

    Brokers say of a topic that nobody has that it does not exist, but to users who might not describe it that they may not.
    """
    rows = attempt(connection, lambda client: request_metadata(client, [nobody_s or uuid.uuid4().hex]).topics)
    return [row.error_code for row in rows] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def not_told(needs: t.Iterable[tuple[Connection, t.Sequence[Ability]]]) -> list[Note]:
    """One note of those of these abilities that the brokers of the clusters do not offer, with what follows."""
    return not_told_notes({str(connection): not_offered(connection, *abilities) for connection, abilities in needs})


def copy_obstacles(destination: Connection, groups: t.Collection[str] = ()) -> list[BrokerError]:
    """The first reason why a backlog cannot be copied to these brokers. groups: those that tell the progress of the copy.

    Where nobody tells that a transaction is about to end, the progress of a copy may be read too early.
    """
    remedy = "copy the backlog to brokers of Kafka 2.5 or newer, or let a replication tool copy it"
    needs = not_offered(destination, Ability.TRANSACTIONS, Ability.STABLE_OFFSETS, groups=groups)
    return [need.refusal(str(destination), remedy=remedy) for need in needs[:1]]


def removal_obstacles(source: Connection) -> list[BrokerError]:
    """Why these brokers cannot remove groups."""
    option = option_name("remove_source_groups")
    remedy = f"leave {option} out: the old groups stay until they expire (offsets.retention.minutes)"
    return [need.refusal(str(source), remedy=remedy) for need in not_offered(source, Ability.REMOVE_GROUPS)]


def not_offered(connection: Connection, *abilities: Ability, groups: t.Collection[str] = ()) -> list[KnownSince]:
    """Those of these that the brokers do not offer, as far as they are known. groups: their coordinators are asked, too."""

    def read(client: AdminClient) -> list[KnownSince]:
        if groups:
            learn_of_coordinators(client, sorted(groups))
        return [need for each in abilities if (need := missing_part(client, each))]

    return attempt(connection, read)


def _needs(*pairs: tuple[t.Collection[str], set[str]]) -> dict[str, set[str]]:
    needs = values_by_key((name, operations) for names, operations in pairs for name in names)
    return {name: set[str]().union(*several) for name, several in needs.items()}


def _allowed_on_groups(client: AdminClient, groups: t.Sequence[str]) -> dict[str, t.Collection[int]]:
    """What the user may do with each group. Without DESCRIBE nothing, for every other operation implies that.

    Version 5 of the request tells the operations on groups of every type and on ones that do not exist; version 6 answers
    with an error, and no operations, for what it does not call a classic group.
    """
    allowed: dict[str, t.Collection[int]] = {group: set() for group in groups}
    coordinators = told_coordinators(client, groups)
    if not can(client, Ability.MEMBERS):
        return allowed | dict.fromkeys(coordinators, _ALL)
    asked = [
        Request("DescribeGroups", {"groups": list(names), "include_authorized_operations": True}, node, highest=5)
        for node, names in by_node(coordinators)
    ]
    for answer in exchange(client, asked):
        for row in answer.groups:
            raise_if_retriable(row.error_code)
            allowed[row.group_id] = _told(row, ErrorCode.GROUP_AUTHORIZATION_FAILED)
    return allowed


def _allowed_on_topics(client: AdminClient, topics: t.Sequence[str]) -> dict[str, t.Collection[int]]:
    """The same for topics, but that no operation on settings implies DESCRIBE.

    One that does not exist has no ACLs to miss: a broker hides that from the unauthorized.
    """
    allowed: dict[str, t.Collection[int]] = {}
    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    for row in request_metadata(client, topics, with_operations=True).topics if topics else ():
        if row.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            allowed[row.name] = _ALL
        else:
            raise_if_retriable(row.error_code)
            allowed[row.name] = _told(row, denied)
    hidden = [name for name, operations in allowed.items() if not operations]
    for row in config_rows(client, hidden, ["cleanup.policy"]) if hidden and can(client, Ability.CONFIGS) else ():
        raise_if_retriable(row.error_code)
        if row.error_code != denied:
            allowed[row.resource_name] = _ON_SETTINGS
    return allowed


def _told(row: t.Any, denied: int) -> t.Collection[int]:
    """The operations of an answer. None is not told (KIP-430), also in versions without the field; that is not denied."""
    if row.error_code == denied:
        return set()
    return _ALL if row.authorized_operations is None else set(row.authorized_operations)


def _allowed_in_transactions(client: AdminClient, names: t.Collection[str]) -> dict[str, t.Collection[int]]:
    """Nothing, or whatever may be needed, for each transactional id: see missing_acls()."""
    asked = [
        Request("FindCoordinator", {"key": name, "key_type": TRANSACTIONAL_ID_KEY}, lowest=1, highest=3)
        for name in names
    ]
    allowed: dict[str, t.Collection[int]] = {}
    for name, answer in zip(names, exchange(client, asked), strict=True):
        raise_if_retriable(answer.error_code)
        denied = answer.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        allowed[name] = set() if denied else _ALL
    return allowed
