# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Makes topics, and waits until brokers serve them."""

from __future__ import annotations

import itertools
import time
import typing as t

from .._model.connection import Connection
from .._model.errors import BrokerError, ConnectionFailed
from .._model.new_topics import NewTopic
from .._model.progress import counted
from .admin_client import AdminClient, Request, exchange
from .attempts import attempt
from .configs import raise_for_changes
from .error_codes import ErrorCode
from .mutation_quota import HeldBack, not_held_back
from .positions import unserved
from .topics import broker_ids, known_id, raise_for_topics, request_metadata

# A KRaft controller takes at most 10,000 records in one go, one for each setting and partition. Fewer at once let the
# slower ones with ZooKeeper answer in time.
PARTITIONS_PER_REQUEST = 2000
LEADER_SECONDS = 30.0
_DISKS = (
    "look at the brokers' own logs: a broker whose disk is full or read-only can create no partitions, and may stop. Run "
    "again when all brokers are up"
)


class Creation(t.NamedTuple):
    """What became of topics that were to be made.

    made: the ids of those that this call has made, None where brokers give none (before 2.8). found: those that were there
    before. Of any other one that is there, nobody knows who has made it, because the answer to the first request was lost.
    """

    made: dict[str, str | None]
    found: frozenset[str]


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
            for row in creation_rows(client, connection, left, False):
                if not row.error_code:
                    made[row.name] = known_id(row)
                elif row.error_code != ErrorCode.TOPIC_ALREADY_EXISTS:
                    refused[row.name] = row
                elif row.name not in again:
                    existing.add(row.name)
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

    def leaderless(client: AdminClient) -> tuple[str, int | None] | None:
        for node in broker_ids(client):
            described = {topic.name: topic for topic in request_metadata(client, list(counts), node=node).topics}
            for name, topic in described.items():
                if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    return name, None
            raise_for_topics(connection, {name: topic.error_code for name, topic in described.items()}, "DESCRIBE")
            for name, topic in described.items():
                led = {each.partition_index for each in topic.partitions if each.leader_id >= 0}
                for partition in range(max(counts[name], len(topic.partitions))):
                    if partition not in led:
                        return name, partition
        return None

    def waiting(client: AdminClient) -> BrokerError | None:
        """What is to be said if it stays so."""
        lacking = leaderless(client)
        if lacking is not None:
            return BrokerError(
                f"it has no leader after {LEADER_SECONDS:g} s",
                cluster=str(connection),
                topic=lacking[0],
                partition=lacking[1],
                remedy=f"check that the brokers which hold its replicas are up; {_DISKS}",
            )
        for partition, leader, error in unserved(client, connection, list(counts)):
            return BrokerError(
                f"its leader, broker {leader}, does not serve it after {LEADER_SECONDS:g} s",
                cluster=str(connection),
                why=error,
                remedy=_DISKS,
                **partition._asdict(),
            )
        return None

    place, end = None, 0.0
    while problem := _asked(connection, waiting, sorted(counts)):
        if place != (problem.topic, problem.partition):  # thousands of partitions may take longer, one after the other
            place, end = (problem.topic, problem.partition), time.monotonic() + LEADER_SECONDS
        if time.monotonic() > end:
            raise problem
        time.sleep(0.1)


T = t.TypeVar("T")


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


def creation_rows(
    client: AdminClient, connection: Connection, topics: t.Mapping[str, NewTopic], validate_only: bool
) -> t.Iterator[t.Any]:
    """What the brokers answer of each topic to create_topics(), one request after the other.

    Those that a quota has held back are left out, and HeldBack is raised after the others.
    """
    controller = request_metadata(client, []).controller_id  # with KRaft any broker, which passes the request on
    sizes = {name: each.partitions + len(each.configs) + 1 for name, each in topics.items()}
    for names in batches(sizes):
        fields = {
            "topics": [_creation(name, topics[name]) for name in names],
            "timeout_ms": int(connection.request_timeout * 1000),
            "validate_only": validate_only,  # which version 0 does not know
        }
        (answer,) = exchange(client, [Request("CreateTopics", fields, controller, lowest=1)])
        yield from not_held_back(answer.topics, answer)


def _creation(name: str, topic: NewTopic) -> dict[str, t.Any]:
    return {
        "name": name,
        "num_partitions": topic.partitions,
        "replication_factor": topic.replication_factor,
        "assignments": [],
        "configs": [{"name": key, "value": value} for key, value in topic.configs.items()],
    }


def batches(sizes: t.Mapping[str, int]) -> t.Iterator[list[str]]:
    """Topics in parts that a controller takes in one request. sizes: how many partitions and settings each is to get."""
    turns = [end // PARTITIONS_PER_REQUEST for end in itertools.accumulate(sizes.values())]
    for _turn, pairs in itertools.groupby(zip(turns, sizes, strict=True), key=lambda pair: pair[0]):
        yield [name for _number, name in pairs]
