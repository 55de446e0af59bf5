"""Copies of one content, some of which have kept their times."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.content import tallies
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.tallies import Doubted, Mixed


def test_an_unconsumed_copy_that_comes_first_is_not_missing():
    """Its time is kept, so that the later copy with another time stands for no unconsumed record."""
    mixed = Mixed({1: 1}, {2: 1}, [(0, 2), (1, 1), (2, None)])
    assert mixed.first_wanted == 0
    assert [mixed.skipped(offset) for offset in range(4)] == [0, 1, 1, 1]
    assert [mixed.repeated(offset) for offset in range(4)] == [2, 2, 1, 0]


def test_what_open_transactions_hide_is_repeated_as_well_as_far_as_copies_follow():
    copies = [(0, 2), (1, 1), (2, None), (3, None)]
    assert Mixed({1: 1}, {2: 1}, copies).repeated(0) == 3
    assert Mixed({1: 1}, {2: 1}, copies, hidden=1).repeated(0) == 4
    assert Mixed({1: 1}, {2: 1}, copies, hidden=9).repeated(0) == 4


@pytest.mark.timeout(60)
def test_so_many_equal_records_that_only_a_quick_count_comes_to_an_end():
    """Heartbeats that differ by their times alone: some were copied twice, and the replication tool lags."""
    number = 50_000
    times = [*range(number // 2), *range(number // 2 - 20, number - 20)]
    copies = list(enumerate([*range(-500, 0), *times]))
    (counted,) = tallies(dict.fromkeys(range(number // 2), 1), dict.fromkeys(range(number // 2, number), 1), copies)
    assert isinstance(counted, Doubted)
    # Twenty are missing; any of the recopied ones, or of those with other times, may be theirs.
    assert counted.first_wanted == 480
    assert counted.skipped(480) == 0
    assert counted.skipped(481) == 1


def test_copies_that_may_be_nobodys_are_repeats_once_the_tool_has_caught_up():
    """Four records that only the destination has; one unconsumed record is missing, and one of the four may be its copy."""
    old = [(number, 100 + number) for number in range(4)]
    lagging = Mixed({0: 1, 1: 1}, {2: 1, 3: 1}, [*old, (4, 0), (5, 1), (6, 2)])
    caught_up = Mixed({0: 1, 1: 1}, {2: 1, 3: 1}, [*old, (4, 0), (5, 1), (6, 2), (7, 3)])
    offset = lagging.first_wanted
    assert offset == 3
    assert lagging.repeated(offset) == caught_up.repeated(offset) == 3
    assert caught_up.surely_repeated(offset) == 2  # the one that only the destination has may be somebody else's


def test_copies_with_other_times_that_are_as_many_as_missing_records_are_theirs():
    """A tool that has rewritten the times of what is unconsumed: nothing is repeated."""
    mixed = Mixed({0: 1, 1: 1}, {2: 1, 3: 1}, [(0, 0), (1, 1), (2, 102), (3, 103)])
    assert (mixed.first_wanted, mixed.repeated(2)) == (2, 0)


@pytest.mark.parametrize(
    ("consumed", "unconsumed", "copies", "offset", "repeated"),
    [
        ({0: 1, 10: 1}, {10: 1}, [(0, 0), (1, 0), (2, 10)], 2, 1),
        ({0: 1, 10: 1}, {20: 1}, [(0, 0), (1, 0), (2, 5)], 1, 2),
    ],
)
def test_a_surplus_copy_of_one_time_is_none_of_a_record_that_lacks_one(consumed, unconsumed, copies, offset, repeated):
    """What lacks a copy may be a consumed record, which is still to come, or the unconsumed one: then a copy is repeated."""
    (count,) = tallies(consumed, unconsumed, copies)
    assert count.repeated(offset) == repeated
