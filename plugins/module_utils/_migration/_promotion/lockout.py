# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which ACLs take access away from clients that they do not name, although they are only added. Pure.

Where no ACL is about a resource, brokers let everybody in if allow.everyone.if.no.acl.found is true; the first ACL ends that:
org.apache.kafka.metadata.authorizer.StandardAuthorizerData. An ACL that denies something to everybody concerns the replication
tool and the user of the run, too.
"""

from __future__ import annotations

import typing as t

from ..._model.acls import DENY, EVERY, LITERAL, PREFIXED, TOPIC, Acl, acls_text
from ..._model.errors import AclLockout
from ..._model.notes import Note, NoteKind
from ..._model.option_names import option_name
from ..._model.policies import OnLockout

OPEN = "brokers may let everybody in where there is no ACL (allow.everyone.if.no.acl.found)"


def check_lockout(
    added: t.Iterable[Acl], destination: t.Collection[Acl], is_open: bool, on_lockout: OnLockout, cluster: str
) -> list[Note]:
    """Notes of the ACLs that lock clients out; with fail, raises Refused where one locks out clients that it does not name.

    destination: the ACLs that are there. is_open: whether brokers may let everybody in where there are none.
    """
    acls = sorted(added)
    lockouts = _first_acls(acls, destination, is_open, ", at the destination,")
    denying = [acl for acl in acls if acl.permission == DENY and is_everybody(acl) and acl.host == EVERY]
    if denying:
        reason = (
            f"{acls_text(denying)}: everybody loses this access, the replication tool and the user of this run, too"
        )
        lockouts[reason] = (
            f"set {option_name('fence_receipt')} to the receipt of the fence if a fence at the source has made it, or "
            f"delete it at the source; no grant helps, because an ACL that denies something wins; set "
            f"{option_name('on_lockout')} to add only if nobody is to have this access"
        )
    notes = _notes(lockouts, on_lockout, cluster)
    alike = [
        acl
        for acl in acls
        if (acl.permission, acl.resource, acl.pattern) == (DENY, TOPIC, LITERAL)
        and acl.operation in ("READ", "WRITE")
        and acl not in denying
    ]
    if alike:  # somebody may have made them at the source only to keep clients from it that have moved
        text = (
            f"What the source denies is denied at the destination, too: {acls_text(alike)}. If that is a fence of the source, "
            f"delete these ACLs at the destination, and set {option_name('fence_receipt')} to the receipt of the fence."
        )
        notes.append(Note(NoteKind.ACL_LOCKOUT, text))
    return notes


def is_everybody(acl: Acl) -> bool:
    """Whether the ACL is about all users."""
    return acl.principal.partition(":")[2] == EVERY


def check_first_acls(
    added: t.Iterable[Acl], existing: t.Collection[Acl], is_open: bool, on_lockout: OnLockout, cluster: str
) -> list[Note]:
    """The same for ACLs that are meant to deny something to everybody: only those that are the first ones count."""
    return _notes(_first_acls(sorted(added), existing, is_open, ""), on_lockout, cluster)


def only_acls(acls: t.Iterable[Acl], others: t.Collection[Acl], is_open: bool) -> list[Acl]:
    """Those of these ACLs without which brokers may let everybody in, because no other one is about their resources."""
    if not is_open:
        return []
    named = {other[:3] for other in others}  # resource, name and pattern: to compare each with each took 20 s
    lengths = sorted({len(name) for _resource, name, pattern in named if pattern != LITERAL})

    def is_alone(acl: Acl) -> bool:
        prefixes = (acl._replace(name=acl.name[:length], pattern=PREFIXED) for length in lengths)
        others_of_it = (acl._replace(name=EVERY, pattern=LITERAL), acl, *prefixes)
        return not any(other[:3] in named and concerns(other, acl) for other in others_of_it)

    return [acl for acl in acls if is_alone(acl)]


def _first_acls(acls: t.Sequence[Acl], existing: t.Collection[Acl], is_open: bool, place: str) -> dict[str, str]:
    """Which ACLs lock whom out, and what to do about it."""
    first = only_acls(acls, existing, is_open)
    if not first:
        return {}
    text = (
        f"{acls_text(first)}: nothing else is granted there, and {OPEN}: all clients without an ACL of their own lose "
        "access to these resources, the replication tool and the user of this run among them"
    )
    remedy = (
        f"first grant{place} what the other clients of these resources need, the replication tool and "
        f"the user of this run among them; then set {option_name('on_lockout')} to add"
    )
    return {text: remedy}


def _notes(lockouts: t.Mapping[str, str], on_lockout: OnLockout, cluster: str) -> list[Note]:
    if lockouts and on_lockout is OnLockout.FAIL:
        raise AclLockout(
            f"ACLs would lock clients out: {'; and '.join(lockouts)}",
            cluster=cluster,
            remedy=". ".join(remedy[0].upper() + remedy[1:] for remedy in reversed([*lockouts.values()])),
        )
    return [Note(NoteKind.ACL_LOCKOUT, f"{reason[0].upper()}{reason[1:]}.") for reason in lockouts]


def concerns(other: Acl, acl: Acl) -> bool:
    """Is the other ACL about all resources that this one is about?"""
    if other.resource != acl.resource:
        return False
    if other.pattern == LITERAL:
        return other.name == EVERY or (acl.pattern == LITERAL and other.name == acl.name)
    return acl.name.startswith(other.name)
