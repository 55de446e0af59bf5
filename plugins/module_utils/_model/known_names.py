# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Groups and topics of other tools, known by their names: the one table, and what the tools' charts and images call them.

Sources: connect-distributed.properties, the images and charts of Confluent, Debezium, Strimzi and Bitnami, the configurations
of Schema Registry, Karapace, Apicurio and Cruise Control, Amazon MSK's and Strimzi's canaries, and Kafka Streams'
InternalTopologyBuilder.
"""

from __future__ import annotations

import functools
import re
import typing as t

from .visible_text import visible_name

_CONNECT = "Kafka Connect's"
_MIRROR_MAKER = "MirrorMaker 2's"
_REGISTRY = "a schema registry's"
_CRUISE_CONTROL = "Cruise Control's"
_MSK = "Amazon MSK's"
_STRIMZI = "Strimzi's"
_CONFLUENT = "Confluent's"
_INTERNAL = "Kafka's internal ones"
_OURS = "this collection's"
SINK = "a sink connector's"


class KnownName(t.NamedTuple):
    """pattern: a regular expression for the whole name. whose: who keeps what is called so.

    by_default: whether patterns of groups, and of topics that groups consume, leave it out unless the user says otherwise;
    a promotion leaves out all topics. keeps_positions: whether a group called so may be of a sink with positions of its own.
    """

    pattern: str
    whose: str
    by_default: bool = True
    keeps_positions: bool = False


GROUPS = (
    KnownName(r"console-consumer-.*", "the console consumer's"),
    KnownName(r"perf-consumer-\d+", "kafka-consumer-perf-test's"),
    KnownName(r"connect-.*", SINK, keeps_positions=True),
    KnownName(r"streamshift-.*", _OURS),
    KnownName(r".*-mm2", _MIRROR_MAKER),
    KnownName(r"mirror-?maker-?2?-cluster", _MIRROR_MAKER),
    KnownName(r"(?i)(.*[-_.])?schema[-_.]?registry([-_.].*)?", _REGISTRY),
    KnownName(r"(?i)(karapace|apicurio)[-_.].*", _REGISTRY),
    KnownName(r".*[Cc]ruise[-_.]?[Cc]ontrol.*", _CRUISE_CONTROL),
    KnownName(r"(?i)amazon[-_.]msk[-_.].*", _MSK),
    KnownName(r"(?i)_{0,2}strimzi[-_.].*", _STRIMZI),
    KnownName(r"_confluent-ksql-.*", "a query of ksqlDB", by_default=False),
    KnownName(r"_confluent(?!-ksql-)(.*)|Confluent(Telemetry|Metrics)Reporter.*", _CONFLUENT),
    # Iceberg's sink, Structured Streaming and Druid commit at most for others to see.
    KnownName(r"cg-control-.*", SINK, by_default=False, keeps_positions=True),
    KnownName(r"spark-(executor-)?(spark-)?kafka-.*", "a query of Spark", by_default=False, keeps_positions=True),
    KnownName(r"kafka-supervisor-.*", "Druid's", by_default=False, keeps_positions=True),
    KnownName(r"__.*", _INTERNAL),
)

ICEBERG_CONTROL = "control-iceberg"  # the topic of an Iceberg sink's coordinator, by default

# Every application makes these itself, from its own group.id: <group>-<store>-changelog and so on.
STREAMS_TOPICS = (
    KnownName(r".+-(changelog|repartition)", "Kafka Streams'", by_default=False),
    KnownName(r"(?i).+-subscription-(registration|response)(-.*)?-topic", "Kafka Streams'", by_default=False),
)

TOPICS = (
    KnownName(r"streamshift-.*", _OURS),
    KnownName(r"mm2-.*", _MIRROR_MAKER),
    KnownName(r"heartbeats", _MIRROR_MAKER),
    KnownName(r".*[.-]heartbeats", _MIRROR_MAKER),
    KnownName(r".*[.-]checkpoints[.-]internal", _MIRROR_MAKER),
    KnownName(r".*[.-]internal", _MIRROR_MAKER, by_default=False),
    KnownName(r".*\.replica", _MIRROR_MAKER, by_default=False),
    KnownName(
        r"(?i)mirror[-_.]?maker[-_.]?2?([-_.].*)?[-_.](configs?|offsets?|status(es)?)", _MIRROR_MAKER, by_default=False
    ),
    # connect-configs, my_connect_statuses, docker-connect-offsets, connect-cluster-status, kafka-cp-kafka-connect-config,
    # operator.connect-offsets, _kafka-connect-group-01-configs, kafkaconnect_config_storage
    KnownName(
        r"(?i)(.*[^a-z0-9])?_?(kafka|debezium|dbz|msk|cp)?[-_.]?(connect|debezium)([-_.].*)?"
        r"[-_.](configs?|offsets?|status(es)?)([-_.]storage)?([-_.]topics?)?",
        _CONNECT,
        by_default=False,
    ),
    KnownName(r"(?i)(.*[-_.])?connect[-_.](config|offset|status)[-_.]?storage.*", _CONNECT, by_default=False),
    KnownName(r"quickstart(-avro)?-(config|offsets|status)", _CONNECT, by_default=False),
    KnownName(
        r"_schemas?([-_.].*)?|_schema_encoders|_exporter_(configs|states)|_dek_registry_keys",
        _REGISTRY,
        by_default=False,
    ),
    KnownName(r"(?i)(.*[-_.])?schema[-_.]?registry([-_.].*)?", _REGISTRY, by_default=False),
    KnownName(r"kafkasql-(journal|snapshots)|(?i:karapace|apicurio)[-_.].*", _REGISTRY, by_default=False),
    KnownName(r".*[Cc]ruise[-_.]?[Cc]ontrol.*", _CRUISE_CONTROL, by_default=False),
    KnownName(r"(?i)_{0,2}amazon[-_.]msk[-_.].*", _MSK, by_default=False),
    KnownName(r"(?i)_{0,2}strimzi[-_.].*", _STRIMZI, by_default=False),
    KnownName(
        r"_confluent.*|(?i:confluent[-_.](audit|telemetry|metrics|control|license|command|health)).*",
        _CONFLUENT,
        by_default=False,
    ),
    KnownName(r".*ksql_processing_log", "ksqlDB's", by_default=False),
    *STREAMS_TOPICS,
    KnownName(r"__.*", _INTERNAL),
    # connect-configs-prod, kafka-connect-offsets-2
    KnownName(r"(?i)(.*[-_.])?connect[-_.](configs?|offsets?|status(es)?)[-_.][a-z0-9]+", _CONNECT, by_default=False),
)


def patterns(names: t.Iterable[KnownName], by_default: bool = True) -> tuple[str, ...]:
    """The patterns of a table; only those that patterns of the user leave out by default, unless by_default is False."""
    return tuple(known_name.pattern for known_name in names if known_name.by_default or not by_default)


def known(name: str, names: tuple[KnownName, ...]) -> KnownName | None:
    """What is known of a group (GROUPS) or a topic (TOPICS) by its name alone; None for one of the user's."""
    return next((known_name for known_name, fits in _matchers(names) if fits(name)), None)


