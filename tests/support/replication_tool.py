"""A replication tool of records between two clusters, with the habits that real ones have."""

import typing as t
import zlib
from random import Random

from testbed.clients import Message, Servers, Stored, create_topic, produce, read
from tests.support.numbered import numbered_topic

DAY = 86_400_000  # milliseconds; much older junk would be removed at once where nothing else stands beside it

# Where the copies of a source record are at the destination: by (partition, source offset), in order.
Copies = dict[tuple[int, int], list[int]]


def copy(
    source: Servers,
    destination: Servers,
    topic: str,
    to: str | None = None,
    *,
    junk: int = 0,
    keep: t.Callable[[Stored], bool] | None = None,
    lag: int = 0,
    again: int = 0,
    committed: bool = True,
    **settings: str | int,
) -> Copies:
    """Copy a topic's records with key, value, headers, timestamp and partition; `to` must exist.

    junk: so many foreign records, a day older, come before each partition's copies. keep: others are filtered out. lag: the
    last so many of each partition are still to come. again: the last so many are copied a second time, as by a
    restarted replication tool. committed=False copies aborted records too. settings go to the producer.
    """
    copies: Copies = {}
    for partition, records in _by_partition(read(source, topic, committed=committed)).items():
        wanted = [record for record in records if keep is None or keep(record)]
        wanted = wanted[: len(wanted) - lag]
        wanted += wanted[len(wanted) - again :]
        older = max(1, min((record.timestamp for record in wanted), default=1) - DAY)
        foreign = [Message(f"junk {number}".encode(), timestamp=older, partition=partition) for number in range(junk)]
        offsets = produce(destination, to or topic, [*foreign, *map(as_message, wanted)], **settings)
        for record, offset in zip(wanted, offsets[junk:], strict=True):
            copies.setdefault((partition, record.offset), []).append(offset)
    return copies


def copied_topic(
    source: Servers,
    destination: Servers,
    topic: str,
    records: int,
    *stands: int | tuple[int, str],
    partitions: int = 2,
    to: str | None = None,
    junk: int = 0,
) -> str:
    """Make and fill a topic, so many records in each partition, and copy it. A group of its name stands at these offsets."""
    numbered_topic(source, topic, records, *stands, partitions=partitions)
    create_topic(destination, to or topic, partitions)
    copy(source, destination, topic, to, junk=junk)
    return topic


def repartition(
    source: Servers,
    destination: Servers,
    topics: t.Sequence[str],
    to: str,
    partitions: int,
    *,
    keyed: bool = True,
    keep: t.Callable[[Stored], bool] | None = None,
    committed: bool = True,
    seed: int = 0,
    **settings: str | int,
) -> None:
    """Copy topics into one with so many partitions, as a stream processor does; `to` must exist.

    Each source partition's records come in their order, mixed with those of the others. keyed: the key alone chooses the
    partition. keep: others are filtered out. committed=False copies aborted records too. settings go to the producer.
    """
    random = Random(seed)
    left = [
        [record for record in reversed(records) if keep is None or keep(record)]
        for topic in topics
        for records in _by_partition(read(source, topic, committed=committed)).values()
    ]
    messages: list[Message] = []
    while left := [records for records in left if records]:
        record = random.choice(left).pop()
        partition = zlib.crc32(record.key or b"") if keyed else random.randrange(partitions)
        messages.append(as_message(record)._replace(partition=partition % partitions))
    produce(destination, to, messages, **settings)


def as_message(record: Stored) -> Message:
    """What a replication tool writes for a record."""
    return Message(record.value, record.key, record.headers, record.timestamp, record.partition)


def _by_partition(records: t.Iterable[Stored]) -> dict[int, list[Stored]]:
    found: dict[int, list[Stored]] = {}
    for record in records:
        found.setdefault(record.partition, []).append(record)
    return found
