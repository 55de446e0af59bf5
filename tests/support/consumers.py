"""Applications around a group: members of every kind, writers, and what a group would be given to consume."""

import contextlib
import itertools
import threading
import typing as t
import uuid

from confluent_kafka import Consumer, Producer, ShareConsumer, TopicPartition
from confluent_kafka import Message as Received

from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._records.consumer_client import client_configuration
from testbed.background import Background
from testbed.clients import (
    SECONDS,
    Ends,
    Message,
    Servers,
    Stored,
    committed,
    open_consumer,
    open_producer,
    read,
    received,
    stored,
    until,
)

Content = tuple[int, int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]


@contextlib.contextmanager
def member(
    cluster: Servers,
    group: str,
    topics: t.Sequence[str],
    protocol: str = "classic",
    commits: bool = True,
    start: str = "earliest",
    got: list[Received] | None = None,
) -> t.Iterator[Consumer]:
    """A live member that has consumed everything, and with commits committed that. protocol: classic, or consumer for KIP-848.

    start: where it begins without a valid commit. got: where what it has consumed is added.
    """
    settings = {"group_protocol": protocol, "auto_offset_reset": start}
    with contextlib.closing(open_consumer(cluster, group, **settings)) as consumer:
        consumer.subscribe(list(topics))
        ends: Ends = set()

        def is_at_the_ends() -> bool:
            its = received(consumer, ends)
            if got is not None:
                got.extend(its)
            assigned = consumer.assignment()
            return bool(assigned) and len(ends) >= len(assigned)

        until(is_at_the_ends, SECONDS, f"group {group} did not come to the end of its partitions", pause=0)
        if commits:
            consumer.commit(offsets=consumer.position(consumer.assignment()), asynchronous=False)
        yield consumer


@contextlib.contextmanager
def assigned(cluster: Servers, group: str, topic: str) -> t.Iterator[t.Callable[[], int]]:
    """A consumer with assign(), which no broker counts as a member. Calling what it yields commits one record more."""
    with contextlib.closing(open_consumer(cluster, group)) as consumer:
        numbers = itertools.count(1)

        def more() -> int:
            offset = next(numbers)
            consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
            return offset

        consumer.assign([TopicPartition(topic, 0, 0)])
        yield more


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
    name = f"writer-{uuid.uuid4()}"
    producer = open_producer(cluster, transactional_id=name, transaction_timeout_ms=600_000)
    producer.begin_transaction()
    for message in messages:
        producer.produce(topic, message.value, message.key, message.partition, timestamp=message.timestamp)
    producer.flush(SECONDS)
    try:
        yield
    finally:
        producer.abort_transaction(SECONDS)


def refusal(connection: dict[str, t.Any], topic: str) -> str | None:
    """The name of the error with which a record is refused, None for one that is taken."""
    said: list[str | None] = []
    producer = Producer(client_configuration(connection_from(connection)))
    producer.produce(topic, b"one", on_delivery=lambda error, _message: said.append(error.name() if error else None))
    producer.flush(SECONDS)
    return said[0]


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
    got: list[Received] = []
    with member(cluster, group, [topic], commits=False, start="error", got=got):
        pass
    return sorted((content(stored(each)) for each in got), key=lambda each: each[0])


@contextlib.contextmanager
def offsets_in_transaction(cluster: Servers, group: str, offsets: t.Mapping[tuple[str, int], int]) -> t.Iterator[str]:
    """A transaction that commits offsets for a group and is not ended; -> its transactional id."""
    name = f"writer-{uuid.uuid4()}"
    producer = open_producer(cluster, transactional_id=name, transaction_timeout_ms=600_000)
    with contextlib.closing(open_consumer(cluster, group)) as consumer:
        producer.begin_transaction()
        positions = [TopicPartition(topic, number, offset) for (topic, number), offset in offsets.items()]
        producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), SECONDS)
        yield name
        producer.abort_transaction(SECONDS)
