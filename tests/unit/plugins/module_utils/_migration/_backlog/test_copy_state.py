# SPDX-License-Identifier: GPL-3.0-or-later

"""What people read while a backlog is copied."""

from __future__ import annotations

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog.copy_state import (
    Amount,
    Pace,
    amounts,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import Backlog, BacklogRange
from ansible_collections.streamshift.kafka.plugins.module_utils._model.copy_progress import Progress
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition


def test_speed_and_time_left_are_those_since_the_first_look():
    pace = Pace()
    assert pace.lines({"orders": Amount(100, 5_000_000, 100, 1000)}, 10.0) == ["orders: 100 records copied, 10 %"]
    (line,) = pace.lines({"orders": Amount(400, 20_000_000, 400, 1000)}, 13.0)
    assert line == "orders: 400 records copied, 40 %, 5.0 MB/s, 6 s left"


def test_only_what_has_moved_is_said():
    pace = Pace()
    still, moving = Amount(1, 1, 1, 2), Amount(0, 0, 0, 7300)
    pace.lines({"a": still, "b": moving}, 0.0)
    lines = pace.lines({"a": still, "b": Amount(1, 1_000_000, 1, 7300)}, 1.0)
    assert [line.split(":")[0] for line in lines] == ["b", "all 2 topics"]
    assert lines[0].endswith("1.0 MB/s, 2 h 1 min left")
    assert pace.lines({"a": still, "b": Amount(1, 1_000_000, 1, 7300)}, 2.0) == []


def test_many_topics_are_told_by_few_lines():
    pace = Pace()
    lines = pace.lines({f"topic{number}": Amount(1, 1, 1, 2) for number in range(100)}, 0.0)
    assert len(lines) < 10 and lines[-1].startswith("all 100 topics: 100 records copied, 50 %")


def test_partitions_count_together_and_those_without_anything_to_copy_do_not():
    ranges = (
        BacklogRange(TopicPartition("here", 0), 10, 60, TopicPartition("there", 0), 0),
        BacklogRange(TopicPartition("here", 1), 10, 60, TopicPartition("there", 1), 0),
        BacklogRange(TopicPartition("empty", 0), 5, 5, TopicPartition("empty", 0), 0),
    )
    progress = {ranges[0].source: Progress(20, 9, 90), ranges[1].source: Progress(60, 49, 10)}
    assert amounts(Backlog("copy", "a", "b", "c", (), ranges), progress) == {"there": Amount(58, 100, 60, 100)}
