"""Topics are made and changed, and their logs measured, on brokers of every version."""

import contextlib
import os
import signal
import threading

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import configs, storage, topic_changes
from ansible_collections.streamshift.kafka.plugins.module_utils._control.attempts import attempt
from ansible_collections.streamshift.kafka.plugins.module_utils._control.configs import (
    alter_topic_configs,
    topic_configs,
    topic_defaults,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._control.storage import Replicas
from ansible_collections.streamshift.kafka.plugins.module_utils._control.topic_changes import (
    Creation,
    add_partitions,
    create_topics,
    try_creation,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._control.topics import (
    TopicDescription,
    broker_ids,
    describe_configs,
    describe_topics,
    partition_counts,
    request_metadata,
    topic_ids,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import BrokerError, NotFound
from ansible_collections.streamshift.kafka.plugins.module_utils._model.new_topics import NewTopic
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from testbed.clients import Message, create_topic, deny, grant, produce, until
from tests.support.clusters import authorizer

NODES = (1, 2, 3)
WEEK = "604800000"  # ms, the brokers' default of retention.ms


def own(connection, topic):
    return topic_configs(connection, [topic])[topic].own


def test_a_topic_is_made_as_it_was_asked_for(connection, topic):
    settings = {"retention.ms": "-1", "cleanup.policy": "compact,delete", "max.message.bytes": "2000000"}
    create_topics(connection, {topic: NewTopic(3, 1, settings)})
    assert describe_topics(connection, [topic]) == {topic: TopicDescription(3)}
    found = topic_configs(connection, [topic])[topic]
    assert found.own == settings
    assert found.effective["message.timestamp.type"] == "CreateTime"
    assert settings.items() <= found.effective.items()


def test_a_setting_is_changed_and_falls_back(connection, topic):
    other = f"{topic}-other"
    create_topics(
        connection, {topic: NewTopic(1, 1, {"segment.ms": "7000"}), other: NewTopic(1, 1, {"retention.ms": "9000"})}
    )
    changes = {topic: {"retention.ms": "-1", "retention.bytes": "-1", "cleanup.policy": "compact, delete"}, other: {}}
    for _again in range(2):
        alter_topic_configs(connection, changes)
        assert own(connection, topic) == {
            "segment.ms": "7000",
            "retention.ms": "-1",
            "retention.bytes": "-1",
            "cleanup.policy": "compact,delete",
        }
    for _again in range(2):
        alter_topic_configs(
            connection, {topic: dict.fromkeys(changes[topic]), other: {"retention.ms": None, "segment.ms": "8000"}}
        )
        found = topic_configs(connection, [topic, other])
        assert {name: each.own for name, each in found.items()} == {
            topic: {"segment.ms": "7000"},
            other: {"segment.ms": "8000"},
        }
        assert {each.effective["retention.ms"] for each in found.values()} == {WEEK}


def test_brokers_tell_what_a_topic_has_without_its_own_settings(connection, topic):
    create_topics(connection, {topic: NewTopic(1, 1, {"retention.bytes": "5", "cleanup.policy": "compact"})})
    defaults = topic_defaults(connection, [topic], ["cleanup.policy", "retention.bytes", "unknown"])
    assert defaults == {topic: {"cleanup.policy": "delete", "retention.bytes": "-1"}}


def test_a_topic_that_is_there_is_left_as_it_is(connection, topic):
    new = f"{topic}-new"
    first = create_topics(connection, {topic: NewTopic(2, 1, {"retention.ms": "5000"})})
    noted = []
    again = {topic: NewTopic(4, 1, {"retention.ms": "6000"}), new: NewTopic(1, 1, {})}
    second = create_topics(connection, again, noted.append)
    ids = topic_ids(connection, [topic, new])
    assert None not in ids.values()
    assert first == Creation({topic: ids[topic]}, frozenset())
    assert noted == [second] == [Creation({new: ids[new]}, frozenset({topic}))]
    assert describe_topics(connection, [topic, new]) == {topic: TopicDescription(2), new: TopicDescription(1)}
    assert own(connection, topic) == {"retention.ms": "5000"}


def test_asking_whether_a_topic_could_be_made_makes_none(connection, topic):
    fine = try_creation(connection, {topic: NewTopic(2, 1, {"retention.ms": "5000"})})
    assert (fine.refusals, fine.replicas) == ({}, {topic: 1}) and fine.configs[topic].own == {"retention.ms": "5000"}
    assert describe_topics(connection, [topic])[topic].error == "UNKNOWN_TOPIC_OR_PARTITION"
    assert try_creation(connection, {topic: NewTopic(2, 2, {})}).refusals[topic].error == "INVALID_REPLICATION_FACTOR"


@pytest.mark.parametrize(
    ("new", "why"),
    [
        (NewTopic(1, 1, {"retention.ms": "soon"}), r"soon.* retention\.ms.*\. Correct the setting, or leave it out\.$"),
        (NewTopic(1, 1, {"retention.msec": "1"}), r"retention\.msec\. Correct the setting, or leave it out\.$"),
        (NewTopic(1, 9, {}), r"9.*\. Ask for no more replicas than there are brokers\.$"),
        (NewTopic(0, 1, {}), r"artitions.*\. Ask for at least one partition\.$"),
    ],
)
def test_a_topic_that_cannot_be_made_is_named_with_the_reason(connection, topic, new, why):
    refused = f"{topic}-refused"
    noted = []
    with pytest.raises(BrokerError, match=f"topic {refused}: the topic cannot be created: .*{why}"):
        create_topics(connection, {refused: new, topic: NewTopic(1, 1, {})}, noted.append)
    ids = until(lambda: topic_ids(connection, [topic]))  # brokers tell of a topic a moment after it was made
    assert noted == [Creation(ids, frozenset())]
    found = describe_topics(connection, [topic, refused])
    assert (found[topic].partitions, found[refused].partitions) == (1, 0)


def test_a_change_that_is_refused_is_named_with_the_reason(connection, topic):
    fine = f"{topic}-fine"
    create_topics(connection, dict.fromkeys([topic, fine], NewTopic(1, 1, {})))
    with pytest.raises(BrokerError, match=rf"topic {topic}: its settings cannot be changed: .*soon.* retention\.ms"):
        alter_topic_configs(connection, {topic: {"retention.ms": "soon"}, fine: {"retention.ms": "1"}})
    assert (own(connection, topic), own(connection, fine)) == ({}, {"retention.ms": "1"})
    with pytest.raises(NotFound, match=f"no such topic: {topic}-none"):
        alter_topic_configs(connection, {f"{topic}-none": {"retention.ms": "1"}})
    with pytest.raises(NotFound, match=f"no such topic: {topic}-none"):
        topic_configs(connection, [topic, f"{topic}-none"])


def test_more_topics_than_one_request_may_hold(newest, topic, monkeypatch):
    monkeypatch.setattr(topic_changes, "PARTITIONS_PER_REQUEST", 10)
    monkeypatch.setattr(configs, "TOPICS_PER_CHANGE", 2)
    names = [f"{topic}-{number}" for number in range(5)]
    sizes = dict(zip(names, (1, 12, 3, 4, 5), strict=True))
    create_topics(newest, {name: NewTopic(size, 1, {"segment.ms": "7000"}) for name, size in sizes.items()})
    assert {name: each.partitions for name, each in describe_topics(newest, names).items()} == sizes
    add_partitions(newest, {name: size + 6 for name, size in sizes.items()})
    assert partition_counts(newest, names) == {name: size + 6 for name, size in sizes.items()}
    alter_topic_configs(newest, {name: {"retention.ms": str(size)} for name, size in sizes.items()})
    assert {name: own(newest, name)["retention.ms"] for name in names} == {name: str(sizes[name]) for name in names}


def test_sizes_grow_with_the_logs(cluster, connection, topic):
    create_topic(cluster, topic, partitions=2)
    here, there, nowhere = TopicPartition(topic, 0), TopicPartition(topic, 1), TopicPartition(f"{topic}-none", 0)
    assert storage.log_sizes(connection, [here, there, nowhere]) == {here: 0, there: 0}
    produce(cluster, topic, [Message(os.urandom(1000))] * 50)
    sizes = storage.log_sizes(connection, [here, there])
    assert 50_000 < sizes[here] < 60_000 and sizes[there] == 0
    assert storage.partition_replicas(connection, [topic]) == dict.fromkeys([here, there], Replicas(1, 1))
    with pytest.raises(NotFound, match=f"no such topic: {nowhere.topic}"):
        storage.partition_replicas(connection, [topic, nowhere.topic])
    assert storage.broker_count(connection) == (1, 1)


def test_brokers_tell_their_room_since_kafka_3_3(newest, kafka39, old, tmp_path):
    disk = os.statvfs(tmp_path)
    for connection in (newest, connection_from(kafka39.connection)):
        (room,) = storage.usable_bytes(connection).values()
        assert 0 < room <= disk.f_frsize * disk.f_blocks
    assert storage.usable_bytes(connection_from(old.connection)) is None


def test_an_old_broker_that_denies_sizes_by_an_empty_answer(own_cluster):
    settings = authorizer("kafka.security.authorizer.AclAuthorizer")
    denying = own_cluster("denying", version="2.8.2", settings=settings)
    connection = connection_from(denying.connection)
    create_topic(denying, "orders")
    where = TopicPartition("orders", 0)
    assert storage.log_sizes(connection, [where]) == {where: 0}
    grant(denying, ["CLUSTER ALL on kafka-cluster"], "User:*")
    deny(denying, ["CLUSTER DESCRIBE on kafka-cluster"], "User:ANONYMOUS")
    until(lambda: storage.log_sizes(connection, [where]) is None)


def test_every_broker_of_a_cluster_counts(own_cluster, monkeypatch):
    three = own_cluster("three", nodes=3)
    connection = connection_from(three.connection)
    for node in NODES:
        name = f"orders-{node}"
        with frozen(three.cluster.pids[f"broker-{node}"]) as ended:
            create_topics(connection, {name: NewTopic(3, 3, {})})
            assert ended.is_set()
        assert attempt(connection, lambda client, name=name: leaders(client, name)) == [3, 3, 3]
        alter_topic_configs(connection, {name: {"retention.ms": "-1"}})
        assert attempt(connection, lambda client, name=name: retentions(client, connection, name)) == ["-1"] * 3
    create_topics(connection, {"alone": NewTopic(3, 1, {})})
    assert storage.broker_count(connection) == (len(storage.usable_bytes(connection)), 3) == (3, 3)

    os.kill(three.cluster.pids["broker-3"], signal.SIGKILL)
    alter_topic_configs(connection, {"orders-1": {"retention.ms": "5000"}})  # though one does not answer any more
    until(lambda: len(attempt(connection, broker_ids)) == 2, seconds=30)
    assert storage.broker_count(connection) == (3, 2)
    create_topics(connection, {"while-one-is-down": NewTopic(1, 3, {})})
    placed = storage.partition_replicas(connection, ["while-one-is-down"])
    assert placed == {TopicPartition("while-one-is-down", 0): Replicas(3, 2)}
    (refusal,) = topic_changes.try_creation(connection, {"four": NewTopic(1, 4, {})}).refusals.values()
    assert "only 3 broker(s) are registered" in refusal.why
    where = [TopicPartition("orders-1", number) for number in range(3)]
    assert storage.partition_replicas(connection, ["orders-1"]) == dict.fromkeys(where, Replicas(3, 2))
    assert set(storage.log_sizes(connection, where)) == set(where)
    monkeypatch.setattr(topic_changes, "LEADER_SECONDS", 1)
    with pytest.raises(BrokerError, match="topic alone, partition [0-2]: it has no leader after 1 s"):
        create_topics(connection, {"alone": NewTopic(3, 1, {})})


@contextlib.contextmanager
def frozen(pid, seconds=1.5):
    """A broker that hears of nothing for a while; the event tells that this has ended."""
    ended = threading.Event()

    def thaw():
        ended.set()
        os.kill(pid, signal.SIGCONT)

    os.kill(pid, signal.SIGSTOP)
    timer = threading.Timer(seconds, thaw)
    timer.start()
    try:
        yield ended
    finally:
        timer.join()


def leaders(client, topic):
    """How many leaders each broker knows."""
    found = [request_metadata(client, [topic], node=node).topics[0].partitions for node in NODES]
    return [sum(each.leader_id > 0 for each in partitions) for partitions in found]


def retentions(client, connection, topic):
    return [describe_configs(client, connection, [topic], ["retention.ms"], node)[topic][0].value for node in NODES]


def test_nothing_to_ask_asks_nobody():
    nowhere = connection_from({"bootstrap_servers": "127.0.0.1:1"})
    assert topic_configs(nowhere, []) == storage.partition_replicas(nowhere, []) == storage.log_sizes(nowhere, []) == {}
    alter_topic_configs(nowhere, {"orders": {}})
    create_topics(nowhere, {})
