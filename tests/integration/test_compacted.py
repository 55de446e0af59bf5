"""Compacted topics as tables, on brokers of several versions."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration import compacted
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import NotFound, Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from testbed.clients import Message, create_topic, produce, produce_in_transactions, read, topic_settings
from tests.support.consumers import open_transaction


def test_keys_are_removed_for_good_and_all_else_stays(cluster, connection, topic):
    settings = {"cleanup.policy": "compact", "retention.ms": "60000"}
    create_topic(cluster, topic, 2, cleanup_policy="compact", retention_ms=60000)
    written = [
        Message(b"%d" % number, b"k%d" % (number % 5), partition=number % 2, timestamp=1_400_000_000_000)
        for number in range(40)
    ]
    produce(cluster, topic, [*written, Message(None, b"k4")])
    compacted.remove_keys(connection, topic, {(TopicPartition(topic, 0), b"k0"), (TopicPartition(topic, 0), b"k4")})
    left = [(record.partition, record.key, record.value) for record in read(cluster, topic)]
    # In partition 0 the last value of each other key, in the order in which they were written.
    assert left[:3] == [(0, b"k2", b"32"), (0, b"k1", b"36"), (0, b"k3", b"38")]
    assert left[3:] == [(1, each.key, each.value) for each in written if each.partition == 1]
    assert topic_settings(cluster, topic) == settings


def test_more_keys_than_the_queue_of_a_client_takes_are_written_again(cluster, topic):
    create_topic(cluster, topic, cleanup_policy="compact")
    produce(cluster, topic, [Message(b"1", b"k%d" % number) for number in range(50)])
    small = connection_from({**cluster.connection, "client_config": {"queue.buffering.max.messages": 3}})
    compacted.remove_keys(small, topic, {(TopicPartition(topic, 0), b"k0")})
    assert [record.key for record in read(cluster, topic)] == [b"k%d" % number for number in range(1, 50)]


def test_nothing_is_removed_while_a_transaction_is_open(cluster, connection, topic):
    create_topic(cluster, topic, cleanup_policy="compact")
    produce(cluster, topic, [Message(b"1", b"k")])
    with open_transaction(cluster, topic, [Message(b"2", b"open")]):
        produce(cluster, topic, [Message(b"3", b"committed")])
        with pytest.raises(Refused, match="a transaction is open from offset 1 on"):
            compacted.remove_keys(connection, topic, {(TopicPartition(topic, 0), b"k")})
    assert b"committed" in [record.key for record in read(cluster, topic)]


def test_the_last_value_of_each_key_is_read_with_and_without_what_was_aborted(cluster, connection, topic):
    create_topic(cluster, topic, cleanup_policy="compact")
    produce(cluster, topic, [Message(b"1", b"k"), Message(b"2", b"k"), Message(None, b"gone")])
    produce_in_transactions(cluster, topic, [([Message(b"3", b"k")], False)])

    def last(committed: bool) -> list[tuple[bytes | None, bytes | None]]:
        return [(record.key, record.value) for record in compacted.last_records(connection, topic, committed)]

    assert last(committed=True) == [(b"k", b"2"), (b"gone", None)]
    assert last(committed=False) == [(b"gone", None), (b"k", b"3")]
    with pytest.raises(NotFound, match="the topic does not exist"):
        compacted.last_records(connection, f"{topic}-nowhere", committed=True)
