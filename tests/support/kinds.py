"""Topics of every kind: each function makes one, fills it, and tells where groups stand. And how to compare copies of them."""

import bisect
import contextlib
import time
import typing as t

from testbed.clients import (
    Headers,
    Message,
    Servers,
    Stored,
    change_topic,
    commit_groups,
    create_topic,
    delete_records,
    log_bounds,
    produce,
    produce_in_transactions,
    read,
)
from tests.support.consumers import content
from tests.support.logs import compacted_log
from tests.support.numbered import numbered_topic

DAY = 86_400_000  # milliseconds
LONG_AGO = 1_400_000_000_000
YEAR_1 = -62_135_596_800_000  # what .NET's clients write for a time that nobody has set
FAR_AWAY = 4_100_000_000_000
Stands = list[dict[int, int]]  # for each of some groups, what it has committed, by partition


def transactions(cluster: Servers, topic: str) -> Stands:
    """Aborted data and markers at the start, in between and at the end; a group at each of some 270 offsets."""
    create_topic(cluster, topic, retention_ms=-1)
    messages = [Message(b"%d" % n, b"k%d" % (n % 5), (), LONG_AGO + n) for n in range(240)]
    produce_in_transactions(
        cluster, topic, [(messages[first : first + 8], first % 3 == 1) for first in range(0, len(messages), 8)]
    )
    end = log_bounds(cluster, topic)[0][1]
    return [{0: offset} for offset in range(end + 1)]


def compacted(cluster: Servers, topic: str) -> Stands:
    """Few records with gaps between them."""
    compacted_log(cluster, topic)
    produce(cluster, topic, [Message(None, b"k3"), Message(None, b"k4")])
    return [{0: 1}, {0: 120}, {0: log_bounds(cluster, topic)[0][1] - 1}]


def peculiar(cluster: Servers, topic: str) -> Stands:
    """Tombstones, nulls, empty keys and values, headers of every kind; in four partitions, one of which stays empty."""
    headers: tuple[Headers, ...] = (
        (),
        (("h", b"1"), ("h", b"2"), ("h", b"1")),
        (("null", None), ("empty", b""), ("", b"nameless")),
        (("\N{SNOWMAN}", bytes(range(256))),),
    )
    texts = (None, b"", b"text", bytes(range(256)))
    create_topic(cluster, topic, partitions=4)
    produce(
        cluster,
        topic,
        [
            Message(value, key, its, int(time.time() * 1000), partition)
            for partition in range(3)
            for value in texts
            for key in texts
            for its in headers
        ],
    )
    return [{0: 0, 1: 10, 2: 63, 3: 0}, {0: 30, 1: 64}]


def times(cluster: Servers, topic: str) -> Stands:
    """Old, before 1970, far ahead, going backwards by years, missing."""
    create_topic(cluster, topic, retention_ms=-1)
    with contextlib.suppress(ValueError):  # an older Kafka has no such limit
        change_topic(cluster, topic, message_timestamp_after_max_ms=9223372036854775807, retention_ms=-1)
    given = [LONG_AGO, FAR_AWAY, 1, LONG_AGO - 1, FAR_AWAY, LONG_AGO + DAY, 2]
    produce(cluster, topic, [Message(b"%d" % n, None, (), ts) for n, ts in enumerate(given * 20)])
    produce(cluster, topic, [Message(b"no time", None, (), -1)] * 5)
    produce(cluster, topic, [Message(b"later", None, (), LONG_AGO)])
    produce(cluster, topic, [Message(b"%d" % ts, None, (), ts) for ts in (YEAR_1, -2, 5, -(1 << 63), LONG_AGO)])
    return [{0: 0}, {0: 77}, {0: 142}, {0: 148}]


def large(cluster: Servers, topic: str) -> Stands:
    """1 MB each, one of 7 MB, and small ones in between."""
    create_topic(cluster, topic, max_message_bytes=8_000_000)
    sizes = [1_000_000, 10, 7_000_000, 10, *[1_000_000] * 8]
    produce(cluster, topic, [Message(bytes([n]) * size) for n, size in enumerate(sizes)])
    return [{0: 0}, {0: 3}]


