# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Compare what a copy has written with the source on Spark: to rebuild its progress, or to verify it."""

from __future__ import annotations

import json
import typing as t

from .._model.backlog import BacklogRange
from .._model.connection import Connection
from .._model.copy_progress import Progress, all_metadata, progress_from_commits
from .._model.group_state import CommittedOffset
from .._model.records import TopicPartition
from .._records.copied_so_far import LastGroup, open_readers, range_differences, rebuilt
from .on_workers import dealt, on_workers
from .scan_job import parallel_tasks
from .shipping import portable

if t.TYPE_CHECKING:
    from .spark_library import SparkSession


def rebuild(
    spark: SparkSession,
    source: Connection,
    destination: Connection,
    lost: t.Sequence[tuple[BacklogRange, int]],
) -> dict[TopicPartition, tuple[int, Progress]]:
    """For each range, which is given with where the destination's log ends: the same end, and its progress.

    Raises Refused where anything but the copy stands in a log from its begin on.
    """
    portable_source, portable_destination = portable(source), portable(destination)

    def rebuild_share(share: t.Sequence[tuple[int, tuple[BacklogRange, int]]]) -> t.Iterator[str]:
        ranges = [backlog_range for _number, backlog_range in share]
        for (number, (backlog_range, _end)), progress in zip(
            share, rebuilt(portable_source, portable_destination, ranges), strict=True
        ):
            yield json.dumps([number, progress.position, all_metadata(progress, backlog_range.boundaries)])

    ends_and_progress: dict[TopicPartition, tuple[int, Progress]] = {}
    shares = dealt(list(enumerate(lost)), lambda item: item[1][1] - item[1][0].begin, parallel_tasks(spark))
    for line in on_workers(spark, shares, rebuild_share):
        number, position, kept = json.loads(line)
        backlog_range, end = lost[number]
        commits = [None if text is None else CommittedOffset(position, text) for text in kept]
        ends_and_progress[backlog_range.destination] = end, progress_from_commits(backlog_range.start, commits)
    return ends_and_progress


class Compared(t.NamedTuple):
    """A range, where the source's log begins now, where the destination's ends, and which group goes on last."""

    range: BacklogRange
    start: int
    end: int
    last: LastGroup | None = None


def compare(
    spark: SparkSession, source: Connection, destination: Connection, wanted: t.Sequence[Compared]
) -> list[str]:
    """What of these ranges is not at the destination once and in order; see range_differences()."""
    portable_source, portable_destination = portable(source), portable(destination)

    def compare_share(share: t.Sequence[Compared]) -> t.Iterator[str]:
        with open_readers(portable_source, portable_destination) as readers:
            for compared in share:
                yield from range_differences(*readers, compared.range, compared.start, compared.end, compared.last)

    shares = dealt(wanted, lambda compared: compared.end - compared.range.begin, parallel_tasks(spark))
    return sorted(on_workers(spark, shares, compare_share))
