# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Workers cut records into the same blocks however the records reach them."""

from __future__ import annotations

import hashlib
import itertools
import random
import typing as t

import pyarrow as pa
import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.blocks import cut_at, ends_block
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.cutting import cut

SCHEMA = pa.schema(
    [
        ("range", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.int64()),
        ("fingerprint", pa.binary()),
        ("bare", pa.binary()),
    ]
)
Row = tuple[int, int, int, bytes, bytes]


def digest(text: str) -> bytes:
    return hashlib.md5(text.encode()).digest()


def rows(count: int, number: int = 0, first: int = 0) -> list[Row]:
    """Records with a gap after every hundred offsets, and headers on every third."""
    return [
        (
            number,
            first + each + each // 100,
            10**12 - each,
            digest(f"{each}{' header' * (each % 3 == 0)}"),
            digest(str(each)),
        )
        for each in range(count)
    ]


def batches(records: list[Row], sizes: t.Iterator[int]) -> t.Iterator[pa.RecordBatch]:
    for size in sizes:
        if not records:
            return
        part, records = records[:size], records[size:]
        columns = [pa.array(column, field.type) for column, field in zip(zip(*part, strict=True), SCHEMA, strict=True)]
        yield pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def blocks(
    records: list[Row], sizes: t.Iterator[int], edges: t.Sequence[t.Sequence[int]] = ()
) -> list[tuple[t.Any, ...]]:
    found = [
        row
        for batch in cut(batches(records, sizes), edges)
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)
    ]
    return sorted(found)


def by_hand(records: list[Row]) -> list[tuple[t.Any, ...]]:
    ends = [number for number, row in enumerate(records) if ends_block(row[4])]
    edges = [0, *cut_at(ends, len(records), 0), len(records)]
    found = []
    for low, high in itertools.pairwise(edges):
        part = records[low:high]
        if part:
            contents = (
                b"".join(row[3] for row in part),
                b"".join(row[4] for row in part),
                b"".join(row[2].to_bytes(8, "little") for row in part),
            )
            found.append(
                (
                    part[0][0],
                    part[0][1],
                    part[-1][1] + 1,
                    len(part),
                    min(row[2] for row in part),
                    *(hashlib.blake2b(content, digest_size=16).digest() for content in contents),
                )
            )
    return found


@pytest.mark.parametrize("size", [1, 7, 1000, 10_000, 10**6])
def test_blocks_are_those_made_by_hand_however_large_the_batches_are(size):
    records = rows(12_000)
    found = blocks(records, iter(lambda: size, None))
    assert found == by_hand(records)
    assert len(found) > 5


def test_ranges_that_take_turns_are_kept_apart():
    chance = random.Random(1)
    logs = [rows(3_000, 0), rows(5_000, 1, first=77), rows(1, 2)]
    queues, mixed = [list(log) for log in logs], []
    while any(queues):
        queue = chance.choice([each for each in queues if each])
        size = chance.randint(1, 400)
        mixed += queue[:size]
        del queue[:size]
    sizes = iter(lambda: chance.randint(1, 700), None)
    assert blocks(mixed, sizes) == sorted(block for log in logs for block in by_hand(log))


@pytest.mark.parametrize("size", [1, 7, 1000, 10**6])
def test_a_block_begins_at_every_edge_as_if_nothing_came_before(size):
    logs = [rows(3_000), rows(500, 1, first=77)]
    # 100 and 201 are gaps (of the first log), which two edges may share; offsets before and behind the log are none of it.
    edges = [[1, 99, 100, 101, 201, 201, 1500, 1501, 2000, 9999], [3, 300]]
    found = blocks([*logs[0], *logs[1]], iter(lambda: size, None), edges)
    expected = []
    for log, its in zip(logs, edges, strict=True):
        for low, high in itertools.pairwise([0, *its, 10**6]):
            expected += by_hand([row for row in log if low <= row[1] < high])
    assert found == expected


def test_parts_of_one_range_make_blocks_of_their_own():
    records = rows(4_000)
    later, earlier = records[2_000:], records[:2_000]
    assert blocks([*later, *earlier], iter(lambda: 500, None)) == [*by_hand(earlier), *by_hand(later)]


def test_no_records_make_no_blocks():
    assert blocks([], iter([])) == []