def codecs(cluster: Servers, topic: str) -> Stands:
    """Each batch compressed in another way."""
    create_topic(cluster, topic, partitions=2)
    for codec in ("gzip", "snappy", "lz4", "zstd", "none"):
        messages = [Message(f"{codec} {n} ".encode() * 20, partition=n % 2) for n in range(40)]
        produce(cluster, topic, messages, compression_type=codec)
    return [{0: 7, 1: 90}]


def stamped(cluster: Servers, topic: str) -> Stands:
    """The broker has set the timestamps, and they are kept."""
    create_topic(cluster, topic, message_timestamp_type="LogAppendTime")
    for n in range(5):
        produce(cluster, topic, [Message(b"%d" % n, timestamp=LONG_AGO)])
    return [{0: 2}]


def expired(cluster: Servers, topic: str) -> Stands:
    """Records that groups had not consumed have left the log; in partition 1 all of them."""
    numbered_topic(cluster, topic, 50)
    delete_records(cluster, topic, {0: 20, 1: 50})
    return [{0: 5, 1: 3}, {0: 20, 1: 50}, {0: 30}]


def consumed(cluster: Servers, topic: str) -> Stands:
    """There is nothing to copy: one partition is consumed to its end, the other has never had a record."""
    create_topic(cluster, topic, partitions=2)
    produce(cluster, topic, [Message(b"%d" % n) for n in range(10)])
    return [{0: 10, 1: 0}]


def unseen(cluster: Servers, topic: str) -> Stands:
    """After the group's offset there is only what was aborted."""
    create_topic(cluster, topic)
    messages = [Message(b"%d" % n) for n in range(10)]
    produce_in_transactions(cluster, topic, [(messages, True), (messages, False), (messages, False)])
    return [{0: 11}, {0: 15}]


KINDS = (transactions, compacted, peculiar, times, large, codecs, stamped, expired, consumed, unseen)


def group_of(topic: str, number: int) -> str:
    """The name of one of a topic's groups."""
    return f"{topic}-group-{number}"


def commit_all(cluster: Servers, topic: str, groups: Stands) -> None:
    """Let the groups of a topic commit where they stand."""
    wanted = {
        group_of(topic, number): {(topic, partition): offset for partition, offset in stands.items()}
        for number, stands in enumerate(groups)
    }
    commit_groups(cluster, wanted)


def check_copy(
    source: Servers,
    topic: str,
    groups: Stands,
    destination: Servers,
    to: str,
    entries: t.Iterable[dict[str, t.Any]],
    to_group: t.Callable[[int], str],
) -> None:
    """Every record from the first group on is there, once and as it was, and each group is sent to its first one.

    entries: of the plan. to_group: what the group of this number is called at the destination.
    """
    originals = _unconsumed(source, topic, groups)
    copies = read(destination, to)
    assert [content(record) for record in copies] == [content(record) for record in originals]
    planned = {(each["group"], each["partition"]): each for each in entries}
    for number, stands in enumerate(groups):
        for partition, offset in stands.items():
            entry = planned[to_group(number), partition]
            assert entry["verdict"] == "exact" and entry["repeats"] == 0
            assert _before(copies, partition, entry["offset"]) == _before(originals, partition, offset), (offset, entry)


def _unconsumed(cluster: Servers, topic: str, groups: Stands) -> list[Stored]:
    """The visible records that at least one group has not consumed."""
    first: dict[int, int] = {}
    for stands in groups:
        for partition, offset in stands.items():
            first[partition] = min(first.get(partition, offset), offset)
    starts = log_bounds(cluster, topic)
    start = {partition: max(offset, starts[partition][0]) for partition, offset in first.items()}
    return read(cluster, topic, start, start=start)


def _before(records: list[Stored], partition: int, offset: int) -> int:
    """How many records of a partition are before an offset: a group that stands there has consumed these."""
    return bisect.bisect_left([record.offset for record in records if record.partition == partition], offset)
