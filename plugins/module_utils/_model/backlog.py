# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The copy file: which records are copied, by whom, and what is kept from happening to them meanwhile.

It is on disk before anything else is written, and every later run follows it: the ends stay fixed. See copy_progress.py for
what the brokers keep.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from . import documents
from .cluster_identity import ClusterIdentity
from .file_rows import LATER, Among, At, Form, offset_pair, read_file, read_row, write_row
from .new_topics import NewTopic
from .records import TopicPartition

KIND = "copy"
CLEANUP = "cleanup.policy"
_FOR_EVER = "9223372036854775807"
# The settings of a topic while records are copied, and until every group is past them.
SUSPENDED = {
    CLEANUP: "delete",
    "message.timestamp.after.max.ms": _FOR_EVER,
    "message.timestamp.before.max.ms": _FOR_EVER,
    "message.timestamp.difference.max.ms": _FOR_EVER,
    "message.timestamp.type": "CreateTime",
    "retention.bytes": "-1",
    "retention.ms": "-1",
}
_NAME = r"streamshift-copy-[0-9a-f]{16}"  # see planning._name()


def _copy_name(value: t.Any) -> str:
    """Groups are deleted whose names begin with it, so that it must be one that a copy gives itself."""
    name = documents.text_of(value)
    if not re.fullmatch(_NAME, name):
        raise ValueError(f"{name!r} is not the name of a copy")
    return name


_PAIRS = Form(
    lambda row: dict(map(offset_pair, row)),
    lambda places: [list(pair) for pair in sorted(places.items())],
)


class Done(t.NamedTuple):
    """What became of a range: records and bytes (of keys and values) that were copied, and their places.

    next: the destination offset after the last copied record, None where there was none. without_timestamp: how many
    records had the timestamp 0, which means "now" to the client, and were given 1. expired: how many offsets had left the
    source's log before they could be copied. places: the destination offset of the first copied record at or after each
    boundary; boundaries after the last record have none.
    """

    records: int
    bytes: int
    next: int | None
    without_timestamp: int
    expired: int
    places: t.Annotated[dict[int, int], _PAIRS]


@dataclasses.dataclass(frozen=True, slots=True)
class BacklogRange:
    """The records of a source partition at offsets [start, end), and the destination's partition they are copied to.

    boundaries: where groups stand within the range, sorted. begin: the destination partition's end when all was planned.
    done is None until all is copied.
    """

    source: t.Annotated[TopicPartition, Among()]
    start: int
    end: int
    destination: TopicPartition
    begin: t.Annotated[int, At("destination", "begin")]
    boundaries: tuple[int, ...] = ()
    done: Done | None = None

    @property
    def copies(self) -> bool:
        """Is there anything to copy?"""
        return self.start < self.end

    def place(self, offset: int) -> int:
        """Where a group belongs at the destination that stands at a source offset from `start` on; all is copied."""
        if self.done is None or self.done.next is None:
            return self.begin
        return self.done.places.get(offset, self.done.next)


class Suspended(t.NamedTuple):
    """A topic's setting that would lose or change copied records: its own value before, None for none, and during."""

    before: str | None
    during: str


@dataclasses.dataclass(frozen=True, slots=True)
class BacklogTopic:
    """A topic of the destination, and the source's topic.

    created: what this copy makes it like, with settings that are as long as records are copied; None for one that was there.
    suspended: by the names of the settings. restored: whether they are back. topic_id, source_topic_id: which Kafka
    gives a topic when it is made, so that one of the same name that was made anew is another one; None where brokers
    have none (before 2.8), and topic_id until the topic is made.
    """

    name: str
    source: str
    created: NewTopic | None = None
    suspended: dict[str, Suspended] = dataclasses.field(default_factory=dict)
    restored: bool = False
    topic_id: str | None = None
    source_topic_id: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Backlog:
    """One copy of a backlog. snapshot: the digest of the snapshot that it was planned from.

    name begins the names of its progress groups and transactional ids. claimed: whether a run may have claimed it, and so
    written records; until then, logs at the destination grow by what others write.
    """

    name: t.Annotated[str, Form(_copy_name)]
    source_id: t.Annotated[str, At("source", "cluster_id")]
    destination_id: t.Annotated[str, At("destination", "cluster_id")]
    snapshot: str
    topics: tuple[BacklogTopic, ...]
    ranges: tuple[BacklogRange, ...]
    claimed: t.Annotated[bool, LATER] = True

    @property
    def source_identity(self) -> ClusterIdentity:
        """The source of the copy, with the topics that it is about."""
        ids = {topic.source: topic.source_topic_id for topic in self.topics}
        return ClusterIdentity.with_topics(self.source_id, ids)

    @property
    def destination_identity(self) -> ClusterIdentity:
        """The destination of the copy, with the topics that it is about."""
        return ClusterIdentity.with_topics(self.destination_id, {topic.name: topic.topic_id for topic in self.topics})

    @property
    def is_done(self) -> bool:
        """Is every range copied?"""
        return all(each.done is not None for each in self.ranges)

    def with_topics(self, topics: t.Iterable[BacklogTopic]) -> Backlog:
        """The same copy with these topics in place of those of their names."""
        known = {topic.name: topic for topic in self.topics} | {topic.name: topic for topic in topics}
        return dataclasses.replace(self, topics=tuple(known.values()))


def to_json(backlog: Backlog) -> str:
    """The text of a copy file."""
    ordered = dataclasses.replace(backlog, topics=tuple(sorted(backlog.topics, key=lambda topic: topic.name)))
    ranges = sorted(backlog.ranges, key=lambda each: each.source)
    return documents.dumps(KIND, write_row(ordered, "ranges"), map(write_row, ranges))


def from_json(text: str, path: str) -> Backlog:
    """Read a copy file, or raise InvalidFile."""
    return read_file(KIND, text, path, Backlog, ranges=_range)


def _range(row: t.Any) -> BacklogRange:
    made = read_row(BacklogRange, row)
    if made.start > made.end:
        raise ValueError(f"start {made.start} is after end {made.end}")
    return made
