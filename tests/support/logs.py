"""Logs of a kind that takes some trouble to make."""

import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import NO_TIMESTAMP
from testbed.clients import Message, Servers, commit, create_topic, produce, produce_in_transactions, read, until

# All that a record may hold, and may lack.
VARIED = [
    Message(b"value", b"key", (("a", b"1"), ("a", None), ("b", b"")), 1_700_000_000_000),
    Message(None, None, (), 1),
    Message(b"", b"", (), NO_TIMESTAMP),
]


def log_with_gaps(cluster: Servers, topic: str) -> None:
    """A topic with one partition: records at 0, 1, 5 and 6, aborted ones at 3 and 8, markers at 2, 4, 7 and 9."""
    create_topic(cluster, topic)
    one, two = [Message(b"1"), Message(b"2")], [Message(b"3")]
    written = produce_in_transactions(cluster, topic, [(one, True), (two, False), (one, True), (two, False)])
    assert written == [[0, 1], [3], [5, 6], [8]]


COMPACTED_AT_ONCE: dict[str, str | int] = {
    "cleanup_policy": "compact",
    "segment_ms": 500,
    "max_compaction_lag_ms": 100,
    "min_cleanable_dirty_ratio": "0.01",
}


def compacted_log(cluster: Servers, topic: str, messages: t.Sequence[Message] = (), left: int = 100) -> None:
    """A topic with one partition, of whose records compaction has left no more than so many; without messages of 300."""
    create_topic(cluster, topic, 1, **COMPACTED_AT_ONCE)
    produce(cluster, topic, messages or [Message(b"v%d" % n, b"k%d" % (n % 7)) for n in range(300)])

    def is_compacted() -> bool:
        produce(cluster, topic, [Message(b"more", b"k0")])  # else the segment stays open
        return len(read(cluster, topic)) <= left

    until(is_compacted, what="the log was not compacted", pause=0.5)


def topics_in_two_formats(cluster: Servers, topic: str) -> tuple[str, str]:
    """Topics in the message format 0.9, and in the newest one, with ten records each. A group stands at 4 on both."""
    names = f"{topic}-0.9", f"{topic}-new"
    create_topic(cluster, names[0], retention_ms=-1, message_format_version="0.9.0")
    create_topic(cluster, names[1], retention_ms=-1)
    for name in names:
        produce(cluster, name, [Message(b"%d" % number) for number in range(10)])
    commit(cluster, topic, dict.fromkeys([(name, 0) for name in names], 4))
    return names
