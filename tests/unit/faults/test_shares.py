"""Which faults a run of the suite draws, and until when."""

import random
import time

import pytest

from tests.faults.kinds import KINDS, draw, named
from tests.faults.shares import Share


def test_a_seed_draws_the_same_faults_again():
    first, second = (
        [draw(chance, KINDS, True, True).name for _again in range(50)]
        for chance in (random.Random(7), random.Random(7))
    )
    assert first == second


@pytest.mark.parametrize("spark, copies", [(True, True), (False, True), (False, False), (True, False)])
def test_only_what_fits_is_drawn(spark, copies):
    drawn = {draw(random.Random(seed), KINDS, spark, copies) for seed in range(2000)}
    assert drawn == {kind for kind in KINDS if kind.fits(spark, copies)}


def test_kinds_are_named_by_words():
    assert {kind.name for kind in named(["Java"])} == {"Java killed", "Java frozen"}
    assert named([]) == KINDS
    assert draw(random.Random(1), named(["Java"]), spark=False, copies=True) is None


def test_no_fault_begins_when_the_time_is_over():
    assert not Share().is_over() and not Share(ends=time.monotonic() + 60).is_over()
    assert Share(ends=time.monotonic() - 1).is_over()
