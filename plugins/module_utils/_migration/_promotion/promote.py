# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Use case: the destination's topics become what the source's are, as far as the options say."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._control import topics
from ..._control.acl_requests import create_acls, delete_acls, list_acls
from ..._control.configs import TopicConfigs, alter_topic_configs
from ..._control.topic_changes import Creation, add_partitions
from ..._model.acls import Acl, acls_text
from ..._model.cluster_identity import ClusterIdentity
from ..._model.connection import Connection
from ..._model.errors import DestinationChanged, Refused
from ..._model.faults import all_done
from ..._model.mapping import Mapping
from ..._model.new_topics import is_as_made, is_same_value
from ..._model.notes import Note, NoteKind
from ..._model.policies import OnFewerPartitions, OnLockout
from ..._model.promotion import CommittedTopics, PromotionOptions, check_selection
from ..._model.selection import Selection
from ..._model.topic_plan import ADD, REMOVE, SettingChange, TopicChange, TopicPlan
from ..._model.topic_receipt import PromotionReceipt, Setting, TopicReceipt
from ..._model.wording import first_of
from .. import topic_making
from ..file_clusters import check_cluster, keeps_rollback, plan_again
from . import access, copied, lockout, settings, survey, topic_decisions, trial
from .survey import TopicState

Save = t.Callable[[PromotionReceipt], None]


def plan_promotion(
    source: Connection,
    destination: Connection,
    selection: Selection | CommittedTopics,
    mapping: Mapping,
    options: PromotionOptions,
    read_fence: t.Callable[[], PromotionReceipt | None],
) -> topic_decisions.Planned:
    """Decide what is changed, and let the destination's brokers check it. Nothing is written.

    read_fence: reads the receipt of a fence, which counts if it is one of the source; before and after the source's ACLs are
    read, so that what is fenced, or lifted, meanwhile does not follow.
    """
    all_done(lambda: check_selection(selection), options.check)
    before = read_fence()
    surveyed = survey.take_survey(source, destination, selection, mapping, options.acls)
    fences = [each for each in (before, read_fence()) if each is not None and each.cluster_id == surveyed.source_id]
    surveyed = dataclasses.replace(surveyed, fence=frozenset(acl for each in fences for acl in each.acls))
    surveyed = _with_use(destination, surveyed, options)
    planned = topic_decisions.decide_topics(surveyed, mapping, options, str(destination))
    needed = copied.needed_by_copies(destination, planned.plan.topics, surveyed.destination)
    changes, stay = copied.without_needed(planned.plan.topics, needed)
    plan = dataclasses.replace(planned.plan, topics=tuple(changes))
    new_configs = trial.check(destination, plan)
    kept_less = _kept_less(destination, surveyed, plan, new_configs)
    return topic_decisions.Planned(plan, (*planned.notes, *stay, *kept_less))


def promotion_receipt(destination: Connection, known: PromotionReceipt | None) -> PromotionReceipt:
    """The receipt of earlier runs, or an empty one. Raises Refused for the receipt of another cluster."""
    if known is None:
        return PromotionReceipt(topics.cluster_id(destination))
    check_cluster("receipt", known.identity, destination, keeps_rollback())
    return known


def check_expected(
    source: Connection, destination: Connection, plan: TopicPlan, receipt: PromotionReceipt, on_lockout: OnLockout
) -> TopicPlan:
    """What is left to do of a plan that was reviewed. Raises Refused where the destination is not what the plan expects.

    receipt: of earlier runs; what a run that was killed has done of this plan already is what it has noted there.
    on_lockout: whether an ACL may be the first one on its resource by now.
    """
    remedy = plan_again()
    check_cluster("plan", ClusterIdentity(plan.source_id), source, remedy)
    check_cluster("plan", plan.destination_identity, destination, remedy)
    states = survey.topic_states(destination, [change.topic for change in plan.topics])
    left = [
        _left(destination, change, states.get(change.topic), receipt.topics.get(change.topic)) for change in plan.topics
    ]
    _check_empty(destination, left)
    for topic, needed in copied.needed_by_copies(destination, left, states).items():
        raise _topic_changed(destination, topic, f"{', '.join(needed.settings)} must stay, because {needed.why}")
    acls_now = list_acls(destination) if plan.acls else frozenset()
    acls = [
        change
        for change in plan.acls
        if (change.action, change.acl in acls_now) not in ((ADD, True), (REMOVE, False))  # not done yet
    ]
    remaining = dataclasses.replace(plan, topics=tuple(left), acls=tuple(acls))
    _check_access(destination, remaining, acls_now, on_lockout)
    _check_covered(destination, remaining)
    trial.check(destination, remaining)
    return remaining


