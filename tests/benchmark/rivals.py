# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What reading is compared with: Spark's own Kafka connector, Kafka's ConsumerPerformance, a plain consumer."""

from __future__ import annotations

import subprocess
import tempfile
import time
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition

from sandbox_java import COPY_DEPENDENCIES, cache_folder, jars, java, locked

# The newest that Maven's mirrors commonly have; it runs on Spark 4.3.
CONNECTOR = "4.0.0"
PROJECT = f"""\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>streamshift</groupId><artifactId>benchmark</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.spark</groupId><artifactId>spark-sql-kafka-0-10_2.13</artifactId><version>{CONNECTOR}</version>
    </dependency>
  </dependencies>
</project>
"""
WANTED = (
    "spark-sql-kafka-*",
    "spark-token-provider-kafka-*",
    "kafka-clients-*",
    "commons-pool2-*",
)  # the rest Spark has


def connector_jars() -> list[Path]:
    """Spark's connector and what it needs, fetched by Maven for the first time."""
    folder = cache_folder() / f"spark-connector-{CONNECTOR}"
    with locked(folder.name):
        if not folder.is_dir():
            with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as scratch:
                project, target = Path(scratch) / "pom.xml", Path(scratch) / "jars"
                project.write_text(PROJECT)
                subprocess.run(
                    ["mvn", "-q", "-B", "-f", project, COPY_DEPENDENCIES, f"-DoutputDirectory={target}"],
                    check=True,
                    timeout=900,
                )
                target.rename(folder)
    return [jar for pattern in WANTED for jar in folder.glob(f"{pattern}.jar")]


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
