# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The cluster's id, its topics, and those of their settings that decide what offsets and timestamps mean."""

from __future__ import annotations

import dataclasses
import types
import typing as t

from .._model.cluster_identity import UNKNOWN_ID
from .._model.connection import Connection
from .._model.errors import NotAuthorized, NotFound
from .._model.grouping import chunks, values_by_key
from .._model.records import TopicPartition
from .abilities import Ability
from .admin_client import AdminClient, Request, can, exchange
from .attempts import attempt
from .reasons import ErrorCode, as_exception, error_name, raise_if_it_passes

T = t.TypeVar("T")

TOPIC_RESOURCE = 2  # the resource type of DescribeConfigs
TOPICS_PER_REQUEST = 1000


@dataclasses.dataclass(frozen=True, slots=True)
class TopicDescription:
    """partitions is 0 when error, Kafka's name of what is wrong with the topic, is not None."""

    partitions: int
    error: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class TopicSettings:
    """log_append_time: the broker stamps records. retention_ms is None when records are not deleted by age."""

    log_append_time: bool
    compacted: bool
    retention_ms: int | None


def cluster_id(connection: Connection) -> str:
    """The id that a cluster keeps for life, UNKNOWN_ID where it gives none. Other clusters may have the same."""
    return attempt(connection, lambda client: id_of(request_metadata(client, [])))


def list_topics(connection: Connection) -> list[str]:
    """Every topic that the user may describe, internal ones included, by name."""
    return attempt(connection, lambda client: sorted(topic.name for topic in request_metadata(client, None).topics))


def describe_topics(
    connection: Connection, names: t.Collection[str], surely: bool = False
) -> dict[str, TopicDescription]:
    """Each of these topics; one that does not exist or is denied has an error instead of partitions.

    surely: all brokers that are up are asked, and that one counts which knows most. One may not have heard of a topic yet.
    """

    def read(client: AdminClient) -> dict[str, TopicDescription]:
        descriptions: dict[str, TopicDescription] = {}
        for node in broker_ids(client) if surely else [None]:
            for topic in request_metadata(client, sorted(set(names)), node=node).topics:
                told = TopicDescription(len(topic.partitions))
                if topic.error_code:
                    raise_if_it_passes(topic.error_code)
                    told = TopicDescription(0, error_name(topic.error_code))
                known = descriptions.get(topic.name, told)
                descriptions[topic.name] = max(known, told, key=lambda each: each.partitions)
        return descriptions

    return attempt(connection, read) if names else {}


def of_existing(connection: Connection, names: t.Collection[str], read: t.Callable[[t.Collection[str]], T]) -> T:
    """What read() says of these topics, or of those of them that still exist, where it raises NotFound."""
    try:
        return read(names)
    except NotFound:
        described = describe_topics(connection, names)
        return read({name for name, description in described.items() if description.error is None})


def partition_counts(connection: Connection, names: t.Collection[str], surely: bool = False) -> dict[str, int]:
    """How many partitions the topics have; those that do not exist are left out. Raises NotAuthorized naming topics.

    surely: see describe_topics().
    """
    described = describe_topics(connection, names, surely)
    denied = sorted(name for name, each in described.items() if each.error == "TOPIC_AUTHORIZATION_FAILED")
    if denied:
        raise NotAuthorized(f"needs ACL TOPIC READ on {', '.join(denied)}", cluster=str(connection))
    return {name: each.partitions for name, each in described.items() if each.error is None}


def keeps_message_formats(connection: Connection) -> bool:
    """Do the brokers write each topic in its message.format.version? Those of Kafka 3.0 and later ignore it (KIP-724).

    An inter.broker.protocol.version before 3.0 lets these keep to it; that is not asked, because it needs an ACL.
    """
    return attempt(connection, lambda client: not can(client, Ability.OPEN_TRANSACTIONS))  # which came with 3.0


def topic_ids(connection: Connection, names: t.Collection[str]) -> dict[str, str | None]:
    """The id that each topic was given when it was made; None where brokers give none. Those that do not exist are left out.

    Raises NotAuthorized naming the topics without ACL TOPIC DESCRIBE, of which nobody knows whether they exist. Source:
    https://cwiki.apache.org/confluence/display/KAFKA/KIP-516%3A+Topic+Identifiers (Metadata version 10 and later).
    """

    def read(client: AdminClient) -> dict[str, str | None]:
        codes = {}
        topics = request_metadata(client, sorted(set(names))).topics
        for topic in topics:
            raise_if_it_passes(topic.error_code)
            codes[topic.name] = topic.error_code
        denied = {name: code for name, code in codes.items() if code == ErrorCode.TOPIC_AUTHORIZATION_FAILED}
        raise_for_topics(connection, denied, "DESCRIBE")
        return {topic.name: known_id(topic) for topic in topics if not topic.error_code}

    return attempt(connection, read) if names else {}


def topic_settings(connection: Connection, topics: t.Collection[str]) -> dict[str, TopicSettings]:
    """message.timestamp.type, cleanup.policy and retention.ms of each topic, the brokers' defaults included.

    Empty where brokers do not offer that (Ability.CONFIGS). Raises NotAuthorized naming the topics without ACL TOPIC
    DESCRIBE_CONFIGS, because a guess would not be safe, and NotFound.
    """
    names = sorted(set(topics))
    settings = ["message.timestamp.type", "cleanup.policy", "retention.ms"]

    def read(client: AdminClient) -> dict[str, TopicSettings]:
        rows_of = describe_configs(client, connection, names, settings) if can(client, Ability.CONFIGS) else {}
        return {name: _settings({each.name: each.value for each in rows}) for name, rows in rows_of.items()}

    return attempt(connection, read) if names else {}


