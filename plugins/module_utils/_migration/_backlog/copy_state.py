# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""How far a copy is, as its progress groups tell: for its end, and for people while it runs; and how these are kept.

Brokers forget commits that are not renewed: offsets.retention.minutes counts from a partition's last commit, for groups
without members: https://kafka.apache.org/documentation/#brokerconfigs_offsets.retention.minutes
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import time
import typing as t

from ..._control import commits, groups
from ..._control.configs import broker_number
from ..._model.background import every
from ..._model.backlog import Backlog, BacklogRange
from ..._model.connection import Connection
from ..._model.copy_progress import Progress, Run, all_groups, progress_from_commits, progress_of
from ..._model.errors import MigrationError
from ..._model.group_state import CommittedOffset
from ..._model.grouping import values_by_key
from ..._model.notes import Note, NoteKind
from ..._model.progress import Say, silent
from ..._model.records import TopicPartition

_LOOK_SECONDS = 2.0
_MOST_TOPICS = 5  # that a look shows, beside all of them together
# The part of the retention after which progress is committed again.
RENEWED = 0.25
_PAUSES = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0)  # seconds before each try
_DAY = 86_400.0
_ASSUMED_RATE = 20e6  # bytes a second, where no limit is set: less than one task copies


class Amount(t.NamedTuple):
    """What has been copied, and how many offsets of the source that is, out of how many."""

    records: int = 0
    bytes: int = 0
    passed: int = 0
    offsets: int = 0


def read_progress(backlog: Backlog, destination: Connection, stable: bool) -> dict[TopicPartition, Progress | None]:
    """How far each range is, by destination partition, None where that is not known; of those that have something to copy.

    stable: wait for transactions that are open, instead of telling what was before them.
    """
    names = all_groups(backlog)
    read = groups.read_settled_groups if stable else functools.partial(groups.read_groups, stable=False)
    readings = read(destination, names)
    return {
        each.destination: progress_of(each, [readings[name].offsets.get(each.destination) for name in names])
        for each in backlog.ranges
        if each.copies
    }


def existing_groups(backlog: Backlog, destination: Connection) -> tuple[str, ...]:
    """Those of the progress groups of a copy that are there."""
    readings = groups.read_groups(destination, all_groups(backlog), stable=False)
    return tuple(name for name, reading in readings.items() if reading.exists)


@contextlib.contextmanager
def telling_progress(backlog: Backlog, destination: Connection, say: Say) -> t.Iterator[None]:
    """Say every few seconds how far the copy is, until the block ends."""
    if say is silent:
        yield
        return
    pace = Pace()
    before: dict[TopicPartition, Progress | None] = {}

    def look() -> None:
        with contextlib.suppress(MigrationError):  # the copy itself tells what is wrong
            progress = read_progress(backlog, destination, False)
            for line in pace.lines(amounts(backlog, progress), time.monotonic()):
                say(line)
            moved = [current for partition, current in progress.items() if current and current != before.get(partition)]
            if seconds := max((current.throttled for current in moved), default=0):
                quota = "a quota (producer_byte_rate or request_percentage)"
                say(f"{destination}: {quota} makes the copy wait, up to {seconds} s at a time")
            before.update(progress)

    with every(_LOOK_SECONDS, look):
        yield


def seconds_kept(
    destination: Connection, size: int, bytes_per_second: float | None, say: Say
) -> tuple[float, list[Note]]:
    """How many seconds brokers keep progress that is not renewed, and a note where the copy may take longer.

    size: about how many bytes there are to copy. say: told that, too, at once, and also where nobody can know.
    """
    minutes = broker_number(destination, "offsets.retention.minutes")
    seconds = _DAY if minutes is None else minutes * 60.0
    estimate = size / (bytes_per_second or _ASSUMED_RATE)
    if estimate <= seconds and minutes is not None:
        return seconds, []
    origin = "offsets.retention.minutes"
    if minutes is None:
        origin = f"assumed, because this user may not read {origin}"
    line = (
        f"The brokers delete progress that is {seconds / 3600:g} h old ({origin}), and the copy may take "
        f"{estimate / 3600:.1f} h: it renews its progress while it runs. "
        "If it is killed, run it again before that time is over."
    )
    say(line)
    return seconds, [Note(NoteKind.PROGRESS_EXPIRES, line)] if estimate > seconds else []


