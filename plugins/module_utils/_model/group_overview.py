# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What a cluster's groups look like to somebody who chooses which ones to migrate."""

from __future__ import annotations

import csv
import io
import re
import typing as t

from .cluster_identity import LogRange
from .group_lag import GroupLag, lag_members, lag_sum
from .group_state import GroupKind, GroupMember, GroupReading
from .known_names import GROUPS, ICEBERG_CONTROL, known
from .records import TopicPartition
from .selection import Selection
from .visible_text import table, unbroken, visible, visible_name
from .wording import first_of

_COLUMNS = ("group", "type", "what", "state", "members", "topics", "partitions", "lag", "movable", "why_not")
_CSV_COLUMNS = (*_COLUMNS, "expired", "wave")  # at the end, where they move no column of an earlier release
_NUMBERS = ("members", "partitions", "lag")
_USES = {GroupKind.SHARE: "share", GroupKind.CONNECT: "connect workers", GroupKind.OTHER: "other"}
# Where a spreadsheet may take the text of a cell for a formula: some programs begin a cell after each semicolon.
_FORMULA = re.compile('(?:^|(?<=;))(?="*[=+@-])')


class GroupOverview(t.NamedTuple):
    """One group of one cluster.

    members: None where nobody describes them, as for share groups or Connect. logs: where the logs of the partitions begin
    and end (high watermark) that the group has committed and that still exist. is_streams: of a Kafka Streams application.
    leaderless: partitions that the group has committed and whose logs are not known, because they have no leader now.
    """

    reading: GroupReading
    members: tuple[GroupMember, ...] | None
    logs: dict[TopicPartition, LogRange]
    is_streams: bool = False
    leaderless: tuple[TopicPartition, ...] = ()

    @property
    def topics(self) -> list[str]:
        """Topics that the group has committed offsets of, sorted."""
        return sorted({partition.topic for partition in self.reading.offsets})

    @property
    def lag(self) -> GroupLag | None:
        """Its lag on all partitions that still exist and have a leader; None without committed offsets there."""
        return lag_sum(map(self.partition_lag, self.reading.offsets))

    def partition_lag(self, partition: TopicPartition) -> GroupLag | None:
        """The same of one partition; None if the partition no longer exists, or has no leader now."""
        log = self.logs.get(partition)
        return None if log is None else GroupLag.of(self.reading.offsets[partition].offset, log)

    @property
    def what(self) -> str | None:
        """What uses the group, as far as its kind or its name tells; None for consumers, by all that one can see."""
        if self.is_streams:
            return "Kafka Streams"
        known_name = known(self.reading.group, GROUPS)
        if self.reading.kind is not GroupKind.CONSUMER:
            return self.reading.kind.value
        return known_name and known_name.whose

    @property
    def use(self) -> str:
        """What uses the group, in a word: application, streams, sink, tool, share, connect workers or other."""
        if self.is_streams:
            return "streams"
        if self.reading.kind in _USES:
            return _USES[self.reading.kind]
        if ICEBERG_CONTROL in self.topics:
            return "sink"
        known_name = known(self.reading.group, GROUPS)
        # A query of ksqlDB, for example, has a known name, and is an application all the same.
        if known_name is None or (not known_name.by_default and not known_name.keeps_positions):
            return "application"
        return "sink" if known_name.keeps_positions else "tool"

    @property
    def next_offsets(self) -> dict[TopicPartition, int]:
        """The first unconsumed offset that the log still has, of each partition where the group lags."""
        places = {
            partition: max(start, self.reading.offsets[partition].offset)
            for partition, (start, _end) in self.logs.items()
        }
        return {partition: place for partition, place in places.items() if place < self.logs[partition][1]}

    @property
    def expired(self) -> dict[TopicPartition, int]:
        """How many offsets expired before the group consumed them, of each partition where some did."""
        lags = {partition: self.partition_lag(partition) for partition in self.logs}
        return {partition: lag.expired for partition, lag in lags.items() if lag is not None and lag.expired}

    @property
    def why_not(self) -> str | None:
        """Why the group cannot be migrated now, None if it can. In the order in which an operator would meet the reasons."""
        reading = self.reading
        if reading.without_offsets is not None:
            return f"it {reading.without_offsets}"
        if not reading.offsets:
            return "it has no committed offsets"
        if not Selection().select_topics(self.topics).names:
            return "its topics are excluded by default: name the group to take them"
        if self.leaderless:
            names = first_of(list(map(str, self.leaderless)))
            return f"partitions that it has committed have no leader now: {names}"
        if not self.logs:
            return "all topics that it has committed are deleted"
        beyond = sorted(
            partition for partition, (_start, end) in self.logs.items() if reading.offsets[partition].offset > end
        )
        if beyond:
            partition = beyond[0]
            more = f", and {len(beyond) - 1} more" if beyond[1:] else ""
            offset, end = reading.offsets[partition].offset, self.logs[partition][1]
            return f"it has committed {offset} on {partition}, after the log's end {end}{more}"
        if reading.has_members:
            return "it is in use: stop its consumers first"
        return None

    def row(self) -> dict[str, t.Any]:
        """The group as a module returns it, without its partitions."""
        return {
            "group": self.reading.group,
            "type": self.reading.type,
            "what": self.what,
            "state": self.reading.state,
            "members": None if self.members is None else len(self.members),
            "topics": self.topics,
            "partitions": len(self.reading.offsets),
            **lag_members(self.lag),
            "movable": self.why_not is None,
            "why_not": self.why_not,
        }


def overview_table(groups: t.Sequence[GroupOverview]) -> list[str]:
    """A header and a line for each group, in columns."""
    return table(_COLUMNS, [_cells(group) for group in groups], _NUMBERS)


def overview_csv(groups: t.Sequence[GroupOverview], waves_of: t.Mapping[str, list[str]]) -> str:
    """The same as CSV, and the waves of each group: see spreadsheet()."""
    return spreadsheet(_CSV_COLUMNS, [{**group.row(), "wave": waves_of.get(group.reading.group)} for group in groups])


def spreadsheet(columns: t.Sequence[str], rows: t.Iterable[t.Mapping[str, t.Any]]) -> str:
    """Rows as CSV with a header (RFC 4180, line feeds), safe to open as a spreadsheet; unknown values are empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_FORMULA.sub("'", _cell(row[name], "")) for name in columns])
    return out.getvalue()


def _cells(group: GroupOverview) -> list[str]:
    """What is right of a cell stays in its line: only the last cell, and names, may have blanks."""
    row = {**group.row(), "what": unbroken(group.what or ""), "lag": group.lag and unbroken(str(group.lag))}
    row["topics"] = ",".join(map(visible_name, group.topics))
    return [_cell(row[name], "-") for name in _COLUMNS]


def _cell(value: t.Any, unknown: str) -> str:
    if value is None or value in ("", []):
        return unknown
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(visible_name(str(each)) for each in value) if isinstance(value, list) else visible(str(value))
