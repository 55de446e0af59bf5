# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Use case: all that a copy has written is at the destination once and in order, counted from where the copy began."""

from __future__ import annotations

from ..._control import positions
from ..._model.backlog import Backlog
from ..._model.connection import Connection
from ..._model.errors import Refused
from ..._model.failure_kinds import FailureKind
from ..._model.progress import Say, counted
from ..._model.spark import SparkOptions
from ..._spark.rebuild_job import Compared, compare
from ..._spark.session import open_session
from . import identity


def copy_differences(
    backlog: Backlog, source: Connection, destination: Connection, spark: SparkOptions, say: Say
) -> list[str]:
    """What is missing, there more than once, or out of order; a sentence each.

    Raises Refused where not everything is copied, or a topic is another one than the copy has written to.
    """
    if not backlog.is_done:
        raise Refused(
            "not everything is copied", remedy="let the copy end, and verify it then", kind=FailureKind.COPY_OUTDATED
        )
    identity.check_topics(backlog, source, destination)
    ranges = [each for each in backlog.ranges if each.copies]
    source_bounds = positions.partition_bounds(source, [each.source for each in ranges])
    destination_bounds = positions.partition_bounds(destination, [each.destination for each in ranges])
    wanted = [
        Compared(each, source_bounds[each.source].log_start, destination_bounds[each.destination].end)
        for each in ranges
    ]
    if not wanted:
        return []
    say(f"comparing {counted(len(wanted), 'partition')} with the source from where the copy began")
    with open_session(spark) as session:
        return compare(session, source, destination, wanted)