def _check_access(destination: Connection, plan: TopicPlan, acls_now: frozenset[Acl], on_lockout: OnLockout) -> None:
    """Raise Refused where the plan now locks clients out or lets everybody in, since other ACLs have gone meanwhile."""
    added, removed = plan.acls_that(ADD), plan.acls_that(REMOVE)
    is_open = bool(added or removed) and survey.may_be_open(destination, acls_now)
    lockout.check_first_acls(added, acls_now, is_open, on_lockout, str(destination))
    if only := lockout.only_acls(removed, acls_now.difference(removed).union(added), is_open):
        what = f"ACLs would be removed that others stood beside when the promotion was planned: {acls_text(only)}"
        raise _changed(destination, what, why=lockout.OPEN)


def _check_covered(destination: Connection, plan: TopicPlan) -> None:
    """Raise Refused where an ACL to be removed covers a topic by now that the plan does not have."""
    removed = [each.acl for each in plan.acls if each.action == REMOVE and each.only_selected]
    others = set(topics.list_topics(destination)) - {change.topic for change in plan.topics} if removed else ()
    if wider := sorted(filter(access.covering(others), removed)):
        what = f"ACLs would be removed that also cover a topic which the promotion was not planned with: {acls_text(wider)}"
        raise _changed(destination, what, why="the topic was created since then, or this user could not see it")


def _check_empty(destination: Connection, changes: t.Iterable[TopicChange]) -> None:
    """Raise Refused where a topic has got records that was to grow because it had none."""
    counts = {each.topic: each.before or 0 for each in changes if each.grows and each.only_if_empty}
    if filled := sorted(counts.keys() - survey.empty_topics(destination, counts)):
        raise _topic_changed(destination, filled[0], "it was empty, and holds records")


def apply_plan(destination: Connection, plan: TopicPlan, receipt: PromotionReceipt, save: Save) -> None:
    """Make the changes of a plan whose expectations hold. save: writes the receipt, before the first write and after the last.

    After a run that was killed at any point, the next one makes what is left, and the receipt knows what stood there first.
    """
    noted = _noted(plan, _with_written(destination, plan, receipt))
    if noted != receipt:
        save(noted)
    made = noted

    def note(creation: Creation) -> None:
        nonlocal made
        made = _with_ids(noted, creation)
        if made != noted:
            save(made)

    others = topic_making.make_topics(destination, trial.to_create(plan), note)
    if others:
        what = "somebody else has created the topic at the same moment, with other partitions or settings"
        raise _changed(destination, what, topic=others[0])
    add_partitions(destination, trial.to_grow(plan))
    alter_topic_configs(destination, trial.to_set(plan.topics))
    create_acls(destination, plan.acls_that(ADD))
    delete_acls(destination, plan.acls_that(REMOVE))
    written = {(change.topic, name) for change in plan.topics for name in change.settings}
    ended = _settled(made, lambda topic, name, _each: (topic, name) in written)
    if ended != made:
        save(ended)


