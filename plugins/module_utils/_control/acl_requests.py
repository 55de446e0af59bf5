# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""A cluster's ACLs on topics, groups and transactional ids: lists, creates and deletes them."""

from __future__ import annotations

import typing as t

from .._model.acls import ALLOW, DENY, OPERATIONS, Acl, acls_text
from .._model.connection import Connection
from .._model.errors import BrokerError, NotAuthorized, OptionRefused
from .._model.grouping import chunks
from .._model.option_names import option_name, ways
from .abilities import Ability
from .admin_client import AdminClient, Request, can, exchange
from .attempts import attempt, attempt_until
from .reasons import ErrorCode, as_exception, broker_words, raise_if_retriable
from .topics import broker_ids

# Codes of org.apache.kafka.common: resource.ResourceType, resource.PatternType, acl.AclOperation, acl.AclPermissionType.
ANY = 1
_RESOURCES = {2: "TOPIC", 3: "GROUP", 5: "TRANSACTIONAL_ID"}
_PATTERNS = {3: "LITERAL", 4: "PREFIXED"}
_OPERATIONS = dict(enumerate(OPERATIONS, 2))
_PERMISSIONS = {2: "DENY", 3: "ALLOW"}
_CODES = {name: code for names in (_RESOURCES, _PATTERNS, _OPERATIONS, _PERMISSIONS) for code, name in names.items()}
_FIELDS = (
    "resource_type", "resource_name", "resource_pattern_type", "principal", "host", "operation", "permission_type",
)  # fmt: skip
_FILTER_FIELDS = (
    "resource_type_filter", "resource_name_filter", "pattern_type_filter", "principal_filter", "host_filter", "operation",
    "permission_type",
)  # fmt: skip
_EVERY = (ANY, None, ANY, None, None, ANY, ANY)  # what _values() would give of all ACLs
# A request, what it calls its rows, their fields, what its answer calls the results, and what is done to the ACLs.
_CREATION = ("CreateAcls", "creations", _FIELDS, "results", "created")
_DELETION = ("DeleteAcls", "filters", _FILTER_FIELDS, "filter_results", "deleted")
ACLS_PER_REQUEST = 500  # a KRaft controller takes at most 10,000 records in one go
SHOWN_SECONDS = 10.0


def list_acls(connection: Connection) -> frozenset[Acl]:
    """Every ACL on topics, groups and transactional ids.

    Raises NotAuthorized without ACL CLUSTER DESCRIBE, and Refused for a cluster without an authorizer, which has no ACLs.
    """
    return attempt(connection, lambda client: _listed(client, connection, None))


def missing_cluster_acls(connection: Connection, *operations: str) -> list[str]:
    """Those of these operations on the cluster that the user is not allowed, such as "CLUSTER ALTER on kafka-cluster".

    Without ACL CLUSTER DESCRIBE, which every other implies, all of them. Source of the request: KIP-700, Kafka 2.8.
    """

    def read(client: AdminClient) -> t.Collection[int]:
        if not can(client, Ability.CLUSTER_OPERATIONS):
            return _OPERATIONS  # not told is not denied
        (answer,) = exchange(client, [Request("DescribeCluster", {"include_cluster_authorized_operations": True})])
        raise_if_retriable(answer.error_code)
        return _OPERATIONS if answer.authorized_operations is None else set(answer.authorized_operations)

    allowed = attempt(connection, read)
    return [f"CLUSTER {each} on kafka-cluster" for each in operations if _CODES[each] not in allowed]


def create_acls(connection: Connection, acls: t.Collection[Acl]) -> None:
    """Create these ACLs; one that is there already stays. Returns when every broker that is up shows them.

    What denies comes first: if this is killed halfway, nobody may do what somebody has forbidden.
    """
    for permission in (DENY, ALLOW):
        _change(connection, sorted(acl for acl in acls if acl.permission == permission), creates=True)


def delete_acls(connection: Connection, acls: t.Collection[Acl]) -> None:
    """Delete exactly these ACLs; one that is not there is what was wanted. Returns when no broker that is up shows them.

    What denies goes last, as it comes first in create_acls().
    """
    for permission in (ALLOW, DENY):
        _change(connection, sorted(acl for acl in acls if acl.permission == permission), creates=False)


