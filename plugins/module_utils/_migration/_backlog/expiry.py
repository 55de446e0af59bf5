# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Brokers forget commits that are not renewed: how soon, whether a copy outlasts that, and how its progress is kept.

offsets.retention.minutes counts from a partition's last commit, for groups without members:
https://kafka.apache.org/documentation/#brokerconfigs_offsets.retention.minutes
"""

from __future__ import annotations

import contextlib
import threading
import typing as t

from ansible_collections.streamshift.kafka.plugins.module_utils._control import commits, groups, positions
from ansible_collections.streamshift.kafka.plugins.module_utils._control.configs import broker_number
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog import obstacles
from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import Backlog
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.copy_progress import all_groups, read
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import MigrationError
from ansible_collections.streamshift.kafka.plugins.module_utils._model.progress import Say

# The part of the retention after which progress is committed again.
RENEWED = 0.25
_DAY = 86_400.0
_ASSUMED_RATE = 20e6  # bytes a second, where no limit is set: less than one task copies


def told(
    backlog: Backlog, source: Connection, destination: Connection, bytes_per_second: float | None, say: Say
) -> float:
    """How many seconds brokers keep progress that is not renewed. Says so where the copy may take longer."""
    minutes = broker_number(destination, "offsets.retention.minutes")
    seconds = _DAY if minutes is None else minutes * 60.0
    bounds = positions.partition_bounds(source, [each.source for each in backlog.ranges])
    sizes = [size or 0 for size in obstacles.sizes(backlog, source, bounds).values()]
    estimate = sum(sizes) / (bytes_per_second or _ASSUMED_RATE)
    if estimate > seconds or minutes is None:
        whence = (
            "assumed, for offsets.retention.minutes cannot be read" if minutes is None else "offsets.retention.minutes"
        )
        say(
            f"the brokers forget progress that is {seconds / 3600:g} h old ({whence}), and the copy may take {estimate / 3600:.1f} h: "
            "progress is renewed while it runs; when it is killed, run it again before"
        )
    return seconds


@contextlib.contextmanager
def renewed(backlog: Backlog, destination: Connection, retention: float) -> t.Iterator[None]:
    """Until the block ends, keep the progress of ranges that are copied, which no worker commits any more.

    Nobody else writes that: it can only be what it is. Workers renew what they have not finished.
    """
    over = threading.Event()

    def renew() -> None:
        while not over.wait(retention * RENEWED):
            with contextlib.suppress(MigrationError):  # tried again; who finds no progress in the end says so
                _renew(backlog, destination)

    thread = threading.Thread(target=renew, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _renew(backlog: Backlog, destination: Connection) -> None:
    readings = groups.read_groups(destination, all_groups(backlog), stable=False)
    ends = {each.destination: each for each in backlog.ranges}
    first = readings[all_groups(backlog)[0]].offsets
    ended = {
        where
        for where, commit in first.items()
        if where in ends and read(ends[where].start, [commit]).position >= ends[where].end
    }
    commits.commit_offsets(
        destination,
        {
            name: {where: commit for where, commit in reading.offsets.items() if where in ended}
            for name, reading in readings.items()
        },
    )
