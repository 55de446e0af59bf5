"""Groups are listed also where some partitions are not served."""

import types

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.positions import Bounds
from ansible_collections.streamshift.kafka.plugins.module_utils._control.topics import TopicDescription
from ansible_collections.streamshift.kafka.plugins.module_utils._migration import list_groups
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import NotFound
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import (
    CommittedOffset,
    GroupListing,
    GroupReading,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.selection import Selection

SERVED, LEADERLESS, DELETED = TopicPartition("orders", 0), TopicPartition("orders", 1), TopicPartition("old", 0)
ALL = Selection(group_patterns=(".*",))
COMMITTED = {"billing": (SERVED, LEADERLESS), "fraud": (LEADERLESS,), "shop": (SERVED,), "old": (DELETED,)}


@pytest.fixture
def overviews(monkeypatch):
    """``overviews(*looks)``: the groups, by name, where each look at the logs finds these partitions served."""

    def overviews(*looks, selection=ALL):
        left = list(looks)

        def bounds(_connection, wanted, _patience):
            served = left.pop(0)
            return "id", {partition: Bounds(0, 9, 10) for partition in wanted if partition in served}

        listed = [GroupListing(name, "Empty", "classic", "consumer") for name in COMMITTED]
        readings = {
            name: GroupReading(
                name, True, "Empty", "classic", "consumer", dict.fromkeys(partitions, CommittedOffset(4))
            )
            for name, partitions in COMMITTED.items()
        }
        control = types.SimpleNamespace(list_groups=lambda _c: listed, read_groups=lambda *_given, **_how: readings)
        described = {"orders": TopicDescription(2), "old": TopicDescription(0, "UNKNOWN_TOPIC_OR_PARTITION")}
        monkeypatch.setattr(list_groups, "control", control)
        monkeypatch.setattr(list_groups, "describe_topics", lambda *_given: described)
        monkeypatch.setattr(list_groups, "bounds_as_far_as_known", bounds)
        monkeypatch.setattr(list_groups, "group_members", lambda *_given: {})
        monkeypatch.setattr(list_groups.selected_groups, "list_topics", lambda _connection: overviews.topics)
        monkeypatch.setattr(list_groups.time, "sleep", lambda _seconds: None)
        found = list_groups.group_overviews(Connection("onprem", ("a:1",)), selection)
        assert not left
        return {group.reading.group: group for group in found.groups}

    overviews.topics = []
    return overviews


def test_the_topic_of_another_application_makes_no_group_one_of_kafka_streams(overviews, monkeypatch):
    monkeypatch.setitem(COMMITTED, "billing-eu", (SERVED,))
    overviews.topics = ["orders", "billing-eu-store-changelog", "shop-store-changelog"]
    groups = overviews({SERVED, LEADERLESS})
    assert {name for name, group in groups.items() if group.is_streams} == {"billing-eu", "shop"}


def test_a_name_that_no_group_has_is_refused(overviews):
    told = r"no such group, or GROUP DESCRIBE on it is not allowed: biling\. Correct groups \(did you mean billing\?\)"
    with pytest.raises(NotFound, match=told):
        overviews(selection=Selection(groups=("biling",)))


def test_a_partition_without_a_leader_hides_no_group(overviews):
    groups = overviews({SERVED}, set())
    assert {name: group.why_not for name, group in groups.items()} == {
        "billing": "partitions that it has committed have no leader now: orders-1",
        "fraud": "partitions that it has committed have no leader now: orders-1",
        "shop": None,
        "old": "all topics that it has committed are deleted",
    }
    assert (groups["billing"].lag.offsets, groups["fraud"].lag) == (6, None)


def test_a_leader_that_is_being_replaced_is_waited_for(overviews):
    groups = overviews({SERVED}, {LEADERLESS})
    assert not any(group.leaderless for group in groups.values())
    assert groups["billing"].lag.offsets == 12
