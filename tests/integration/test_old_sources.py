"""Groups come from brokers that know neither stable offsets nor the operations of a user, to a cluster of today."""

import contextlib
import time

import pytest
from confluent_kafka import KafkaException

from ansible_collections.streamshift.kafka.plugins.module_utils._control import groups
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import NotAuthorized
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from testbed.clients import (
    Message,
    change_topic,
    commit,
    committed,
    create_topic,
    delete_topic,
    deny,
    grant,
    list_groups,
    produce,
    produce_in_transactions,
    read,
    until,
)
from tests.support.clusters import authorizer
from tests.support.consumers import unconsumed
from tests.support.modules import Migration, refuses, succeeds
from tests.support.numbered import numbered_topic
from tests.support.playbooks import Controller, done
from tests.support.promotion import Promotion
from tests.support.random_logs import World, whatever
from tests.support.replication_tool import copy

NOBODY = "User:ANONYMOUS"  # whoever does not log in


@pytest.fixture(params=["kafka11", "kafka011"])
def old_source(request):
    """Each version in turn."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def orders(old_source, destination, topic):
    """A topic of three partitions with committed and aborted transactions, copied; a group of its name lags on two of them.

    The group has committed for another topic, too, which was deleted since.
    """
    gone = f"{topic}-gone"
    create_topic(old_source, topic, 3)
    create_topic(old_source, gone)
    create_topic(destination, topic, 3)
    now = int(time.time() * 1000)
    messages = [Message(b"%d" % n, b"k%d" % (n % 7), (("n", b"1"),), now + n, n % 3) for n in range(90)]
    produce(old_source, topic, messages)
    in_transactions = [
        [Message(b"%s %d" % (word, n), timestamp=now) for n in range(5)] for word in (b"kept", b"aborted")
    ]
    produce_in_transactions(old_source, topic, zip(in_transactions, (True, False), strict=True))
    produce(old_source, topic, [Message(b"last", timestamp=now)])
    copy(old_source, destination, topic, junk=2)
    commit(old_source, topic, {(topic, 0): (33, "kept"), (topic, 1): 30, (gone, 0): 0})
    delete_topic(old_source, gone)
    return topic


@pytest.fixture
def migration(old_source, destination, tmp_path):
    return Migration(tmp_path / "migration", old_source, destination)


def test_a_group_is_listed_goes_on_exactly_and_is_rolled_back(migration, old_source, destination, orders):
    (shown,) = succeeds("kafka_group_info", cluster=migration.source, groups=[orders])["groups"]
    assert (shown["state"], shown["lag"]) == ("Empty", 10)
    info = migration.look(orders)
    assert info["problems"] == []
    assert info["note_kinds"].count("not_told") == 1, info["notes"]  # the snapshot tells of open transactions
    commit(destination, orders, {(orders, 0): (7, "before")})
    planned = migration.carried_out(orders)
    verdicts = {partition: entry["verdict"] for (topic, partition), entry in planned.items() if topic == orders}
    assert verdicts == {0: "exact", 1: "exact", 2: "uncommitted"}
    assert unconsumed(destination, orders, orders) == unconsumed(old_source, orders, orders)
    assert committed(destination, orders)[orders, 0][1] == "kept"
    migration.roll_back()
    assert committed(destination, orders) == {(orders, 0): (7, "before")}


@pytest.mark.parametrize("version", ["1.1.1", "0.11.0.3"])
def test_the_login_needs_what_brokers_of_its_version_ask_for(own_cluster, topic, version):
    settings = authorizer("kafka.security.auth.SimpleAclAuthorizer")
    cluster = own_cluster("authorizing", version=version, memory="300m", settings=settings)
    create_topic(cluster, topic)
    commit(cluster, topic, {(topic, 0): 3})
    connection = connection_from(cluster.connection)
    grant(cluster, {f"GROUP DESCRIBE on {topic}"}, NOBODY)
    if version == "0.11.0.3":
        with pytest.raises(NotAuthorized, match=f"needs ACL GROUP READ on {topic}"):
            groups.read_groups(connection, [topic])
        grant(cluster, {f"GROUP READ on {topic}"}, NOBODY)
    deny(cluster, {"CLUSTER DESCRIBE on kafka-cluster"}, NOBODY)

    def listed():
        try:
            return groups.list_groups(connection, surely=False)
        except NotAuthorized as exc:
            return str(exc)

    until(lambda: "needs ACL CLUSTER DESCRIBE on kafka-cluster: brokers before Kafka 2.1" in listed())
    assert groups.read_groups(connection, [topic])[topic].offsets == {TopicPartition(topic, 0): CommittedOffset(3)}


def test_what_cannot_be_removed_is_refused_before_anything_is_written(old_source, destination, topic, tmp_path):
    """Back to the old cluster: a rollback would have to remove an offset of a group that keeps another one."""
    create_topic(old_source, topic, 2)
    numbered_topic(destination, topic, 10)
    copy(destination, old_source, topic)
    commit(destination, topic, {(topic, 0): 5, (topic, 1): 6})
    commit(old_source, topic, {(topic, 0): 1})
    migration = Migration(tmp_path / "back", destination, old_source)
    migration.plan(topic)
    migration.commit()
    assert committed(old_source, topic) == {(topic, 0): (5, ""), (topic, 1): (6, "")}
    message = migration.roll_back(via=refuses)
    assert f"group {topic}: the brokers cannot remove" in message
    assert committed(old_source, topic) == {(topic, 0): (5, ""), (topic, 1): (6, "")}


@pytest.mark.parametrize("seed", range(6, 9))
def test_whatever_is_in_the_logs(old_source, destination, topic, tmp_path, seed):
    whatever(World(old_source, destination, topic, tmp_path / "migration"), seed)


def refused_or(write):
    """What is written; None if the broker does not take it yet."""
    with contextlib.suppress(KafkaException):
        return write()


@pytest.fixture
def years(old_source, destination, topic):
    """A topic of three message formats, one after the other in one log, of which only the last has headers; it is copied."""
    now = int(time.time() * 1000)
    create_topic(old_source, topic, retention_ms=-1, message_format_version="0.9.0")
    create_topic(destination, topic)

    def write(first, count, headers=()):
        messages = [Message(b"%d" % (first + n), b"key", headers, now + first + n) for n in range(count)]
        offset = produce(old_source, topic, messages, compression_type="gzip")[0]
        return read(old_source, topic, start={0: offset})[0]

    assert write(0, 30).timestamp == -1
    change_topic(old_source, topic, message_format_version="0.10.0")
    until(lambda: write(100, 1).timestamp != -1)
    assert write(200, 30).headers == ()
    change_topic(old_source, topic, message_format_version="0.11.0")
    until(lambda: refused_or(lambda: write(300, 1, (("n", b"1"),))))
    write(400, 30, (("n", b"1"),))
    copy(old_source, destination, topic, junk=3)
    return topic


def test_groups_stand_in_each_message_format_and_what_cannot_be_moved_is_told(
    migration, old_source, destination, years, topic
):
    """A tool has stored -1 for one of them, and consumers without a group.id have committed."""
    end = len(read(old_source, topic))
    groups = {f"{topic}-{offset}": offset for offset in (10, 30, 45, end - 10, end)}
    for group, offset in groups.items():
        commit(old_source, group, {(topic, 0): offset})
    commit(old_source, f"{topic}-none", {(topic, 0): -1})
    commit(old_source, "", {(topic, 0): 7})
    taken = migration.snapshot(group_patterns=[f"({topic}-.*)?"])
    assert set(taken["left_out"]) == {
        "the group with the empty name: brokers neither describe nor remove it",
        f"{topic}-none: it has no committed offsets",
    }
    entries = migration.translate()["entries"]
    assert {entry["group"]: entry["verdict"] for entry in entries} == dict.fromkeys(groups, "exact")
    migration.commit()
    for group in groups:
        assert unconsumed(destination, group, topic) == unconsumed(old_source, group, topic)


def test_a_group_is_renamed_inside_an_old_cluster(kafka11, topic, tmp_path):
    numbered_topic(kafka11, topic, 20, (5, "kept"), partitions=1)
    controller = Controller(tmp_path / "infrastructure", onprem=kafka11)
    names = {"groups": [topic], "group_map": [{"name": topic, "to": f"{topic}-new"}], "remove_source_groups": True}
    done(controller.clone_groups(**names))
    assert committed(kafka11, f"{topic}-new") == {(topic, 0): (5, "kept")}
    assert topic not in list_groups(kafka11)
    done(controller.clone_groups(**names, phase="rollback"))
    assert committed(kafka11, topic) == {(topic, 0): (5, "kept")}
    assert f"{topic}-new" not in list_groups(kafka11)


def test_a_topic_is_created_as_it_is_in_an_old_cluster(old_source, destination, topic, tmp_path):
    create_topic(old_source, topic, 2, max_message_bytes=50_000)
    promotion = Promotion(tmp_path, old_source, destination)
    assert promotion.carefully(topics=[topic])["changed"]
    assert promotion.partitions(topic) == {topic: 2}
    assert promotion.own(topic) == {"max.message.bytes": "50000"}


def test_a_rename_that_cannot_be_undone_by_removing_the_new_group_says_what_to_do(kafka011, topic, tmp_path):
    create_topic(kafka011, topic)
    commit(kafka011, topic, {(topic, 0): 0})
    migration = Migration(tmp_path / "rename", kafka011, kafka011)
    migration.plan(topic, strategy="identical", group_map=[{"name": topic, "to": f"{topic}-new"}])
    migration.commit()
    message = migration.roll_back(via=refuses)
    assert f"group {topic}-new: the brokers cannot remove groups" in message
    assert "Leave this group out of the rollback, and do not start its consumers" in message
