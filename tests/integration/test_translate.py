# SPDX-License-Identifier: GPL-3.0-or-later

"""A migrated group goes on with exactly the records that it had not consumed, whatever has become of the logs.

Each test builds a source, lets a replication tool work, migrates with all modules in check mode, for real and a second time,
and then reads what a consumer of the group gets at the destination.
"""

from __future__ import annotations

import collections
import time

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.topic_changes import add_partitions
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from testbed.clients import (
    Message,
    commit,
    committed,
    create_topic,
    delete_records,
    produce,
    produce_in_transactions,
    read,
)
from tests.support.consumers import commit_with_epoch, consumed_by_member, member, open_transaction, unconsumed
from tests.support.modules import Migration
from tests.support.replication_tool import copy, repartition

DAY = 86_400_000
NOW = int(time.time() * 1000) - 2 * DAY  # timestamps of the past, as real ones are


@pytest.fixture
def migration(source, destination, tmp_path):
    return Migration(tmp_path / "migration", source, destination)


@pytest.fixture
def both(source, destination, topic):
    """A topic on both clusters, with settings of either."""

    def make(at_source=None, at_destination=None, partitions=1):
        create_topic(source, topic, partitions, **{"retention_ms": -1} | (at_source or {}))
        create_topic(destination, topic, partitions, **{"retention_ms": -1} | (at_destination or {}))
        return topic

    return make


def numbered(count, first=0, step=1000, **more):
    return [Message(b"%d" % number, b"key", (), NOW + number * step, **more) for number in range(first, first + count)]


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


@pytest.mark.parametrize("consumed", [3, 5, 7])
def test_equal_records_of_one_millisecond_are_counted(source, destination, both, migration, consumed):
    topic = both()
    equal = [Message(b"click", b"key", (), NOW + 3000)] * 5
    produce(source, topic, [*numbered(3), *equal, *numbered(3, 4)])
    copy(source, destination, topic, junk=2)
    commit(source, topic, {(topic, 0): consumed})
    assert migration.carried_out(topic)[topic, 0]["verdict"] == "exact"
    assert committed(destination, topic) == {(topic, 0): (consumed + 2, "")}


def test_equal_records_that_a_restarted_replication_tool_has_copied_twice(source, destination, both, migration):
    topic = both()
    equal = [Message(b"click", b"key", (), NOW + 3000)] * 5
    produce(source, topic, [*numbered(3), *equal])
    copy(source, destination, topic, again=5)
    commit(source, topic, {(topic, 0): 5})
    entry = migration.carried_out(topic)[topic, 0]
    assert entry["verdict"] == "exact"
    assert difference(source, destination, topic) == (0, 0)  # three of them follow, as many as are unconsumed


def test_a_restarted_replication_tool_repeats_what_is_consumed(source, destination, both, migration):
    topic = both()
    produce(source, topic, numbered(20))
    copy(source, destination, topic, again=8)
    commit(source, topic, {(topic, 0): 15})
    entry = migration.carried_out(topic)[topic, 0]
    # The second copy of the first unconsumed record: before it, consumed ones are there again.
    assert (entry["verdict"], entry["offset"]) == ("exact", 23)
    assert difference(source, destination, topic) == (0, 0)


@pytest.mark.parametrize("back", [5, 3 * 3_600_000], ids=["milliseconds", "hours"])
def test_timestamps_that_go_backwards(source, destination, both, migration, back):
    topic = both()
    messages = numbered(40, step=1)
    for at in range(5, 40, 7):
        messages[at] = messages[at]._replace(timestamp=messages[at].timestamp - back)
    produce(source, topic, messages)
    copy(source, destination, topic, junk=4)
    for consumed in (5, 6, 19, 20, 26):
        group = f"{topic}-{consumed}"
        commit(source, group, {(topic, 0): consumed})
        assert migration.plan(group)[group, topic, 0]["verdict"] == "exact"
        migration.commit(receipt=str(migration.directory / f"receipt-{consumed}.json"))
        assert committed(destination, group) == {(topic, 0): (consumed + 4, "")}


def test_a_destination_that_stamps_records_itself(source, destination, both, migration):
    topic = both(at_destination={"message_timestamp_type": "LogAppendTime"})
    produce(source, topic, numbered(30))
    copy(source, destination, topic, junk=5)
    commit(source, topic, {(topic, 0): 12})
    entry = migration.carried_out(topic)[topic, 0]
    assert entry["verdict"] == "exact"
    assert values(destination, topic, topic) == [b"%d" % number for number in range(12, 30)]


