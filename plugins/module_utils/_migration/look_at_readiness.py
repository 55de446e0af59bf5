# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Use case: how far is each group of a plan from being ready for its cut-over?"""

from __future__ import annotations

import typing as t

from .._control import groups, positions, topics
from .._model import readiness
from .._model.background import at_once
from .._model.connection import Connection
from .._model.plan import Plan
from .._model.readiness import Readiness
from .file_clusters import check_plan_clusters


def look_at_readiness(
    plan: Plan, source: Connection, destination: Connection, since: t.Mapping[str, str], now: str
) -> list[Readiness]:
    """Read groups and log ends, no records. since, now: see readiness.assess_readiness(). Raises Refused for other clusters."""
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
    ends = positions.log_ends(source, known)
    return readiness.assess_readiness(plan, at_source, at_destination, ends, since, now)
