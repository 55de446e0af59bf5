"""What a verification has seen is a first reading only for the same run, and only of what stands as it did."""

import time

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model import report
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset, GroupReading
from ansible_collections.streamshift.kafka.plugins.module_utils._model.idle import NOT_LOOKED, EarlierLook
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition

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
