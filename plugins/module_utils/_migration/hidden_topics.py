# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Topics of the source on which groups may have committed offsets that brokers do not show to the user."""

from __future__ import annotations

import typing as t

from .._control import groups
from .._control.reasons import ErrorCode
from .._control.topics import describe_topics, list_topics
from .._model.connection import Connection
from .._model.errors import NotAuthorized
from .._model.grouping import values_by_key
from .._model.known_names import STREAMS_TOPICS, TOPICS, known
from .._model.mapping import Mapping
from .._model.notes import Note, NoteKind
from .._model.option_names import option_name, ways
from .._model.selection import Selection
from .._model.wording import MANY_NAMED, first_names, first_of
from .._records.group_members import assigned_unseen


def subscribed(source: Connection, in_use: t.Mapping[str, str], selection: Selection) -> list[NotAuthorized]:
    """A problem for each topic that members of these groups are subscribed to, and that the user may not describe.

    in_use: the type of each group, by name.
    Topics that are named are left out: their ACLs are asked for in any case. Of groups of the newer protocol (KIP-848), brokers
    tell only that there is such a topic: these are problems if all topics are selected.
    """
    subscriptions = groups.subscriptions(source, in_use)
    groups_by_topic = values_by_key(
        (topic, group)
        for group, topics in subscriptions.items()
        for topic in sorted((topics or frozenset()) - {*selection.topics})
        if selection.select_topics([topic], group).has(topic)
    )
    problems = [
        NotAuthorized(
            f"missing ACL TOPIC READ on {topic}",
            cluster=str(source),
            group=groups_by_topic[topic][0] if len(groups_by_topic[topic]) == 1 else None,
            topic=topic,
            why=f"members of {first_names(groups_by_topic[topic], more='more groups')} are subscribed to it, and brokers hide "
            "committed offsets on topics that the user may not describe",
            remedy=ways(
                ("", "grant it to the user of this cluster, with TOPIC DESCRIBE_CONFIGS"),
                ("exclude_topic_patterns", f"exclude the topic by {option_name('exclude_topic_patterns')}"),
            ),
        )
        for topic in _denied(source, groups_by_topic)
    ]
    if selection.topics or selection.topic_patterns or selection.exclude_topic_patterns:
        return problems
    untold = [group for group, topics in subscriptions.items() if topics is None and in_use[group] == "consumer"]
    return problems + [
        NotAuthorized(
            "missing ACL TOPIC READ on a topic that its members consume",
            cluster=str(source),
            group=group,
            why="brokers do not tell which one, and hide what the group has committed on it",
            remedy=ways(
                ("", "grant it on each topic that the group consumes, with TOPIC DESCRIBE_CONFIGS"),
                ("topic_patterns", f"select topics by {option_name('topic_patterns')}"),
            ),
        )
        for group in assigned_unseen(source, untold)
    ]


def copied(
    source: Connection, destination: Connection, selection: Selection, mapping: Mapping, seen: t.Collection[str]
) -> list[Note]:
    """A note of topics that the source hides, if it has them, and whose copies the destination may have.

    seen: topics of the source on which committed offsets were found.
    """
    if selection.topics and not selection.topic_patterns:
        return []
    possible = mapping.possible_sources(list_topics(destination)) - {*seen, *selection.topics}
    wanted = possible.intersection(selection.select_topics(filter(_may_be_consumed, possible)).names)
    hidden = _denied(source, wanted)
    if not hidden:
        return []
    remedy = ways(
        ("", "grant the ACL TOPIC DESCRIBE on them at the source"),
        (
            "exclude_topic_patterns",
            f"exclude by {option_name('exclude_topic_patterns')} those that no selected group consumes",
        ),
    )
    text = (
        f"{source}: the user may not describe topics that the destination may have copies of: {first_of(hidden, MANY_NAMED)}. "
        "Brokers tell such a user neither whether a topic exists nor what groups have committed on it. If a selected group "
        "consumes one of them, its offsets on it are not moved, and its consumers start at the destination by "
        f"auto.offset.reset: with latest, they skip records. To be sure, {remedy}."
    )
    return [Note(NoteKind.TOPICS_HIDDEN, text)]


def _denied(source: Connection, names: t.Collection[str]) -> list[str]:
    """Those of these topics that the user may not describe, sorted. Brokers do not tell whether these exist."""
    described = describe_topics(source, names)
    return sorted(name for name, each in described.items() if each.error == ErrorCode.TOPIC_AUTHORIZATION_FAILED.name)


def _may_be_consumed(topic: str) -> bool:
    """Not topics that tools make, but for those through which a Kafka Streams application sends records to itself."""
    tool = known(topic, TOPICS)
    return tool is None or (tool in STREAMS_TOPICS and not topic.endswith("-changelog"))
