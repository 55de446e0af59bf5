# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""How many records of a log a reader sees, for many partitions in one go."""

from __future__ import annotations

import time
import typing as t

from .._model.connection import Connection
from .._model.records import TopicPartition
from . import refusals
from .confluent_library import TopicPartition as Position
from .consumer_client import Opened, lent_consumer

_READ = {"isolation.level": "read_committed", "fetch.wait.max.ms": 20, "fetch.error.backoff.ms": 20}
_TAKEN = 2000  # messages at a time
_AT_A_TIME = 512  # partitions: a client holds what it has fetched ahead of each


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
    found = dict.fromkeys(ranges, RecordCount())
    waiting = [(where, start, end) for where, (start, end) in ranges.items() if start < end]
    if not waiting:
        return found
    with lent_consumer(connection, _READ) as opened:
        refusals.check_existence(connection, [where for where, _start, _end in waiting], opened.partitions)
        for first in range(0, len(waiting), _AT_A_TIME):
            _count(connection, opened, waiting[first : first + _AT_A_TIME], found)
    return found


def _count(
    connection: Connection,
    opened: Opened,
    wanted: t.Sequence[tuple[TopicPartition, int, int]],
    found: dict[TopicPartition, RecordCount],
) -> None:
    left = {where: end for where, _start, end in wanted}
    positions = {where: start for where, start, _end in wanted}
    opened.consumer.assign([Position(*where, start) for where, start in positions.items()])
    fresh = time.monotonic()
    while left:
        messages: list[t.Any] = opened.consumer.consume(_TAKEN, 0.05)
        for message in messages:
            where = TopicPartition(message.topic(), message.partition())
            end = left.get(where)
            if end is None:
                continue
            if message.error() is not None:
                is_over = refusals.is_end(connection, where, positions[where], end, message)
            else:
                positions[where] = message.offset() + 1
                if message.offset() < end:
                    found[where] = RecordCount(found[where].records + 1, message.offset())
                is_over = message.offset() >= end - 1
            if is_over:
                del left[where]
                opened.consumer.incremental_unassign([Position(*where)])
        if messages:
            fresh = time.monotonic()
        elif time.monotonic() > fresh + connection.request_timeout:
            where = min(left)
            silent = time.monotonic() - fresh
            raise refusals.stalled(connection, where, positions[where], len(left) - 1, silent, opened.complaints)
