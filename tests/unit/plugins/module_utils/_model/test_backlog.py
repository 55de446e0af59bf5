"""Copy files, and where groups belong once all is copied."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import (
    Backlog,
    BacklogRange,
    BacklogTopic,
    Done,
    Suspended,
    from_json,
    to_json,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.new_topics import NewTopic
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition

HERE, THERE = TopicPartition("orders", 0), TopicPartition("new", 0)
DONE = Done(40, 900, 140, 1, 2, {10: 100, 30: 120})
RANGE = BacklogRange(HERE, 10, 60, THERE, 100, (10, 30, 59), DONE)
SUSPENDED = {"retention.ms": Suspended(None, "-1")}
MADE = BacklogTopic("new", "orders", NewTopic(2, 3, {"retention.ms": "-1"}), SUSPENDED, True, "there-id", "here-id")
EMPTY = BacklogRange(HERE._replace(partition=1), 5, 5, THERE._replace(partition=1), 0)
NAME = "streamshift-copy-0123456789abcdef"
BACKLOG = Backlog(
    NAME, "here", "there", "digest", (MADE, BacklogTopic("other", "other")), (RANGE, EMPTY), claimed=False
)


def test_everything_comes_back():
    assert from_json(to_json(BACKLOG), "copy.json") == BACKLOG


@pytest.mark.parametrize("offset, place", [(10, 100), (30, 120), (59, 140), (60, 140)])
def test_a_group_belongs_where_its_first_record_is_or_after_the_last_one(offset, place):
    assert RANGE.place(offset) == place


def test_a_group_belongs_where_the_log_ended_when_nothing_was_copied():
    assert BACKLOG.ranges[1].place(5) == 0
    nothing = BacklogRange(HERE, 10, 60, THERE, 100, (10,), Done(0, 0, None, 0, 0, {}))
    assert nothing.place(10) == 100