def describe_configs(
    client: AdminClient,
    connection: Connection,
    names: t.Sequence[str],
    settings: list[str] | None = None,
    node: int | None = None,
    **options: bool,
) -> dict[str, t.Any]:
    """The rows (name, value, config_source, ...) of each topic for these settings, None for all, as one broker has them.

    See config_rows(). Raises NotAuthorized naming the topics without ACL TOPIC DESCRIBE_CONFIGS, and NotFound.
    """
    rows = config_rows(client, names, settings, node, **options)
    raise_for_topics(connection, {row.resource_name: row.error_code for row in rows}, "DESCRIBE_CONFIGS")
    return {row.resource_name: row.configs for row in rows}


def config_rows(
    client: AdminClient,
    names: t.Sequence[str],
    settings: list[str] | None,
    node: int | None = None,
    **options: bool,
) -> list[t.Any]:
    """The answer about each topic, or its error. node: which broker, None for any. options: further fields of the request."""
    resources = [
        {"resource_type": TOPIC_RESOURCE, "resource_name": name, "configuration_keys": settings} for name in names
    ]
    asked = [
        Request("DescribeConfigs", {"resources": part, **options}, node)
        for part in chunks(resources, TOPICS_PER_REQUEST)
    ]
    return [row for answer in exchange(client, asked) for row in answer.results]


def request_metadata(
    client: AdminClient, topics: t.Sequence[str] | None, with_operations: bool = False, node: int | None = None
) -> t.Any:
    """The answer to a metadata request for these topics, None for all; with the user's operations on each if wanted.

    node: which broker is asked, None for any. Brokers that would create a missing topic are asked for all of them instead.
    """
    if topics and not can(client, Ability.NO_CREATION):
        return _only(request_metadata(client, None, with_operations, node), topics)
    fields = {
        "topics": None if topics is None else [{"name": name} for name in topics],
        "allow_auto_topic_creation": False,
        "include_topic_authorized_operations": with_operations,
    }
    (answer,) = exchange(client, [Request("Metadata", fields, node)])
    if not answer.brokers:  # one that has just started, and knows nothing yet
        raise as_exception(ErrorCode.LEADER_NOT_AVAILABLE, "a broker knows of no brokers")
    return answer


def _only(answer: t.Any, names: t.Sequence[str]) -> t.Any:
    """The answer about all topics as one about these. Those that are not in it do not exist, or are denied."""
    described = {topic.name: topic for topic in answer.topics}
    missing = {"error_code": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "partitions": []}
    answer.topics = [described.get(name) or types.SimpleNamespace(name=name, **missing) for name in names]
    return answer


def broker_ids(client: AdminClient) -> list[int]:
    """The brokers that are up."""
    return [broker.node_id for broker in request_metadata(client, []).brokers]


def raise_for_topics(connection: Connection, codes: t.Mapping[str, int], operation: str) -> None:
    """Raise NotAuthorized or NotFound that names every topic concerned, or the error that lets attempt() retry."""
    denied, missing = [], []
    for topic, code in codes.items():
        if code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            denied.append(topic)
        elif code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            missing.append(topic)
        elif code:
            raise as_exception(code, topic)
    if denied:
        raise NotAuthorized(f"needs ACL TOPIC {operation} on {', '.join(sorted(denied))}", cluster=str(connection))
    if missing:
        raise NotFound(
            f"no such topic: {', '.join(sorted(missing))}", cluster=str(connection), remedy="create it, or leave it out"
        )


def id_of(answer: t.Any) -> str:
    """The cluster's id in an answer to a metadata request, UNKNOWN_ID where it gives none."""
    return answer.cluster_id or UNKNOWN_ID


def known_id(row: t.Any) -> str | None:
    """The id of a topic in an answer, None where brokers give none."""
    topic_id = getattr(row, "topic_id", None)
    return str(topic_id) if topic_id is not None and topic_id.int else None


Row = t.TypeVar("Row")


def topic_rows(
    rows: t.Iterable[tuple[TopicPartition, Row]], name: str = "name", partitions: str = "partitions"
) -> list[dict[str, t.Any]]:
    """What a request says of partitions, with one row for each topic. name, partitions: what the request calls these fields."""
    topics = values_by_key((partition.topic, row) for partition, row in rows)
    return [{name: topic, partitions: rows_of_topic} for topic, rows_of_topic in topics.items()]


def partition_rows(topics: t.Iterable[t.Any]) -> t.Iterator[tuple[TopicPartition, t.Any]]:
    """The partitions that an answer has below these topics, each with its row."""
    for topic in topics:
        for row in topic.partitions:
            yield TopicPartition(topic.name, row.partition_index), row


def _settings(values: t.Mapping[str, str | None]) -> TopicSettings:
    policy = (values.get("cleanup.policy") or "delete").replace(" ", "").split(",")
    retention = int(values.get("retention.ms") or -1)
    return TopicSettings(
        log_append_time=values.get("message.timestamp.type") == "LogAppendTime",
        compacted="compact" in policy,
        retention_ms=retention if retention >= 0 and "delete" in policy else None,
    )
