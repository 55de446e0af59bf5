# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The topics that a backlog is copied to: plans and makes those that are missing, and has the settings of all suspended."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._control import storage, topics
from ..._control.configs import TopicConfigs, alter_topic_configs, topic_configs
from ..._control.storage import TopicLayout
from ..._control.topic_changes import Creation
from ..._model.backlog import CLEANUP, Backlog, BacklogTopic, Suspended
from ..._model.connection import Connection
from ..._model.errors import NotFound, Refused, TopicRecreated, TopicUnsuitable
from ..._model.new_topics import BROKERS_OWN_SETTINGS, IN_SYNC, NewTopic, following_settings, topic_like
from ..._model.option_names import option_name
from .. import topic_making
from . import preconditions, suspended_settings
from .suspended_settings import LARGEST, Save, with_limits

_SEGMENT = "segment.bytes"


class Prepared(t.NamedTuple):
    """Topics that can be copied to.

    largest: what each takes as a batch, in bytes. segments: its segment.bytes, which no batch may exceed either. made:
    those that this call has made, which are empty.
    """

    topics: tuple[BacklogTopic, ...]
    largest: dict[str, int]
    segments: dict[str, int]
    made: frozenset[str]


def plan_topics(
    source: Connection, destination: Connection, names: t.Mapping[str, str], copied: t.Collection[str]
) -> list[BacklogTopic]:
    """What has to be made, and what suspended. Raises Refused for topics that cannot take these records as they are.

    names: what each topic of the source is called at the destination. copied: those of the source that have records to copy.
    """
    counts = topics.partition_counts(source, list(names))
    known = topics.partition_counts(destination, list(names.values()))
    for topic, name in names.items():
        if topic not in counts:
            raise NotFound(
                "the topic does not exist",
                cluster=str(source),
                topic=topic,
                remedy="exclude it from the selection",
            )
        if known.get(name, counts[topic]) != counts[topic]:
            raise TopicUnsuitable(
                f"the topic has {known[name]} partitions, and {topic} has {counts[topic]} at the source: records keep their "
                "partition",
                cluster=str(destination),
                topic=name,
                remedy=f"map it to another topic by {option_name('topic_map')}, or make one with as many partitions",
            )
    configs = topic_configs(source, list(names), as_far_as_told=True)
    existing = topic_configs(destination, known)
    _check_replicas(destination, existing)
    written = {names[topic] for topic in copied}
    if written:
        preconditions.check_transactions(destination)
    brokers = storage.broker_count(destination)
    layouts = storage.topic_layouts(source, [topic for topic, name in names.items() if name not in known])
    planned = []
    for topic, name in names.items():
        target = BacklogTopic(name, topic)
        if name not in known:
            target = _missing(target, layouts[topic], brokers.known, configs[topic].own, topic in copied)
        elif topic in copied:
            suspended = _existing(destination, target, configs[topic], existing[name])
            target = dataclasses.replace(target, suspended=suspended)
        planned.append(target)
    accepted, limits = _as_brokers_take_them(destination, planned, brokers.up)
    shown = existing | limits
    preconditions.check_formats(destination, {name: shown[name] for name in written & shown.keys()})
    return [
        with_limits(_taking_batches(topic, configs[topic.source], limits.get(topic.name)), limits.get(topic.name))
        for topic in accepted
    ]