@contextlib.contextmanager
def renewed(backlog: Backlog, destination: Connection, retention: float, run: Run) -> t.Iterator[None]:
    """Until the block ends, keep the progress of ranges that this run has copied, which no worker commits any more.

    Nobody else writes that: it can only be what it is. Workers renew what they have not finished.
    """

    def renew() -> None:
        with contextlib.suppress(MigrationError):  # tried again; who finds no progress in the end says so
            _renew(backlog, destination, run)

    with every(retention * RENEWED, renew):
        yield


def amounts(backlog: Backlog, progress: t.Mapping[TopicPartition, Progress | None]) -> dict[str, Amount]:
    """What is copied of each topic, by the destination's names."""
    of_topics = values_by_key(
        (each.destination.topic, _amount(each, progress[each.destination]))
        for each in backlog.ranges
        if each.destination in progress
    )
    return {topic: _together(of_topic) for topic, of_topic in of_topics.items()}


def _amount(backlog_range: BacklogRange, progress: Progress | None) -> Amount:
    now, start = progress or Progress(backlog_range.start), backlog_range.start
    return Amount(now.records, now.bytes, now.position - start, backlog_range.end - start)


def _together(amounts: t.Iterable[Amount]) -> Amount:
    return Amount(*map(sum, zip(*amounts, strict=True)))


@dataclasses.dataclass(slots=True)
class Pace:
    """What the last and the first look have found: what an earlier run has copied says nothing about this one's speed."""

    begun: float | None = None
    first: dict[str, Amount] = dataclasses.field(default_factory=dict)
    last: dict[str, Amount] = dataclasses.field(default_factory=dict)

    def lines(self, totals: dict[str, Amount], now: float) -> list[str]:
        """A line for each topic that has moved since the last look, and one for all together where there are several."""
        if self.begun is None:
            self.begun, self.first, self.last = now, totals, {}
        moved = [topic for topic, amount in sorted(totals.items()) if amount.passed and amount != self.last.get(topic)]
        self.last = totals
        seconds = now - self.begun
        said = [_line(topic, totals[topic], self.first[topic], seconds) for topic in moved[:_MOST_TOPICS]]
        if moved and len(totals) > 1:
            first = _together(self.first.values())
            said.append(_line(f"all {len(totals):,} topics", _together(totals.values()), first, seconds))
        return said


def _line(name: str, amount: Amount, first: Amount, seconds: float) -> str:
    percent = 100 * amount.passed // max(1, amount.offsets)
    line = f"{name}: {amount.records:,} records copied, {percent} %"
    passed = amount.passed - first.passed
    if seconds <= 0 or passed <= 0:
        return line
    left = (amount.offsets - amount.passed) * seconds / passed
    return f"{line}, {(amount.bytes - first.bytes) / seconds / 1e6:.1f} MB/s, {_duration(left)} left"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _renew(backlog: Backlog, destination: Connection, run: Run) -> None:
    """Nothing fences this commit, so that what is committed is read again before every try: another run may have claimed it."""
    names = all_groups(backlog)
    ranges = {each.destination: each for each in backlog.ranges}
    for pause in _PAUSES:
        time.sleep(pause)
        readings = groups.read_groups(destination, names, stable=False)
        ended = {
            partition
            for partition, commit in readings[names[0]].offsets.items()
            if partition in ranges and _is_copied(ranges[partition], commit, run)
        }
        wanted = {
            name: {partition: commit for partition, commit in reading.offsets.items() if partition in ended}
            for name, reading in readings.items()
        }
        if not any(commits.commit_offsets(destination, wanted, deadline=0).values()):
            return


def _is_copied(backlog_range: BacklogRange, commit: CommittedOffset, run: Run) -> bool:
    """Does the first progress group say that this run has the range, and that all of it is copied?"""
    try:
        progress = progress_from_commits(backlog_range.start, [commit])
    except ValueError:  # none of a copy; a worker or the end of the copy says so
        return False
    return progress.run is not None and progress.run.id == run.id and progress.position >= backlog_range.end
