# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Blocks that are taken together lead to the same comparison as each of them for itself."""

from __future__ import annotations

import hashlib
import itertools
import typing as t

from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.blocks import MATCHINGS, Block
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.comparing import (
    Comparison,
    Half,
    Row,
    Window,
    compare,
    sides_of,
    to_read,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.context import Matching
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.stretches import joined, stretches_of

SIZE = 2  # records of a block, with a gap of one offset behind them
Content = tuple[int, str, int]  # of a block: value, header, timestamp


def log_of(contents: t.Sequence[Content]) -> tuple[list[Block], list[Row]]:
    blocks, rows = [], []
    for number, (value, header, timestamp) in enumerate(contents):
        start = number * (SIZE + 1)
        digests = [
            (hashlib.md5(f"{value}{header}{each}".encode()).digest(), hashlib.md5(f"{value}{each}".encode()).digest())
            for each in range(SIZE)
        ]
        rows += [Row(0, start + each, timestamp, *digest) for each, digest in enumerate(digests)]
        whole = [hashlib.md5(b"".join(part)).digest() for part in zip(*digests, strict=True)]
        blocks.append(Block(0, start, start + SIZE, SIZE, timestamp, *whole, b"%d" % timestamp))
    return blocks, rows


def comparisons(half: Half, other: Half, hows: t.Sequence[Matching], logs: t.Sequence[list[Row]]) -> list[Comparison]:
    """With what has to be read at first, and with the end that seems to be still to come."""
    sides = sides_of(half, other, hows)
    found = []
    for whole in (False, True):
        reading = to_read(sides, whole)
        rows = [
            [row for row in log if any(block.start <= row.offset < block.end for block in wanted)]
            for log, wanted in zip(logs, (reading.source, reading.destination), strict=True)
        ]
        found.append(compare(sides, reading, *rows))
    return found


contents = st.tuples(st.integers(0, 30), st.sampled_from(["", "", "h"]), st.sampled_from([5, 5, 5, 6]))
copies = st.lists(contents, max_size=25)
# Of copies, some places where the other side has something else, or nothing, or more.
edits = st.lists(st.tuples(st.integers(0, 25), st.integers(0, 2), copies.map(lambda its: its[:2])), max_size=3)
numbers = st.integers(0, 25)
hows = st.sampled_from([MATCHINGS, MATCHINGS[:1], MATCHINGS[1:2], MATCHINGS[2:], MATCHINGS[3:]])


@settings(max_examples=400)
@given(copies, edits, numbers, numbers, numbers, numbers, hows, st.booleans())
def test_nothing_else_is_found(here, changes, low, high, first, last, hows, is_cut):
    there = list(here)
    for place, left_out, put_in in changes:
        there[place : place + left_out] = put_in
    (source, our_rows), (destination, their_rows) = log_of(here), log_of(there)
    mine = range(min(low, len(source)), min(max(low, high if is_cut else 99), len(source)))
    others = range(min(first, len(destination)), min(max(first, last if is_cut else 99), len(destination)))
    windows = [
        (Window(3 * its.start, 3 * its.stop - 4 * is_cut, 3 * its.stop, 3 * len(log)),)
        for its, log in ((mine, source), (others, destination))
    ]
    plain = [[source[at] for at in mine], [destination[at] for at in others]]
    together = joined(stretches_of(source, destination, hows), mine, others)
    logs = [our_rows, their_rows]
    expected = comparisons(*map(Half, windows, plain), hows, logs)
    assert comparisons(*map(Half, windows, together), hows, logs) == expected
    assert [sum(block.records for block in its) for its in together] == [SIZE * len(mine), SIZE * len(others)]


def test_a_stretch_is_two_blocks_however_long_it_is():
    here = [(number, "", 5) for number in range(1000)]
    there = [*here[:600], (-1, "", 5), *here[600:]]
    (source, _rows), (destination, _others) = log_of(here), log_of(there)
    known = stretches_of(source, destination, MATCHINGS)
    mine, others = joined(known, range(100, 1000), range(100, 1001))
    assert [block.records // SIZE for block in mine] == [1, 499, 1, 399]
    assert [block.records // SIZE for block in others] == [1, 499, 1, 1, 399]
    for block, after in itertools.pairwise(others):
        assert block.end <= after.start


def test_what_is_there_twice_stands_for_itself():
    (source, _rows), (destination, _others) = log_of([(7, "", 5)] * 9), log_of([(7, "", 5)] * 9)
    known = stretches_of(source, destination, MATCHINGS)
    assert [len(its) for its in joined(known, range(9), range(9))] == [9, 9]
