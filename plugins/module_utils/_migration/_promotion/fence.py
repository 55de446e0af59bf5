# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Use case: producers must not write to topics of a cluster any more, by ACLs that deny it.

An ACL that denies something wins over every one that allows it, so one for User:* has no exceptions but super users, who
need no ACL: org.apache.kafka.metadata.authorizer.StandardAuthorizerData.
"""

from __future__ import annotations

import dataclasses
import time
import typing as t

from ..._control import positions, producers, topics
from ..._control.acl_requests import list_acls
from ..._control.positions import Bounds
from ..._control.producers import Writer
from ..._model.acls import DENY, EVERY, LITERAL, TOPIC, Acl, acls_text, check_principal
from ..._model.connection import Connection
from ..._model.errors import InvalidInput, NotFound, NothingSelected, StillBeingWritten
from ..._model.faults import all_done
from ..._model.mapping import Mapping
from ..._model.notes import Note, NoteKind
from ..._model.option_names import option_name
from ..._model.policies import OnLockout, OnStillWritten
from ..._model.promotion import check_selection
from ..._model.records import TopicPartition, every_partition
from ..._model.selection import Selection, matches, name_hint
from ..._model.topic_plan import ADD, AclChange, TopicPlan
from ..._model.topic_receipt import PromotionReceipt
from ..._model.visible_text import quoted
from ..._model.wording import first_of
from ..still_written import Ends, StillWritten, grown_topics, writer_names
from . import lockout, naming, survey, trial

_EVERYBODY = f"User:{EVERY}"
_LOOKS = 3  # what was on its way when the fence was made comes to its end before the last look
_OFFSET_SYNCS = "mm2-offset-syncs"  # MirrorMaker 2's topic, at the cluster that it reads by default


@dataclasses.dataclass(frozen=True, slots=True)
class FenceOptions:
    """principals: who must not write. read_principals: who must not read, which is never everybody."""

    principals: tuple[str, ...] = ("User:*",)
    read_principals: tuple[str, ...] = ()
    on_lockout: OnLockout = OnLockout.FAIL

    def check(self, connection: Connection) -> None:
        """Raise InvalidInput for options that cannot be meant."""
        for option, names in (("principals", self.principals), ("read_principals", self.read_principals)):
            for name in names:
                check_principal(name, f"{option_name(option)}: {quoted(name)}")
        if not self.principals and not self.read_principals:
            raise NothingSelected(
                f"{option_name('principals')} is empty", remedy=f"name who must not write; {_EVERYBODY} means everybody"
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
    cluster: Connection, selection: Selection, options: FenceOptions, receipt: PromotionReceipt, *, is_made: bool
) -> tuple[TopicPlan, list[str], list[Note]]:
    """The ACLs that are missing, the selected topics, and notes. Nothing is written. is_made: will the caller make the fence?

    Raises NotFound for topics that do not exist, and Refused for a cluster without an authorizer, and for ACLs that lock out
    clients whom they do not name.
    """
    all_done(lambda: check_selection(selection), lambda: options.check(cluster))
    existing_topics = topics.list_topics(cluster)
    selected = naming.pairs(selection, Mapping(), existing_topics, str(cluster))
    names = sorted(selected.names)
    existing = list_acls(cluster)
    wanted = [*_denied(names, options.principals, "WRITE"), *_denied(names, options.read_principals, "READ")]
    added = [acl for acl in wanted if acl not in existing]
    is_open = bool(added) and survey.may_be_open(cluster, existing)
    notes = list(selected.notes)
    others = [acl for acl in wanted if acl in existing and acl not in receipt.acls]
    if others:
        text = f"These ACLs were there before this fence, and stay when it is lifted: {acls_text(others)}."
        notes.append(Note(NoteKind.ACL_CHANGED, text))
    if added:
        notes += _copied_by_mirror_maker(existing_topics, _EVERYBODY in options.principals, is_made=is_made)
    notes += lockout.check_first_acls(added, existing, is_open, options.on_lockout, str(cluster))
    cluster_id = topics.cluster_id(cluster)
    plan = TopicPlan(cluster_id, cluster_id, acls=tuple(AclChange(acl, ADD) for acl in sorted(added)))
    trial.check(cluster, plan)
    return plan, names, notes


def _copied_by_mirror_maker(names: t.Iterable[str], everybody: bool, *, is_made: bool) -> list[Note]:
    """A note if MirrorMaker 2 may copy the fence to its destination: it copies what is on single topics and allows no WRITE.

    everybody: is the fence for all users? is_made: whoever reads the note of one that stands may have set MirrorMaker 2 right
    before.

    Source: org.apache.kafka.connect.mirror.MirrorSourceConnector.shouldReplicateAcl.
    """
    signs = sorted(name for name in names if name.startswith(_OFFSET_SYNCS))
    if not signs:
        return []
    text = (
        f"MirrorMaker 2 may copy from this cluster, because the topic {signs[0]} is there. With sync.topic.acls.enabled=true, "
        "its default, it copies the ACLs of the fence to its destination, where they keep out the clients that have moved"
        f"{' and MirrorMaker 2 itself' if everybody else ''}. "
    )
    if is_made:
        text += (
            "Unless it is false, set it to false now. Look for these ACLs at MirrorMaker 2's destination, and delete them: it "
            "never does."
        )
        return [Note(NoteKind.NOT_TOLD, text)]
    text += "Set it to false before the fence is made. Delete the ACLs that it has copied at the destination: it never does."
    return [Note(NoteKind.ACL_LOCKOUT, text)]


class UndecidedRecords(t.NamedTuple):
    """A partition whose records are undecided from this offset on. writers: who has a transaction open there, if known."""

    partition: TopicPartition
    offset: int
    writers: tuple[Writer, ...]

    def __str__(self) -> str:
        by = f" by {writer_names(self.writers)}" if self.writers else ""
        return f"{self.partition.topic} partition {self.partition.partition} from offset {self.offset} on{by}"


class Passing(t.NamedTuple):
    """What the fence has not ended: the topics that still grow, and the transactions that may still be committed."""

    grown: list[StillWritten]
    undecided: list[UndecidedRecords]


def look_beyond(cluster: Connection, names: t.Collection[str], seconds: float) -> Passing:
    """What still happens to the topics despite the fence, between two looks that are so many seconds apart.

    A transaction counts that was open at both: the last stable offset is before the end that the look before has seen.
    """
    partitions = every_partition(topics.partition_counts(cluster, names))
    passing = Passing([], [])
    before = positions.partition_bounds(cluster, partitions)
    for _look in range(_LOOKS):
        time.sleep(seconds)
        now = positions.partition_bounds(cluster, partitions)
        grown = grown_topics(cluster, _ends(before), _ends(now))
        undecided = {each: log.end for each, log in now.items() if log.end < before[each].high_watermark}
        writers = producers.last_writers(cluster, undecided, in_transaction=True)
        passing = Passing(
            grown, [UndecidedRecords(each, end, writers.get(each, ())) for each, end in sorted(undecided.items())]
        )
        if not grown and not undecided:
            break
        before = now
    return passing


def _ends(bounds: t.Mapping[TopicPartition, Bounds]) -> Ends:
    return {partition: log.high_watermark for partition, log in bounds.items()}


def told(cluster: Connection, passing: Passing, policy: OnStillWritten) -> list[Note]:
    """Who passes by, as notes; with fail, raises Refused."""
    notes = []
    if passing.grown:
        notes.append(
            _note(
                cluster,
                policy,
                passing.grown[0].topic,
                f"producers still write despite the fence: {'; '.join(map(str, passing.grown))}",
                "super users ignore ACLs, and a transaction that was open before ends with a record of its own",
                "stop these producers, or lift the fence",
            )
        )
    if passing.undecided:
        (topic, partition), offset, _writers = passing.undecided[0]
        notes.append(
            _note(
                cluster,
                policy,
                topic,
                f"transactions from before the fence are still open: {first_of(list(map(str, passing.undecided)))}",
                "their producers can still commit them without any ACL of the topic, and a replication tool that reads only "
                "committed records copies nothing of such a partition from that offset on until they end",
                "wait until their producers end them, or until the brokers abort them after transaction.timeout.ms, and run "
                f"again; or abort each, the first one by kafka-transactions.sh abort --topic {topic} --partition {partition} "
                f"--start-offset {offset}",
            )
        )
    return notes


def _note(cluster: Connection, policy: OnStillWritten, topic: str, what: str, why: str, remedy: str) -> Note:
    if policy == OnStillWritten.FAIL:
        raise StillBeingWritten(
            what,
            cluster=str(cluster),
            topic=topic,
            why=why,
            remedy=f"{remedy}; or set {option_name('on_still_written')} to note to go on anyway",
        )
    return Note(NoteKind.STILL_WRITTEN, f"{what[0].upper()}{what[1:]}, because {why}.")


def not_lifted(
    cluster: Connection, selection: Selection, receipt: PromotionReceipt
) -> tuple[dict[Acl, bool], list[Note]]:
    """The ACLs of the receipt that stay when the fence is lifted from the selected topics; without a selection, none.

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
    if selection.topics or selection.topic_patterns:
        chosen: t.Collection[str] = selection.select_topics(fenced).names
    else:  # the user has fenced them on purpose: only his own patterns leave something out
        chosen = {name for name in fenced if not matches(name, selection.exclude_topic_patterns or ())}
    stays = {acl: before for acl, before in receipt.acls.items() if acl.name not in chosen}
    denying = (acl for acl in list_acls(cluster) if acl.permission == DENY and acl.operation == "WRITE")
    others = sorted(acl for acl in denying if acl.name in selection.topics and acl not in receipt.acls)
    told = [
        ("These ACLs of the fence stay, because their topics are not selected", sorted(stays)),
        ("These ACLs stay, because this fence has not made them", others),
    ]
    notes = [Note(NoteKind.ACL_CHANGED, f"{what}: {acls_text(acls)}.") for what, acls in told if acls]
    return stays, [*notes, *selection.unused("topics", fenced, "in the receipt")]


def _denied(names: t.Iterable[str], principals: t.Sequence[str], operation: str) -> list[Acl]:
    return [Acl(TOPIC, name, LITERAL, who, EVERY, operation, DENY) for name in names for who in principals]


def may_be_of_fence(acl: Acl) -> bool:
    """Could a fence have made this ACL?"""
    return acl.operation in ("READ", "WRITE") and [acl] == _denied([acl.name], [acl.principal], acl.operation)
