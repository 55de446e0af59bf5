# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What a login sees of all topics of a cluster, and a few records of them; what it may not see fails nothing."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import typing as t

from .._control import permissions, topics
from .._control.positions import Bounds, bounds_as_far_as_known
from .._control.schema_registry import SubjectId, schema_ids
from .._control.topics import TopicSettings
from .._model.connection import Connection
from .._model.errors import LogChanged, MigrationError
from .._model.grouping import chunks, values_by_key
from .._model.known_names import TOPICS, known
from .._model.records import NO_TIMESTAMP, TopicPartition, every_partition
from .._model.risks import Risk, RiskKind
from .._model.wording import counted, first_of
from .._records import range_reader, tables
from .._records.scanning import Range

T = t.TypeVar("T")

_PATIENCE = 30.0  # seconds for partitions without leaders
_SAMPLED_PARTITIONS = 3  # of each topic
_SAMPLED_OFFSETS = 10  # before the end of each of them
_AT_A_TIME = 500  # partitions that are assigned to a consumer
_NEXT_OFFSETS = 10  # in which the next record is looked for: compaction and transactions leave offsets without one
_READ_WITHIN = 60.0  # seconds, for next records
MOST_TIMES = 5000  # partitions of which the next record is read, those with the largest lag


@dataclasses.dataclass(slots=True)
class ClusterTopics:
    """partitions: how many each topic has. bounds: of the partitions that have a leader. settings: as far as they are told.

    unreadable: topics without ACL READ. risks: what is not visible.
    """

    partitions: dict[str, int]
    bounds: dict[TopicPartition, Bounds]
    settings: dict[str, TopicSettings]
    unreadable: frozenset[str]
    risks: list[Risk]

    def offsets(self, topic: str) -> int:
        """Offsets in the logs of a topic, from their starts to their ends."""
        logs = [self.bounds[at] for at in every_partition({topic: self.partitions[topic]}) if at in self.bounds]
        return sum(log.high_watermark - log.log_start for log in logs)


@contextlib.contextmanager
def or_risk(risks: list[Risk], what: str) -> t.Iterator[None]:
    """A block that may fail to read something: then that is a risk. what: cannot be done, as a sentence without its end."""
    try:
        yield
    except MigrationError as exc:
        risks.append(Risk(RiskKind.NOT_VISIBLE, f"{what}: {exc}"))


def read_topics(connection: Connection, is_meant: t.Callable[[str], bool], reads_records: bool) -> ClusterTopics:
    """The topics that are meant, as far as the login may describe them. reads_records: whether ACL READ is missed, too."""
    described = topics.describe_topics(connection, [name for name in topics.list_topics(connection) if is_meant(name)])
    partitions = {name: description.partitions for name, description in described.items() if description.error is None}
    every = every_partition(partitions)
    _cluster, bounds = bounds_as_far_as_known(connection, every, _PATIENCE) if every else ("", {})
    missing = permissions.missing_acls(connection, reads_topics=partitions)
    unset, unreadable = topics_without("DESCRIBE_CONFIGS", missing), topics_without("READ", missing)
    hidden = {name for name in unreadable if not name.startswith("__")}  # records of Kafka's own topics tell nothing
    unseen = []
    if unset:
        unseen.append(f"Settings of {_some(unset)} are hidden: grant ACL TOPIC DESCRIBE_CONFIGS.")
    if hidden and reads_records:
        unseen.append(f"Records of {_some(hidden)} are hidden: grant ACL TOPIC READ.")
    if len(bounds) < len(every):
        leaderless = counted(len(every) - len(bounds), "partition")
        unseen.append(f"{leaderless} had no leader, so that their logs are not known.")
    seen = ClusterTopics(partitions, bounds, {}, unreadable, [Risk(RiskKind.NOT_VISIBLE, detail) for detail in unseen])
    with or_risk(seen.risks, "Settings of topics could not be read"):
        seen.settings = topics.of_existing(
            connection, partitions.keys() - unset, functools.partial(topics.topic_settings, connection)
        )
    return seen


