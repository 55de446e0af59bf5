"""What is done at the same time is waited for, and what fails or takes too long is told."""

import gc
import threading

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.background import (
    at_once,
    in_time,
    without_collecting,
)


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


def test_what_takes_too_long_is_left_to_itself():
    over = threading.Event()
    with pytest.raises(TimeoutError):
        in_time(0.05, lambda: over.wait(30))
    over.set()


def test_what_ends_in_time_is_told_whether_it_fails_or_not():
    def fail():
        raise KeyError("its error")

    assert in_time(30, lambda: 3) == 3
    with pytest.raises(KeyError, match="its error"):
        in_time(30, fail)


def test_garbage_is_collected_again_when_the_work_has_ended_or_failed():
    with pytest.raises(OSError), without_collecting():
        assert not gc.isenabled()
        raise OSError
    assert gc.isenabled()
