"""What happens around a hand-over in molecule's scenario: a stand-in for Replicator copies NAME, a real MirrorMaker 2 goes on.

replicator.py SANDBOX NAME fill       a topic on staging; all but its last records are copied to production
replicator.py SANDBOX NAME untouched  fail unless nothing of this story is stored for MirrorMaker 2
replicator.py SANDBOX NAME go_on      MirrorMaker 2 copies what is left, and what is produced meanwhile, and is stopped
replicator.py SANDBOX NAME proof      fail unless production has each record of staging once, and in order

A MirrorMaker 2 that a step has left running, for it was killed, is ended by mirror_maker.py.
"""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from stage import PAIR, play

from kafka_sandbox import Cluster
from testbed.clients import Message, NoSuchTopic, create_topic, produce, produce_in_transactions, read
from testbed.mirror_maker import ALIAS, OFFSETS_TOPIC, MirrorMaker
from tests.support.consumers import content
from tests.support.replicator import Replicator, places

PARTITIONS = 3
LAG = 20


def fill(staging: Cluster, production: Cluster, name: str, folder: Path) -> None:
    create_topic(staging, name, PARTITIONS, retention_ms=-1)
    create_topic(production, f"{ALIAS}.{name}", PARTITIONS, retention_ms=-1)
    _produce(staging, name)
    Replicator(staging, production, f"{name}-replicator").copy(name, f"{ALIAS}.{name}", lag=LAG)


def untouched(staging: Cluster, production: Cluster, name: str, folder: Path) -> None:
    with contextlib.suppress(NoSuchTopic):
        assert not [topic for topic, _partition in places(production, OFFSETS_TOPIC) if topic == name]


def go_on(staging: Cluster, production: Cluster, name: str, folder: Path) -> None:
    more = {"src.consumer.isolation.level": "read_committed"}
    with MirrorMaker(
        folder, staging, production, topics=name, identity=False, sync_groups=False, more=more
    ) as mirror_maker:
        mirror_maker.wait_until_caught_up([name])
        _produce(staging, name)
        mirror_maker.wait_until_caught_up([name])
    shutil.rmtree(folder)


def proof(staging: Cluster, production: Cluster, name: str, folder: Path) -> None:
    wanted, found = ([*map(content, read(*of))] for of in ((staging, name), (production, f"{ALIAS}.{name}")))
    assert found == wanted, f"{len(wanted)} records are at the source, and {len(found)} at the destination"


def _produce(staging: Cluster, name: str) -> None:
    """Some of it in transactions, of which some are aborted: so offsets differ at production."""
    messages = [Message(b"order %d" % n, b"k%d" % (n % 7), partition=n % PARTITIONS) for n in range(300)]
    produce(staging, name, messages)
    produce_in_transactions(staging, name, [(messages[at : at + 10], at % 30 != 0) for at in range(0, 90, 10)])


if __name__ == "__main__":
    play(
        (fill, untouched, go_on, proof),
        PAIR,
        lambda staging, production, name, sandbox: (staging, production, name, sandbox / "mirror-maker"),
    )
