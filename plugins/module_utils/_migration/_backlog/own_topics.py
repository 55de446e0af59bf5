# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Has the topics made that a copy needs and that are missing at the destination, and notes which of them are the copy's own."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._control import topics
from ..._control.configs import TopicConfigs
from ..._control.creation import Creation
from ..._model.backlog import BacklogTopic
from ..._model.connection import Connection
from ..._model.errors import Refused
from ..._model.failure_kinds import FailureKind
from ..._model.new_topics import IN_SYNC, NewTopic
from ..._model.option_names import option_name
from .. import topic_making
from . import identity

Save = t.Callable[[tuple[BacklogTopic, ...]], None]


def as_brokers_take_them(
    destination: Connection, planned: t.Sequence[BacklogTopic]
) -> tuple[list[BacklogTopic], dict[str, TopicConfigs]]:
    """The topics as the brokers would make those that are missing, and the settings that these would have, if brokers tell.

    Raises Refused or NotAuthorized where the brokers would not. A topic that is made wants no more replicas in sync than it
    has, because nothing could be copied to it.
    """
    wanted = _to_create(planned)
    objections = topic_making.ChangeObjections()
    trial = topic_making.try_topics(destination, wanted, objections)
    objections.check(
        destination,
        f"create the topic yourself, map it to another one by {option_name('topic_map')}, or exclude it from the selection",
    )
    for name, its in topic_making.unwritable(wanted, trial).items():
        configs = wanted[name].configs | {IN_SYNC: str(its.replicas)}
        wanted[name] = wanted[name]._replace(configs=configs)
    return [dataclasses.replace(topic, created=wanted.get(topic.name)) for topic in planned], trial.configs


def make_missing(
    destination: Connection, planned: t.Sequence[BacklogTopic], known: t.Collection[str], save: Save
) -> tuple[dict[str, str | None], set[str]]:
    """Make the topics that are missing. -> the ids of those that this call has made, and the names of those that it has not.

    A topic that is there although the copy was to make it takes the records if it looks as planned. But nobody knows who has
    made it, so it is not deleted when the copy is given up. known: the topics that were there.
    save: writes down what was made.
    """
    made: dict[str, str | None] = {}

    def note(creation: Creation) -> None:
        made.update(creation.made)
        save(tuple(dataclasses.replace(each, topic_id=made.get(each.name, each.topic_id)) for each in planned))

    missing = _to_create(topic for topic in planned if topic.name not in known)
    others = topic_making.make_topics(destination, missing, note)
    unsure = [
        topic for topic in planned if topic.name in known and topic.created is not None and topic.topic_id is None
    ]
    ids = topics.topic_ids(destination, [topic.name for topic in unsure])
    others += identity.not_made(destination, unsure, ids)
    if others:
        raise Refused(
            "this copy was to create the topic, and somebody else has created the topic with other partitions or settings",
            cluster=str(destination),
            topic=others[0],
            remedy="delete it and run again; or give the copy up, and plan again in another directory",
            kind=FailureKind.TOPIC_RECREATED,
        )
    return made, {*(missing.keys() - made.keys()), *(name for name, its in ids.items() if its is not None)}


def _to_create(planned: t.Iterable[BacklogTopic]) -> dict[str, NewTopic]:
    return {topic.name: topic.created for topic in planned if topic.created is not None}
