# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Why records cannot be read: what a client reports, in the words of the collection."""

from __future__ import annotations

import dataclasses
import time
import typing as t

from .._model.backlog import BacklogRange
from .._model.connection import Connection
from .._model.copy_progress import Progress, begin_anew
from .._model.errors import (
    BrokerError,
    Fenced,
    LogChanged,
    MigrationError,
    NotAuthorized,
    NotFound,
    Refused,
    TopicNotEmpty,
    UnreadableRecord,
)
from .._model.option_names import option_name, ways
from .._model.records import TopicPartition
from .confluent_library import KafkaError, KafkaException
from .confluent_library import TopicPartition as Position
from .consumer_client import Opened, connection_failed, learn_partitions

Waiting: t.TypeAlias = "t.Sequence[tuple[tuple[str, int], int]]"  # what is not read to its end, and its next offset

_ANSWER_SECONDS = 5.0
# librdkafka fetches on after these, if it tells them at all: rd_kafka_fetch_reply_handle_partition_error(). Most of them it
# only answers by asking for the leader. UNKNOWN: a broker that cannot read a segment now, such as a remote one.
_PASSING = frozenset({
    KafkaError.BROKER_NOT_AVAILABLE, KafkaError.FENCED_LEADER_EPOCH, KafkaError.KAFKA_STORAGE_ERROR,
    KafkaError.LEADER_NOT_AVAILABLE, KafkaError.NETWORK_EXCEPTION, KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.OFFSET_NOT_AVAILABLE, KafkaError.REPLICA_NOT_AVAILABLE, KafkaError.REQUEST_TIMED_OUT,
    KafkaError.THROTTLING_QUOTA_EXCEEDED, KafkaError.UNKNOWN, KafkaError.UNKNOWN_LEADER_EPOCH, KafkaError._TIMED_OUT,
    KafkaError._TRANSPORT,
})  # fmt: skip
# The metadata of one broker lack the topic: it was deleted, or the broker has just started.
_MISSING = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_PARTITION, KafkaError._UNKNOWN_TOPIC})


def check_existence(opened: Opened, wanted: t.Collection[TopicPartition]) -> None:
    """Raise NotFound for what is not there: the consumer would wait for it for ever, without a word.

    What the consumer knows may be a few seconds old, so it asks again before anything is missed.
    """
    if any(partition >= opened.partitions.get(topic, 0) for topic, partition in wanted):
        learn_partitions(opened)
    for partition in wanted:
        if partition.topic not in opened.partitions:
            raise NotFound(
                "the topic does not exist, or ACL TOPIC DESCRIBE is missing",
                cluster=str(opened.connection),
                topic=partition.topic,
                remedy="create it, or grant TOPIC READ to the user of this cluster",
            )
        if partition.partition >= opened.partitions[partition.topic]:
            raise NotFound(
                f"the topic has {opened.partitions[partition.topic]} partitions",
                cluster=str(opened.connection),
                **partition._asdict(),
                remedy="leave the partition out",
            )


def reading_refusal(
    connection: Connection, partition: TopicPartition, position: int, error: KafkaError
) -> MigrationError:
    """What a partition's error means to a reader whose next offset is `position`."""
    code = error.code()
    if code == KafkaError.TOPIC_AUTHORIZATION_FAILED:
        return NotAuthorized(f"needs ACL TOPIC READ on {partition.topic}", cluster=str(connection))
    if code in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
        return lost(connection, partition, f"offset {position} is not in the log")
    return BrokerError(
        f"the records from offset {position} on cannot be read",
        cluster=str(connection),
        why=error.str(),
        remedy="see what the brokers' logs say of it, and run again",
        **partition._asdict(),
    )


class _Wait(t.NamedTuple):
    """A partition that librdkafka goes on asking for, at which offset, since when, and what to raise if that does not help."""

    position: int
    since: float
    why: MigrationError


