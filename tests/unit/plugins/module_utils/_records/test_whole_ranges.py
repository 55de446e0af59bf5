"""Every message of a range comes once and in order, whatever comes between, and silence ends in an error that says where."""

import types

import pytest
from confluent_kafka import KafkaError

from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import BrokerError, LogChanged, NotFound
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._records.consumer_client import Opened
from ansible_collections.streamshift.kafka.plugins.module_utils._records.scanning import Range
from ansible_collections.streamshift.kafka.plugins.module_utils._records.whole_ranges import messages

NOWHERE = connection_from({"bootstrap_servers": "127.0.0.1:1", "request_timeout": 1}, "source cluster")
ONE, TWO = TopicPartition("orders", 0), TopicPartition("orders", 1)


class Message:
    """A record of a partition, or with an error what librdkafka reports at that offset."""

    def __init__(self, where, offset, error=None):
        self.topic, self.partition = (lambda: where.topic), (lambda: where.partition)
        self.offset, self.error = (lambda: offset), (lambda: None if error is None else KafkaError(error))


class Consumer:
    """What librdkafka hands over, a batch for each call."""

    def __init__(self, *batches):
        self.batches = list(batches)
        self.assigned = []

    def list_topics(self, timeout):
        orders = types.SimpleNamespace(topic="orders", partitions={0: None, 1: None}, error=None)
        return types.SimpleNamespace(topics={"orders": orders})

    def assign(self, positions):
        self.assigned = [(at.topic, at.partition, at.offset) for at in positions]

    def incremental_unassign(self, positions):
        gone = {(at.topic, at.partition) for at in positions}
        self.assigned = [at for at in self.assigned if at[:2] not in gone]

    def consume(self, _most, _seconds):
        return self.batches.pop(0) if self.batches else []


def read(consumer, *ranges):
    found = messages(NOWHERE, Opened(consumer, {"orders": 2}, []), [Range(*each) for each in ranges])
    return [(message.partition(), message.offset()) for message in found]


def end(where, offset):
    return Message(where, offset, KafkaError._PARTITION_EOF)


def test_ranges_of_several_partitions_end_each_for_itself():
    consumer = Consumer(
        [Message(ONE, 5), Message(TWO, 0), Message(ONE, 6)],
        [Message(TWO, 1), Message(ONE, 7), Message(TWO, 2)],
    )
    assert read(consumer, (ONE, 5, 7), (TWO, 0, 3)) == [(0, 5), (1, 0), (0, 6), (1, 1), (1, 2)]
    assert consumer.assigned == []


@pytest.mark.parametrize("last", [end(ONE, 4), end(ONE, 9), Message(ONE, 6)], ids=["end", "later end", "later record"])
def test_gaps_at_the_end_of_a_range_end_it(last):
    assert read(Consumer([Message(ONE, 1)], [last]), (ONE, 0, 4)) == [(0, 1)]


def test_what_is_before_the_end_of_the_log_and_not_there_is_an_error():
    with pytest.raises(LogChanged, match="orders, partition 0: the log ends at 3, and 4 was expected"):
        read(Consumer([Message(ONE, 1), end(ONE, 3)]), (ONE, 0, 4))


def test_an_error_that_passes_is_waited_out():
    passing = types.SimpleNamespace(code=lambda: KafkaError._TRANSPORT, retriable=lambda: True)
    message = Message(ONE, 0)
    message.error = lambda: passing
    assert read(Consumer([message], [], [Message(ONE, 0)]), (ONE, 0, 1)) == [(0, 0)]


def test_silence_is_an_error_that_says_where():
    with pytest.raises(BrokerError, match="orders, partition 0: no record and no end of the log at offset 2"):
        read(Consumer([Message(ONE, 1)]), (ONE, 0, 4))


def test_what_does_not_exist_is_not_waited_for_and_an_empty_range_asks_for_nothing():
    with pytest.raises(NotFound, match="the topic has 2 partitions"):
        read(Consumer(), (TopicPartition("orders", 2), 0, 1))
    assert read(Consumer(), (ONE, 3, 3)) == []
