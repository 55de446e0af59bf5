"""A transactional producer can be set up with whatever options a cluster may have, and ends what has failed."""

from unittest import mock

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._records.transactions import (
    Transactions,
    producer_configuration,
)


@pytest.mark.parametrize("request_timeout", [0.01, 0.5, 30, 60, 61, 300])
def test_brokers_may_have_more_time_for_an_answer_than_a_transaction_has(request_timeout):
    destination = connection_from({"bootstrap_servers": "127.0.0.1:1", "request_timeout": request_timeout})
    Producer({**producer_configuration(destination, {}), "transactional.id": "any"})


@pytest.mark.parametrize(
    ("failures", "aborts"),
    [([], 1), ([KafkaError._TIMED_OUT], 2), ([KafkaError._TIMED_OUT] * 2, 2), ([KafkaError._FENCED], 1)],
)
def test_an_abort_that_waits_for_what_never_comes_is_made_once_more_and_the_first_error_counts(failures, aborts):
    producer = mock.Mock()
    producer.abort_transaction.side_effect = [*(KafkaException(KafkaError(code)) for code in failures), None]
    transactions = object.__new__(Transactions)
    transactions.producer, transactions._throttled = producer, []
    with pytest.raises(ZeroDivisionError), transactions.transaction():
        raise ZeroDivisionError
    assert producer.abort_transaction.call_count == aborts


@pytest.mark.parametrize(
    ("ended", "told"), [([KafkaError._FENCED], "has taken over"), ([KafkaError._TIMED_OUT] * 2, "Unknown broker error")]
)
def test_the_abort_tells_that_another_run_has_taken_over_whatever_the_broker_has_said(ended, told):
    producer = mock.Mock()
    producer.abort_transaction.side_effect = [KafkaException(KafkaError(code)) for code in ended]
    transactions = object.__new__(Transactions)
    transactions.producer, transactions._destination = producer, connection_from({"bootstrap_servers": "127.0.0.1:1"})
    assert told in str(transactions.failure(KafkaException(KafkaError(KafkaError.UNKNOWN))))
