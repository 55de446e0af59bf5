# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Which topics have grown between two readings of their log ends, and who has written that, as far as brokers tell."""

from __future__ import annotations

import typing as t

from .._control import producers
from .._control.producers import Writer
from .._model.connection import Connection
from .._model.documents import utc_text
from .._model.grouping import values_by_key
from .._model.plan import Plan
from .._model.receipt import Key
from .._model.records import TopicPartition
from .._model.wording import counted, first_of

_RECENT = 60_000  # milliseconds before the last record: who has not written since then may have stopped long ago

Ends = dict[TopicPartition, int]


class StillWritten(t.NamedTuple):
    """A topic that has grown between two readings. records: by how many offsets. writers: those that brokers know.

    last: the timestamp of the last record of these, in milliseconds since the epoch; None where no broker tells.
    """

    topic: str
    records: int
    writers: tuple[Writer, ...]

    @property
    def last(self) -> int | None:
        """When the last of these records was written, as its producer says."""
        return self.writers[0].last if self.writers else None

    def row(self) -> dict[str, t.Any]:
        """The topic as modules return it."""
        producers = [writer._asdict() for writer in self.writers]
        return {"topic": self.topic, "records": self.records, "last": self.last, "producers": producers}

    def __str__(self) -> str:
        by = f", last at {utc_text(self.last / 1000)} by {writer_names(self.writers)}" if self.last is not None else ""
        return f"{self.topic}: {counted(self.records, 'record')}{by}"


def writer_names(writers: t.Iterable[Writer]) -> str:
    """The first of these producers, by transactional id or else by number."""
    return first_of([writer.transactional_id or f"producer id {writer.producer_id}" for writer in writers])


def written_partitions(plan: Plan, keys: t.Collection[Key] | None = None) -> set[TopicPartition]:
    """The partitions of the source that these entries' offsets rest on, None for those of all, and that its producers write.

    Copies of the destination's own topics grow as long as producers write at the destination, as they should.
    """
    return {
        at.partition
        for entry in plan.entries
        if entry.offset is not None and (keys is None or entry.key in keys)
        for at in entry.source
        if not plan.is_own_copy(at.partition.topic)
    }


def grown_topics(connection: Connection, before: Ends, now: Ends) -> list[StillWritten]:
    """The topics whose logs end later in the second reading, by name. Partitions that one of them lacks do not count.

    Raises as producers.last_writers() does.
    """
    more = {partition: end - before[partition] for partition, end in now.items() if end > before.get(partition, end)}
    writers = producers.last_writers(connection, more) if more else {}
    counts = values_by_key((partition.topic, count) for partition, count in more.items())
    by_topic = values_by_key((at.topic, writer) for at, of_partition in writers.items() for writer in of_partition)
    return [_topic(topic, sum(of_topic), by_topic.get(topic, ())) for topic, of_topic in sorted(counts.items())]


def _topic(topic: str, records: int, of_topic: t.Iterable[Writer]) -> StillWritten:
    """What has come to a topic. Of a producer that writes to several partitions, the last write counts."""
    by_producer = values_by_key((writer.producer_id, writer) for writer in of_topic)
    last = [max(writes, key=lambda writer: writer.last) for writes in by_producer.values()]
    newest = max((writer.last for writer in last), default=0)
    recent = (writer for writer in last if writer.last >= newest - _RECENT)
    in_order = sorted(recent, key=lambda writer: (-writer.last, writer.producer_id))
    return StillWritten(topic, records, tuple(in_order))
