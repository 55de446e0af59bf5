# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Spans are read together and answered apart."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import Record
from ansible_collections.streamshift.kafka.plugins.module_utils._records.ranges import NEAR, _as_asked, _merged

spans = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 400)), max_size=8)


def record(offset):
    return Record(offset, 0, b"", b"")


@given(spans)
def test_what_is_read_covers_what_was_asked_and_is_far_apart(asked):
    merged = _merged(asked)
    wanted = {offset for start, end in asked for offset in range(start, end)}
    read = {offset for start, end in merged for offset in range(start, end)}
    assert wanted <= read
    assert all(later[0] - earlier[1] >= NEAR for earlier, later in itertools.pairwise(merged))


def test_near_spans_are_read_along_and_far_ones_are_not():
    assert _merged([(100, 110), (0, 10), (110 + NEAR, 200), (30, 30)]) == [(0, 10), (100, 110), (110 + NEAR, 200)]
    assert _merged([(0, 10), (9 + NEAR, 80), (5, 12)]) == [(0, 80)]


@given(spans, st.sets(st.integers(0, 400), max_size=60))
def test_every_span_gets_its_own_records_in_the_order_asked(asked, offsets):
    log = [record(offset) for offset in sorted(offsets)]
    answers = _as_asked(asked, log)
    assert [(each.start, each.end) for each in answers] == asked
    for each in answers:
        assert [found.offset for found in each.records] == [n for n in sorted(offsets) if each.start <= n < each.end]
