# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Whether a run of a copy is under way: on this machine by its process, elsewhere by what it commits."""

from __future__ import annotations

import os
import socket
import time

from ..._control import groups
from ..._model.backlog import Backlog
from ..._model.connection import Connection
from ..._model.copy_progress import Run, all_groups, host_name, run_of
from ..._model.errors import Locked
from ..._model.group_state import Commits
from ..processes import started

_ROUNDING = 1.0  # seconds: both times are cut to what their clocks tell


def check_idle(backlog: Backlog, destination: Connection, wait: float) -> None:
    """Raise Locked, which names the run, where somebody copies this now.

    A run of this machine is under way while its process is found here, and is not this one, which may have claimed the copy to
    give it up. Of any other one nobody knows that here, nor of one in another container of this name: its progress is read
    twice, `wait` seconds apart, and must be the same.
    """
    first = _progress(backlog, destination)
    run = max(filter(None, map(run_of, first.values())), key=lambda each: each.started, default=None)
    if run is None or backlog.is_done:
        return
    if run.host != host_name(socket.gethostname()) or run.process == os.getpid() or not is_alive(run):
        time.sleep(wait)
        if _progress(backlog, destination) == first:
            return
    raise Locked(
        f"a run of this copy is under way: {run}",
        cluster=str(destination),
        group=all_groups(backlog)[0],
        remedy="stop that run, or let it end; then run again",
    )


def is_alive(run: Run) -> bool:
    """Does the process of a run of this machine still live? Another one may have got its number since."""
    began = started(run.process)
    return began is not None and began <= run.started + _ROUNDING


def _progress(backlog: Backlog, destination: Connection) -> Commits:
    name = all_groups(backlog)[0]
    return groups.read_groups(destination, [name], stable=False)[name].offsets
