# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What a cluster's workers are asked for before work is given to them, and how far they are with something long."""

from __future__ import annotations

import contextlib
import sys
import threading
import typing as t
from pathlib import Path

from .._model.errors import RequirementMissing, SparkFailed
from .._model.missing import RECORDS, unmet
from .._model.option_names import option_name
from .._model.progress import Say, silent
from . import spark_library
from .failures import known_failure
from .on_workers import values_of
from .surroundings import deadline, end_of

if t.TYPE_CHECKING:
    from .spark_library import SparkSession, StatusTracker

# Here pandas brings numpy along; there, nothing does.
_REQUIREMENTS = (*RECORDS, ("numpy", (1, 26), None))
_EVERY = 5.0  # seconds
_ENDS_WITHIN = 10.0
APPEAR_WITHIN = 180.0  # seconds; a busy cluster lets an application wait


def cores(spark: SparkSession, name: str, log: Path) -> int:
    """How many tasks run at a time, once a worker has shown that it has what reading takes.

    name: what the session calls itself. log: what the session has written. Raises RequirementMissing where the worker
    lacks something, and SparkFailed where none appears: Spark itself would wait for ever.
    """
    with deadline(APPEAR_WITHIN, spark.interruptAll, lambda: no_worker(name, log)):
        lacking = list(values_of(spark.range(0, 1, 1, 1), _lacking))
        parallel = spark.range(10_000).selectExpr("spark_partition_id()").distinct().count()
    if lacking:
        raise RequirementMissing(
            f"Spark workers lack required packages: {', '.join(lacking)}",
            cluster=name,
            remedy=f"install it there, or send an environment with archives in {option_name('spark')}",
        )
    return parallel


def no_worker(name: str, log: Path) -> SparkFailed:
    """No worker has appeared. A cluster manager that gives none for a reason has told it to the log."""
    return known_failure(end_of(log), name) or SparkFailed(
        f"the cluster has given no workers within {APPEAR_WITHIN:.0f} s",
        cluster=name,
        remedy="see whether it has free cores and memory, and whether its machines reach this one",
    )


def _lacking(_batches: object) -> list[str]:
    return [f"{clause} for {sys.executable}" for clause in unmet(_REQUIREMENTS)]


@contextlib.contextmanager
def watched_jobs(tracker: StatusTracker, say: Say, every: float = _EVERY) -> t.Iterator[None]:
    """Until the block ends, say every few seconds which part of the tasks of Spark's jobs is done.

    Only where it has changed.
    """
    if say is silent:
        yield
        return
    over = threading.Event()
    thread = threading.Thread(target=_watch, args=(tracker, say, every, over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(_ENDS_WITHIN)  # Java may not answer any more


def _watch(tracker: StatusTracker, say: Say, every: float, over: threading.Event) -> None:
    said = ""
    # Whoever waits for the job's result tells what has happened.
    with contextlib.suppress(spark_library.Py4JError, ConnectionError):
        while not over.wait(every):
            done, tasks = _tasks(tracker)
            line = f"Spark has done {100 * done // tasks} % of this step" if done else ""
            if line and line != said:
                say(line)
            said = line


def _tasks(tracker: StatusTracker) -> tuple[int, int]:
    """How many tasks of the running jobs are done, and how many there are."""
    jobs = [tracker.getJobInfo(number) for number in tracker.getActiveJobsIds()]
    numbers = {number for job in jobs if job is not None for number in job.stageIds}
    stages = [stage for stage in map(tracker.getStageInfo, sorted(numbers)) if stage is not None]
    return sum(stage.numCompletedTasks for stage in stages), sum(stage.numTasks for stage in stages)
