"""Consumers are waited for that may start, and no others."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration import look_at_readiness as use_case
from ansible_collections.streamshift.kafka.plugins.module_utils._model.readiness import Readiness
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Verdict


def group(name, in_use=False, not_committed=0, verdict=Verdict.EXACT, at_source=False):
    return Readiness(name, (name,), None, 0, {verdict: 1}, (), not_committed, at_source, in_use)


@pytest.fixture
def looks(monkeypatch):
    """``looks(*looks)``: how many of these looks are taken within a minute of a clock that only sleeping moves on."""

    def looks(*answers, groups=None):
        left, now = list(answers), [0.0]
        monkeypatch.setattr(use_case.time, "monotonic", lambda: now[0])
        monkeypatch.setattr(use_case.time, "sleep", lambda seconds: now.append(now.pop() + seconds))
        use_case.look_until_started(lambda: left.pop(0) if left[1:] else left[0], 60, groups)
        return now[0]

    return looks


@pytest.mark.parametrize(
    "other", [group("other", verdict=Verdict.BLOCKED), group("other", not_committed=1), group("other", at_source=True)]
)
def test_a_group_that_was_left_out_is_not_waited_for(looks, other):
    assert looks([group("billing"), other], [group("billing", in_use=True), other]) == use_case._PAUSE


def test_a_group_that_stands_right_and_that_the_commit_has_left_out_is_not_waited_for(looks):
    started = [group("billing", in_use=True), group("other")]
    assert looks([group("billing"), group("other")], started, groups=["billing"]) == use_case._PAUSE


def test_a_group_that_may_start_is_waited_for_though_it_leaves_again(looks):
    left = group("billing", not_committed=1)
    assert looks([group("billing")], [left], [group("billing", in_use=True)]) == 2 * use_case._PAUSE
    assert looks([group("billing")]) == 60
