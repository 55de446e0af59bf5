# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The topics that a backlog is copied to: kept from losing or changing copied records.

See own_topics.py for those that are missing; here is what is suspended meanwhile.

Settings: https://kafka.apache.org/documentation/#topicconfigs. Records that are older than the retention are deleted within
seconds of being copied, whatever their number, and what a broker stamps anew or compacts is no longer what was copied.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..._control import storage, topics
from ..._control.configs import TopicConfigs, alter_topic_configs, topic_configs
from ..._control.storage import TopicLayout
from ..._model.backlog import BacklogTopic, Suspended
from ..._model.connection import Connection
from ..._model.errors import NotFound, Refused
from ..._model.failure_kinds import FailureKind
from ..._model.new_topics import BROKERS_OWN_SETTINGS, IN_SYNC, following_settings, topic_like
from ..._model.option_names import option_name
from ..._model.progress import counted
from . import obstacles, own_topics

_FOR_EVER = "9223372036854775807"
# While records are copied, and until every group is past them.
_SUSPENDED = {
    "cleanup.policy": "delete",
    "message.timestamp.after.max.ms": _FOR_EVER,
    "message.timestamp.before.max.ms": _FOR_EVER,
    "message.timestamp.difference.max.ms": _FOR_EVER,
    "message.timestamp.type": "CreateTime",
    "retention.bytes": "-1",
    "retention.ms": "-1",
}
# Those that every version knows, so that a topic can be made with them.
_EVERYWHERE = ("cleanup.policy", "message.timestamp.type", "retention.bytes", "retention.ms")
_LARGEST = "max.message.bytes"


class TopicPair(t.NamedTuple):
    """A topic of the source and what it is called at the destination; copies: whether there is anything to copy."""

    source: str
    destination: str
    copies: bool


class Prepared(t.NamedTuple):
    """Topics that can be copied to.

    largest: what each takes as a batch, in bytes. made: those that this call has made, which are empty.
    """

    topics: tuple[BacklogTopic, ...]
    largest: dict[str, int]
    made: frozenset[str]


def plan_topics(source: Connection, destination: Connection, pairs: t.Sequence[TopicPair]) -> list[BacklogTopic]:
    """What has to be made, and what suspended. Raises Refused for topics that cannot take these records as they are."""
    source_topics, destination_topics = [pair.source for pair in pairs], [pair.destination for pair in pairs]
    counts = topics.partition_counts(source, source_topics)
    known = topics.partition_counts(destination, destination_topics)
    for pair in pairs:
        if pair.source not in counts:
            raise NotFound(
                "the topic does not exist",
                cluster=str(source),
                topic=pair.source,
                remedy="exclude it from the selection",
            )
        if known.get(pair.destination, counts[pair.source]) != counts[pair.source]:
            raise Refused(
                f"the topic has {known[pair.destination]} partitions, and {pair.source} has {counts[pair.source]} at the "
                "source: records keep their partition",
                cluster=str(destination),
                topic=pair.destination,
                remedy=f"map it to another topic by {option_name('topic_map')}, or make one with as many partitions",
                kind=FailureKind.TOPIC_UNSUITABLE,
            )
    configs = topic_configs(source, source_topics)
    existing = topic_configs(destination, known)
    _check_replicas(destination, {name: existing[name] for name in known})
    written = {pair.destination for pair in pairs if pair.copies}
    obstacles.check_formats(destination, {name: existing[name] for name in written & existing.keys()})
    brokers = storage.broker_count(destination)
    layouts = storage.topic_layouts(source, [pair.source for pair in pairs if pair.destination not in known])
    planned = []
    for pair in pairs:
        its = configs[pair.source]
        if pair.destination in known:
            suspended = _existing(destination, pair, its, existing[pair.destination]) if pair.copies else {}
            planned.append(BacklogTopic(pair.destination, pair.source, None, suspended))
        else:
            planned.append(_missing(pair, layouts[pair.source], brokers, its.own))
    accepted, limits = own_topics.as_brokers_take_them(destination, planned)
    obstacles.check_formats(destination, {name: limits[name] for name in written & limits.keys()})
    return [_with_limits(topic, limits.get(topic.name)) for topic in accepted]


