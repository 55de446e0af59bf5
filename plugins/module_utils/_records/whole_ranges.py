# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The messages of whole ranges one by one, for whoever looks at every record as it is."""

from __future__ import annotations

import time
import typing as t

from .._model.connection import Connection
from .._model.grouping import chunks
from .._model.records import TopicPartition
from . import refusals
from .confluent_library import TopicPartition as Position
from .consumer_client import Opened, open_consumer
from .scanning import Range

READ_COMMITTED = {"isolation.level": "read_committed", "fetch.wait.max.ms": 20}
_TAKEN = 2000  # messages at a time
_AT_A_TIME = 512  # partitions: a client holds what it has fetched ahead of each


def messages(opened: Opened, ranges: t.Sequence[Range]) -> t.Iterator[t.Any]:
    """Every message that the consumer sees of the ranges, one of each partition, those of each in the order of its log.

    Raises as scanning.scan() does, before a record is left out.
    """
    refusals.check_existence(opened, [each.partition for each in ranges])
    left = {each.partition: each.end for each in ranges if each.start < each.end}
    positions = {each.partition: each.start for each in ranges}
    opened.consumer.assign([Position(*partition, positions[partition]) for partition in left])
    patience = refusals.Patience(opened)
    fresh = time.monotonic()
    while left:
        taken: list[t.Any] = opened.consumer.consume(_TAKEN, 0.02)  # typed, every field of a message may be None
        is_alive = False
        for message in taken:
            partition = TopicPartition(message.topic(), message.partition())
            end = left.get(partition)
            if end is None:
                continue
            if message.error() is not None:
                is_over = patience.is_end(partition, positions[partition], end, message)
                is_alive = is_alive or is_over
            else:
                is_alive = True
                is_over = message.offset() >= end - 1
                if message.offset() < end:  # else the last offsets of the range are gaps
                    positions[partition] = message.offset() + 1
                    yield message
            if is_over:
                del left[partition]
                opened.consumer.incremental_unassign([Position(*partition)])
        if is_alive:
            fresh = time.monotonic()  # what the caller does meanwhile is not the broker's silence
        elif (silent := time.monotonic() - fresh) > opened.connection.request_timeout:
            waiting = [(partition, positions[partition]) for partition in sorted(left)]
            raise patience.stalled(waiting, silent)


class RecordCount(t.NamedTuple):
    """The records of a range. last: the offset of the last one, None where there is none."""

    records: int = 0
    last: int | None = None


def count_records(
    connection: Connection, ranges: t.Mapping[TopicPartition, tuple[int, int]]
) -> dict[TopicPartition, RecordCount]:
    """What a read_committed consumer sees at offsets [start, end) of each partition; end is the last stable offset at most.

    Raises NotFound, NotAuthorized, ConnectionFailed or BrokerError.
    """
    counts = dict.fromkeys(ranges, RecordCount())
    waiting = [Range(partition, start, end) for partition, (start, end) in ranges.items() if start < end]
    if not waiting:
        return counts
    with open_consumer(connection, READ_COMMITTED) as opened:
        for part in chunks(waiting, _AT_A_TIME):
            for message in messages(opened, part):
                partition = TopicPartition(message.topic(), message.partition())
                counts[partition] = RecordCount(counts[partition].records + 1, message.offset())
    return counts
