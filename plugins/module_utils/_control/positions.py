# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Where logs begin and end, and where in them a time is: for ten thousand partitions in one call."""

from __future__ import annotations

import collections
import math
import typing as t
import weakref
from time import monotonic

from .._model.cluster_identity import LogRange
from .._model.connection import Connection
from .._model.errors import NotFound
from .._model.records import NO_TIMESTAMP, TopicPartition
from .._model.wording import first_of
from .abilities import Ability
from .admin_client import AdminClient, Request, can, exchange
from .attempts import attempt
from .reasons import ErrorCode, IncompleteAnswer, as_exception, error_name, passes, raise_if_it_passes
from .topics import id_of, partition_rows, raise_for_topics, request_metadata, topic_rows

# Special timestamps and isolation levels of the ListOffsets request.
LATEST, EARLIEST, LATEST_TIME = -1, -2, -3
UNCOMMITTED, COMMITTED = 0, 1
_BOUNDS = ((EARLIEST, UNCOMMITTED), (LATEST, COMMITTED), (LATEST, UNCOMMITTED))  # the fields of Bounds

Query = tuple[TopicPartition, int, int]  # partition, timestamp, isolation level

# For so many seconds, what a broker has told of leaders is as good as what it would tell now: a controller takes as long to
# notice that a leader is gone (broker.session.timeout.ms is 9 s by default). A leader that has changed refuses to answer.
_FRESH_SECONDS = 5.0


class _Leaders(t.NamedTuple):
    since: float
    by_partition: dict[TopicPartition, int]


_KNOWN: weakref.WeakKeyDictionary[AdminClient, _Leaders] = weakref.WeakKeyDictionary()


class Bounds(t.NamedTuple):
    """Offsets of one log. end is the last stable offset: what a read_committed consumer calls the end."""

    log_start: int
    end: int
    high_watermark: int

    @property
    def log(self) -> LogRange:
        """Where the log starts and ends, with records of open transactions."""
        return LogRange(self.log_start, self.high_watermark)


def partition_bounds(connection: Connection, partitions: t.Collection[TopicPartition]) -> dict[TopicPartition, Bounds]:
    """The bounds of every partition, all read at about the same moment.

    Raises NotFound or NotAuthorized naming the topics and partitions concerned.
    """
    wanted = sorted(set(partitions))
    rows = _look_up(connection, [(each, *kind) for kind in _BOUNDS for each in wanted])
    return {each: Bounds(*(rows[(each, *kind)].offset for kind in _BOUNDS)) for each in wanted}


def log_ends(connection: Connection, partitions: t.Collection[TopicPartition]) -> dict[TopicPartition, int]:
    """Where the logs end, with records of open transactions. Of no partition, nobody is asked. Raises as partition_bounds()."""
    return {at: log_bounds.high_watermark for at, log_bounds in partition_bounds(connection, partitions).items()}


def log_ranges(connection: Connection, partitions: t.Collection[TopicPartition]) -> dict[TopicPartition, LogRange]:
    """Where the logs start and end, as log_ends() otherwise."""
    return {at: log_bounds.log for at, log_bounds in partition_bounds(connection, partitions).items()}


def bounds_as_far_as_known(
    connection: Connection, partitions: t.Collection[TopicPartition], deadline: float
) -> tuple[str, dict[TopicPartition, Bounds]]:
    """The cluster's id, and the bounds as partition_bounds() gives them, of all partitions whose leaders tell them now.

    Left out: partitions that do not exist, that have no leader at the moment, and those that the user may not describe.
    deadline: seconds after which no further try begins.
    """
    wanted = set(partitions)

    def read(client: AdminClient) -> tuple[str, dict[TopicPartition, Bounds]]:
        answer = request_metadata(client, sorted({each.topic for each in wanted}))
        return id_of(answer), served_bounds(client, answer, wanted)

    return attempt(connection, read, deadline)


def served_bounds(
    client: AdminClient, described: t.Any, wanted: t.Container[TopicPartition]
) -> dict[TopicPartition, Bounds]:
    """The bounds of those of these partitions that leaders serve now. described: the answer of request_metadata()."""
    told = _leaders_of(client, described)
    leaders = {each: leader for each, leader in told.items() if each in wanted and leader >= 0}
    queries = [(each, *kind) for kind in _BOUNDS for each in sorted(leaders)]
    offsets = {query: row.offset for query, row in _answered(client, queries, leaders) if not row.error_code}
    whole = [each for each in sorted(leaders) if all((each, *kind) in offsets for kind in _BOUNDS)]
    return {each: Bounds(*(offsets[(each, *kind)] for kind in _BOUNDS)) for each in whole}