def prepare(
    destination: Connection,
    planned: t.Sequence[BacklogTopic],
    save: own_topics.Save,
) -> Prepared:
    """Make what is missing, and hold back what has to be.

    save: writes down what was made, and what stood there before anything of it is changed.
    """
    names = [topic.name for topic in planned]
    known = topics.partition_counts(destination, names)
    for topic in planned:
        if topic.created is None and topic.name not in known:
            raise NotFound(
                "the topic existed when the copy was planned, but does not exist now",
                cluster=str(destination),
                topic=topic.name,
                remedy="plan again in another directory",
                kind=FailureKind.TOPIC_RECREATED,
            )
    made, unclaimed = own_topics.make_missing(destination, planned, known, save)
    configs = topic_configs(destination, names)
    limited = [_with_limits(topic, configs[topic.name]) for topic in planned]
    noted = tuple(
        dataclasses.replace(topic, topic_id=made[topic.name])
        if topic.name in made
        else dataclasses.replace(
            _noted_again(topic, configs[topic.name]), created=None if topic.name in unclaimed else topic.created
        )
        for topic in limited
    )
    if noted != tuple(planned):
        save(noted)
    changes = {
        topic.name: {
            name: held.during
            for name, held in topic.suspended.items()
            if configs[topic.name].effective.get(name) != held.during
        }
        for topic in noted
    }
    alter_topic_configs(destination, {name: its for name, its in changes.items() if its})
    largest = {
        topic.name: int(changes[topic.name].get(_LARGEST) or configs[topic.name].effective[_LARGEST]) for topic in noted
    }
    return Prepared(noted, largest, frozenset(made))


def noted_again(destination: Connection, held: t.Sequence[BacklogTopic]) -> list[BacklogTopic]:
    """The topics with what is to be restored later, where somebody has changed settings since that was noted."""
    configs = topic_configs(destination, [topic.name for topic in held])
    return [_noted_again(topic, configs[topic.name]) for topic in held]


def suspend_settings(destination: Connection, topics: t.Iterable[BacklogTopic]) -> None:
    """Suspend what has to be suspended."""
    during = {topic.name: {name: each.during for name, each in topic.suspended.items()} for topic in topics}
    alter_topic_configs(destination, during)


def changes_back(destination: Connection, held: t.Iterable[BacklogTopic]) -> dict[str, dict[str, str | None]]:
    """For each topic the settings that still are what the copy has set, and what they were before.

    Topics without such settings are not in it.

    What somebody has set since then is not touched.
    """
    suspended = [topic for topic in held if topic.suspended and not topic.restored]
    configs = topic_configs(destination, [topic.name for topic in suspended])
    changes = {
        topic.name: {
            name: each.before
            for name, each in topic.suspended.items()
            if each.before != each.during and configs[topic.name].own.get(name) == each.during
        }
        for topic in suspended
    }
    return {name: its for name, its in changes.items() if its}


def give_back(destination: Connection, changes: t.Mapping[str, t.Mapping[str, str | None]]) -> None:
    """Make the changes that changes_back() tells."""
    alter_topic_configs(destination, changes)


def lines(planned: t.Iterable[BacklogTopic]) -> list[str]:
    """What is done with each topic, for people."""
    said = []
    for topic in sorted(planned, key=lambda topic: topic.name):
        if topic.created is not None:
            partitions, factor, _configs = topic.created
            made = counted(partitions, "partition")
            said.append(f"{topic.name}: made by this copy, with {made} and replication factor {factor}")
        if topic.restored:
            said.append(f"{topic.name}: {', '.join(sorted(topic.suspended))} are what they were before the copy")
        elif topic.suspended:
            held = ", ".join(
                f"{name}={each.during} instead of {'the default' if each.before is None else each.before}"
                for name, each in sorted(topic.suspended.items())
                if each.during != each.before
            )
            said.append(f"{topic.name}: until every group is past the backlog, {held}")
    return said


