# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Use case: topics and ACLs of the destination go back to what they were before the first promotion, by its receipt."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._control import topic_changes
from ..._control.acl_requests import create_acls, delete_acls, list_acls, missing_cluster_acls
from ..._control.configs import alter_topic_configs
from ..._control.deletion import delete_topics
from ..._control.permissions import missing_topic_acls
from ..._model.acls import ALLOW, DENY, Acl, acls_text
from ..._model.connection import Connection
from ..._model.errors import NotAuthorized
from ..._model.new_topics import is_same_value
from ..._model.notes import Note, NoteKind
from ..._model.option_names import option_name, ways
from ..._model.progress import counted, first_names, first_of
from ..._model.topic_plan import DEFAULT, SettingChange
from ..._model.topic_receipt import PromotionReceipt, TopicReceipt
from .. import topic_making
from . import promote, survey
from .survey import TopicState


@dataclasses.dataclass(frozen=True, slots=True)
class Undo:
    """What a rollback does. settings: by topic, what they are and become. deleted: topics that go, with their ids.

    partitions: of every topic in settings or deleted.
    receipt: what is left to know afterwards, and what is deleted. notes: what stays, and why. is_partial: the topics can only
    be seen and changed once the ACLs are as they were before.
    """

    settings: dict[str, dict[str, SettingChange]]
    created_acls: tuple[Acl, ...]
    deleted_acls: tuple[Acl, ...]
    deleted: dict[str, str]
    partitions: dict[str, int]
    receipt: PromotionReceipt
    notes: tuple[Note, ...]
    is_partial: bool = False

    @property
    def changes(self) -> bool:
        """Is there anything to write?"""
        return bool(self.settings or self.created_acls or self.deleted_acls or self.deleted)


def plan_undo(destination: Connection, receipt: PromotionReceipt, remove_created: bool) -> Undo:
    """What would be done. Nothing is written. Raises NotAuthorized that names the missing ACLs, or Refused as a promotion does.

    Where a promoted ACL has locked this user out of the topics, only ACLs go back at first: those need CLUSTER ALTER alone.
    """
    notes: list[Note] = []
    created_acls, deleted_acls = _acls_back(destination, receipt, notes)
    try:
        back = _topics_back(destination, receipt, remove_created)
    except NotAuthorized as exc:
        if not _may_let_in(destination, created_acls, deleted_acls):
            raise
        notes = [Note(NoteKind.TOPIC_STAYS, f"The topics go back after the ACLs. Before that, this user {exc.what}.")]
        back = Undo({}, (), (), {}, {}, dataclasses.replace(receipt, acls={}), (), is_partial=True)
    return dataclasses.replace(back, created_acls=created_acls, deleted_acls=deleted_acls, notes=(*notes, *back.notes))


def _topics_back(destination: Connection, receipt: PromotionReceipt, remove_created: bool) -> Undo:
    """What would be done to topics."""
    notes: list[Note] = []
    states = survey.topic_states(destination, list(receipt.topics))
    settings, left = {}, {}
    for name, known in receipt.topics.items():
        state = states.get(name)
        if state is None or (known.topic_id is not None and state.topic_id != known.topic_id):
            if not known.created or state is not None:
                became = "deleted" if state is None else "deleted and created again"
                notes.append(Note(NoteKind.TOPIC_RECREATED, f"{name} was {became}, and is left alone."))
        elif known.created:
            left[name] = known
        else:
            if back := _settings_back(name, known, state, notes):
                settings[name] = back
            if not (rest := _kept_partitions(name, known, state, notes)).is_empty:
                left[name] = rest
    deleted = _removable(destination, left, states, notes) if remove_created else {}
    if not remove_created and any(each.created for each in left.values()):
        made = [name for name, each in left.items() if each.created]
        why = ways(("remove_created", f", because {option_name('remove_created')} is false"))
        notes.append(Note(NoteKind.TOPIC_STAYS, f"Topics that a promotion has created stay{why}: {first_of(made)}."))
    objections = topic_making.ChangeObjections(missing_topic_acls(destination, "DELETE", deleted))
    refusals = topic_changes.try_settings(destination, _values(settings))
    objections.add(refusals, "ALTER_CONFIGS", "its settings cannot be restored")
    objections.check(destination, "remove the cause, or restore these settings yourself")
    counts = {name: states[name].partitions for name in (*settings, *deleted)}
    return Undo(settings, (), (), deleted, counts, PromotionReceipt(receipt.cluster_id, left), tuple(notes))


def _values(settings: t.Mapping[str, t.Mapping[str, SettingChange]]) -> dict[str, dict[str, str | None]]:
    return {topic: {name: each.after for name, each in changes.items()} for topic, changes in settings.items()}


