"""Processes that are forked of one that has loaded the collection's modules: to import them is the slow part of a start."""

import multiprocessing
import os
import signal
import typing as t
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).parents[2]
LOADED = ("tests.support.killing", "tests.support.sparkless")


def context(*loaded: str) -> ForkServerContext:
    """Where processes are forked. loaded: modules that the first call has imported, besides those that most tests need."""
    found = multiprocessing.get_context("forkserver")
    if forkserver._forkserver._forkserver_pid is None:  # type: ignore[attr-defined]
        found.set_forkserver_preload([*LOADED, *loaded])
        path = f"{ROOT / '.ansible/collections'}:{ROOT}"
        with mock.patch.dict(os.environ, PYTHONPATH=path, PYTHONWARNINGS="ignore"):
            forkserver.ensure_running()
    return found


def begin(
    target: t.Callable[..., None], *args: t.Any, loaded: t.Sequence[str] = ()
) -> tuple[ForkServerProcess, Connection]:
    """A process that does this, and our end of a pipe, of which the target is given the other one as its last argument."""
    forks = context(*loaded)
    said, answers = forks.Pipe(duplex=False)
    process = forks.Process(target=target, args=(*args, answers), daemon=True)
    process.start()
    answers.close()
    return process, said


class Forked:
    """A process with those methods of subprocess.Popen that tests use. What the target returns comes from stdout."""

    def __init__(self, target: t.Callable[..., str], *args: t.Any) -> None:
        self._process, said = begin(_run, target, args, dict(os.environ))
        self.stdout: t.IO[str] = os.fdopen(os.dup(said.fileno()))
        said.close()

    @property
    def pid(self) -> int:
        """Of the process."""
        assert self._process.pid
        return self._process.pid

    def poll(self) -> int | None:
        """Its exit code; None while it runs."""
        return self._process.exitcode

    def wait(self) -> int:
        """Its exit code, when it has ended."""
        self._process.join()
        assert self._process.exitcode is not None
        return self._process.exitcode

    def kill(self) -> None:
        """kill -9."""
        self._process.kill()


def _run(target: t.Callable[..., str], args: t.Any, variables: dict[str, str], answers: t.Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(variables)
    with os.fdopen(os.dup(answers.fileno()), "w") as output:
        answers.close()
        output.write(target(*args))
