# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which settings of a topic are suspended while records are copied to it, and brings them to where they should be.

Settings: https://kafka.apache.org/documentation/#topicconfigs. Records that are older than the retention are deleted within
seconds of being copied, whatever their number, and what a broker stamps anew or compacts is no longer what was copied.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..._control.configs import TopicConfigs, alter_topic_configs, topic_configs
from ..._model.backlog import CLEANUP, SUSPENDED, Backlog, BacklogTopic, Suspended
from ..._model.connection import Connection
from ..._model.notes import Note, NoteKind
from . import others

Save = t.Callable[[Backlog], None]
LARGEST = "max.message.bytes"
# Those that every version knows, so that a topic can be made with them.
_EVERYWHERE = (CLEANUP, "message.timestamp.type", "retention.bytes", "retention.ms")


def bring_settings(
    backlog: Backlog,
    destination: Connection,
    free: t.Collection[str],
    save: Save | None,
    left: t.Collection[str] = (),
) -> tuple[Backlog, list[Note], bool]:
    """Give these topics the settings back that they had before the copy, and suspend those of all others.

    save: writes the copy file; None only tells. left: topics that are not touched at all.
    -> the copy afterwards; notes of the topics that stay as they are, and of those that should have been suspended and were
    not; and whether the copy, or a setting of a topic, is another one.
    """
    ours = [topic for topic in backlog.topics if topic.suspended and topic.name not in left]
    due = [topic for topic in ours if topic.name in free and not topic.restored]
    shared = others.other_copies(backlog, destination) if due else {}
    notes = [
        Note(
            NoteKind.SETTINGS_SUSPENDED,
            f"The topic {topic.name} keeps its suspended settings, because another copy, whose progress is in "
            f"{shared[topic.name]}, has written to it. Run this copy again when that copy's groups have consumed its records "
            "and it has been run again.",
        )
        for topic in due
        if topic.name in shared
    ]
    due = [topic for topic in due if topic.name not in shared]
    needed = [topic for topic in ours if topic.name not in free]
    configs = topic_configs(destination, [topic.name for topic in (*due, *needed)])
    wanted = {topic.name: changes(topic, configs[topic.name], suspended=True) for topic in needed}
    # One that is noted as suspended need not be: a run was killed before it could suspend it, or somebody has set it since.
    needed = [topic for topic in needed if topic.restored or wanted[topic.name]]
    notes += [
        Note(
            NoteKind.SETTINGS_SUSPENDED,
            f"Groups have yet to consume the records that were copied to the topic {topic.name}, and these settings of it "
            f"are not suspended: {', '.join(sorted(wanted[topic.name]))}. Somebody has set them, or a run was killed before it "
            "could suspend them. This run suspends them again.",
        )
        for topic in needed
        if not topic.restored
    ]
    held = backlog.with_topics(
        dataclasses.replace(noted_again(topic, configs[topic.name]), restored=False) for topic in needed
    )
    after = held.with_topics(dataclasses.replace(topic, restored=True) for topic in due)
    if save is not None:
        if held != backlog:
            save(held)  # before anything is suspended, because only what is noted as suspended is restored after a kill
        back = {topic.name: changes(topic, configs[topic.name], suspended=False) for topic in due}
        alter_topic_configs(destination, wanted | back)
        if after != held:
            save(after)
    return after, notes, after != backlog or bool(needed)


def suspend_again(backlog: Backlog, destination: Connection, save: Save) -> tuple[Backlog, list[Note]]:
    """Suspend what somebody has set while records were copied, such as an operator that keeps settings; and note it."""
    held = [topic for topic in backlog.topics if topic.suspended and not topic.restored]
    configs = topic_configs(destination, [topic.name for topic in held])
    wanted = {topic.name: changes(topic, configs[topic.name], suspended=True) for topic in held}
    moved = [topic for topic in held if wanted[topic.name]]
    if not moved:
        return backlog, []
    after = backlog.with_topics(noted_again(topic, configs[topic.name]) for topic in moved)
    save(after)
    alter_topic_configs(destination, wanted)
    return after, [
        Note(
            NoteKind.SETTINGS_SUSPENDED,
            f"Somebody has set {', '.join(sorted(wanted[topic.name]))} of the topic {topic.name} while records were copied "
            "to it. This run has suspended that again, because brokers would delete or change the records. The verification "
            "of the copy tells whether they have. If an operator such as Strimzi keeps the settings, pause it for this topic "
            "until all groups have consumed the records.",
        )
        for topic in moved
    ]


def changes(topic: BacklogTopic, configs: TopicConfigs, suspended: bool) -> dict[str, str | None]:
    """What is to be set so that the settings are suspended, or what they were before; None for the brokers' default.

    What somebody has set since the copy suspended a setting is not touched when it comes back.
    """
    if suspended:
        return {
            name: setting.during
            for name, setting in topic.suspended.items()
            if configs.effective.get(name) != setting.during
        }
    return {
        name: setting.before
        for name, setting in topic.suspended.items()
        if setting.before != setting.during and configs.own.get(name) == setting.during
    }


def changes_back(destination: Connection, topics: t.Iterable[BacklogTopic]) -> dict[str, dict[str, str | None]]:
    """By topic what gives the settings back that are still suspended; without topics where there is nothing to change."""
    suspended = [topic for topic in topics if topic.suspended and not topic.restored]
    configs = topic_configs(destination, [topic.name for topic in suspended])
    back = {topic.name: changes(topic, configs[topic.name], suspended=False) for topic in suspended}
    return {name: settings for name, settings in back.items() if settings}


def noted_again(topic: BacklogTopic, configs: TopicConfigs) -> BacklogTopic:
    """The topic with what is to be restored later: a setting that is not what the copy has set is somebody's."""
    own = {name: configs.own.get(name) for name in topic.suspended}
    suspended = {
        name: held if own[name] == held.during else Suspended(own[name], held.during)
        for name, held in topic.suspended.items()
    }
    return dataclasses.replace(topic, suspended=suspended)


def to_suspend(source: TopicConfigs, existing: TopicConfigs) -> dict[str, Suspended]:
    """The settings of a topic that is there by which it would lose or change records. source: of the source's topic."""
    during = {name: SUSPENDED[name] for name in _EVERYWHERE}
    if int(existing.effective[LARGEST]) < int(source.effective.get(LARGEST, 0)):
        during[LARGEST] = source.effective[LARGEST]
    held = {name: Suspended(existing.own.get(name), value) for name, value in during.items()}
    changed = {name: setting for name, setting in held.items() if existing.effective.get(name) != setting.during}
    return changed | _limits(existing)


def from_the_beginning(settings: t.Mapping[str, str]) -> dict[str, Suspended]:
    """The settings that a topic is made with in place of some of these."""
    return {name: Suspended(settings.get(name), SUSPENDED[name]) for name in _EVERYWHERE}


def with_limits(topic: BacklogTopic, configs: TopicConfigs | None) -> BacklogTopic:
    """The limits of a topic that is made are its brokers', as far as they tell; what was noted of them before is kept."""
    if topic.created is None or configs is None or not topic.suspended:
        return topic
    return dataclasses.replace(topic, suspended=_limits(configs) | topic.suspended)


def _limits(configs: TopicConfigs) -> dict[str, Suspended]:
    """The limits of timestamps that these brokers know and that records may exceed."""
    return {
        name: Suspended(configs.own.get(name), value)
        for name, value in SUSPENDED.items()
        if name not in _EVERYWHERE and configs.effective.get(name, value) != value
    }
