# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Read many small ranges of thousands of partitions with one consumer: a second or two, whatever the topics' size."""

from __future__ import annotations

import collections
import dataclasses
import time
import typing as t

from .._matching.evidence import Span, records_between
from .._model.connection import Connection
from .._model.match_on import FINGERPRINTED
from .._model.records import NO_TIMESTAMP, Record, TopicPartition, record_of
from . import refusals
from .confluent_library import TIMESTAMP_LOG_APPEND_TIME, TIMESTAMP_NOT_AVAILABLE
from .consumer_client import FEW_LOOKS, expect_consumer, open_consumer
from .fingerprint import fingerprint
from .scanning import Piece, PieceReader, ReadTask

NEAR = 256  # records between two spans of a partition that are read along: a jump costs round trips
# Bytes of a partition in one response. The first batch may be larger, those of other partitions not (KIP-74): with large
# batches one partition answers at a time. Small limits first, for little is fetched in vain (the smallest fits a batch as
# producers make them by default); larger ones for what is left when most partitions keep silent.
FETCH_SIZES = (24 << 10, 256 << 10, 4 << 20)
LONG = 2000  # records of a span, from which on even short records fill many of the smallest fetches: a round trip each
SILENCE = 1.5  # seconds of waiting: how long it takes to take in what has come says nothing
# Or so many times what the first answer took, because a distant cluster answers few fetches in a second.
SILENT_ANSWERS = 3
# A client asks for every partition that it is assigned again and again, and holds what came for each: so some 1,700 at a
# time, or fewer where much may come of each. With fewer, a distant cluster takes more round trips.
FETCHED_AT_A_TIME = 40 << 20  # bytes
_SETTINGS = {
    "fetch.wait.max.ms": 10,
    "fetch.min.bytes": 1,
    "fetch.queue.backoff.ms": FEW_LOOKS,
    "queued.min.messages": 1000,
    "queued.max.messages.kbytes": 16384,
    "fetch.max.bytes": 16 << 20,
}


class RangeRead(t.NamedTuple):
    """The records of [start, end), all that the isolation level shows; offsets may have gaps."""

    start: int
    end: int
    records: list[Record]


@dataclasses.dataclass(slots=True)
class _RangeTask(ReadTask):
    """One partition: the pieces still to be read, and what was found so far.

    wanted: what the pieces are read for, without what is read along between near spans.
    """

    wanted: collections.deque[Span] = dataclasses.field(default_factory=collections.deque)
    records: list[Record] = dataclasses.field(default_factory=list)

    def take(self, message: t.Any, parts: t.Collection[str]) -> bool:
        """Keep the record of a message, if it is wanted; -> is the piece at its end?

        A message beyond the piece, because no record is at its end, is not kept: a later piece that has it reads it again.
        """
        offset, end = message.offset(), self.piece.end
        if offset >= end:
            return True
        wanted = self.wanted
        while wanted and wanted[0][1] <= offset:
            wanted.popleft()
        if wanted and wanted[0][0] <= offset:
            self.records.append(_record(message, parts))
        self.position = offset + 1
        return bool(self.position == end)