def undo_promotion(destination: Connection, undo: Undo, save: t.Callable[[PromotionReceipt], None]) -> Undo:
    """Do it. -> what was done: a topic to which records have come meanwhile stays.

    The receipt is saved last: a rollback that was killed is done again from its beginning.
    """
    # In the order of a promotion: who keeps access does not lose it meanwhile, and no DENY is missing for a moment.
    create_acls(destination, undo.created_acls)
    delete_acls(destination, undo.deleted_acls)
    alter_topic_configs(destination, _values(undo.settings))
    counts = {name: undo.partitions[name] for name in undo.deleted}
    empty = promote.empty_topics(destination, counts) if counts else frozenset()
    deleted = {name: topic_id for name, topic_id in undo.deleted.items() if name in empty}
    delete_topics(destination, deleted)
    left = {name: known for name, known in undo.receipt.topics.items() if name not in deleted}
    save(dataclasses.replace(undo.receipt, topics=left))
    filled = [_stays(name, "it holds records") for name in undo.deleted if name not in deleted]
    return dataclasses.replace(undo, deleted=deleted, notes=(*undo.notes, *filled))


def undo_whole(
    destination: Connection, undo: Undo, remove_created: bool, save: t.Callable[[PromotionReceipt], None]
) -> Undo:
    """Do it, and then what could only be planned once the ACLs were back; the result is all that was done."""
    done = undo_promotion(destination, undo, save)
    if not undo.is_partial:
        return done
    rest = undo_promotion(destination, plan_undo(destination, undo.receipt, remove_created), save)
    return dataclasses.replace(rest, created_acls=undo.created_acls, deleted_acls=undo.deleted_acls)


def _acls_back(
    destination: Connection, receipt: PromotionReceipt, notes: list[Note]
) -> tuple[tuple[Acl, ...], tuple[Acl, ...]]:
    """The ACLs that are created, and those that are deleted, so that they are as they were before."""
    now = list_acls(destination) if receipt.acls else frozenset()
    created = tuple(sorted(acl for acl, before in receipt.acls.items() if before and acl not in now))
    deleted = tuple(sorted(acl for acl, before in receipt.acls.items() if not before and acl in now))
    gone = sorted(acl for acl, before in receipt.acls.items() if not before and acl not in now)
    if gone:
        text = f"Somebody has removed these ACLs, or an earlier run has: {acls_text(gone)}."
        notes.append(Note(NoteKind.ACL_CHANGED, text))
    if created or deleted:
        topic_making.ChangeObjections(missing_cluster_acls(destination, "ALTER")).check(destination, "")
    return created, deleted


def _may_let_in(destination: Connection, created: t.Iterable[Acl], deleted: t.Collection[Acl]) -> bool:
    """May these changes of ACLs give a user access that it lacks now?"""
    if any(acl.permission == ALLOW for acl in created) or any(acl.permission == DENY for acl in deleted):
        return True
    return bool(deleted) and survey.may_be_open(destination, list_acls(destination))


def _kept_partitions(name: str, known: TopicReceipt, state: TopicState, notes: list[Note]) -> TopicReceipt:
    """What is left to know of a topic whose settings go back: the partitions that a promotion has added stay."""
    rest = dataclasses.replace(known, settings={})
    if known.partitions is None:
        return rest
    if state.partitions == known.before:  # the run was killed before it added any
        return dataclasses.replace(rest, before=None, partitions=None)
    added = min(known.partitions, state.partitions) - (known.before or 0)  # a run that was killed may have added less
    text = (
        f"{name} keeps the {counted(added, 'partition')} that a promotion has "
        "added, because Kafka cannot remove partitions."
    )
    notes.append(Note(NoteKind.PARTITIONS_STAY, text))
    return rest


def _settings_back(name: str, known: TopicReceipt, state: TopicState, notes: list[Note]) -> dict[str, SettingChange]:
    """What somebody has set since the promotion is not touched."""
    back = {}
    for setting, noted in known.settings.items():
        now = state.configs.own.get(setting)
        if is_same_value(now, noted.before):
            continue
        if is_same_value(now, noted.written) or (noted.pending and is_same_value(now, noted.previous)):
            back[setting] = SettingChange(now, noted.before, DEFAULT)
        else:
            text = f"{name}: somebody has changed {setting} since the promotion, and it is left alone."
            notes.append(Note(NoteKind.SETTING_LEFT_ALONE, text))
    return back


def _removable(
    destination: Connection, left: t.Mapping[str, TopicReceipt], states: t.Mapping[str, TopicState], notes: list[Note]
) -> dict[str, str]:
    """The topics that a promotion has made and that nobody has used, with their ids."""
    made = {name: states[name].partitions for name, each in left.items() if each.created}
    empty = promote.empty_topics(destination, made) if made else frozenset()
    readers = promote.readers_of(destination, empty) if empty else {}
    removed = {}
    for name in sorted(made):
        topic_id = left[name].topic_id
        if name not in empty:
            why = "it holds records"
        elif readers[name]:
            why = f"groups have committed offsets on it: {first_names(readers[name])}"
        elif topic_id is None:
            why = "nobody knows whether it is the topic that a promotion has created"
        else:
            removed[name] = topic_id
            continue
        notes.append(_stays(name, why))
    return removed


def _stays(name: str, why: str) -> Note:
    return Note(NoteKind.TOPIC_STAYS, f"{name} stays, because {why}.")
