# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Small topics as tables: every record of theirs as it is, to the end for sure; and records written plainly, for good."""

from __future__ import annotations

import types
import typing as t

from .._model.connection import Connection
from .._model.errors import WRITTEN
from .._model.records import TopicPartition
from . import refusals
from .confluent_library import KafkaError, KafkaException, Producer
from .consumer_client import client_configuration, open_consumer, unusable_client
from .scanning import Range
from .transactions import FULL_QUEUE_SECONDS, LARGEST_MESSAGE
from .whole_ranges import messages

SAMPLING = {
    "fetch.message.max.bytes": 24 << 10,
    "queued.max.messages.kbytes": 16 << 10,
}  # of a few records of many topics
_NO_MORE: t.Mapping[str, int] = types.MappingProxyType({})
_WRITTEN_WITHIN = 60.0  # seconds


class StoredRecord(t.NamedTuple):
    """A record as it is in the log."""

    partition: TopicPartition
    offset: int
    key: bytes | None
    value: bytes | None


class NewRecord(t.NamedTuple):
    """A record that is to be written; without a value, a tombstone."""

    partition: TopicPartition
    key: bytes
    value: bytes | None


def read_records(
    connection: Connection, ranges: t.Sequence[Range], committed: bool, settings: t.Mapping[str, int] = _NO_MORE
) -> list[StoredRecord]:
    """All records of the ranges, one of each partition, in the order of their logs.

    committed: what a read_committed consumer sees; else aborted records as well. settings: of librdkafka, besides. Raises as
    scanning.scan() does, before a record is left out.
    """
    wanted = [each for each in ranges if each.start < each.end]
    if not wanted:
        return []
    level = "read_committed" if committed else "read_uncommitted"
    with open_consumer(connection, {"fetch.wait.max.ms": 50, **settings, "isolation.level": level}) as opened:
        records = [
            StoredRecord(
                TopicPartition(message.topic(), message.partition()), message.offset(), message.key(), message.value()
            )
            for message in messages(opened, wanted)
        ]
    return sorted(records, key=lambda record: record[:2])


def write_records(connection: Connection, records: t.Sequence[NewRecord]) -> None:
    """Write these records, each to its partition and outside of any transaction, and wait until all replicas have them."""
    failed: list[tuple[TopicPartition, KafkaError]] = []
    # In order, and not idempotent, for which older brokers want an ACL on the cluster: of a key, twice is once.
    settings = {
        "acks": "all",
        "max.in.flight": 1,
        "message.max.bytes": LARGEST_MESSAGE,
        "client.id": "streamshift-records",
        "log_level": 0,
    }
    try:
        producer = Producer({**client_configuration(connection), **settings})
    except KafkaException as exc:
        raise unusable_client(connection, exc) from exc
    WRITTEN.extend({partition.topic for partition, _key, _value in records})
    for partition, key, value in records:

        def delivered(error: KafkaError | None, _message: t.Any, partition: TopicPartition = partition) -> None:
            if error is not None:
                failed.append((partition, error))

        while True:
            try:
                producer.produce(partition.topic, value, key, partition.partition, delivered)
                break
            except BufferError:
                producer.poll(FULL_QUEUE_SECONDS)
        producer.poll(0)
    left = producer.flush(_WRITTEN_WITHIN)
    if failed or left:
        partition, error = failed[0] if failed else (records[-1].partition, KafkaError(KafkaError._MSG_TIMED_OUT))
        raise refusals.unwritten(connection, error, f"{len(failed) + left:,} records could not be written", partition)
