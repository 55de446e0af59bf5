# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which topics are promoted, and to which names: pure, and refused before anything is asked about them."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..._model.errors import InvalidInput, MigrationError, NotFound, NothingSelected, OneCluster
from ..._model.faults import all_of, raise_any
from ..._model.grouping import values_by_key
from ..._model.mapping import Mapping
from ..._model.notes import Note, NoteKind, excluded
from ..._model.option_names import option_name
from ..._model.promotion import EXCLUDED_TOPICS, CommittedTopics
from ..._model.selection import Selected, Selection, all_excluded, matches, name_hint, seen_on

LONGEST_NAME = 249  # characters: org.apache.kafka.common.internals.Topic, as all rules for names here
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")
# What belongs to the brokers themselves.
_INTERNAL = frozenset({"__cluster_metadata", "__consumer_offsets", "__share_group_state", "__transaction_state"})


class Pairs(t.NamedTuple):
    """names: what each selected topic of the source is called at the destination. notes: what was left out."""

    names: dict[str, str]
    notes: tuple[Note, ...]


def pairs(selection: Selection | CommittedTopics, mapping: Mapping, existing: t.Collection[str], source: str) -> Pairs:
    """Select from the topics of the source, and map their names.

    existing: every topic that the user may describe there. source: what the cluster calls itself in messages. Raises NotFound,
    InvalidInput or OneCluster.
    """
    topics = set(existing) - _INTERNAL
    if isinstance(selection, CommittedTopics):
        left = selection.topics & topics
        names = tuple(sorted(topic for topic in left if not matches(topic, selection.exclude_topic_patterns)))
        notes: tuple[Note, ...] = ()
    else:
        raise_any(_unfit(topic, existing, source) for topic in selection.topics if topic not in topics)
        names, left_out = _select(selection, topics)
        notes = (*excluded(topics=left_out), *selection.unused("topics", existing, seen_on(source)))
        if not names:
            raise NothingSelected(
                "no topic is selected",
                why=" ".join(note.text for note in notes).rstrip(".") or None,
                cluster=source,
                remedy=f"correct {option_name('topic_patterns')} or {option_name('exclude_topic_patterns')}",
            )
    own = [topic for topic in names if mapping.is_own(topic)]
    if own:  # they are there, and follow nobody
        text = f"Left out, because they are copies of the destination's own topics: {', '.join(own)}."
        notes = (*notes, Note(NoteKind.EXCLUDED, text))
    return Pairs({topic: _name(topic, mapping, source) for topic in names if topic not in own}, notes)


def selected_names(selection: Selection | CommittedTopics, names: t.Collection[str]) -> frozenset[str]:
    """Those of these names that the patterns select, whether topics are called so or not."""
    if isinstance(selection, CommittedTopics):
        return frozenset()
    return frozenset(_select(selection, names).names) & (set(names) - _INTERNAL)


def _select(selection: Selection, topics: t.Collection[str]) -> Selected:
    excluded_topics = all_excluded(selection.exclude_topic_patterns, EXCLUDED_TOPICS)
    return dataclasses.replace(selection, exclude_topic_patterns=excluded_topics).select_topics(topics)


def _unfit(topic: str, existing: t.Collection[str], source: str) -> MigrationError:
    """Why a topic that is named cannot be promoted."""
    if topic in _INTERNAL:
        remedy = f"remove it from {option_name('topics')}"
        return InvalidInput("the topic is internal", cluster=source, topic=topic, remedy=remedy)
    return NotFound(
        "the topic does not exist",
        cluster=source,
        topic=topic,
        remedy=f"correct {option_name('topics')}{name_hint('topics', [topic], existing)}, or grant ACL TOPIC DESCRIBE on it",
    )


def check_topic_names(
    names: t.Mapping[str, str], existing: t.Collection[str], one_cluster: bool, destination: str
) -> None:
    """Raise InvalidInput or OneCluster where the names of the destination cannot be what is meant.

    names: of Pairs. existing: every topic of the destination. one_cluster: whether source and destination are the same.
    """

    def check(pair: tuple[str, str]) -> None:
        source, name = pair
        if one_cluster and source == name:
            raise OneCluster(
                "source and destination are one cluster, and the topic would keep its name",
                cluster=destination,
                topic=source,
                remedy="correct bootstrap_servers of one of the clusters, "
                f"or give the topic another name in {option_name('topic_map')}",
            )
        if name in _INTERNAL:
            raise InvalidInput(
                f"{source} would become the internal topic {name}", remedy=f"correct {option_name('topic_map')}"
            )
        if len(name) > LONGEST_NAME:
            raise InvalidInput(
                f"{source} would be called {name}, which has {len(name)} characters, and Kafka allows {LONGEST_NAME}",
                remedy=f"correct {option_name('topic_map')}",
            )
        if not _LEGAL.fullmatch(name) or name in (".", ".."):
            raise InvalidInput(
                f"{source} would be called {name}, which is no legal name of a topic",
                remedy=f"use letters, digits, dots, dashes and underscores in {option_name('topic_map')}",
            )

    all_of(check, names.items())
    origins = values_by_key((name, source) for source, name in names.items())
    raise_any(
        InvalidInput(
            f"{' and '.join(sources)} would both become {name}",
            remedy=f"correct {option_name('topic_map')}, or leave all but one of them out",
        )
        for name, sources in origins.items()
        if len(sources) > 1
    )
    _check_collisions(set(names.values()), existing, destination)


def _check_collisions(names: set[str], existing: t.Collection[str], destination: str) -> None:
    """Brokers refuse a topic whose name differs from another one's only in dots and underscores: their metrics would be one."""
    seen: dict[str, str] = {}
    for name in [*sorted(existing), *sorted(names - set(existing))]:
        known = seen.setdefault(name.replace(".", "_"), name)
        if known != name and (name in names or known in names) and not {name, known} <= set(existing):
            raise InvalidInput(
                f"{name} and {known} differ only in . and _, and Kafka does not allow both",
                cluster=destination,
                topic=name,
                remedy=f"give one of them another name in {option_name('topic_map')}",
            )


def _name(topic: str, mapping: Mapping, source: str) -> str:
    prefix = mapping.prefixes.of_source
    if prefix and topic.startswith(prefix) and topic.endswith(mapping.prefixes.ending):
        raise InvalidInput(
            f"the topic has the prefix {prefix} already, which {option_name('replication_policy')} would give it again",
            cluster=source,
            topic=topic,
            why=f"{option_name('replication_policy')}.source_alias may be that of another cluster, "
            "whose topics are copied to this one",
            remedy=f"leave the topic out, or correct {option_name('replication_policy')}",
        )
    return mapping.topic(topic)
