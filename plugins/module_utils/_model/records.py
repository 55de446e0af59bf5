# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Where records are, and what is kept of one once it was read."""

from __future__ import annotations

import functools
import re
import typing as t

NO_TIMESTAMP = -1
LEGAL_TOPIC = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,249}")  # org.apache.kafka.common.internals.Topic


class TopicPartition(t.NamedTuple):
    """A key by value, unlike confluent-kafka's class, whose equality hides the offset."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def every_partition(counts: t.Mapping[str, int]) -> list[TopicPartition]:
    """All partitions of topics that have so many each."""
    return [TopicPartition(topic, number) for topic, count in counts.items() for number in range(count)]


class Record(t.NamedTuple):
    """What matching needs of a record; the bytes themselves are dropped as soon as they are hashed.

    timestamp is in milliseconds since the epoch, NO_TIMESTAMP when the record has none.
    fingerprint is that of everything that is matched on, bare the same without the headers (equal where there are none): of 16
    bytes each.
    """

    offset: int
    timestamp: int
    fingerprint: bytes
    bare: bytes
    log_append_time: bool = False


# As Record._make(), without a call in Python for each of a million records: all five values, in order.
record_of: t.Callable[[tuple[int, int, bytes, bytes, bool]], Record] = functools.partial(tuple.__new__, Record)
