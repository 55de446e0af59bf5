"""What is said of a group follows from what was read, and nothing is said of what nobody knows."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.positions import Bounds
from ansible_collections.streamshift.kafka.plugins.module_utils._control.topics import TopicSettings
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.group_risks import (
    ClusterView,
    assessed_group,
    group_risks,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.source_topics import ClusterTopics
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_overview import GroupOverview
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import (
    CommittedOffset,
    GroupMember,
    GroupReading,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.sinks import sink_of

ORDERS, MORE = TopicPartition("orders", 0), TopicPartition("orders", 1)
USED = (GroupMember("c", "h"),)
NOW, DAY = 1_790_000_000_000, 86_400_000


def group(*offsets, name="billing", logs=(0, 10), members=(), kind="classic", protocol="consumer"):
    """A group that has committed these offsets on the partitions of orders, whose logs are alike."""
    committed = {TopicPartition("orders", number): CommittedOffset(its) for number, its in enumerate(offsets)}
    reading = GroupReading(name, True, "Stable" if members else "Empty", kind, protocol, committed)
    return GroupOverview(reading, members, dict.fromkeys(committed, logs) if logs else {})


def view(first=None, retention=7 * DAY, partitions=1, known=True):
    """Of a cluster with a topic. first: the offset of the first record from any time on; known: whether that was found out."""
    bounds = {TopicPartition("orders", number): Bounds(0, 10, 10) for number in range(partitions)}
    settings = {"orders": TopicSettings(False, False, retention)}
    its = ClusterView(ClusterTopics({"orders": partitions}, bounds, settings, frozenset(), []), NOW, 30, frozenset())
    if known:
        its.times = {
            (where, when): first for where in bounds for when in (its.old_before, its.deleted_before("orders")) if when
        }
    return its


def kinds(its, seen):
    return [risk.kind.value for risk in group_risks(its, seen)]


def test_nothing_is_said_of_a_group_that_keeps_up():
    assert kinds(group(10), view()) == []


@pytest.mark.parametrize(
    ("its", "seen", "expected"),
    [
        (group(4), view(first=None, retention=None), ["group_abandoned"]),  # no record is younger than 30 days
        (group(4), view(first=4, retention=None), []),  # the next record is
        (group(4, 4), view(first=4, retention=None, partitions=2), []),
        (group(4), view(retention=None, known=False), []),
        (group(4, members=USED), view(retention=None), []),
        (group(), view(), ["group_abandoned"]),
        (group(4, logs=None), view(), ["group_abandoned"]),  # its topics are deleted
    ],
)
def test_a_group_is_abandoned_only_if_all_that_it_left_is_old(its, seen, expected):
    assert kinds(its, seen) == expected


def test_what_retention_takes_soon_is_counted_from_the_first_unconsumed_offset_on():
    (risk,) = group_risks(group(4, members=USED), view(first=7))
    assert (risk.kind, risk.detail) == (
        "retention_strikes", f"3 unconsumed offsets will be deleted soon: retention.ms is {7 * DAY}.",
    )  # fmt: skip
    assert kinds(group(8, members=USED), view(first=7)) == []


@pytest.mark.parametrize(("retention", "before"), [(7 * DAY, 6 * DAY), (DAY, DAY // 2), (0, 0), (None, None)])
def test_soon_is_a_day_or_half_of_the_retention(retention, before):
    assert view(retention=retention).deleted_before("orders") == (None if before is None else NOW - before)


@pytest.mark.parametrize(
    ("its", "detail"),
    [
        (group(4, name="console-consumer-1"), "It is called like the console consumer's."),
        (
            group(name="c", protocol="connect"),
            "It is the group of Kafka Connect's workers, which keep what they have done",
        ),
        (group(name="o", kind="interconnect"), "It is of the unknown type interconnect."),
    ],
)
def test_groups_of_tools_are_named_and_no_more_is_said_of_them(its, detail):
    (risk,) = group_risks(its, view())
    assert (risk.kind, risk.detail[: len(detail)]) == ("tool_group", detail)


def test_partitions_without_a_commit_count_only_where_there_are_records():
    seen = view(partitions=2)
    (risk,) = group_risks(group(10), seen)
    assert risk.detail.startswith("It has no committed offset on 1 partition, with 10 offsets")
    seen.topics.bounds[MORE] = Bounds(10, 10, 10)
    assert kinds(group(10), seen) == []


def test_a_sink_that_connect_names_is_one_whatever_its_group_is_called():
    seen = view()
    sink = sink_of("lake", {"connector.class": "org.apache.iceberg.connect.IcebergSinkConnector", "topics": "orders"})
    seen.sinks = {"billing": sink, "connect-lake": sink}
    (risk,) = group_risks(group(10), seen)
    assert (risk.kind, risk.detail) == ("sink_positions", sink.text)
    assert assessed_group(group(10), seen)["use"] == "sink"
    (risk,) = group_risks(group(10, name="connect-lake"), seen)
    assert risk.detail == sink.text
    (risk,) = group_risks(group(10, name="connect-other"), seen)
    assert risk.detail == "It is called like the group of the sink connector other."


def test_an_iceberg_sink_is_known_by_its_control_topic():
    committed = {TopicPartition("control-iceberg", 0): CommittedOffset(10)}
    its = GroupOverview(GroupReading("lake", True, "Empty", "classic", "consumer", committed), (), {})
    (risk, _abandoned) = group_risks(its, view())
    assert (risk.kind, assessed_group(its, view())["use"]) == ("sink_positions", "sink")
    assert risk.detail == "It has committed offsets on control-iceberg, the control topic of an Iceberg sink."


def test_a_group_whose_partitions_have_no_leader_is_not_said_to_have_deleted_topics():
    its = group(5, logs=None)._replace(leaderless=(ORDERS,))
    assert its.why_not == "partitions that it has committed have no leader now: orders-0"
    assert not list(group_risks(its, view()))


def test_the_topics_of_an_application_are_not_those_of_another_one_with_a_longer_name():
    seen = view()
    names = ["billing-store-changelog", "billing-eu-store-changelog"]
    seen.topics.partitions |= dict.fromkeys(names, 1)
    seen.group_names = frozenset({"billing", "billing-eu"})
    its = group(10)._replace(is_streams=True)
    (risk,) = [risk for risk in group_risks(its, seen) if risk.kind == "streams_state"]
    assert risk.detail == "Its changelog and repartition topics: billing-store-changelog."
