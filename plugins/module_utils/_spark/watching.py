# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Say how far Spark is, while it works on something long."""

from __future__ import annotations

import contextlib
import threading
import typing as t

from .._model.progress import Say, silent
from . import spark_library

if t.TYPE_CHECKING:
    from .spark_library import StatusTracker

_EVERY = 5.0  # seconds
_ENDS_WITHIN = 10.0


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
