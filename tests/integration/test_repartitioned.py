"""Topics with other partitions at the destination, or made of several: a consumer there misses no record.

Spark starts once for each run of a module, so that each test migrates several topics at once.
"""

import collections
import random
import time
import typing as t

import pytest

from testbed.clients import Message, commit, committed, create_topic, produce, produce_in_transactions, read
from tests.support.clusters import KafkaCluster
from tests.support.consumers import consumed_by_member
from tests.support.modules import Result, refuses, succeeds
from tests.support.replication_tool import repartition

NOW = int(time.time() * 1000) - 2 * 86_400_000
FOREVER = {"retention_ms": -1}

Content = tuple[int, bytes | None, bytes | None, t.Any]
Left = collections.Counter[Content]


@pytest.fixture
def topics(source, destination, topic):
    """Make topics of so many partitions on each side: ``topics({name: 4}, {name: 6})``; names are completed."""

    def make(
        at_source: dict[str, int], at_destination: dict[str, int], **settings: str | int
    ) -> t.Callable[[str], str]:
        for name, partitions in at_source.items():
            create_topic(source, f"{topic}-{name}", partitions, **FOREVER)
        for name, partitions in at_destination.items():
            create_topic(destination, f"{topic}-{name}", partitions, **FOREVER | settings)
        return lambda name: f"{topic}-{name}"

    return make


def messages(count: int, partitions: int, seed: int = 0, keys: int = 9, step: int = 1000) -> list[Message]:
    """Records of some keys, of which each belongs to one partition; every seventh is a tombstone."""
    random_ = random.Random(seed)
    made = []
    for number in range(count):
        key = random_.randrange(keys)
        value = None if number % 7 == 6 else b"%d" % number
        made.append(Message(value, b"k%d" % key, (), NOW + number * step, key % partitions))
    return made


def left_at_source(cluster: KafkaCluster, topic: str, positions: t.Mapping[int, int]) -> Left:
    """What a group that stands there has still to consume; all of a partition that it has never committed."""
    records = read(cluster, topic, start=positions)
    return collections.Counter((each.timestamp, each.key, each.value, each.headers) for each in records)


def left_at_destination(cluster: KafkaCluster, group: str, topic: str) -> Left:
    """What a member of the group really gets; a partition without a commit raises."""
    return collections.Counter(tuple(each[1:]) for each in consumed_by_member(cluster, group, topic))


def untimed(left: Left) -> Left:
    counted: Left = collections.Counter()
    for (_timestamp, *content), count in left.items():
        counted[(0, *content)] += count  # type: ignore[index]
    return counted


def of(entries: t.Mapping[tuple[str, int], Result], topic: str) -> list[Result]:
    return [entry for (name, _partition), entry in sorted(entries.items()) if name == topic]


def check(
    source: KafkaCluster,
    destination: KafkaCluster,
    group: str,
    positions: dict[str, dict[int, int]],
    to: str,
    entries: list[Result],
    timed: bool = True,
) -> int:
    """Nothing is lost, and no more of what is consumed comes again than the plan says; -> how many do."""
    expected: Left = collections.Counter()
    everything: Left = collections.Counter()
    for topic, its in positions.items():
        expected += left_at_source(source, topic, its)
        everything += left_at_source(source, topic, {})
    got = left_at_destination(destination, group, to)
    if not timed:
        expected, everything, got = untimed(expected), untimed(everything), untimed(got)
    assert expected - got == collections.Counter(), "records are lost"
    repeated = sum((got - expected)[consumed] for consumed in everything - expected)
    assert repeated <= sum(entry["repeats"] for entry in entries)
    return repeated


