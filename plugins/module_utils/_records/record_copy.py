# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Copy ranges of records from one cluster to another, each record once, and know where the boundaries of groups come to lie.

What a record costs decides: many messages of one partition come together, and what is the same for all of them is done once.
"""

from __future__ import annotations

import bisect
import contextlib
import dataclasses
import time
import typing as t

from .._model.backlog import BacklogRange
from .._model.connection import Connection
from .._model.copy_progress import Progress
from .._model.errors import LogChanged, MigrationError, TopicUnsuitable
from .._model.records import NO_TIMESTAMP, TopicPartition
from . import refusals
from .confluent_library import TIMESTAMP_NOT_AVAILABLE, KafkaError, KafkaException, Message
from .confluent_library import TopicPartition as Position
from .consumer_client import Opened, open_consumer
from .jobs import Held, Job, hold_ids
from .scanning import by_task
from .send_window import SendWindow
from .transactions import CONSEQUENCES, FULL_QUEUE_SECONDS, Transactions

_TAKEN = 2000  # messages at a time
# Where a transaction ends, whatever comes first. Each costs a few round trips, and what it holds is written again when the
# worker dies in it.
_RECORDS = 100_000
_BYTES = 128 << 20
_SECONDS = 2.0
_BATCH = 1_000_000  # bytes
_READ = {
    "isolation.level": "read_committed",
    "fetch.wait.max.ms": 20,
    "queued.max.messages.kbytes": 64 << 10,
}
# Which setting of a topic a batch exceeds that its broker refuses with this error.
_EXCEEDED = {KafkaError.MSG_SIZE_TOO_LARGE: "max.message.bytes", KafkaError.RECORD_LIST_TOO_LARGE: "segment.bytes"}
COMPRESSION = {"compression.type", "compression.codec"}
# Every client reads gzip. What fits with zstd alone was written with zstd, so that its consumers read that.
_CODECS: t.Sequence[t.Mapping[str, str]] = ({}, {"compression.type": "gzip"}, {"compression.type": "zstd"})
_NEVER = 1 << 63
_NEARLY_0 = 1
_MOMENT = 0.5  # seconds


def copy_jobs(source: Connection, destination: Connection, jobs: t.Sequence[Job]) -> int:
    """Copy what is left of jobs of one run, one after the other. -> how many records this attempt has copied.

    All or nothing of every transaction: after an error, or a death, the next attempt goes on after the last one that was
    committed. Records are not compressed, unless client_config says so, until one comes that its topic takes only compressed;
    from then on, all are. Raises Locked where another run has the copy, Refused where its progress is gone, or for a record
    that is too large in any way: no attempt may follow then. Raises other MigrationErrors as well.
    """
    codecs: t.Sequence[t.Mapping[str, str]] = ({},) if COMPRESSION & destination.client_config.keys() else _CODECS
    for codec in codecs[:-1]:
        with contextlib.suppress(TopicUnsuitable):
            return _copied(source, destination, jobs, codec)
    return _copied(source, destination, jobs, codecs[-1])


def _copied(source: Connection, destination: Connection, jobs: t.Sequence[Job], codec: t.Mapping[str, str]) -> int:
    records = 0
    with hold_ids(destination, jobs, {"batch.size": _batch(jobs), **codec}) as held:
        left = [(held_job, tasks) for held_job in held.held if (tasks := _tasks(held_job))]
        if not left:
            return 0
        window = SendWindow()
        with open_consumer(source, _READ) as opened:
            for held_job, tasks in left:
                refusals.check_existence(opened, tasks)
                records += _Copy(destination, opened, held_job, tasks, _batch(jobs), held.renew, window).run()
    return records


@dataclasses.dataclass(slots=True)
class _CopyTask:
    """A range that is not copied to its end. due: the boundaries whose first record has not come, in order."""

    range: BacklogRange
    progress: Progress
    due: list[int]

    def next_due(self) -> int:
        return self.due[0] if self.due else _NEVER

    def opened_by(self, offset: int) -> list[int]:
        """The boundaries whose first record is the one of this offset; they are due no longer."""
        count = bisect.bisect_right(self.due, offset)
        opened, self.due = self.due[:count], self.due[count:]
        return opened


def _tasks(held: Held) -> dict[TopicPartition, _CopyTask]:
    tasks = {}
    for backlog_range in held.job.ranges:
        progress = held.progress[backlog_range.destination]
        if progress.position < backlog_range.end:
            _leave_expired(backlog_range, progress, held.job.log_starts.get(backlog_range.source, 0))
            due = [offset for offset in backlog_range.boundaries if offset not in progress.places]
            tasks[backlog_range.source] = _CopyTask(backlog_range, progress, due)
    return tasks


def _leave_expired(backlog_range: BacklogRange, progress: Progress, log_start: int) -> None:
    """Go on from where the source's log starts, and count what had expired before."""
    expired = max(0, min(log_start, backlog_range.end) - progress.position)
    progress.expired += expired
    progress.position += expired