def lookup_all_times(
    connection: Connection, wanted: t.Iterable[tuple[TopicPartition, int]], refused: set[TopicPartition]
) -> dict[tuple[TopicPartition, int], int | None]:
    """The offset of the first record in each log whose timestamp (ms since the epoch) is at least the asked one.

    Later records may be older. None: there is no such record. Raises as partition_bounds() does.

    A broker searches one segment alone: the first that seems to have such a time (UnifiedLog.searchOffsetInLocalLog()). If
    compaction has emptied it, or its records of this time were deleted, the broker finds none, whatever later segments have. So
    where it finds none, it is asked for the latest time of the log, too, as far as it tells that (Ability.LATEST_TIMES).

    refused: gets the partitions in which brokers look up no time, because of a message format without timestamps, and those in
    which they miss a record. They are left out of the answer.
    """
    asked = sorted(set(wanted))
    for partition, time in asked:
        if time < 0:
            raise ValueError(f"{partition}: {time} is no time")
    found = _found_times(connection, asked, refused)
    latest = _latest_times(connection, {partition for (partition, _time), offset in found.items() if offset is None})
    missed = [
        (partition, time)
        for (partition, time), offset in found.items()
        if offset is None and time <= latest.get(partition, NO_TIMESTAMP)
    ]
    found |= _found_times(connection, missed, refused)  # what has come in the meantime is found now
    refused.update(partition for partition, time in missed if found[partition, time] is None)
    return {question: offset for question, offset in found.items() if question[0] not in refused}


def _found_times(
    connection: Connection, asked: t.Sequence[tuple[TopicPartition, int]], refused: set[TopicPartition]
) -> dict[tuple[TopicPartition, int], int | None]:
    """What brokers answer to lookup_all_times()."""
    rows = _look_up(connection, [(partition, time, UNCOMMITTED) for partition, time in asked], refused)
    offsets = {query: rows[(*query, UNCOMMITTED)].offset for query in asked if query[0] not in refused}
    return {query: offset if offset >= 0 else None for query, offset in offsets.items()}


def _latest_times(connection: Connection, partitions: t.Collection[TopicPartition]) -> dict[TopicPartition, int]:
    """The latest time in each log (ms since the epoch), NO_TIMESTAMP where it has none; of no log where brokers do not tell."""
    rows = _look_up(connection, [(partition, LATEST_TIME, UNCOMMITTED) for partition in sorted(partitions)])
    return {partition: row.timestamp for (partition, _time, _level), row in rows.items()}


def epoch_ends(
    connection: Connection, wanted: t.Collection[tuple[TopicPartition, int]]
) -> dict[tuple[TopicPartition, int], int]:
    """The offset after the last record that each log has of a leader epoch or an earlier one. Raises as partition_bounds().

    Left out: what leaders do not know, such as later epochs than their own; all of it, where brokers do not tell
    (Ability.EPOCH_ENDS). Source:
    https://cwiki.apache.org/confluence/display/KAFKA/KIP-320%3A+Allow+fetchers+to+detect+and+handle+log+truncation
    """

    def read(client: AdminClient) -> dict[tuple[TopicPartition, int], int]:
        if not can(client, Ability.EPOCH_ENDS):
            return {}
        partitions = {partition for partition, _epoch in wanted}
        leaders = _leaders(client, connection, partitions)
        rounds = _rounds([(partition, epoch, UNCOMMITTED) for partition, epoch in sorted(wanted)], leaders)
        answers = exchange(client, [_epoch_request(leader, batch) for leader, _level, batch in rounds])
        ends: dict[tuple[TopicPartition, int], int] = {}
        for (_leader, _level, batch), answer in zip(rounds, answers, strict=True):
            for topic in answer.topics:
                for row in topic.partitions:
                    raise_if_it_passes(row.error_code)
                    if not row.error_code and row.end_offset >= 0:
                        partition = TopicPartition(topic.topic, row.partition)
                        ends[partition, batch[partition]] = row.end_offset
        return ends

    return attempt(connection, read) if wanted else {}


def _look_up(
    connection: Connection, queries: t.Sequence[Query], refused: set[TopicPartition] | None = None
) -> dict[Query, t.Any]:
    """The row of the answer to each query; none where all ask for the latest time, and brokers do not tell that.

    refused: see lookup_all_times(); without it, such a partition is an error.
    """

    def read(client: AdminClient) -> dict[Query, t.Any]:
        if queries[0][1] == LATEST_TIME and not can(client, Ability.LATEST_TIMES):
            return {}
        leaders = _leaders(client, connection, {partition for partition, _time, _level in queries})
        rows: dict[Query, t.Any] = {}
        codes: dict[str, int] = {}
        for query, row in _answered(client, queries, leaders):
            partition = query[0]
            if refused is not None and row.error_code == ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT:
                refused.add(partition)
            elif row.error_code:
                # One that may pass counts: the others of the topic are seen again by the next try.
                codes[partition.topic] = max(row.error_code, codes.get(partition.topic, 0), key=passes)
            rows[query] = row
        raise_for_topics(connection, codes, "DESCRIBE")
        if len(rows) < len(set(queries)):
            raise IncompleteAnswer("it leaves partitions out")
        return rows

    return attempt(connection, read) if queries else {}


