"""What the option match_on means for fingerprints, for timestamps, and for what a plan says."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.match_on import FINGERPRINTED, Matching, MatchOn


def test_without_the_option_everything_is_compared_and_headers_where_they_match():
    match_on = MatchOn.of(None)
    assert match_on == MatchOn.of([])
    assert (match_on.timestamp, match_on.headers_may_differ, match_on.fingerprinted) == (True, True, FINGERPRINTED)
    assert (match_on.compared(True), match_on.compared(False)) == (Matching(True, True), Matching(True, False))
    assert match_on.matched_by(("key", "value")) == ("key", "value")


def test_the_order_in_which_parts_are_named_means_nothing():
    assert MatchOn.of(["timestamp", "value"]) == MatchOn.of(["value", "timestamp"])


@pytest.mark.parametrize(
    ("names", "timestamp", "fingerprinted", "covered", "matching"),
    [
        (["key", "value", "headers", "timestamp"], True, FINGERPRINTED, FINGERPRINTED, Matching(True, True)),
        (["key", "value", "headers"], False, FINGERPRINTED, FINGERPRINTED, Matching(False, True)),
        (["key", "value"], False, ("key", "value"), FINGERPRINTED, Matching(False, False)),
        (["key", "timestamp"], True, ("key",), ("key",), Matching(True, True)),
        (["timestamp"], True, (), (), Matching(True, True)),
    ],
)
def test_only_what_is_named_is_compared(names, timestamp, fingerprinted, covered, matching):
    match_on = MatchOn.of(names)
    assert (match_on.timestamp, match_on.headers_may_differ) == (timestamp, False)
    assert (match_on.fingerprinted, match_on.covered, match_on.compared(True)) == (fingerprinted, covered, matching)


def test_a_plan_names_what_the_user_has_named():
    assert MatchOn.of(["value"]).matched_by(("key", "value", "headers")) == ("value",)
    assert MatchOn.of(["value"]).matched_by(()) == ()
