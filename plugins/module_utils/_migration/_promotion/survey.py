# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Reads what both clusters have: topics, their settings, and ACLs."""

from __future__ import annotations

import dataclasses
import functools
import typing as t
import uuid

from ..._control import acl_requests, clusters, groups, permissions, positions, storage, topics
from ..._control.abilities import Ability
from ..._control.configs import TopicConfigs, shows_setting, topic_configs
from ..._control.topic_changes import try_creation
from ..._model.acls import GROUP, LITERAL, TOPIC, Acl
from ..._model.background import at_once
from ..._model.connection import Connection
from ..._model.mapping import Mapping
from ..._model.new_topics import NewTopic
from ..._model.notes import Note
from ..._model.policies import Acls
from ..._model.promotion import CommittedTopics
from ..._model.records import every_partition
from ..._model.selection import Selection
from ..file_clusters import equal_ids
from . import lockout, naming

_OPEN = "allow.everyone.if.no.acl.found"
_PROBE = "streamshift-probe"  # begins the names of a group and a topic that nobody has
_TRIED = 10  # new topics of which brokers are asked what settings they would have


@dataclasses.dataclass(frozen=True, slots=True)
class TopicState:
    """A topic as it is. replicas: what most partitions have. topic_id: None where brokers give none."""

    partitions: int
    replicas: int
    configs: TopicConfigs
    topic_id: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Survey:
    """What both clusters have.

    names: what each selected topic of the source is called at the destination. known: the settings that the destination's
    version knows, empty where nobody may tell. brokers: of the destination. topics, destination_topics: every topic of either
    cluster. open_without_acls: whether the destination may let everybody in where there is no ACL. fence: the ACLs
    that a fence of ours has made at the source, and that do not follow. later_names: the names and prefixes of the source's
    ACLs on topics, but its topics, that the selection would take if topics were called so. empty, readers: of the
    destination's topics that may get more partitions, those without records, and the groups that read each.
    """

    source_id: str
    destination_id: str
    names: dict[str, str]
    topics: tuple[str, ...]
    destination_topics: tuple[str, ...]
    source: dict[str, TopicState]
    destination: dict[str, TopicState]
    known: frozenset[str]
    brokers: storage.BrokerCount
    source_acls: frozenset[Acl] = frozenset()
    destination_acls: frozenset[Acl] = frozenset()
    notes: tuple[Note, ...] = ()
    open_without_acls: bool = False
    fence: frozenset[Acl] = frozenset()
    later_names: frozenset[str] = frozenset()
    empty: frozenset[str] = frozenset()
    readers: t.Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)


def take_survey(
    source: Connection,
    destination: Connection,
    selection: Selection | CommittedTopics,
    mapping: Mapping,
    which: Acls,
) -> Survey:
    """What both clusters have of the selected topics. which: none reads no ACLs."""
    source_id, destination_id = both(source, destination, topics.cluster_id)
    source_topics, destination_topics = both(source, destination, topics.list_topics)
    pairs = naming.pairs(selection, mapping, source_topics, str(source))
    one_cluster = clusters.are_one(source, destination)
    naming.check_topic_names(pairs.names, destination_topics, one_cluster, str(destination))
    source_states, destination_states = at_once(
        functools.partial(topic_states, source, list(pairs.names)),
        functools.partial(topic_states, destination, list(pairs.names.values())),
    )
    gone = pairs.names.keys() - source_states.keys()
    if gone:  # deleted since it was listed: as if it had never been there, and an error if the user names it
        source_topics = [topic for topic in source_topics if topic not in gone]
        pairs = naming.pairs(selection, mapping, source_topics, str(source))
    no_acls: frozenset[Acl] = frozenset()
    acls, destination_acls = (
        (no_acls, no_acls) if which is Acls.NONE else both(source, destination, acl_requests.list_acls)
    )
    return Survey(
        source_id,
        destination_id,
        pairs.names,
        tuple(source_topics),
        tuple(destination_topics),
        source_states,
        destination_states,
        _known(destination, destination_states, list(pairs.names.values())),
        storage.broker_count(destination),
        acls,
        destination_acls,
        (*equal_ids(source_id, destination_id, one_cluster), *pairs.notes),
        which is not Acls.NONE and may_be_open(destination, destination_acls),
        later_names=naming.selected_names(
            selection, {acl.name for acl in acls if acl.resource == TOPIC} - {*source_topics}
        ),
    )


