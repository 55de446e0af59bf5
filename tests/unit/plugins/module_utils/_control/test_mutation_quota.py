"""A quota on changes of topics makes them slow, not impossible: what was taken is not asked again, and what is left waits."""

import types
import uuid

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import attempts, deletion, topic_changes
from ansible_collections.streamshift.kafka.plugins.module_utils._control.reasons import ErrorCode
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import BrokerError
from ansible_collections.streamshift.kafka.plugins.module_utils._model.new_topics import NewTopic

DESTINATION = connection_from({"bootstrap_servers": "127.0.0.1:1"}, "destination cluster")
NAMES = [f"q{number:02}" for number in range(60)]
PARTITIONS = 5
BURST = 11.0  # tokens that the bucket holds for each partition a second


class Controller:
    """Takes a topic while there is a token left, whether it only validates or not (KIP-599), and pays with one a partition."""

    def __init__(self, rate):
        self.rate, self.now, self.tokens, self.filled = rate, 0.0, rate * BURST, 0.0
        self.asked, self.taken = [], []

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds

    def answer(self, names, deletes=False):
        self.tokens = min(self.rate * BURST, self.tokens + (self.now - self.filled) * self.rate)
        self.filled = self.now
        self.asked.append(list(names))
        codes = {}
        for name in names:
            if deletes and name in self.taken:
                codes[name] = ErrorCode.UNKNOWN_TOPIC_ID
                continue
            held = self.tokens <= 0
            codes[name] = ErrorCode.THROTTLING_QUOTA_EXCEEDED if held else 0
            if not held:
                self.tokens -= PARTITIONS
                self.taken.append(name)
        wait = max(0.0, -self.tokens / self.rate) if self.rate else 100.0
        return codes, int(wait * 1000) + 1


def row(name, code):
    configs, its_id = [], uuid.uuid5(uuid.NAMESPACE_DNS, name)
    return types.SimpleNamespace(
        name=name, error_code=code, error_message=None, topic_id=its_id, configs=configs, replication_factor=1
    )


@pytest.fixture
def controller(monkeypatch):
    def begin(rate):
        its = Controller(rate)

        def exchange(_client, requests):
            answers = []
            for request in requests:
                names = [each["name"] or str(each["topic_id"]) for each in request.fields["topics"]]
                codes, wait = its.answer(names, deletes=request.name == "DeleteTopics")
                rows = [row(name, code) for name, code in codes.items()]
                for each in rows:
                    if each.name not in NAMES:  # a deletion is by id
                        each.topic_id = uuid.UUID(each.name)
                answers.append(types.SimpleNamespace(topics=rows, results=rows, responses=rows, throttle_time_ms=wait))
            return answers

        def metadata(_client, names, node=None):
            rows = [types.SimpleNamespace(name=name, partitions=[None] * (name in its.taken) * 5) for name in names]
            return types.SimpleNamespace(controller_id=1, topics=rows)

        monkeypatch.setattr(attempts, "connect", lambda _connection: types.SimpleNamespace(close=lambda: None))
        monkeypatch.setattr(attempts, "time", its)
        for module in (topic_changes, deletion):
            monkeypatch.setattr(module, "exchange", exchange)
            monkeypatch.setattr(module, "request_metadata", metadata)
        monkeypatch.setattr(topic_changes, "await_leaders", lambda *_arguments: None)
        monkeypatch.setattr(deletion, "broker_ids", lambda _client: [])
        return its

    return begin


def wanted():
    return {name: NewTopic(PARTITIONS, 1, {}) for name in NAMES}


CHANGES = {
    "asks": lambda: topic_changes.try_creation(DESTINATION, wanted()),
    "creates": lambda: topic_changes.create_topics(DESTINATION, wanted()),
    "asks whether topics may grow": lambda: topic_changes.try_partitions(DESTINATION, dict.fromkeys(NAMES, PARTITIONS)),
    "lets topics grow": lambda: topic_changes.add_partitions(DESTINATION, dict.fromkeys(NAMES, PARTITIONS)),
    "deletes": lambda: deletion.delete_topics(DESTINATION, {name: str(row(name, 0).topic_id) for name in NAMES}),
}


@pytest.mark.parametrize("rate", [1.0, 7.0, 20.0])
@pytest.mark.parametrize("change", list(CHANGES))
def test_every_topic_has_its_turn_at_any_rate(controller, monkeypatch, change, rate):
    quota, lines = controller(rate), []
    monkeypatch.setattr(attempts, "tell_wait", lines.append)
    CHANGES[change]()
    assert "a quota (controller_mutation_rate) takes no changes of topics for" in lines[0] or rate == 20
    assert len(set(quota.taken)) == len(quota.taken) == len(NAMES)
    assert quota.now < 1.2 * len(NAMES) * PARTITIONS / rate + 5


def test_what_others_have_made_meanwhile_is_not_taken_for_one_s_own(controller, monkeypatch):
    quota = controller(1.0)
    answer = quota.answer

    def somebody_comes_between(names, deletes):
        codes, wait = answer(names, deletes)
        if len(quota.asked) > 1 and NAMES[-1] in codes:
            codes[NAMES[-1]] = ErrorCode.TOPIC_ALREADY_EXISTS
        return codes, wait

    monkeypatch.setattr(quota, "answer", somebody_comes_between)
    noted = []
    made = topic_changes.create_topics(DESTINATION, wanted(), noted.append)
    assert noted[-1] == made and 0 < len(noted[0].made) < 20  # so that a run that is killed knows what it has made
    assert made.found == {NAMES[-1]} and set(made.made) == set(NAMES[:-1])


@pytest.mark.parametrize("change", list(CHANGES))
def test_a_quota_that_lets_nothing_pass_is_named(controller, change):
    quota = controller(0.0)
    with pytest.raises(BrokerError) as told:
        CHANGES[change]()
    assert "topic q00: a quota of the cluster, controller_mutation_rate, takes no more changes" in str(told.value)
    assert "Raise controller_mutation_rate" in str(told.value)
    assert len(quota.asked) == 2  # it has waited as long as the brokers wanted
