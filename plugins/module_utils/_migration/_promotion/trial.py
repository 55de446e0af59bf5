# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Asks the destination's brokers whether they would take every change of a plan, before any is made."""

from __future__ import annotations

import itertools

from ansible_collections.streamshift.kafka.plugins.module_utils._control import topic_changes
from ansible_collections.streamshift.kafka.plugins.module_utils._control.acl_requests import missing_cluster_acls
from ansible_collections.streamshift.kafka.plugins.module_utils._control.configs import NewTopic
from ansible_collections.streamshift.kafka.plugins.module_utils._control.topic_changes import Refusal
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._promotion.settings import (
    IN_SYNC,
    replicas_problem,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import NotAuthorized, Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.failure_kinds import FailureKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.option_names import option_name
from ansible_collections.streamshift.kafka.plugins.module_utils._model.progress import first_of
from ansible_collections.streamshift.kafka.plugins.module_utils._model.topic_plan import EXTRA, TopicChange, TopicPlan

_DENIED = "TOPIC_AUTHORIZATION_FAILED"
_EXISTS = "TOPIC_ALREADY_EXISTS"
_NAMED = 5  # topics that a message names


def check(destination: Connection, plan: TopicPlan) -> None:
    """Raise NotAuthorized that names every missing ACL, or Refused that names what the brokers would not take."""
    missing: list[str] = []
    problems: list[str] = []
    creation = topic_changes.try_creation(destination, to_create(plan))
    tries: list[tuple[str, dict[str, Refusal], str]] = [
        ("CREATE", creation.refusals, "it cannot be created"),
        ("ALTER", topic_changes.try_partitions(destination, to_grow(plan)), "partitions cannot be added"),
        ("ALTER_CONFIGS", _by_setting(destination, plan), "its settings cannot be changed"),
    ]
    for operation, refusals, what in tries:
        denied = sorted(topic for topic, refusal in refusals.items() if refusal.error == _DENIED)
        if denied:
            missing.append(f"TOPIC {operation} on {', '.join(denied)}")
        for topic, refusal in sorted(refusals.items()):
            why = (
                "the brokers say that it exists, and do not show it: it is being deleted, or the user may not describe it"
                if refusal.error == _EXISTS
                else refusal.why
            )
            if refusal.error != _DENIED:
                problems.append(f"{topic}: {what}: {why}")
    if any(each.action != EXTRA for each in plan.acls):
        missing += missing_cluster_acls(destination, "ALTER")
    if missing:
        raise NotAuthorized(
            f"needs ACL {'; '.join(missing)}", cluster=str(destination), remedy="grant it to the user of this cluster"
        )
    if problems:
        raise Refused(
            f"the brokers would not take {first_of(problems, _NAMED)}",
            cluster=str(destination),
            remedy=f"correct {option_name('overrides')}, leave a setting out with {option_name('exclude_settings')}, "
            "or leave the topic out; nothing was written",
            kind=FailureKind.BROKER_REFUSED,
        )
    for topic, replicas in sorted(creation.replicas.items()):
        in_sync = creation.configs[topic].effective.get(
            IN_SYNC
        )  # which may be the brokers' default, as replicas may be
        problem = replicas_problem(topic, in_sync, replicas, True, str(destination))
        if problem:
            raise problem


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


def to_set(plan: TopicPlan) -> dict[str, dict[str, str | None]]:
    """The settings of topics that are there, None for those that fall back to the brokers' default."""
    return {
        change.topic: {name: each.after for name, each in change.settings.items()}
        for change in plan.topics
        if change.settings and not change.is_new
    }


def _by_setting(destination: Connection, plan: TopicPlan) -> dict[str, Refusal]:
    """Brokers take or refuse the settings of a topic together: of one that is refused, each is tried alone, to name it.

    One request tries one setting of every such topic.
    """
    changes = to_set(plan)
    refusals = topic_changes.try_settings(destination, changes)
    unclear = [topic for topic, each in refusals.items() if each.error != _DENIED and len(changes[topic]) > 1]
    named: dict[str, list[str]] = {topic: [] for topic in unclear}
    for settings in itertools.zip_longest(*(changes[topic].items() for topic in unclear)):
        alone = {topic: each for topic, each in zip(unclear, settings, strict=True) if each is not None}
        for topic, found in topic_changes.try_settings(
            destination, {topic: {name: value} for topic, (name, value) in alone.items()}
        ).items():
            named[topic].append(f"{alone[topic][0]}: {found.why}")
    return refusals | {topic: refusals[topic]._replace(why="; ".join(lines)) for topic, lines in named.items() if lines}
