# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The rule by which nobody is in a group, and how two readings show a commit who writes.

The first of them may be from when the plan was verified: so idle_wait passes meanwhile, and a commit waits for what is left.
"""

from __future__ import annotations

import hashlib
import time
import typing as t

from .file_rows import Seconds
from .group_state import GroupReading, open_text
from .option_names import option_name, ways
from .records import TopicPartition
from .wording import first_of

Offsets = t.Mapping[TopicPartition, "int | None"]
LATEST = 60.0  # seconds: who has written before that may have stopped since


def idle_problem(before: GroupReading, after: GroupReading) -> str | None:
    """Why offsets of a group cannot be set, as a clause about it, or None when nobody is in it.

    The readings lie some seconds apart: a consumer with assign() is never a member, and shows as moving commits only.
    """
    for reading in (before, after):
        if reading.open:  # also of a group that is still to be made by its first commit
            return members_problem(reading)
        if reading.exists:
            problem = reading.without_offsets or members_problem(reading)
            if problem:
                return problem
    changed = sorted(dict(before.offsets.items() ^ after.offsets.items()))  # by other metadata, too
    if not changed:
        return None
    pairs = ((partition, before.offsets.get(partition), after.offsets.get(partition)) for partition in changed)
    return moves_problem([Move(partition, was and was.offset, now and now.offset) for partition, was, now in pairs])


def moves_problem(moved: t.Sequence[Move]) -> str:
    """Why a group of which these commits have moved is in use, as a clause about it."""
    return (
        f"has commits that move ({moves_text(moved)}): a consumer that uses assign(), or a tool that syncs groups, such as "
        "MirrorMaker 2, writes them"
    )


def idle_remedy(reading: GroupReading) -> str:
    """What the user does about an idle_problem(). reading: that which shows it, the second one where commits move."""
    if reading.open:
        forgotten = "abort it with kafka-transactions if its coordinator has forgotten it"
        return f"wait for its application or its transaction.timeout.ms, or {forgotten}"
    if reading.exists and not reading.keeps_offsets:
        return ways(
            ("group_map", f"give the group that is to be set another name by {option_name('group_map')}"),
            ("", "delete the one that is there"),
        )
    if reading.has_members:
        return "stop what uses it and wait for the session timeout"
    return "stop that consumer or tool"


def members_problem(reading: GroupReading) -> str | None:
    """Why a group cannot be taken for one that nobody uses, as a clause about it, or None."""
    if reading.open:
        return f"is in use: {open_text(reading.open)}"
    if not reading.has_members:
        return None
    return f"has members (its state is {reading.state or 'not known'})"


class Move(t.NamedTuple):
    """A partition whose committed offset differs: at the first reading, and at the second; None for no commit."""

    partition: TopicPartition
    before: int | None
    after: int | None

    def __str__(self) -> str:
        return f"{self.partition} from {_shown(self.before)} to {_shown(self.after)}"


def moves(before: Offsets, after: Offsets) -> list[Move]:
    """The partitions whose offsets differ between two readings of one group, sorted. A missing one has no commit."""
    return [
        Move(partition, before.get(partition), after.get(partition))
        for partition in sorted(before.keys() | after.keys())
        if before.get(partition) != after.get(partition)
    ]


def moves_text(moved: t.Sequence[Move]) -> str:
    """The first of some moves for a message, with both offsets, and how many there are besides."""
    return first_of([str(move) for move in moved])


def _shown(offset: int | None) -> str:
    return "none" if offset is None else str(offset)


class EarlierLook(t.NamedTuple):
    """How both clusters were seen when a plan was verified.

    at: when both clusters had answered. commits: what the plan's groups had committed at the destination, as digests.

    ends: where the logs ended at the source, by topic and partition number; None where the plan does not rest on one.
    """

    at: Seconds
    commits: dict[str, str]
    ends: dict[str, tuple[int | None, ...]]

    @classmethod
    def of(cls, readings: t.Mapping[str, GroupReading], ends: t.Mapping[TopicPartition, int]) -> t.Self:
        """What was read just now."""
        highest = dict(sorted(ends))  # the last partition of each topic
        listed = {
            topic: tuple(ends.get(TopicPartition(topic, number)) for number in range(last + 1))
            for topic, last in highest.items()
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
