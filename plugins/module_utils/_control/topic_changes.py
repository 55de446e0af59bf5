# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Makes topics and adds partitions, waits until brokers serve them, and asks brokers what they would say to such changes."""

from __future__ import annotations

import itertools
import operator
import time
import typing as t

from .._model.connection import Connection
from .._model.errors import BrokerError, ConnectionFailed
from .._model.new_topics import NewTopic
from .._model.wording import counted
from .admin_client import AdminClient, Request, exchange
from .attempts import attempt
from .configs import TopicConfigs, alteration_rows, configs_of, raise_for_changes
from .positions import unserved
from .reasons import ErrorCode, HeldBack, as_exception, broker_words, error_name, not_held_back, passes
from .topics import broker_ids, describe_topics, known_id, raise_for_topics, request_metadata

# A KRaft controller takes at most 10,000 records in one go, one for each setting and partition. Fewer at once let the
# slower ones with ZooKeeper answer in time.
PARTITIONS_PER_REQUEST = 2000
LEADER_SECONDS = 30.0
_DISKS = (
    "look at the brokers' own logs: a broker whose disk is full or read-only can create no partitions, and may stop. Run "
    "again when all brokers are up"
)

T = t.TypeVar("T")
_Wanted = t.TypeVar("_Wanted")  # of a topic
_TopicRow = tuple[str, t.Any]  # a topic, and the row that an answer has of it


class Creation(t.NamedTuple):
    """What became of topics that were to be made.

    made: the ids of those that this call has made, None where brokers give none (before 2.8). found: those that were there
    before. Of any other one that is there, nobody knows who has made it, because the answer to the first request was lost.
    """

    made: dict[str, str | None]
    found: frozenset[str]


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


def create_topics(
    connection: Connection, topics: t.Mapping[str, NewTopic], note: t.Callable[[Creation], None] | None = None
) -> Creation:
    """Make these topics; one that is there already is left as it is. Returns when each partition has a leader.

    note: is told what has become of them as soon as brokers have answered, also before an error is raised, and again whenever a
    quota has held some back. Raises NotAuthorized
    naming the topics without ACL TOPIC CREATE, or BrokerError for the first topic that is refused, or that gets no leader; the
    others are made all the same.
    """
    made: dict[str, str | None] = {}
    existing: set[str] = set()
    asked: set[str] = set()

    def tell() -> Creation:
        creation = Creation(dict(made), frozenset(existing))
        if note is not None and (made or existing):
            note(creation)
        return creation

    def create(client: AdminClient) -> None:
        left = {name: new for name, new in topics.items() if name not in made}
        again = set(asked)
        asked.update(left)
        refused = {}
        try:
            for name, row in _creation_rows(client, connection, left, False):
                if not row.error_code:
                    made[name] = known_id(row)
                elif row.error_code != ErrorCode.TOPIC_ALREADY_EXISTS:
                    refused[name] = row
                elif name not in again:
                    existing.add(name)
        except HeldBack:
            asked.intersection_update(again)  # no answer was lost: what was held back was not made
            tell()  # what follows may take minutes
            raise
        raise_for_changes(connection, refused, "CREATE", "the topic cannot be created")

    if not topics:
        return Creation({}, frozenset())
    try:
        attempt(connection, create)
    finally:
        creation = tell()
    await_leaders(connection, dict.fromkeys(topics, 1))  # a topic that was there may have fewer than these
    return creation


def await_leaders(connection: Connection, counts: t.Mapping[str, int]) -> None:
    """Wait until every broker that is up knows a leader of each partition, and until the leaders serve them.

    Brokers hear of leaders one after the other. counts: how many partitions each topic has at least; a broker that knows fewer
    has not heard of them yet. Raises BrokerError for the first partition that none of this comes true of within LEADER_SECONDS.
    """

    def leaderless(topic: str, partition: int | None) -> BrokerError:
        return BrokerError(
            f"it has no leader after {LEADER_SECONDS:g} s",
            cluster=str(connection),
            topic=topic,
            partition=partition,
            remedy=f"check that the brokers which hold its replicas are up; {_DISKS}",
        )

    def waiting(client: AdminClient) -> BrokerError | None:
        """What is to be said if it stays so."""
        for node in broker_ids(client):
            described = {topic.name: topic for topic in request_metadata(client, list(counts), node=node).topics}
            for name, topic in described.items():
                if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    return leaderless(name, None)
            raise_for_topics(connection, {name: topic.error_code for name, topic in described.items()}, "DESCRIBE")
            for name, topic in described.items():
                led = {each.partition_index for each in topic.partitions if each.leader_id >= 0}
                for partition in range(max(counts[name], len(topic.partitions))):
                    if partition not in led:
                        return leaderless(name, partition)
        for topic_partition, leader, error in unserved(client, connection, list(counts)):
            return BrokerError(
                f"its leader, broker {leader}, does not serve it after {LEADER_SECONDS:g} s",
                cluster=str(connection),
                why=error,
                remedy=_DISKS,
                **topic_partition._asdict(),
            )
        return None

    place, end = None, 0.0
    while problem := _asked(connection, waiting, sorted(counts)):
        if place != (problem.topic, problem.partition):  # thousands of partitions may take longer, one after the other
            place, end = (problem.topic, problem.partition), time.monotonic() + LEADER_SECONDS
        if time.monotonic() > end:
            raise problem
        time.sleep(0.1)


