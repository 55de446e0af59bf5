"""Topics are created once, whatever becomes of the answers of a broker that is busy."""

import types

import kafka.errors
import pytest

from testbed import clients

CLUSTER = types.SimpleNamespace(bootstrap_servers=["127.0.0.1:1"])


@pytest.fixture
def broker(monkeypatch):
    """A broker that holds topics, and whose next answers are lost."""

    class Broker:
        topics = ()
        lost = 0
        _manager = types.SimpleNamespace(broker_version=(4, 3))

        def __init__(self, **_options):
            pass

        def create_topics(self, wanted, **_options):
            for name in wanted:
                if name in Broker.topics:
                    raise kafka.errors.TopicAlreadyExistsError(name)
                Broker.topics = (*Broker.topics, name)
            self._answer()

        def wait_for_topics(self, names, **_options):
            assert set(names) <= set(Broker.topics)
            self._answer()

        def _answer(self):
            if Broker.lost:
                Broker.lost -= 1
                raise kafka.errors.KafkaTimeoutError

        def close(self):
            pass

    monkeypatch.setattr(clients, "KafkaAdminClient", Broker)
    return Broker


@pytest.mark.parametrize("lost", range(3))
def test_a_topic_is_created_though_answers_are_lost(broker, lost):
    broker.lost = lost
    clients.create_topic(CLUSTER, "orders")
    assert broker.topics == ("orders",)


def test_a_topic_that_was_there_before_is_an_error(broker):
    broker.topics = ("orders",)
    with pytest.raises(kafka.errors.TopicAlreadyExistsError):
        clients.create_topic(CLUSTER, "orders")