@dataclasses.dataclass(slots=True)
class _Copy:
    """One consumer and one producer, the ranges that are not finished, and those that the open transaction has moved."""

    destination: Connection
    opened: Opened
    held: Held
    tasks: dict[TopicPartition, _CopyTask]
    batch: int
    renew: t.Callable[[], None]  # between transactions
    window: SendWindow
    moved: dict[TopicPartition, _CopyTask] = dataclasses.field(default_factory=dict)
    lost: list[MigrationError | KafkaException] = dataclasses.field(default_factory=list)
    records: int = 0
    sent: int = 0  # bytes, headers included
    silent: float = 0.0  # seconds, also those of earlier transactions
    patience: refusals.Patience = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        self.patience = refusals.Patience(self.opened)

    @property
    def transactions(self) -> Transactions:
        return self.held.transactions

    def run(self) -> int:
        for partition, task in list(self.tasks.items()):
            if task.progress.position >= task.range.end:  # all that was left has expired
                self.moved[partition] = self.tasks.pop(partition)
        self.opened.consumer.assign(
            [Position(*partition, task.progress.position) for partition, task in self.tasks.items()]
        )
        begun = time.monotonic()
        while self.tasks or self.moved:
            time.sleep(self._ahead(begun))  # while no open transaction holds the destination's readers back
            with self.transactions.transaction(self.lost):
                self._fill(begun)
                self._commit()
            self.renew()
        return self.records

    def _fill(self, begun: float) -> None:
        """Send records until the transaction is large or old enough."""
        consume, poll = self.opened.consumer.consume, self.transactions.producer.poll
        records, size = self.records + _RECORDS, self.sent + _BYTES
        now = time.monotonic()
        end = now + _SECONDS
        while self.tasks and self.records < records and self.sent < size and now < end:
            asked = time.monotonic()
            messages: list[t.Any] = consume(self._most(), 0.02)  # typed, every field of a message may be None
            now = time.monotonic()
            if not messages:
                self._is_silent(now - asked)
                continue
            ended = []
            for task, of_task in by_task(messages, self.tasks):
                if self._take(task, list(of_task)):
                    ended.append(self.tasks.pop(task.range.source))  # what else comes of it is no longer wanted
            if ended:
                self.opened.consumer.incremental_unassign([Position(*task.range.source) for task in ended])
            poll(0)
            if self.lost:
                raise self.lost[0]
            time.sleep(max(0.0, min(self._ahead(begun), end - time.monotonic())))
            while self.window.room <= 0 and not self.lost and time.monotonic() < end:
                poll(FULL_QUEUE_SECONDS)
            if ended or not all(map(Message.error, messages)):
                self.silent = 0.0
            else:
                self._is_silent(now - asked)
            now = time.monotonic()

    def _is_silent(self, seconds: float) -> None:
        """Nothing but errors that may pass, if anything, for so long. A full queue and a limit are not the source's silence."""
        self.silent += seconds
        if self.silent > self.opened.connection.request_timeout:
            positions = [(partition, task.progress.position) for partition, task in self.tasks.items()]
            raise self.patience.stalled(positions, self.silent)

    def _most(self) -> int:
        """How many messages to take at a time: what may wait for answers, and with a limit, what may be copied in a moment."""
        size = float(max(0, self.window.room))
        if self.held.job.bytes_per_second:
            size = min(size, _MOMENT * self.held.job.bytes_per_second)
        average = self.sent / self.records if self.records else size
        return max(1, min(_TAKEN, int(size / max(1.0, average))))

    def _ahead(self, begun: float) -> float:
        """How many seconds the copy is ahead of its limit."""
        if not self.held.job.bytes_per_second:
            return 0.0
        return max(0.0, self.sent / self.held.job.bytes_per_second - (time.monotonic() - begun))

    def _take(self, task: _CopyTask, messages: list[t.Any]) -> bool:
        """Send messages of one partition; -> has its range ended with them?"""
        end, progress = task.range.end, task.progress
        records, ended = messages, False
        changed: LogChanged | None = None
        if any(map(Message.error, messages)) or messages[-1].offset() >= end:
            records = []
            for message in messages:
                if message.error() is not None:
                    partition = task.range.source
                    position = records[-1].offset() + 1 if records else progress.position
                    try:
                        ended = ended or self.patience.is_end(partition, position, end, message)
                    except LogChanged as exc:
                        changed = exc
                        break
                elif message.offset() < end:
                    records.append(message)
                else:  # the last offsets of the range are gaps
                    ended = True
        if records:
            self._send(task, records)
            ended = ended or progress.position >= end
        if changed is not None and not ended:
            self._pass_expired(task, changed)
            ended = progress.position >= end
        if ended:
            progress.position = end
        if records or ended or changed is not None:
            self.moved[task.range.source] = task
        return ended

    def _pass_expired(self, task: _CopyTask, changed: LogChanged) -> None:
        """Read on from where the source's log starts now. Raises `changed` where it starts no later than what was to come.

        Jobs of one worker run one after the other, for hours, and meanwhile the source's retention deletes what waits.
        """
        partition, consumer = task.range.source, self.opened.consumer
        start = refusals.later_start(self.opened, partition, task.progress.position, changed)
        _leave_expired(task.range, task.progress, start)
        if task.progress.position < task.range.end:
            consumer.incremental_unassign([Position(*partition)])
            consumer.incremental_assign([Position(*partition, task.progress.position)])

    def _send(self, task: _CopyTask, records: list[t.Any]) -> None:
        """Send records of one partition, in order.

        A callback costs time: only those have one whose place has to be known, the first at or after each boundary and the
        last of these messages, and those that fill a batch alone, which may be more than the topic takes.
        """
        topic, partition = task.range.destination
        produce, progress, batch = self.transactions.producer.produce, task.progress, self.batch
        due, last, size, sent, told = task.next_due(), records[-1], 0, 0, 0
        for message in records:
            try:
                offset, key, value, headers = message.offset(), message.key(), message.value(), message.headers()
                length = (len(value) if value is not None else 0) + (len(key) if key is not None else 0)
            except SystemError as exc:
                refusals.raise_for_header(
                    exc, self.opened.connection, message, "leave the topic out, or copy it by a tool in Java"
                )
            kind, timestamp = message.timestamp()
            if timestamp <= 0:
                timestamp = written_timestamp(kind, timestamp)
                progress.without_timestamp += timestamp == _NEARLY_0
            size += length
            if headers:
                length += sum(len(name) + len(content or b"") for name, content in headers)
            sent += length
            landed = None
            if message is last or offset >= due or length > batch:
                landed = self._landing(task, offset, length, sent - told)
                due, told = task.next_due(), sent
            while True:
                try:
                    if headers:
                        produce(topic, value, key, partition, landed, None, timestamp, headers)
                    else:
                        produce(topic, value, key, partition, landed, None, timestamp)
                    break
                except BufferError:
                    self.transactions.producer.poll(FULL_QUEUE_SECONDS)
        progress.position = last.offset() + 1
        progress.records += len(records)
        progress.bytes += size
        self.records += len(records)
        self.sent += sent
        self.window.send(sent, time.monotonic())

    def _landing(
        self, task: _CopyTask, source_offset: int, length: int, since_last: int
    ) -> t.Callable[[KafkaError | None, t.Any], None]:
        """What is done when a record of this source offset and length is written, or is not.

        since_last: bytes that were sent since the last such record, this one included, and are written before.
        """
        progress, opened = task.progress, task.opened_by(source_offset)

        def landed(error: KafkaError | None, message: t.Any) -> None:
            offset = message.offset()
            if error is not None and error.code() in _EXCEEDED:
                self.lost.append(self._too_large(task, source_offset, length, _EXCEEDED[error.code()]))
            elif error is not None and error.code() in CONSEQUENCES:
                self.lost.append(KafkaException(error))
            elif error is not None:
                partition = task.range.destination
                self.lost.append(refusals.unwritten(self.destination, error, "a record cannot be written", partition))
            elif offset is None or offset < 0:  # sent twice, and the broker no longer knows where it is
                self.lost.append(refusals.unplaced(self.destination, task.range.destination))
            elif offset < (task.range.begin if progress.next is None else progress.next):
                self.lost.append(refusals.another_log(self.destination, task.range, progress, offset))
            else:
                self.window.answer(since_last, time.monotonic())
                progress.places.update(dict.fromkeys(opened, offset))
                progress.next = offset + 1

        return landed

    def _commit(self) -> None:
        """End the transaction, with the progress of what it has moved."""
        self.transactions.flush(self.lost)
        if self.lost:
            raise self.lost[0]
        for task in self.moved.values():
            task.progress.throttled = self.transactions.throttled
        ranges = [task.range for task in self.moved.values()]
        self.held.check_owned(ranges)
        self.held.commit(ranges)
        self.moved.clear()

    def _too_large(self, task: _CopyTask, offset: int, length: int, setting: str) -> MigrationError:
        partition, job = task.range.destination, self.held.job
        limits = job.segments if setting == "segment.bytes" else job.largest
        return TopicUnsuitable(
            f"the record at source offset {offset} of {task.range.source} has {length:,} bytes, and {setting} is "
            f"{limits[partition.topic]:,}: it does not fit when it is compressed, either",
            cluster=str(self.destination),
            remedy=f"raise {setting} of the topic there, and run again: the copy goes on where it has ended",
            **partition._asdict(),
        )


def _batch(jobs: t.Iterable[Job]) -> int:
    """The most bytes that are sent as one batch; only a record that is larger by itself makes a larger one."""
    limits = [size for job in jobs for size in (*job.largest.values(), *job.segments.values())]
    return max(1, min(_BATCH, min(limits) * 9 // 10))


def written_timestamp(kind: int, timestamp: int) -> int:
    """What a copy writes for a record's timestamp, which message.timestamp() tells as kind and milliseconds.

    Times before 1970 stay. The client would take 0 for the time of writing.
    """
    return NO_TIMESTAMP if kind == TIMESTAMP_NOT_AVAILABLE else timestamp or _NEARLY_0
