"""Waiting for what comes about a moment later."""

import contextlib
import time
import typing as t

from testbed.clients import NoSuchTopic

T = t.TypeVar("T")


def until(holds: t.Callable[[], T], seconds: float = 60.0, what: str = "it did not come about in time") -> T:
    """The first answer that counts as true. AssertionError with `what` after so many seconds."""
    end = time.monotonic() + seconds
    while True:
        with contextlib.suppress(NoSuchTopic):  # of one that is about to be created
            if answer := holds():
                return answer
        assert time.monotonic() < end, what
        time.sleep(0.1)
