"""The last act: a group is cut over while its producer and the replication tool go on, consumes there, and is taken back.

Every record is consumed once, over both clusters.
"""

from __future__ import annotations

import threading
import time
import typing as t

from testbed.background import Background, Got, consumer
from testbed.clients import Message, Servers, create_topic, log_bounds, produce, until
from testbed.live_tool import LiveTool

GROUP, TOPIC, PARTITIONS = "checkout", "baskets", 4
MORE = 1_000  # records that come while nobody consumes, before the group is taken back
OLD_LIFE = 1_000  # records that only the destination has, so that offsets differ
HISTORY = 5_000

Play = t.Callable[..., str]


class Failed(Exception):
    """A record was not consumed, or twice."""


def cut_over(onprem: Servers, cloud: Servers, play: Play, step: t.Callable[[str], None]) -> None:
    """Do a round while everything runs, stop the consumer, cut over, start it at the other cluster, and take it back.

    play: is given a title and a phase, and plays the playbook that migrates. step: says what is so. Raises Failed, or
    TimeoutError.
    """
    for cluster, first_number, end in ((onprem, 0, HISTORY), (cloud, -OLD_LIFE, 0)):
        create_topic(cluster, TOPIC, PARTITIONS, retention_ms=-1)
        produce(cluster, TOPIC, _baskets(first_number, end))
    first: list[Got] = []
    second: list[Got] = []
    third: list[Got] = []
    with Background(lambda over: _sell(onprem, over)) as shop, LiveTool(onprem, cloud, TOPIC):
        with consumer(onprem, GROUP, [TOPIC], first) as running:
            until(lambda: len(first) > HISTORY, what="the group does not consume at onprem")
            step(f"{GROUP} consumes {TOPIC} at onprem, while a producer and a replication tool go on")
            play("A round while everything runs", "sync")
            running.end()
        begin = time.monotonic()
        play("The cut-over", "cut_over")
        window = time.monotonic() - begin
        with consumer(cloud, GROUP, [TOPIC], second) as running:
            shop.end()
            total = _size(onprem)
            until(lambda: len(first) + len(second) >= total, what=f"not all {total:,} records are consumed")
            _check([*first, *second], total)
            step(
                f"the window: {window:.1f} s from the start of ansible-playbook to its end, while the producer went on"
            )
            step(
                f"{GROUP} has consumed {len(first):,} records at onprem and {len(second):,} at cloud: each of {total:,} once, "
                "though their offsets differ"
            )
            running.end()
        produce(onprem, TOPIC, _baskets(total, total + MORE))
        until(lambda: _size(cloud) >= _size(onprem) + OLD_LIFE, what="the replication tool has not copied everything")
    play("Now take it back: it has consumed since", "return")
    with consumer(onprem, GROUP, [TOPIC], third) as running:
        total += MORE
        until(lambda: len(first) + len(second) + len(third) >= total, what=f"not all {total:,} records are consumed")
        running.end()
    _check([*first, *second, *third], total)
    step(f"{GROUP} is back at onprem, and has consumed {len(third):,} more records there: still each of {total:,} once")


def _check(got: t.Sequence[Got], total: int) -> None:
    """Raise Failed unless these are all records, each once."""
    seen = [int(record.value) for record in got]
    if sorted(seen) != list(range(total)):
        raise Failed(f"{len(seen):,} records were consumed, {len({*seen} & {*range(total)}):,} of {total:,}")


def _size(cluster: Servers) -> int:
    """How many records the topic has got."""
    return sum(end for _start, end in log_bounds(cluster, TOPIC).values())


def _baskets(start: int, stop: int) -> list[Message]:
    yesterday = int(time.time() * 1000) - 86_400_000
    return [
        Message(b"%d" % number, timestamp=yesterday + number, partition=number % PARTITIONS)
        for number in range(start, stop)
    ]


def _sell(onprem: Servers, over: threading.Event) -> None:
    number = HISTORY
    while not over.wait(0.1):
        produce(onprem, TOPIC, _baskets(number, number + 10))
        number += 10
