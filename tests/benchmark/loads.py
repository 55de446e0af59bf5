# SPDX-License-Identifier: GPL-3.0-or-later

"""What the benchmarks work on: topics and groups whose right answers are known. As a program: fill a cluster.

    loads.py ADDRESS FOREIGN LOAD...

FOREIGN records that no other cluster has come first in every partition, so a copy's offset is the original's plus this.
"""

from __future__ import annotations

import os
import random
import sys
import typing as t

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from testbed.clients import until

FOREIGN = 3  # at the destination
BEGIN, STEP = 1_700_000_000_000, 10  # the first record's timestamp, and the time from one to the next, in milliseconds
BATCH_BYTES = 16384  # as Java's producers and so MirrorMaker 2 have it by default
LARGEST = 1_048_588  # what topics take as a batch by default, in bytes
SECONDS = 600.0  # for 20,000 partitions of a busy machine, too

Commits = dict[str, dict[tuple[str, int], int]]


class Load(t.NamedTuple):
    """Topics, and groups that each consume one of them. records and partitions are those of each.

    Every caught_up-th group has consumed everything, the others stand anywhere; 0: all others. batch_bytes: of a batch.
    """

    name: str
    topics: int
    partitions: int
    records: int
    groups: int
    caught_up: int
    value_bytes: int = 100
    batch_bytes: int = BATCH_BYTES

    @property
    def topic_names(self) -> list[str]:
        return [f"{self.name}-{number:03}" for number in range(self.topics)]

    def commits(self) -> Commits:
        """What each group has committed at the source, the same in every run."""
        chance = random.Random(self.name)
        return {
            f"{self.name}-group-{number:03}": {
                (self.topic_names[number % self.topics], partition): self.records
                if self.caught_up and number % self.caught_up == 0
                else chance.randrange(1, self.records)
                for partition in range(self.partitions)
            }
            for number in range(self.groups)
        }


# `make bench-estate` says how large its estate is; every topic has ten partitions, and every group consumes one topic.
RECORDS = int(os.environ.get("LOG_RECORDS", "100000000"))  # of `make bench-logs`
GROUPS, PARTITIONS = int(os.environ.get("ESTATE_GROUPS", "10000")), int(os.environ.get("ESTATE_PARTITIONS", "10000"))

LOADS = {
    load.name: load
    for load in (
        Load(
            "tenth-log",
            1,
            partitions=16,
            records=RECORDS // 160,
            groups=1,
            caught_up=0,
            value_bytes=10,
            batch_bytes=900_000,
        ),
        Load(
            "log", 1, partitions=16, records=RECORDS // 16, groups=1, caught_up=0, value_bytes=10, batch_bytes=900_000
        ),
        Load("estate", topics=PARTITIONS // 10, partitions=10, records=20, groups=GROUPS, caught_up=2),
        Load("assessed", topics=2_000, partitions=10, records=2, groups=4_000, caught_up=2),
        Load("many", topics=100, partitions=50, records=50, groups=100, caught_up=2),
        Load("long", topics=20, partitions=50, records=200, groups=20, caught_up=2),
        Load("longer", topics=20, partitions=50, records=2_000, groups=20, caught_up=2),
        Load("waves", topics=20, partitions=50, records=200, groups=200, caught_up=2),
        Load("shared", topics=1, partitions=20, records=20_000, groups=500, caught_up=0),
        Load("teams", topics=40, partitions=5, records=200, groups=4_000, caught_up=0),
        Load("bytes", topics=1, partitions=16, records=125_000, groups=0, caught_up=0),
        Load("kilobytes", topics=1, partitions=16, records=30_000, groups=0, caught_up=0, value_bytes=1000),
        Load("tenth", topics=1, partitions=16, records=62_500, groups=1, caught_up=0),
        Load("whole", topics=1, partitions=16, records=625_000, groups=1, caught_up=0),
        Load("backlog", topics=1, partitions=16, records=125_000, groups=0, caught_up=0),
        Load("kilobytes-backlog", topics=1, partitions=16, records=31_250, groups=0, caught_up=0, value_bytes=1000),
        Load("medium", topics=1, partitions=16, records=31_250, groups=0, caught_up=0, value_bytes=1_000),
        Load("large", topics=1, partitions=16, records=40, groups=0, caught_up=0, value_bytes=1_000_000),
        Load("largest", topics=1, partitions=16, records=4, groups=0, caught_up=0, value_bytes=10_000_000),
        Load("mirrored", topics=2, partitions=1, records=1_000_000, groups=100, caught_up=0),
        Load("synced", topics=1, partitions=20, records=20_000, groups=500, caught_up=0),
        Load("small", topics=40, partitions=50, records=20, groups=0, caught_up=0),
    )
}


def create(address: str, load: Load) -> None:
    """Create the topics, few at a time, and return when the broker leads all their partitions."""
    admin = AdminClient({"bootstrap.servers": address})
    names = load.topic_names
    for start in range(0, len(names), 10):
        config = {"retention.ms": "-1", "max.message.bytes": str(max(LARGEST, 2 * load.value_bytes))}
        wanted = [NewTopic(name, load.partitions, 1, config=config) for name in names[start : start + 10]]
        for answer in admin.create_topics(wanted, operation_timeout=SECONDS, request_timeout=SECONDS).values():
            answer.result()
    until(lambda: _led(admin, load), SECONDS, f"the broker does not lead all partitions of {load.name}")


def _led(admin: AdminClient, load: Load) -> bool:
    topics = admin.list_topics(timeout=SECONDS).topics
    return all(
        name in topics
        and len(topics[name].partitions) == load.partitions
        and all(partition.leader >= 0 and not partition.error for partition in topics[name].partitions.values())
        for name in load.topic_names
    )


def fill(address: str, load: Load, foreign: int) -> None:
    """Write every record, in batches of a usual size."""
    failures: list[KafkaError] = []
    producer = Producer(
        {
            "bootstrap.servers": address,
            "enable.idempotence": True,  # in order, once
            "batch.size": load.batch_bytes,
            "message.max.bytes": max(LARGEST, 2 * load.value_bytes),
            "linger.ms": 100,
            "log_level": 0,
            "queue.buffering.max.messages": 200_000,
            "delivery.report.only.error": True,
            "on_delivery": lambda error, _message: failures.append(error),
        }
    )
    for name in load.topic_names:
        for partition in range(load.partitions):
            for number in range(-foreign, load.records):
                key = b"%d" % number
                value = f"{name} {partition} {number} ".encode().ljust(load.value_bytes, b".")
                while True:
                    try:
                        producer.produce(name, value, key, partition, timestamp=BEGIN + number * STEP)
                        break
                    except BufferError:
                        producer.poll(0.005)
            producer.poll(0)
    if left := producer.flush(SECONDS):
        raise TimeoutError(f"{left} records were not delivered")
    for error in failures:
        raise KafkaException(error)


def main(address: str, foreign: str, *names: str) -> None:
    for name in names:
        create(address, LOADS[name])
        fill(address, LOADS[name], int(foreign))


if __name__ == "__main__":
    main(*sys.argv[1:])