def _with_use(destination: Connection, surveyed: survey.Survey, options: PromotionOptions) -> survey.Survey:
    """The survey with what is known of the destination's topics that may get more partitions."""
    if options.on_fewer_partitions in (OnFewerPartitions.FAIL, OnFewerPartitions.LEAVE):
        return surveyed
    fewer = {
        name: surveyed.destination[name].partitions
        for source, name in surveyed.names.items()
        if name in surveyed.destination and surveyed.destination[name].partitions < surveyed.source[source].partitions
    }
    empty, readers = survey.empty_topics(destination, fewer), survey.readers_of(destination, fewer)
    return dataclasses.replace(surveyed, empty=empty, readers=readers)


def _kept_less(
    destination: Connection, surveyed: survey.Survey, plan: TopicPlan, new_configs: t.Mapping[str, TopicConfigs]
) -> list[Note]:
    """Notes of settings with which new topics keep fewer records than the source's, or others fewer than they hold now."""
    reasons: dict[str, list[str]] = {}
    counts: dict[str, int] = {}
    for change in plan.topics:
        before, after = surveyed.source[change.source].configs.effective, dict[str, str | None]()
        if change.before is not None:
            before = surveyed.destination[change.topic].configs.effective
            after |= before | {name: setting.after for name, setting in change.settings.items()}
        elif change.topic in new_configs:
            after |= new_configs[change.topic].effective
        for name in settings.kept_less(before, after):
            if change.before is None:
                reason = f"{name} is {after[name]} on new topics, and {before[name]} at the source"
            else:
                reason = f"{name} becomes {_shown(after[name])} on topics that hold records, and is {before[name]}"
                counts[change.topic] = change.before
            reasons.setdefault(reason, []).append(change.topic)
    empty = survey.empty_topics(destination, counts)
    held = {reason: [name for name in names if name not in empty] for reason, names in reasons.items()}
    return [
        Note(NoteKind.KEEPS_LESS, f"Fewer records are kept or taken, because {reason}: {first_of(names)}.")
        for reason, names in held.items()
        if names
    ]


def _with_written(destination: Connection, plan: TopicPlan, receipt: PromotionReceipt) -> PromotionReceipt:
    """The receipt in which no setting is pending that is as written: the run that wrote it was killed before it noted so."""
    known = {change.topic: receipt.topics[change.topic] for change in plan.topics if change.topic in receipt.topics}
    waiting = [name for name, topic in known.items() if any(each.pending for each in topic.settings.values())]
    states = survey.topic_states(destination, waiting) if waiting else {}
    own = {name: state.configs.own for name, state in states.items()}
    return _settled(
        receipt, lambda topic, name, each: topic in own and is_same_value(own[topic].get(name), each.written)
    )


def _settled(receipt: PromotionReceipt, is_done: t.Callable[[str, str, Setting], bool]) -> PromotionReceipt:
    """The receipt in which these settings are no longer pending. is_done: of a topic and the name of its setting."""
    topics = {
        topic: dataclasses.replace(
            known,
            settings={
                name: Setting(each.before, each.written) if is_done(topic, name, each) else each
                for name, each in known.settings.items()
            },
        )
        for topic, known in receipt.topics.items()
    }
    return dataclasses.replace(receipt, topics=topics)


def _noted(plan: TopicPlan, receipt: PromotionReceipt) -> PromotionReceipt:
    """The receipt with what the plan will have written; what stood there before the first write stays noted."""
    noted = dict(receipt.topics)
    for change in plan.topics:
        if change.changes:
            noted[change.topic] = _merged(change, receipt.topics.get(change.topic))
    acls = {each.acl: each.action == REMOVE for each in plan.acls if each.action in (ADD, REMOVE)} | receipt.acls
    return dataclasses.replace(receipt, topics=dict(sorted(noted.items())), acls=acls)


