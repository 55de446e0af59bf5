# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""How long work tells people how far it has come: a line now and then."""

from __future__ import annotations

import contextlib
import time
import typing as t

from .background import every

Say = t.Callable[[str], None]


def silent(line: str) -> None:
    """Say nothing."""


# Where a module says that a cluster makes it wait. The clients that wait are used everywhere, so nobody hands it to them.
_of_waits: list[Say] = [silent]


def hear_waits(say: Say) -> None:
    """Let this be told what tell_wait() is told from now on, in this process."""
    _of_waits[0] = say


def tell_wait(line: str) -> None:
    """Say that a cluster makes the run wait, and for how long."""
    _of_waits[0](line)


def paced(say: Say, seconds: float = 1.0) -> Say:
    """The same without lines that come sooner than so many seconds after the one before: for steps that may be short."""
    last: float | None = None

    def say_at_leisure(line: str) -> None:
        nonlocal last
        now = time.monotonic()
        if last is None or now - last >= seconds:
            last = now
            say(line)

    return say_at_leisure


@contextlib.contextmanager
def repeating(say: Say, seconds: float = 7.5) -> t.Iterator[Say]:
    """The same, and where nothing is said for so many seconds, the last line once more with the time since it was said."""
    if say is silent:
        yield say
        return
    last: tuple[float, str] = (time.monotonic(), "")
    told = 0.0

    def say_and_remember(line: str) -> None:
        nonlocal last
        last = time.monotonic(), line
        say(line)

    def repeat() -> None:
        nonlocal told
        now = time.monotonic()
        since, line = last
        if line and now - max(since, told) >= seconds:
            told = now
            say(f"{line} (for {now - since:.0f} s now)")

    with every(seconds / 4, repeat):
        yield say_and_remember
