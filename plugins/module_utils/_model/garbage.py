# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What Python does not look for garbage in, and when it does not look."""

from __future__ import annotations

import contextlib
import gc
import typing as t


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
