# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""How many records of a log a reader sees, for many partitions in one go."""

from __future__ import annotations

import typing as t

from .._model.connection import Connection
from .._model.grouping import chunks
from .._model.records import TopicPartition
from .consumer_client import open_consumer
from .scanning import Range
from .whole_ranges import READ_COMMITTED, messages

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
    counts = dict.fromkeys(ranges, RecordCount())
    waiting = [Range(partition, start, end) for partition, (start, end) in ranges.items() if start < end]
    if not waiting:
        return counts
    with open_consumer(connection, READ_COMMITTED) as opened:
        for part in chunks(waiting, _AT_A_TIME):
            for message in messages(connection, opened, part):
                partition = TopicPartition(message.topic(), message.partition())
                counts[partition] = RecordCount(counts[partition].records + 1, message.offset())
    return counts
