"""What happens around a migration in molecule's scenarios, played with clients that are not the collection's.

story.py SANDBOX NAME fill      topics NAME-orders and NAME-parcels on both clusters, copied with junk before
story.py SANDBOX NAME stand     NAME-billing and NAME-shipping stand somewhere on staging
story.py SANDBOX NAME busy      NAME-billing consumes ten more records on staging
story.py SANDBOX NAME before    NAME-shipping has stood at production before, at the start
story.py SANDBOX NAME merge     NAME-visits-eu and NAME-visits-us become NAME-visits, which NAME-marketing consumes
story.py SANDBOX NAME groups    print the groups of this story on production and their commits
story.py SANDBOX NAME proof     fail unless each group gets at production exactly what it had not consumed
story.py SANDBOX NAME consume   NAME-billing consumes some of its records at production, and notes them
story.py SANDBOX NAME rest      it consumes all that is left at staging; fail unless it has got each record once by now
story.py SANDBOX NAME nothing_missed   fail unless NAME-marketing gets all that it had not consumed, and less than all
"""

from __future__ import annotations

import collections
import json
import sys
import time
from pathlib import Path

from stage import PAIR, play

from kafka_sandbox import Cluster
from testbed.background import Got, consumer
from testbed.clients import Commits, Message, Position, commit, committed, create_topic, list_groups, produce, read
from tests.support.replication_tool import copy, repartition

PARTITIONS = 3
STANDS: dict[int, Position] = {0: (120, "día 3"), 1: 300, 2: 0}  # NAME-billing in NAME-orders
SECONDS = 120.0  # until records have come, on a machine that is busy with other tests


def fill(staging: Cluster, production: Cluster, name: str) -> None:
    yesterday = int(time.time() * 1000) - 86_400_000
    for kind in ("orders", "parcels"):
        topic = f"{name}-{kind}"
        for cluster in (staging, production):
            create_topic(cluster, topic, PARTITIONS, retention_ms=-1)
        produce(
            staging,
            topic,
            [
                Message(f"{kind} {n}".encode(), timestamp=yesterday + n // 3, partition=n % PARTITIONS)
                for n in range(900)
            ],
        )
        copy(staging, production, topic, junk=17)


def stand(staging: Cluster, production: Cluster, name: str) -> None:
    orders, parcels = f"{name}-orders", f"{name}-parcels"
    commit(staging, f"{name}-billing", {(orders, number): at for number, at in STANDS.items()})
    commit(staging, f"{name}-shipping", {(parcels, 0): 1, (parcels, 1): 299, (parcels, 2): 150, (orders, 0): 120})


def busy(staging: Cluster, production: Cluster, name: str) -> None:
    commit(staging, f"{name}-billing", {(f"{name}-orders", 0): (130, "día 4")})


def before(staging: Cluster, production: Cluster, name: str) -> None:
    commit(production, f"{name}-shipping", {(f"{name}-parcels", 0): (3, "an older life")})


def merge(staging: Cluster, production: Cluster, name: str) -> None:
    yesterday = int(time.time() * 1000) - 86_400_000
    topics = {f"{name}-visits-eu": 2, f"{name}-visits-us": 3}
    for at, (topic, partitions) in enumerate(topics.items()):
        create_topic(staging, topic, partitions, retention_ms=-1)
        visits = [(n, n * 7 % 23) for n in range(300)]
        written = [
            Message(f"visit {n}".encode(), f"{topic} {who}".encode(), (), yesterday + 10 * n + at, who % partitions)
            for n, who in visits
        ]
        produce(staging, topic, written)
    create_topic(production, f"{name}-visits", 4, retention_ms=-1)
    repartition(staging, production, list(topics), f"{name}-visits", 4)
    positions = {(topic, number): 60 for topic, partitions in topics.items() for number in range(partitions)}
    commit(staging, f"{name}-marketing", positions)


def groups(staging: Cluster, production: Cluster, name: str) -> None:
    found = {
        group: sorted([*where, *at] for where, at in committed(production, group).items())
        for group in list_groups(production)
        if group.startswith(f"{name}-")
    }
    print(json.dumps(found))


def proof(staging: Cluster, production: Cluster, name: str) -> None:
    for group in (f"{name}-billing", f"{name}-shipping"):
        source, destination = committed(staging, group), committed(production, group)
        assert source.keys() == destination.keys(), (group, source, destination)
        for (topic, partition), (offset, metadata) in source.items():
            at, same = destination[topic, partition]
            left = [record.value for record in read(staging, topic, [partition], start={partition: offset})]
            # A group that has consumed nothing starts at the start, where records lie that were never at staging.
            found = [record.value for record in read(production, topic, [partition], start={partition: at})]
            gets = [value for value in found if not str(value).startswith("b'junk")]
            assert gets == left, f"{group} {topic}-{partition}: {len(left)} records are left, and it gets {len(gets)}"
            assert same == metadata, (group, topic, partition, same, metadata)


def consume(staging: Cluster, production: Cluster, name: str) -> None:
    _notes(name).write_text(json.dumps(_consumed(production, name, 150)))


def rest(staging: Cluster, production: Cluster, name: str) -> None:
    start = {number: at if isinstance(at, int) else at[0] for number, at in STANDS.items()}
    wanted = [str(record.value) for record in read(staging, f"{name}-orders", start=start)]
    at_production = [value for value in json.loads(_notes(name).read_text()) if not value.startswith("b'junk")]
    assert 0 < len(at_production) < len(wanted), "it has consumed on both clusters"
    assert sorted(at_production + _consumed(staging, name, len(wanted) - len(at_production))) == sorted(wanted)


def _consumed(cluster: Cluster, name: str, count: int) -> list[str]:
    """What an application gets that runs until it has consumed so many records, or some more."""
    got: list[Got] = []
    deadline = time.monotonic() + SECONDS
    with consumer(cluster, f"{name}-billing", [f"{name}-orders"], got, batch=50, pause=0.1):
        while len(got) < count:
            assert time.monotonic() < deadline, f"only {len(got)} of {count} records came"
            time.sleep(0.1)
    return [str(each.value) for each in got]


def _notes(name: str) -> Path:
    return Path(sys.argv[1]).parent / "files" / f"{name}-consumed"


def nothing_missed(staging: Cluster, production: Cluster, name: str) -> None:
    source, destination = (committed(cluster, f"{name}-marketing") for cluster in (staging, production))
    assert destination.keys() == {(f"{name}-visits", number) for number in range(4)}, destination
    left = _left(staging, source)
    gets = _left(production, destination)
    assert not left - gets, f"{(left - gets).total()} records are missed"
    assert gets.total() < 600, "it begins again at the start"


def _left(cluster: Cluster, positions: Commits) -> collections.Counter[tuple[bytes | None, bytes | None]]:
    """What is to be consumed from there, by key and value."""
    found: collections.Counter[tuple[bytes | None, bytes | None]] = collections.Counter()
    for (topic, number), (offset, _metadata) in positions.items():
        found.update((record.key, record.value) for record in read(cluster, topic, [number], start={number: offset}))
    return found


STEPS = (fill, stand, busy, before, merge, groups, proof, consume, rest, nothing_missed)


if __name__ == "__main__":
    play(STEPS, PAIR)
