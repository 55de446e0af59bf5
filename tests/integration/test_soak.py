"""A short form of `make soak`: rounds beside a company that works, a cut-over, and every record consumed once."""

import pytest

from tests.soak.run import play


@pytest.mark.timeout(1200)
def test_no_record_is_left_out_or_repeated_beyond_the_promise_after_five_rounds():
    violations = play(rounds=5, seed=1, verify="anchors", say=print)
    assert not violations, "\n".join(violations)
