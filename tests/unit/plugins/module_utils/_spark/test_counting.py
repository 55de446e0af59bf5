# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Counting on Spark gives the answers of its definition, for many groups and pairs at once."""

from __future__ import annotations

import collections
import random
import typing as t

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.counting import Logs
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record, TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._spark import packing, tallying
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.contents import (
    Extent,
    Pair,
    dealt,
    layout_of,
    packed,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.counting import (
    Counted,
    FirstPass,
    Standing,
    Sum,
    count_wide,
    counted,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.session import kept
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.slots import Slots

SCANNED = "range int, offset bigint, timestamp bigint, log_append_time boolean, fingerprint binary, bare binary"


class World(t.NamedTuple):
    """A pair: the logs of its source partitions and of its destination partitions, both from offset 0, with their ends."""

    sources: tuple[tuple[Record, ...], ...]
    copies: tuple[tuple[Record, ...], ...]
    ends: tuple[int, ...]
    committed: tuple[tuple[int, ...], ...]  # for each group, for each source partition


def layout(worlds: t.Sequence[World], timestamps: bool) -> packing.Layout:
    def extents(count: int) -> tuple[Extent, ...]:
        return tuple(Extent(TopicPartition("t", number), 0, 0) for number in range(count))

    pairs = [Pair(extents(len(world.sources)), extents(len(world.copies))) for world in worlds]
    return layout_of(pairs, timestamps=timestamps)


def standings(worlds: t.Sequence[World]) -> list[Standing]:
    return [Standing(number, commits) for number, world in enumerate(worlds) for commits in world.committed]


def rows(logs: t.Iterable[t.Sequence[Record]]) -> list[tuple[t.Any, ...]]:
    return [
        (number, its.offset, its.timestamp, its.log_append_time, its.digest, its.bare)
        for number, log in enumerate(logs)
        for its in log
    ]


def sources(worlds: t.Iterable[World]) -> list[tuple[Record, ...]]:
    return [log for world in worlds for log in world.sources]


def copies(worlds: t.Iterable[World]) -> list[tuple[Record, ...]]:
    return [log for world in worlds for log in world.copies]


def count_directly(worlds: t.Sequence[World], timestamps: bool, buckets: int, without_headers: bool) -> list[Counted]:
    """What Spark would do, with the workers' functions called one after the other."""
    its = layout(worlds, timestamps)
    slots = Slots(its, standings(worlds))
    types = [pa.int32(), pa.int64(), pa.int64(), pa.bool_(), pa.binary(), pa.binary()]
    tasks: list[list[pa.RecordBatch]] = [[] for _task in range(max(1, buckets // 2))]
    for axis, pairs, logs, of_destination in (
        (its.source, its.source_pairs, sources(worlds), False),
        (its.destination, its.destination_pairs, copies(worlds), True),
    ):
        columns = list(zip(*rows(logs), strict=True)) or [()] * len(types)
        arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
        batch = pa.RecordBatch.from_arrays(arrays, list(packing.SCANNED))
        halves = [batch.slice(0, batch.num_rows // 2), batch.slice(batch.num_rows // 2)]
        for chunk in packing.pack(halves, axis, pairs, range(len(logs)), buckets, of_destination):
            for row in range(chunk.num_rows):
                tasks[chunk.column(0)[row].as_py() % len(tasks)].append(chunk.slice(row, 1))
    ends = [end for world in worlds for end in world.ends]
    first = FirstPass.of(summed(tallying.first_pass(task, slots, without_headers) for task in tasks), slots, ends)
    return counted(summed(tallying.second_pass(task, slots, first.limits) for task in tasks), first)


def summed(tasks: t.Iterable[t.Iterable[pa.RecordBatch]]) -> list[Sum]:
    found: dict[tuple[t.Any, ...], list[tuple[t.Any, ...]]] = collections.defaultdict(list)
    for row in (row for task in tasks for batch in task for row in batch.to_pylist()):
        its = (row["place"], row["source"], row["fingerprint"]), row["records"]
        found[row["headers"], row["kind"], row["slot"]].append(its)
    return [
        Sum(
            *key,
            min(its)[0],
            max(its)[0],
            sum(number for _place, number in its),
            tuple(place[2] for place, _number in its) if key[1] == tallying.LOOSE else (),
        )
        for key, its in found.items()
    ]


def record(offset: int, content: str, time: int | None) -> Record:
    """A content in upper case has headers that are not in its name's lower case."""
    digest, bare = content.encode() * 16, content.lower().encode() * 16
    return Record(offset, 7 if time is None else time, digest, bare, time is None)


def log(draws: t.Iterable[tuple[str, int | None]]) -> tuple[Record, ...]:
    return tuple(record(2 * number, *its) for number, its in enumerate(draws))


times = st.sampled_from([0, 0, 0, 1, 2])
contents = st.sampled_from("abcdefghijklmnop")
source_logs = st.lists(st.tuples(contents, times), max_size=14).map(log)
copy_logs = st.lists(st.tuples(contents, st.sampled_from([0, 0, 1, 2, 9, None])), max_size=18).map(log)
commits = st.lists(st.integers(0, 30).map(lambda at: (at,)), min_size=1, max_size=5).map(tuple)
single = st.builds(lambda a, b, c: World((a,), (b,), (40,), c), source_logs, copy_logs, commits)


@settings(max_examples=400, deadline=None)
@given(st.lists(single, min_size=1, max_size=3), st.booleans(), st.sampled_from([1, 4, 16]))
def test_the_workers_answer_what_the_definition_says(worlds: list[World], timestamps: bool, buckets: int) -> None:
    found = iter(count_directly(worlds, timestamps, buckets, without_headers=False))
    for world in worlds:
        check(world, [next(found) for _commit in world.committed], timestamps)


def check(world: World, found: t.Sequence[Counted], timestamps: bool) -> None:
    """Against the definition; and that what is told as evidence are equal records on the right sides."""
    its = found[0]

    def name(one: Record) -> bytes:
        return one.digest if its.headers else one.bare

    both = Logs(world.sources[0], world.copies[0], name, timestamps=timestamps, start=0, end=world.ends[0])
    originals, arrived = ({one.offset: name(one).hex() for one in log[0]} for log in (world.sources, world.copies))
    for (committed,), told in zip(world.committed, found, strict=True):
        answer = both.answer(committed)
        assert told.answers == (answer,)
        for place, copy, side in (
            (answer.last_consumed, told.last_consumed[0], -1),
            (answer.first_wanted, told.first_wanted[0], 1),
        ):
            assert (place is None) == (copy is None)
            if copy is not None:
                assert copy.destination_offset == place
                assert originals[copy.source_offset] == arrived[copy.destination_offset] == copy.fingerprint
                assert (copy.source_offset >= committed) == (side > 0)
