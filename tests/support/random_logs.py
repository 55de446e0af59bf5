"""A topic and its copy with whatever may be in logs, and with internal topics of a MirrorMaker 2 that has never run."""

import typing as t
import uuid
from pathlib import Path
from random import Random

from testbed.clients import Message, create_topic, delete_records, produce, produce_in_transactions
from tests.support.kinds import commit_all, group_of
from tests.support.mirror_records import checkpoint, offset_sync
from tests.support.mirrored import NOW, numbered
from tests.support.modules import Migration, Result, refuses
from tests.support.numbered import Judge
from tests.support.replication_tool import copy


class World:
    """A topic and its copy, and internal topics of a MirrorMaker that has never run.

    The record n is at n + first at the source. Its copy is at n + junk.
    """

    def __init__(self, source: t.Any, destination: t.Any, topic: str, directory: Path) -> None:
        self.source, self.destination, self.topic = source, destination, topic
        self.migration = Migration(directory, source, destination)
        self.commits: dict[str, int] = {}
        self.first = 0
        tag = uuid.uuid4().hex[:8]
        self.policy = {"name": "identity", "source_alias": f"here{tag}", "target_alias": f"there{tag}"}
        self.syncs = f"mm2-offset-syncs.there{tag}.internal"
        self.checkpoints = f"here{tag}.checkpoints.internal"

    def create(self, expired: int = 0, stamps: str = "CreateTime") -> None:
        """expired: so many records were at the source before any was copied."""
        create_topic(self.source, self.topic, retention_ms=-1)
        produce(self.source, self.topic, [Message(b"expired", timestamp=NOW - 1)] * expired)
        delete_records(self.source, self.topic, {0: expired})
        create_topic(self.destination, self.topic, retention_ms=-1, message_timestamp_type=stamps)
        self.first = expired

    def index(self, *messages: Message, cleanup_policy: str = "compact") -> None:
        """The topic of offset-syncs, and one of checkpoints that has none yet."""
        create_topic(self.source, self.syncs, cleanup_policy=cleanup_policy)
        produce(self.source, self.syncs, messages)
        create_topic(self.destination, self.checkpoints, cleanup_policy="compact")

    def sync(self, record: int, copy: int, partition: int = 0) -> Message:
        """That the copy of this record of the source is at this offset."""
        return offset_sync(self.topic, partition, record + self.first, copy)

    def stand(self, *records: int) -> None:
        """A group for each of these, which will consume it next."""
        self.commits = {group_of(self.topic, number): at + self.first for number, at in enumerate(records)}
        commit_all(self.source, self.topic, [{0: offset} for offset in self.commits.values()])
        self.migration.snapshot(*self.commits)

    def judged(self, **options: t.Any) -> Result:
        """What the module says of the groups, if it is true."""
        done: Result = self.migration.translate(**self.options, **options)
        judge = Judge(self.source, self.topic, self.destination, self.topic)
        for entry in done["entries"]:
            judge.check(entry, self.commits[entry["group"]])
        assert len(done["entries"]) == len(self.commits)
        return done

    def all_exact(self, **options: t.Any) -> Result:
        """The same for groups that can all be settled."""
        done = self.judged(**options)
        assert {entry["verdict"] for entry in done["entries"]} == {"exact"}, done["entries"]
        return done

    def refused(self, **options: t.Any) -> str:
        """What the module says when it does nothing."""
        files = {name: str(self.migration.directory / f"{name}.json") for name in ("snapshot", "plan")}
        its = {"source": self.source.connection, "destination": self.destination.connection, **files, **self.options}
        return refuses("kafka_offset_translate", **its | options)

    @property
    def options(self) -> dict[str, t.Any]:
        """Those of kafka_offset_translate."""
        return {"strategy": "mirror_maker", "replication_policy": self.policy}


def whatever(world: World, seed: int) -> None:
    """Transactions and aborts, replication tools that filter, lag or begin again, and syncs of which many are wrong."""
    random = Random(seed)
    world.create(expired=random.choice([0, 7]), stamps=random.choice(["CreateTime", "LogAppendTime"]))
    numbers = iter(range(1_000_000))
    writes = [
        ([numbered(next(numbers)) for _each in range(random.randrange(1, 40))], random.random() < 0.7)
        for _write in range(random.choice([1, 12]))
    ]
    produce_in_transactions(world.source, world.topic, writes)
    produce(world.source, world.topic, [numbered(next(numbers)) for _each in range(300)])
    keep = random.choice([None, lambda record: record.offset % 3 > 0])
    copies = copy(
        world.source,
        world.destination,
        world.topic,
        junk=random.choice([0, 0, 4]),
        keep=keep,
        lag=random.choice([0, 0, 30]),
        again=random.choice([0, 0, 25]),
        committed=random.random() < 0.5,
    )
    pairs = [(at, copied[0]) for (_partition, at), copied in copies.items()]
    right = random.sample(pairs, 10)
    wrong = [(at, max(0, there + random.randrange(-40, 40))) for at, there in random.sample(pairs, 10)]
    index = [pair for pair in [*right, *wrong] if random.random() < 0.7]
    world.index(*(offset_sync(world.topic, 0, *pair) for pair in index))
    bogus = [checkpoint(f"group {at}", world.topic, 0, at, max(0, there - 7)) for at, there in wrong]
    produce(world.destination, world.checkpoints, bogus)
    end = max(at for at, _there in pairs)
    world.stand(*(random.randrange(0, end - world.first) for _group in range(8)), end - world.first + 1)
    world.judged()