def _answered(
    client: AdminClient, queries: t.Sequence[Query], leaders: t.Mapping[TopicPartition, int]
) -> t.Iterator[tuple[Query, t.Any]]:
    """Each query with the row of its leader's answer."""
    rounds = _rounds(queries, leaders)
    answers = exchange(client, [_request(*each) for each in rounds])
    for (_leader, level, batch), answer in zip(rounds, answers, strict=True):
        for partition, row in partition_rows(answer.topics):
            yield (partition, batch[partition], level), row


class Unserved(t.NamedTuple):
    """A partition that its leader does not serve. error: Kafka's name of it."""

    partition: TopicPartition
    leader: int
    error: str


def unserved(client: AdminClient, connection: Connection, topics: t.Sequence[str]) -> list[Unserved]:
    """The partitions of these topics that their leaders do not serve, as far as they have leaders.

    A KRaft controller names leaders before they have made their logs, which they may not be able to.
    """
    leaders = partition_leaders(client, connection, topics, ())
    queries = [(partition, EARLIEST, UNCOMMITTED) for partition, leader in leaders.items() if leader >= 0]
    return sorted(
        Unserved(partition, leaders[partition], error_name(row.error_code))
        for (partition, _time, _level), row in _answered(client, queries, leaders)
        if row.error_code
    )


def partition_leaders(
    client: AdminClient, connection: Connection, topics: t.Sequence[str], wanted: t.Collection[TopicPartition]
) -> dict[TopicPartition, int]:
    """The broker that leads each partition of these topics. Raises as partition_bounds() does where one of wanted has none."""
    answer = request_metadata(client, topics)
    raise_for_topics(connection, {topic.name: topic.error_code for topic in answer.topics}, "DESCRIBE")
    leaders = _leaders_of(client, answer)
    missing = sorted(set(wanted) - set(leaders))
    if missing:
        raise NotFound(
            f"no such partition: {first_of(list(map(str, missing)))}",
            cluster=str(connection),
            remedy="compare the partition counts of the topics",
        )
    leaderless = sorted(partition for partition in wanted if leaders[partition] < 0)
    if leaderless:
        raise as_exception(ErrorCode.LEADER_NOT_AVAILABLE, first_of(list(map(str, leaderless))))
    return leaders


def _leaders_of(client: AdminClient, described: t.Any) -> dict[TopicPartition, int]:
    """What an answer of request_metadata() tells of leaders, for _leaders(), too. -1: there is none now."""
    leaders = {partition: row.leader_id for partition, row in partition_rows(described.topics)}
    _KNOWN[client] = _Leaders(monotonic(), leaders)
    return leaders


def _leaders(
    client: AdminClient, connection: Connection, wanted: t.Collection[TopicPartition]
) -> dict[TopicPartition, int]:
    """As partition_leaders(); what this client was told a moment ago, if that has a leader of all that is wanted."""
    known = _KNOWN.get(client, _Leaders(-math.inf, {}))
    is_fresh = monotonic() <= known.since + _FRESH_SECONDS
    if is_fresh and all(known.by_partition.get(each, -1) >= 0 for each in wanted):
        return known.by_partition
    return partition_leaders(client, connection, sorted({partition.topic for partition in wanted}), wanted)


def _rounds(
    queries: t.Sequence[Query], leaders: t.Mapping[TopicPartition, int]
) -> list[tuple[int, int, dict[TopicPartition, int]]]:
    """(leader, isolation level, timestamp by partition): a request may name a partition only once."""
    rounds: dict[tuple[int, int], list[dict[TopicPartition, int]]] = {}
    asked: collections.Counter[tuple[TopicPartition, int]] = collections.Counter()
    for partition, time, level in dict.fromkeys(queries):
        batches = rounds.setdefault((leaders[partition], level), [])
        number = asked[partition, level]
        asked[partition, level] += 1
        if number == len(batches):
            batches.append({})
        batches[number][partition] = time
    return [(leader, level, batch) for (leader, level), batches in rounds.items() for batch in batches]


def _request(leader: int, level: int, times: t.Mapping[TopicPartition, int]) -> Request:
    rows = (
        (partition, {"partition_index": partition.partition, "timestamp": time}) for partition, time in times.items()
    )
    # Version 1 knows no isolation levels: see Ability.ISOLATION. Older ones take LATEST_TIME for a time like others.
    lowest = Ability.LATEST_TIMES.value.version if LATEST_TIME in times.values() else 1
    return Request("ListOffsets", {"isolation_level": level, "topics": topic_rows(rows)}, leader, lowest=lowest)


def _epoch_request(leader: int, epochs: t.Mapping[TopicPartition, int]) -> Request:
    rows = ((at, {"partition": at.partition, "leader_epoch": epoch}) for at, epoch in epochs.items())
    # Versions before 3 need ACL CLUSTER CLUSTER_ACTION. -1: a consumer asks.
    fields = {"replica_id": -1, "topics": topic_rows(rows, "topic")}
    return Request("OffsetForLeaderEpoch", fields, leader, lowest=Ability.EPOCH_ENDS.value.version)
