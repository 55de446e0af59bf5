# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Use case: producers must not write to topics of a cluster any more, by ACLs that deny it.

An ACL that denies something wins over every one that allows it, so one for User:* has no exceptions but super users, who
need no ACL: org.apache.kafka.metadata.authorizer.StandardAuthorizerData.
"""

from __future__ import annotations

import time
import typing as t

from ..._control import positions, topics
from ..._control.acl_requests import list_acls
from ..._model.acls import DENY, EVERY, LITERAL, TOPIC, Acl, acls_text, check_principal
from ..._model.connection import Connection
from ..._model.errors import InvalidInput, NotFound, Refused
from ..._model.failure_kinds import FailureKind
from ..._model.faults import all_done
from ..._model.mapping import Mapping
from ..._model.notes import Note, NoteKind
from ..._model.option_names import option_name
from ..._model.policies import OnLockout, OnStillWritten
from ..._model.promotion import check_selection
from ..._model.records import every_partition
from ..._model.selection import Selection, name_hint
from ..._model.topic_plan import ADD, AclChange, TopicPlan
from ..._model.topic_receipt import PromotionReceipt
from ..._model.visible_text import quoted
from ..still_written import StillWritten, grown_topics
from . import lockout, naming, survey, trial

_EVERYBODY = f"User:{EVERY}"
_LOOKS = 3  # what was on its way when the fence was made comes to its end before the last look


class FenceOptions(t.NamedTuple):
    """principals: who must not write. read_principals: who must not read, which is never everybody."""

    principals: tuple[str, ...]
    read_principals: tuple[str, ...]
    on_lockout: OnLockout

    def check(self, connection: Connection) -> None:
        """Raise InvalidInput for options that cannot be meant."""
        for option, names in (("principals", self.principals), ("read_principals", self.read_principals)):
            for name in names:
                check_principal(name, f"{option_name(option)}: {quoted(name)}")
        if not self.principals and not self.read_principals:
            raise InvalidInput(
                f"{option_name('principals')} is empty",
                remedy=f"name who must not write; {_EVERYBODY} means everybody",
                kind=FailureKind.NOTHING_SELECTED,
            )
        if _EVERYBODY in self.read_principals:
            raise InvalidInput(
                f"{option_name('read_principals')} has {_EVERYBODY}",
                why="the replication tool and the migration read these topics",
                remedy="name the principals that must not read",
            )
        own = f"User:{connection.sasl_username}"
        if connection.sasl_username and own in self.read_principals:
            raise InvalidInput(
                f"{option_name('read_principals')} has {own}, the user of this run",
                why="the migration reads these topics with it",
                remedy=f"take it out of {option_name('read_principals')}",
            )


def plan_fence(
    cluster: Connection, selection: Selection, options: FenceOptions, receipt: PromotionReceipt
) -> tuple[TopicPlan, list[str], list[Note]]:
    """The ACLs that are missing, the selected topics, and notes. Nothing is written.

    Raises NotFound for topics that do not exist, and Refused for a cluster without an authorizer, and for ACLs that lock out
    clients whom they do not name.
    """
    all_done(lambda: check_selection(selection), lambda: options.check(cluster))
    selected = naming.pairs(selection, Mapping(), topics.list_topics(cluster), str(cluster))
    names = sorted(selected.names)
    existing = list_acls(cluster)
    wanted = [*_denied(names, options.principals, "WRITE"), *_denied(names, options.read_principals, "READ")]
    added = [acl for acl in wanted if acl not in existing]
    is_open = bool(added) and survey.may_be_open(cluster)
    notes = list(selected.notes)
    others = [acl for acl in wanted if acl in existing and acl not in receipt.acls]
    if others:
        text = f"These ACLs were there before this fence, and stay when it is lifted: {acls_text(others)}."
        notes.append(Note(NoteKind.ACL_CHANGED, text))
    notes += lockout.check_first_acls(added, existing, is_open, options.on_lockout, str(cluster))
    cluster_id = topics.cluster_id(cluster)
    plan = TopicPlan(cluster_id, cluster_id, acls=tuple(AclChange(acl, ADD) for acl in sorted(added)))
    trial.check(cluster, plan)
    return plan, names, notes


def look_beyond(cluster: Connection, names: t.Collection[str], seconds: float) -> list[StillWritten]:
    """The topics that still grow despite the fence, between two looks that are so many seconds apart."""
    counts = topics.partition_counts(cluster, names)
    partitions = every_partition(counts)
    grown: list[StillWritten] = []
    before = positions.log_ends(cluster, partitions)
    for _look in range(_LOOKS):
        time.sleep(seconds)
        now = positions.log_ends(cluster, partitions)
        grown = grown_topics(cluster, before, now)
        if not grown:
            break
        before = now
    return grown


def told(cluster: Connection, passing: t.Sequence[StillWritten], policy: OnStillWritten) -> list[Note]:
    """Who passes by, as a note; with fail, raises Refused."""
    if not passing:
        return []
    what = f"producers still write despite the fence: {'; '.join(map(str, passing))}"
    why = "super users ignore ACLs, and a transaction that was open before ends with a record of its own"
    if policy == OnStillWritten.FAIL:
        raise Refused(
            what,
            cluster=str(cluster),
            topic=passing[0].topic,
            why=why,
            remedy="stop these producers, or lift the fence; or "
            f"set {option_name('on_still_written')} to note if they may go on",
            kind=FailureKind.STILL_WRITTEN,
        )
    return [Note(NoteKind.STILL_WRITTEN, f"{what[0].upper()}{what[1:]}, because {why}.")]


def not_lifted(
    cluster: Connection, selection: Selection, receipt: PromotionReceipt
) -> tuple[dict[Acl, bool], list[Note]]:
    """The ACLs of the receipt that stay when the fence is lifted from the selected topics; none stay where none are selected.

    The notes are of these, and of what else denies writing to the topics that are named. Raises NotFound for a topic that is
    named, but that neither the fence nor the cluster has.
    """
    selection.check_words()
    fenced = {acl.name for acl in receipt.acls}
    unknown = [name for name in selection.topics if name not in fenced]
    missing = sorted(set(unknown) - set(topics.list_topics(cluster))) if unknown else []
    if missing:
        raise NotFound(
            f"neither the fence nor the cluster has {', '.join(missing)}",
            cluster=str(cluster),
            remedy=f"correct {option_name('topics')}{name_hint('topics', missing, sorted(fenced))}",
        )
    has_selection = selection.topics or selection.topic_patterns
    chosen = selection.select_topics(fenced).names if has_selection else fenced
    stays = {acl: before for acl, before in receipt.acls.items() if acl.name not in chosen}
    told = [
        ("These ACLs of the fence stay, because their topics are not selected", sorted(stays)),
        ("These ACLs stay, because this fence has not made them", _made_by_others(cluster, selection.topics, receipt)),
    ]
    notes = [Note(NoteKind.ACL_CHANGED, f"{what}: {acls_text(acls)}.") for what, acls in told if acls]
    return stays, [*notes, *selection.unused("topics", fenced, "in the receipt")]


def _made_by_others(cluster: Connection, names: t.Collection[str], receipt: PromotionReceipt) -> list[Acl]:
    """What denies writing to these topics and is not in the receipt by which the fence is lifted."""
    return sorted(
        acl
        for acl in list_acls(cluster)
        if acl.permission == DENY and acl.operation == "WRITE" and acl.name in names and acl not in receipt.acls
    )


def _denied(names: t.Iterable[str], principals: t.Sequence[str], operation: str) -> list[Acl]:
    return [Acl(TOPIC, name, LITERAL, who, EVERY, operation, DENY) for name in names for who in principals]