def test_a_source_that_stamped_records_itself(source, destination, both, migration):
    topic = both(at_source={"message_timestamp_type": "LogAppendTime"})
    produce(source, topic, numbered(30))
    copy(source, destination, topic, junk=5)
    commit(source, topic, {(topic, 0): 12})
    assert migration.carried_out(topic)[topic, 0]["verdict"] == "exact"
    assert unconsumed(destination, topic, topic) == unconsumed(source, topic, topic)


def test_junk_that_looks_like_a_record(source, destination, both, migration):
    topic = both()
    produce(source, topic, numbered(10))
    # The same keys and values, written by somebody long before the copy.
    produce(destination, topic, [message._replace(timestamp=NOW - DAY) for message in numbered(10)])
    copy(source, destination, topic)
    for consumed in (0, 4, 10):
        group = f"{topic}-{consumed}"
        commit(source, group, {(topic, 0): consumed})
        migration.plan(group)
        migration.commit(receipt=str(migration.directory / f"receipt-{consumed}.json"))
        expected = 0 if consumed == 0 else consumed + 10  # nothing was ever consumed: all of it is news to the group
        assert committed(destination, group) == {(topic, 0): (expected, "")}


def test_ends_and_empty_partitions(source, destination, both, migration):
    topic = both(partitions=3)
    produce(source, topic, [*numbered(10), *numbered(10, partition=1)])
    copy(source, destination, topic, junk=2)
    commit(source, topic, {(topic, 0): 10, (topic, 1): 0, (topic, 2): 0})
    entries = migration.carried_out(topic)
    assert {entry["verdict"] for entry in entries.values()} == {"exact"}
    assert committed(destination, topic) == {(topic, 0): (12, ""), (topic, 1): (0, ""), (topic, 2): (0, "")}


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


@pytest.mark.parametrize(("consumed", "verdict"), [(5, "safe"), (0, "exact")])
def test_records_that_have_expired_on_both_clusters(source, destination, both, migration, consumed, verdict):
    topic = both()
    produce(source, topic, numbered(20))
    copy(source, destination, topic)
    for cluster in (source, destination):
        delete_records(cluster, topic, {0: 10})
    commit(source, topic, {(topic, 0): consumed})
    entry = migration.carried_out(topic)[topic, 0]
    assert (entry["verdict"], entry["offset"], entry["repeats"], entry["lost"]) == (verdict, 10, 0, 10 - consumed)
    assert f"lost on both clusters: {10 - consumed} records" in entry["detail"]


def test_everything_consumed_has_expired(source, destination, both, migration):
    topic = both()
    produce(source, topic, numbered(20))
    copy(source, destination, topic, junk=2)
    delete_records(source, topic, {0: 10})
    commit(source, topic, {(topic, 0): 10})
    assert migration.carried_out(topic)[topic, 0]["verdict"] == "exact"
    assert unconsumed(destination, topic, topic) == unconsumed(source, topic, topic)


def test_an_idle_partition_whose_records_have_all_expired(source, destination, both, migration):
    topic = both()
    produce(source, topic, numbered(20))
    copy(source, destination, topic)
    delete_records(source, topic, {0: 20})
    commit(source, topic, {(topic, 0): 20})
    entry = migration.carried_out(topic)[topic, 0]
    assert (entry["verdict"], entry["reason"]) == ("safe", "caught_up")
    blocked = migration.plan(topic, on_no_anchor="fail")[topic, topic, 0]
    assert (blocked["verdict"], blocked["offset"]) == ("blocked", None)


def test_partition_counts_that_differ(source, destination, topic, migration):
    create_topic(source, topic, 2, retention_ms=-1)
    create_topic(destination, topic, 3, retention_ms=-1)
    produce(source, topic, numbered(10))
    copy(source, destination, topic)
    commit(source, topic, {(topic, 0): 5, (topic, 1): 0})
    entries = migration.plan(topic)
    assert {(entry["verdict"], entry["reason"]) for entry in entries.values()} == {
        ("blocked", "partition_count_differs")
    }
    assert "2 partitions at the source" in entries[topic, topic, 0]["detail"]


