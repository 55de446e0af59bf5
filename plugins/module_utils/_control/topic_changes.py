# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Adds partitions, and asks brokers what they would say to changes of topics: requests that only validate change nothing."""

from __future__ import annotations

import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._control.admin_client import (
    attempt,
    error_name,
    exchange,
    is_retriable,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._control.configs import (
    TopicConfigs,
    alteration_rows,
    configs_of,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._control.creation import (
    await_leaders,
    batches,
    creation_rows,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._control.kafka_library import (
    CreatePartitionsRequest,
    KafkaAdminClient,
    errors,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._control.topics import request_metadata
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import BrokerError
from ansible_collections.streamshift.kafka.plugins.module_utils._model.new_topics import NewTopic


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

    def read(client: KafkaAdminClient) -> Trial:
        rows = {row.name: row for row in creation_rows(client, connection, topics, True)}
        known = {name: row for name, row in rows.items() if row.configs}
        return Trial(
            _refusals(rows),
            {name: configs_of(row.configs) for name, row in known.items()},
            {name: row.replication_factor for name, row in known.items()},
        )

    return attempt(connection, read) if topics else Trial({}, {}, {})


def try_settings(connection: Connection, changes: t.Mapping[str, t.Mapping[str, str | None]]) -> dict[str, Refusal]:
    """Ask whether these settings could be changed, as alter_topic_configs() would change them."""
    if not changes:
        return {}
    return attempt(connection, lambda client: _refusals(alteration_rows(client, changes, True)))


def try_partitions(connection: Connection, counts: t.Mapping[str, int]) -> dict[str, Refusal]:
    """Ask whether topics could have so many partitions."""
    return attempt(connection, lambda client: _grow(client, connection, counts, True)) if counts else {}


def add_partitions(connection: Connection, counts: t.Mapping[str, int]) -> None:
    """Let each topic have so many partitions; one that has them stays as it is. Returns when each partition has a leader.

    Raises BrokerError for the first topic that is refused; the others grow all the same.
    """

    def grow(client: KafkaAdminClient) -> dict[str, Refusal]:
        has = {topic.name: len(topic.partitions) for topic in request_metadata(client, sorted(counts)).topics}
        return _grow(client, connection, {name: n for name, n in counts.items() if has[name] < n}, False)

    refusals = attempt(connection, grow) if counts else {}
    for name, refusal in sorted(refusals.items()):
        raise BrokerError("partitions cannot be added", cluster=str(connection), topic=name, why=refusal.why)
    if counts:
        await_leaders(connection, counts)


def _grow(
    client: KafkaAdminClient, connection: Connection, counts: t.Mapping[str, int], validate_only: bool
) -> dict[str, Refusal]:
    topic_of = CreatePartitionsRequest.CreatePartitionsTopic
    controller = request_metadata(client, []).controller_id  # with KRaft any broker, which passes the request on
    refusals: dict[str, Refusal] = {}
    for names in batches(counts):
        request = CreatePartitionsRequest(
            topics=[topic_of(name=name, count=counts[name], assignments=None) for name in names],
            timeout_ms=int(connection.request_timeout * 1000),
            validate_only=validate_only,
        )
        (answer,) = exchange(client, [(request, controller)])
        refusals |= _refusals({row.name: row for row in answer.results})
    return refusals


def _refusals(rows: t.Mapping[str, t.Any]) -> dict[str, Refusal]:
    """An error that may pass is raised, so that attempt() asks again; a missing topic is none of these."""
    found = {}
    for name, row in rows.items():
        error = errors.for_code(row.error_code)
        if error is errors.NoError:
            continue
        if is_retriable(error) and error is not errors.UnknownTopicOrPartitionError:
            raise error(name)
        found[name] = Refusal(error_name(error), (row.error_message or error_name(error)).rstrip("."))
    return found
