# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What is done again and again beside the main work, and what is done at the same time."""

from __future__ import annotations

import concurrent.futures
import contextlib
import threading
import typing as t


@contextlib.contextmanager
def every(seconds: float, act: t.Callable[[], None]) -> t.Iterator[None]:
    """Call this function every so many seconds, for the first time after that time, until the block ends.

    It runs in a thread of its own, and must not raise. A call that is under way when the block ends is waited for.
    """
    over = threading.Event()

    def repeat() -> None:
        while not over.wait(seconds):
            act()

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


_First = t.TypeVar("_First")
_Second = t.TypeVar("_Second")


def at_once(first: t.Callable[[], _First], second: t.Callable[[], _Second]) -> tuple[_First, _Second]:
    """Do both at the same time, such as reading two clusters, and wait for both. Raises the first one's error first."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        done = pool.submit(first), pool.submit(second)
    return done[0].result(), done[1].result()