@functools.cache  # thousands of names are looked for in each table
def _matchers(names: tuple[KnownName, ...]) -> list[tuple[KnownName, t.Callable[[str], re.Match[str] | None]]]:
    return [(known_name, re.compile(known_name.pattern, re.DOTALL).fullmatch) for known_name in names]


def with_owner(name: str, names: tuple[KnownName, ...]) -> str:
    """The name, and in brackets what it is called like, where that is known: the user's own may be called so, too."""
    known_name = known(name, names)
    shown = visible_name(name)
    return shown if known_name is None else f"{shown} (called like {known_name.whose})"


def is_streams_topic(topic: str, group: str) -> bool:
    """Does a topic of this name belong to the Kafka Streams application of this group? The application makes it itself."""
    prefix = f"{group}-"
    return topic.startswith(prefix) and known(topic.removeprefix(prefix), STREAMS_TOPICS) is not None


def streams_owners(topics: t.Iterable[str], groups: t.Container[str]) -> frozenset[str]:
    """Those of these groups whose Kafka Streams applications have made any of the topics."""
    return frozenset(group for topic in topics if (group := streams_owner(topic, groups)) is not None)


def streams_owner(topic: str, groups: t.Container[str]) -> str | None:
    """Which of these groups is that of the Kafka Streams application of a topic of this name; None for no such topic.

    The longest one: orders-enricher has made orders-enricher-store-changelog, not orders.
    """
    ends = [at for at, letter in enumerate(topic) if letter == "-"]
    fitting = (topic[:end] for end in reversed(ends) if topic[:end] in groups)
    return next((group for group in fitting if is_streams_topic(topic, group)), None)


def is_repartition_topic(topic: str, group: str) -> bool:
    """The same of topics that the application not only writes, but also consumes with committed offsets."""
    return is_streams_topic(topic, group) and not topic.endswith("-changelog")