def test_repartitioned_and_merged_topics_go_on_without_loss(source, destination, topics, migration):
    name = topics(
        {"keyed": 4, "keyless": 4, "eu": 2, "us": 3, "quiet": 2}, {"keyed": 6, "keyless": 6, "both": 3, "quiet": 3}
    )
    keyed = [each for each in messages(400, 4) for _unused in range(1 + (each.timestamp % 11000 == 0))]  # some twice
    produce(source, name("keyed"), keyed)
    produce(source, name("keyless"), [each._replace(key=None) for each in messages(200, 4, step=0)])
    produce(source, name("eu"), messages(60, 2, 1))
    produce_in_transactions(
        source, name("us"), [(messages(40, 3, 2), True), (messages(20, 3, 3), False), (messages(40, 3, 4), True)]
    )
    repartition(source, destination, [name("keyed")], name("keyed"), 6)
    repartition(source, destination, [name("keyless")], name("keyless"), 6, keyed=False)
    repartition(source, destination, [name("eu"), name("us")], name("both"), 3, committed=False)
    group, ahead = name("group"), name("ahead")
    ends = {each: collections.Counter(r.partition for r in read(source, name(each))) for each in ("keyed", "us")}
    half = {partition: count // 2 for partition, count in ends["keyed"].items()}
    positions: dict[str, dict[str, dict[int, int]]] = {
        group: {
            name("keyed"): half,
            name("keyless"): {0: 30, 1: 0, 3: 12},  # 2 was never committed
            name("eu"): {0: 20, 1: 9},
            name("us"): {0: 5, 1: 30, 2: 1},
            name("quiet"): {0: 0, 1: 0},
        },
        ahead: {name("keyed"): {**ends["keyed"], 1: ends["keyed"][1] - 3}},
    }
    for each, its in positions.items():
        commit(source, each, {(at, part): (offset, "m") for at, parts in its.items() for part, offset in parts.items()})
    options = {
        "topic_map": [{"pattern": f"{name('')}(eu|us)", "to": name("both")}],
        "repartitioned": [f"{name('')}.*"],
        "spark": {"master": "local[2,4]"},
    }
    migration.carefully(group, lambda **how: migration.snapshot(group, ahead, **how))
    planned = migration.carefully(group, lambda **how: migration.translate(**how, **options))
    migration.carefully(group, migration.commit)
    migration.verify()
    migration.verify(method="anchors")
    entries = {
        each: {(entry["topic"], entry["partition"]): entry for entry in planned["entries"] if entry["group"] == each}
        for each in (group, ahead)
    }
    assert set(entries[group]) == {
        (name(topic), part)
        for topic, count in (("keyed", 6), ("keyless", 6), ("both", 3), ("quiet", 3))
        for part in range(count)
    }
    assert {entry["verdict"] for entry in planned["entries"]} == {"exact", "safe"}
    assert {entry["reason"] for entry in planned["entries"]} <= {None, "repartitioned", "equal_records"}
    for each, topic, to in (
        (group, ["keyed"], "keyed"),
        (ahead, ["keyed"], "keyed"),
        (group, ["keyless"], "keyless"),
        (group, ["eu", "us"], "both"),
        (group, ["quiet"], "quiet"),
    ):
        where = {name(at): positions[each][name(at)] for at in topic}
        check(source, destination, each, where, name(to), of(entries[each], name(to)))
    assert {entry["verdict"] for entry in of(entries[group], name("quiet"))} == {"exact"}
    # The commits' metadata is kept, and every partition has a commit.
    assert {metadata for _offset, metadata in committed(destination, group).values()} == {"m"}
    assert committed(destination, ahead).keys() == {(name("keyed"), part) for part in range(6)}
    migration.roll_back()
    assert committed(destination, group) == {}


@pytest.mark.parametrize(("on_uncommitted", "right"), [("ignore", 2), ("end", 3)])
def test_what_a_group_has_not_committed_is_verified_as_the_plan_counts_it(
    source, destination, topics, migration, on_uncommitted, right
):
    """Its first record equals a consumed one of the other partition, and the broker stamps the copies."""
    name = topics({"s": 2}, {"s": 1}, message_timestamp_type="LogAppendTime")
    topic = group = name("s")
    produce(source, topic, [Message(value, partition=at) for value, at in ((b"a", 0), (b"b", 0), (b"c", 0), (b"a", 1))])
    produce(destination, topic, [Message(value) for value in (b"a", b"b", b"a", b"c")])
    commit(source, group, {(topic, 0): 2})
    (entry,) = migration.plan(group, repartitioned=[topic], on_uncommitted=on_uncommitted).values()
    assert (entry["verdict"], entry["offset"]) == ("exact", right)
    for limit in (0, 10_000):
        done = migration.verify(receipt=None, method="records", limit=limit)
        assert (done["verified"], done["incomplete"], done["notes"]) == (1, 0, [])
    commit(destination, group, {(topic, 0): 3})
    done = succeeds(
        "kafka_offset_verify",
        source=migration.source,
        destination=migration.destination,
        groups=[group],
        repartitioned=[topic],
        on_problem="report",
    )
    (problem,) = done["problems"]
    assert "1 unconsumed record is skipped" in problem
    assert f"first source {topic}-1 offset 0 (no committed offset), destination offset 0" in problem


def test_what_cannot_be_meant_is_refused(source, destination, topics, migration):
    name = topics({"a": 1, "b": 1, "c": 1}, {"b": 1, "c": 2})
    for each in "abc":
        produce(source, name(each), messages(3, 1))
    group = name("g")
    commit(source, group, {(name(each), 0): 3 for each in "abc"})
    migration.snapshot(group)
    message = migration.translate(via=refuses, strategy="identical", repartitioned=[name("c")])
    assert "strategy identical keeps offsets" in message
    entries = migration.translate(repartitioned=[name("[ac]")])["entries"]
    answers = {(entry["topic"], entry["partition"]): (entry["reason"], entry["detail"]) for entry in entries}
    assert answers[name("a"), 0][0] == "topic_missing"
    assert answers[name("c"), 0][0] == answers[name("c"), 1][0] == "destination_lags"
    entries = migration.translate()["entries"]
    detail = {entry["topic"]: entry["detail"] for entry in entries}[name("c")]
    assert "name it in repartitioned" in detail
