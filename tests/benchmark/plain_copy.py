# SPDX-License-Identifier: GPL-3.0-or-later

"""What copying with confluent-kafka costs at least: consume() and produce(), without transactions, progress, callbacks.

A program that is given work line by line; see programs.py.
"""

from __future__ import annotations

import json
import sys
import time
import typing as t

from confluent_kafka import Consumer, Producer, TopicPartition

# The clients' fastest settings, the same as the collection's.
READ = {
    "group.id": "streamshift-benchmark",
    "enable.auto.commit": False,
    "auto.offset.reset": "error",
    "check.crcs": True,
    "fetch.wait.max.ms": 20,
    "fetch.queue.backoff.ms": 5,
    "enable.metrics.push": False,
}
WRITE = {
    "enable.idempotence": True,  # in order, once
    "linger.ms": 20,
    "batch.size": 940_000,
    "batch.num.messages": 100_000,
    "queue.buffering.max.messages": 500_000,
    "queue.buffering.max.kbytes": 128 << 10,
    "enable.metrics.push": False,
}


def copied(asked: dict[str, t.Any]) -> tuple[float, int]:
    """Seconds from nothing to the last acknowledgement, and how many records that were."""
    begin = time.perf_counter()
    consumer = Consumer({"bootstrap.servers": asked["source"], **READ})
    producer = Producer({"bootstrap.servers": asked["destination"], **WRITE})
    consumer.assign([TopicPartition(asked["topic"], partition, 0) for partition in asked["partitions"]])
    records, wanted, to, produce = 0, len(asked["partitions"]) * asked["records"], asked["to"], producer.produce
    while records < wanted:
        messages: list[t.Any] = consumer.consume(2000, 1.0)
        for message in messages:
            while True:
                try:
                    produce(
                        to,
                        message.value(),
                        message.key(),
                        message.partition(),
                        None,
                        None,
                        message.timestamp()[1],
                        message.headers(),
                    )
                    break
                except BufferError:
                    producer.poll(0.02)
        records += len(messages)
        producer.poll(0)
    if left := producer.flush(60):
        raise RuntimeError(f"{left} records were not written")
    seconds = time.perf_counter() - begin
    consumer.close()
    return seconds, records


if __name__ == "__main__":
    print("[]", flush=True)
    for line in sys.stdin:
        print(json.dumps(copied(json.loads(line))), flush=True)