@dataclasses.dataclass(slots=True)
class Patience:
    """What one reader does about errors of partitions: it waits for what passes by itself, while librdkafka asks again."""

    opened: Opened
    waits: dict[tuple[str, int], _Wait] = dataclasses.field(default_factory=dict)

    def is_end(self, partition: TopicPartition, position: int, end: int, message: t.Any) -> bool:
        """Is a message that holds an error the end of the log, at `end` or after it? A reader's next offset is `position`.

        False for what may pass, which is no sign of life; raises what does not pass, or has not within request_timeout.
        """
        error = message.error()
        code = error.code()
        why: MigrationError
        if code == KafkaError._PARTITION_EOF:
            if message.offset() >= end:
                return True
            # Just after its election, a leader lets consumers read less than the one before, but tells nobody that as its
            # end (KIP-207).
            log_end = self._log_end(partition)
            shown = message.offset() if log_end is None else log_end
            why = lost(self.opened.connection, partition, f"the log ends at {shown}, and {end} was expected")
            if log_end is not None and log_end < end:
                raise why
        else:
            why = reading_refusal(self.opened.connection, partition, position, error)
            if code not in _PASSING and not (code in _MISSING and self._log_end(partition) is not None):
                raise why
        now, wait = time.monotonic(), self.waits.get(partition)
        since = wait.since if wait is not None and wait.position == position else now
        if now - since > self.opened.connection.request_timeout:
            raise why
        self.waits[partition] = _Wait(position, since, why)
        return False

    def stalled(self, waiting: Waiting, seconds: float) -> MigrationError:
        """Nothing has come of any of the partitions for so long: what they were waited for, if that is known."""
        for partition, position in waiting:
            wait = self.waits.get(partition)
            if wait is not None and wait.position == position:
                return wait.why
        connection, complaints = self.opened.connection, self.opened.complaints
        first, position, more = _first_waiting(waiting)
        return BrokerError(
            f"no record and no end of the log at offset {position} within {seconds:.0f} s{more}",
            cluster=str(connection),
            **first._asdict(),
            why=connection_failed(connection, complaints).why if complaints else None,
            remedy="check that the partition has a leader, that no transaction is open there, and that no quota "
            "(consumer_byte_rate, request_percentage) holds the user or client id back for so long, or raise request_timeout",
        )

    def _log_end(self, partition: TopicPartition) -> int | None:
        """Where the leader says that the log, or what is stable of it, ends; None where it does not say so soon."""
        edges = _edges(self.opened, partition, min(_ANSWER_SECONDS, self.opened.connection.request_timeout))
        return None if edges is None else edges[1]


def _edges(opened: Opened, partition: TopicPartition, seconds: float) -> tuple[int, int] | None:
    """Where the leader says that the log begins, and where what is stable of it ends; None without an answer in time."""
    try:
        edges: t.Any = opened.consumer.get_watermark_offsets(Position(*partition), timeout=seconds, cached=False)
    except KafkaException:
        return None
    return None if edges is None else (int(edges[0]), int(edges[1]))


def lost(connection: Connection, partition: TopicPartition, what: str) -> LogChanged:
    """The log is no longer what it was when the range was chosen."""
    return LogChanged(
        what,
        cluster=str(connection),
        **partition._asdict(),
        remedy="run again; records have expired, or the topic was truncated or recreated during the run",
    )


def later_start(opened: Opened, partition: TopicPartition, before: int, changed: LogChanged) -> int:
    """Where the log starts now that records from `before` on have expired. Raises `changed` where it starts no later."""
    edges = _edges(opened, partition, opened.connection.request_timeout)
    if edges is None or edges[0] <= before:
        raise changed
    return edges[0]


def unfinished(connection: Connection, waiting: Waiting) -> BrokerError:
    """Records come, but too slowly."""
    partition, position, more = _first_waiting(waiting)
    return BrokerError(
        f"the time for reading is up at offset {position}{more}",
        cluster=str(connection),
        **partition._asdict(),
        remedy="migrate fewer groups at a time, or when the cluster and this machine are less busy",
    )


def _first_waiting(waiting: Waiting) -> tuple[TopicPartition, int, str]:
    """The partition that a message names, its next offset, and that others wait, too."""
    (partition, position), *others = waiting
    return TopicPartition(*partition), position, f" ({len(others):,} more partitions wait)" if others else ""


