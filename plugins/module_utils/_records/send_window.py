# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""How much may wait for the brokers' answers: what they take in a few seconds, as a quota or a slow network lets them. Pure.

A transaction has to end within a minute, and what is queued says nothing of how long that takes. So the window begins small,
doubles as long as a whole window is answered at once, and shrinks to what was answered in the time that it should take.
"""

from __future__ import annotations

import dataclasses

LEAST = 128 << 10  # bytes; at the slowest speed that a minute is enough for, 2 kB a second
MOST = 128 << 20
_AT_ONCE = 0.5  # seconds
_AIM = 2.0
_SLOW = 4.0


@dataclasses.dataclass(slots=True)
class SendWindow:
    """Of one producer, in bytes of keys, values and headers. sent and answered: since the beginning.

    Times are of a monotonic clock.
    """

    size: int = LEAST
    sent: int = 0
    answered: int = 0
    _begin: int = 0  # the measured part of what was sent
    _end: int = 0
    _since: float = 0.0

    @property
    def room(self) -> int:
        """How much more may be sent now; nothing or less where answers must come first."""
        return self.size - (self.sent - self.answered)

    def send(self, size: int, now: float) -> None:
        """Note that so much was sent."""
        if self.answered >= self._end:
            self._begin, self._since = self.sent, now
            self._end = self._begin + self.size
        self.sent += size

    def answer(self, size: int, now: float) -> None:
        """Note that so much was answered."""
        self.answered += size
        if self.answered < min(self._end, self.sent):
            return
        took, measured = now - self._since, self.answered - self._begin
        if took > _SLOW:
            self.size = max(LEAST, min(self.size, int(measured * _AIM / took)))
        elif took < _AT_ONCE and measured >= self.size // 2:
            self.size = min(2 * self.size, MOST)
        self._end = self.answered  # the next part begins with what is sent next
