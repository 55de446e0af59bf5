"""A replication tool that goes on copying while something else is done, and can be killed and started again."""

from __future__ import annotations

import contextlib
import threading
import types
import typing as t

from confluent_kafka import TopicPartition

from testbed.background import Background
from testbed.clients import Servers, open_consumer, open_producer, partitions_of

_WAIT = 0.1  # seconds


class LiveTool:
    """Copies one topic, record by record, with key, value, headers, timestamp and partition. `to` must exist.

    begin: the source offset from which on each partition is copied, 0 by default.
    Use it as a context manager; it ends without finishing what it is about, as a killed tool does.
    """

    def __init__(
        self,
        source: Servers,
        destination: Servers,
        topic: str,
        to: str | None = None,
        begin: t.Mapping[int, int] | None = None,
    ) -> None:
        self._clusters = source, destination
        self._topic, self._to = topic, to or topic
        self._next = dict.fromkeys(partitions_of(source, topic), 0) | dict(begin or {})
        self._copying: Background | None = None

    def __enter__(self) -> t.Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: types.TracebackType | None
    ) -> None:
        self.kill()

    def start(self, again: int = 0) -> None:
        """Go on; again: first copy the last so many records of each partition a second time."""
        self._next = {partition: max(0, offset - again) for partition, offset in self._next.items()}
        self._copying = Background(self._run).start()

    def kill(self) -> None:
        """Stop in the middle of things."""
        if self._copying is not None:
            self._copying.end()

    def _run(self, over: threading.Event) -> None:
        source, destination = self._clusters
        producer = open_producer(destination, enable_idempotence=True)
        with contextlib.closing(open_consumer(source)) as consumer:
            consumer.assign([TopicPartition(self._topic, *each) for each in self._next.items()])
            while not over.is_set():
                for message in consumer.consume(500, _WAIT):
                    if message.error():
                        continue
                    partition = message.partition() or 0
                    producer.produce(
                        self._to,
                        message.value(),
                        message.key(),
                        partition,
                        timestamp=message.timestamp()[1],
                        headers=message.headers() or [],
                    )
                    self._next[partition] = (message.offset() or 0) + 1
                producer.flush(30)
