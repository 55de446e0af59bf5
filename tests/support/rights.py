"""ACLs of a secured cluster, of its user migrator if nobody else is named."""

import contextlib
import time
import typing as t

from kafka.admin import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    KafkaAdminClient,
    ResourcePattern,
    ResourceType,
)

from testbed.clients import SECONDS, Servers


def rights_of(group: str, topic: str) -> dict[str, set[str]]:
    """What a migration of this group needs, on the source and on the destination."""
    read = {f"GROUP DESCRIBE on {group}", f"TOPIC READ on {topic}", f"TOPIC DESCRIBE_CONFIGS on {topic}"}
    return {"source": read, "destination": (read | {f"GROUP READ on {group}"}) - {f"GROUP DESCRIBE on {group}"}}


def grant(cluster: Servers, rights: t.Iterable[str], principal: str = "User:migrator", address: str = "*") -> None:
    """Allow what texts such as "GROUP READ on billing" say, and wait until the brokers know.

    A name that ends with * stands for all that begin with it. address: from which the principal has to come.
    """
    acls = _acls(rights, principal, address)
    with contextlib.closing(KafkaAdminClient(bootstrap_servers=list(cluster.bootstrap_servers))) as client:
        assert not client.create_acls(acls)["failed"]
        deadline = time.monotonic() + SECONDS
        for acl in acls:
            while not client.describe_acls(acl)[0]:
                assert time.monotonic() < deadline, f"{acl} did not come"
                time.sleep(0.05)


def revoke(cluster: Servers, rights: t.Iterable[str], principal: str = "User:migrator") -> None:
    """Take back what grant() has allowed, and wait until the brokers know."""
    acls = _acls(rights, principal)
    with contextlib.closing(KafkaAdminClient(bootstrap_servers=list(cluster.bootstrap_servers))) as client:
        client.delete_acls(acls)
        deadline = time.monotonic() + SECONDS
        for acl in acls:
            while client.describe_acls(acl)[0]:
                assert time.monotonic() < deadline, f"{acl} did not go"
                time.sleep(0.05)


def _acls(rights: t.Iterable[str], principal: str, address: str = "*") -> list[ACL]:
    acls = []
    for right in rights:
        kind, operation, _on, name = right.split(" ")
        pattern = ACLResourcePatternType.PREFIXED if name.endswith("*") else ACLResourcePatternType.LITERAL
        resource = ResourcePattern(ResourceType[kind], name.removesuffix("*"), pattern)
        acls.append(ACL(principal, address, ACLOperation[operation], ACLPermissionType.ALLOW, resource))
    return acls
