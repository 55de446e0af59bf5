# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which ACLs take access away from clients that they do not name, although they are only added. Pure.

Where no ACL is about a resource, brokers let everybody in if allow.everyone.if.no.acl.found is true; the first ACL ends that:
org.apache.kafka.metadata.authorizer.StandardAuthorizerData. An ACL that denies something to everybody concerns the replication
tool and the user of the run, too.
"""

from __future__ import annotations

import typing as t

from ..._model.acls import DENY, EVERY, LITERAL, Acl, acls_text
from ..._model.errors import Refused
from ..._model.failure_kinds import FailureKind
from ..._model.notes import Note, NoteKind
from ..._model.option_names import option_name
from ..._model.policies import OnLockout


def check_lockout(
    added: t.Iterable[Acl], destination: t.Collection[Acl], is_open: bool, on_lockout: OnLockout, cluster: str
) -> list[Note]:
    """A note of the ACLs that lock clients out; with fail, raises Refused where there is one.

    destination: the ACLs that are there. is_open: whether brokers may let everybody in where there are none.
    """
    acls = sorted(added)
    denying = [acl for acl in acls if acl.permission == DENY and acl.principal.partition(":")[2] == EVERY]
    reasons = _first_reasons(acls, destination, is_open)
    if denying:
        reasons.append(
            f"{acls_text(denying)}: everybody loses this access, the replication tool and the user of this run, too"
        )
    return _notes(reasons, on_lockout, cluster, ", at the destination,")


def check_first_acls(
    added: t.Iterable[Acl], existing: t.Collection[Acl], is_open: bool, on_lockout: OnLockout, cluster: str
) -> list[Note]:
    """The same for ACLs that are meant to deny something to everybody: only those that are the first ones count."""
    return _notes(_first_reasons(sorted(added), existing, is_open), on_lockout, cluster, "")


def _first_reasons(acls: t.Sequence[Acl], existing: t.Collection[Acl], is_open: bool) -> list[str]:
    first = [acl for acl in acls if is_open and not any(_concerns(other, acl) for other in existing)]
    if not first:
        return []
    text = (
        f"{acls_text(first)}: nothing else is granted there, and brokers may let everybody in where there is no ACL "
        "(allow.everyone.if.no.acl.found): all clients without an ACL of their own lose access to these resources, the "
        "replication tool and the user of this run among them"
    )
    return [text]


def _notes(reasons: t.Sequence[str], on_lockout: OnLockout, cluster: str, addition: str) -> list[Note]:
    if reasons and on_lockout is OnLockout.FAIL:
        raise Refused(
            f"ACLs would lock clients out: {'; and '.join(reasons)}",
            cluster=cluster,
            remedy=f"first grant{addition} what the other clients of these resources need, the replication tool and "
            f"the user of this run among them; then set {option_name('on_lockout')} to add",
            kind=FailureKind.ACL_LOCKOUT,
        )
    return [Note(NoteKind.ACL_LOCKOUT, f"{reason[0].upper()}{reason[1:]}.") for reason in reasons]


def _concerns(other: Acl, acl: Acl) -> bool:
    """Is the other ACL about all resources that this one is about?"""
    if other.resource != acl.resource:
        return False
    if other.pattern == LITERAL:
        return other.name == EVERY or (acl.pattern == LITERAL and other.name == acl.name)
    return acl.name.startswith(other.name)
