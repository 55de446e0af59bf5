# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The option progress_file: a module's progress goes there line by line, and its action plugin shows it.

Documentation: plugins/doc_fragments/_progress.py. The reading end: plugins/plugin_utils/_progress.py.
"""

from __future__ import annotations

import contextlib
import os
import typing as t

from .._model.progress import Say, silent
from .._model.visible_text import visible


def _without_waiting(path: str, flags: int) -> int:
    """A pipe that nobody reads would be waited for."""
    return os.open(path, flags | os.O_NONBLOCK, 0o666)


def progress_spec() -> dict[str, t.Any]:
    """The spec of progress_file."""
    return {"progress_file": {"type": "path"}}


def reporter(path: str | None) -> Say:
    """Append each line to this file at once; without one, or where it cannot be written, say nothing."""
    if path is None:
        return silent

    def say(line: str) -> None:
        with contextlib.suppress(OSError), open(path, "a", encoding="utf-8", opener=_without_waiting) as file:
            file.write(visible(line.replace("\n", " ")) + "\n")

    return say