def _asked(connection: Connection, operation: t.Callable[[AdminClient], T], names: t.Sequence[str]) -> T:
    """As attempt(), for topics that were made or have grown: brokers that end then, end because of that."""
    try:
        return attempt(connection, operation)
    except ConnectionFailed as exc:
        more = f", and those of {counted(len(names) - 1, 'more topic')}" if len(names) > 1 else ""
        raise ConnectionFailed(
            f"its partitions were created{more}, but the brokers do not answer any more",
            cluster=str(connection),
            topic=names[0],
            why=exc.why or exc.what,
            remedy=_DISKS,
        ) from exc


def try_creation(connection: Connection, topics: t.Mapping[str, NewTopic]) -> Trial:
    """Ask whether these topics could be made."""
    rows = _answered(connection, topics, lambda client, left: _creation_rows(client, connection, left, True))
    known = {name: row for name, row in rows.items() if row.configs}
    return Trial(
        _refusals(rows),
        {name: configs_of(row.configs) for name, row in known.items()},
        {name: row.replication_factor for name, row in known.items()},
    )


def try_settings(connection: Connection, changes: t.Mapping[str, t.Mapping[str, str | None]]) -> dict[str, Refusal]:
    """Ask whether these settings could be changed, as alter_topic_configs() would change them."""
    rows = _answered(connection, changes, lambda client, left: alteration_rows(client, left, True).items())
    return _refusals(rows)


def try_partitions(connection: Connection, counts: t.Mapping[str, int]) -> dict[str, Refusal]:
    """Ask whether topics could have so many partitions."""
    rows = _answered(connection, counts, lambda client, left: _growth_rows(client, connection, left, True))
    return _refusals(rows)


def add_partitions(connection: Connection, counts: t.Mapping[str, int]) -> None:
    """Let each topic have so many partitions; one that has them stays as it is. Returns when each partition has a leader.

    Raises BrokerError for the first topic that is refused; the others grow all the same.
    """

    def ask(client: AdminClient, left: t.Mapping[str, int]) -> t.Iterator[_TopicRow]:
        has = {topic.name: len(topic.partitions) for topic in request_metadata(client, list(left)).topics}
        lacking = {name: count for name, count in left.items() if has[name] < count}
        return _growth_rows(client, connection, lacking, False)

    refusals = _refusals(_answered(connection, counts, ask))
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
    wanted: t.Mapping[str, _Wanted],
    ask: t.Callable[[AdminClient, t.Mapping[str, _Wanted]], t.Iterable[_TopicRow]],
) -> dict[str, t.Any]:
    """What the brokers answer of each topic, as far as they say anything of it. Only what has no final answer is asked again.

    ask: sends the requests for topics that are left, each with what is wanted of it.
    """
    rows: dict[str, t.Any] = {}

    def once(client: AdminClient) -> None:
        passing = None
        for name, row in ask(client, {topic: wanted[topic] for topic in wanted if topic not in rows}):
            if passes(row.error_code):
                passing = passing or as_exception(row.error_code, name)
            else:
                rows[name] = row
        if passing:
            raise passing

    if wanted:
        attempt(connection, once)
    return rows


def _creation_rows(
    client: AdminClient, connection: Connection, topics: t.Mapping[str, NewTopic], validate_only: bool
) -> t.Iterator[_TopicRow]:
    """What the brokers answer of each topic that is to be made."""
    rows = {
        name: {
            "name": name,
            "num_partitions": new.partitions,
            "replication_factor": new.replication_factor,
            "assignments": [],
            "configs": [{"name": key, "value": value} for key, value in new.configs.items()],
        }
        for name, new in topics.items()
    }
    sizes = {name: new.partitions + len(new.configs) + 1 for name, new in topics.items()}
    request = Request("CreateTopics", {"validate_only": validate_only}, lowest=1)  # version 0 does not know that
    return _told_by_controller(client, connection, request, "topics", rows, sizes)


def _growth_rows(
    client: AdminClient, connection: Connection, counts: t.Mapping[str, int], validate_only: bool
) -> t.Iterator[_TopicRow]:
    """What the brokers answer of each topic that is to grow."""
    rows = {name: {"name": name, "count": count, "assignments": None} for name, count in counts.items()}
    request = Request("CreatePartitions", {"validate_only": validate_only})
    return _told_by_controller(client, connection, request, "results", rows, counts)


def _told_by_controller(
    client: AdminClient,
    connection: Connection,
    request: Request,
    results: str,
    rows: t.Mapping[str, t.Mapping[str, t.Any]],
    sizes: t.Mapping[str, int],
) -> t.Iterator[_TopicRow]:
    """What the brokers answer of each topic, one request after the other.

    Those that a quota has held back are left out, and HeldBack is raised after the others. results: what the answer calls its
    rows. rows, sizes: what is asked of each topic, and how many partitions and settings it is to get.
    """
    controller = request_metadata(client, []).controller_id  # with KRaft any broker, which passes the request on
    turns = [end // PARTITIONS_PER_REQUEST for end in itertools.accumulate(sizes.values())]
    for _turn, pairs in itertools.groupby(zip(turns, sizes, strict=True), key=operator.itemgetter(0)):
        fields = {
            "topics": [rows[name] for _number, name in pairs],
            "timeout_ms": int(connection.request_timeout * 1000),
        }
        (answer,) = exchange(client, [request._replace(fields={**request.fields, **fields}, node=controller)])
        yield from not_held_back(getattr(answer, results), answer)


def _refusals(rows: t.Mapping[str, t.Any]) -> dict[str, Refusal]:
    """The topics whose answer is an error."""
    refused = {name: row for name, row in rows.items() if row.error_code}
    return {name: Refusal(error_name(row.error_code), broker_words(row)) for name, row in refused.items()}