def unwritten(
    connection: Connection, error: KafkaError, what: str, partition: TopicPartition | None = None
) -> MigrationError:
    """What an error of a transactional producer means. what: what could not be done, as a clause."""
    fields = partition._asdict() if partition is not None else {}
    denied = _DENIED.get(error.code())
    if denied:
        return NotAuthorized(f"needs ACL {denied}", cluster=str(connection), **fields)
    if error.code() in FENCED:
        return Fenced(
            "another run copies the same records, and has taken over",
            cluster=str(connection),
            remedy="let that run end, and run again then: it goes on where that one has ended",
        )
    remedy = _REMEDIES.get(error.code(), "remove the cause and run again: it goes on where it has ended")
    if error.code() == KafkaError._MSG_TIMED_OUT:
        remedy = unacknowledged()
    return BrokerError(what, cluster=str(connection), why=error.str(), remedy=remedy, **fields)


def unacknowledged() -> str:
    """What to do where brokers do not take records in time."""
    limit = ("max_bytes_per_second", f"set {option_name('max_bytes_per_second')} to less than it lets pass")
    seen = "see that the partitions have leaders, enough replicas in sync and space on their disks"
    slower = (
        f"; where a quota (producer_byte_rate) or a slow network holds records back, {told}"
        if (told := ways(limit))
        else ""
    )
    return f"{seen}{slower}. Then run again: what is written stays"


def raise_for_header(exc: SystemError, connection: Connection, message: t.Any, remedy: str = "") -> t.NoReturn:
    """Raise Refused where a header of a message has a name that is not UTF-8, which some clients can write; else exc.

    confluent-kafka does not clear its UnicodeDecodeError, and Python meets it at once or in one of the next calls.
    """
    if not isinstance(exc.__cause__, UnicodeDecodeError):
        raise exc
    raise UnreadableRecord(
        f"the record at offset {message.offset()} has a header whose name is not UTF-8",
        cluster=str(connection),
        topic=message.topic(),
        partition=message.partition(),
        why="confluent-kafka, which reads the records, cannot read it",
        remedy=remedy
        or ways(
            ("match_on", f"leave headers out of {option_name('match_on')}"),
            ("exclude_topic_patterns", f"leave the topic out by {option_name('exclude_topic_patterns')}"),
        ),
    ) from exc


def another_log(connection: Connection, backlog_range: BacklogRange, progress: Progress, offset: int) -> Refused:
    """A record came to lie before others that were copied earlier: this is not the log that they were written to."""
    copied = backlog_range.begin if progress.next is None else progress.next
    return TopicNotEmpty(
        f"a copied record came to lie at offset {offset}, and the log ended at {copied} before",
        cluster=str(connection),
        why="the topic was recreated or truncated while it was copied to",
        remedy=begin_anew(),
        **backlog_range.destination._asdict(),
    )


def unplaced(connection: Connection, partition: TopicPartition) -> BrokerError:
    """A record was written, and the broker no longer knows at which offset."""
    return BrokerError(
        "a record was written twice, and its offset is not known",
        cluster=str(connection),
        remedy="run again: it is written once more, and what was written is aborted",
        **partition._asdict(),
    )


_DENIED = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "TOPIC WRITE and TOPIC READ on the topics that are written to",
    KafkaError.GROUP_AUTHORIZATION_FAILED: "GROUP READ on streamshift- (prefixed)",
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "TRANSACTIONAL_ID WRITE on streamshift- (prefixed)",
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "CLUSTER IDEMPOTENT_WRITE",
}
# Another producer has taken over the transactional id.
FENCED = (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED)
_ENOUGH_REPLICAS = "see that enough replicas are in sync (min.insync.replicas), and run again"
_REMEDIES = {
    KafkaError.NOT_ENOUGH_REPLICAS: _ENOUGH_REPLICAS,
    KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND: _ENOUGH_REPLICAS,
    KafkaError.INVALID_TIMESTAMP: "raise message.timestamp.after.max.ms of the topic, and run again",
    KafkaError.INVALID_TRANSACTION_TIMEOUT: "set transaction.max.timeout.ms of the brokers to a minute or more, and run again",
    KafkaError.INVALID_RECORD: "see what the topic demands of its records: a compacted one takes none without a key",
}
