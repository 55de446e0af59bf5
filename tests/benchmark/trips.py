# SPDX-License-Identifier: GPL-3.0-or-later

"""Round trips that a cable has seen: requests of Kafka's protocol with their answers, and how many followed each other."""

from __future__ import annotations

import collections
import typing as t

CONNECT = -1  # in place of a request's number in the protocol: the handshake of TCP
_LENGTH, _HEAD = (
    4,
    6,
)  # bytes, with which a request begins: its length, and the number of its kind; an answer has no kind


class Trip(t.NamedTuple):
    """From the first byte of a request until the last one of its answer, in seconds of a clock that all processes share.

    key: which request it is, as Kafka's protocol numbers them.
    """

    begin: float
    end: float
    key: int


class Exchanges:
    """What one connection asks and is answered. A broker answers in the order of the requests."""

    def __init__(self, trips: list[Trip], begin: float) -> None:
        self._trips = trips
        self._requests, self._answers = _Frames(), _Frames()
        self._waiting: collections.deque[tuple[float, int]] = collections.deque([(begin, CONNECT)])

    def asked(self, data: bytes, now: float) -> None:
        if self._waiting and self._waiting[0][1] == CONNECT:
            self._came(now)
        self._waiting += ((now, key) for key in self._requests.take(data)[0])

    def answered(self, data: bytes, now: float) -> None:
        for _answer in range(self._answers.take(data)[1]):
            self._came(now)

    def _came(self, now: float) -> None:
        begin, key = self._waiting.popleft()
        self._trips.append(Trip(begin, now, key))


class _Frames:
    """Finds where requests, or answers, begin and end in a stream of bytes."""

    def __init__(self) -> None:
        self._head, self._left = b"", 0

    def take(self, data: bytes) -> tuple[list[int], int]:
        """The next bytes of the stream; -> the kinds of those that begin in them, and how many end."""
        keys, ends = [], 0
        while data:
            missing = _HEAD - len(self._head)
            self._head, data = self._head + data[:missing], data[missing:]
            if missing > 0 and len(self._head) == _HEAD:
                self._left = int.from_bytes(self._head[:_LENGTH], "big") + _LENGTH - _HEAD
                keys.append(int.from_bytes(self._head[_LENGTH:], "big"))
            self._left, data = max(0, self._left - len(data)), data[self._left :]
            if not self._left and len(self._head) == _HEAD:
                self._head, ends = b"", ends + 1
        return keys, ends


def in_a_row(trips: t.Iterable[Trip]) -> list[Trip]:
    """As many of them as possible that followed each other: each began when the one before it had ended."""
    row: list[Trip] = []
    for trip in sorted(trips, key=lambda trip: trip.end):
        if not row or trip.begin >= row[-1].end:
            row.append(trip)
    return row
