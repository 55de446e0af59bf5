# SPDX-License-Identifier: GPL-3.0-or-later

"""What copying is compared with: a real MirrorMaker 2, from the first record that it has written to the last."""

from __future__ import annotations

import contextlib
import shutil
import time
import typing as t
from pathlib import Path

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from sandbox_java import jars, java
from testbed.clients import Ends, open_consumer, received
from testbed.mirror_maker import MAIN, MirrorMaker
from testbed.sandbox import spawn
from tests.benchmark.loads import Load, create
from tests.benchmark.measure import session_cpu

SECONDS = 600.0
STILL = 2.0  # seconds
# As bin/connect-mirror-maker.sh and bin/kafka-run-class.sh of Kafka start it.
MACHINE = (
    "-server -Xms256M -Xmx2G -XX:+UseG1GC -XX:MaxGCPauseMillis=20 -XX:InitiatingHeapOccupancyPercent=35 "
    "-XX:+ExplicitGCInvokesConcurrent -XX:MaxInlineLevel=15 -Djava.awt.headless=true "
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
)
# What is quick for tests costs time here: back to what is the default.
USUAL = {
    "dst.offset.flush.interval.ms": 60_000,
    "emit.checkpoints.interval.seconds": 60,
    "refresh.topics.interval.seconds": 600,
    "refresh.groups.interval.seconds": 600,
    "sync.group.offsets.interval.seconds": 60,
    "sync.topic.configs.interval.seconds": 600,
    "tasks.max": 2,
}
# Of one run the next must know nothing.
LEFT_AT_SOURCE = ("mm2-offset-syncs.dst.internal", "heartbeats")
LEFT_AT_DESTINATION = (
    *(f"mm2-{what}.src.internal" for what in ("offsets", "configs", "status")),
    "src.checkpoints.internal",
    "src.heartbeats",
    "heartbeats",
)


class Cluster(t.NamedTuple):
    """What MirrorMaker has to know of a cluster."""

    bootstrap_servers: list[str]


class Sighting(t.NamedTuple):
    """How many offsets were taken at the destination at a time, and how much CPU had been used until then, in seconds."""

    time: float
    offsets: int
    cpu: float


class Mirrored(t.NamedTuple):
    """How many records a second, the same for the second half alone, and microseconds of CPU for a record."""

    rate: float
    later: float
    cpu: float


class Rival(MirrorMaker):
    """A MirrorMaker with the Java machine that it commonly has, instead of one that starts quickly and stays small."""

    def __enter__(self) -> t.Self:
        command = [java(), *MACHINE.split(), "-cp", f"{jars(self.version)}/*", MAIN, str(self._file)]
        self._process = spawn(command, str(self._file), self._log)
        return self

    def seen(self, address: str, topic: str, partitions: int, records: int) -> list[Sighting]:
        """What is seen at the destination, from the first to the last of so many records."""
        admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
        found: list[Sighting] = []
        deadline = time.monotonic() + SECONDS
        while True:
            self._complain(f"{found[-1:]}, {records} records are wanted", deadline)
            offsets, now = _offsets(admin, topic, partitions), time.monotonic()
            if offsets > (found[-1].offsets if found else 0):
                found.append(Sighting(now, offsets, session_cpu(self._process.pid)))
            elif offsets >= records and now - found[-1].time > STILL:
                if _count(address, topic, partitions) == records:
                    return found
                time.sleep(1)
            time.sleep(0.05)


def mirrored(folder: Path, source: str, destination: str, load: Load, exactly_once: bool) -> Mirrored:
    """Let MirrorMaker copy a topic to a new one. All that it leaves at both clusters is removed."""
    copies = load._replace(name=f"src.{load.name}")
    (topic,), (copy,) = load.topic_names, copies.topic_names
    records = load.partitions * load.records
    more: dict[str, t.Any] = {**USUAL, "dst.exactly.once.source.support": "enabled"} if exactly_once else USUAL
    create(destination, copies)
    clusters = Cluster([source]), Cluster([destination])
    try:
        with Rival(folder, *clusters, topics=topic, groups="none", identity=False, sync_groups=False, more=more) as it:
            seen = it.seen(destination, copy, load.partitions, records)
    finally:
        remove(source, LEFT_AT_SOURCE)
        remove(destination, (copy, *LEFT_AT_DESTINATION))
        shutil.rmtree(folder)
    first, last = seen[0], seen[-1]
    # Markers of transactions take offsets, too.
    if (last.offsets > records) != exactly_once:
        raise RuntimeError(f"MirrorMaker has written {last.offsets - records} markers")
    each = records / last.offsets
    half = next(each for each in seen if each.offsets * 2 >= last.offsets)
    return Mirrored(
        (last.offsets - first.offsets) * each / (last.time - first.time),
        (last.offsets - half.offsets) * each / (last.time - half.time),
        (last.cpu - first.cpu) / ((last.offsets - first.offsets) * each) * 1e6,
    )


def remove(address: str, topics: t.Iterable[str]) -> None:
    """Remove those of the topics that are there."""
    admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
    existing = admin.list_topics(timeout=30).topics
    if gone := [topic for topic in topics if topic in existing]:
        for answer in admin.delete_topics(gone).values():
            answer.result()


def _offsets(admin: AdminClient, topic: str, partitions: int) -> int:
    end: t.Any = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    wanted = {TopicPartition(topic, partition): end for partition in range(partitions)}
    try:
        return sum(answer.result().offset for answer in admin.list_offsets(wanted).values())
    except KafkaException as exc:
        if exc.args[0].code() != KafkaError.NOT_LEADER_FOR_PARTITION:
            raise
        return 0  # a new topic's leader does not know it yet


def _count(address: str, topic: str, partitions: int) -> int:
    """How many records a topic has; the ends of transactions are none."""
    count, ends = 0, Ends()
    with contextlib.closing(open_consumer(Cluster([address]), fetch_queue_backoff_ms=5)) as consumer:
        consumer.assign([TopicPartition(topic, partition, 0) for partition in range(partitions)])
        while len(ends) < partitions:
            count += len(received(consumer, ends))
    return count
