# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The joins of merged topics come to the same as going through all records by hand, for many random topics at once."""

from __future__ import annotations

import dataclasses
import hashlib
import random
import re
import typing as t

import pytest
from pyspark.sql import DataFrame, functions

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.context import Matching
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.merged import Missing, Sources, young_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._spark import merging
from ansible_collections.streamshift.kafka.plugins.module_utils._spark import repartition as steps
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.merging import (
    Pair,
    Told,
    choose_matching,
    sides,
    tell_apart,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.naming import named
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.merged_world import (
    World,
    join,
    world,
)
from ansible_collections.streamshift.kafka.tests.unit.plugins.module_utils._matching.truth import NOON

NOW = NOON + 3_600_010
SCANNED = (
    "range int, topic string, partition int, offset bigint, timestamp bigint, log_append_time boolean, "
    "fingerprint binary, bare binary"
)
Row = tuple[t.Any, ...]


def digest(text: str) -> bytes:
    return hashlib.md5(text.encode()).digest()


def row(number: int, offset: int, timestamp: int, text: str, late: bool = False) -> Row:
    """As scan() makes it. What follows a "+" in the text are headers."""
    return number, "t", number, offset, timestamp, late, digest(text), digest(text.partition("+")[0])


class Several:
    """Many worlds as one: side by side in the partitions of one topic, each with groups of its own."""

    def __init__(self, worlds: t.Iterable[World]) -> None:
        self.source: list[Row] = []
        self.destination: list[Row] = []
        self.groups: list[tuple[World, int, int, int]] = []  # and the first source and destination partition
        self.offsets: list[dict[int, int]] = []
        self.width = self.other_width = 0
        for number, its in enumerate(worlds):
            for group in range(len(its.groups)):
                self.groups.append((its, group, self.width, self.other_width))
                below = [at.consumed_below for at in its.positions(group)]
                self.offsets.append({self.width + at: offset for at, offset in enumerate(below)})
            for partition in range(len(its.source)):
                for each in its.readable(partition):
                    self.source.append(row(self.width, each.offset, each.timestamp, f"{number} {each.text}"))
                self.width += 1
            for log in its.arrived:
                for copy in log:
                    text = f"{number} {copy.text}"
                    self.destination.append(row(self.other_width, copy.offset, copy.timestamp, text))
                self.other_width += 1

    def consumed_below(self) -> list[list[int]]:
        return [[its.get(number, 0) for number in range(self.width)] for its in self.offsets]


def worlds(count: int, timestamps: bool) -> list[World]:
    made: list[World] = []
    seed = 0
    while len(made) < count:
        its = world(random.Random(seed), 12)
        its = dataclasses.replace(its, policy=dataclasses.replace(its.policy, now=NOW))
        if its.timestamps is timestamps:
            made.append(its)
        seed += 1
    return made


@pytest.mark.parametrize("timestamps", [True, False])
def test_the_joins_come_to_the_same_as_going_through_all_records(spark, timestamps):
    several = Several(worlds(29, timestamps))
    assert len(several.groups) <= steps.MOST_GROUPS
    told = tell_apart(
        spark,
        spark.createDataFrame(several.source, SCANNED),
        spark.createDataFrame(several.destination, SCANNED),
        Matching(timestamps, True),
        several.consumed_below(),
        several.other_width,
        young_from(Sources(several.groups[0][0].positions(0)), NOW),
    )
    for (its, group, first, other_first), answer in zip(several.groups, told, strict=True):
        found, missing = join(its, group)
        assert answer.found[other_first : other_first + len(found)] == found, its
        assert first_missing(its, group, first, answer) == missing, its
        check_pairs(its, group, first, answer.pairs[other_first : other_first + len(found)])


def first_missing(its: World, group: int, first: int, told: Told) -> Missing | None:
    own = {
        number - first: each for number, each in told.missing.items() if its.groups[group][number - first] is not None
    }
    if not own:
        return None
    number = min(own)
    return Missing(sum(records for records, _offset in own.values()), TopicPartition("t", number), own[number][1])


def check_pairs(its: World, group: int, first: int, pairs: list[tuple[Pair | None, Pair | None]]) -> None:
    """Each is a record of the destination, an equal one of the source, and on the right side of the committed offset."""
    for number, (its_pairs, found) in enumerate(zip(pairs, join(its, group)[0], strict=True)):
        at_first = None if found.first_unconsumed is None else found.first_unconsumed.offset
        for pair, offset, consumed in zip(its_pairs, (found.last_consumed, at_first), (True, False), strict=True):
            assert (pair is None) == (offset is None)
            if pair is None:
                continue
            assert pair.destination == offset
            copy = next(each for each in its.arrived[number] if each.offset == offset)
            original = next(each for each in its.readable(pair.range - first) if each.offset == pair.source)
            assert its.key(copy.text, copy.timestamp) == its.key(original.text, original.timestamp)
            assert (original.offset < its.positions(group)[pair.range - first].consumed_below) is consumed


def test_more_groups_than_a_number_has_bits_are_served_one_after_the_other(spark, monkeypatch):
    served: list[list[list[int]]] = []

    def serve(_spark, _here, _there, groups, *_more):
        served.append(groups)
        return [Told([], [], {number[0]: (1, 1)}) for number in groups]

    monkeypatch.setattr(merging, "_tell", serve)
    groups = [[number] for number in range(150)]
    nothing = spark.createDataFrame([], SCANNED)
    told = tell_apart(spark, nothing, nothing, Matching(True, True), groups, 1, None)
    assert [list(each.missing) for each in told] == groups
    assert [len(each) for each in served] == [62, 62, 26]


def test_empty_topics_are_told_apart_too(spark):
    nothing = spark.createDataFrame([], SCANNED)
    told = tell_apart(spark, nothing, nothing, Matching(True, True), [[0, 0]], 2, None)
    assert [found.first_unconsumed for found in told[0].found] == [None, None]
    assert (told[0].pairs, told[0].missing) == ([(None, None)] * 2, {})


def test_every_offset_is_on_one_side_of_what_each_group_has_committed():
    rows = sides([[5, 0], [3, 7]])
    for number, offsets in enumerate([(5, 3), (0, 7)]):
        for offset in range(10):
            (bits,) = [bits for at, low, high, bits in rows if at == number and low <= offset < high]
            assert bits == sum(1 << group for group, below in enumerate(offsets) if offset < below)


@pytest.mark.parametrize(
    ("here", "there", "expected"),
    [
        pytest.param("a b+h", "a b+h", Matching(True, True), id="everything is kept"),
        pytest.param("a b", "a b", Matching(True, True), id="no headers"),
        pytest.param("a b", "a b+x", Matching(True, False), id="added to one record"),
        pytest.param("a+h b", "a+h+x b+x", Matching(True, False), id="added to all"),
        pytest.param("a b+h", "a b", Matching(True, False), id="taken away"),
        pytest.param("a b", "a junk+x", Matching(True, True), id="a foreign record has some"),
        pytest.param("a+h a+g", "a+g", Matching(True, True), id="they tell records apart"),
    ],
)
def test_headers_are_compared_where_the_replication_tool_has_left_them_alone(spark, here, there, expected):
    source, destination = (
        spark.createDataFrame([row(0, at, 1, text) for at, text in enumerate(side.split())], SCANNED)
        for side in (here, there)
    )
    assert choose_matching(source, destination, timestamps=True, headers=True) == expected


@pytest.mark.parametrize(
    ("here", "there", "timestamps", "expected"),
    [
        pytest.param(row(0, 0, 1, "a"), row(0, 0, 1, "a"), True, True, id="kept"),
        pytest.param(row(0, 0, 1, "a"), row(0, 0, 1, "a"), False, False, id="not to be compared"),
        pytest.param(row(0, 0, 1, "a"), row(0, 0, 1, "a", True), True, False, id="set by the destination"),
        pytest.param(row(0, 0, 1, "a", True), row(0, 0, 1, "a"), True, True, id="set by the source"),
        pytest.param(row(0, 0, 1, "a"), row(0, 0, 2, "a"), True, False, id="changed by the replication tool"),
        pytest.param(row(0, 0, 1, "a"), row(0, 0, 2, "b"), True, True, id="another record"),
        pytest.param(row(0, 0, -1, "a"), row(0, 0, 1, "a"), True, False, id="none at the source"),
        pytest.param(row(0, 0, 1, "a"), row(0, 0, -1, "a"), True, False, id="none at the destination"),
    ],
)
def test_timestamps_are_compared_where_the_replication_tool_has_kept_them(spark, here, there, timestamps, expected):
    source, destination = (spark.createDataFrame([each], SCANNED) for each in (here, there))
    assert choose_matching(source, destination, timestamps, headers=True).timestamp is expected


def plan_of(records: DataFrame) -> str:
    """The physical plan, as it begins."""
    return records._jdf.queryExecution().executedPlan().toString()


def shuffles(records: DataFrame) -> list[str]:
    """What each shuffle of the plan carries: the name of the step below it."""
    return re.findall(r" Exchange .*\n[ :+-]*(\*\(\d+\) )?(\w+)", plan_of(records))


def test_only_the_tally_shuffles_all_records(spark):
    scanned = named(spark.createDataFrame([row(0, 0, 1, "a")], SCANNED), Matching(True, True))
    here = steps.told_apart(scanned, spark.createDataFrame(sides([[1]]), steps.SIDES))
    assert shuffles(here) == []
    assert plan_of(here).count("BroadcastHashJoin") == 1
    tallied = steps.tally(here, scanned)
    assert [below for _number, below in shuffles(tallied)] == ["HashAggregate"]
    few = spark.createDataFrame(tallied.collect(), tallied.schema)  # as if it was kept
    records = steps.alone(few)
    assert shuffles(records) == []
    told = steps.told(functions.broadcast(steps.repeated(few)), here, scanned)
    assert len(re.findall("SortMergeJoin.* number", plan_of(told))) == 1
    assert plan_of(told).count("SortMergeJoin") == 1  # of what was counted, and of nothing else
    pieces = spark.createDataFrame([(0, 0, 0, 9)], steps.PIECES)
    gaps = spark.createDataFrame([(0, 0, 0, 9)], steps.GAPS)
    for counted in (
        steps.firsts(records, 1, None),
        steps.around(records, 1, pieces, spark.createDataFrame([(0, 0, 1)], steps.STARTS)),
        steps.youngest_unknown(records, gaps),
    ):
        assert {below for _number, below in shuffles(counted)} <= {"HashAggregate", "SortAggregate"}
