"""What differs between the settings of two clusters is named where it costs records or certainty, and nowhere else."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.configs import TopicConfigs
from ansible_collections.streamshift.kafka.plugins.module_utils._control.positions import Bounds
from ansible_collections.streamshift.kafka.plugins.module_utils._migration import setting_differences as use_case
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.drafts import Draft
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import (
    BrokerError,
    ConnectionFailed,
    InvalidInput,
    NotAuthorized,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition

SOURCE = connection_from({"bootstrap_servers": ["old:9092"]}, "source cluster")
DESTINATION = connection_from({"bootstrap_servers": ["new:9092"]}, "destination cluster")
NOW = 1_000_000_000  # ms
HOUR = 3_600_000
# What brokers of version 4 show of a topic without settings of its own.
DEFAULTS = {
    "cleanup.policy": "delete",
    "retention.ms": str(24 * HOUR),
    "max.message.bytes": "1048588",
    "message.timestamp.type": "CreateTime",
    "message.timestamp.before.max.ms": str(2**63 - 1),
    "message.timestamp.after.max.ms": str(2**63 - 1),
}
UNLIMITED = {"retention.ms": "-1"}


@pytest.fixture
def compare(monkeypatch):
    """``compare(own, other, times, committed)`` compares orders with copied.orders, whose logs hold a record of each time."""

    def run(own=(), other=(), times=(), committed=0, denied=(), fails=None, untimed=False):

        def topic_configs(connection, names):
            if any(connection is each for each in denied):
                raise NotAuthorized("needs ACL TOPIC DESCRIBE_CONFIGS on orders", cluster=str(connection))
            changed = own if connection is SOURCE else other
            return {name: TopicConfigs({**DEFAULTS, **dict(changed)}, {}) for name in names}

        def bounds_as_far_as_known(connection, partitions, _deadline):
            assert connection is SOURCE
            return "id", {where: Bounds(0, len(times), len(times)) for where in partitions}

        def lookup_all_times(connection, wanted, refused):
            assert connection is SOURCE
            if fails is not None:
                raise fails
            if untimed:
                refused.update(where for where, _asked in wanted)
                return {}
            return {
                (where, asked): next((offset for offset, when in enumerate(times) if when >= asked), None)
                for where, asked in wanted
            }

        monkeypatch.setattr(use_case.configs, "topic_configs", topic_configs)
        monkeypatch.setattr(use_case.positions, "bounds_as_far_as_known", bounds_as_far_as_known)
        monkeypatch.setattr(use_case.positions, "lookup_all_times", lookup_all_times)
        copy, topic = TopicPartition("copied.orders", 0), TopicPartition("orders", 0)
        drafts = [Draft("billing", copy, "billing", topic, CommittedOffset(committed))]
        counts = {topic.topic: 1}, {copy.topic: 1}
        monkeypatch.setattr(use_case.time, "time", lambda: NOW / 1000)
        return use_case.setting_differences(SOURCE, DESTINATION, drafts, *counts)

    return run


def test_equal_settings_are_no_news(compare):
    assert compare(times=[NOW - HOUR, NOW]) == []


@pytest.mark.parametrize(
    ("kind", "own", "other", "words"),
    [
        ("compaction", {}, {"cleanup.policy": "compact"}, "only the destination compacts the topic"),
        ("compaction", {"cleanup.policy": "compact,delete"}, {}, "only the source compacts the topic"),
        ("timestamp_type", {}, {"message.timestamp.type": "LogAppendTime"}, "only the destination stamps records"),
        ("timestamp_type", {"message.timestamp.type": "LogAppendTime"}, {}, "only the source stamps records"),
        ("message_size", {"max.message.bytes": "5000000"}, {}, "refuses larger batches of records"),
    ],
)
def test_a_setting_that_differs_is_named_with_both_values(compare, kind, own, other, words):
    (found,) = compare(own, other)
    assert (found.kind, found.topic, found.destination_topic) == (kind, "orders", "copied.orders")
    ((setting, _value),) = (own or other).items()
    values = (own.get(setting, DEFAULTS[setting]), other.get(setting, DEFAULTS[setting]))
    assert (found.setting, found.source, found.destination) == (setting, *values)
    assert f"{setting} is {values[0]} at the source, {values[1]} at the destination" in found.message
    assert words in found.message


def test_a_destination_that_takes_larger_batches_is_no_news(compare):
    assert compare({}, {"max.message.bytes": "5000000"}) == []


@pytest.mark.parametrize(
    ("committed", "times", "count"),
    [
        (0, [NOW - 2 * HOUR, NOW], 1),
        (1, [NOW - 2 * HOUR, NOW], 0),  # what is too old has been consumed
        (0, [NOW - 2 * HOUR], 1),  # there is nothing that is young enough
        (1, [NOW - 2 * HOUR], 0),
        (0, [NOW - HOUR], 0),
        (0, [], 0),
    ],
)
def test_retention_matters_if_an_unconsumed_record_is_older(compare, committed, times, count):
    found = compare(UNLIMITED, {"retention.ms": str(HOUR)}, times, committed)
    assert [(each.kind, each.source, each.destination) for each in found] == [("retention", "-1", str(HOUR))] * count


def test_the_policy_of_the_source_is_never_to_be_changed(compare):
    """Nobody sees any more what it has compacted away."""
    (difference,) = compare({"cleanup.policy": "compact"}, {})
    assert "leave that of the source as it is" in str(difference)


@pytest.mark.parametrize("keeps", [{"retention.ms": "-1"}, {"cleanup.policy": "compact"}])
def test_a_destination_that_deletes_nothing_by_age_has_no_retention(compare, keeps):
    found = compare({**UNLIMITED, **keeps}, {"retention.ms": str(HOUR), **keeps}, [NOW - 9 * HOUR])
    assert found == []


@pytest.mark.parametrize(
    ("side", "when", "matters"), [("before", -2, True), ("before", 0, False), ("after", 2, True), ("after", 0, False)]
)
def test_limits_of_timestamps_matter_if_the_source_has_such_records(compare, side, when, matters):
    setting = f"message.timestamp.{side}.max.ms"
    found = compare(UNLIMITED, {setting: str(HOUR), **UNLIMITED}, [NOW + when * HOUR], committed=1)
    assert [(each.kind, each.setting, each.destination) for each in found] == (
        [(f"timestamp_{side}", setting, str(HOUR))] if matters else []
    )


def test_older_brokers_have_one_limit_for_both_sides(compare):
    limited = {"message.timestamp.difference.max.ms": str(HOUR), **UNLIMITED}
    times = [NOW - 2 * HOUR, NOW + 2 * HOUR]
    both = compare(UNLIMITED, limited, times)
    assert [(each.kind, each.setting) for each in both] == [
        ("timestamp_after", "message.timestamp.difference.max.ms"),
        ("timestamp_before", "message.timestamp.difference.max.ms"),
    ]
    assert "is not set at the source" in both[0].message
    assert compare(limited, limited, times) == []


def test_a_destination_that_stamps_records_itself_takes_any_and_keeps_them(compare):
    stamped = {"message.timestamp.type": "LogAppendTime", "message.timestamp.after.max.ms": "0"}
    found = compare(stamped | UNLIMITED, stamped | {"retention.ms": "1"}, [0, NOW + HOUR])
    assert found == []


@pytest.mark.parametrize("denied", [SOURCE, DESTINATION])
def test_settings_that_may_not_be_read_are_no_news(compare, denied):
    assert compare({}, {"cleanup.policy": "compact"}, denied=[denied]) == []


CONCERNED = {"own": {**UNLIMITED, "max.message.bytes": "5000000"}, "other": {"retention.ms": str(HOUR)}}


@pytest.mark.parametrize("error", [BrokerError, ConnectionFailed, InvalidInput])
def test_what_cannot_be_looked_up_fails_nothing_and_hides_nothing_else(compare, error):
    found = compare(**CONCERNED, times=[NOW - 2 * HOUR], fails=error("the broker refused"))
    assert [each.kind for each in found] == ["message_size"]


def test_a_topic_without_times_is_no_news(compare):
    assert [each.kind for each in compare(**CONCERNED, times=[NOW - 2 * HOUR], untimed=True)] == ["message_size"]
