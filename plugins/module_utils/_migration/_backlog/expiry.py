# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Brokers forget commits that are not renewed: how soon, whether a copy outlasts that, and how its progress is kept.

offsets.retention.minutes counts from a partition's last commit, for groups without members:
https://kafka.apache.org/documentation/#brokerconfigs_offsets.retention.minutes
"""

from __future__ import annotations

import contextlib
import time
import typing as t

from ..._control import commits, groups
from ..._control.configs import broker_number
from ..._model.background import every
from ..._model.backlog import Backlog, BacklogRange
from ..._model.connection import Connection
from ..._model.copy_progress import Run, all_groups, progress_from_commits
from ..._model.errors import MigrationError
from ..._model.group_state import CommittedOffset
from ..._model.notes import Note, NoteKind
from ..._model.progress import Say

# The part of the retention after which progress is committed again.
RENEWED = 0.25
_PAUSES = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0)  # seconds before each try
_DAY = 86_400.0
_ASSUMED_RATE = 20e6  # bytes a second, where no limit is set: less than one task copies


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


def _renew(backlog: Backlog, destination: Connection, run: Run) -> None:
    """Nothing fences this commit, so that what is committed is read again before every try: another run may have claimed it."""
    names = all_groups(backlog)
    ranges = {each.destination: each for each in backlog.ranges}
    for pause in _PAUSES:
        time.sleep(pause)
        readings = groups.read_groups(destination, names, stable=False)
        ended = {
            where
            for where, commit in readings[names[0]].offsets.items()
            if where in ranges and _is_copied(ranges[where], commit, run)
        }
        wanted = {
            name: {where: commit for where, commit in reading.offsets.items() if where in ended}
            for name, reading in readings.items()
        }
        if not any(commits.commit_offsets(destination, wanted, deadline=0).values()):
            return


def _is_copied(each: BacklogRange, commit: CommittedOffset, run: Run) -> bool:
    """Does the first progress group say that this run has the range, and that all of it is copied?"""
    try:
        progress = progress_from_commits(each.start, [commit])
    except ValueError:  # none of a copy; a worker or the end of the copy says so
        return False
    return progress.run is not None and progress.run.id == run.id and progress.position >= each.end
