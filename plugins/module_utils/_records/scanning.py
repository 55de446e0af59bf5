# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Read whole ranges of partitions with one consumer, as fast as Python can: a job of its own on each Spark worker.

read_ranges() of range_reader.py is for small spans, and keeps their records; here nothing is kept but what the caller takes.
What a record costs decides: messages come in runs of one partition, so what is the same in a run is told once.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import time
import typing as t

from .._model.connection import Connection
from .._model.errors import MigrationError
from .._model.match_on import FINGERPRINTED
from .._model.records import NO_TIMESTAMP, TopicPartition
from . import refusals
from .confluent_library import TIMESTAMP_LOG_APPEND_TIME, TIMESTAMP_NOT_AVAILABLE, Message
from .confluent_library import TopicPartition as Position
from .consumer_client import FEW_LOOKS, Opened, expect_consumer, open_consumer
from .fingerprint import fingerprint, plain_fingerprint

# Partitions that are assigned at a time: each may have a fetch of its size under way, and most of it is thrown away when
# its range ends soon.
_WIDTH = 512
_FETCH_SIZE = 1 << 20  # bytes of a partition in one response; a larger batch comes nevertheless, alone
_SHORT = 1000  # records
# Where ranges are so short, more than this of a fetch would be thrown away.
_SMALL_FETCH_SIZE = 32 << 10
_SMALL_WIDTH = 1365
# With little of that left to take, the next fetch asks for the partitions that have been assigned meanwhile. An earlier one
# would ask again for those whose ranges have come, and others would wait for its answer.
_SMALL_QUEUE = 1000  # messages
_TAKEN = 2000  # messages at a time; more leave the processor's caches
_SETTINGS = {
    "fetch.wait.max.ms": 50,
    "queued.max.messages.kbytes": 65536,
    "fetch.max.bytes": 16 << 20,
}


class Range(t.NamedTuple):
    """The records of a partition at offsets [start, end); end is at most the last stable offset, fixed beforehand."""

    partition: TopicPartition
    start: int
    end: int


class Piece(t.NamedTuple):
    """A range, or a part of one, with the number that the whole range has among those that were asked for."""

    number: int
    partition: TopicPartition
    start: int
    end: int


class RecordRun(t.NamedTuple):
    """Records that came one after the other: of which piece, and how many."""

    piece: Piece
    length: int
    log_append_time: bool


class Rows(t.NamedTuple):
    """Columns of equal length, and the runs that they consist of.

    Timestamps are milliseconds since the epoch, NO_TIMESTAMP where a record has none; fingerprints have 16 bytes; bare
    is the fingerprint without the headers.
    """

    runs: list[RecordRun]
    offsets: list[int]
    timestamps: list[int]
    fingerprints: list[bytes]
    bare: list[bytes]


def scan(
    connection: Connection,
    pieces: t.Iterable[Piece],
    *,
    parts: t.Collection[str] = FINGERPRINTED,
    committed: bool = True,
) -> t.Iterator[Rows]:
    """All records of all pieces, those of one piece in order; pieces of one partition are read one after the other.

    committed: what a read_committed consumer sees; else aborted records as well. parts: what fingerprints cover.
    Control records, aborted data and what compaction has removed are gaps, at the ends of a range as well.
    Raises, before a record is left out or waited for in vain, NotFound, NotAuthorized, ConnectionFailed or BrokerError:
    the log begins after a start or ends before an end (of an open transaction's records too), or a partition is silent
    for request_timeout.
    """
    tasks: dict[TopicPartition, ReadTask] = {}
    longest = 0
    for piece in pieces:
        longest = max(longest, piece.end - piece.start)
        if piece.end > piece.start and piece.partition in tasks:
            tasks[piece.partition].later.append(piece)
        elif piece.end > piece.start:
            tasks[piece.partition] = ReadTask(piece, piece.start)
    if not tasks:
        return
    with open_consumer(connection, _settings(longest, committed=committed)) as opened:
        refusals.check_existence(opened, tasks)
        covered = FINGERPRINTED if set(parts) == set(FINGERPRINTED) else parts
        yield from _Scan(opened, tasks, covered, _SMALL_WIDTH if longest < _SHORT else _WIDTH).rows()


def expect_scan(connection: Connection, longest: int) -> None:
    """Let a consumer for a scan begin to connect: see expect_consumer(). longest: how many offsets a range may have."""
    expect_consumer(connection, _settings(longest, committed=True))


def _settings(longest: int, *, committed: bool) -> dict[str, t.Any]:
    level = "read_committed" if committed else "read_uncommitted"
    if longest < _SHORT:
        sizes = {
            "fetch.message.max.bytes": _SMALL_FETCH_SIZE,
            "queued.min.messages": _SMALL_QUEUE,
            "fetch.queue.backoff.ms": FEW_LOOKS,
        }
    else:
        sizes = {"fetch.message.max.bytes": _FETCH_SIZE}
    return {**_SETTINGS, **sizes, "isolation.level": level}


@dataclasses.dataclass(slots=True)
class ReadTask:
    """A partition: the piece that is being read, the next offset, and later pieces."""

    piece: Piece
    position: int
    later: collections.deque[Piece] = dataclasses.field(default_factory=collections.deque)


_Task = t.TypeVar("_Task", bound=ReadTask)
T = t.TypeVar("T")


