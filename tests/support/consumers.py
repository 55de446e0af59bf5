"""Applications around a group: members of every kind, writers, and what a group would be given to consume."""

import contextlib
import threading
import time
import typing as t
import uuid

from confluent_kafka import Consumer, KafkaError, Producer, ShareConsumer, TopicPartition

from testbed.background import Background
from testbed.clients import SECONDS, Message, Servers, Stored, committed, read

Content = tuple[int, int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]


@contextlib.contextmanager
def member(
    cluster: Servers, group: str, topics: t.Sequence[str], protocol: str = "classic", commits: bool = True
) -> t.Iterator[Consumer]:
    """A live member that has consumed everything. protocol: classic, or consumer for KIP-848. commits: that, too."""
    consumer = Consumer(
        {
            "bootstrap.servers": ",".join(cluster.bootstrap_servers),
            "group.id": group,
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
    try:
        consumer.subscribe(list(topics))
        deadline = time.monotonic() + SECONDS
        ends: set[tuple[str | None, int | None]] = set()
        while not consumer.assignment() or len(ends) < len(consumer.assignment()):
            assert time.monotonic() < deadline, f"group {group} was not given its partitions"
            message = consumer.poll(0.1)
            if message is not None and message.error():
                ends.add((message.topic(), message.partition()))
        if commits:
            consumer.commit(offsets=consumer.position(consumer.assignment()), asynchronous=False)
        yield consumer
    finally:
        consumer.close()


@contextlib.contextmanager
def assigned(cluster: Servers, group: str, topic: str) -> t.Iterator[t.Callable[[], int]]:
    """A consumer with assign(), which no broker counts as a member. Calling what it yields commits one record more."""
    consumer = Consumer(
        {
            "bootstrap.servers": ",".join(cluster.bootstrap_servers),
            "group.id": group,
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    offset = 0

    def more() -> int:
        nonlocal offset
        offset += 1
        consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
        return offset

    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        yield more
    finally:
        consumer.close()


@contextlib.contextmanager
def committing(cluster: Servers, group: str, topic: str) -> t.Iterator[None]:
    """A consumer with assign() that commits another offset every 0.3 s."""
    with assigned(cluster, group, topic) as commit_one_more:

        def go_on(over: threading.Event) -> None:
            while not over.wait(0.3):
                commit_one_more()

        with Background(go_on):
            yield


@contextlib.contextmanager
def share_member(cluster: Servers, group: str, topic: str) -> t.Iterator[None]:
    """A live member of a share group."""
    consumer = ShareConsumer({"bootstrap.servers": ",".join(cluster.bootstrap_servers), "group.id": group})
    try:
        consumer.subscribe([topic])
        consumer.poll(1.0)
        yield
    finally:
        consumer.close()


@contextlib.contextmanager
def open_transaction(cluster: Servers, topic: str, messages: t.Sequence[Message]) -> t.Iterator[None]:
    """Records of a transaction that ends, aborted, with the block only."""
    producer = Producer(
        {
            "bootstrap.servers": ",".join(cluster.bootstrap_servers),
            "transactional.id": f"writer-{uuid.uuid4()}",
            "transaction.timeout.ms": 600_000,
            "log_level": 0,
        }
    )
    producer.init_transactions(SECONDS)
    producer.begin_transaction()
    for message in messages:
        producer.produce(topic, message.value, message.key, message.partition, timestamp=message.timestamp)
    producer.flush(SECONDS)
    try:
        yield
    finally:
        producer.abort_transaction(SECONDS)


def content(record: Stored) -> Content:
    """What makes a record the same on both clusters: everything but the offset."""
    return record.partition, record.timestamp, record.key, record.value, record.headers


def unconsumed(cluster: Servers, group: str, topic: str) -> list[Content]:
    """What a read_committed consumer of the group would get of a topic, of partitions with a commit."""
    start = {
        partition: offset for (name, partition), (offset, _unused) in committed(cluster, group).items() if name == topic
    }
    records = read(cluster, topic, start, start=start) if start else []
    return [content(record) for record in records]


def consumed_by_member(cluster: Servers, group: str, topic: str) -> list[Content]:
    """What a real member of the group gets until the end of every partition, in the order of each partition.

    It has no position to fall back to: a partition without a valid commit raises.
    """
    consumer = Consumer(
        {
            "bootstrap.servers": ",".join(cluster.bootstrap_servers),
            "group.id": group,
            "client.id": f"reader-{uuid.uuid4().hex[:8]}",
            "auto.offset.reset": "error",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "log_level": 0,
        }
    )
    found: list[Content] = []
    ends: set[int | None] = set()
    deadline = time.monotonic() + SECONDS
    try:
        consumer.subscribe([topic])
        while not consumer.assignment() or len(ends) < len(consumer.assignment()):
            assert time.monotonic() < deadline, f"group {group} did not come to the end of {topic}"
            message = consumer.poll(0.1)
            if message is None:
                continue
            if error := message.error():
                assert error.code() == KafkaError._PARTITION_EOF, error
                ends.add(message.partition())
                continue
            kind, timestamp = message.timestamp()
            headers = tuple(t.cast(list[tuple[str, bytes | None]], message.headers() or []))
            found.append((message.partition() or 0, timestamp if kind else -1, message.key(), message.value(), headers))
    finally:
        consumer.close()
    return sorted(found, key=lambda each: each[0])


@contextlib.contextmanager
def offsets_in_transaction(cluster: Servers, group: str, offsets: t.Mapping[tuple[str, int], int]) -> t.Iterator[str]:
    """A transaction that commits offsets for a group and is not ended; -> its transactional id."""
    settings = {"bootstrap.servers": ",".join(cluster.bootstrap_servers), "log_level": 0}
    name = f"writer-{uuid.uuid4()}"
    producer = Producer({**settings, "transactional.id": name, "transaction.timeout.ms": 600_000})
    consumer = Consumer({**settings, "group.id": group})
    try:
        producer.init_transactions(SECONDS)
        producer.begin_transaction()
        positions = [TopicPartition(topic, number, offset) for (topic, number), offset in offsets.items()]
        producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), SECONDS)
        yield name
        producer.abort_transaction(SECONDS)
    finally:
        consumer.close()
