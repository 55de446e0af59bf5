"""Topics whose records have a number of their own each as their value: by these an offset is judged, and by nothing else."""

import time
import typing as t

from testbed.clients import Message, Servers, commit, create_topic, produce, read

Numbers = dict[int, list[tuple[int, int]]]  # by partition, in order: offsets and numbers
NOW = int(time.time() * 1000) - 2 * 86_400_000  # timestamps of the past, as real ones are


def numbered(count: int, first: int = 0, step: int = 1000, **more: t.Any) -> list[Message]:
    """Messages with equal keys and timestamps so many milliseconds apart. more: of each message."""
    return [Message(b"%d" % number, b"key", (), NOW + number * step, **more) for number in range(first, first + count)]


def numbered_topic(
    cluster: Servers, topic: str, records: int, *stands: int | tuple[int, str], partitions: int = 2
) -> str:
    """Make a topic with so many records in each partition. A group of its name stands at these offsets."""
    create_topic(cluster, topic, partitions)
    numbers = range(records * partitions)
    produce(cluster, topic, [Message(b"%d" % number, partition=number % partitions) for number in numbers])
    if stands:
        commit(cluster, topic, {(topic, partition): offset for partition, offset in enumerate(stands)})
    return topic


def topic_with_metadata(cluster: Servers, topic: str, metadata: str) -> str:
    """Two partitions of 20 records. A group of its name stands at 5, with metadata and a leader epoch, and at 20."""
    numbered_topic(cluster, topic, 20)
    commit(cluster, topic, {(topic, 1): 20})
    commit(cluster, topic, {(topic, 0): (5, metadata)}, epoch=0)
    return topic


class Judge:
    """What stands where in a topic and in its copy, as plain consumers read it now. Other values are foreign."""

    def __init__(self, source: Servers, topic: str, destination: Servers, copy: str) -> None:
        self._source = _numbers(source, topic)
        self._copy = _numbers(destination, copy)

    def lost(self, partition: int, committed: int, offset: int) -> set[int]:
        """The unconsumed records that a group at this offset of the copy would never get, though they are there."""
        unconsumed = {number for at, number in self._source.get(partition, []) if at >= committed}
        copied = self._copy.get(partition, [])
        got = {number for at, number in copied if at >= offset}
        return (unconsumed & {number for _at, number in copied}) - got

    def repeated(self, partition: int, committed: int, offset: int) -> list[int]:
        """The consumed records that it would get again, each as often as it would."""
        consumed = {number for at, number in self._source.get(partition, []) if at < committed}
        return [number for at, number in self._copy.get(partition, []) if at >= offset and number in consumed]

    def check(self, entry: t.Mapping[str, t.Any], committed: int) -> None:
        """Whether the verdict of a plan's entry is true, for a group that has committed this at the source."""
        if entry["offset"] is None:
            assert entry["verdict"] in ("blocked", "uncommitted"), entry
            return
        where = entry["partition"], committed, entry["offset"]
        lost, repeated = self.lost(*where), self.repeated(*where)
        assert not lost, f"{len(lost)} records are lost, such as {min(lost)}: {entry} for {committed}"
        most = 0 if entry["verdict"] == "exact" else entry["repeats"]
        assert most is None or len(repeated) <= most, f"{len(repeated)} records are repeated: {entry} for {committed}"


def _numbers(cluster: Servers, topic: str) -> Numbers:
    """The visible records."""
    found: Numbers = {}
    for record in read(cluster, topic):
        if (record.value or b"").isdigit():
            found.setdefault(record.partition, []).append((record.offset, int(record.value or b"")))
    return found
