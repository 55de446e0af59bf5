# SPDX-License-Identifier: GPL-3.0-or-later

"""Processes that outlive their starter, free ports, and the question whether a broker is ready."""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import socket
import struct
import subprocess
import time
import typing as t
from pathlib import Path

from sandbox_java import SandboxError

Answer = t.TypeVar("Answer")

PROC = Path("/proc")  # systems other than Linux have none, and are asked by ps
LOWEST_PORT, HIGHEST_PORT = 20000, 32768
# Kafka 4 always complains about its logging ("Reconfiguration failed"): that is no reason for anything.
REASON = re.compile(r"^(?!.*Reconfiguration failed).*(Exception|Caused by|ERROR|FATAL|Error: )")
METADATA, METADATA_VERSION = 3, 2  # the first version with a cluster id; 0.10 and 4.x answer it


class Process(t.NamedTuple):
    """A started program. word is an argument that no other program has: its configuration's path."""

    pid: int
    word: str


class Metadata(t.NamedTuple):
    """Of a cluster: its id, and how many of its brokers are alive."""

    cluster_id: str
    brokers: int


_children: dict[int, subprocess.Popen[bytes]] = {}


def spawn(command: list[str], word: str, log: Path) -> Process:
    """Start a program in a session of its own; what it says is appended to log."""
    with log.open("ab") as out:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
    _children[child.pid] = child
    return Process(child.pid, word)


def alive(process: Process) -> bool:
    """False for a pid that meanwhile belongs to another program, and for one that has ended."""
    if (child := _children.get(process.pid)) is not None:
        return child.poll() is None  # while it begins, its command line is empty for a moment
    return process.word in _arguments(process.pid)


def configured_below(folder: Path) -> list[Process]:
    """Whatever runs with a configuration from there: a broker whose folder is gone, MirrorMaker, Connect, YARN."""
    found = [(pid, word) for pid in _pids() for word in _arguments(pid) if word.endswith((".properties", ".xml"))]
    return [Process(pid, word) for pid, word in found if word.startswith(f"{folder}/")]


def end(processes: t.Iterable[Process], how: signal.Signals = signal.SIGKILL, seconds: float = 20) -> None:
    """End the programs and return when they are gone; whatever is left after the given time is killed."""
    left, deadline = [process.pid for process in processes if alive(process)], time.monotonic() + seconds
    _signal(left, how)
    while left := [pid for pid in left if not _gone(pid)]:
        if time.monotonic() > deadline:
            _signal(left, signal.SIGKILL)
        time.sleep(0.02)


def _signal(pids: t.Iterable[int], how: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, how)


def _gone(pid: int) -> bool:
    """Whether a program that was ours has let go of its ports and files. Its command line is empty before that."""
    if (child := _children.get(pid)) is not None:
        return child.poll() is not None
    if not (PROC / "self").exists():
        return _ask_ps("state", pid)[:1] in ("", "Z")
    # man 5 proc: after the name in parentheses state is field 3, and the number of threads field 20.
    fields = _read(PROC / str(pid) / "stat").rpartition(") ")[2].split()
    return not fields or (fields[0] in "ZX" and int(fields[17]) <= 1)


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 that nobody listens on, below those that the system gives to clients by itself."""
    ports: list[int] = []
    while len(ports) < count:
        port = random.randrange(LOWEST_PORT, _highest_port())
        with socket.socket() as probe:
            # As Java does: connections that were closed a moment ago are no hindrance.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):
                probe.bind(("127.0.0.1", port))
                ports.extend({port}.difference(ports))
    return ports


def listens(port: int) -> bool:
    """Whether anything takes connections."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def ask_metadata(port: int) -> Metadata | None:
    """What a broker knows of its cluster; None while it does not answer.

    Format: https://kafka.apache.org/protocol#The_Messages_Metadata
    """
    client = b"streamshift-sandbox"
    header = struct.pack(">hhih", METADATA, METADATA_VERSION, 1, len(client)) + client
    request = header + struct.pack(">i", 0)  # no topics
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as peer:
            peer.sendall(struct.pack(">i", len(request)) + request)
            with peer.makefile("rb") as stream:
                (size,) = struct.unpack(">i", stream.read(4))
                return _parse_metadata(stream.read(size))
    except (OSError, struct.error):  # not there yet, or closed in the middle of an answer
        return None


def _parse_metadata(answer: bytes) -> Metadata | None:
    at = 4  # correlation id
    (brokers,) = struct.unpack_from(">i", answer, at)
    at += 4
    for _number in range(brokers):
        _host, at = _text(answer, at + 4)  # after the node's id
        _rack, at = _text(answer, at + 4)  # after the port
    cluster_id, _rest = _text(answer, at)
    return Metadata(cluster_id, brokers) if cluster_id else None


def _text(data: bytes, at: int) -> tuple[str, int]:
    (length,) = struct.unpack_from(">h", data, at)
    at += 2
    return (data[at : at + length].decode(), at + length) if length >= 0 else ("", at)


def wait_for(ready: t.Callable[[], Answer | None], process: Process, log: Path, what: str, seconds: float) -> Answer:
    """The first answer of ready(). A program that ends or is too slow raises SandboxError with its last words."""
    deadline = time.monotonic() + seconds
    while (answer := ready()) is None:
        if not alive(process):
            raise SandboxError(f"{what} ended while starting: {last_words(log)}")
        if time.monotonic() > deadline:
            raise SandboxError(f"{what} is not ready after {seconds:.0f} s: {last_words(log)}")
        time.sleep(0.03)
    return answer


def last_words(log: Path, lines: int = 12) -> str:
    """Why a program has ended, as far as its log tells, and the last lines of it."""
    said = log.read_text(errors="replace")
    tail = [line for line in said.splitlines() if line.strip() and not line.startswith("\tat ")][-lines:]
    return "\n".join([cause(said), f"--- the end of {log}", *tail])


def cause(said: str) -> str:
    """The last reason that a Java program gives before it ends."""
    reasons = [line.strip() for line in said.splitlines() if REASON.search(line) and not line.startswith("\tat ")]
    first_causes = [line for line in reasons if line.startswith("Caused by")]
    return (first_causes or reasons or ["it gave no reason"])[-1]


def _highest_port() -> int:
    """Below what the system gives to clients, where that leaves any room."""
    try:
        first = int((PROC / "sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except FileNotFoundError:
        return HIGHEST_PORT
    return first if first > LOWEST_PORT + 1000 else HIGHEST_PORT


def _pids() -> list[int]:
    if (PROC / "self").exists():
        return [int(folder.name) for folder in PROC.glob("[0-9]*")]
    shown = subprocess.run(["ps", "-A", "-o", "pid="], capture_output=True, text=True, check=False)
    return [int(pid) for pid in shown.stdout.split()]


def _arguments(pid: int) -> list[str]:
    if (PROC / "self").exists():
        return _read(PROC / str(pid) / "cmdline").split("\0")
    return _ask_ps("command", pid).split()


def _read(file: Path) -> str:
    try:
        return os.fsdecode(file.read_bytes())
    except (FileNotFoundError, ProcessLookupError):
        return ""


def _ask_ps(column: str, pid: int) -> str:
    shown = subprocess.run(
        ["ps", "-ww", "-o", f"{column}=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return shown.stdout
