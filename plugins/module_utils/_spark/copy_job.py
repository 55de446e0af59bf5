# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Copies on Spark: each task has a consumer in the Python worker, and a transactional producer for each of its jobs."""

from __future__ import annotations

import json
import typing as t

from .._model.connection import Connection
from .._model.errors import SparkFailed
from .._model.garbage import without_collecting
from .._model.option_names import option_name
from .._records.jobs import Job
from .._records.record_copy import copy_jobs
from .on_workers import dealt, on_workers
from .scan_job import parallel_tasks
from .shipping import portable

if t.TYPE_CHECKING:
    from .spark_library import SparkSession

# What the beginning of a partition costs, told in records.
_BEGINNING = 50


def copy(spark: SparkSession, source: Connection, destination: Connection, jobs: t.Sequence[Job]) -> tuple[int, int]:
    """Copy what is left of all jobs. -> how many records and bytes were copied, without what failed attempts have.

    A task that Spark tries again goes on where it has ended. Raises as on_workers(): Locked where another run has taken the
    copy over, Refused where its progress or a topic is another one, SparkFailed where a server may try a task twice at a time.
    """
    if str(spark.conf.get("spark.speculation", "false")).lower() == "true":  # an embedded session has switched it off
        raise SparkFailed(
            "spark.speculation is on at the Spark Connect server",
            why="a second attempt at a task would end the transactions of the first one",
            remedy=f"start the server without it; or leave remote out of {option_name('spark')}",
        )
    portable_source, portable_destination = portable(source), portable(destination)

    def copy_share(share: t.Sequence[Job]) -> t.Iterator[str]:
        with without_collecting():
            copied = copy_jobs(portable_source, portable_destination, share)
        yield json.dumps(copied)

    copied = [json.loads(line) for line in on_workers(spark, dealt_jobs(jobs, parallel_tasks(spark)), copy_share)]
    return sum(records for records, _size in copied), sum(size for _records, size in copied)


def dealt_jobs(jobs: t.Iterable[Job], tasks: int) -> list[list[Job]]:
    """The jobs of each task: the largest first, each to the task with the least to copy."""
    by_number = sorted(jobs, key=lambda job: job.number)
    return dealt(by_number, lambda job: sum(each.end - each.start + _BEGINNING for each in job.ranges), tasks)
