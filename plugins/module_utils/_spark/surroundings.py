# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What a session changes around itself, and puts back: a folder, the process's output, environment variables, a timer."""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import os
import shutil
import sys
import tempfile
import threading
import typing as t
from pathlib import Path

from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidInput

_PREFIX = "streamshift-spark-"
_LOCK = "lock"


@contextlib.contextmanager
def work_folder(directory: str | None) -> t.Iterator[Path]:
    """A folder of this session that only its user may read, removed in the end; also those that killed ones have left."""
    try:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=directory))
    except OSError as exc:
        raise _unfit(directory or tempfile.gettempdir(), exc.strerror) from exc
    with open(folder / _LOCK, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # goes with the process, however it ends
        try:
            _remove_abandoned(folder)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def check_work_directory(directory: str | None) -> None:
    """Raise InvalidInput when work_folder() would, as far as a look can tell."""
    if directory is not None and not os.access(directory, os.W_OK | os.X_OK):
        raise _unfit(directory, "it cannot be written" if os.path.isdir(directory) else "it is no directory")


def _unfit(directory: str, why: str | None) -> InvalidInput:
    return InvalidInput(
        f"no folder can be made in {directory}",
        why=why,
        remedy="set work_directory (spark.work_directory of the roles) to one that exists and can be written",
    )


def _remove_abandoned(ours: Path) -> None:
    for folder in ours.parent.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # somebody else's, or gone meanwhile
            if folder == ours or folder.stat().st_uid != os.getuid():
                continue
            with open(folder / _LOCK) as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)


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
def deadline(seconds: float, act: t.Callable[[], t.Any]) -> t.Iterator[threading.Event]:
    """Do something from another thread when the block takes longer; the event tells whether it was done."""
    passed = threading.Event()

    def late() -> None:
        passed.set()
        act()

    timer = threading.Timer(seconds, late)
    timer.daemon = True
    timer.start()
    try:
        yield passed
    finally:
        timer.cancel()
