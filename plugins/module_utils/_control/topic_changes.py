# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Adds partitions, and asks brokers what they would say to changes of topics: requests that only validate change nothing."""

from __future__ import annotations

import typing as t

from .._model.connection import Connection
from .._model.errors import BrokerError
from .._model.new_topics import NewTopic
from .admin_client import attempt, exchange, is_retriable, raise_if_held_back
from .configs import TopicConfigs, alteration_rows, configs_of
from .creation import await_leaders, batches, creation_rows
from .kafka_library import CreatePartitionsRequest, KafkaAdminClient, errors
from .reasons import error_name
from .topics import request_metadata


class Refusal(t.NamedTuple):
    """What a broker says to a change that it would not make: Kafka's name of the error, and the broker's own words."""

    error: str
    why: str


class Trial(t.NamedTuple):
    """configs: the settings that topics would have, as far as the user may know them (ACL TOPIC DESCRIBE_CONFIGS).

    replicas: how many each of these topics would have.
    """

    refusals: dict[str, Refusal]
    configs: dict[str, TopicConfigs]
    replicas: dict[str, int]


def try_creation(connection: Connection, topics: t.Mapping[str, NewTopic]) -> Trial:
    """Ask whether these topics could be made."""

    def ask(client: KafkaAdminClient, names: t.Sequence[str]) -> t.Iterator[t.Any]:
        return creation_rows(client, connection, {name: topics[name] for name in names}, True)

    rows = _answered(connection, topics, _name, ask)
    known = {name: row for name, row in rows.items() if row.configs}
    return Trial(
        _refusals(rows),
        {name: configs_of(row.configs) for name, row in known.items()},
        {name: row.replication_factor for name, row in known.items()},
    )


def try_settings(connection: Connection, changes: t.Mapping[str, t.Mapping[str, str | None]]) -> dict[str, Refusal]:
    """Ask whether these settings could be changed, as alter_topic_configs() would change them."""

    def ask(client: KafkaAdminClient, names: t.Sequence[str]) -> t.Iterator[t.Any]:
        yield from alteration_rows(client, {name: changes[name] for name in names}, True).values()

    return _refusals(_answered(connection, changes, lambda row: row.resource_name, ask))


def try_partitions(connection: Connection, counts: t.Mapping[str, int]) -> dict[str, Refusal]:
    """Ask whether topics could have so many partitions."""

    def ask(client: KafkaAdminClient, names: t.Sequence[str]) -> t.Iterator[t.Any]:
        return _growth_rows(client, connection, {name: counts[name] for name in names}, True)

    return _refusals(_answered(connection, counts, _name, ask))


def add_partitions(connection: Connection, counts: t.Mapping[str, int]) -> None:
    """Let each topic have so many partitions; one that has them stays as it is. Returns when each partition has a leader.

    Raises BrokerError for the first topic that is refused; the others grow all the same.
    """

    def ask(client: KafkaAdminClient, names: t.Sequence[str]) -> t.Iterator[t.Any]:
        has = {topic.name: len(topic.partitions) for topic in request_metadata(client, names).topics}
        left = {name: counts[name] for name in names if has[name] < counts[name]}
        return _growth_rows(client, connection, left, False)

    refusals = _refusals(_answered(connection, counts, _name, ask))
    for name, refusal in sorted(refusals.items()):
        raise BrokerError(
            "partitions cannot be added",
            cluster=str(connection),
            topic=name,
            why=refusal.why,
            remedy="remove the cause, and run again: what is done stays",
        )
    if counts:
        await_leaders(connection, counts)


def _answered(
    connection: Connection,
    names: t.Collection[str],
    name_of: t.Callable[[t.Any], str],
    ask: t.Callable[[KafkaAdminClient, t.Sequence[str]], t.Iterator[t.Any]],
) -> dict[str, t.Any]:
    """What the brokers answer of each topic, as far as they say anything of it. Only what has no final answer is asked again.

    name_of: of the topic of a row. ask: sends the requests for topics that are left.
    """
    rows: dict[str, t.Any] = {}

    def once(client: KafkaAdminClient) -> None:
        passing = None
        for row in ask(client, [name for name in names if name not in rows]):
            error = errors.for_code(row.error_code)
            # A topic that is missing stays missing.
            if is_retriable(error) and error is not errors.UnknownTopicOrPartitionError:
                passing = passing or error(name_of(row))
            else:
                rows[name_of(row)] = row
        if passing:
            raise passing

    if names:
        attempt(connection, once)
    return rows


def _name(row: t.Any) -> str:
    return str(row.name)


def _growth_rows(
    client: KafkaAdminClient, connection: Connection, counts: t.Mapping[str, int], validate_only: bool
) -> t.Iterator[t.Any]:
    """What the brokers answer of each topic that is to grow; as creation_rows(), with HeldBack."""
    topic_of = CreatePartitionsRequest.CreatePartitionsTopic
    controller = request_metadata(client, []).controller_id  # with KRaft any broker, which passes the request on
    for names in batches(counts):
        request = CreatePartitionsRequest(
            topics=[topic_of(name=name, count=counts[name], assignments=None) for name in names],
            timeout_ms=int(connection.request_timeout * 1000),
            validate_only=validate_only,
        )
        (answer,) = exchange(client, [(request, controller)])
        yield from (row for row in answer.results if row.error_code != errors.ThrottlingQuotaExceededError.errno)
        raise_if_held_back({row.name: row.error_code for row in answer.results}, answer)


def _refusals(rows: t.Mapping[str, t.Any]) -> dict[str, Refusal]:
    """The topics whose answer is an error."""
    kinds = {name: errors.for_code(row.error_code) for name, row in rows.items() if row.error_code}
    return {
        name: Refusal(error_name(kind), (rows[name].error_message or error_name(kind)).rstrip("."))
        for name, kind in kinds.items()
    }
