# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Find out how far a copy is from what is at the destination alone.

The records from the copy's begin on are the source's, in order.
"""

from __future__ import annotations

import contextlib
import dataclasses
import typing as t

from .._model.backlog import BacklogRange
from .._model.connection import Connection
from .._model.copy_progress import Progress, begin_anew
from .._model.errors import LogChanged, ProgressLost
from .._model.records import TopicPartition
from .._model.wording import are, counted
from . import refusals
from .consumer_client import Opened, open_consumer
from .fingerprint import fingerprint
from .record_copy import written_timestamp
from .scanning import Range
from .whole_ranges import READ_COMMITTED, messages


def rebuilt(
    source: Connection, destination: Connection, ranges: t.Iterable[tuple[BacklogRange, int]]
) -> t.Iterator[Progress]:
    """The progress of each range, which is given with where the destination's log ends; nobody may write to that meanwhile.

    Raises Refused where anything but the copy stands there from its begin on, and names the first such offset.
    """
    with open_readers(source, destination) as readers:
        for backlog_range, end in ranges:
            yield _rebuilt(*readers, backlog_range, end)


@contextlib.contextmanager
def open_readers(source: Connection, destination: Connection) -> t.Iterator[tuple[Opened, Opened]]:
    """A consumer of each cluster."""
    with (
        open_consumer(source, READ_COMMITTED) as source_consumer,
        open_consumer(destination, READ_COMMITTED) as destination_consumer,
    ):
        yield source_consumer, destination_consumer


def _rebuilt(source: Opened, destination: Opened, backlog_range: BacklogRange, end: int) -> Progress:
    """Hold what stands at the destination from the begin of a range to `end` against the source's records, one by one."""
    progress = Progress(backlog_range.start)
    due = list(backlog_range.boundaries)
    copies = _records(destination, backlog_range.destination, backlog_range.begin, end)
    originals = _records(source, backlog_range.source, backlog_range.start, backlog_range.end)
    for copy in copies:
        original = next(originals, None)
        if original is None or _content(source, original, written=True) != _content(destination, copy):
            raise ProgressLost(
                f"the record at offset {copy.offset()} is not the one that the copy would have written there, and the "
                "progress cannot be rebuilt",
                cluster=str(destination.connection),
                why=f"what comes next at the source is {backlog_range.source} from offset {progress.position} on",
                remedy=begin_anew(),
                **backlog_range.destination._asdict(),
            )
        while due and due[0] <= original.offset():
            progress.places[due.pop(0)] = copy.offset()
        progress.position, progress.next = original.offset() + 1, copy.offset() + 1
        progress.records += 1
        progress.bytes += len(original.key() or b"") + len(original.value() or b"")
        progress.without_timestamp += original.timestamp()[1] == 0
    return progress


class LastGroup(t.NamedTuple):
    """The group of a partition that goes on after all others there, and the destination offset that is planned for it."""

    group: str
    offset: int


def range_differences(
    source: Opened,
    destination: Opened,
    planned: BacklogRange,
    start: int,
    end: int,
    last: LastGroup | None = None,
) -> list[str]:
    """What of a range's records is not at the destination once and in order, from the copy's begin to `end`; as sentences.

    start: where the source's log begins; when more expires while it is read, it is compared again without that. Records that
    others have written between are left out of account, unless `last`, and so every group that goes on at or after it, would
    skip them.
    """
    start = max(start, planned.start)
    while True:
        try:
            return _differences(source, destination, dataclasses.replace(planned, start=start), end, last)
        except LogChanged as exc:
            start = refusals.later_start(source, planned.source, start, exc)


def _differences(
    source: Opened, destination: Opened, planned: BacklogRange, end: int, last: LastGroup | None
) -> list[str]:
    others: set[bytes] = set()
    # The same up to the copy's last record: if it has written all of these, they are no doubles.
    unlike: set[bytes] = set()
    originals = _records(source, planned.source, planned.start, planned.end)
    original = next(originals, None)
    between = _Between(planned, last)
    for copy in _records(destination, planned.destination, planned.begin, end):
        is_copy = original is not None and _content(source, original, written=True) == _content(destination, copy)
        if is_copy:
            original = next(originals, None)
        else:
            (unlike if copy.offset() < between.next else others).add(_fingerprint(_content(destination, copy)))
        between.count(copy.offset(), is_copy)
    sentences = []
    if original is not None:
        sentences.append(
            f"{planned.destination}: the record of source offset {original.offset()} of {planned.source} "
            f"is missing at its expected place, after its predecessors and from offset {planned.begin} on"
        )
    if original is not None or between.of_others > 0:
        others |= unlike
    if others:
        again = [
            record.offset()
            for record in _records(source, planned.source, planned.start, planned.end)
            if _fingerprint(_content(source, record, written=True)) in others
        ]
        if again:
            sentences.append(
                f"{planned.destination}: {counted(len(again), 'record')} {are(len(again))} there more than once "
                f"or out of order from offset {planned.begin} on, "
                f"the first of them the one of source offset {again[0]} of {planned.source}"
            )
    return sentences or between.sentences()


class _Between:
    """Counts what others have written among the copied records.

    The copy knows how many records it has written, and so what others have written is not taken for copies of records that
    have left the source since.
    """

    def __init__(self, planned: BacklogRange, last: LastGroup | None) -> None:
        self.planned, self.last = planned, last
        self.next = planned.begin if planned.done is None or planned.done.next is None else planned.done.next
        self.all = self.skipped = 0
        self.first: int | None = None

    def count(self, offset: int, is_copy: bool) -> None:
        """Count a record of the destination."""
        self.all += offset < self.next
        if not is_copy and self.last is not None and offset < min(self.next, self.last.offset):
            self.skipped += 1
            self.first = offset if self.first is None else self.first

    @property
    def of_others(self) -> int:
        """How many records up to the copy's last one somebody else has written."""
        return 0 if self.planned.done is None else self.all - self.planned.done.records

    def sentences(self) -> list[str]:
        """What is gone, though the source does not have it any more, or what the last group would skip."""
        if (gone := -self.of_others) > 0:
            what = f"{counted(gone, 'record')} of the copy {are(gone)} gone, and no longer at the source"
            return [f"{self.planned.destination}: {what}"]
        skipped = min(self.skipped, self.of_others)
        if skipped <= 0 or self.last is None:
            return []
        sentence = (
            f"{self.planned.destination}: somebody else has written among the copied records while the copy ran: "
            f"{counted(skipped, 'record')} from offset {self.first} on, which {self.last.group} would skip at its planned "
            f"offset {self.last.offset}"
        )
        return [sentence]


def _records(reader: Opened, partition: TopicPartition, start: int, end: int) -> t.Iterator[t.Any]:
    """All records of a partition at offsets [start, end), in order."""
    return messages(reader, [Range(partition, start, end)])


def _content(reader: Opened, message: t.Any, written: bool = False) -> tuple[t.Any, ...]:
    """What of a record is copied. written: with the timestamp that it is written with."""
    try:
        headers = message.headers() or []
        kind, timestamp = message.timestamp()
        if written:
            timestamp = written_timestamp(kind, timestamp)
        return message.key(), message.value(), headers, timestamp
    except SystemError as exc:
        refusals.raise_for_header(
            exc, reader.connection, message, "leave the topic out, or compare it by a tool in Java"
        )


def _fingerprint(content: tuple[t.Any, ...]) -> bytes:
    key, value, headers, timestamp = content
    return fingerprint(key, value, [*headers, ("timestamp", b"%d" % timestamp)])[0]
