# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A topic whose records were copied to other partitions is blocked, though the numbers of partitions are equal."""

from __future__ import annotations

import itertools
import types
import typing as t

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.positions import Bounds
from ansible_collections.streamshift.kafka.plugins.module_utils._migration import cluster_logs
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning.by_records import by_records
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning.strategy import (
    StrategyInput,
    TranslateOptions,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.cluster_logs import ClusterLogs
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.drafts import Draft
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection, connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import Plan, PlanEntry
from ansible_collections.streamshift.kafka.plugins.module_utils._model.progress import silent
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record, TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason, Verdict

SOURCE = connection_from({"bootstrap_servers": ["127.0.0.1:1"]}, "source cluster")
DESTINATION = connection_from({"bootstrap_servers": ["127.0.0.1:2"]}, "destination cluster")
OLD = [10 * number for number in range(40)]  # in turns in partition 0 and partition 1 of the source
NEW = [1000, 1010, 1020, 1030]
LOGS_AT_SOURCE = OLD[0::2] + NEW[0::2], OLD[1::2] + NEW[1::2]


def log(times: t.Iterable[int], contents: t.Callable[[int], object] = int) -> list[Record]:
    """Records of these times; the content of each is told by its time."""
    digests = [(time, f"{contents(time)!s:>16}".encode()) for time in times]
    return [Record(offset, time, digest, digest) for offset, (time, digest) in enumerate(digests)]


class Clusters:
    """Topic `orders` on both sides, whose logs are given by partition."""

    def __init__(self, source: t.Sequence[list[Record]], destination: t.Sequence[list[Record]]) -> None:
        self.is_stamped = False
        self.looked_up: set[tuple[int, int]] = set()  # partitions and times, at the destination
        self.logs = {SOURCE.name: source, DESTINATION.name: destination}

    def topic_settings(self, connection: Connection, names: t.Iterable[str]) -> t.Any:
        return dict.fromkeys(
            names,
            types.SimpleNamespace(
                log_append_time=self.is_stamped and connection.name == DESTINATION.name,
                compacted=False,
                retention_ms=None,
            ),
        )

    def partition_bounds(self, connection: Connection, partitions: t.Iterable[TopicPartition]) -> dict[t.Any, Bounds]:
        ends = {where: len(self.logs[connection.name][where.partition]) for where in partitions}
        return {where: Bounds(0, end, end) for where, end in ends.items()}

    def lookup_all_times(self, connection: Connection, wanted: t.Iterable[tuple[TopicPartition, int]]) -> t.Any:
        if connection.name == DESTINATION.name:
            self.looked_up |= {(where.partition, time) for where, time in wanted}
        return {
            (where, time): next(
                (each.offset for each in self.logs[connection.name][where.partition] if each.timestamp >= time), None
            )
            for where, time in wanted
        }

    def read_ranges(self, connection: Connection, wanted: t.Mapping[t.Any, t.Any], **_options: t.Any) -> t.Any:
        return {
            where: [(start, end, self.logs[connection.name][where.partition][start:end]) for start, end in spans]
            for where, spans in wanted.items()
        }

    def planned(self, *committed: int | None, previous: Plan | None = None) -> list[PlanEntry]:
        """The entries of a group that has committed these offsets, by partition."""
        drafts = [
            Draft("g", TopicPartition("orders", at), "g", TopicPartition("orders", at), CommittedOffset(offset))
            for at, offset in enumerate(committed)
            if offset is not None
        ]
        counts = {"orders": len(self.logs[SOURCE.name])}
        source, destination = ClusterLogs(SOURCE, with_open=True), ClusterLogs(DESTINATION)
        for logs in (source, destination):
            logs.learn([TopicPartition("orders", at) for at in range(counts["orders"])])
        given = StrategyInput(
            {draft.key: draft for draft in drafts},
            [],
            source,
            destination,
            counts,
            counts,
            False,
            previous,
            TranslateOptions(),
            lambda: pytest.fail("Spark is not needed"),
            silent,
        )
        return list(by_records(given).entries.values())


@pytest.fixture
def clusters(monkeypatch: pytest.MonkeyPatch) -> t.Callable[..., Clusters]:
    def make(source: t.Sequence[list[Record]], destination: t.Sequence[list[Record]]) -> Clusters:
        its = Clusters(source, destination)
        for name in ("topics", "positions", "range_reader"):
            monkeypatch.setattr(cluster_logs, name, its)
        return its

    return make


def grown(clusters, new):
    """The destination had one partition when the old records were copied; of the new ones, so many have been copied since."""
    first, second = (NEW[0::2], NEW[1::2]) if new else ((), ())
    return clusters(list(map(log, LOGS_AT_SOURCE)), [log([*OLD, *first]), log(second)])


@pytest.mark.parametrize("new", [False, True])
@pytest.mark.parametrize("committed", [(5, 3), (20, 3), (5, None)])
def test_partitions_that_were_added_after_the_copy(clusters, new, committed):
    for entry in grown(clusters, new).planned(*committed):
        assert (entry.verdict, entry.offset, entry.reason) == (Verdict.BLOCKED, None, Reason.OTHER_PARTITIONS)
        assert "records of orders were copied to other partitions of orders: orders-1 offset" in entry.detail
        assert "name orders in repartitioned" in entry.detail


def test_a_stray_record_is_named(clusters):
    entry, _other = grown(clusters, True).planned(20, 3)
    assert "orders-1 offset 3 is orders-0 offset 7 there" in entry.detail


def test_a_replication_tool_with_another_partitioner(clusters):
    contents = [*OLD, *NEW]
    destination = [log(contents[at::4] + contents[at + 1 :: 4]) for at in (0, 2)]
    reasons = {entry.reason for entry in clusters(list(map(log, LOGS_AT_SOURCE)), destination).planned(10, 10)}
    assert reasons == {Reason.OTHER_PARTITIONS}


def test_a_destination_that_stamps_records_is_compared_as_a_whole(clusters):
    its = grown(clusters, True)
    its.is_stamped = True
    its.logs[DESTINATION.name] = [
        [each._replace(timestamp=5000 + each.offset, log_append_time=True) for each in copies]
        for copies in its.logs[DESTINATION.name]
    ]
    assert {entry.reason for entry in its.planned(5, 3)} == {Reason.OTHER_PARTITIONS}


def test_what_every_group_has_consumed_may_stand_anywhere(clusters):
    for entry, offset in zip(grown(clusters, True).planned(20, 20), (39, 0), strict=True):
        assert (entry.verdict, entry.offset) == (Verdict.EXACT, offset)


def test_records_that_the_replication_tool_leaves_out_are_nowhere(clusters):
    destination = [log(LOGS_AT_SOURCE[0]), log(LOGS_AT_SOURCE[1][:3] + LOGS_AT_SOURCE[1][6:])]
    for entry, offset in zip(clusters(list(map(log, LOGS_AT_SOURCE)), destination).planned(5, 3), (5, 3), strict=True):
        assert (entry.verdict, entry.offset) == (Verdict.EXACT, offset)


def test_other_partitions_are_not_asked_about_records_that_are_where_they_should_be(clusters):
    its = clusters(list(map(log, LOGS_AT_SOURCE)), list(map(log, LOGS_AT_SOURCE)))
    assert [entry.offset for entry in its.planned(5, None)] == [5]
    assert its.looked_up and all(time in LOGS_AT_SOURCE[partition] for partition, time in its.looked_up)


def test_entries_that_are_kept_from_the_last_plan_cost_no_look_up(clusters):
    """Also where what their groups have not consumed is still to come."""
    committed = 700, 900
    long = [[1000 * number + at for number in range(2000)] for at in range(2)]
    its = clusters(list(map(log, long)), [log(times[:end]) for times, end in zip(long, committed, strict=True)])
    first = its.planned(*committed)
    assert [entry.offset for entry in first] == list(committed)
    its.looked_up.clear()
    assert its.planned(*committed, previous=Plan("here", "there", "", tuple(first))) == first
    assert its.looked_up == set()


def test_an_equal_record_of_the_other_partition_is_no_stray(clusters):
    """Heartbeats of all partitions at one time; the replication tool has left some of one partition out."""
    times = [1000 * number for number in range(12)]
    heartbeats = [log(times, contents=lambda _time: "heartbeat") for _partition in range(2)]
    destination = [heartbeats[0], log(itertools.chain(times[:3], times[6:]), contents=lambda _time: "heartbeat")]
    reasons = {entry.reason for entry in clusters(heartbeats, destination).planned(3, 3)}
    assert Reason.OTHER_PARTITIONS not in reasons
