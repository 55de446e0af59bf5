# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What topics are set to, changed and restored."""

from __future__ import annotations

import dataclasses
import typing as t

from .._model.connection import Connection
from .._model.errors import BrokerError
from .._model.grouping import chunks
from .._model.new_topics import is_same_value
from .abilities import Ability
from .admin_client import AdminClient, Request, can, exchange
from .attempts import attempt, attempt_until
from .reasons import ErrorCode, broker_words, error_name, is_retriable, raise_if_retriable
from .topics import TOPIC_RESOURCE, broker_ids, describe_configs, raise_for_topics

_BROKER_RESOURCE = 4  # the resource type of DescribeConfigs
_NO_SOURCE = -1
OWN = 1  # DYNAMIC_TOPIC_CONFIG: the source of a setting that was made on the topic itself
SET, DELETE = 0, 1  # operations of IncrementalAlterConfigs
# A KRaft controller takes at most 10,000 records in one go, one for each setting. Fewer at once let the slower ones with
# ZooKeeper answer in time; a request for each topic would take a KRaft controller 40 times as long.
TOPICS_PER_CHANGE = 200
SHOWN_SECONDS = 5.0

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


def topic_configs(
    connection: Connection, topics: t.Collection[str], as_far_as_told: bool = False
) -> dict[str, TopicConfigs]:
    """All settings of each topic. Raises NotAuthorized and NotFound as topic_settings() does.

    as_far_as_told: no settings where brokers do not offer that (Ability.CONFIGS), instead of an error.
    """
    names = sorted(set(topics))

    def read(client: AdminClient) -> dict[str, TopicConfigs]:
        if as_far_as_told and not can(client, Ability.CONFIGS):
            return dict.fromkeys(names, TopicConfigs({}, {}))
        return {name: configs_of(rows) for name, rows in describe_configs(client, connection, names).items()}

    return attempt(connection, read) if names else {}


def topic_defaults(
    connection: Connection, topics: t.Collection[str], settings: t.Collection[str]
) -> dict[str, dict[str, str | None]]:
    """By topic the values that these settings have where the topic itself does not set them, as far as the broker tells.

    Needs Kafka 1.1, as alter_topic_configs() needs more. Raises as topic_configs().
    """
    names = sorted(set(topics))

    def read(client: AdminClient) -> dict[str, dict[str, str | None]]:
        told = describe_configs(client, connection, names, sorted(settings), include_synonyms=True)
        return {
            name: {row.name: next((each.value for each in row.synonyms if each.source != OWN), None) for row in rows}
            for name, rows in told.items()
        }

    return attempt(connection, read) if names else {}


def broker_number(connection: Connection, name: str) -> int | None:
    """A broker's setting that is a number, the smallest of all brokers that are up.

    None where the user lacks ACL CLUSTER DESCRIBE_CONFIGS, or where the brokers do not have it.
    """

    def read(client: AdminClient) -> int | None:
        rows = _broker_rows(client, name)
        values = [each.value for row in rows if not row.error_code for each in row.configs if each.name == name]
        return min(map(int, values)) if rows and len(values) == len(rows) and all(values) else None

    return attempt(connection, read)


def shows_setting(connection: Connection, name: str) -> bool | None:
    """Whether a broker has this setting in its configuration, whatever its value; None where the user may not read it."""

    def read(client: AdminClient) -> bool | None:
        rows = _broker_rows(client, name)
        if not rows or any(row.error_code for row in rows):
            return None
        return any(each.name == name for row in rows for each in row.configs)

    return attempt(connection, read)


def _broker_rows(client: AdminClient, name: str) -> list[t.Any]:
    """What each broker that is up answers of one of its settings; nothing where brokers do not offer that."""
    if not can(client, Ability.CONFIGS):
        return []
    resource = {"resource_type": _BROKER_RESOURCE, "configuration_keys": [name]}
    asked = [
        Request("DescribeConfigs", {"resources": [{**resource, "resource_name": str(node)}]}, node)
        for node in broker_ids(client)
    ]
    rows = [row for answer in exchange(client, asked) for row in answer.results]
    for row in rows:
        raise_if_retriable(row.error_code)
    return rows


