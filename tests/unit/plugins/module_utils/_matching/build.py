"""Logs written as a line of text, for tests that a reader can check by eye."""

import re

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.evidence import LogFacts
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.driver import FullLog

EPOCH = 1_000_000

_TOKEN = re.compile(r"(?P<open>\(?)(?P<text>[^@+)]+)(?P<headers>\+\w+)?(?:@(?P<time>-?\d+))?\)?")


def log(
    line: str,
    *,
    start: int = 0,
    high_watermark: int | None = None,
    stamped: bool = False,
    compacted: bool = False,
    retention_ms: int | None = None,
) -> FullLog:
    """A log with one offset for each word of the line, from `start` on.

    `a` is a record, its timestamp follows from its text (a, b, c... or r1, r2, r3... are one millisecond apart);
    `a@5` has the timestamp EPOCH + 5, `a@-1` none; `a+h` has headers; `(a)` is aborted; `-` is a gap: a marker, or what
    compaction took. stamped: the broker put its own, later times on all.
    """
    visible: list[Record] = []
    aborted: list[Record] = []
    words = line.split()
    for offset, word in enumerate(words, start):
        match = _TOKEN.fullmatch(word)
        assert match, word
        text = match["text"]
        if text == "-":
            continue
        time = EPOCH + (int(text[1:]) if text[1:].isdigit() else ord(text[0]) - ord("a"))
        if match["time"]:
            time = -1 if match["time"] == "-1" else EPOCH + int(match["time"])
        if stamped:
            time = 2 * EPOCH + offset
        bare = text.encode()
        record = Record(offset, time, bare + (match["headers"] or "").encode(), bare, stamped)
        (aborted if match["open"] else visible).append(record)
    end = start + len(words)
    facts = LogFacts(start, end, high_watermark or end, stamped, compacted, retention_ms)
    return FullLog(facts, visible, aborted)


def run(first: int, end: int, more: str = "") -> str:
    """The records r<first> up to r<end - 1>, as a line."""
    return " ".join([*(f"r{number}" for number in range(first, end)), more]).strip()
