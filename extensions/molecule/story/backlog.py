"""What happens around a backlog's migration in molecule's scenario, played with clients that are not the collection's.

NAME-a consumes the topics NAME-1 to NAME-3, NAME-b consumes NAME-3 and NAME-4. The records are a month old.

backlog.py SANDBOX NAME fill      four topics on staging, two groups that stand in the middle, and records of NAME-2 expire
backlog.py SANDBOX NAME predict   print the numbers that the playbook shows in check mode
backlog.py SANDBOX NAME kill      play the playbook slowly, and kill it with all of its processes half-way
backlog.py SANDBOX NAME untouched fail unless production has neither topics nor groups of this story
backlog.py SANDBOX NAME proof     fail unless production has each unconsumed record once and in order, and groups get theirs
backlog.py SANDBOX NAME consume   both groups consume all that they have not consumed
backlog.py SANDBOX NAME restored  fail unless the topics have the same settings on both clusters
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from stage import PAIR, ROOT, play

from kafka_sandbox import Cluster
from testbed import clients
from testbed.clients import (
    Message,
    NoSuchTopic,
    Stored,
    commit,
    committed,
    create_topic,
    delete_records,
    produce,
    read,
    topic_settings,
)
from tests.support.consumers import consumed_by_member, content

RECORDS = 400  # of a partition
EXPIRED = 45
SECONDS = 240.0  # until the first record is copied, on a machine that is busy with other tests
STANDS = {
    "a": {"1": (10, 250), "2": (20, RECORDS), "3": (200, 0)},
    "b": {"3": (50, 120), "4": (0, RECORDS - 1)},
}
TOPICS = sorted({topic for stands in STANDS.values() for topic in stands})
PLAYBOOK = [
    str(Path(sys.executable).parent / "ansible-playbook"),
    "streamshift.kafka.migrate_backlog",
    f"--inventory={ROOT}/extensions/molecule/inventory.yml",
    "--extra-vars=backlog_migration_source=staging backlog_migration_destination=production",
]


def fill(staging: Cluster, production: Cluster, name: str) -> None:
    month_ago = int(time.time() * 1000) - 30 * 86_400_000
    for topic in TOPICS:
        create_topic(staging, f"{name}-{topic}", 2, retention_ms=-1)
        written = [
            Message(
                f"{topic} {n} {'.' * 200}".encode(),
                b"k%d" % (n % 9),
                (("n", b"1"), ("n", None)),
                month_ago + n // 5,
                n % 2,
            )
            for n in range(2 * RECORDS)
        ]
        produce(staging, f"{name}-{topic}", written)
    for group, stands in STANDS.items():
        positions = {(f"{name}-{topic}", number): at for topic, its in stands.items() for number, at in enumerate(its)}
        commit(staging, f"{name}-{group}", {**positions})
    delete_records(staging, f"{name}-2", {0: EXPIRED})


def predict(staging: Cluster, production: Cluster, name: str) -> None:
    said = subprocess.run([*PLAYBOOK, "--check"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    print(json.dumps(re.findall(rf'"({name}-\d +\d+ +\d+ +\d+ +\d+ +\S+)', said)))


def kill(staging: Cluster, production: Cluster, name: str) -> None:
    slowly = "--extra-vars=backlog_migration_max_bytes_per_second=10000"
    with (
        tempfile.TemporaryFile("w+") as said,
        subprocess.Popen([*PLAYBOOK, slowly], cwd=ROOT, stdout=said, stderr=subprocess.STDOUT) as playbook,
    ):
        try:
            deadline = time.monotonic() + SECONDS
            while not (found := _found(production, name)):
                if playbook.poll() is not None or time.monotonic() > deadline:
                    said.seek(0)
                    raise AssertionError(f"nothing was copied: {said.read()}")
                time.sleep(0.1)
        finally:
            for pid in _with_descendants(playbook.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
    wanted = sum(len(_unconsumed(staging, name, topic)) for topic in TOPICS)
    print(f"killed when {found} of {wanted} records were copied")
    assert found < wanted


def untouched(staging: Cluster, production: Cluster, name: str) -> None:
    assert not [group for group in clients.list_groups(production) if name in group]
    assert not _topics(production, name)


def proof(staging: Cluster, production: Cluster, name: str) -> None:
    for topic in TOPICS:
        wanted = [content(record) for record in _unconsumed(staging, name, topic)]
        assert [content(record) for record in read(production, f"{name}-{topic}")] == wanted, topic
    for group, stands in STANDS.items():
        for topic, its in stands.items():
            left = read(staging, f"{name}-{topic}", start=_starts(topic, its))
            gets = consumed_by_member(production, f"{name}-{group}", f"{name}-{topic}")
            assert gets == [content(record) for record in left], f"{group} {topic}: {len(gets)} of {len(left)}"


def consume(staging: Cluster, production: Cluster, name: str) -> None:
    for group, stands in STANDS.items():
        clients.consume(production, f"{name}-{group}", [f"{name}-{topic}" for topic in stands], 10**9)
        assert len(committed(production, f"{name}-{group}")) == 2 * len(stands)


def restored(staging: Cluster, production: Cluster, name: str) -> None:
    for topic in TOPICS:
        source, destination = (topic_settings(cluster, f"{name}-{topic}") for cluster in (staging, production))
        assert source == destination == {"retention.ms": "-1"}, (topic, source, destination)


def _unconsumed(staging: Cluster, name: str, topic: str) -> list[Stored]:
    """What at least one group has not consumed, as far as it has not expired."""
    firsts = map(min, zip(*(stands[topic] for stands in STANDS.values() if topic in stands), strict=True))
    return read(staging, f"{name}-{topic}", start=_starts(topic, tuple(firsts)))


def _starts(topic: str, stands: tuple[int, ...]) -> dict[int, int]:
    return {number: max(at, EXPIRED) if (topic, number) == ("2", 0) else at for number, at in enumerate(stands)}


def _topics(production: Cluster, name: str) -> list[str]:
    found = []
    for topic in TOPICS:
        with contextlib.suppress(NoSuchTopic):
            clients.partitions_of(production, f"{name}-{topic}")
            found.append(topic)
    return found


def _found(production: Cluster, name: str) -> int:
    """How many records production has that a consumer sees."""
    return sum(len(read(production, f"{name}-{topic}")) for topic in _topics(production, name))


def _with_descendants(pid: int) -> list[int]:
    """The process and all that it has started, in whatever session. man 5 proc: field 4 of stat is the parent."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(") ")[2].split()[1])
    found = [pid]
    for each in found:  # grows meanwhile
        found += [child for child, parent in parents.items() if parent == each]
    return found


if __name__ == "__main__":
    play((fill, predict, kill, untouched, proof, consume, restored), PAIR)