def test_partitions_that_were_added_after_records_had_been_copied(source, destination, topic, migration):
    """An unconsumed record of one partition stands before the offset that another partition alone would say is exact."""
    create_topic(source, topic, 2, retention_ms=-1)
    create_topic(destination, topic, 1, retention_ms=-1)
    produce(source, topic, [message._replace(partition=number % 2) for number, message in enumerate(numbered(40))])
    repartition(source, destination, [topic], topic, 1)
    add_partitions(connection_from(destination.plaintext, "destination cluster"), {topic: 2})
    produce(source, topic, newer := [message._replace(partition=1) for message in numbered(3, first=100)])
    produce(destination, topic, newer)
    commit(source, topic, {(topic, 0): 5, (topic, 1): 3})
    entries = migration.plan(topic).values()
    assert {(entry["verdict"], entry["reason"]) for entry in entries} == {("blocked", "other_partitions")}
    assert all(f"{topic}-1 offset 3 is {topic}-0 offset" in entry["detail"] for entry in entries)


def test_null_is_not_empty_and_headers_count(source, destination, both, migration):
    topic = both()
    bodies = [
        Message(None, b"k"),
        Message(b"", b"k"),
        Message(b"v", None),
        Message(b"v", b""),
        Message(b"v", b"k", (("h", b"1"),)),
        Message(b"v", b"k", (("h", None),)),
        Message(b"v", b"k", (("h", b"1"), ("h", b"1"))),
        Message(b"v", b"k"),
    ]
    produce(source, topic, [body._replace(timestamp=NOW) for body in bodies])
    copy(source, destination, topic, junk=1)
    for consumed in range(1, len(bodies)):
        commit(source, f"{topic}-{consumed}", {(topic, 0): consumed})
    entries = migration.plan(*(f"{topic}-{consumed}" for consumed in range(1, len(bodies))))
    assert {entry["verdict"] for entry in entries.values()} == {"exact"}
    assert [entry["offset"] for entry in entries.values()] == [consumed + 1 for consumed in range(1, len(bodies))]


def test_a_replication_tool_that_adds_headers(source, destination, both, migration):
    topic = both()
    produce(source, topic, numbered(20))
    added = [message._replace(headers=(("x-original-topic", b"orders"),)) for message in numbered(20)]
    produce(destination, topic, added)
    commit(source, topic, {(topic, 0): 7})
    entry = migration.carried_out(topic)[topic, 0]
    assert (entry["verdict"], entry["offset"]) == ("exact", 7)


def test_a_replication_tool_that_changes_values_needs_match_on(source, destination, both, migration):
    topic = both()
    produce(source, topic, [message._replace(key=b"k%d" % at) for at, message in enumerate(numbered(20))])
    changed = [m._replace(key=b"k%d" % at, value=b"\x00" + (m.value or b"")) for at, m in enumerate(numbered(20))]
    produce(destination, topic, changed)
    commit(source, topic, {(topic, 0): 7})
    by_default = migration.plan(topic)[topic, topic, 0]
    assert by_default["verdict"] == "blocked"
    entry = migration.carried_out(topic, match_on=["key", "timestamp"])[topic, 0]
    assert (entry["verdict"], entry["offset"]) == ("exact", 7)


def test_leader_epoch_and_metadata(source, destination, both, migration):
    topic = both()
    produce(source, topic, numbered(20))
    copy(source, destination, topic)
    metadata = 'AQAAAX\x00 "quoted"\n\N{PARTY POPPER} ' + "x" * 4000
    commit_with_epoch(source, topic, topic, 7, metadata, 40)
    migration.carried_out(topic)
    found = migration.snapshot(topic, cluster=migration.destination, snapshot=str(migration.directory / "after.json"))
    assert found["groups"] == [{"name": topic, "type": "classic", "partitions": 1}]
    assert committed(destination, topic) == {(topic, 0): (7, metadata)}
    assert '"leader_epoch": 40' in migration.snapshot_file.read_text()
    assert '"leader_epoch": null' in (migration.directory / "after.json").read_text()


def test_inside_one_cluster_offsets_and_leader_epochs_stay(source, both, topic, tmp_path):
    create_topic(source, topic)
    produce(source, topic, numbered(20))
    commit_with_epoch(source, topic, topic, 7, "kept", 0)
    renamed = f"{topic}-renamed"
    migration = Migration(tmp_path / "migration", source, source)
    entries = migration.carried_out(topic, to=renamed, strategy="identical", group_map=[{"name": topic, "to": renamed}])
    assert (entries[topic, 0]["verdict"], entries[topic, 0]["offset"]) == ("exact", 7)
    migration.snapshot(renamed, snapshot=str(migration.directory / "after.json"))
    after = (migration.directory / "after.json").read_text()
    assert '"offset": 7, "leader_epoch": 0, "metadata": "kept"' in after


