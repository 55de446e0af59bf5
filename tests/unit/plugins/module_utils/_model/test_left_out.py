"""What was asked for and is not done."""

import dataclasses

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.left_out import left_out, partitions_text
from ansible_collections.streamshift.kafka.plugins.module_utils._model.option_names import set_variables
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import Plan, PlanEntry, SourcePosition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import NOT_IN_BACKUP, Verdict


def entry(group, topic, number, verdict=Verdict.UNCOMMITTED):
    where = TopicPartition(topic, number)
    offset, detail = (
        (7, "") if verdict is Verdict.EXACT else (None, "nothing committed: left alone (on_uncommitted: ignore)")
    )
    return PlanEntry(group, where, offset, verdict, (SourcePosition(group, where, offset),), detail=detail)


@pytest.fixture
def role():
    set_variables({"on_uncommitted": "role_on_uncommitted", "exclude_topic_patterns": "role_exclude_topic_patterns"})
    yield
    set_variables(None)


@pytest.mark.usefixtures("role")
def test_every_uncommitted_partition_has_a_line_with_the_variable():
    entries = [entry("billing", "orders", number) for number in (5, 3)]
    entries += [entry("billing", "audit", 0), entry("fraud", "orders", 3), entry("fraud", "orders", 0, Verdict.EXACT)]
    absent = dataclasses.replace(entry("restored", "orders", 0), detail=f"{NOT_IN_BACKUP}: left alone")
    entries += [absent, dataclasses.replace(absent, group="kept", expected=CommittedOffset(7))]
    plan = Plan("source", "destination", "digest", tuple(entries))
    why = "uncommitted, nothing committed: left alone (role_on_uncommitted: ignore)"
    assert left_out(["monitor heartbeats-0: excluded by exclude_topic_patterns"], plan) == [
        "monitor heartbeats-0: excluded by role_exclude_topic_patterns",
        f"billing audit-0: {why}",
        f"billing orders-3, orders-5: {why}",
        f"fraud orders-3: {why}",
        f"restored orders-0: uncommitted, {absent.detail}",
    ]


def test_partitions_that_follow_each_other_are_a_range():
    numbers = [TopicPartition("orders", number) for number in (0, 2, 1, 7, 9, 10)] + [TopicPartition("a", 4)]
    assert partitions_text(numbers) == "a-4, orders-0 to 2, orders-7, orders-9 to 10"
