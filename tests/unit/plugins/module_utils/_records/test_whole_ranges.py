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
    """What librdkafka hands over, a batch for each call. log_end: what the leader says, None if it does not answer."""

    def __init__(self, *batches, log_end=None):
        self.batches = list(batches)
        self.assigned = []
        self.log_end, self.asked = log_end, 0

    def get_watermark_offsets(self, _position, timeout, cached):
        self.asked += 1
        assert timeout <= 1 and not cached
        return None if self.log_end is None else (0, self.log_end)

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
    found = messages(Opened(NOWHERE, consumer, {"orders": 2}, []), [Range(*each) for each in ranges])
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


@pytest.mark.parametrize("log_end", [4, None], ids=["the leader has more", "the leader does not tell its end yet"])
def test_an_end_that_a_new_leader_shows_for_a_moment_is_waited_out(log_end):
    """KIP-207: the high watermark of a new leader, or of a follower, may be lower than that of the leader before."""
    consumer = Consumer([Message(ONE, 1), end(ONE, 2)], [], [Message(ONE, 2), Message(ONE, 3)], log_end=log_end)
    assert read(consumer, (ONE, 0, 4)) == [(0, 1), (0, 2), (0, 3)]
    assert consumer.asked == 1


def test_an_end_that_does_not_pass_is_told_as_such():
    with pytest.raises(LogChanged, match="the log ends at 2, and 4 was expected"):
        read(Consumer([Message(ONE, 1), end(ONE, 2)]), (ONE, 0, 4))


def test_an_end_where_it_was_expected_asks_nobody():
    consumer = Consumer([Message(ONE, 1)], [end(ONE, 4)])
    assert read(consumer, (ONE, 0, 4)) == [(0, 1)] and not consumer.asked


def test_an_error_that_lasts_is_told_although_other_partitions_go_on():
    class Busy(Consumer):
        number = 0

        def consume(self, _most, _seconds):
            self.number += 1
            return [Message(TWO, self.number), Message(ONE, 0, KafkaError.UNKNOWN)]

    with pytest.raises(BrokerError, match="partition 0: the records from offset 0 on cannot be read"):
        read(Busy(), (ONE, 0, 2), (TWO, 0, 1 << 60))


@pytest.mark.parametrize(
    "code",
    [KafkaError._BAD_MSG, KafkaError.INVALID_MSG, KafkaError.MSG_SIZE_TOO_LARGE, KafkaError._BAD_COMPRESSION],
)
def test_records_that_cannot_be_read_are_not_waited_for(code):
    consumer = Consumer([Message(ONE, 0, code)], [Message(ONE, 0)])
    with pytest.raises(BrokerError, match="the records from offset 0 on cannot be read"):
        read(consumer, (ONE, 0, 1))
    assert consumer.batches


@pytest.mark.parametrize("code", [KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_PARTITION])
def test_a_topic_that_one_broker_does_not_know_is_waited_for_if_its_leader_answers(code):
    assert read(Consumer([Message(ONE, 0, code)], [Message(ONE, 0)], log_end=1), (ONE, 0, 1)) == [(0, 0)]
    gone = Consumer([Message(ONE, 0, code)], [Message(ONE, 0)])
    with pytest.raises(BrokerError, match="the records from offset 0 on cannot be read"):
        read(gone, (ONE, 0, 1))
    assert gone.batches


def test_what_does_not_exist_is_not_waited_for_and_an_empty_range_asks_for_nothing():
    with pytest.raises(NotFound, match="the topic has 2 partitions"):
        read(Consumer(), (TopicPartition("orders", 2), 0, 1))
    assert read(Consumer(), (ONE, 3, 3)) == []