def alter_topic_configs(connection: Connection, changes: t.Mapping[str, t.Mapping[str, str | None]]) -> None:
    """Set what is given of each topic, and let a setting whose value is None fall back to the brokers' default.

    Settings that are not named stay as they are, so that the same changes may be made again. Returns when every broker
    that is up shows them, or after SHOWN_SECONDS: in KRaft a broker hears of a change after the controller has stored it.
    Raises NotAuthorized naming the topics without ACL TOPIC ALTER_CONFIGS, NotFound, or BrokerError for the first topic
    that is refused; what other topics are given is stored all the same.
    """
    wanted = {topic: dict(each) for topic, each in sorted(changes.items()) if each}
    names = list(wanted)

    def alter(client: AdminClient) -> None:
        rows = alteration_rows(client, wanted, False)
        raise_for_changes(connection, rows, "ALTER_CONFIGS", "its settings cannot be changed")

    def shown(client: AdminClient) -> bool:
        settings = sorted({setting for each in wanted.values() for setting in each})
        answers = [describe_configs(client, connection, names, settings, node) for node in broker_ids(client)]
        return all(_follows(configs_of(answer[name]).own, wanted[name]) for answer in answers for name in names)

    if names:
        attempt(connection, alter)
        attempt_until(connection, shown, SHOWN_SECONDS)


def configs_of(rows: t.Collection[t.Any]) -> TopicConfigs:
    """The settings in the rows of an answer."""
    told = [each for each in rows if each.value is not None]
    return TopicConfigs(
        effective={each.name: each.value for each in told},
        own={each.name: each.value for each in told if _is_own(each)},
        hidden=frozenset(each.name for each in rows if each.value is None and _is_own(each)),
    )


def _is_own(row: t.Any) -> bool:
    """Whether a setting was made on the topic itself. Brokers before 1.1 tell only whether it is a default."""
    return bool(row.config_source == OWN or (row.config_source == _NO_SOURCE and not row.is_default))


def _follows(own: t.Mapping[str, str], change: t.Mapping[str, str | None]) -> bool:
    return all(is_same_value(own.get(name), value) for name, value in change.items())


def alteration_rows(
    client: AdminClient, changes: t.Mapping[str, t.Mapping[str, str | None]], validate_only: bool
) -> dict[str, t.Any]:
    """What the brokers answer of each topic to alter_topic_configs(), or to the question whether they would do it."""
    rows = [_alteration(name, changes[name]) for name in sorted(changes)]
    asked = [
        Request("IncrementalAlterConfigs", {"resources": part, "validate_only": validate_only})
        for part in chunks(rows, TOPICS_PER_CHANGE)
    ]
    return {row.resource_name: row for answer in exchange(client, asked) for row in answer.responses}


def _alteration(topic: str, change: t.Mapping[str, str | None]) -> dict[str, t.Any]:
    return {
        "resource_type": TOPIC_RESOURCE,
        "resource_name": topic,
        "configs": [
            {"name": name, "config_operation": DELETE if value is None else SET, "value": value}
            for name, value in change.items()
        ],
    }


def raise_for_changes(connection: Connection, rows: t.Mapping[str, t.Any], operation: str, what: str) -> None:
    """What raise_for_topics() raises, else BrokerError with the broker's own words for the first topic refused."""
    refused = {
        topic: row
        for topic, row in sorted(rows.items())
        if row.error_code not in (0, ErrorCode.TOPIC_AUTHORIZATION_FAILED) and not is_retriable(row.error_code)
    }
    others = {topic: row.error_code for topic, row in rows.items() if topic not in refused}
    raise_for_topics(connection, others, operation)
    for topic, row in refused.items():
        remedy = _REMEDIES.get(error_name(row.error_code))
        raise BrokerError(what, cluster=str(connection), topic=topic, why=broker_words(row), remedy=remedy)