def read_ranges(
    connection: Connection,
    ranges: t.Mapping[TopicPartition, t.Sequence[Span]],
    *,
    committed: bool = True,
    parts: t.Collection[str] = FINGERPRINTED,
    deadline: float = 300.0,
) -> dict[TopicPartition, list[RangeRead]]:
    """Every record of every span, answered in the order asked; spans of one partition may overlap.

    committed: what a read_committed consumer sees; else aborted records as well. parts: what fingerprints cover.
    deadline: seconds for all of it. No span may go beyond the end (with committed: the last stable offset), nor begin
    before the log does; that is an error naming the partition, for the log was truncated or expired meanwhile.
    Raises NotFound, NotAuthorized, ConnectionFailed or BrokerError.
    """
    tasks = {}
    for partition, spans in ranges.items():
        pieces = collections.deque(Piece(0, partition, *span) for span in _merged(spans, NEAR))
        if pieces:
            first = pieces.popleft()
            tasks[partition] = _RangeTask(first, first.start, pieces, collections.deque(_merged(spans)))
    covered = FINGERPRINTED if set(parts) == set(FINGERPRINTED) else tuple(parts)
    end = time.monotonic() + deadline
    left = dict(tasks)
    for size in _fetch_sizes(tasks.values()):
        if not left:
            break
        with open_consumer(connection, _settings(size, committed=committed)) as opened:
            refusals.check_existence(opened, left)
            reader = _RangeReader(opened, left, covered, FETCHED_AT_A_TIME // size)
            _drain(reader, patient=size == FETCH_SIZES[-1], end=end)
    records = {partition: task.records for partition, task in tasks.items()}
    return {partition: _as_asked(spans, records.get(partition, [])) for partition, spans in ranges.items()}


def expect_ranges(connection: Connection) -> None:
    """Let a consumer for read_ranges() begin to connect: see expect_consumer()."""
    expect_consumer(connection, _settings(FETCH_SIZES[0], committed=True))


def _settings(size: int, *, committed: bool) -> dict[str, t.Any]:
    level = "read_committed" if committed else "read_uncommitted"
    return {**_SETTINGS, "fetch.message.max.bytes": size, "isolation.level": level}


def _fetch_sizes(tasks: t.Collection[_RangeTask]) -> tuple[int, ...]:
    """Without the smallest one for spans that are long on the average."""
    lengths = [piece.end - piece.start for task in tasks for piece in (task.piece, *task.later)]
    return FETCH_SIZES[1:] if sum(lengths) >= LONG * len(lengths) > 0 else FETCH_SIZES


def _drain(reader: _RangeReader, patient: bool, end: float) -> None:
    """Read until nothing is left, or until so few partitions answer that larger fetches may help.

    Where none at all answers they would not: a broker that is busy is waited for.
    """
    fresh = time.monotonic()
    since: float | None = None  # of reader.waited, when the first message came: before, larger fetches would not help
    silence = SILENCE
    heard: set[TopicPartition] = set()
    reader.go_on()
    while reader.tasks:
        got = reader.step()
        now = time.monotonic()
        if got:
            fresh = now
            if since is None:
                since, silence = reader.waited, max(SILENCE, SILENT_ANSWERS * reader.waited)
            heard |= got
        # Those that have begun a moment ago may well keep silent.
        if since is not None and reader.waited - max(since, reader.begun) > silence:
            if not patient and 0 < len(heard) < reader.assigned / 2:
                return
            since, heard = reader.waited, set()
        if now - fresh > reader.opened.connection.request_timeout:
            raise reader.stalled(now - fresh)
        if now > end:
            raise refusals.unfinished(
                reader.opened.connection, [(at, task.position) for at, task in reader.tasks.items()]
            )


@dataclasses.dataclass(slots=True)
class _RangeReader(PieceReader[_RangeTask]):
    """Reads pieces that are short, and keeps what is wanted of them."""

    waited: float = 0.0  # seconds, for brokers
    begun: float = 0.0  # what `waited` was when partitions that had waited began

    def step(self) -> set[TopicPartition]:
        """Take in what has come; -> the partitions of which something came that concerned a piece."""
        heard: set[TopicPartition] = set()
        ended: dict[TopicPartition, _RangeTask] = {}
        # The first message is waited for, and what has come with it is there already.
        begun = time.monotonic()
        messages: list[t.Any] = self.opened.consumer.consume(1, 0.05)  # typed, every field of a message may be None
        self.waited += time.monotonic() - begun
        messages += self.opened.consumer.consume(2000, 0)
        tasks = self.tasks
        for message in messages:
            partition: t.Any = (message.topic(), message.partition())  # equal to the key, and quicker to make
            task = tasks.get(partition)
            if task is None or partition in ended:  # more than was asked for, or an error that concerns no partition
                continue
            if message.error() is not None:
                at_end = self.patience.is_end(TopicPartition(*partition), task.position, task.piece.end, message)
            else:
                try:
                    at_end = task.take(message, self.parts)
                except SystemError as exc:
                    refusals.raise_for_header(exc, self.opened.connection, message)
            if at_end or message.error() is None:
                heard.add(partition)
            if at_end:
                ended[partition] = task
        if ended and self.go_on(ended.values()):
            self.begun = self.waited
        return heard


def _record(message: t.Any, parts: t.Collection[str]) -> Record:
    kind, timestamp = message.timestamp()
    headers = message.headers() if parts is FINGERPRINTED or "headers" in parts else None
    full, bare = fingerprint(message.key(), message.value(), headers, parts)
    if kind == TIMESTAMP_NOT_AVAILABLE:
        timestamp = NO_TIMESTAMP
    return record_of((message.offset(), timestamp, full, bare, kind == TIMESTAMP_LOG_APPEND_TIME))


def _merged(spans: t.Iterable[Span], near: int = 0) -> list[Span]:
    """The spans sorted, empty ones left out, and those together between which there are fewer offsets than `near`."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if start >= end:
            continue
        if merged and start < merged[-1][1] + max(near, 1):
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _as_asked(spans: t.Iterable[Span], records: list[Record]) -> list[RangeRead]:
    return [RangeRead(start, end, records_between(records, start, end)) for start, end in spans]