def _merged(change: TopicChange, known: TopicReceipt | None) -> TopicReceipt:
    if known is not None and known.topic_id is not None and change.topic_id not in (None, known.topic_id):
        known = None  # somebody has made the topic anew
    if change.is_new:
        made = {
            name: Setting(None, setting.after) for name, setting in change.settings.items() if setting.after is not None
        }
        return TopicReceipt(change.topic, created=True, partitions=change.after, settings=made)
    if known is not None and known.created and known.topic_id is None:
        known = None  # nobody knows who has made the topic
    known = known or TopicReceipt(change.topic, topic_id=change.topic_id)
    if change.grows:
        before = known.before if known.before is not None else change.before
        known = dataclasses.replace(known, before=None if known.created else before, partitions=change.after)
    if known.created:
        return known
    settings = dict(known.settings)
    for name, setting in change.settings.items():
        settings[name] = _setting(setting, settings.get(name))
    return dataclasses.replace(known, settings=settings)


def _setting(change: SettingChange, known: Setting | None) -> Setting:
    """What the receipt holds of a setting before it is written."""
    if known is None:
        return Setting(change.before, change.after, pending=True, previous=change.before)
    if not known.pending or is_same_value(change.before, known.written):
        return Setting(known.before, change.after, pending=True, previous=known.written)
    # Somebody has set this instead of a run that was stopped, and no run before that had set it.
    is_replaced = is_same_value(known.previous, known.before) and not is_same_value(change.before, known.before)
    return _setting(change, None) if is_replaced else known._replace(written=change.after)


def _with_ids(receipt: PromotionReceipt, creation: Creation) -> PromotionReceipt:
    """The receipt with the ids of the topics that were made, and without those that somebody else has made."""
    noted = {
        name: dataclasses.replace(known, topic_id=creation.made[name]) if name in creation.made else known
        for name, known in receipt.topics.items()
        if name not in creation.found
    }
    return dataclasses.replace(receipt, topics=noted)


def _left(
    destination: Connection, change: TopicChange, state: TopicState | None, known: TopicReceipt | None
) -> TopicChange:
    """What is left to do for a topic, or Refused."""
    if change.before is not None and not change.changes:  # whatever has become of it, nothing is done to it
        return change if state is None else dataclasses.replace(change, before=state.partitions, after=state.partitions)
    if state is None:
        if change.before is not None:
            raise _topic_changed(destination, change.topic, "it does not exist any more")
        return change
    if change.before is None:
        if change.after is None:
            return dataclasses.replace(change, before=state.partitions, after=state.partitions, settings={})
        if known is None or not known.created or not _is_ours(change, known, state):
            raise _topic_changed(destination, change.topic, "somebody else has created it since then")
        return dataclasses.replace(change, before=change.after, settings={}, topic_id=state.topic_id)
    if change.topic_id is not None and state.topic_id != change.topic_id:
        raise _topic_changed(destination, change.topic, "it was deleted and created again")
    if state.partitions not in (change.before, change.after):
        raise _topic_changed(
            destination, change.topic, f"it has {state.partitions} partitions, and had {change.before}"
        )
    left = {}
    for name, setting in change.settings.items():
        now = state.configs.own.get(name)
        if is_same_value(now, setting.after):
            continue
        if not is_same_value(now, setting.before):
            raise _topic_changed(
                destination, change.topic, f"its {name} is {_shown(now)}, and was {_shown(setting.before)}"
            )
        left[name] = setting
    return dataclasses.replace(change, before=state.partitions, settings=left)


def _is_ours(change: TopicChange, known: TopicReceipt, state: TopicState) -> bool:
    """Whether a run that was killed has made the topic. Before it has noted an id, one that looks like it will do."""
    if known.topic_id is not None:
        return state.topic_id == known.topic_id
    return is_as_made(trial.new_topic(change), state.partitions, state.configs.own)


def _topic_changed(destination: Connection, topic: str, how: str) -> Refused:
    what = f"the topic is not what it was when the promotion was planned: {how}"
    return _changed(destination, what, topic=topic)


def _changed(destination: Connection, what: str, **more: t.Any) -> Refused:
    return DestinationChanged(
        what, cluster=str(destination), remedy="plan the promotion again, and review what has changed", **more
    )


def _shown(value: str | None) -> str:
    return "the default" if value is None else value