def next_times(
    connection: Connection, seen: ClusterTopics, wanted: t.Mapping[TopicPartition, t.Mapping[int, int]]
) -> dict[tuple[TopicPartition, int], int]:
    """The timestamp (ms since the epoch) of the first record from each of these offsets on, where one follows closely.

    wanted: offsets with the lag of their group, by partition. Of MOST_TIMES partitions at most.
    """
    readable = [
        partition for partition in wanted if partition in seen.bounds and partition.topic not in seen.unreadable
    ]
    readable.sort(key=lambda partition: -max(wanted[partition].values()))
    asked = {partition: wanted[partition] for partition in readable[:MOST_TIMES]}
    if readable[MOST_TIMES:]:
        detail = f"The next record was read on the {MOST_TIMES} partitions with the largest lag only."
        seen.risks.append(Risk(RiskKind.NOT_VISIBLE, detail))

    def read(names: t.Container[str]) -> dict[TopicPartition, list[range_reader.RangeRead]]:
        left = {at: _next_spans(offsets, seen.bounds[at]) for at, offsets in asked.items() if at.topic in names}
        return range_reader.read_ranges(connection, left, deadline=_READ_WITHIN)

    stamps: dict[tuple[TopicPartition, int], int] = {}
    with or_risk(seen.risks, "Next records could not be read"):
        answers = _of_what_is_left(connection, seen, asked, read)
        stamps = {
            (partition, answer.start): answer.records[0].timestamp
            for partition, reads in answers.items()
            for answer in reads
            if answer.records and answer.records[0].timestamp != NO_TIMESTAMP
        }
    firsts = {
        (partition, offset): (partition, max(offset, seen.bounds[partition].log_start))
        for partition, offsets in asked.items()
        for offset in offsets
    }
    return {place: stamps[first] for place, first in firsts.items() if first in stamps}


def _of_what_is_left(
    connection: Connection,
    seen: ClusterTopics,
    partitions: t.Collection[TopicPartition],
    read: t.Callable[[t.Collection[str]], T],
) -> T:
    """As topics.of_existing(). If records have expired since the bounds in seen were read, these are read again, once."""
    names = {partition.topic for partition in partitions}
    try:
        return topics.of_existing(connection, names, read)
    except LogChanged:
        seen.bounds.update(bounds_as_far_as_known(connection, partitions, _PATIENCE)[1])
        return topics.of_existing(connection, names, read)


def _next_spans(offsets: t.Iterable[int], bounds: Bounds) -> list[tuple[int, int]]:
    """Where next records are looked for. bounds: as they are now; what was at an offset may have expired since it was read."""
    starts = sorted({max(offset, bounds.log_start) for offset in offsets})
    return [(start, min(start + _NEXT_OFFSETS, bounds.end)) for start in starts if start < bounds.end]


def sampled_schema_ids(connection: Connection, seen: ClusterTopics) -> dict[str, list[SubjectId]]:
    """The ids of schemas in the last records of each topic that is no tool's, by topic; topics without any are left out."""
    sampled: list[TopicPartition] = []
    for topic, count in seen.partitions.items():
        if topic in seen.unreadable or known(topic, TOPICS) is not None:
            continue
        logs = [(at, seen.bounds[at]) for at in every_partition({topic: count}) if at in seen.bounds]
        sampled += [at for at, log in logs if log.log_start < log.end][:_SAMPLED_PARTITIONS]

    def read(part: t.Collection[TopicPartition], names: t.Container[str]) -> list[tables.StoredRecord]:
        logs = [(at, seen.bounds[at]) for at in part if at.topic in names]
        ranges = [Range(at, max(log.log_start, log.end - _SAMPLED_OFFSETS), log.end) for at, log in logs]
        return tables.read_records(connection, ranges, True, tables.SAMPLING)

    records = []
    with or_risk(seen.risks, "Records could not be sampled for ids of schemas"):
        for part in chunks(sampled, _AT_A_TIME):
            records += _of_what_is_left(connection, seen, part, functools.partial(read, part))
    contents = values_by_key((record.partition.topic, record) for record in records)
    ids = {
        topic: dict.fromkeys(schema_ids(record.key for record in rows), f"{topic}-key")
        | dict.fromkeys(schema_ids(record.value for record in rows), f"{topic}-value")
        for topic, rows in contents.items()
    }
    return {topic: [SubjectId(*item) for item in sorted(its.items())] for topic, its in ids.items() if its}


def topics_without(operation: str, missing: t.Iterable[str]) -> frozenset[str]:
    """The topics for which this ACL is missing. missing: as missing_acls() says it."""
    begin = f"TOPIC {operation} on "
    return frozenset(acl.removeprefix(begin) for acl in missing if acl.startswith(begin))


def _some(names: t.Collection[str]) -> str:
    return f"{counted(len(names), 'topic')} ({first_of(sorted(names))})"
