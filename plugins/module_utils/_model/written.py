# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What this process has written: a failure after the first write must not say that nothing has changed."""

from __future__ import annotations

# Paths of files, and names of requests that change something on a cluster. They may have failed: who sent them cannot know.
WRITTEN: list[str] = []
NOTHING_WRITTEN = "Nothing was written to a cluster."  # said of a run that has ended before its first write