def prepare(source: Connection, destination: Connection, backlog: Backlog, save: Save) -> Prepared:
    """Make what is missing, and hold back what has to be: also what was held back for another copy when this one was planned.

    Raises Refused for a topic that is compacted now and that records are copied to, unless the copy has suspended that before.
    save: writes the copy file: what was made, and what stood there before anything of it is changed.
    """
    planned, copied = backlog.topics, {each.destination.topic for each in backlog.ranges if each.copies}
    names = [topic.name for topic in planned]
    known = topics.partition_counts(destination, names)
    for topic in planned:
        if topic.created is None and topic.name not in known:
            raise preconditions.other_topic(destination, "the topic does not exist any more", topic=topic.name)
    made, unclaimed = _make_missing(destination, backlog, known, save)
    configs = topic_configs(destination, names)
    existing = {topic.name: topic for topic in planned if topic.created is None and topic.name in copied}
    source_configs = topic_configs(source, [topic.source for topic in existing.values()], as_far_as_told=True)
    suspended = {
        name: _existing(destination, topic, source_configs[topic.source], configs[name])
        for name, topic in existing.items()
    }
    limited = [with_limits(topic, configs[topic.name]) for topic in planned]
    noted = tuple(
        dataclasses.replace(topic, topic_id=made[topic.name])
        if topic.name in made
        else dataclasses.replace(
            again := suspended_settings.noted_again(topic, configs[topic.name]),
            suspended=suspended.get(topic.name, {}) | again.suspended,
            created=None if topic.name in unclaimed else topic.created,
        )
        for topic in limited
    )
    if noted != planned:
        save(backlog.with_topics(noted))
    changes = {topic.name: suspended_settings.changes(topic, configs[topic.name], suspended=True) for topic in noted}
    alter_topic_configs(destination, changes)
    largest = {
        topic.name: int(changes[topic.name].get(LARGEST) or configs[topic.name].effective[LARGEST]) for topic in noted
    }
    segments = {topic.name: int(configs[topic.name].effective[_SEGMENT]) for topic in noted}
    return Prepared(noted, largest, segments, frozenset(made))


def _as_brokers_take_them(
    destination: Connection, planned: t.Sequence[BacklogTopic], brokers: int
) -> tuple[list[BacklogTopic], dict[str, TopicConfigs]]:
    """The topics as the brokers would make those that are missing, and the settings that these would have, if brokers tell.

    brokers: how many are up. Raises Refused or NotAuthorized where they would not, or where too few are up. A topic
    that is made wants no more replicas in sync than it has, because nothing could be copied to it.
    """
    wanted = _to_create(planned)
    objections = topic_making.ChangeObjections()
    trial = topic_making.try_topics(destination, wanted, objections)
    objections.check(
        destination,
        f"create the topic yourself, map it to another one by {option_name('topic_map')}, or exclude it from the selection",
    )
    for name, found in topic_making.unwritable(wanted, trial, brokers).items():
        if found.up < min(int(found.in_sync), found.replicas):
            raise _not_in_sync(destination, name, f"{found.up} of {found.replicas} replicas would be", found.in_sync)
        configs = wanted[name].configs | {IN_SYNC: str(found.replicas)}
        wanted[name] = wanted[name]._replace(configs=configs)
    return [dataclasses.replace(topic, created=wanted.get(topic.name)) for topic in planned], trial.configs


def _make_missing(
    destination: Connection, backlog: Backlog, known: t.Collection[str], save: Save
) -> tuple[dict[str, str | None], set[str]]:
    """Make the topics that are missing. -> the ids of those that this call has made, and the names of those that it has not.

    A topic that is there although the copy was to make it takes the records if it looks as planned. But nobody knows who has
    made it, so it is not deleted when the copy is given up. known: the topics that were there.
    save: writes the copy file with what was made.
    """
    planned = backlog.topics
    made: dict[str, str | None] = {}

    def note(creation: Creation) -> None:
        made.update(creation.made)
        save(
            backlog.with_topics(
                dataclasses.replace(each, topic_id=made.get(each.name, each.topic_id)) for each in planned
            )
        )

    missing = _to_create(topic for topic in planned if topic.name not in known)
    others = topic_making.make_topics(destination, missing, note)
    unsure = [
        topic for topic in planned if topic.name in known and topic.created is not None and topic.topic_id is None
    ]
    ids = topics.topic_ids(destination, [topic.name for topic in unsure])
    others += preconditions.not_made(destination, unsure, ids)
    if others:
        raise TopicRecreated(
            "this copy was to create the topic, and somebody else has created the topic with other partitions or settings",
            cluster=str(destination),
            topic=others[0],
            remedy="delete it, if nobody needs its records, and run again; or give the copy up, and copy to another topic "
            f"({option_name('topic_map')})",
        )
    return made, {*(missing.keys() - made.keys()), *(name for name, topic_id in ids.items() if topic_id is not None)}


