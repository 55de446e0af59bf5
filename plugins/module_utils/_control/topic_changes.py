# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Adds partitions, and asks brokers what they would say to changes of topics: requests that only validate change nothing."""

from __future__ import annotations

import typing as t

from .._model.connection import Connection
from .._model.errors import BrokerError
from .._model.new_topics import NewTopic
from .admin_client import AdminClient, Request, exchange
from .attempts import attempt
from .configs import TopicConfigs, alteration_rows, configs_of
from .creation import await_leaders, batches, creation_rows
from .mutation_quota import not_held_back
from .reasons import as_exception, error_name, passes
from .topics import describe_topics, request_metadata


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

    def ask(client: AdminClient, names: t.Sequence[str]) -> t.Iterator[t.Any]:
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

    def ask(client: AdminClient, names: t.Sequence[str]) -> t.Iterator[t.Any]:
        yield from alteration_rows(client, {name: changes[name] for name in names}, True).values()

    return _refusals(_answered(connection, changes, lambda row: row.resource_name, ask))


def try_partitions(connection: Connection, counts: t.Mapping[str, int]) -> dict[str, Refusal]:
    """Ask whether topics could have so many partitions."""

    def ask(client: AdminClient, names: t.Sequence[str]) -> t.Iterator[t.Any]:
        return _growth_rows(client, connection, {name: counts[name] for name in names}, True)

    return _refusals(_answered(connection, counts, _name, ask))


def add_partitions(connection: Connection, counts: t.Mapping[str, int]) -> None:
    """Let each topic have so many partitions; one that has them stays as it is. Returns when each partition has a leader.

    Raises BrokerError for the first topic that is refused; the others grow all the same.
    """

    def ask(client: AdminClient, names: t.Sequence[str]) -> t.Iterator[t.Any]:
        has = {topic.name: len(topic.partitions) for topic in request_metadata(client, names).topics}
        left = {name: counts[name] for name in names if has[name] < counts[name]}
        return _growth_rows(client, connection, left, False)

    refusals = _refusals(_answered(connection, counts, _name, ask))
    # Where an answer was lost, the next try may have been refused because of what the first one has done.
    partitions = {name: topic.partitions for name, topic in describe_topics(connection, list(refusals)).items()}
    refusals = {name: refusal for name, refusal in refusals.items() if partitions.get(name, 0) < counts[name]}
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
    ask: t.Callable[[AdminClient, t.Sequence[str]], t.Iterator[t.Any]],
) -> dict[str, t.Any]:
    """What the brokers answer of each topic, as far as they say anything of it. Only what has no final answer is asked again.

    name_of: of the topic of a row. ask: sends the requests for topics that are left.
    """
    rows: dict[str, t.Any] = {}

    def once(client: AdminClient) -> None:
        passing = None
        for row in ask(client, [name for name in names if name not in rows]):
            if passes(row.error_code):
                passing = passing or as_exception(row.error_code, name_of(row))
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
    client: AdminClient, connection: Connection, counts: t.Mapping[str, int], validate_only: bool
) -> t.Iterator[t.Any]:
    """What the brokers answer of each topic that is to grow; as creation_rows(), with HeldBack."""
    controller = request_metadata(client, []).controller_id  # with KRaft any broker, which passes the request on
    for names in batches(counts):
        fields = {
            "topics": [{"name": name, "count": counts[name], "assignments": None} for name in names],
            "timeout_ms": int(connection.request_timeout * 1000),
            "validate_only": validate_only,
        }
        (answer,) = exchange(client, [Request("CreatePartitions", fields, controller)])
        yield from not_held_back(answer.results, answer)


def _refusals(rows: t.Mapping[str, t.Any]) -> dict[str, Refusal]:
    """The topics whose answer is an error."""
    errors = {name: error_name(row.error_code) for name, row in rows.items() if row.error_code}
    return {name: Refusal(error, (rows[name].error_message or error).rstrip(".")) for name, error in errors.items()}
