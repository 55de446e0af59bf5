# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Processes of this machine, as far as Linux tells."""

from __future__ import annotations

import contextlib
import os


def started(process: int) -> float | None:
    """When a process started, in seconds of Unix time; None where there is none, or nobody can tell.

    Source: proc_pid_stat(5).
    """
    with contextlib.suppress(OSError, ValueError, IndexError, StopIteration):
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as stream:
            fields = stream.read().rpartition(")")[2].split()  # the name before it may hold anything
        with open("/proc/stat", encoding="ascii") as stream:
            booted = next(int(line.split()[1]) for line in stream if line.startswith("btime "))
        if fields[0] not in ("Z", "X"):  # a zombie has ended
            return booted + int(fields[19]) / os.sysconf("SC_CLK_TCK")  # field 22
    return None
