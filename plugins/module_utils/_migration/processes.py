# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Processes of this machine, as far as Linux tells."""

from __future__ import annotations

import contextlib
import os

_ENDED = ("Z", "X")  # a zombie has ended


def started(process: int) -> float | None:
    """When a process started, in seconds of Unix time; None where there is none, or nobody can tell.

    Source: proc_pid_stat(5).
    """
    ticks = start_ticks(process)
    with contextlib.suppress(OSError, ValueError, IndexError, StopIteration):
        with open("/proc/stat", encoding="ascii") as stream:
            booted = next(int(line.split()[1]) for line in stream if line.startswith("btime "))
        if ticks is not None:
            return booted + ticks / os.sysconf("SC_CLK_TCK")
    return None


def start_ticks(process: int) -> int | None:
    """When a process started, in clock ticks since the machine booted: no change of the clock changes it. None as above."""
    state, ticks = _stat(process) or ("X", None)
    return None if state in _ENDED else ticks


def has_ended(process: int, ticks: int | None) -> bool:
    """Whether the process of this id that started at these ticks is gone; False where nobody can tell.

    ticks: None where they are not known. A process of the same id that started at another time is another one.
    """
    try:
        os.kill(process, 0)  # sends nothing
    except ProcessLookupError:
        return True
    except PermissionError:  # another user's
        pass
    stat = _stat(process)
    return stat is not None and (stat[0] in _ENDED or (ticks is not None and stat[1] != ticks))


def process_namespace() -> str | None:
    """Within which the ids of processes are unique, on this machine since it booted; None where nobody can tell.

    The first namespace of every machine has the same number, and machines of one image may have the same host name: hence the
    id of the boot. Sources: pid_namespaces(7), random(4).
    """
    with contextlib.suppress(OSError):
        namespace = os.readlink("/proc/self/ns/pid")
        with contextlib.suppress(OSError), open("/proc/sys/kernel/random/boot_id", encoding="ascii") as stream:
            return f"{namespace}@{stream.read().strip()}"
        return namespace
    return None


def _stat(process: int) -> tuple[str, int] | None:
    """The state of a process and its start in clock ticks, fields 3 and 22; None where nobody can tell."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as stream:
            fields = stream.read().rpartition(")")[2].split()  # the name before it may hold anything
        return fields[0], int(fields[19])
    return None