def _to_create(planned: t.Iterable[BacklogTopic]) -> dict[str, NewTopic]:
    return {topic.name: topic.created for topic in planned if topic.created is not None}


def _existing(
    destination: Connection, topic: BacklogTopic, source: TopicConfigs, existing: TopicConfigs
) -> dict[str, Suspended]:
    """The settings of a topic that is there by which it would lose or change records."""
    if CLEANUP not in topic.suspended and _is_compacted(existing) and not _is_compacted(source):
        raise TopicUnsuitable(
            f"the topic is compacted, and {topic.source} at the source is not, as far as its brokers tell: what was copied "
            "would be removed",
            cluster=str(destination),
            topic=topic.name,
            remedy=f"set its {CLEANUP} to delete, or name another topic in {option_name('topic_map')}",
        )
    return suspended_settings.to_suspend(source, existing)


def _missing(
    topic: BacklogTopic, layout: TopicLayout, brokers: int, own: t.Mapping[str, str], copies: bool
) -> BacklogTopic:
    """A topic that is made like the source's, and held back from its beginning. copies: whether it has records to copy."""
    settings = following_settings(own, BROKERS_OWN_SETTINGS)
    suspended = suspended_settings.from_the_beginning(settings) if copies else {}
    during = {name: setting.during for name, setting in suspended.items()}
    created = topic_like(layout.partitions, layout.replicas, settings | during, brokers)
    return dataclasses.replace(topic, created=created, suspended=suspended)


def _taking_batches(topic: BacklogTopic, source: TopicConfigs, made: TopicConfigs | None) -> BacklogTopic:
    """A topic that takes as large batches as the source's, which may have its limit from its brokers, while records are copied.

    made: the settings that it would have, if brokers tell; a topic that is not made has none.
    """
    wanted = source.effective.get(LARGEST)
    if topic.created is None or made is None or wanted is None or not topic.suspended:
        return topic
    if int(made.effective.get(LARGEST, wanted)) >= int(wanted):
        return topic
    before = topic.created.configs.get(LARGEST)
    created = topic.created._replace(configs=topic.created.configs | {LARGEST: wanted})
    return dataclasses.replace(topic, created=created, suspended=topic.suspended | {LARGEST: Suspended(before, wanted)})


def _is_compacted(configs: TopicConfigs) -> bool:
    return "compact" in configs.effective.get(CLEANUP, "")


def _check_replicas(destination: Connection, existing: t.Mapping[str, TopicConfigs]) -> None:
    """Raise Refused for a partition that takes no records now, for which a producer would wait in vain."""
    for partition, replicas in sorted(storage.partition_replicas(destination, existing).items()):
        wanted = int(existing[partition.topic].effective.get(IN_SYNC, 1))
        if replicas.in_sync < wanted:
            told = f"{replicas.in_sync} of {replicas.replicas} replicas are"
            raise _not_in_sync(destination, partition.topic, told, str(wanted), partition.partition)


def _not_in_sync(destination: Connection, topic: str, told: str, wanted: str, partition: int | None = None) -> Refused:
    return TopicUnsuitable(
        f"{told} in sync, and min.insync.replicas is {wanted}: nothing can be written",
        cluster=str(destination),
        topic=topic,
        partition=partition,
        remedy="start the brokers that are missing, or "
        + ("create the topic yourself with" if partition is None else "give the topic")
        + " a lower min.insync.replicas",
    )
