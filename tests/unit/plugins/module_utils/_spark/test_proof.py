# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a comparison asks Spark for is what going through the records by hand gives, and nothing large is shuffled."""

from __future__ import annotations

import collections
import hashlib
import random

from ansible_collections.streamshift.kafka.plugins.module_utils._spark.proof import blocks, sightings

SCANNED = (
    "range int, topic string, partition int, offset bigint, timestamp bigint, log_append_time boolean, "
    "fingerprint binary, bare binary"
)
HOWS = "range int, headers boolean, timestamped boolean"
WANTED = "range int, digest binary, stamp bigint"


def digest(text):
    return hashlib.md5(text.encode()).digest()


def scanned(count, ranges=4, seed=1):
    chance = random.Random(seed)
    rows = []
    for offset in range(count):
        value, header, number = chance.randrange(9), chance.choice(["", "h"]), chance.randrange(ranges)
        timestamp = chance.choice([-1, 5, 6])
        rows.append(
            (number, "t", number, offset, timestamp, False, digest(f"{value}{header}"), digest(str(value))),
        )
    return rows


def plan(frame):
    return frame._jdf.queryExecution().executedPlan().toString()


def test_sightings_are_those_found_by_hand(spark):
    rows = scanned(400)
    hows = [(0, True, True), (1, True, False), (2, False, True), (3, False, False)]
    wanted = [
        (number, digest(f"{value}{header}"), stamp)
        for number, headers, timestamped in hows
        for value in (1, 2, 10)
        for header in (["", "h"] if headers else [""])
        for stamp in ([-1, 5] if timestamped else [-2])
    ]
    found = collections.defaultdict(list)
    for number, _topic, _partition, offset, timestamp, _late, fingerprint, bare in rows:
        _number, headers, timestamped = hows[number]
        found[number, fingerprint if headers else bare, timestamp if timestamped else -2].append(offset)
    expected = {(*key, len(offsets), min(offsets)) for key, offsets in found.items() if key in wanted}
    answer = sightings(
        spark.createDataFrame(rows, SCANNED), spark.createDataFrame(hows, HOWS), spark.createDataFrame(wanted, WANTED)
    ).collect()
    assert {(row[0], bytes(row[1]), *row[2:]) for row in answer} == expected
    assert len(answer) == len(expected) > 10


def test_what_nobody_wants_is_not_found(spark):
    answer = sightings(
        spark.createDataFrame(scanned(50), SCANNED),
        spark.createDataFrame([(0, True, True)], HOWS),
        spark.createDataFrame([], WANTED),
    )
    assert answer.collect() == []


def test_sightings_shuffle_only_what_was_found(spark):
    frame = sightings(
        spark.createDataFrame(scanned(50), SCANNED),
        spark.createDataFrame([(0, True, True)], HOWS),
        spark.createDataFrame([(0, digest("1"), 5)], WANTED),
    )
    text = plan(frame)
    assert text.count("BroadcastHashJoin") == 2
    assert "SortMergeJoin" not in text
    shuffles = [line for line in text.splitlines() if "Exchange hashpartitioning" in line]
    assert len(shuffles) == 1  # of counts, which were made before
    assert text.index("Exchange hashpartitioning") < text.index("partial_count")


def test_blocks_are_made_where_the_records_are(spark):
    rows = [(0, "t", 0, offset, 5, False, digest(str(offset)), digest(str(offset))) for offset in range(9_000)]
    frame = blocks(spark.createDataFrame(rows, SCANNED).coalesce(1))
    assert "Exchange" not in plan(frame)
    found = sorted(frame.collect(), key=lambda row: row.start)
    assert sum(row.records for row in found) == 9_000
    assert [row.start for row in found] == [0, *(row.end for row in found[:-1])]
    assert max(row.records for row in found) <= 4096
    assert len(found) > 4
