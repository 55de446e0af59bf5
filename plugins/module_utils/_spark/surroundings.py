# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What a session changes around itself, and puts back: a folder, the process's output, environment variables, a timer."""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import os
import shutil
import signal
import stat
import sys
import tempfile
import threading
import time
import typing as t
from pathlib import Path

from .._model.errors import InvalidInput, MigrationError, RequirementMissing
from .._model.option_names import option_name
from .._model.progress import Say, silent

_PREFIX = "streamshift-spark-"
_LOCK = "lock"
_NEWBORN_SECONDS = 60.0  # between making a folder and its lock passes a moment
_ENDS_WITHIN = 10.0


@contextlib.contextmanager
def work_folder(directory: str | None, say: Say = silent) -> t.Iterator[Path]:
    """A folder of this session that only its user may read, removed in the end; also what killed ones have left.

    That is their folders, and processes of Java and Python that go on for a while. Temporary files that this process makes
    meanwhile come to lie in the folder, so that they go with it.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=directory))
    except OSError as exc:
        raise _unfit(directory or tempfile.gettempdir(), exc.strerror) from exc
    with open(folder / f".{_LOCK}", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # goes with the process, however it ends
        os.rename(lock.name, folder / _LOCK)  # so that nobody finds it before it is held
        before = tempfile.tempdir
        try:
            _remove_abandoned(folder, say)
            tempfile.tempdir = str(folder)  # where pyspark writes how to reach its Java process
            yield folder
        finally:
            tempfile.tempdir = before
            shutil.rmtree(folder, ignore_errors=True)


def check_work_directory(directory: str | None) -> None:
    """Raise InvalidInput when work_folder() would, as far as a look can tell."""
    if directory is not None and not os.access(directory, os.W_OK | os.X_OK):
        raise _unfit(directory, "it cannot be written" if os.path.isdir(directory) else "it is no directory")


def _unfit(directory: str, why: str | None) -> InvalidInput:
    return RequirementMissing(
        f"no folder can be made in {directory}",
        why=why,
        remedy=f"set work_directory in {option_name('spark')} to one that exists and can be written",
    )


def _remove_abandoned(ours: Path, say: Say) -> None:
    for folder in ours.parent.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # somebody else's, or gone meanwhile
            status = folder.lstat()  # a link may be anybody's, and lead anywhere
            if folder == ours or status.st_uid != os.getuid() or not stat.S_ISDIR(status.st_mode):
                continue
            if not (folder / _LOCK).exists():  # killed before it made the lock, or after it removed that
                if time.time() - status.st_mtime > _NEWBORN_SECONDS:
                    _remove(folder, say)
                continue
            with open(folder / _LOCK) as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(folder, say)


def _remove(folder: Path, say: Say) -> None:
    """First end what still works in the folder, and would make it anew."""
    if left := _processes(folder):
        say(f"ending {len(left)} {'process' if len(left) == 1 else 'processes'} of an earlier run that was killed")
        end_processes(folder)
    shutil.rmtree(folder, ignore_errors=True)


def end_processes(folder: Path) -> None:
    """Kill whatever a session with this folder has started."""
    end = time.monotonic() + _ENDS_WITHIN
    left = _processes(folder)
    while left and time.monotonic() < end:
        for process in left:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.02)
        left = _processes(folder)  # the first of Python's workers begets others


def _processes(folder: Path) -> list[int]:
    """Those of this user that a session with this folder has started, as far as Linux tells; see proc_pid_environ(5)."""
    process_ids = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # another user's, or gone meanwhile
            if process.stat().st_uid == os.getuid():
                variables = (process / "environ").read_bytes().split(b"\0")
                values = [
                    variable.partition(b"=")[2] for variable in variables if variable.startswith(b"SPARK_LOCAL_DIRS=")
                ]
                if any(os.path.basename(os.fsdecode(value)) == folder.name for value in values):
                    process_ids.append(int(process.name))
    return process_ids


@contextlib.contextmanager
def output_to(file: Path) -> t.Iterator[None]:
    """Have whatever this process and those that it starts print land in a file: a module's output is its result alone."""
    sys.stdout.flush()
    sys.stderr.flush()
    log = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    saved = os.dup(1), os.dup(2)
    os.dup2(log, 1)
    os.dup2(log, 2)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os.dup2(saved[0], 1)
        os.dup2(saved[1], 2)
        for descriptor in (log, *saved):
            os.close(descriptor)


def end_of(log: Path) -> str:
    """What was printed last; nothing where nothing was."""
    with contextlib.suppress(OSError):
        return log.read_text(errors="replace")[-20_000:]
    return ""


@contextlib.contextmanager
def environment(**values: str | None) -> t.Iterator[None]:
    """Set environment variables, or with None remove them, for as long as the block lasts."""
    before = {name: os.environ.get(name) for name in values}
    _set(values)
    try:
        yield
    finally:
        _set(before)


def _set(values: t.Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@contextlib.contextmanager
def import_path() -> t.Iterator[None]:
    """Where modules are looked for; the archive that Spark adds for the workers goes with the session."""
    before = list(sys.path)
    try:
        yield
    finally:
        sys.path[:] = before
        importlib.invalidate_caches()


@contextlib.contextmanager
def deadline(seconds: float, act: t.Callable[[], t.Any], too_late: t.Callable[[], MigrationError]) -> t.Iterator[None]:
    """Do something from another thread when the block takes longer, so that it fails, and raise too_late() then."""
    passed = threading.Event()

    def late() -> None:
        passed.set()
        act()

    timer = threading.Timer(seconds, late)
    timer.daemon = True
    timer.start()
    try:
        yield
    except Exception:
        if passed.is_set():
            raise too_late() from None
        raise
    finally:
        timer.cancel()
