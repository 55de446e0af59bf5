"""A module that runs in a process of its own, which begins its work at once, and can be killed or frozen with all it starts."""

import contextlib
import os
import signal
import tempfile
import time
import traceback
import typing as t
from pathlib import Path
from unittest import mock

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog import preconditions
from ansible_collections.streamshift.kafka.plugins.module_utils._records import record_copy, transactions
from ansible_collections.streamshift.kafka.plugins.modules import (
    kafka_backlog_copy,
    kafka_group_offsets,
    kafka_offset_commit,
    kafka_offset_translate,
    kafka_offset_verify,
)
from tests.support.forks import begin, context
from tests.support.modules import Result, run
from tests.support.processes import of_spark, python_workers
from tests.support.scanning import MARK
from tests.support.sparkless import sparkless

ROOT = Path(__file__).parents[2]
# Imported here, because that is the slow part of an attempt's start.
LOADED = (kafka_backlog_copy, kafka_group_offsets, kafka_offset_commit, kafka_offset_translate, kafka_offset_verify)
ENDS_WITHIN = 420.0  # seconds, on a machine that does much else, too; whatever takes longer hangs
# Without Spark, transactions are small, so that whatever dies does it in the middle of one, and time out soon.
TRANSACTION_SECONDS = 6
_SMALL: dict[str, t.Any] = {"_TAKEN": 20, "_RECORDS": 100, "_SECONDS": 0.1}


def prepare() -> None:
    """Start the process that all attempts are forked of, with everything imported."""
    context(__name__)


class Attempt:
    """One run of a module. spark: as users have it; else with threads instead of Spark's tasks, and short transactions.

    temporary: its folder for temporary files. Everything that it starts has the word in its environment.
    """

    def __init__(self, module: str, options: Result, *, spark: bool, word: str, temporary: Path, log: Path) -> None:
        self.word = word
        variables = {MARK: word, "TMPDIR": str(temporary)}
        self.began = time.monotonic()
        self.process, self._answers = begin(_main, module, options, spark, variables, str(log), loaded=[__name__])

    @property
    def pid(self) -> int:
        """Of the module's process."""
        assert self.process.pid
        return self.process.pid

    def running(self) -> bool:
        """Whether the module works still."""
        return bool(self.process.is_alive()) and not self._answers.poll()

    def java(self) -> list[int]:
        """Spark's Java processes."""
        return [each.pid for each in of_spark(self.word) if each.program.startswith("java")]

    def workers(self) -> list[int]:
        """Spark's Python workers."""
        return python_workers(self.word)

    def processes(self) -> list[int]:
        """The module and whatever it has started."""
        own = [self.pid] if self.process.is_alive() else []
        return own + [each.pid for each in of_spark(self.word)]

    def outcome(self) -> Result | None:
        """What the module says in the end; None where it was killed, or hangs and is killed therefore."""
        result: Result | None = None
        left = self.began + ENDS_WITHIN - time.monotonic()
        with contextlib.suppress(EOFError):
            if self._answers.poll(max(0.0, left)):
                result = self._answers.recv()
            else:
                result = {"failed": True, "msg": f"still running after {ENDS_WITHIN:.0f} s", "hangs": True}
                for pid in self.processes():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
        self.process.join(10)
        self._answers.close()
        return result


def _main(module: str, options: Result, spark: bool, variables: dict[str, str], log: str, answers: t.Any) -> None:
    os.environ.update(variables)
    tempfile.tempdir = None
    said = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(said, 1)
    os.dup2(said, 2)
    timeout = {**transactions._SETTINGS, "transaction.timeout.ms": TRANSACTION_SECONDS * 1000}
    with contextlib.ExitStack() as stack:
        if not spark:
            stack.enter_context(sparkless())
            stack.enter_context(
                mock.patch.object(preconditions, "obstacle", lambda _options: None)
            )  # asks Java for seconds
            stack.enter_context(mock.patch.multiple(record_copy, **_SMALL))
            stack.enter_context(mock.patch.object(transactions, "_SETTINGS", timeout))
        try:
            result = run(module, **options)
        except BaseException as exc:  # noqa: BLE001  what a module must not raise is a finding
            traceback.print_exc()
            result = {"failed": True, "msg": f"{type(exc).__name__}: {exc}", "exception": traceback.format_exc()}
    answers.send(result)
