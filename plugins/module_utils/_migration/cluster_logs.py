# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What use cases read of one cluster's logs: edges, time look-ups and records, each for many partitions at once."""

from __future__ import annotations

import dataclasses
import functools
import typing as t

from .._control import admin_client, positions, topics
from .._control.topics import TopicSettings
from .._matching.evidence import Log, LogFacts, Span, all_united, within
from .._model.background import at_once
from .._model.connection import Connection
from .._model.errors import LogChanged
from .._model.grouping import values_by_key
from .._model.match_on import EVERYTHING, MatchOn
from .._model.progress import Say
from .._model.records import TopicPartition
from .._records import range_reader

_Found = t.TypeVar("_Found")


@dataclasses.dataclass(slots=True)
class ClusterLogs:
    """One cluster and what was read of it.

    match_on: what fingerprints are made of. with_open: what open transactions hide is read, too, as it is at the source (see
    Log). records_read: how many were read, some of them more than once. predicted: partitions that the cluster does not have
    yet: nothing is asked about them, and their logs are empty.
    """

    connection: Connection
    match_on: MatchOn = EVERYTHING
    with_open: bool = False
    logs: dict[TopicPartition, Log] = dataclasses.field(default_factory=dict)
    records_read: int = 0
    predicted: frozenset[TopicPartition] = frozenset()

    def learn(self, partitions: t.Collection[TopicPartition]) -> None:
        """Read the edges of partitions, for the first time or again. What still holds of what was read is kept: see Log."""
        for partition in self.predicted.intersection(partitions):
            self.logs.setdefault(partition, Log(LogFacts(0, 0, 0), self.with_open))
        partitions = set(partitions) - self.predicted
        settings, all_bounds = at_once(
            lambda: topics.topic_settings(self.connection, sorted({partition.topic for partition in partitions})),
            lambda: positions.partition_bounds(self.connection, sorted(partitions)),
        )
        # Where brokers tell no settings, what is assumed makes offsets safe rather than exact, and excuses nothing.
        unknown = TopicSettings(log_append_time=not self.with_open, compacted=self.with_open, retention_ms=None)
        for partition, bounds in all_bounds.items():
            topic_settings = settings.get(partition.topic, unknown)
            # They are read one after the other, and the log may have moved in between.
            end = max(bounds.log_start, bounds.end)
            facts = LogFacts(
                bounds.log_start,
                end,
                max(end, bounds.high_watermark),
                log_append_time=topic_settings.log_append_time,
                compacted=topic_settings.compacted,
                retention_ms=topic_settings.retention_ms,
            )
            self.logs.setdefault(partition, Log(facts, self.with_open)).learn(facts)

    def learn_starts(self, partitions: t.Collection[TopicPartition]) -> bool:
        """Read again where these logs start, and say whether one of them starts later now.

        What has expired since they were learned may be missing in what was read, or cannot be read any more. Whoever reads
        again while this is so comes to an end, because no log is taken to start after its known end. What an open transaction
        had hidden may have expired as well, if the transaction has ended since.
        """
        partitions = set(partitions) - self.predicted
        later = False
        for partition, bounds in positions.partition_bounds(self.connection, sorted(partitions)).items():
            log = self.logs[partition]
            start = max(log.facts.log_start, min(bounds.log_start, log.facts.high_watermark))
            later = later or start > log.facts.log_start
            log.learn(dataclasses.replace(log.facts, log_start=start, end=max(log.facts.end, start)))
        return later

    def look_up(self, times: t.Iterable[tuple[TopicPartition, int]]) -> None:
        """Ask for the first offset at or after each timestamp, unless it is known, or no broker would tell (see Log)."""
        asked = []
        for partition, time in times:
            if partition in self.predicted:
                self.logs[partition].lookups[time] = None
            elif not self.logs[partition].knows(time):
                asked.append((partition, time))
        refused: set[TopicPartition] = set()
        for (partition, time), offset in positions.lookup_all_times(self.connection, asked, refused).items():
            self.logs[partition].lookups[time] = offset
        for partition in refused:
            self.logs[partition].untimed = True

    def read(self, spans: t.Iterable[tuple[TopicPartition, Span]], committed: bool = True) -> None:
        """Read what is missing of these spans of the logs, as a read_committed or read_uncommitted consumer sees it.

        After the last stable offset, which logs only reach with_open, everything is read uncommitted. If retention deletes
        records before they are read, it learns again where the logs start, and reads what is left. Raises LogChanged where a
        log has changed in another way.
        """
        wanted = values_by_key(dict.fromkeys(spans))
        while True:
            try:
                self._read(wanted, committed)
            except LogChanged:
                if not self.learn_starts(wanted.keys()):
                    raise
            else:
                return

    def _read(self, spans: t.Mapping[TopicPartition, t.Iterable[Span]], committed: bool) -> None:
        stable: dict[TopicPartition, list[Span]] = {}
        hidden: dict[TopicPartition, list[Span]] = {}
        for partition, wanted in spans.items():
            log = self.logs[partition]
            missing = [part for span in wanted for part in log.unread(*span, uncommitted=not committed)]
            split = log.facts.end if committed else log.end
            stable[partition], hidden[partition] = within(missing, (0, split)), within(missing, (split, log.end))
        may_differ = self.match_on.headers_may_differ
        for ranges, is_committed in ((hidden, False), (stable, committed)):
            wanted_ranges = {partition: all_united(own) for partition, own in ranges.items() if own}
            if not wanted_ranges:
                continue
            answers = range_reader.read_ranges(
                self.connection, wanted_ranges, committed=is_committed, parts=self.match_on.fingerprinted
            )
            for partition, reads in answers.items():
                log = self.logs[partition]
                for start, end, seen in reads:
                    self.records_read += len(seen)
                    records = seen if may_differ else [record._replace(bare=record.fingerprint) for record in seen]
                    (log.add if committed else log.add_uncommitted)((start, end), records)


def expect_reading(expect: t.Callable[[Connection], None], *connections: Connection) -> None:
    """Let each cluster's consumer connect while other questions are asked, as soon as its login is known to be right.

    expect: begins that, such as range_reader.expect_ranges().
    """
    for connection in connections:
        admin_client.once_let_in(connection, functools.partial(expect, connection))


def learn_both(
    source: ClusterLogs,
    originals: t.Collection[TopicPartition],
    destination: ClusterLogs,
    copies: t.Collection[TopicPartition],
) -> None:
    """Read the edges of these partitions of both clusters, the destination's first.

    Records go on arriving. What the destination had at its end is then there at the source, too; the other way round, what
    arrives in between would make the source look shorter than it is.
    """
    destination.learn(copies)
    source.learn(originals)


def while_records_expire(
    read: t.Callable[[], _Found],
    source: ClusterLogs,
    originals: t.Collection[TopicPartition],
    destination: ClusterLogs,
    copies: t.Collection[TopicPartition],
    say: Say,
    prepare: t.Callable[[], None] = lambda: None,
) -> _Found:
    """What read() finds by other means than ClusterLogs.read(): Spark, or a scan.

    As long as retention deletes what it is about to read of these partitions, prepare() and then read() are called again.
    """
    while True:
        try:
            return read()
        except LogChanged:
            # Both are asked, whatever the first one says.
            if not any([source.learn_starts(originals), destination.learn_starts(copies)]):
                raise
            say("reading again, because records have expired meanwhile")
            prepare()
