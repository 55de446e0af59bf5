# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Copies on Spark, and compares what a copy has written with the source: to rebuild its progress, or to verify it.

Each task has consumers in the Python worker; one that copies has a transactional producer for each of its jobs.
"""

from __future__ import annotations

import typing as t

from .._model.background import without_collecting
from .._model.backlog import BacklogRange
from .._model.connection import Connection
from .._model.copy_progress import Progress, progress_from_commits, progress_metadata
from .._model.errors import SparkFailed
from .._model.group_state import CommittedOffset
from .._model.option_names import option_name
from .._model.records import TopicPartition
from .._records.copied_so_far import LastGroup, open_readers, range_differences, rebuilt
from .._records.jobs import Job
from .._records.record_copy import copy_jobs
from .on_workers import dealt, on_workers
from .scan_job import parallel_tasks
from .shipping import portable

if t.TYPE_CHECKING:
    from .spark_library import SparkSession

# What the beginning of a partition costs, told in records.
_BEGINNING = 50


def check_speculation(spark: SparkSession) -> None:
    """Raise SparkFailed where a server may try a task of a copy twice at a time; an embedded session does not."""
    if str(spark.conf.get("spark.speculation", "false")).lower() == "true":
        raise SparkFailed(
            "spark.speculation is on at the Spark Connect server",
            why="a second attempt at a task would end the transactions of the first one",
            remedy=f"start the server without it; or leave remote out of {option_name('spark')}",
        )


def copy(spark: SparkSession, source: Connection, destination: Connection, jobs: t.Sequence[Job]) -> int:
    """Copy what is left of all jobs. -> how many records were copied, without what failed attempts have.

    A task that Spark tries again goes on where it has ended. Raises as on_workers(): Locked where another run has taken the
    copy over, Refused where its progress or a topic is another one. See also check_speculation().
    """
    portable_source, portable_destination = portable(source), portable(destination)

    def copy_share(share: t.Sequence[Job]) -> t.Iterator[int]:
        with without_collecting():
            copied = copy_jobs(portable_source, portable_destination, share)
        yield copied

    return sum(on_workers(spark, dealt_jobs(jobs, parallel_tasks(spark)), copy_share))


def dealt_jobs(jobs: t.Iterable[Job], tasks: int) -> list[list[Job]]:
    """The jobs of each task: the largest first, each to the task with the least to copy."""
    by_number = sorted(jobs, key=lambda job: job.number)
    return dealt(by_number, lambda job: sum(each.end - each.start + _BEGINNING for each in job.ranges), tasks)


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

    def rebuild_share(share: t.Sequence[tuple[int, tuple[BacklogRange, int]]]) -> t.Iterator[list[t.Any]]:
        ranges = [backlog_range for _number, backlog_range in share]
        for (number, (backlog_range, _end)), progress in zip(
            share, rebuilt(portable_source, portable_destination, ranges), strict=True
        ):
            yield [number, progress.position, progress_metadata(progress, backlog_range.boundaries)]

    ends_and_progress: dict[TopicPartition, tuple[int, Progress]] = {}
    shares = dealt(list(enumerate(lost)), lambda item: item[1][1] - item[1][0].begin, parallel_tasks(spark))
    for number, position, kept in on_workers(spark, shares, rebuild_share):
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