def _existing(
    destination: Connection, pair: TopicPair, source: TopicConfigs, existing: TopicConfigs
) -> dict[str, Suspended]:
    """The settings of a topic that is there by which it would lose or change records."""
    if _is_compacted(existing) and not _is_compacted(source):
        raise Refused(
            f"the topic is compacted, and {pair.source} at the source is not: what was copied would be removed",
            cluster=str(destination),
            topic=pair.destination,
            remedy=f"set its cleanup.policy to delete, or name another topic in {option_name('topic_map')}",
            kind=FailureKind.TOPIC_UNSUITABLE,
        )
    during = {name: _SUSPENDED[name] for name in _EVERYWHERE}
    if int(existing.effective[_LARGEST]) < int(source.effective[_LARGEST]):
        during[_LARGEST] = source.effective[_LARGEST]
    held = {name: Suspended(existing.own.get(name), value) for name, value in during.items()}
    changed = {name: each for name, each in held.items() if existing.effective.get(name) != each.during}
    return changed | _limits(existing)


def _missing(pair: TopicPair, layout: TopicLayout, brokers: int, own: t.Mapping[str, str]) -> BacklogTopic:
    """A topic that is made like the source's, and held back from its beginning."""
    settings = following_settings(own, BROKERS_OWN_SETTINGS)
    during = {name: _SUSPENDED[name] for name in _EVERYWHERE} if pair.copies else {}
    suspended = {name: Suspended(settings.get(name), value) for name, value in during.items()}
    created = topic_like(layout.partitions, layout.replicas, settings | during, brokers)
    return BacklogTopic(pair.destination, pair.source, created, suspended)


def _with_limits(topic: BacklogTopic, configs: TopicConfigs | None) -> BacklogTopic:
    """The limits of a topic that is made are its brokers', as far as they tell; what stood there is written down once."""
    if topic.created is None or configs is None or not topic.suspended:
        return topic
    return dataclasses.replace(topic, suspended=_limits(configs) | topic.suspended)


def _noted_again(topic: BacklogTopic, configs: TopicConfigs) -> BacklogTopic:
    """A setting that is not what the copy has set is somebody's."""
    own = {name: configs.own.get(name) for name in topic.suspended}
    suspended = {
        name: held if own[name] == held.during else Suspended(own[name], held.during)
        for name, held in topic.suspended.items()
    }
    return dataclasses.replace(topic, suspended=suspended)


def _limits(configs: TopicConfigs) -> dict[str, Suspended]:
    """The limits of timestamps that these brokers know and that records may exceed."""
    return {
        name: Suspended(configs.own.get(name), value)
        for name, value in _SUSPENDED.items()
        if name not in _EVERYWHERE and configs.effective.get(name, value) != value
    }


def _is_compacted(configs: TopicConfigs) -> bool:
    return "compact" in configs.effective.get("cleanup.policy", "")


def _check_replicas(destination: Connection, existing: t.Mapping[str, TopicConfigs]) -> None:
    """Raise Refused for a partition that takes no records now, for which a producer would wait in vain."""
    for partition, its in sorted(storage.partition_replicas(destination, existing).items()):
        wanted = int(existing[partition.topic].effective.get(IN_SYNC, 1))
        if its.in_sync < wanted:
            raise Refused(
                f"{its.in_sync} of {its.replicas} replicas are in sync, and min.insync.replicas is {wanted}: "
                "nothing can be written",
                cluster=str(destination),
                remedy="start the brokers that are missing, or lower min.insync.replicas of the topic",
                **partition._asdict(),
                kind=FailureKind.TOPIC_UNSUITABLE,
            )
