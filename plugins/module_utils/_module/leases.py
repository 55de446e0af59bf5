# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Whether the lease on a directory is another run's, and which process holds its lock.

A run has several tasks, and the lock of each ends with it.
"""

from __future__ import annotations

import contextlib
import os
import socket

from .._migration.processes import has_ended, process_namespace, started
from .._model import history, lease, status
from .._model.documents import utc_text
from .._model.errors import Locked
from .._model.lease import OpenRun

VARIABLE = "STREAMSHIFT_KAFKA_LEASE"  # the environment of a run's tasks says which run it is
_OF_PLAN = "migrate", "plan", "apply", "sync", "cut_over"  # the phases that write nothing but the plan's groups


def check_lease(text: str, path: str, run: str | None) -> None:
    """Raise Locked for the lease of another run, and InvalidFile for a damaged one.

    text: of the lease file at path. run: Lease.run of this run; by default, what the environment says. The lease of a
    process of this machine that is gone counts no more. Of a process of another machine, nobody here can tell.
    """
    held = lease.from_json(text, path)
    if held.run == (run or os.environ.get(VARIABLE)) or is_stopped(held):
        return
    raise Locked(
        f"another run works in {os.path.dirname(path)} now",
        why=process_clause(held.process, held.host, held.started),
        remedy="wait until it has ended"
        if _is_local(held)
        else "wait until it has ended; if it was killed, or its machine or container is gone or was started again, "
        f"remove {path}",
    )


def is_stopped(held: lease.Lease) -> bool:
    """Is the process gone that holds a directory still? False where nobody here can tell."""
    return _is_local(held) and has_ended(held.process, held.ticks)


def open_run(text: str | None, path: str) -> OpenRun | None:
    """The run that has not ended, None where each has, or where it is this one. text: of the lease file at path, if any."""
    held = None if text is None else lease.from_json(text, path)
    if held is None or held.run == os.environ.get(VARIABLE):
        return None
    stopped = is_stopped(held) if _is_local(held) else None
    home = os.path.dirname(path)
    has_receipt = any(os.path.exists(os.path.join(home, file_name)) for file_name in history.RECEIPTS)
    process = process_clause(held.process, held.host, held.started) + (f" (phase {held.phase})" if held.phase else "")
    return OpenRun(home, process, stopped, has_receipt, held.phase in _OF_PLAN, held.phase == status.ROUNDS)


def _is_local(held: lease.Lease) -> bool:
    return (held.host, held.namespace) == (socket.gethostname(), process_namespace())


def holder(folder: str) -> str | None:
    """The process that holds a lock (flock) on a directory: its id, its machine and when it started, as a clause.

    None where nobody can tell: on other systems, for another user's process, or for one on another machine that shares
    the file system. Source: proc_locks(5), proc_pid_stat(5).
    """
    with contextlib.suppress(OSError, ValueError, IndexError):
        inode = os.stat(folder).st_ino
        with open("/proc/locks", encoding="ascii") as stream:
            rows = [line.split() for line in stream]
        for row in rows:
            # Number, kind, advisory, access, process, device and inode. Some file systems show another device here.
            if row[1] == "FLOCK" and row[5].rpartition(":")[2] == str(inode) and _has_open(row[4], folder):
                began = started(int(row[4]))
                if began is None:
                    return None
                return process_clause(int(row[4]), socket.gethostname(), began)
    return None


def process_clause(process: int, host: str, began: float | None) -> str:
    """Name a process by its id, its machine and when it started, in seconds of Unix time, if that is known."""
    since = "" if began is None else f", which started at {utc_text(began)}"
    return f"process {process} on {host}{since}"


def _has_open(process: str, folder: str) -> bool:
    """Has the process this very directory open?"""
    for name in os.listdir(f"/proc/{process}/fd"):
        with contextlib.suppress(OSError):
            if os.path.samefile(f"/proc/{process}/fd/{name}", folder):
                return True
    return False
