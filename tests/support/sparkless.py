"""kafka_backlog_copy with threads instead of Spark's tasks: what it does on the brokers is the same, and it begins at once."""

import contextlib
import json
import typing as t
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog import copy_steps
from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import BacklogRange
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.copy_progress import Progress
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import Locked, MigrationError
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._records import record_copy as records
from ansible_collections.streamshift.kafka.plugins.module_utils._records.copied_so_far import rebuilt
from ansible_collections.streamshift.kafka.plugins.module_utils._records.jobs import Job
from ansible_collections.streamshift.kafka.plugins.module_utils._records.record_copy import copy_jobs
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.copy_job import dealt_jobs
from tests.support.forks import Forked
from tests.support.modules import run

TASKS = 2
TRANSACTION_SECONDS = 0.3  # at most: tests wait for the first one


def _copy(_spark: None, source: Connection, destination: Connection, jobs: t.Sequence[Job]) -> int:
    errors: list[MigrationError] = []

    def task(share: t.Sequence[Job]) -> int:
        try:
            return copy_jobs(source, destination, share)
        except MigrationError as exc:
            errors.append(exc)
            return 0

    with ThreadPoolExecutor(TASKS) as pool:
        copied = list(pool.map(task, dealt_jobs(jobs, TASKS)))
    if errors:
        raise next((each for each in errors if isinstance(each, Locked)), errors[0])
    return sum(copied)


def _rebuild(
    _spark: None, source: Connection, destination: Connection, lost: t.Sequence[tuple[BacklogRange, int]]
) -> dict[TopicPartition, tuple[int, Progress]]:
    found = rebuilt(source, destination, lost)
    return {each.destination: (end, progress) for (each, end), progress in zip(lost, found, strict=True)}


@contextlib.contextmanager
def sparkless() -> t.Iterator[None]:
    """Modules that are run in this block need no Spark to copy."""
    with (
        mock.patch.multiple(
            copy_steps,
            open_session=lambda _options: contextlib.nullcontext(mock.Mock()),
            check_speculation=lambda _spark: None,
            parallel_tasks=lambda _spark: TASKS,
            copy=_copy,
            rebuild=_rebuild,
        ),
        mock.patch.object(records, "_SECONDS", TRANSACTION_SECONDS),
    ):
        yield


def spawn(module: str, **options: t.Any) -> Forked:
    """The module in a process of its own, as tests.support.modules.spawn()."""
    return Forked(_said, module, options)


def _said(module: str, options: dict[str, t.Any]) -> str:
    with sparkless():
        return json.dumps(run(module, **options))