def test_identical_is_proved_between_two_clusters(source, destination, both, migration):
    topic = both()
    produce(source, topic, numbered(20))
    copy(source, destination, topic)
    commit(source, topic, {(topic, 0): 7})
    assert migration.carried_out(topic, strategy="identical")[topic, 0]["verdict"] == "exact"
    shifted = f"{topic}-shifted"
    for cluster in (source, destination):
        create_topic(cluster, shifted, retention_ms=-1)
    produce(source, shifted, numbered(20))
    copy(source, destination, shifted, junk=1)
    commit(source, shifted, {(shifted, 0): 7})
    entry = migration.plan(shifted, strategy="identical")[shifted, shifted, 0]
    assert (entry["verdict"], entry["reason"]) == ("blocked", "offsets_differ")


def test_a_replication_tool_that_lags_blocks_and_names_the_lossless_offset(source, destination, both, migration):
    topic = both()
    produce(source, topic, numbered(20))
    copy(source, destination, topic, junk=2, lag=15)
    commit(source, topic, {(topic, 0): 10})
    entry = migration.plan(topic)[topic, topic, 0]
    assert (entry["verdict"], entry["reason"], entry["offset"]) == ("blocked", "destination_lags", None)
    assert '"lossless": 7' in migration.plan_file.read_text()


def test_wait_for_replication_sees_it_come(source, destination, both, migration):
    topic = both()
    produce(source, topic, numbered(20))
    copy(source, destination, topic, lag=15)
    commit(source, topic, {(topic, 0): 10})
    migration.snapshot(topic)
    begin = time.monotonic()
    assert migration.translate(wait_for_replication=2)["entries"][0]["reason"] == "destination_lags"
    assert 2 <= time.monotonic() - begin < 10
    copy(source, destination, topic, keep=lambda record: record.offset >= 5)
    entry = migration.translate(wait_for_replication=30)["entries"][0]
    assert (entry["verdict"], entry["offset"]) == ("exact", 10)


def test_filtered_records(source, destination, both, migration):
    topic = both()
    produce(source, topic, numbered(20))
    copy(source, destination, topic, keep=lambda record: record.offset % 3 == 0)  # 0 3 6 9 12 15 18
    commit(source, topic, {(topic, 0): 11})
    migration.on_absent = "warn"
    entry = migration.carried_out(topic)[topic, 0]
    assert (entry["verdict"], entry["absent"]) == ("exact", {"records": 5, "source": 11, "exactly": True})
    assert values(destination, topic, topic) == [b"12", b"15", b"18"]


def test_renamed_topics_and_groups(source, destination, topic, migration):
    for name in ("orders", "payments"):
        create_topic(source, f"{topic}-{name}", retention_ms=-1)
        create_topic(destination, f"eu.{topic}-{name}", retention_ms=-1)
        produce(source, f"{topic}-{name}", numbered(20))
        copy(source, destination, f"{topic}-{name}", f"eu.{topic}-{name}", junk=1)
    commit(source, topic, {(f"{topic}-orders", 0): 5, (f"{topic}-payments", 0): 15})
    migration.carried_out(
        topic,
        to=f"new-{topic}",
        topic_map=[{"name": "somebody-else", "to": "x"}, {"pattern": "(.*-(orders|payments))", "to": "eu.\\1"}],
        group_map=[{"pattern": "(.*)", "to": "new-\\1"}],
    )
    assert committed(destination, f"new-{topic}") == {
        (f"eu.{topic}-orders", 0): (6, ""),
        (f"eu.{topic}-payments", 0): (16, ""),
    }
    assert committed(destination, topic) == {}


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


def test_an_offset_beyond_the_end_is_blocked(source, destination, both, migration):
    topic = both()
    produce(source, topic, numbered(5))
    copy(source, destination, topic)
    commit(source, topic, {(topic, 0): 50})
    entry = migration.plan(topic)[topic, topic, 0]
    assert (entry["verdict"], entry["reason"]) == ("blocked", "beyond_end")


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


def difference(source, destination, topic):
    """How many unconsumed records the group does not get at the destination, and how many it gets beyond them."""
    wanted = collections.Counter(unconsumed(source, topic, topic))
    given = collections.Counter(unconsumed(destination, topic, topic))
    return (wanted - given).total(), (given - wanted).total()


def until(true):
    deadline = time.monotonic() + 30
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.3)
