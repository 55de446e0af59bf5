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
from ..._model.acls import ALLOW, DENY, acls_text
from ..._model.connection import Connection
from ..._model.errors import NotAuthorized
from ..._model.new_topics import is_same_value
from ..._model.notes import Note, NoteKind
from ..._model.option_names import option_name, ways
from ..._model.topic_plan import ADD, DEFAULT, REMOVE, AclChange, SettingChange, TopicChange, TopicPlan
from ..._model.topic_receipt import PromotionReceipt, Setting, TopicReceipt
from ..._model.wording import counted, first_names, first_of
from .. import topic_making
from . import copied, survey, trial
from .survey import TopicState


@dataclasses.dataclass(frozen=True, slots=True)
class Undo:
    """What a rollback does. plan: what changes; a topic that is deleted has no partitions afterwards.

    receipt: what is left to know afterwards, and what is deleted. notes: what stays, and why. is_partial: the topics can only
    be seen and changed once the ACLs are as they were before.
    """

    plan: TopicPlan
    receipt: PromotionReceipt
    notes: tuple[Note, ...]
    is_partial: bool = False

    @property
    def deleted(self) -> list[str]:
        """The topics that go, by name."""
        return [change.topic for change in self.plan.topics if change.after is None]


def plan_undo(destination: Connection, receipt: PromotionReceipt, remove_created: bool) -> Undo:
    """What would be done. Nothing is written. Raises NotAuthorized that names the missing ACLs, or Refused as a promotion does.

    Where a promoted ACL has locked this user out of the topics, only ACLs go back at first: those need CLUSTER ALTER alone.
    """
    notes: list[Note] = []
    plan = TopicPlan(receipt.cluster_id, receipt.cluster_id, acls=_acls_back(destination, receipt, notes))
    try:
        topics, left = _topics_back(destination, receipt, remove_created, notes)
    except NotAuthorized as exc:
        if not _may_let_in(destination, plan):
            raise
        notes = [Note(NoteKind.TOPIC_STAYS, f"The topics go back after the ACLs. Before that, this user {exc.what}.")]
        return Undo(plan, dataclasses.replace(receipt, acls={}), tuple(notes), is_partial=True)
    plan = dataclasses.replace(plan, topics=topics)
    return Undo(plan, PromotionReceipt(receipt.cluster_id, left), tuple(notes))


def _topics_back(
    destination: Connection, receipt: PromotionReceipt, remove_created: bool, notes: list[Note]
) -> tuple[tuple[TopicChange, ...], dict[str, TopicReceipt]]:
    """What would be done to topics, and what is left to know afterwards, also of those that are deleted."""
    states = survey.topic_states(destination, list(receipt.topics))
    changes: list[TopicChange] = []
    left: dict[str, TopicReceipt] = {}
    for name, known in receipt.topics.items():
        state = states.get(name)
        if state is None or (known.topic_id is not None and state.topic_id != known.topic_id):
            if not known.created or state is not None:
                became = "deleted" if state is None else "deleted and created again"
                notes.append(Note(NoteKind.TOPIC_RECREATED, f"{name} was {became}, and is left alone."))
        elif known.created:
            left[name] = known
        else:
            changes.append(
                TopicChange(name, "", state.partitions, state.partitions, None, _to_restore(known, state.configs.own))
            )
            left[name] = _kept_partitions(name, known, state, notes)
    needed = copied.needed_by_copies(destination, changes, states)
    changes, stay = copied.without_needed(changes, needed)
    notes += stay
    changes = [_without_changed(change, receipt.topics[change.topic], notes) for change in changes]
    changes = [change for change in changes if change.changes]
    for name, each in needed.items():  # for a rollback when the groups have consumed
        later = {setting: receipt.topics[name].settings[setting] for setting in each.settings}
        left[name] = dataclasses.replace(left[name], settings=later)
    left = {name: rest for name, rest in left.items() if not rest.is_empty}
    deleted = _removable(destination, left, states, notes) if remove_created else []
    if not remove_created and any(each.created for each in left.values()):
        made = [name for name, each in left.items() if each.created]
        why = ways(("remove_created", f", because {option_name('remove_created')} is false"))
        notes.append(Note(NoteKind.TOPIC_STAYS, f"Topics that a promotion has created stay{why}: {first_of(made)}."))
    objections = topic_making.ChangeObjections(missing_topic_acls(destination, "DELETE", deleted))
    refusals = topic_changes.try_settings(destination, trial.to_set(changes))
    objections.add(refusals, "ALTER_CONFIGS", "its settings cannot be restored")
    objections.check(destination, "remove the cause, or restore these settings yourself")
    changes += [TopicChange(name, "", states[name].partitions, None) for name in deleted]
    return tuple(sorted(changes, key=lambda change: change.topic)), left


