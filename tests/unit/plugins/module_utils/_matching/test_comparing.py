# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What follows an offset at the destination is compared with what follows it at the source, and no loss is overlooked.

The logs here are small, and so are their blocks; what the comparison says of them is held against counting.
"""

from __future__ import annotations

import collections
import hashlib
import itertools
import typing as t
from unittest import mock

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.streamshift.kafka.plugins.module_utils._matching import blocks, comparing, fates
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.blocks import MATCHINGS, Block, cut_at
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
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.fates import Counts, Elsewhere, Seen

MARGIN = 16
EXACT = (Matching(True, True),)

Log = list[tuple[int, str]]  # offset and content; the content decides everything


@pytest.fixture(scope="module", autouse=True)
def small_blocks() -> t.Iterator[None]:
    with (
        mock.patch.object(blocks, "FEWEST", 2),
        mock.patch.object(blocks, "MOST", 6),
        mock.patch.object(comparing, "MOST", 6),
    ):
        yield


def row_of(offset: int, content: str, place: int = 0) -> Row:
    digest = hashlib.md5(content.encode()).digest()
    return Row(place, offset, len(content), digest, digest)


def blocks_of(rows: list[Row]) -> list[Block]:
    candidates = [number for number, row in enumerate(rows) if row.bare[0] % 3 == 0]
    edges = [0, *cut_at(candidates, len(rows), 0), len(rows)]
    return [_block(rows[low:high]) for low, high in itertools.pairwise(edges) if low < high]


def _block(rows: list[Row]) -> Block:
    digests = [
        hashlib.md5(b"".join(part)).digest()
        for part in (
            [row.fingerprint for row in rows],
            [row.bare for row in rows],
            [b"%d " % row.timestamp for row in rows],
        )
    ]
    return Block(
        rows[0].place, rows[0].offset, rows[-1].offset + 1, len(rows), min(row.timestamp for row in rows), *digests
    )


def half(log: list[Row], start: int, limit: int | None) -> Half:
    end = log[-1].offset + 1 if log else start
    window = Window(start, end, end, end)
    if limit is not None:
        window = Window(start, min(end, start + limit), min(end, start + limit + MARGIN), end)
    return Half((window,), blocks_of([row for row in log if window.start <= row.offset < window.end]))


def seen(rows: t.Iterable[Row], how: Matching) -> dict[t.Any, Seen]:
    found: dict[t.Any, Seen] = {}
    for row in rows:
        known = found.get(row.content(how), Seen(0, row.place, row.offset))
        found[row.content(how)] = known._replace(times=known.times + 1)
    return found


def verify(
    source: list[Row], committed: int, destination: list[Row], offset: int, limit: int | None = None
) -> tuple[Comparison, Counts]:
    """As the use case does it, with the logs in memory."""
    sides = sides_of(half(source, committed, limit), half(destination, offset, limit), EXACT)
    reading = to_read(sides)
    compared = compare(sides, reading, _read(source, reading.source), _read(destination, reading.destination))
    if reading.unread:  # whether to read the rest is a matter of time look-ups; here it is always read
        reading = to_read(sides, whole=True)
        compared = compare(sides, reading, _read(source, reading.source), _read(destination, reading.destination))
    elsewhere = Elsewhere(
        seen((row for row in destination if row.offset < offset), compared.how),
        seen((row for row in source if row.offset < committed), compared.how),
        seen((row for row in source if row.offset >= committed), compared.how),
        True,
    )
    return compared, fates.count(compared, elsewhere)


def _read(log: list[Row], wanted: list[Block]) -> list[Row]:
    return [row for row in log if any(block.start <= row.offset < block.end for block in wanted)]


def log_of(contents: t.Iterable[str], gaps: t.Collection[int] = ()) -> list[Row]:
    """Some contents one after the other; a marker stands before the numbers in `gaps`."""
    offset, rows = 0, []
    for number, content in enumerate(contents):
        offset += number in gaps
        rows.append(row_of(offset, content))
        offset += 1
    return rows


def at(rows: list[Row], number: int) -> int:
    """The offset of the numbered record, or the end."""
    return rows[number].offset if number < len(rows) else (rows[-1].offset + 1 if rows else 0)


contents = st.lists(st.integers(0, 60).map(str), max_size=60)
few_contents = st.lists(st.sampled_from("abc"), max_size=30)
distinct = st.lists(st.integers(0, 9999).map(str), unique=True, min_size=1, max_size=80)
gaps = st.sets(st.integers(0, 80), max_size=10)
limits = st.none() | st.integers(1, 40)


@given(contents | few_contents, contents | few_contents, st.data())
def test_the_numbers_are_those_of_counting(here, there, data):
    source, destination = log_of(here, data.draw(gaps)), log_of(there, data.draw(gaps))
    committed, offset = data.draw(st.integers(0, at(source, 99))), data.draw(st.integers(0, at(destination, 99)))
    compared, counts = verify(source, committed, destination, offset)

    consumed, unconsumed = _sides(source, committed)
    skipped, delivered = _sides(destination, offset)
    missing = unconsumed - delivered
    extra = delivered - unconsumed
    left_behind = missing & (skipped - consumed)
    assert compared.compared == (unconsumed & delivered).total()
    assert counts.left_behind == left_behind.total()
    assert counts.absent + counts.to_come == (missing - left_behind).total()
    assert counts.repeated == sum(number for content, number in extra.items() if content in consumed)
    assert counts.copied_again == sum(
        number for content, number in extra.items() if content in unconsumed and content not in consumed
    )
    assert counts.repeated + counts.copied_again + counts.foreign == extra.total()
    assert (compared.first_difference is None) == (
        [row.fingerprint for row in source if row.offset >= committed]
        == [row.fingerprint for row in destination if row.offset >= offset]
    )


def _sides(log: list[Row], offset: int) -> tuple[collections.Counter[bytes], collections.Counter[bytes]]:
    return (
        collections.Counter(row.fingerprint for row in log if row.offset < offset),
        collections.Counter(row.fingerprint for row in log if row.offset >= offset),
    )


@given(contents | few_contents, gaps, gaps, st.integers(0, 20), limits, st.data())
def test_an_exact_copy_is_never_found_fault_with(values, markers, others, lag, limit, data):
    source, destination = log_of(values, markers), log_of(values[: len(values) - lag], others)
    consumed = data.draw(st.integers(0, len(destination)))
    compared, counts = verify(source, at(source, consumed), destination, at(destination, consumed), limit)
    assert counts[:2] + counts[3:6] == (0,) * 5
    assert compared.in_order
    assert compared.unexamined == 0
    following = len(destination) - consumed
    if limit is None:
        assert compared.compared == following
        assert counts.to_come == len(values) - max(consumed, len(destination))
    else:
        assert compared.compared >= min(following, limit - len(markers) - len(others))


@given(distinct, gaps, gaps, limits, st.data())
def test_an_offset_too_far_leaves_records_behind(values, markers, others, limit, data):
    source, destination = log_of(values, markers), log_of(values, others)
    consumed = data.draw(st.integers(0, len(values) - 1))
    skips = data.draw(st.integers(1, len(values) - consumed))
    compared, counts = verify(source, at(source, consumed), destination, at(destination, consumed + skips), limit)
    # Of a window, as many as were compared.
    assert 0 < counts.left_behind <= skips
    if limit is None:
        assert counts.left_behind == skips
    assert counts.first_left_behind == fates.Spot((0, at(source, consumed)), (0, at(destination, consumed)))
    assert counts.absent == counts.repeated == counts.foreign == 0
    assert compared.first_difference is not None and compared.first_difference[0] == at(source, consumed)


@given(distinct, gaps, gaps, limits, st.data())
def test_an_offset_too_low_repeats_records(values, markers, others, limit, data):
    source, destination = log_of(values, markers), log_of(values, others)
    consumed = data.draw(st.integers(1, len(values)))
    again = data.draw(st.integers(1, consumed))
    _compared, counts = verify(source, at(source, consumed), destination, at(destination, consumed - again), limit)
    assert 0 < counts.repeated <= again
    if limit is None:
        assert counts.repeated == again
    assert counts.first_repeated == fates.Spot(None, (0, at(destination, consumed - again)))
    assert counts.left_behind == counts.absent == counts.foreign == 0


@given(distinct, gaps, st.sets(st.integers(0, 80), max_size=3), limits, st.data())
def test_what_a_copier_has_dropped_is_absent(values, markers, dropped, limit, data):
    kept = [value for number, value in enumerate(values) if number not in dropped]
    source, destination = log_of(values), log_of(kept, markers)
    consumed = data.draw(st.integers(0, len(values)))
    offset = at(destination, sum(1 for number in range(consumed) if number not in dropped))
    _compared, counts = verify(source, consumed, destination, offset, limit)
    last = max((number for number in range(len(values)) if number not in dropped), default=-1)
    lost = [number for number in dropped if consumed <= number < last]
    if limit is None:
        assert counts.absent == len(lost)
    elif any(number < consumed + limit - len(markers) - len(dropped) - MARGIN for number in lost):
        assert counts.absent > 0
    assert counts.absent <= len(lost)
    assert counts.left_behind == counts.repeated == counts.foreign == 0


@given(distinct, st.lists(st.integers(0, 80), max_size=3), limits, st.data())
def test_foreign_records_do_no_harm(values, places, limit, data):
    mixed = list(values)
    for number, place in enumerate(places):
        mixed.insert(min(place, len(mixed)), f"foreign {number}")
    source, destination = log_of(values), log_of(mixed)
    consumed = data.draw(st.integers(0, len(values) - 1))
    offset = mixed.index(values[consumed])
    _compared, counts = verify(source, consumed, destination, offset, limit)
    assert counts.left_behind == counts.absent == counts.repeated == 0
    assert counts.foreign <= sum(1 for value in mixed[offset:] if value.startswith("foreign"))


@example(["x", "y", "x"])
@given(few_contents.filter(bool))
def test_a_record_that_was_dropped_at_once_is_not_taken_for_a_late_one(values):
    source, destination = log_of(values), log_of(values[1:])
    _compared, counts = verify(source, 0, destination, 0)
    if len(set(values)) > 1 and values[1:] != values[:-1]:
        assert counts.absent == 1
    else:  # among equal ones nobody can tell
        assert counts.to_come == 1


@given(distinct.filter(lambda values: len(values) > 2), st.data())
def test_disorder_is_told_and_is_no_loss(values, data):
    shuffled = data.draw(st.permutations(values))
    compared, counts = verify(log_of(values), 0, log_of(shuffled), 0)
    assert compared.compared == len(values)
    assert counts[:6] == (0,) * 6
    assert compared.in_order is (list(shuffled) == values)


def test_the_first_difference_is_named_on_both_sides():
    values = [str(number) for number in range(50)]
    source, destination = log_of(values), log_of([*values[:20], "foreign", *values[20:]], gaps={3})
    compared, _counts = verify(source, 5, destination, 6)
    assert compared.first_difference == (20, 21)
    compared, _counts = verify(source, 5, log_of(values[:-1]), 5)
    assert compared.first_difference == (49, None)
    compared, _counts = verify(log_of(values[:-1]), 5, source, 5)
    assert compared.first_difference == (None, 49)


@pytest.mark.parametrize("how", MATCHINGS)
def test_the_strictest_comparison_by_which_records_are_equal_is_taken(how):
    source = log_of(str(number) for number in range(40))
    destination = [
        row._replace(
            timestamp=row.timestamp if how.timestamp else 99, fingerprint=row.fingerprint if how.headers else b"other"
        )
        for row in source
    ]
    for start, further in ((0, 0), (38, 0), (37, 1)):  # with blocks that are equal, and with single records only
        sides = sides_of(half(source, start, None), half(destination, start + further, None), MATCHINGS)
        reading = to_read(sides)
        compared = compare(sides, reading, _read(source, reading.source), _read(destination, reading.destination))
        assert compared.how == how
        assert compared.compared == 40 - start - further


def test_more_differences_than_memory_holds_are_not_examined():
    source, destination = log_of(f"a{number}" for number in range(60)), log_of(f"b{number}" for number in range(60))
    with mock.patch.object(comparing, "READ_AT_MOST", 20):
        reading = to_read(sides_of(half(source, 0, None), half(destination, 0, None), EXACT), whole=True)
    assert sum(block.records for block in reading.source) <= 20
    assert sum(block.records for block in reading.destination) <= 20
    # What seems to be the part that is still to be copied may be left unread.
    assert sum(block.records for block in reading.unread) + reading.unexamined >= 40
    assert reading.unexamined_copies >= 40


@given(st.lists(st.integers(0, 5), max_size=60), st.integers(0, 60), st.integers(0, 40))
def test_blocks_begin_again_together_behind_what_differs(values, place, size):
    """One more record on one side changes the blocks around it, and not all that follow."""
    numbered = [f"{value} {number}" for number, value in enumerate([*values, *range(200)])]
    changed = [*numbered[:place], *(f"new {number}" for number in range(size)), *numbered[place:]]
    here = {block.fingerprints for block in blocks_of(log_of(numbered))}
    there = {block.fingerprints for block in blocks_of(log_of(changed))}
    assert len(here - there) < 40


@given(st.lists(st.booleans(), max_size=100), st.data())
def test_cuts_do_not_depend_on_how_the_records_come(ends, data):
    candidates = [number for number, end in enumerate(ends) if end]
    whole = cut_at(candidates, len(ends), 0)
    pieces: list[int] = []
    done = already = 0
    while done < len(ends):
        size = data.draw(st.integers(1, len(ends) - done))
        found = cut_at([each - done for each in candidates if done <= each < done + size], size, already)
        pieces += [done + each for each in found]
        already = size - found[-1] if found else already + size
        done += size
    assert pieces == whole
    assert all(high - low <= 6 for low, high in itertools.pairwise([0, *whole, len(ends)]))
