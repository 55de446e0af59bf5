"""What is done at the same time is waited for, and what fails is told."""

import threading

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.background import at_once


def test_both_go_on_at_the_same_time():
    first, second = threading.Event(), threading.Event()

    def meet(mine, other):
        mine.set()
        assert other.wait(30)

    at_once(lambda: meet(first, second), lambda: meet(second, first))


def test_the_first_that_fails_is_told_when_all_have_ended():
    ended = []

    def fail(name):
        ended.append(name)
        raise ValueError(name)

    with pytest.raises(ValueError, match="first"):
        at_once(lambda: fail("first"), lambda: fail("second"))
    assert sorted(ended) == ["first", "second"]
