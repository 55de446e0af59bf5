# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""How both clusters were seen when a plan was verified: the first of the two readings that show a commit who writes.

So idle_wait passes while the plan is verified, and a commit waits for what is left of it.
"""

from __future__ import annotations

import hashlib
import time
import typing as t

from .file_rows import Seconds
from .group_state import GroupReading
from .records import TopicPartition

LATEST = 60.0  # seconds: who has written before that may have stopped since


class EarlierLook(t.NamedTuple):
    """at: when both clusters had answered. commits: what the plan's groups had committed at the destination, as digests.

    ends: where the logs ended at the source, by topic and partition number; None where the plan does not rest on one.
    """

    at: Seconds
    commits: dict[str, str]
    ends: dict[str, tuple[int | None, ...]]

    @classmethod
    def of(cls, readings: t.Mapping[str, GroupReading], ends: t.Mapping[TopicPartition, int]) -> t.Self:
        """What was read just now."""
        most: dict[str, int] = {}
        for topic, number in ends:
            most[topic] = max(number, most.get(topic, 0))
        listed = {
            topic: tuple(ends.get(TopicPartition(topic, number)) for number in range(last + 1))
            for topic, last in most.items()
        }
        return cls(time.time(), {name: _digest(reading) for name, reading in readings.items()}, listed)

    @property
    def is_recent(self) -> bool:
        """Does it tell of the same run, so that what has grown since is still written?"""
        return 0 <= time.time() - self.at <= LATEST

    def seconds_left(self, idle_wait: float) -> float:
        """How long a second reading must still wait; all of idle_wait if this is not recent."""
        return max(0.0, idle_wait - (time.time() - self.at)) if self.is_recent else idle_wait

    def shows(self, readings: t.Iterable[GroupReading]) -> bool:
        """Had these groups committed the same?"""
        return all(self.commits.get(reading.group) == _digest(reading) for reading in readings)

    def end_of(self, partition: TopicPartition) -> int | None:
        """Where the log of a partition ended at the source; None where that was not looked at."""
        ends = self.ends.get(partition.topic, ())
        return ends[partition.partition] if partition.partition < len(ends) else None


NOT_LOOKED = EarlierLook(0.0, {}, {})


def _digest(reading: GroupReading) -> str:
    return hashlib.sha256(repr(sorted(reading.offsets.items())).encode()).hexdigest()[:16]