def undo_promotion(
    destination: Connection, undo: Undo, remove_created: bool, save: t.Callable[[PromotionReceipt], None]
) -> Undo:
    """Do it, and then what could only be planned once the ACLs were back. -> all that was done.

    A topic to which records have come meanwhile stays. The receipt is saved last: a rollback that was killed is done again from
    its beginning.
    """
    plan = undo.plan
    # In the order of a promotion: who keeps access does not lose it meanwhile, and no DENY is missing for a moment.
    create_acls(destination, plan.acls_that(ADD))
    delete_acls(destination, plan.acls_that(REMOVE))
    alter_topic_configs(destination, trial.to_set(plan.topics))
    counts = {change.topic: change.before or 0 for change in plan.topics if change.after is None}
    empty = survey.empty_topics(destination, counts)
    ids = {name: undo.receipt.topics[name].topic_id for name in empty}
    delete_topics(destination, {name: topic_id for name, topic_id in ids.items() if topic_id is not None})
    left = {name: known for name, known in undo.receipt.topics.items() if name not in empty}
    save(dataclasses.replace(undo.receipt, topics=left))
    if undo.is_partial:
        try:
            rest = plan_undo(destination, undo.receipt, remove_created)
        except NotAuthorized as exc:  # what is done already must not look as if it were not
            raise NotAuthorized(
                f"the ACLs are as before the promotion again, and the topics are not: this user still {exc.what}",
                cluster=exc.cluster,
                remedy=f"{exc.remedy}, and roll back again",
            ) from exc
        done = undo_promotion(destination, rest, remove_created, save)
        return dataclasses.replace(done, plan=dataclasses.replace(done.plan, acls=plan.acls))
    filled = counts.keys() - empty
    changed = tuple(change for change in plan.topics if change.topic not in filled)
    notes = (*undo.notes, *(_stays(name, "it holds records") for name in sorted(filled)))
    return dataclasses.replace(undo, plan=dataclasses.replace(plan, topics=changed), notes=notes)


def _acls_back(destination: Connection, receipt: PromotionReceipt, notes: list[Note]) -> tuple[AclChange, ...]:
    """The ACLs that are created, and then those that are deleted, so that they are as they were before."""
    now = list_acls(destination) if receipt.acls else frozenset()
    created = sorted(acl for acl, before in receipt.acls.items() if before and acl not in now)
    deleted = sorted(acl for acl, before in receipt.acls.items() if not before and acl in now)
    gone = sorted(acl for acl, before in receipt.acls.items() if not before and acl not in now)
    if gone:
        text = f"Somebody has removed these ACLs, or an earlier run has: {acls_text(gone)}."
        notes.append(Note(NoteKind.ACL_CHANGED, text))
    if created or deleted:
        topic_making.ChangeObjections(missing_cluster_acls(destination, "ALTER")).check(destination, "")
    return (*(AclChange(acl, ADD) for acl in created), *(AclChange(acl, REMOVE) for acl in deleted))


def _may_let_in(destination: Connection, plan: TopicPlan) -> bool:
    """May the changes of ACLs give a user access that it lacks now?"""
    if any((each.action, each.acl.permission) in ((ADD, ALLOW), (REMOVE, DENY)) for each in plan.acls):
        return True
    return bool(plan.acls_that(REMOVE)) and survey.may_be_open(destination, list_acls(destination))


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


def _to_restore(known: TopicReceipt, own: t.Mapping[str, str]) -> dict[str, SettingChange]:
    """The settings that go back; and those that were set since, as changes to what a promotion has written.

    A backlog copy restores that if it has suspended them, and they go back later.
    """
    restored = {}
    for setting, noted in known.settings.items():
        now = own.get(setting)
        if _goes_back(now, noted):
            restored[setting] = SettingChange(now, noted.before, DEFAULT)
        elif now is not None or noted.before is not None:
            restored[setting] = SettingChange(now, noted.written, DEFAULT)
    return restored


def _without_changed(change: TopicChange, known: TopicReceipt, notes: list[Note]) -> TopicChange:
    """Without what somebody has set since the promotion, which is not touched."""
    back = {}
    for setting, each in change.settings.items():
        noted = known.settings[setting]
        if _goes_back(each.before, noted):
            back[setting] = each
        elif not is_same_value(each.before, noted.before):
            text = f"{change.topic}: somebody has changed {setting} since the promotion, and it is left alone."
            notes.append(Note(NoteKind.SETTING_LEFT_ALONE, text))
    return dataclasses.replace(change, settings=back)


def _goes_back(now: str | None, noted: Setting) -> bool:
    """Is the value a promotion's, and another than before?"""
    is_promoted = is_same_value(now, noted.written) or (noted.pending and is_same_value(now, noted.previous))
    return is_promoted and not is_same_value(now, noted.before)


def _removable(
    destination: Connection, left: t.Mapping[str, TopicReceipt], states: t.Mapping[str, TopicState], notes: list[Note]
) -> list[str]:
    """The topics that a promotion has made and that nobody has used."""
    made = {name: states[name].partitions for name, each in left.items() if each.created}
    empty = survey.empty_topics(destination, made)
    readers = survey.readers_of(destination, empty)
    removed = []
    for name in sorted(made):
        if name not in empty:
            why = "it holds records"
        elif readers[name]:
            why = f"groups have committed offsets on it: {first_names(readers[name])}"
        elif left[name].topic_id is None:
            why = "nobody knows whether it is the topic that a promotion has created"
        else:
            removed.append(name)
            continue
        notes.append(_stays(name, why))
    return removed


def _stays(name: str, why: str) -> Note:
    return Note(NoteKind.TOPIC_STAYS, f"{name} stays, because {why}.")
