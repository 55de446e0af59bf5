# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What is done beside the main work, at the same time, and only for so long; and when Python does not look for garbage."""

from __future__ import annotations

import concurrent.futures
import contextlib
import gc
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


def in_time(seconds: float, act: t.Callable[[], _First]) -> _First:
    """The result of act(), or what it raises. After so many seconds, TimeoutError is raised, and act() is left to itself.

    For calls that have no timeout of their own, or do not keep to it.
    """
    done: concurrent.futures.Future[_First] = concurrent.futures.Future()

    def run() -> None:
        try:
            done.set_result(act())
        except Exception as exc:  # noqa: BLE001 - it is raised again, in the thread that waits
            done.set_exception(exc)

    threading.Thread(target=run, daemon=True).start()
    return done.result(seconds)


@contextlib.contextmanager
def without_collecting() -> t.Iterator[None]:
    """For work that makes many objects without cycles, which would spend up to half of its time on looking for some."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


@contextlib.contextmanager
def loading() -> t.Iterator[None]:
    """For the import of a large library, which stays until the process ends: its objects are never looked at again.

    A module imports for half a second, and without this a tenth of it goes into garbage that there is not.
    """
    with without_collecting():
        yield
        gc.freeze()
