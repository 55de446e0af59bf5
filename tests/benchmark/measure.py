# SPDX-License-Identifier: GPL-3.0-or-later

"""How long a module takes and how much memory, as a process of its own; and how long plain reading takes."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import typing as t
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, TopicPartition

MODULES = "ansible_collections.streamshift.kafka.plugins.modules"
# The largest size of the process itself: that which wait4() tells begins with its parent's.
RUN = """
import runpy, sys
module, size = sys.argv[1:3]
del sys.argv[1:3]
try:
    runpy.run_module(module, run_name="__main__", alter_sys=True)
finally:
    with open("/proc/self/status") as status, open(size, "w") as out:
        out.writelines(line.split()[1] for line in status if line.startswith("VmHWM"))
"""


class Run(t.NamedTuple):
    """seconds from start to end of the process, megabytes (10^6 bytes) it had at most, seconds of CPU; and what it said."""

    seconds: float
    megabytes: float
    cpu: float
    result: dict[str, t.Any]


def run_module(name: str, with_children: bool = False, **options: t.Any) -> Run:
    """Run a module as Ansible does: a Python process that is given its options as JSON. Raises what a failure says.

    with_children: megabytes are those of all processes that it begins, too, as looked at twice a second.
    """
    with tempfile.TemporaryDirectory() as name_of_folder, tempfile.TemporaryFile("w+") as said:
        arguments, size = Path(name_of_folder) / "arguments.json", Path(name_of_folder) / "size"
        arguments.write_text(json.dumps({"ANSIBLE_MODULE_ARGS": options}))
        begin = time.perf_counter()
        process = subprocess.Popen([sys.executable, "-c", RUN, f"{MODULES}.{name}", size, arguments], stdout=said)
        try:
            with memory_of_all(process.pid) if with_children else contextlib.nullcontext([0.0]) as most:
                _pid, _status, used = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            raise
        seconds = time.perf_counter() - begin
        said.seek(0)
        result = json.load(said)
        megabytes = most[0] or int(size.read_text()) * 1024 / 1e6
    if result.get("failed"):
        raise RuntimeError(f"{name}: {result['msg']}")
    return Run(seconds, megabytes, used.ru_utime + used.ru_stime, result)


@contextlib.contextmanager
def memory_of_all(pid: int) -> t.Iterator[list[float]]:
    """The most megabytes that a process and its descendants use together in the block, as looked at twice a second."""
    ended, most = threading.Event(), [0.0]
    watch = threading.Thread(target=_watch, args=(pid, ended, most))
    watch.start()
    try:
        yield most
    finally:
        ended.set()
        watch.join()


def _watch(pid: int, ended: threading.Event, most: list[float]) -> None:
    """Keep the largest sum of what a process and its descendants use, in megabytes; what they share counts once (PSS)."""
    while not ended.wait(0.5):
        used = 0
        for each in _family(pid):
            with contextlib.suppress(OSError, StopIteration):  # it has ended
                lines = Path(f"/proc/{each}/smaps_rollup").read_text().splitlines()
                used += int(next(line.split()[1] for line in lines if line.startswith("Pss:")))
        most[0] = max(most[0], used * 1024 / 1e6)


def processes() -> t.Iterator[tuple[int, list[str]]]:
    """Every process, and what /proc tells of it from the third field of proc(5) on."""
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended
            yield int(file.parent.name), file.read_text().rpartition(")")[2].split()


def session_cpu(leader: int) -> float:
    """Seconds of CPU that a session of processes has used so far, with those of its children that have ended."""
    its = (fields for _pid, fields in processes() if int(fields[3]) == leader)
    return sum(sum(map(int, fields[11:15])) for fields in its) / os.sysconf("SC_CLK_TCK")


def _family(pid: int) -> set[int]:
    """A process and all that descend from it."""
    parents = {each: int(fields[1]) for each, fields in processes()}
    family = {pid}
    while more := {each for each, parent in parents.items() if parent in family} - family:
        family |= more
    return family


def poll_loop(address: str, ranges: t.Iterable[tuple[str, int, int, int]], **settings: int) -> float:
    """Seconds for reading (topic, partition, start, end) one after another with assign() and poll(1.0).

    What a script would do, with the client's default settings but for those given, whose names have underscores for
    dots. Every range is inside its log, so no poll waits in vain.
    """
    consumer = _consumer(address, **settings)
    try:
        consumer.list_topics()  # connected, as the clock starts
        begin = time.perf_counter()
        for topic, partition, start, end in ranges:
            consumer.assign([TopicPartition(topic, partition, start)])
            position = start
            while position < end:
                message = consumer.poll(1.0)
                if message is None:
                    continue
                if message.error():
                    raise KafkaException(message.error())
                position = (message.offset() or 0) + 1
        return time.perf_counter() - begin
    finally:
        consumer.close()


def record_numbers(address: str, places: t.Iterable[tuple[str, int, int]]) -> list[int]:
    """What the records of a load at (topic, partition, offset) say: the how-manieth of their partition each is."""
    consumer = _consumer(address, max_partition_fetch_bytes=20_000)
    found = []
    try:
        for topic, partition, offset in places:
            consumer.assign([TopicPartition(topic, partition, offset)])
            message = consumer.poll(30.0)
            if message is None or message.error() or message.offset() != offset:
                raise RuntimeError(f"the record {topic}-{partition} @ {offset} cannot be read")
            found.append(int((message.value() or b"").split()[2]))
        return found
    finally:
        consumer.close()


def _consumer(address: str, **settings: int) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "streamshift-benchmark",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
    )
