"""Who is in a group, and what an earlier look at it tells."""

import dataclasses
import time

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model import report
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset, GroupReading
from ansible_collections.streamshift.kafka.plugins.module_utils._model.idle import (
    NOT_LOOKED,
    EarlierLook,
    idle_problem,
    idle_remedy,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition

PARTITION = TopicPartition("orders", 0)
IDLE = GroupReading("billing", True, "Empty", "classic", "consumer", {PARTITION: CommittedOffset(7)})
ABSENT = GroupReading("billing", False, "", "", "", {})


@pytest.mark.parametrize(
    "reading",
    [
        IDLE,
        ABSENT,
        dataclasses.replace(IDLE, type="consumer"),
        dataclasses.replace(IDLE, type="unknown"),
        dataclasses.replace(IDLE, type="streams", protocol_type="streams"),
        dataclasses.replace(IDLE, protocol_type=""),  # made by a commit, without any member
        dataclasses.replace(IDLE, state="Dead"),
    ],
)
def test_nobody_is_in_a_group_that_is_empty_or_absent(reading):
    assert idle_problem(reading, reading) is None


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"state": "Stable"}, "has members (its state is Stable)"),
        ({"state": "PreparingRebalance"}, "has members"),
        ({"state": "Reconciling", "type": "consumer"}, "has members"),
        ({"state": "SomethingNew"}, "has members"),
        ({"state": ""}, "has members (its state is not known)"),
        ({"type": "share", "protocol_type": "share"}, "is a share group"),
        ({"type": "streams", "protocol_type": "streams", "state": "NotReady"}, "has members"),
        ({"type": "novel"}, "is of the unknown type novel"),
        ({"protocol_type": "connect"}, "is the group of Kafka Connect's workers"),
        ({"open": {PARTITION: ""}}, "is in use: a transaction that commits offsets for orders-0 is open"),
        ({"open": {PARTITION: "x9"}}, "for orders-0 is open: x9"),
        ({"protocol_type": "sr"}, "speaks the protocol sr and is no consumer group"),
    ],
)
@pytest.mark.parametrize("when", ["before", "after"])
def test_what_is_not_surely_idle_is_not_idle(changes, told, when):
    other = dataclasses.replace(IDLE, **changes)
    problem = idle_problem(other, IDLE) if when == "before" else idle_problem(IDLE, other)
    assert problem is not None
    assert told in problem


@pytest.mark.parametrize(
    ("changes", "way"),
    [
        ({}, "stop that consumer or tool"),
        ({"state": "Stable"}, "stop what uses it and wait for the session timeout"),
        ({"state": "Stable", "open": {PARTITION: ""}}, "wait for its application or its transaction.timeout.ms"),
        ({"type": "share"}, "give the group that is to be set another name by group_map"),
        ({"protocol_type": "connect", "state": "Stable"}, "give the group that is to be set another name by group_map"),
    ],
)
def test_each_problem_has_its_own_way_out(changes, way):
    assert idle_remedy(dataclasses.replace(IDLE, **changes)).startswith(way)


@pytest.mark.parametrize(
    ("offsets", "told"),
    [
        ({PARTITION: CommittedOffset(8)}, "orders-0 from 7 to 8"),
        ({PARTITION: CommittedOffset(7, "new metadata")}, "orders-0 from 7 to 7"),
        ({}, "orders-0 from 7 to none"),
        ({PARTITION: CommittedOffset(7), TopicPartition("orders", 1): CommittedOffset(0)}, "orders-1 from none to 0"),
    ],
)
def test_commits_that_move_betray_a_consumer_without_membership_or_mirror_maker(offsets, told):
    problem = idle_problem(IDLE, dataclasses.replace(IDLE, offsets=offsets))
    assert problem is not None
    assert told in problem
    assert "assign()" in problem
    assert "MirrorMaker 2" in problem


P0, P2 = TopicPartition("orders", 0), TopicPartition("orders", 2)


def reading(*offsets, group="billing"):
    return GroupReading(group, True, "Empty", "classic", "consumer", dict(zip((P0, P2), offsets, strict=False)))


FIVE = reading(CommittedOffset(5), CommittedOffset(7, "note"))


@pytest.fixture
def look():
    """What was seen just now."""
    return EarlierLook.of({"billing": FIVE}, {P0: 9, P2: 11})


@pytest.mark.parametrize(("ago", "left"), [(0, 5), (2, 3), (30, 0), (61, 5), (-3, 5)])
def test_idle_wait_counts_from_a_look_of_this_run_alone(look, monkeypatch, ago, left):
    monkeypatch.setattr(time, "time", lambda: look.at + ago)
    assert look.seconds_left(5) == left


@pytest.mark.parametrize(
    ("readings", "stands"),
    [
        ([FIVE], True),
        ([], True),
        ([reading(CommittedOffset(6), CommittedOffset(7, "note"))], False),
        ([reading(CommittedOffset(5), CommittedOffset(7))], False),
        ([reading(CommittedOffset(5))], False),
        ([FIVE, reading(group="shipping")], False),
    ],
)
def test_a_group_that_has_committed_anything_else_or_was_not_looked_at_is_noticed(look, readings, stands):
    assert look.shows(readings) is stands


def test_a_report_keeps_the_look_and_one_without_it_counts_for_nothing(look):
    kept = report.objections(report.to_json(report.Report("S", "D", None, (), "d" * 64, look=look)), "report.json").look
    assert kept == look and [kept.end_of(TopicPartition("orders", number)) for number in range(4)] == [
        9,
        None,
        11,
        None,
    ]
    old = report.objections(report.to_json(report.Report("S", "D", None, (), "d" * 64)), "report.json").look
    assert old == NOT_LOOKED and not old.is_recent
