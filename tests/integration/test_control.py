"""Groups, commits, positions and settings, as brokers of every version tell and take them."""

import dataclasses
import os
import signal
import threading
import time

import pytest
from confluent_kafka import TopicPartition as Position

from ansible_collections.streamshift.kafka.plugins.module_utils._control import (
    admin_client,
    commits,
    groups,
    positions,
    topics,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.background import at_once
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import NotFound
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.idle import idle_problem
from ansible_collections.streamshift.kafka.plugins.module_utils._model.open_clients import keeping
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from testbed.clients import (
    Message,
    commit,
    consume,
    create_topic,
    delete_records,
    open_consumer,
    open_producer,
    produce,
)
from testbed.sandbox import start
from tests.support.consumers import assigned, member, offsets_in_transaction, open_transaction, share_member
from tests.support.numbered import numbered_topic

# Brokers count units of UTF-16, and not bytes, as the name of their setting says.
LONGEST = "é" * 4094 + "\N{GRINNING FACE}"


def read(connection, group):
    return groups.read_groups(connection, [group])[group]


def test_commits_come_back_as_they_were_written(cluster, connection, topic):
    create_topic(cluster, topic, partitions=6)
    written = {
        TopicPartition(topic, 0): CommittedOffset(0),
        TopicPartition(topic, 1): CommittedOffset(2**62, "AQAAAY==", 0),
        TopicPartition(topic, 2): CommittedOffset(7, "méta\x00\r\n😀", 3),
        TopicPartition(topic, 3): CommittedOffset(8, LONGEST),
    }
    too_long = {TopicPartition(topic, 4): CommittedOffset(1, LONGEST + "x")}
    nowhere = {TopicPartition(topic, 6): CommittedOffset(1), TopicPartition(f"{topic}-none", 0): CommittedOffset(1)}
    failed = commits.commit_offsets(connection, {topic: written | too_long | nowhere, f"{topic}-b": written})
    assert {where: text.split(":")[0] for where, text in failed[topic].items()} == {
        **dict.fromkeys(too_long, "OFFSET_METADATA_TOO_LARGE"),
        **dict.fromkeys(nowhere, "UNKNOWN_TOPIC_OR_PARTITION"),
    }
    assert failed[f"{topic}-b"] == {}
    reading = read(connection, topic)
    assert (reading.offsets, reading.exists, reading.state) == (written, True, "Empty")
    assert idle_problem(reading, read(connection, topic)) is None


def test_a_module_connects_once_to_a_broker_whatever_it_asks_at_the_same_time(cluster, connection, topic, monkeypatch):
    """Each connection takes two round trips, and with TLS and a login more."""
    create_topic(cluster, topic, partitions=2)
    built, build = [], admin_client._Manager._build_transport

    async def counted(manager, node, timeout_at=None):
        built.append(node)
        return await build(manager, node, timeout_at)

    monkeypatch.setattr(admin_client._Manager, "_build_transport", counted)
    near = dataclasses.replace(connection, bootstrap_servers=connection.bootstrap_servers[:1])
    with keeping():
        assert topics.cluster_id(near)
        at_once(
            lambda: positions.partition_bounds(near, [TopicPartition(topic, 0)]),
            lambda: groups.read_groups(near, [topic]),
        )
        assert topics.cluster_id(near)
    assert len(built) == 1


def test_what_is_removed_is_gone_and_what_is_gone_can_be_removed(cluster, connection, topic):
    create_topic(cluster, topic, partitions=2)
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    commit(cluster, topic, {first: 1, second: 2})
    for _unused in range(2):
        assert commits.delete_offsets(connection, {topic: [first], f"{topic}-none": [first]}) == {
            topic: {},
            f"{topic}-none": {},
        }
        assert read(connection, topic).offsets == {second: CommittedOffset(2)}
    for _unused in range(2):
        assert commits.delete_groups(connection, [topic, f"{topic}-none"]) == {}
        assert not read(connection, topic).exists


def test_brokers_tell_whether_anybody_has_ever_joined_a_group(cluster, connection, topic):
    """That is how a consumer is told from a tool that commits, after it has left and others have committed again."""
    numbered_topic(cluster, topic, 5, partitions=1)
    alone, joined = f"{topic}-alone", f"{topic}-joined"
    for group in (alone, joined):
        commit(cluster, group, {(topic, 0): 1})
    assert not read(connection, joined).had_members
    assert consume(cluster, joined, [topic], 2) == 2
    commit(cluster, joined, {(topic, 0): 4})
    left = read(connection, joined)
    assert (left.had_members, left.has_members, left.offsets[TopicPartition(topic, 0)].offset) == (True, False, 4)
    assert not read(connection, alone).had_members and not read(connection, f"{topic}-none").had_members


def test_an_unknown_group_is_told_from_an_empty_one(cluster, connection, topic):
    create_topic(cluster, topic)
    assert not read(connection, topic).exists
    commit(cluster, topic, {(topic, 0): 0})
    found = groups.read_groups(connection, [topic, f"{topic}-none"])
    assert [found[name].exists for name in (topic, f"{topic}-none")] == [True, False]
    assert found[topic].type == ("unknown" if cluster.name == "old" else "classic")
    assert topic in [row.group for row in groups.list_groups(connection)]


def test_a_live_group_is_refused_as_a_whole(cluster, connection, topic):
    create_topic(cluster, topic)
    produce(cluster, topic, [Message(b"one")])
    idle = f"{topic}-idle"
    wanted = {TopicPartition(topic, 0): CommittedOffset(0)}
    with member(cluster, topic, [topic]):
        reading = read(connection, topic)
        assert "has members" in idle_problem(reading, reading)
        failed = commits.commit_offsets(connection, {topic: wanted, idle: wanted})
        assert "the group has members" in failed[topic][TopicPartition(topic, 0)] and failed[idle] == {}
        (why,) = commits.delete_offsets(connection, {topic: list(wanted)})[topic].values()
        assert "a member of the group is subscribed to the topic" in why
        assert "the group has members" in commits.delete_groups(connection, [topic])[topic]
        assert read(connection, topic).offsets[TopicPartition(topic, 0)].offset == 1


def test_a_live_kip_848_group_is_refused_as_well(source, newest, topic):
    create_topic(source, topic)
    produce(source, topic, [Message(b"one")])
    wanted = {TopicPartition(topic, 0): CommittedOffset(0)}
    with member(source, topic, [topic], protocol="consumer"):
        reading = read(newest, topic)
        assert (reading.type, reading.exists) == ("consumer", True)
        assert "has members" in idle_problem(reading, reading)
        (why,) = commits.commit_offsets(newest, {topic: wanted})[topic].values()
        assert "the group has members" in why
    reading = read(newest, topic)
    assert (reading.type, reading.state, idle_problem(reading, reading)) == ("consumer", "Empty", None)
    assert commits.commit_offsets(newest, {topic: wanted}) == {topic: {}}


def test_a_share_group_is_no_consumer_group(source, newest, topic):
    create_topic(source, topic)
    wanted = {TopicPartition(topic, 0): CommittedOffset(0)}
    with share_member(source, topic, topic):
        reading = read(newest, topic)
        assert "is a share group" in idle_problem(reading, reading)
        failed = commits.commit_offsets(newest, {topic: wanted})[topic]
        assert failed == {TopicPartition(topic, 0): "GROUP_ID_NOT_FOUND: it is no consumer group"}


def test_a_consumer_without_membership_shows_as_moving_commits(cluster, connection, topic):
    create_topic(cluster, topic)
    with assigned(cluster, topic, topic) as more:
        more()
        before = read(connection, topic)
        more()
        assert f"has commits that move ({topic}-0 from 1 to 2)" in idle_problem(before, read(connection, topic))


def test_commits_of_an_open_transaction_are_waited_for(cluster, connection, topic):
    create_topic(cluster, topic)
    where = TopicPartition(topic, 0)
    commit(cluster, topic, {where: 3})
    producer, consumer = open_producer(cluster, transactional_id=topic), open_consumer(cluster, topic)
    producer.begin_transaction()
    producer.send_offsets_to_transaction([Position(topic, 0, 9)], consumer.consumer_group_metadata(), 20)
    assert groups.read_groups(connection, [topic], stable=False)[topic].offsets[where].offset == 3
    ending = threading.Timer(1.0, producer.commit_transaction, (20,))
    ending.start()
    assert read(connection, topic).offsets[where].offset == 9
    ending.join()
    consumer.close()


def test_a_transaction_that_stays_open_is_told_with_its_group_and_partition_and_is_no_matter_of_others(
    cluster, connection, topic
):
    create_topic(cluster, topic, partitions=2)
    first, second = (TopicPartition(topic, number) for number in (0, 1))
    other, new = f"{topic}-other", f"{topic}-new"
    commit(cluster, topic, {first: 3, second: 4})
    commit(cluster, other, {first: 5})
    begun = time.monotonic()
    with (
        offsets_in_transaction(cluster, topic, {(topic, 1): 9}) as name,
        offsets_in_transaction(cluster, new, {(topic, 0): 9}),
        offsets_in_transaction(cluster, other, {(topic, 1): 9}),
    ):
        found = groups.read_groups(connection, [topic, other], patience=0.5)
        beside = {new: [first, second], other: [second]}
        asked = groups.read_groups(connection, [new, other], patience=0.5, beside=beside)
    assert time.monotonic() < begun + 10
    assert {where: each.offset for where, each in found[topic].offsets.items()} == {first: 3, second: 4}
    assert (list(found[topic].open), found[other].open) == ([second], {})
    assert {name: list(its.open) for name, its in asked.items()} == {new: [first], other: [second]}
    assert asked[new].offsets == {} and list(asked[other].offsets) == [first]
    tells = cluster.name != "old"
    assert (f"transactional id {name} (producer id " in found[topic].open[second]) == tells
    read_again = read(connection, topic)
    assert read_again.open == {} and read_again.offsets[second].offset == 4


def test_hundreds_of_groups_are_committed_and_read_at_once(cluster, connection, topic):
    create_topic(cluster, topic, partitions=50)
    wanted = {
        f"{topic}-{number}": {
            TopicPartition(topic, each): CommittedOffset(number + each, "m" * 20) for each in range(50)
        }
        for number in range(200)
    }
    assert commits.commit_offsets(connection, wanted) == {group: {} for group in wanted}
    found = groups.read_groups(connection, list(wanted))
    assert {group: reading.offsets for group, reading in found.items()} == wanted
    assert commits.delete_groups(connection, list(wanted)) == {}


def test_more_metadata_than_fits_one_batch_is_committed(source, newest, topic):
    create_topic(source, topic, partitions=400)
    wanted = {TopicPartition(topic, each): CommittedOffset(each, "m" * 4000) for each in range(400)}
    assert commits.commit_offsets(newest, {topic: wanted}) == {topic: {}}
    assert read(newest, topic).offsets == wanted


def test_bounds_tell_the_last_stable_offset_and_are_told_as_far_as_they_are_known(cluster, connection, topic):
    create_topic(cluster, topic, partitions=2)
    produce(cluster, topic, [Message(b"%d" % number) for number in range(5)])
    delete_records(cluster, topic, {0: 2})
    here, there = TopicPartition(topic, 0), TopicPartition(topic, 1)
    missing = [TopicPartition(topic, 7), TopicPartition(f"{topic}-none", 0)]
    known = positions.bounds_as_far_as_known(connection, [here, there, *missing], 5)
    assert known == (topics.cluster_id(connection), {here: (2, 5, 5), there: (0, 0, 0)})
    with open_transaction(cluster, topic, [Message(b"open")]):
        assert positions.partition_bounds(connection, [here, there]) == {here: (2, 5, 6), there: (0, 0, 0)}
    assert positions.partition_bounds(connection, [here]) == {here: (2, 7, 7)}


def test_a_time_is_looked_up_in_the_order_of_the_log(cluster, connection, topic):
    create_topic(cluster, topic, partitions=2, retention_ms=-1)
    produce(cluster, topic, [Message(b"x", timestamp=time) for time in (100, 50, 300, 200, 300, 10, 400)])
    here, there = TopicPartition(topic, 0), TopicPartition(topic, 1)
    asked = [*((here, time) for time in (0, 100, 101, 300, 301, 400, 401)), (there, 0)]
    assert list(positions.lookup_all_times(connection, asked, set()).values()) == [0, 0, 2, 2, 6, 6, None, None]


def test_a_log_in_which_a_deleted_record_hides_later_ones_from_look_ups_is_told(source, newest, topic):
    create_topic(source, topic, retention_ms=-1, segment_bytes=1 << 20)
    first_segment = [Message(b"x", timestamp=5000), *[Message(b"x" * 10_000, timestamp=100)] * 104]
    produce(source, topic, first_segment, **{"batch.size": 10_000})
    produce(source, topic, [Message(b"x" * 100_000, timestamp=200), Message(b"x", timestamp=3000)])
    here = TopicPartition(topic, 0)
    delete_records(source, topic, {0: 1})
    refused: set[TopicPartition] = set()
    assert positions.lookup_all_times(newest, [(here, 6000)], refused) == {(here, 6000): None}
    assert (positions.lookup_all_times(newest, [(here, 3000)], refused), refused) == ({}, {here})


def test_what_does_not_exist_is_named(newest, source, topic):
    create_topic(source, topic)
    with pytest.raises(NotFound, match=f"no such partition: {topic}-1, {topic}-7"):
        positions.partition_bounds(newest, [TopicPartition(topic, each) for each in (0, 1, 7)])
    with pytest.raises(NotFound, match=f"no such topic: {topic}-none"):
        positions.lookup_all_times(
            newest, [(TopicPartition(topic, 0), 1), (TopicPartition(f"{topic}-none", 0), 1)], set()
        )
    with pytest.raises(NotFound, match=f"no such topic: {topic}-none"):
        topics.topic_settings(newest, [topic, f"{topic}-none"])


def test_topics_and_their_settings(cluster, connection, topic):
    create_topic(cluster, topic, partitions=3)
    compacted, stamped = f"{topic}-compacted", f"{topic}-stamped"
    create_topic(cluster, compacted, cleanup_policy="compact", retention_ms=5000)
    create_topic(cluster, stamped, message_timestamp_type="LogAppendTime", retention_ms=-1)
    assert topics.describe_topics(connection, [topic, f"{topic}-none"]) == {
        topic: topics.TopicDescription(3),
        f"{topic}-none": topics.TopicDescription(0, "UNKNOWN_TOPIC_OR_PARTITION"),
    }
    assert topics.topic_settings(connection, [topic, compacted, stamped]) == {
        topic: topics.TopicSettings(False, False, 604_800_000),
        compacted: topics.TopicSettings(False, True, None),
        stamped: topics.TopicSettings(True, False, None),
    }
    assert {topic, compacted, stamped} <= set(topics.list_topics(connection))
    assert topics.cluster_id(connection) == cluster.cluster_id


def test_nothing_to_ask_asks_nobody():
    nowhere = connection_from({"bootstrap_servers": "127.0.0.1:1"})
    assert topics.describe_topics(nowhere, []) == topics.topic_settings(nowhere, []) == {}
    assert positions.partition_bounds(nowhere, []) == positions.lookup_all_times(nowhere, [], set()) == {}


@pytest.mark.parametrize("version", ["4.3.0", "2.8.2"])
def test_the_first_group_of_a_fresh_cluster(own_cluster, version):
    """Its coordinator is still being made when it is asked."""
    fresh = own_cluster("fresh", version=version)
    connection = connection_from(fresh.connection)
    assert not read(connection, "billing").exists
    create_topic(fresh, "orders")
    wanted = {TopicPartition("orders", 0): CommittedOffset(1)}
    assert commits.commit_offsets(connection, {"billing": wanted}) == {"billing": {}}
    assert read(connection, "billing").offsets == wanted


def test_leaders_tell_where_their_epochs_end(own_cluster, tmp_path, topic):
    """A broker that comes back leads in a later epoch; in a later one than its own, it knows no end."""
    cluster = own_cluster("epochs")
    create_topic(cluster, topic)
    produce(cluster, topic, [Message(b"%d" % number) for number in range(5)])
    (pid,) = cluster.cluster.pids.values()
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    start("epochs", tmp_path)
    produce(cluster, topic, [Message(b"%d" % number) for number in range(7)])
    where, to = TopicPartition(topic, 0), connection_from(cluster.connection, "source cluster")
    found = positions.epoch_ends(to, {(where, epoch) for epoch in (0, 1, 1000)})
    assert found.pop((where, 0)) == 5
    assert found in ({(where, 1): 12}, {(where, 1): 5})  # the second one, if it led in no epoch 1
