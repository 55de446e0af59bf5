"""What happens around a migration in molecule's scenarios, played with clients that are not the collection's.

story.py SANDBOX NAME fill      topics NAME-orders and NAME-parcels on both clusters, copied with junk before
story.py SANDBOX NAME stand     NAME-billing and NAME-shipping stand somewhere on staging
story.py SANDBOX NAME busy      NAME-billing consumes ten more records on staging
story.py SANDBOX NAME before    NAME-shipping has stood at production before, at the start
story.py SANDBOX NAME groups    print the groups of this story on production and their commits
story.py SANDBOX NAME proof     fail unless each group gets at production exactly what it had not consumed
"""

from __future__ import annotations

import json
import time

from stage import PAIR, play

from kafka_sandbox import Cluster
from testbed.clients import Message, commit, committed, create_topic, list_groups, produce, read
from tests.support.replication_tool import copy

PARTITIONS = 3


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
    commit(staging, f"{name}-billing", {(orders, 0): (120, "día 3"), (orders, 1): 300, (orders, 2): 0})
    commit(staging, f"{name}-shipping", {(parcels, 0): 1, (parcels, 1): 299, (parcels, 2): 150, (orders, 0): 120})


def busy(staging: Cluster, production: Cluster, name: str) -> None:
    commit(staging, f"{name}-billing", {(f"{name}-orders", 0): (130, "día 4")})


def before(staging: Cluster, production: Cluster, name: str) -> None:
    commit(production, f"{name}-shipping", {(f"{name}-parcels", 0): (3, "an older life")})


def groups(staging: Cluster, production: Cluster, name: str) -> None:
    found = {
        group: sorted([*where, *at] for where, at in committed(production, group).items())
        for group in list_groups(production)
        if group.startswith(f"{name}-")
    }
    print(json.dumps({group: commits for group, commits in found.items() if commits}))


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


if __name__ == "__main__":
    play((fill, stand, busy, before, groups, proof), PAIR)
