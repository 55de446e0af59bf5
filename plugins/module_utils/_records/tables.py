# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Small topics as tables: every record of theirs as it is, to the end for sure; and records written plainly, for good."""

from __future__ import annotations

import time
import types
import typing as t

from .._model.connection import Connection
from .._model.records import TopicPartition
from .._model.written import WRITTEN
from . import refusals
from .confluent_library import KafkaError, KafkaException, Producer
from .confluent_library import TopicPartition as Position
from .consumer_client import client_configuration, lent_consumer, unusable_client
from .scanning import Range

_TAKEN = 2000  # messages at a time
_SETTINGS: t.Mapping[str, str | int] = {"fetch.wait.max.ms": 50, "fetch.error.backoff.ms": 20}
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
    left = {each.partition: each for each in ranges if each.start < each.end}
    if not left:
        return []
    level = "read_committed" if committed else "read_uncommitted"
    with lent_consumer(connection, {**_SETTINGS, **settings, "isolation.level": level}) as opened:
        refusals.check_existence(connection, left, opened.partitions)
        found: list[StoredRecord] = []
        positions = {where: each.start for where, each in left.items()}
        opened.consumer.assign([Position(*where, start) for where, start in positions.items()])
        fresh = time.monotonic()
        while left:
            messages: list[t.Any] = opened.consumer.consume(_TAKEN, 0.05)
            if messages:
                fresh = time.monotonic()
            elif time.monotonic() - fresh > connection.request_timeout:
                where = next(iter(left))
                silent = time.monotonic() - fresh
                raise refusals.stalled(connection, where, positions[where], len(left) - 1, silent, opened.complaints)
            for message in messages:
                where = TopicPartition(message.topic(), message.partition())
                if where not in left:
                    continue
                end = left[where].end
                if message.error() is not None:
                    if not refusals.is_end(connection, where, positions[where], end, message):
                        continue
                elif message.offset() < end:
                    found.append(StoredRecord(where, message.offset(), message.key(), message.value()))
                    positions[where] = message.offset() + 1
                    if positions[where] < end:
                        continue
                del left[where]
        return sorted(found, key=lambda record: record[:2])


def write_records(connection: Connection, records: t.Sequence[NewRecord]) -> None:
    """Write these records, each to its partition and outside of any transaction, and wait until all replicas have them."""
    failed: list[tuple[TopicPartition, KafkaError]] = []
    # In order, and not idempotent, for which older brokers want an ACL on the cluster: of a key, twice is once.
    settings = {"acks": "all", "max.in.flight": 1, "client.id": "streamshift-records", "log_level": 0}
    try:
        producer = Producer({**client_configuration(connection), **settings})
    except KafkaException as exc:
        raise unusable_client(connection, exc) from exc
    WRITTEN.extend({where.topic for where, _key, _value in records})
    for where, key, value in records:

        def delivered(error: KafkaError | None, _message: t.Any, where: TopicPartition = where) -> None:
            if error is not None:
                failed.append((where, error))

        producer.produce(where.topic, value, key, where.partition, delivered)
        producer.poll(0)
    left = producer.flush(_WRITTEN_WITHIN)
    if failed or left:
        where, error = failed[0] if failed else (records[-1].partition, KafkaError(KafkaError._MSG_TIMED_OUT))
        raise refusals.unwritten(connection, error, f"{len(failed) + left} records could not be written", where)
