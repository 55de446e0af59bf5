"""Attempts to copy, each in a process of its own, that are killed or frozen: at a chosen step, or by the test at any moment.

As a program: ``python -m tests.support.killing MODULE FUNCTION < options.json`` runs a module that dies where it calls
FUNCTION.
"""

import collections
import functools
import json
import os
import signal
import subprocess
import sys
import threading
import time
import typing as t
import uuid
from pathlib import Path
from unittest import mock

from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.copy_progress import Progress, Run
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import MigrationError
from ansible_collections.streamshift.kafka.plugins.module_utils._records import record_copy, transactions
from ansible_collections.streamshift.kafka.plugins.module_utils._records.claiming import Claimed, claim
from ansible_collections.streamshift.kafka.plugins.module_utils._records.confluent_library import Producer
from ansible_collections.streamshift.kafka.plugins.module_utils._records.jobs import Job
from testbed.clients import until
from tests.support.forks import begin

ROOT = Path(__file__).parents[2]
SECONDS = 60.0
CALLS = (
    "init_transactions",
    "begin_transaction",
    "produce",
    "flush",
    "send_offsets_to_transaction",
    "commit_transaction",
)
# So small that whatever dies does it in the middle of something.
SMALL: dict[str, t.Any] = {"_TAKEN": 20, "_RECORDS": 100, "_SECONDS": 0.05}
_BEGUN = "begun"
_DURING_SECONDS = 0.002


class Step(t.NamedTuple):
    """Where an attempt stops by itself: before, during or after the so-manieth call of a method of its producer."""

    call: str
    when: str
    nth: int = 1
    by: signal.Signals = signal.SIGKILL


class Attempt:
    """A run that has claimed a copy, and a begun attempt to copy it in small transactions."""

    def __init__(self, source: Connection, destination: Connection, jobs: list[Job], step: Step | None = None) -> None:
        self.process, self._said = begin(_copy, source, destination, jobs, step)

    def begun(self) -> None:
        """Wait until it has begun its first transaction."""
        said = self._said.recv()
        assert said == _BEGUN, said

    def kill(self) -> bool:
        """Kill it; False when it has ended before."""
        self.process.kill()
        return self.died()

    def died(self) -> bool:
        """Wait for its end. Was it killed?"""
        self.process.join(SECONDS)
        return self.process.exitcode == -signal.SIGKILL

    def frozen(self) -> None:
        """Wait until it has frozen itself."""
        stat = Path(f"/proc/{self.process.pid}/stat")
        until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T", pause=0.01)

    def thaw(self) -> None:
        """Let it go on."""
        assert self.process.pid
        os.kill(self.process.pid, signal.SIGCONT)

    def outcome(self) -> t.Any:
        """How many records it has copied, or what it says why it has not."""
        while (said := self._said.recv()) == _BEGUN:
            pass
        self.process.join(SECONDS)
        assert self.process.exitcode == 0
        return said


def dies_in(function: str, module: str, **options: t.Any) -> None:
    """Run a module that kills itself where it calls a function, which is named as for mock.patch()."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.killing", module, function],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / '.ansible/collections'}:{ROOT}", "PYTHONWARNINGS": "ignore"},
        input=json.dumps(options),
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stdout


def dies_copying(function: str) -> t.Callable[..., None]:
    """The same for kafka_backlog_copy, and a function of a file of its use case."""
    room = "ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog"
    return functools.partial(dies_in, f"{room}.{function}")


def _copy(source: Connection, destination: Connection, jobs: list[Job], step: Step | None, answers: t.Any) -> None:
    calls = collections.Counter[str]()

    def stumbling(name: str) -> t.Callable[..., t.Any]:
        its = getattr(Producer, name)

        def called(self: Producer, *args: t.Any, **keywords: t.Any) -> t.Any:
            calls[name] += 1
            here = step is not None and (step.call, step.nth) == (name, calls[name])
            when, by = (step.when, step.by) if step is not None and here else (None, signal.SIGKILL)
            if name == "begin_transaction" and calls[name] == 1:
                answers.send(_BEGUN)
            if when == "before":
                os.kill(os.getpid(), by)
            if when == "during":
                threading.Timer(_DURING_SECONDS, os.kill, (os.getpid(), by)).start()
            result = its(self, *args, **keywords)
            if when == "after":
                os.kill(os.getpid(), by)
            return result

        return called

    run = Run(uuid.uuid4().hex, "here", os.getpid(), int(time.time()))
    mine = [job._replace(run=run) for job in jobs]
    ranges = [each for job in jobs for each in job.ranges]
    starts = {each.destination: each.start for each in ranges}
    claim(
        destination, jobs[0].name, jobs[0].groups, ranges, run,
        lambda kept: Claimed({where: progress or Progress(starts[where]) for where, progress in kept.items()}, True),
    )  # fmt: skip
    stumbler = type("Stumbler", (Producer,), {name: stumbling(name) for name in CALLS})
    with mock.patch.multiple(record_copy, **SMALL), mock.patch.object(transactions, "Producer", stumbler):
        try:
            records = record_copy.copy_jobs(source, destination, mine)
        except MigrationError as exc:
            answers.send(str(exc))
        else:
            answers.send(records)


if __name__ == "__main__":
    from tests.support.modules import run

    def die(*_args: t.Any, **_keywords: t.Any) -> t.NoReturn:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("still alive")

    with mock.patch(sys.argv[2], die):
        print(json.dumps(run(sys.argv[1], **json.load(sys.stdin))))
