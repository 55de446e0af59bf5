# SPDX-License-Identifier: GPL-3.0-or-later

"""Round trips that are counted: where requests and answers end, and which of them followed each other."""

import struct

from tests.benchmark.trips import CONNECT, Exchanges, Trip, in_a_row


def frame(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


def test_each_request_is_told_with_its_answer_however_the_bytes_are_cut() -> None:
    trips: list[Trip] = []
    its = Exchanges(trips, 0.0)
    requests = frame(struct.pack(">hhi", 3, 12, 1)) + frame(struct.pack(">hhi", 1, 16, 2))
    for number in range(len(requests)):
        its.asked(requests[number : number + 1], 1.0)
    answers = frame(struct.pack(">i", 1)) + frame(struct.pack(">i", 2) + b"." * 100_000)
    its.answered(answers[:9], 2.0)
    its.answered(answers[9:], 3.0)
    assert trips == [Trip(0.0, 1.0, CONNECT), Trip(1.0, 2.0, 3), Trip(1.0, 3.0, 1)]


def test_what_is_asked_at_the_same_time_counts_once() -> None:
    together = [Trip(0.0, 1.0, 3), Trip(0.5, 1.5, 1)]
    assert in_a_row([*together, Trip(1.0, 2.0, 1)]) == [together[0], Trip(1.0, 2.0, 1)]
