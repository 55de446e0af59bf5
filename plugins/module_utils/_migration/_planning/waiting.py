# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""How a plan waits for a replication tool that lags."""

from __future__ import annotations

import time

from ..._model.progress import Say

PAUSE = 1.0  # seconds between two looks at a replication tool that lags
SAY_WAITING_EVERY = 5.0  # seconds


class ReplicationWait:
    """The time that a replication tool has to copy what is missing, in seconds from now on."""

    def __init__(self, seconds: float) -> None:
        self._deadline = time.monotonic() + seconds

    def goes_on(self, awaited: str, say: Say) -> bool:
        """Say what is awaited, and pause before the next look; False at once when the time is over."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            return False
        say(f"waiting for {awaited} ({left:.0f} s left)")
        time.sleep(PAUSE)
        return True
