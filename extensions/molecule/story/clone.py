"""What happens around groups that are split, renamed and merged inside staging while a producer goes on.

NAME-shop consumes NAME-orders, NAME-parcels and NAME-clicks, which it shares out to NAME-billing and NAME-delivery; both get
NAME-clicks. NAME-mail becomes NAME-post. NAME-eu and NAME-us become NAME-world.

clone.py SANDBOX NAME fill     the topics, and where the old groups have stopped
clone.py SANDBOX NAME live     begin to produce, until the step end, or until staging is gone
clone.py SANDBOX NAME groups   print the groups of this story and their commits
clone.py SANDBOX NAME proof    fail unless a plain consumer of each new group gets exactly what the old one had not consumed
clone.py SANDBOX NAME end      end the producer
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from pathlib import Path

from stage import play

from kafka_sandbox import Cluster
from testbed.clients import (
    Message,
    commit,
    committed,
    create_topic,
    list_groups,
    log_bounds,
    open_consumer,
    produce,
    received,
    until,
)

PARTITIONS = 2
RECORDS = 300  # of each partition, before the producer goes on
SECONDS = 900.0  # after which the producer ends by itself
KINDS = ("orders", "parcels", "clicks")
Stands = dict[tuple[str, int], int]


def stands(name: str) -> dict[str, Stands]:
    """How many records of each partition the old groups have consumed."""
    orders, parcels, clicks = (f"{name}-{kind}" for kind in KINDS)
    return {
        f"{name}-shop": {(orders, 0): 100, (orders, 1): 0, (parcels, 0): 299, (clicks, 0): 50, (clicks, 1): 300},
        f"{name}-mail": {(parcels, 0): 7, (parcels, 1): 200},
        f"{name}-eu": {(orders, 0): 40, (orders, 1): 60},
        f"{name}-us": {(orders, 0): 55, (orders, 1): 60},
    }


def expected(name: str) -> dict[str, Stands]:
    """The same for the new groups: of two that are merged, the lower number counts."""
    old = stands(name)
    shop, kinds = old[f"{name}-shop"], {"billing": ("orders", "clicks"), "delivery": ("parcels", "clicks")}
    new = {
        f"{name}-{group}": {where: at for where, at in shop.items() if where[0] in {f"{name}-{kind}" for kind in its}}
        for group, its in kinds.items()
    }
    eu, us = old[f"{name}-eu"], old[f"{name}-us"]
    return new | {
        f"{name}-post": old[f"{name}-mail"],
        f"{name}-world": {where: min(eu[where], us[where]) for where in eu},
    }


def fill(staging: Cluster, name: str, folder: Path) -> None:
    for kind in KINDS:
        create_topic(staging, f"{name}-{kind}", PARTITIONS, retention_ms=-1)
        _produce(staging, f"{name}-{kind}", 0, RECORDS)
    for group, its in stands(name).items():
        commit(staging, group, {where: (at, "día 3") for where, at in its.items()})


def live(staging: Cluster, name: str, folder: Path) -> None:
    (folder / f"{name}.end").unlink(missing_ok=True)
    subprocess.Popen(
        [sys.executable, __file__, str(folder), name, "producer"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def producer(staging: Cluster, name: str, folder: Path) -> None:
    """Runs in the background. When staging is stopped, producing fails, and this ends."""
    number, deadline = RECORDS, time.monotonic() + SECONDS
    while not (folder / f"{name}.end").exists() and time.monotonic() < deadline:
        for kind in KINDS:
            _produce(staging, f"{name}-{kind}", number, number + 1)
        number += 1
        time.sleep(0.3)


def end(staging: Cluster, name: str, folder: Path) -> None:
    (folder / f"{name}.end").touch()


def groups(staging: Cluster, name: str, folder: Path) -> None:
    counts = {group: len(committed(staging, group)) for group in list_groups(staging) if f"{name}-" in group}
    print(json.dumps({group: count for group, count in counts.items() if count}))


def proof(staging: Cluster, name: str, folder: Path) -> None:
    old = {group: dict(its) for group, its in stands(name).items()}
    assert not set(old) & set(list_groups(staging)), "an old group is still there"
    for group, its in expected(name).items():
        commits = committed(staging, group)
        assert commits == {where: (at, "día 3") for where, at in its.items()}, (group, commits)
        ends = {topic: log_bounds(staging, topic) for topic, _partition in its}
        gets = _consume(staging, group, its, {where: ends[where[0]][where[1]][1] for where in its})
        for (topic, partition), at in its.items():
            numbers = gets[topic, partition]
            assert numbers[:1] in ([], [at]) and numbers == list(range(at, at + len(numbers))), (group, topic, numbers)
            assert at + len(numbers) >= max(at, ends[topic][partition][1]), f"{group} misses the end of {topic}"
        assert any(its[where] + len(numbers) > RECORDS for where, numbers in gets.items()), "nobody produced meanwhile"


def _produce(staging: Cluster, topic: str, start: int, stop: int) -> None:
    produce(
        staging,
        topic,
        [Message(b"%d" % n, partition=partition) for n in range(start, stop) for partition in range(PARTITIONS)],
    )


def _consume(staging: Cluster, group: str, its: Stands, ends: Stands) -> dict[tuple[str, int], list[int]]:
    """What a plain consumer of the group gets of these partitions, up to where they ended, and commits."""
    found: dict[tuple[str, int], list[int]] = {where: [] for where in its}
    with contextlib.closing(open_consumer(staging, group, auto_offset_reset="latest")) as consumer:
        consumer.subscribe(sorted({topic for topic, _partition in its}))

        def all_there() -> bool:
            for message in received(consumer, set()):
                where = str(message.topic()), message.partition() or 0
                if where in found:
                    found[where].append(int(message.value() or b""))
            return all(its[where] + len(numbers) >= ends[where] for where, numbers in found.items())

        until(all_there, what=lambda: f"{group} does not get all: {found}", pause=0)
        consumer.commit(asynchronous=False)
    return found


if __name__ == "__main__":
    play(
        (fill, live, producer, end, groups, proof),
        ("staging",),
        lambda *given: given,
    )
