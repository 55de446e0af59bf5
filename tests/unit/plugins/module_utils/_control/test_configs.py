"""A change is waited for on every broker, which real ones are too quick to show."""

import types

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control import attempts, configs
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from

CONNECTION = connection_from({"bootstrap_servers": "127.0.0.1:1"})


class Brokers:
    """What the settings of the topic orders are on two brokers; the second one learns of a change at its `late`th look."""

    def __init__(self, late: int, before: dict[str, str], after: dict[str, str]) -> None:
        self.late = late
        self.before = before
        self.after = after
        self.looks = {1: 0, 2: 0}

    def describe(self, _client, _connection, names, _settings, node):
        self.looks[node] += 1
        told = self.before if node == 2 and self.looks[node] < self.late else self.after
        rows = [types.SimpleNamespace(name=name, value=value, config_source=1) for name, value in told.items()]
        return dict.fromkeys(names, rows)


@pytest.fixture
def brokers(monkeypatch):
    def run(late, before, after):
        its = Brokers(late, before, after)
        row = types.SimpleNamespace(resource_name="orders", error_code=0, error_message=None)
        for its_module in (configs, attempts):
            monkeypatch.setattr(its_module, "attempt", lambda _connection, operation: operation(None))
        monkeypatch.setattr(configs, "exchange", lambda _client, _asked: [types.SimpleNamespace(responses=[row])])
        monkeypatch.setattr(configs, "broker_ids", lambda _client: list(its.looks))
        monkeypatch.setattr(configs, "describe_configs", its.describe)
        return its

    return run


@pytest.mark.parametrize(
    ("before", "change", "after"),
    [
        ({}, {"retention.ms": "-1"}, {"retention.ms": "-1"}),
        ({"retention.ms": "5"}, {"retention.ms": "-1"}, {"retention.ms": "-1"}),
        ({"retention.ms": "5"}, {"retention.ms": None}, {}),
        ({}, {"cleanup.policy": "compact, delete"}, {"cleanup.policy": "compact,delete"}),
    ],
)
def test_the_last_broker_is_waited_for(brokers, before, change, after):
    its = brokers(3, before, after)
    configs.alter_topic_configs(CONNECTION, {"orders": change})
    assert its.looks[2] == 3


def test_a_broker_that_never_hears_of_it_is_not_waited_for_for_ever(brokers, monkeypatch):
    monkeypatch.setattr(configs, "SHOWN_SECONDS", 0.3)
    its = brokers(1000, {}, {"retention.ms": "-1"})
    configs.alter_topic_configs(CONNECTION, {"orders": {"retention.ms": "-1"}})
    assert 1 < its.looks[2] < 1000


@pytest.mark.parametrize("own", [[], [(1, "compact")]])
def test_a_default_is_what_a_topic_has_without_a_value_of_its_own(monkeypatch, own):
    """Brokers name every value that they know of a setting, the one that counts first."""
    told = [types.SimpleNamespace(source=source, value=value) for source, value in (*own, (4, "delete"), (5, "-"))]
    rows = [
        types.SimpleNamespace(name="cleanup.policy", synonyms=told),
        types.SimpleNamespace(name="hidden", synonyms=[]),
    ]
    asked = []

    def describe(_client, _connection, names, settings, **options):
        asked.append((settings, options))
        return dict.fromkeys(names, rows)

    monkeypatch.setattr(configs, "attempt", lambda _connection, operation: operation(None))
    monkeypatch.setattr(configs, "describe_configs", describe)
    wanted = {"hidden": None, "cleanup.policy": "delete"}
    assert configs.topic_defaults(CONNECTION, {"orders"}, wanted) == {"orders": wanted}
    assert asked == [(["cleanup.policy", "hidden"], {"include_synonyms": True})]
    assert configs.topic_defaults(CONNECTION, (), wanted) == {} and len(asked) == 1