def _change(connection: Connection, acls: t.Sequence[Acl], *, creates: bool) -> None:
    """Create or delete these ACLs.

    Raises NotAuthorized, or BrokerError for the first ACL that is refused, while the others are changed all the same, or if
    brokers do not show within SHOWN_SECONDS what takes access away.
    """
    name, array, fields, results, done = _CREATION if creates else _DELETION
    rows = [dict(zip(fields, _values(acl), strict=True)) for acl in acls]
    # Version 0 knows no prefixed ACLs, and would create one for the prefix itself.
    lowest = 1 if creates and any(acl.pattern != "LITERAL" for acl in acls) else None
    requests = [Request(name, {array: part}, lowest=lowest) for part in chunks(rows, ACLS_PER_REQUEST)]

    def change(client: AdminClient) -> None:
        rows = [row for answer in exchange(client, requests) for row in getattr(answer, results)]
        # A filter of DeleteAcls has one error for itself, and one for each ACL that it matches.
        answers = [
            (acl, part)
            for acl, row in zip(acls, rows, strict=True)
            for part in (row, *getattr(row, "matching_acls", ()))
        ]
        for acl, row in answers:
            _raise_for_cluster(connection, row.error_code, "ALTER")
            raise_if_retriable(row.error_code)
            if row.error_code:
                raise BrokerError(
                    f"the ACL {acl} cannot be {done}",
                    cluster=str(connection),
                    why=broker_words(row),
                    remedy="remove the cause, and run again: what is done stays",
                )

    shown_by: set[int] = set()  # of many ACLs, a list takes seconds: no broker is asked again

    def shown(client: AdminClient) -> bool:
        nodes = broker_ids(client)
        for node in set(nodes) - shown_by:
            listed = _listed(client, connection, node)
            if all((acl in listed) == creates for acl in acls):
                shown_by.add(node)
        return shown_by.issuperset(nodes)

    if acls:
        attempt(connection, change)
        # What an authorizer shows of an ACL that allows something need not be equal to it, and harms nobody if it comes late.
        grants = creates and all(acl.permission == ALLOW for acl in acls)
        if not attempt_until(connection, shown, SHOWN_SECONDS) and not grants:
            raise BrokerError(
                f"brokers do not show after {SHOWN_SECONDS:.0f} s that ACLs were {done}: {acls_text(acls)}",
                cluster=str(connection),
                why="a broker lags, and goes by the ACLs from before",
                remedy="check the controller and the brokers, and run again: what is done stays",
            )


def _values(acl: Acl) -> tuple[int | str, ...]:
    """Of the fields that requests have for an ACL."""
    codes = (_CODES[acl.operation], _CODES[acl.permission])
    return _CODES[acl.resource], acl.name, _CODES[acl.pattern], acl.principal, acl.host, *codes


def _listed(client: AdminClient, connection: Connection, node: int | None) -> frozenset[Acl]:
    (answer,) = exchange(client, [Request("DescribeAcls", dict(zip(_FILTER_FIELDS, _EVERY, strict=True)), node)])
    _raise_for_cluster(connection, answer.error_code, "DESCRIBE")
    raise_if_retriable(answer.error_code)
    if answer.error_code:
        raise as_exception(answer.error_code, answer.error_message)
    return frozenset(
        Acl(
            _RESOURCES[resource.resource_type],
            resource.resource_name,
            _PATTERNS[resource.pattern_type],
            acl.principal,
            acl.host,
            _OPERATIONS[acl.operation],
            _PERMISSIONS[acl.permission_type],
        )
        for resource in answer.resources
        if resource.resource_type in _RESOURCES
        for acl in resource.acls
        if acl.operation in _OPERATIONS
    )


def _raise_for_cluster(connection: Connection, code: int, operation: str) -> None:
    if code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        raise NotAuthorized(
            f"needs ACL CLUSTER {operation} on kafka-cluster",
            cluster=str(connection),
            remedy=ways(("", f"{NotAuthorized.usual_remedy}"), ("acls", f"set {option_name('acls')} to none")),
        )
    if code == ErrorCode.SECURITY_DISABLED:
        raise OptionRefused(
            "the cluster has no authorizer, so it has no ACLs",
            cluster=str(connection),
            remedy=ways(
                ("acls", f"set {option_name('acls')} to none"),
                (
                    "principals",
                    "instead of fencing the topics, stop the producers, change their passwords, or close the network to them",
                ),
            ),
        )
