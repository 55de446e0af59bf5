"""A consumer of one partition whose log may expire, or end, while it is read."""

import types
import typing as t

from confluent_kafka import KafkaError, Message

from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition

PARTITION = TopicPartition("orders", 0)


def records(
    values: t.Mapping[int, str],
    partition: TopicPartition = PARTITION,
    headers: list[tuple[str, str | bytes | None]] | None = None,
) -> list[Message]:
    """Records of these values at these offsets, all with these headers."""
    return [
        Message(
            topic=partition.topic,
            partition=partition.partition,
            offset=offset,
            value=value.encode(),
            headers=headers,
            timestamp=(1, 1000),
        )
        for offset, value in values.items()
    ]


class LogConsumer:
    """Hands over a log from its start on, a few records at a time, and says what librdkafka says of offsets before it.

    expires: where the log starts after so many calls of consume().
    """

    def __init__(
        self, log: t.Sequence[Message], start: int, end: int, expires: t.Mapping[int, int] | None = None
    ) -> None:
        self.log, self.start, self.end, self.expires = list(log), start, end, dict(expires or {})
        self.at = -1  # nothing is assigned
        self.calls = self.asked = 0

    def list_topics(self, timeout: float) -> t.Any:
        orders = types.SimpleNamespace(topic=PARTITION.topic, partitions={PARTITION.partition: None}, error=None)
        return types.SimpleNamespace(topics={PARTITION.topic: orders})

    def assign(self, positions: t.Sequence[t.Any]) -> None:
        self.at = positions[0].offset if positions else -1

    incremental_assign = assign

    def incremental_unassign(self, positions: t.Sequence[t.Any]) -> None:
        self.at = -1

    def get_watermark_offsets(self, position: t.Any, timeout: float, cached: bool) -> tuple[int, int]:
        self.asked += 1
        return self.start, self.end

    def consume(self, most: int, timeout: float) -> list[Message]:
        self.calls += 1
        self.start = self.expires.get(self.calls, self.start)
        if self.at < 0:
            return []
        if not self.start <= self.at <= self.end:
            return [self._error(KafkaError._AUTO_OFFSET_RESET)]
        begin = max(self.at, self.start)
        taken = [each for each in self.log if (each.offset() or 0) >= begin][: min(most, 10)]
        if not taken:
            return [self._error(KafkaError._PARTITION_EOF)]
        self.at = (taken[-1].offset() or 0) + 1
        return taken

    def _error(self, code: int) -> Message:
        offset = self.end if code == KafkaError._PARTITION_EOF else self.at
        return Message(topic=PARTITION.topic, partition=PARTITION.partition, offset=offset, error=KafkaError(code))
