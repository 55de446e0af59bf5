"""A migrated group goes on with exactly the records that it had not consumed, whatever has become of the logs.

Each test builds a source, lets a replication tool work, migrates with all modules in check mode, for real and a second time,
and then reads what a consumer of the group gets at the destination.
"""

import time

import pytest

from testbed.clients import (
    Message,
    commit,
    committed,
    create_topic,
    delete_records,
    produce,
    produce_in_transactions,
    read,
    until,
)
from tests.support.consumers import consumed_by_member, member, open_transaction, unconsumed
from tests.support.modules import Migration
from tests.support.numbered import NOW, numbered
from tests.support.replication_tool import copy

DAY = 86_400_000


def values(cluster, group, topic):
    return [each[3] for each in unconsumed(cluster, group, topic)]


def test_half_consumed(source, destination, both, migration):
    topic = both(partitions=2)
    produce(source, topic, [message._replace(partition=part) for part in (0, 1) for message in numbered(100)])
    copy(source, destination, topic, junk=3)
    commit(source, topic, {(topic, 0): 50, (topic, 1): 99})
    entries = migration.carried_out(topic)
    assert {entry["verdict"] for entry in entries.values()} == {"exact"}
    assert committed(destination, topic) == {(topic, 0): (53, ""), (topic, 1): (102, "")}
    # A real member that has no other position to fall back to.
    assert consumed_by_member(destination, topic, topic) == unconsumed(source, topic, topic)


@pytest.mark.parametrize("copied", ["before", "after"])
def test_the_last_consumed_record_is_compacted_away(source, destination, both, migration, copied):
    quickly = {"cleanup_policy": "compact", "segment_ms": 100, "min_cleanable_dirty_ratio": 0.001}
    topic = both(quickly)
    keys = [b"%d" % number for number in range(10)] + [b"4"]
    produce(source, topic, [Message(b"v%d" % at, key, (), NOW + at) for at, key in enumerate(keys)])
    if copied == "before":
        copy(source, destination, topic)
    # Much later by its timestamp, so in a new segment: the cleaner leaves the last one alone.
    produce(source, topic, [Message(b"last", b"last", (), NOW + 1000)])
    until(lambda: 4 not in [record.offset for record in read(source, topic)])
    copy(source, destination, topic, **({"keep": lambda record: record.value == b"last"} if copied == "before" else {}))
    commit(source, topic, {(topic, 0): 5})
    entry = migration.carried_out(topic)[topic, 0]
    assert entry["verdict"] == "exact"
    assert unconsumed(destination, topic, topic) == unconsumed(source, topic, topic)
    assert values(destination, topic, topic)[0] == b"v5"


def test_caught_up_after_a_commit_marker(source, destination, both, migration):
    topic = both()
    produce_in_transactions(source, topic, [(numbered(5), True)])
    copy(source, destination, topic)
    commit(source, topic, {(topic, 0): 6})  # 5 records and a marker
    assert migration.carried_out(topic)[topic, 0]["verdict"] == "exact"
    assert committed(destination, topic) == {(topic, 0): (5, "")}


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_aborted_records_before_the_offset(source, destination, both, migration, isolation):
    topic = both()
    produce_in_transactions(
        source, topic, [(numbered(5), True), (numbered(3, 100), False), (numbered(5, 200), True)]
    )  # markers at 5, 9 and 15
    copy(source, destination, topic, committed=isolation == "read_committed")
    commit(source, topic, {(topic, 0): 10})
    entry = migration.carried_out(topic)[topic, 0]
    assert entry["verdict"] == "exact"
    assert values(destination, topic, topic) == [b"%d" % number for number in range(200, 205)]


@pytest.mark.parametrize("stamping", ["at_source", "at_destination"])
def test_a_cluster_that_stamps_records_itself(source, destination, both, migration, stamping):
    topic = both(**{stamping: {"message_timestamp_type": "LogAppendTime"}})
    produce(source, topic, numbered(30))
    copy(source, destination, topic, junk=5)
    commit(source, topic, {(topic, 0): 12})
    assert migration.carried_out(topic)[topic, 0]["verdict"] == "exact"
    assert values(destination, topic, topic) == [b"%d" % number for number in range(12, 30)]


def test_expired_records_that_the_destination_still_holds(source, destination, both, migration):
    topic = both()
    produce(source, topic, numbered(20))
    copy(source, destination, topic)
    delete_records(source, topic, {0: 10})
    commit(source, topic, {(topic, 0): 5})
    entry = migration.carried_out(topic)[topic, 0]
    assert (entry["verdict"], entry["reason"], entry["offset"]) == ("safe", "expired", 5)
    assert (entry["repeats"], entry["lost"]) == (5, 0)
    assert values(destination, topic, topic) == [b"%d" % number for number in range(5, 20)]