@dataclasses.dataclass(slots=True)
class PieceReader(t.Generic[_Task]):
    """One consumer, and the partitions that it has not finished."""

    opened: Opened
    tasks: dict[TopicPartition, _Task]
    parts: t.Collection[str]
    width: int  # partitions that are assigned at a time
    waiting: collections.deque[TopicPartition] = dataclasses.field(init=False)
    patience: refusals.Patience = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        self.patience = refusals.Patience(self.opened)
        self.waiting = collections.deque(self.tasks)

    @property
    def assigned(self) -> int:
        """How many partitions are read at the moment."""
        return len(self.tasks) - len(self.waiting)

    def go_on(self, ended: t.Collection[_Task] = ()) -> bool:
        """On from pieces that have ended to the next of their partitions, and to partitions that have waited.

        -> do partitions begin that have waited? Unassigning drops what was fetched beyond a piece, in C.
        """
        if ended:
            self.opened.consumer.incremental_unassign([Position(*task.piece.partition) for task in ended])
        begin = []
        for task in ended:
            if task.later:
                task.piece = task.later.popleft()
                task.position = task.piece.start
                begin.append(task)
            else:
                del self.tasks[task.piece.partition]
        # Many at a time: those that begin one by one are fetched by twos and threes, and each fetch costs a round trip.
        others_begin = bool(self.waiting) and self.assigned <= self.width // 4
        while others_begin and self.waiting and self.assigned < self.width:
            begin.append(self.tasks[self.waiting.popleft()])
        if begin:
            self.opened.consumer.incremental_assign([Position(*task.piece.partition, task.position) for task in begin])
        return others_begin

    def stalled(self, seconds: float) -> MigrationError:
        """Nothing has come of any partition for so long."""
        return self.patience.stalled([(partition, task.position) for partition, task in self.tasks.items()], seconds)


def by_task(
    messages: t.Iterable[t.Any], tasks: t.Mapping[TopicPartition, T]
) -> t.Iterator[tuple[T, t.Iterator[t.Any]]]:
    """The runs of messages of one partition, each with the partition's task; those of partitions without one are left out."""
    for partition, of_number in itertools.groupby(messages, Message.partition):
        for topic, of_topic in itertools.groupby(of_number, Message.topic):
            topic_partition: t.Any = (topic, partition)  # equal to the key, and quicker to make
            task = tasks.get(topic_partition)
            if task is not None:
                yield task, of_topic


class _Scan(PieceReader[ReadTask]):
    """Reads whole pieces."""

    __slots__ = ()

    def rows(self) -> t.Iterator[Rows]:
        consume = self.opened.consumer.consume
        self.go_on()
        fresh = time.monotonic()
        while self.tasks:
            messages: list[t.Any] = consume(_TAKEN, 0.02)  # typed, every field of a message may be None
            rows = Rows([], [], [], [], [])
            ended = []
            for task, of_task in by_task(messages, self.tasks):
                if self._take(task, of_task, rows):
                    ended.append(task)
            if ended:
                self.go_on(ended)
            if rows.offsets:
                yield rows
            if ended or not all(map(Message.error, messages)):
                fresh = time.monotonic()  # what the caller does meanwhile is not the broker's silence
            elif (silent := time.monotonic() - fresh) > self.opened.connection.request_timeout:
                raise self.stalled(silent)

    def _take(self, task: ReadTask, messages: t.Iterable[t.Any], rows: Rows) -> bool:
        """Add messages of one partition to the rows; -> has its piece ended with them?"""
        _runs, offsets, timestamps, fingerprints, bares = rows
        end, parts = task.piece.end, self.parts
        reads_headers = "headers" in parts
        kind, begin = None, len(offsets)
        if task.position >= end:
            return False  # it has ended before
        for message in messages:
            if message.error() is not None:
                _close(rows, task, kind, begin)  # so that the task's position is known
                kind, begin = None, len(offsets)
                if self.patience.is_end(task.piece.partition, task.position, end, message):
                    task.position = end
                continue
            offset = message.offset()
            if offset >= end:  # the last offsets of the piece are gaps
                task.position = end
                break
            this_kind, timestamp = message.timestamp()
            if this_kind != kind:
                _close(rows, task, kind, begin)
                kind, begin = this_kind, len(offsets)
            try:
                headers = message.headers() if reads_headers else None
                if headers or parts is not FINGERPRINTED:
                    full, bare = fingerprint(message.key(), message.value(), headers, parts)
                else:
                    full = bare = plain_fingerprint(message.key(), message.value())
            except SystemError as exc:
                refusals.raise_for_header(exc, self.opened.connection, message)
            offsets.append(offset)
            timestamps.append(timestamp)
            fingerprints.append(full)
            bares.append(bare)
        _close(rows, task, kind, begin)
        return task.position >= end


def _close(rows: Rows, task: ReadTask, kind: int | None, begin: int) -> None:
    """End the run that has begun with row `begin`, all of one kind of timestamp."""
    length = len(rows.offsets) - begin
    if length:
        task.position = max(task.position, rows.offsets[-1] + 1)
        rows.runs.append(RecordRun(task.piece, length, kind == TIMESTAMP_LOG_APPEND_TIME))
        if kind == TIMESTAMP_NOT_AVAILABLE:
            rows.timestamps[begin:] = [NO_TIMESTAMP] * length
