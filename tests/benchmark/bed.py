# SPDX-License-Identifier: GPL-3.0-or-later

"""Two clusters that can be reached directly, and over a long cable: the same brokers with the same records."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import typing as t
from pathlib import Path

from ansible_collections.streamshift.kafka.plugins.module_utils._control import commits
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from sandbox_processes import free_ports
from testbed.sandbox import start, stop
from tests.benchmark.loads import FOREIGN, LOADS, Commits, Load, create, fill
from tests.benchmark.trips import Trip

HERE = Path(__file__).parent
ROUND_TRIP = 40  # milliseconds, unless a question wants another one
HEAP = "1g"
IN_MEMORY = Path("/dev/shm")
ROOM = 8 << 30  # bytes
SHORT = 10  # how many times as few records for a look


class Address(t.NamedTuple):
    """host:port of one cluster: near, and at the far end of the cable."""

    near: str
    far: str


class Bed(t.NamedTuple):
    """folder is for what the modules write. cables: one for each cluster. short: a look is wanted, no measurement."""

    folder: Path
    source: Address
    destination: Address
    cables: tuple[subprocess.Popen[str], ...]
    short: bool = False

    def lengthen(self, milliseconds: float, loss: float = 0) -> list[Trip]:
        """Let a round trip to either cluster take so long from now on, and this part of the packets be lost.

        -> the round trips to both clusters since the last time.
        """
        trips: list[Trip] = []
        for cable in self.cables:
            assert cable.stdin and cable.stdout
            print(milliseconds / 2, loss, file=cable.stdin, flush=True)
            told = cable.stdout.readline()
            if not told:
                raise RuntimeError("the cable does not hold")
            trips += (Trip(*each) for each in json.loads(told))
        return trips


@contextlib.contextmanager
def running(loads: t.Sequence[str], short: bool = False) -> t.Iterator[Bed]:
    """Both clusters, filled with the loads. Afterwards nothing of it runs, and its files are gone."""
    with contextlib.ExitStack() as undo:
        try:
            folder = Path(
                undo.enter_context(tempfile.TemporaryDirectory(prefix="streamshift-benchmark-", dir=_place()))
            )
            clusters = [_cluster(name, folder, undo) for name in ("source", "destination")]
            cables = tuple(_cable(address, far, undo) for address, far in clusters)
            bed = Bed(folder, clusters[0][0], clusters[1][0], cables, short)
            bed.lengthen(ROUND_TRIP)
            _fill(bed, loads, undo)
            yield bed
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # an impatient Ctrl-C must not stop the stopping


def _place() -> Path | None:
    """Where the brokers' logs lie: in memory if there is room, for the disk is not what is measured."""
    return IN_MEMORY if IN_MEMORY.is_dir() and shutil.disk_usage(IN_MEMORY).free > ROOM else None


def _cluster(name: str, folder: Path, undo: contextlib.ExitStack) -> tuple[Address, int]:
    """A broker has a second listener, which it says is at the near end of the cable. Its address, and the listener's port."""
    near, far, controller, cable = free_ports(4)
    listeners = {"PLAINTEXT": near, "FAR": far, "CONTROLLER": controller}
    settings = {
        "listeners": _listeners(listeners),
        "advertised.listeners": _listeners({"PLAINTEXT": near, "FAR": cable}),
        "listener.security.protocol.map": ",".join(f"{listener}:PLAINTEXT" for listener in listeners),
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "log.segment.delete.delay.ms": "100",  # or the files of removed topics count to what a process may hold open
    }
    undo.callback(stop, name, folder)
    start(name, folder, ports=[near], settings=settings, memory=HEAP)
    return Address(f"127.0.0.1:{near}", f"127.0.0.1:{cable}"), far


def _cable(address: Address, port: int, undo: contextlib.ExitStack) -> subprocess.Popen[str]:
    cable = _program(undo, "cable.py", f"{address.far.rpartition(':')[2]}:{port}")
    if not (cable.stdout and cable.stdout.readline()):
        raise RuntimeError("the cable does not hold")
    return cable


def _listeners(ports: t.Mapping[str, int]) -> str:
    return ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items())


def _fill(bed: Bed, loads: t.Sequence[str], undo: contextlib.ExitStack) -> None:
    """The records of both clusters at the same time, then the groups' commits at the source."""
    fillers = [
        _program(undo, "loads.py", bed.source.near, "0", *loads),
        _program(undo, "loads.py", bed.destination.near, str(FOREIGN), *loads),
    ]
    for filler in fillers:
        if filler.wait():
            raise RuntimeError("a cluster could not be filled")
    stand(bed.source, {group: offsets for load in loads for group, offsets in LOADS[load].commits().items()})


def filled(bed: Bed, name: str, foreign: int = 0) -> Load:
    """A load at the source alone, after so many other records; a tenth of it where only a look is wanted."""
    load = LOADS[name]
    if bed.short:
        load = load._replace(records=max(1, load.records // SHORT))
    create(bed.source.near, load)
    fill(bed.source.near, load, foreign)
    return load


def stand(cluster: Address, wanted: Commits) -> None:
    """Let groups have committed these offsets."""
    offsets = {
        group: {TopicPartition(*where): CommittedOffset(offset) for where, offset in its.items()}
        for group, its in wanted.items()
    }
    refused = commits.commit_offsets(Connection("cluster", (cluster.near,)), offsets)
    if any(refused.values()):
        raise RuntimeError(f"groups could not be set up: {next(filter(None, refused.values()))}")


def _program(undo: contextlib.ExitStack, name: str, *arguments: str) -> subprocess.Popen[str]:
    """A program of this folder that does not outlive the benchmark."""
    program = subprocess.Popen(
        [sys.executable, str(HERE / name), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C is for the benchmark alone, which ends the others in order
    )
    undo.callback(program.wait)
    undo.callback(program.kill)
    return program
