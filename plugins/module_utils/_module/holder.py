# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Who holds the lock on a directory, as far as Linux tells without a file of its own."""

from __future__ import annotations

import contextlib
import os
import socket

from .._migration.processes import started
from .._model.documents import utc_text


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
    clause = f"process {process} on {host}"
    if began is None:
        return clause
    return f"{clause}, which started at {utc_text(began)}"


def _has_open(process: str, folder: str) -> bool:
    """Has the process this very directory open?"""
    for name in os.listdir(f"/proc/{process}/fd"):
        with contextlib.suppress(OSError):
            if os.path.samefile(f"/proc/{process}/fd/{name}", folder):
                return True
    return False
