# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How long a module takes and how much memory, as a process of its own; and how long plain reading takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import typing as t

from confluent_kafka import Consumer, KafkaException, TopicPartition

MODULES = "ansible_collections.streamshift.kafka.plugins.modules"


class Run(t.NamedTuple):
    """seconds from start to end of the process, megabytes (10^6 bytes) it had at most, seconds of CPU; and what it said."""

    seconds: float
    megabytes: float
    cpu: float
    result: dict[str, t.Any]


def run_module(name: str, **options: t.Any) -> Run:
    """Run a module as Ansible does: a Python process that is given its options as JSON. Raises what a failure says."""
    # Files instead of pipes: the process is waited for by wait4(), which tells what it alone has used.
    with tempfile.NamedTemporaryFile("w", suffix=".json") as arguments, tempfile.TemporaryFile("w+") as said:
        json.dump({"ANSIBLE_MODULE_ARGS": options}, arguments)
        arguments.flush()
        begin = time.perf_counter()
        process = subprocess.Popen([sys.executable, "-m", f"{MODULES}.{name}", arguments.name], stdout=said)
        try:
            _unused, _unused, used = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            raise
        seconds = time.perf_counter() - begin
        said.seek(0)
        result = json.load(said)
    if result.get("failed"):
        raise RuntimeError(f"{name}: {result['msg']}")
    return Run(seconds, used.ru_maxrss * 1024 / 1e6, used.ru_utime + used.ru_stime, result)


def poll_loop(address: str, ranges: t.Iterable[tuple[str, int, int, int]], **settings: int) -> float:
    """Seconds for reading (topic, partition, start, end) one after another with assign() and poll(1.0).

    What a script would do, with the client's default settings but for those given, whose names have underscores for
    dots. Every range is inside its log, so no poll waits in vain.
    """
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "streamshift-benchmark",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
    )
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
