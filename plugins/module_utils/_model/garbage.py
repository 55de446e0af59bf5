# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Work during which Python does not collect garbage."""

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
