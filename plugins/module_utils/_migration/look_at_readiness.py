# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Use case: how far is each group of a plan from being ready for its cut-over?"""

from __future__ import annotations

import time
import typing as t

from .._control import groups, positions, topics
from .._model import readiness
from .._model.background import at_once
from .._model.connection import Connection
from .._model.plan import Plan
from .._model.readiness import Readiness
from .._model.receipt import Receipt
from .file_clusters import check_plan_clusters

_PAUSE = 2.0  # seconds between two looks


def look_at_readiness(
    plan: Plan,
    receipt: Receipt | None,
    source: Connection,
    destination: Connection,
    since: t.Mapping[str, str],
    now: str,
) -> list[Readiness]:
    """Read groups and log ends, no records. since, now, receipt: see assess_readiness(). Raises Refused for other clusters."""
    check_plan_clusters(plan, source, destination)
    names = sorted({at.group for entry in plan.entries for at in entry.source})
    wanted = {at.partition for entry in plan.entries for at in entry.source}
    (at_source, at_destination), counts = at_once(
        lambda: at_once(
            lambda: groups.read_groups(source, names),
            lambda: groups.read_groups(destination, sorted({entry.group for entry in plan.entries})),
        ),
        lambda: topics.partition_counts(source, {partition.topic for partition in wanted}),
    )
    known = [partition for partition in wanted if partition.partition < counts.get(partition.topic, 0)]
    logs = positions.log_ranges(source, known)
    return readiness.assess_readiness(plan, at_source, at_destination, logs, since, now, receipt)


def look_until_started(
    look: t.Callable[[], list[Readiness]], seconds: float, groups: t.Collection[str] | None
) -> list[Readiness]:
    """What is seen when all groups that may start are in use at the destination, or so many seconds are over.

    look: looks once, as look_at_readiness() does. groups: those that may start; None for all but those that the first look
    shows blocked, at another offset than the plan's, or in use at the source.
    """
    deadline = time.monotonic() + seconds
    looked = look()
    ready = {group.group for group in looked if group.ready and not group.in_use_at_source}
    may_start = ready if groups is None else groups
    while (left := deadline - time.monotonic()) > 0:
        if all(group.in_use_at_destination for group in looked if group.group in may_start):
            break
        time.sleep(min(_PAUSE, left))
        looked = look()
    return looked
