# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Kafka's ACLs, as values that can be compared, shown and written to a file."""

from __future__ import annotations

import typing as t

from .errors import InvalidInput
from .file_rows import one_of
from .wording import first_of

TOPIC, GROUP, TRANSACTIONAL_ID = "TOPIC", "GROUP", "TRANSACTIONAL_ID"
LITERAL, PREFIXED = "LITERAL", "PREFIXED"
ALLOW, DENY = "ALLOW", "DENY"
OPERATIONS = (  # in the order of the codes of org.apache.kafka.common.acl.AclOperation
    "ALL", "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "CLUSTER_ACTION", "DESCRIBE_CONFIGS", "ALTER_CONFIGS",
    "IDEMPOTENT_WRITE", "CREATE_TOKENS", "DESCRIBE_TOKENS", "TWO_PHASE_COMMIT",
)  # fmt: skip
EVERY = "*"  # as the name of a literal resource: all of its type


class Acl(t.NamedTuple):
    """Who may, or must not, do what with which resource, in Kafka's own words: AclBinding of its Java client.

    resource: TOPIC, GROUP or TRANSACTIONAL_ID. pattern: LITERAL or PREFIXED. principal: with its type, such as User:billing.
    """

    resource: t.Annotated[str, one_of(TOPIC, GROUP, TRANSACTIONAL_ID)]
    name: str
    pattern: t.Annotated[str, one_of(LITERAL, PREFIXED)]
    principal: str
    host: str
    operation: t.Annotated[str, one_of(*OPERATIONS)]
    permission: t.Annotated[str, one_of(ALLOW, DENY)]

    def __str__(self) -> str:
        name = f"{self.name}*" if self.pattern == PREFIXED else self.name
        host = "" if self.host == EVERY else f" from {self.host}"
        return f"{self.permission} {self.operation} on {self.resource} {name} for {self.principal}{host}"


def acls_text(acls: t.Iterable[Acl]) -> str:
    """The first of these ACLs in a message, and how many more there are."""
    return first_of([str(acl) for acl in acls])


def check_principal(text: str, told: str) -> None:
    """Raise InvalidInput for what is no principal with its type, such as User:billing. told: where it comes from.

    Kafka compares every letter and blank, and would take an ACL for user:billing, which is about nobody.
    """
    kind, _colon, name = text.partition(":")
    is_whole = all(part and part == part.strip() for part in (kind, name))
    if not is_whole or (kind != "User" and kind.lower() == "user"):
        is_part = "=" in text and "," not in text  # of a distinguished name
        hint = "; Ansible splits a text at commas, so give a principal with a comma in a list" if is_part else ""
        raise InvalidInput(f"{told} is no principal", remedy=f"give it with its type, such as User:billing{hint}")
