# SPDX-License-Identifier: GPL-3.0-or-later

"""What reading is compared with, besides Spark's own Kafka connector: Kafka's ConsumerPerformance, a plain consumer."""

from __future__ import annotations

import subprocess
import time

from confluent_kafka import Consumer, TopicPartition

from sandbox_java import jars, java


def consumer_performance(address: str, topic: str, records: int) -> float:
    """Seconds that Java's consumer takes to fetch so many records, as its own tool says; Java's start is not counted."""
    said = subprocess.run(
        [
            *(java(), "-cp", f"{jars('4.3.0')}/*", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"),
            *("org.apache.kafka.tools.ConsumerPerformance", "--bootstrap-server", address, "--topic", topic),
            *("--num-records", str(records), "--timeout", "30000"),
        ],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    ).stdout
    header, row = (line.split(", ") for line in said.splitlines() if ", " in line)
    return records / float(row[[name.strip() for name in header].index("fetch.nMsg.sec")])


def plain_consumer(address: str, topic: str, partitions: int, records: int) -> float:
    """Seconds for one process that consumes so many records and looks at each, with the client's fastest settings."""
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "streamshift-benchmark",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "fetch.queue.backoff.ms": 5,
        }
    )
    try:
        begin = time.perf_counter()
        consumer.assign([TopicPartition(topic, partition, 0) for partition in range(partitions)])
        seen = 0
        while seen < records:
            seen += sum(message.value() is not None for message in consumer.consume(2000, 1.0))
        return time.perf_counter() - begin
    finally:
        consumer.close()
