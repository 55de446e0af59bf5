# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Asks the destination's brokers whether they would take every change of a plan, before any is made."""

from __future__ import annotations

import itertools
import typing as t

from ..._control import storage, topic_changes
from ..._control.abilities import Ability
from ..._control.acl_requests import missing_cluster_acls
from ..._control.configs import TopicConfigs
from ..._control.permissions import not_offered
from ..._control.topic_changes import Refusal
from ..._model.connection import Connection
from ..._model.new_topics import NewTopic
from ..._model.option_names import option_name, ways
from ..._model.topic_plan import ADD, EXTRA, TopicChange, TopicPlan
from .. import topic_making
from .settings import check_replicas


def check(destination: Connection, plan: TopicPlan) -> dict[str, TopicConfigs]:
    """The settings that new topics would have, as far as the user may know them.

    Raises NotAuthorized that names every missing ACL, Refused that names what the brokers would not take, or BrokerError.
    """
    wanted = to_create(plan)
    if any(each.action == ADD and each.acl.pattern != "LITERAL" for each in plan.acls):
        for need in not_offered(destination, Ability.PREFIXED_ACLS):
            raise need.refusal(str(destination))
    objections = topic_making.ChangeObjections()
    trial = topic_making.try_topics(destination, wanted, objections)
    objections.add(topic_changes.try_partitions(destination, to_grow(plan)), "ALTER", "partitions cannot be added")
    objections.add(_by_setting(destination, plan), "ALTER_CONFIGS", "its settings cannot be changed")
    if any(each.action != EXTRA for each in plan.acls):
        objections.missing.extend(missing_cluster_acls(destination, "ALTER"))
    objections.check(
        destination,
        ways(
            ("overrides", f"correct {option_name('overrides')}"),
            ("exclude_settings", f"leave a setting out with {option_name('exclude_settings')}"),
            *([("replication_factor", f"change {option_name('replication_factor')}")] if trial.refusals else []),
            ("", "create the topic yourself"),
            ("", "leave the topic out"),
        ),
    )
    up = storage.broker_count(destination).up if wanted else 0
    for topic, found in topic_making.unwritable(wanted, trial, up).items():
        check_replicas(topic, found.in_sync, found.replicas, up, str(destination))
    return dict(trial.configs)


def to_create(plan: TopicPlan) -> dict[str, NewTopic]:
    """The topics that the plan makes."""
    return {change.topic: new_topic(change) for change in plan.topics if change.is_new}


def new_topic(change: TopicChange) -> NewTopic:
    """A topic that is made, with all settings in place of the brokers' defaults."""
    values = {name: each.after for name, each in change.settings.items() if each.after is not None}
    factor = -1 if change.replication_factor is None else change.replication_factor
    return NewTopic(change.after or 0, factor, values)


def to_grow(plan: TopicPlan) -> dict[str, int]:
    """How many partitions topics get that are there."""
    return {change.topic: change.after for change in plan.topics if change.grows and change.after is not None}


def to_set(changes: t.Iterable[TopicChange]) -> dict[str, dict[str, str | None]]:
    """The settings of topics that are there, None for those that fall back to the brokers' default."""
    return {
        change.topic: {name: setting.after for name, setting in change.settings.items()}
        for change in changes
        if change.settings and not change.is_new
    }


def _by_setting(destination: Connection, plan: TopicPlan) -> dict[str, Refusal]:
    """Brokers take or refuse the settings of a topic together: of one that is refused, each is tried alone, to name it.

    One request tries one setting of every such topic.
    """
    changes = to_set(plan.topics)
    refusals = topic_changes.try_settings(destination, changes)
    unclear = [
        topic for topic, refusal in refusals.items() if refusal.error != topic_making.DENIED and len(changes[topic]) > 1
    ]
    named: dict[str, list[str]] = {topic: [] for topic in unclear}
    for settings in itertools.zip_longest(*(changes[topic].items() for topic in unclear)):
        alone = {topic: each for topic, each in zip(unclear, settings, strict=True) if each is not None}
        for topic, refusal in topic_changes.try_settings(
            destination, {topic: {name: value} for topic, (name, value) in alone.items()}
        ).items():
            named[topic].append(f"{alone[topic][0]}: {refusal.why}")
    return refusals | {topic: refusals[topic]._replace(why="; ".join(lines)) for topic, lines in named.items() if lines}
