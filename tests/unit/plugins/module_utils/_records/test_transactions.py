"""A transactional producer can be set up with whatever options a cluster may have."""

import pytest
from confluent_kafka import Producer

from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._records.transactions import producer_configuration


@pytest.mark.parametrize("request_timeout", [0.01, 0.5, 30, 60, 61, 300])
def test_brokers_may_have_more_time_for_an_answer_than_a_transaction_has(request_timeout):
    destination = connection_from({"bootstrap_servers": "127.0.0.1:1", "request_timeout": request_timeout})
    Producer({**producer_configuration(destination, {}), "transactional.id": "any"})
