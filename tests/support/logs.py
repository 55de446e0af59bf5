"""Logs of a kind that takes some trouble to make."""

import time

from testbed.clients import Message, Servers, create_topic, produce, read


def compacted_log(cluster: Servers, topic: str) -> None:
    """A topic with one partition, of whose 300 records compaction has left less than 100."""
    settings: dict[str, str | int] = {
        "cleanup_policy": "compact",
        "segment_bytes": 1_048_576,
        "min_cleanable_dirty_ratio": "0.01",
        "max_compaction_lag_ms": 100,
        "segment_ms": 500,
    }
    create_topic(cluster, topic, partitions=1, **settings)
    produce(cluster, topic, [Message(b"v%d" % n, b"k%d" % (n % 7)) for n in range(300)])
    end = time.monotonic() + 60
    while len(read(cluster, topic)) > 100:
        assert time.monotonic() < end, "the log was not compacted"
        time.sleep(1)
        produce(cluster, topic, [Message(b"more", b"k0")])
