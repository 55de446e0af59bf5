# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What topics are set to, changed and restored; and topics that are made with such settings."""

from __future__ import annotations

import dataclasses
import itertools
import time
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._control.admin_client import (
    attempt,
    error_name,
    exchange,
    is_retriable,
    raise_if_retriable,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._control.kafka_library import (
    CreateTopicsRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
    KafkaAdminClient,
    errors,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._control.topics import (
    TOPIC_RESOURCE,
    broker_ids,
    describe_configs,
    raise_for_topics,
    request_metadata,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import BrokerError

_BROKER_RESOURCE = 4  # the resource type of DescribeConfigs
OWN = 1  # DYNAMIC_TOPIC_CONFIG: the source of a setting that was made on the topic itself
SET, DELETE = 0, 1  # operations of IncrementalAlterConfigs
# A KRaft controller takes at most 10,000 records in one go, one for each setting and partition. Fewer at once let the
# slower ones with ZooKeeper answer in time; a request for each topic would take a KRaft controller 40 times as long.
TOPICS_PER_CHANGE = 200
PARTITIONS_PER_REQUEST = 2000
SHOWN_SECONDS = 5.0
LEADER_SECONDS = 30.0

_REMEDIES = {
    "INVALID_CONFIG": "correct the setting, or leave it out",
    "INVALID_REQUEST": "correct the setting, or leave it out",  # what brokers before 3.0 say of a wrong value
    "INVALID_REPLICATION_FACTOR": "ask for no more replicas than there are brokers",
    "INVALID_PARTITIONS": "ask for at least one partition",
    "POLICY_VIOLATION": "keep to the policy of the brokers, or have it changed",
}


@dataclasses.dataclass(frozen=True, slots=True)
class TopicConfigs:
    """effective: whatever the broker tells, the defaults included. own: only what is set on the topic itself.

    Settings without a value, such as those that are secret, are left out; hidden are the names of those set on
    the topic itself.
    """

    effective: dict[str, str]
    own: dict[str, str]
    hidden: frozenset[str] = frozenset()


class NewTopic(t.NamedTuple):
    """A topic to be made. configs are its own settings; the brokers' defaults apply to all others."""

    partitions: int
    replication_factor: int
    configs: dict[str, str]


def topic_configs(connection: Connection, topics: t.Collection[str]) -> dict[str, TopicConfigs]:
    """All settings of each topic. Raises NotAuthorized and NotFound as topic_settings() does."""
    names = sorted(set(topics))

    def read(client: KafkaAdminClient) -> dict[str, TopicConfigs]:
        return {name: configs_of(rows) for name, rows in describe_configs(client, connection, names).items()}

    return attempt(connection, read) if names else {}


def broker_number(connection: Connection, name: str) -> int | None:
    """A broker's setting that is a number, the smallest of all brokers that are up.

    None where the user lacks ACL CLUSTER DESCRIBE_CONFIGS, or where the brokers do not have it.
    """
    resource = DescribeConfigsRequest.DescribeConfigsResource

    def read(client: KafkaAdminClient) -> int | None:
        nodes = broker_ids(client)
        asked = [
            resource(resource_type=_BROKER_RESOURCE, resource_name=str(node), configuration_keys=[name])
            for node in nodes
        ]
        requests = [(DescribeConfigsRequest(resources=[its]), node) for its, node in zip(asked, nodes, strict=True)]
        rows = [row for answer in exchange(client, requests) for row in answer.results]
        for row in rows:
            raise_if_retriable(errors.for_code(row.error_code))
        values = [each.value for row in rows if not row.error_code for each in row.configs if each.name == name]
        return min(map(int, values)) if len(values) == len(nodes) and all(values) else None

    return attempt(connection, read)


def alter_topic_configs(connection: Connection, changes: t.Mapping[str, t.Mapping[str, str | None]]) -> None:
    """Set what is given of each topic, and let a setting whose value is None fall back to the brokers' default.

    Settings that are not named stay as they are, so that the same changes may be made again. Returns when every broker
    that is up shows them, or after SHOWN_SECONDS: in KRaft a broker hears of a change after the controller has stored it.
    Raises NotAuthorized naming the topics without ACL TOPIC ALTER_CONFIGS, NotFound, or BrokerError for the first topic
    that is refused; what other topics are given is stored all the same.
    """
    wanted = {topic: dict(each) for topic, each in sorted(changes.items()) if each}
    names = list(wanted)

    def alter(client: KafkaAdminClient) -> None:
        rows = alteration_rows(client, wanted, False)
        _raise_for(connection, rows, "ALTER_CONFIGS", "its settings cannot be changed")

    def shown(client: KafkaAdminClient) -> bool:
        settings = sorted({setting for each in wanted.values() for setting in each})
        found = [describe_configs(client, connection, names, settings, node) for node in broker_ids(client)]
        return all(_follows(configs_of(each[name]).own, wanted[name]) for each in found for name in names)

    if names:
        attempt(connection, alter)
        end = time.monotonic() + SHOWN_SECONDS
        while not attempt(connection, shown) and time.monotonic() < end:
            time.sleep(0.1)


def create_topics(
    connection: Connection, topics: t.Mapping[str, NewTopic], validate_only: bool = False
) -> dict[str, TopicConfigs]:
    """Make these topics; one that is there already is left as it is. Returns when each partition has a leader.

    validate_only: the brokers only say whether they would. -> the settings of those that are, or would be, made, as far as
    the user may know them (ACL TOPIC DESCRIBE_CONFIGS). Raises NotAuthorized naming the topics without ACL TOPIC CREATE, or
    BrokerError for the first topic that is refused; the others are made all the same.
    """

    def create(client: KafkaAdminClient) -> dict[str, TopicConfigs]:
        there = errors.TopicAlreadyExistsError.errno
        answered = creation_rows(client, connection, topics, validate_only)
        rows = {name: row for name, row in answered.items() if row.error_code != there}
        _raise_for(connection, rows, "CREATE", "the topic cannot be created")
        return {name: configs_of(row.configs) for name, row in rows.items() if row.configs}

    made = attempt(connection, create) if topics else {}
    if topics and not validate_only:
        await_leaders(connection, dict.fromkeys(topics, 1))  # a topic that was there may have fewer than these
    return made


def await_leaders(connection: Connection, counts: t.Mapping[str, int]) -> None:
    """Wait until every broker that is up knows a leader of each partition: they hear of it one after the other.

    counts: how many partitions each topic has at least; a broker that knows fewer has not heard of them yet.
    """

    def missing(client: KafkaAdminClient) -> tuple[str, int | None] | None:
        for node in broker_ids(client):
            found = {topic.name: topic for topic in request_metadata(client, list(counts), node=node).topics}
            for name, topic in found.items():
                if topic.error_code == errors.UnknownTopicOrPartitionError.errno:
                    return name, None
            raise_for_topics(connection, {name: topic.error_code for name, topic in found.items()}, "DESCRIBE")
            for name, topic in found.items():
                led = {each.partition_index for each in topic.partitions if each.leader_id >= 0}
                for partition in range(max(counts[name], len(topic.partitions))):
                    if partition not in led:
                        return name, partition
        return None

    end = time.monotonic() + LEADER_SECONDS
    while where := attempt(connection, missing):
        if time.monotonic() > end:
            raise BrokerError(
                f"it has no leader after {LEADER_SECONDS:g} s",
                cluster=str(connection),
                topic=where[0],
                partition=where[1],
                remedy="check that the brokers which hold its replicas are up",
            )
        time.sleep(0.1)


def configs_of(rows: t.Collection[t.Any]) -> TopicConfigs:
    """The settings in the rows of an answer."""
    told = [each for each in rows if each.value is not None]
    return TopicConfigs(
        effective={each.name: each.value for each in told},
        own={each.name: each.value for each in told if each.config_source == OWN},
        hidden=frozenset(each.name for each in rows if each.value is None and each.config_source == OWN),
    )


def _follows(own: t.Mapping[str, str], change: t.Mapping[str, str | None]) -> bool:
    return all(plain_value(own.get(name)) == plain_value(value) for name, value in change.items())


def plain_value(value: str | None) -> str | None:
    """Brokers tell a list without the blanks that it was given with, and "true" for "TRUE"."""
    return None if value is None else value.replace(" ", "").lower()


def alteration_rows(
    client: KafkaAdminClient, changes: t.Mapping[str, t.Mapping[str, str | None]], validate_only: bool
) -> dict[str, t.Any]:
    """What the brokers answer of each topic to alter_topic_configs(), or to the question whether they would do it."""
    names = sorted(changes)
    asked = [
        IncrementalAlterConfigsRequest(
            resources=[_alteration(name, changes[name]) for name in names[start : start + TOPICS_PER_CHANGE]],
            validate_only=validate_only,
        )
        for start in range(0, len(names), TOPICS_PER_CHANGE)
    ]
    answers = exchange(client, [(each, None) for each in asked])
    return {row.resource_name: row for answer in answers for row in answer.responses}


def _alteration(topic: str, change: t.Mapping[str, str | None]) -> t.Any:
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    return resource(
        resource_type=TOPIC_RESOURCE,
        resource_name=topic,
        configs=[
            resource.AlterableConfig(name=name, config_operation=DELETE if value is None else SET, value=value)
            for name, value in change.items()
        ],
    )


def creation_rows(
    client: KafkaAdminClient, connection: Connection, topics: t.Mapping[str, NewTopic], validate_only: bool
) -> dict[str, t.Any]:
    """What the brokers answer of each topic to create_topics()."""
    controller = request_metadata(client, []).controller_id  # with KRaft any broker, which passes the request on
    sizes = {name: each.partitions + len(each.configs) + 1 for name, each in topics.items()}
    rows: dict[str, t.Any] = {}
    for names in batches(sizes):
        request = _creation(connection, {name: topics[name] for name in names}, validate_only)
        (answer,) = exchange(client, [(request, controller)])
        rows |= {row.name: row for row in answer.topics}
    return rows


def _creation(connection: Connection, topics: t.Mapping[str, NewTopic], validate_only: bool) -> CreateTopicsRequest:
    topic_of = CreateTopicsRequest.CreatableTopic
    return CreateTopicsRequest(
        topics=[
            topic_of(
                name=name,
                num_partitions=topic.partitions,
                replication_factor=topic.replication_factor,
                assignments=[],
                configs=[topic_of.CreatableTopicConfig(name=key, value=value) for key, value in topic.configs.items()],
            )
            for name, topic in topics.items()
        ],
        timeout_ms=int(connection.request_timeout * 1000),
        validate_only=validate_only,
    )


def batches(sizes: t.Mapping[str, int]) -> t.Iterator[list[str]]:
    """Topics in parts that a controller takes in one request. sizes: how many partitions and settings each is to get."""
    turns = [end // PARTITIONS_PER_REQUEST for end in itertools.accumulate(sizes.values())]
    for _turn, pairs in itertools.groupby(zip(turns, sizes, strict=True), key=lambda pair: pair[0]):
        yield [name for _number, name in pairs]


def _raise_for(connection: Connection, rows: t.Mapping[str, t.Any], operation: str, what: str) -> None:
    """What raise_for_topics() raises, else BrokerError with the broker's own words for the first topic refused."""
    kinds = {topic: errors.for_code(row.error_code) for topic, row in sorted(rows.items())}
    refused = {
        topic: kind
        for topic, kind in kinds.items()
        if kind not in (errors.NoError, errors.TopicAuthorizationFailedError) and not is_retriable(kind)
    }
    others = {topic: row.error_code for topic, row in rows.items() if topic not in refused}
    raise_for_topics(connection, others, operation)
    for topic, kind in refused.items():
        name = error_name(kind)
        raise BrokerError(
            what,
            cluster=str(connection),
            topic=topic,
            why=(rows[topic].error_message or name).rstrip("."),
            remedy=_REMEDIES.get(name),
        )