def may_be_open(connection: Connection, acls: t.Iterable[Acl]) -> bool:
    """Whether brokers may let everybody in where there is no ACL. They hide the value of the authorizer's setting.

    Not where this user may not do what nothing grants, or where no broker shows the setting, whose default is false. A super
    user may do everything, so of him the answer may be yes although it is no. acls: all that are there.
    """
    nobody_s = f"{_PROBE}-{uuid.uuid4()}"
    allows: dict[str, t.Callable[[], bool]] = {
        GROUP: lambda: not permissions.missing_acls(connection, reads_groups=[nobody_s]),
        TOPIC: lambda: permissions.sees_every_topic(connection, nobody_s),
    }
    # What an ACL is about, such as one on all groups, is refused to others even where brokers are open.
    told = (
        is_allowed()
        for resource, is_allowed in allows.items()
        if not any(
            lockout.concerns(acl, acl._replace(resource=resource, name=nobody_s, pattern=LITERAL)) for acl in acls
        )
    )
    return next(told, True) and shows_setting(connection, _OPEN) is not False


def topic_states(connection: Connection, names: t.Collection[str]) -> dict[str, TopicState]:
    """Those of these topics that exist. Raises NotAuthorized that names every ACL which is missing for it."""
    for need in permissions.not_offered(connection, Ability.CONFIGS):
        raise need.refusal(
            str(connection), remedy="create the topics with kafka-topics, with the settings that they need"
        )
    ids = topics.topic_ids(connection, names)
    configs = topic_configs(connection, ids)
    layouts = storage.topic_layouts(connection, ids)
    return {name: TopicState(*layouts[name], configs[name], topic_id) for name, topic_id in ids.items()}


def empty_topics(connection: Connection, counts: t.Mapping[str, int]) -> frozenset[str]:
    """Those of these topics that hold no record. counts: their partitions. No cluster is asked about none."""
    bounds = positions.partition_bounds(connection, every_partition(counts)) if counts else {}
    filled = {partition.topic for partition, log in bounds.items() if log.high_watermark > log.log_start}
    return frozenset(counts.keys() - filled)


def readers_of(
    connection: Connection, names: t.Collection[str], is_meant: t.Callable[[str], bool] = bool, stable: bool = True
) -> dict[str, tuple[str, ...]]:
    """The groups that have committed offsets on each of these topics, as far as the user may describe them.

    is_meant: which groups are looked at, by their names. stable: see groups.read_groups().
    """
    listed = [each.group for each in groups.list_groups(connection) if is_meant(each.group)] if names else []
    readers: dict[str, set[str]] = {name: set() for name in names}
    for name, reading in (groups.read_groups(connection, listed, stable, skip_denied=True) if listed else {}).items():
        for partition in (*reading.offsets, *reading.open):
            if partition.topic in readers:
                readers[partition.topic].add(name)
    return {name: tuple(sorted(of_topic)) for name, of_topic in readers.items()}


_T = t.TypeVar("_T")


def both(source: Connection, destination: Connection, ask: t.Callable[[Connection], _T]) -> tuple[_T, _T]:
    """Ask both clusters at once."""
    return at_once(functools.partial(ask, source), functools.partial(ask, destination))


def _known(destination: Connection, states: t.Mapping[str, TopicState], names: t.Sequence[str]) -> frozenset[str]:
    """Any topic shows all settings that its brokers know; where there is none, one that is to be made.

    Of a topic with another name, brokers would tell nothing to a user with ACLs on these, or if a policy is about names.
    """
    known_configs = [state.configs for state in states.values()]
    if not known_configs:
        new = dict.fromkeys(names[:_TRIED], NewTopic(1, -1, {}))
        known_configs = list(try_creation(destination, new).configs.values())
    return frozenset(name for configs in known_configs[:1] for name in configs.effective)
