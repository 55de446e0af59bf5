# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Who holds the lock on a directory, as far as Linux tells without a file of its own."""

from __future__ import annotations

import contextlib
import os
import socket
import time


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
                started = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(_started(row[4])))
                return f"process {row[4]} on {socket.gethostname()}, which started at {started}"
    return None


def _has_open(process: str, folder: str) -> bool:
    """Has the process this very directory open?"""
    for name in os.listdir(f"/proc/{process}/fd"):
        with contextlib.suppress(OSError):
            if os.path.samefile(f"/proc/{process}/fd/{name}", folder):
                return True
    return False


def _started(process: str) -> float:
    """When a process started, in seconds of Unix time."""
    with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as stream:
        ticks = int(stream.read().rpartition(")")[2].split()[19])  # field 22; the name before it may hold anything
    with open("/proc/stat", encoding="ascii") as stream:
        booted = next(int(line.split()[1]) for line in stream if line.startswith("btime "))
    return booted + ticks / os.sysconf("SC_CLK_TCK")