def test_leader_epoch_and_metadata(source, destination, both, migration):
    topic = both()
    produce(source, topic, numbered(20))
    copy(source, destination, topic)
    metadata = 'AQAAAX\x00 "quoted"\n\N{PARTY POPPER} ' + "x" * 4000
    commit(source, topic, {(topic, 0): (7, metadata)}, epoch=40)
    migration.carried_out(topic)
    found = migration.snapshot(topic, cluster=migration.destination, snapshot=str(migration.directory / "after.json"))
    assert found["groups"] == [{"name": topic, "type": "classic", "partitions": 1}]
    assert committed(destination, topic) == {(topic, 0): (7, metadata)}
    assert '"leader_epoch": 40' in migration.snapshot_file.read_text()
    assert '"leader_epoch": null' in (migration.directory / "after.json").read_text()


def test_inside_one_cluster_offsets_and_leader_epochs_stay(source, both, topic, tmp_path):
    create_topic(source, topic)
    produce(source, topic, numbered(20))
    commit(source, topic, {(topic, 0): (7, "kept")}, epoch=0)
    renamed = f"{topic}-renamed"
    migration = Migration(tmp_path / "migration", source, source)
    entries = migration.carried_out(topic, to=renamed, strategy="identical", group_map=[{"name": topic, "to": renamed}])
    assert (entries[topic, 0]["verdict"], entries[topic, 0]["offset"]) == ("exact", 7)
    migration.snapshot(renamed, snapshot=str(migration.directory / "after.json"))
    after = (migration.directory / "after.json").read_text()
    assert '"offset": 7, "leader_epoch": 0, "metadata": "kept"' in after


def test_wait_for_replication_sees_it_come(source, destination, both, migration):
    topic = both()
    produce(source, topic, numbered(20))
    copy(source, destination, topic, lag=15)
    commit(source, topic, {(topic, 0): 10})
    migration.snapshot(topic)
    lines = migration.directory.parent / "progress"
    begin = time.monotonic()
    lagging = migration.translate(wait_for_replication=2, progress_file=str(lines))
    assert 2 <= time.monotonic() - begin < 10
    assert lagging["entries"][0]["reason"] == "destination_lags"
    waiting = [line for line in lines.read_text().splitlines() if "waiting" in line]
    assert waiting == [f"waiting for the replication tool: {topic}-0 lags by 5 records (2 s left)"]
    copy(source, destination, topic, keep=lambda record: record.offset >= 5)
    entry = migration.translate(wait_for_replication=30)["entries"][0]
    assert (entry["verdict"], entry["offset"]) == ("exact", 10)


def test_uncommitted_partitions_are_left_alone_or_set(source, destination, both, migration):
    topic = both(partitions=2)
    produce(source, topic, [*numbered(5), *numbered(5, partition=1)])
    copy(source, destination, topic)
    commit(source, topic, {(topic, 0): 5})
    entry = migration.carried_out(topic)[topic, 1]
    assert (entry["verdict"], entry["offset"]) == ("uncommitted", None)
    assert committed(destination, topic) == {(topic, 0): (5, "")}
    assert migration.plan(topic, on_uncommitted="end")[topic, topic, 1]["offset"] == 5
    assert migration.plan(topic, on_uncommitted="start")[topic, topic, 1]["offset"] == 0


def test_an_open_transaction_before_the_offset_is_blocked(source, destination, both, migration):
    topic = both()
    produce(source, topic, numbered(5))
    copy(source, destination, topic)
    with open_transaction(source, topic, numbered(3, 5)):
        commit(source, topic, {(topic, 0): 7})
        entry = migration.plan(topic)[topic, topic, 0]
    assert (entry["verdict"], entry["reason"]) == ("blocked", "open_transaction")


def test_a_kip_848_group_and_large_records(source, destination, both, migration):
    topic = both({"max_message_bytes": 3_000_000}, {"max_message_bytes": 3_000_000})
    big = [message._replace(value=bytes([at]) * 1_000_000) for at, message in enumerate(numbered(6))]
    produce(source, topic, big)
    copy(source, destination, topic, junk=1)
    with member(source, topic, [topic], "consumer"):
        pass
    assert migration.carried_out(topic)[topic, 0]["offset"] == 7
    commit(source, topic, {(topic, 0): 3})
    assert migration.plan(topic)[topic, topic, 0]["offset"] == 4
