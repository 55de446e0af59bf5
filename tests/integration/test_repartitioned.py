# SPDX-License-Identifier: GPL-3.0-or-later

"""Topics with other partitions at the destination, or made of several: a consumer there misses no record.

Spark starts once for each run of a module, so that each test migrates several topics at once.
"""

from __future__ import annotations

import collections
import random
import threading
import time
import typing as t

import pytest

from testbed.clients import (
    Message,
    commit,
    committed,
    create_topic,
    produce,
    produce_in_transactions,
    read,
)
from tests.support.clusters import KafkaCluster
from tests.support.consumers import consumed_by_member, open_transaction
from tests.support.modules import Migration, Result, refuses
from tests.support.replication_tool import repartition

NOW = int(time.time() * 1000) - 2 * 86_400_000
FOREVER = {"retention_ms": -1}

Content = tuple[int, bytes | None, bytes | None, t.Any]
Left = collections.Counter[Content]


@pytest.fixture
def migration(source, destination, tmp_path):
    return Migration(tmp_path / "migration", source, destination)


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


def migrated(migration: Migration, group: str, **options: t.Any) -> dict[tuple[str, str, int], Result]:
    """Planned, committed and proved, each once; -> the plan's entries."""
    entries = migration.plan(group, **options)
    migration.commit()
    migration.verify()
    return entries


def test_repartitioned_and_merged_topics_go_on_without_loss(source, destination, topics, migration):
    name = topics(
        {"keyed": 4, "keyless": 4, "eu": 2, "us": 3, "quiet": 2},
        {"keyed": 6, "keyless": 6, "both": 3, "quiet": 3},
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


def test_a_destination_that_stamps_records_itself_adds_headers_and_has_foreign_records(
    source, destination, topics, migration
):
    name = topics({"late": 3}, {"late": 2}, message_timestamp_type="LogAppendTime")
    produce(source, name("late"), messages(90, 3))
    foreign = [Message(b"foreign %d" % number, b"x", (), 0, number % 2) for number in range(6)]
    produce(destination, name("late"), foreign[:4])
    repartition(source, destination, [name("late")], name("late"), 2)
    produce(destination, name("late"), foreign[4:])
    positions = {0: 12, 1: 20, 2: 25}
    commit(source, name("g"), {(name("late"), part): offset for part, offset in positions.items()})
    entries = migrated(migration, name("g"), repartitioned=[name("late")])
    assert {entry["verdict"] for entry in entries.values()} <= {"exact", "safe"}
    check(source, destination, name("g"), {name("late"): positions}, name("late"), list(entries.values()), timed=False)
    got = untimed(left_at_destination(destination, name("g"), name("late")))
    # Foreign records after the copies are read as well: nobody has proved that they are consumed.
    assert {(0, b"x", each.value, ()) for each in foreign[4:]} <= got.keys()


def test_consumed_records_that_are_still_to_come_block_until_they_have_come(source, destination, topics, migration):
    name = topics({"lag": 2}, {"lag": 3})
    produce(source, name("lag"), messages(60, 2))
    late = {(each.partition, each.offset) for each in read(source, name("lag")) if each.offset >= 25}
    counts = collections.Counter(each.partition for each in read(source, name("lag")))
    repartition(
        source, destination, [name("lag")], name("lag"), 3, keep=lambda each: (each.partition, each.offset) not in late
    )
    positions = {0: 28, 1: min(counts[1], 20)}
    commit(source, name("g"), {(name("lag"), part): offset for part, offset in positions.items()})
    entries = migration.plan(name("g"), repartitioned=[name("lag")])
    assert {(entry["verdict"], entry["reason"]) for entry in entries.values()} == {("blocked", "destination_lags")}
    assert f"{name('lag')}-0 offset 27" in entries[name("g"), name("lag"), 0]["detail"]
    assert "3 consumed records" in entries[name("g"), name("lag"), 0]["detail"]
    assert "destination_lags" in migration.commit(via=refuses)

    def catch_up() -> None:
        time.sleep(5)
        repartition(
            source, destination, [name("lag")], name("lag"), 3, keep=lambda each: (each.partition, each.offset) in late
        )

    copier = threading.Thread(target=catch_up)
    copier.start()
    try:
        entries = migration.plan(name("g"), repartitioned=[name("lag")], wait_for_replication=600)
    finally:
        copier.join()
    assert {entry["verdict"] for entry in entries.values()} <= {"exact", "safe"}
    migration.commit()
    check(source, destination, name("g"), {name("lag"): positions}, name("lag"), list(entries.values()))


def test_an_open_transaction_that_is_copied_already_is_left_to_be_read(source, destination, topics, migration):
    name = topics({"open": 2}, {"open": 1})
    produce(source, name("open"), messages(20, 1))
    held = [Message(b"held %d" % number, b"h", (), NOW, 1) for number in range(3)]
    with open_transaction(source, name("open"), held):
        repartition(source, destination, [name("open")], name("open"), 1, committed=False)
        commit(source, name("g"), {(name("open"), 0): 20, (name("open"), 1): 0})
        migration.plan(name("g"), repartitioned=[name("open")])
        migration.commit()
        got = left_at_destination(destination, name("g"), name("open"))
    assert {(NOW, b"h", each.value, ()) for each in held} <= got.keys()


def test_what_cannot_be_meant_is_refused(source, destination, topics, migration):
    name = topics({"a": 1, "b": 1, "c": 1}, {"b": 1, "c": 2})
    for each in "abc":
        produce(source, name(each), messages(3, 1))
    group = name("g")
    commit(source, group, {(name(each), 0): 3 for each in "abc"})
    migration.snapshot(group)
    merged = {"topic_map": [{"name": name("a"), "to": name("b")}]}
    message = migration.translate(via=refuses, **merged, repartitioned=[name("a")])
    assert "two sources map to one destination" in message
    assert "name both topics in repartitioned" in message
    message = migration.translate(via=refuses, strategy="identical", repartitioned=[name("c")])
    assert "strategy identical keeps offsets" in message
    entries = migration.translate(repartitioned=[name("[ac]")])["entries"]
    answers = {(entry["topic"], entry["partition"]): (entry["reason"], entry["detail"]) for entry in entries}
    assert answers[name("a"), 0][0] == "topic_missing"
    assert answers[name("c"), 0][0] == answers[name("c"), 1][0] == "destination_lags"
    entries = migration.translate()["entries"]
    detail = {entry["topic"]: entry["detail"] for entry in entries}[name("c")]
    assert "name it in repartitioned" in detail
