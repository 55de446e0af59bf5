# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A loss is always a problem, a repeat only where it was not announced, and both are told with their offsets."""

from __future__ import annotations

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._matching.comparing import Comparison
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.context import Matching
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.fates import Counts, Spot
from ansible_collections.streamshift.kafka.plugins.module_utils._matching.verified import Claim, finding
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition

ORDERS = TopicPartition("orders", 0)
EXACT = Claim("billing", ((ORDERS, 50),), ((ORDERS, 60),), 0)
NOTHING = Counts(0, 0, 0, 0, 0, 0, None, None, None)
LEFT = NOTHING._replace(left_behind=2, first_left_behind=Spot((0, 50), (0, 58)))
ABSENT = NOTHING._replace(absent=1, first_absent=Spot((0, 53), None))
REPEATED = NOTHING._replace(repeated=3, first_repeated=Spot(None, (0, 61)))


def compared(unexamined=0, copies=0, in_order=True):
    return Comparison(Matching(True, True), 7, [], [], [], unexamined, copies, (50, 61), in_order)


def found(claim=EXACT, counts=NOTHING, is_compacted=False, **more):
    return finding(claim, compared(**more), counts, is_complete=True, is_compacted=is_compacted)


def test_equal_sequences_say_nothing():
    its = found()
    assert (its.problems, its.notes, its.compared, its.first_difference) == ((), (), 7, None)
    assert its.name == "billing orders-0"


@pytest.mark.parametrize(
    ("counts", "line"),
    [
        (
            LEFT,
            "2 unconsumed records are left behind: before the offset 60, first source offset 50, destination offset 58",
        ),
        (
            ABSENT,
            (
                "1 unconsumed record is not at the destination, though later ones are: first source offset 53; "
                "the copier has filtered or lost what is missing"
            ),
        ),
        (
            REPEATED,
            "3 consumed records are repeated: behind the offset 60, first destination offset 61; none was to be",
        ),
    ],
)
def test_losses_and_repeats_of_exact_entries_are_problems(counts, line):
    its = found(counts=counts)
    assert (its.problems, its.first_difference) == ((line,), (50, 61))


def test_repeats_are_measured_by_what_was_announced():
    assert found(EXACT._replace(repeats=3), REPEATED).problems == ()
    assert found(EXACT._replace(repeats=3), REPEATED).notes == ("3 consumed records are repeated",)
    assert "at most 2 were to be" in found(EXACT._replace(repeats=2), REPEATED).problems[0]
    assert found(EXACT._replace(repeats=None), REPEATED).problems == ()
    assert found(EXACT._replace(repeats=None), LEFT).problems != ()


def test_a_compacted_destination_may_lack_what_it_had():
    its = found(counts=ABSENT, is_compacted=True)
    assert (its.problems, its.notes) == ((), ("1 unconsumed record is not at the destination, which is compacted",))
    assert found(counts=LEFT, is_compacted=True).problems != ()


def test_what_is_no_loss_is_told():
    counts = NOTHING._replace(to_come=1, copied_again=2, foreign=3)
    assert found(counts=counts, in_order=False).notes == (
        "1 unconsumed record is still to be copied",
        "2 unconsumed records are there more often than at the source",
        "3 records are only at the destination",
        "the records are in another order than at the source",
    )
    assert found(counts=counts, in_order=False).problems == ()


def test_what_could_not_be_examined_proves_nothing():
    assert "5 were not examined" in found(unexamined=5).problems[0]
    # More records at the destination can only be repeats.
    assert "5 records behind the offset 60 were not examined" in found(copies=5).problems[0]
    assert found(EXACT._replace(repeats=5), copies=5).problems == ()
    assert found(EXACT._replace(repeats=None), copies=5).notes == ("5 records of the destination were not examined",)


def test_of_several_partitions_each_is_named():
    claim = Claim(
        "billing",
        ((TopicPartition("eu", 0), 1), (TopicPartition("us", 0), 2)),
        ((ORDERS, 3), (TopicPartition("orders", 1), 4)),
        0,
    )
    its = found(claim, LEFT._replace(first_left_behind=Spot((1, 50), (0, 2))))
    assert its.name == "billing orders"
    assert its.problems == (
        (
            "2 unconsumed records are left behind: before the offsets, "
            "first source us-0 offset 50, destination orders-0 offset 2"
        ),
    )
