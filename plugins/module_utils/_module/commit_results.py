# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What a commit or a rollback of offsets returns."""

from __future__ import annotations

import typing as t

from .._migration._committing.conflicts import blocked_text
from .._migration._committing.outcome import CommitOutcome
from .._model.connection import Connection
from .._model.grouping import values_by_key
from .._model.policies import ReturnEntries
from . import results, summaries


def commit_result(
    outcome: CommitOutcome, cluster: Connection, return_entries: ReturnEntries, head: list[str], costs: str
) -> dict[str, t.Any]:
    """The result, but for notes and what is known of the plan alone.

    head: the first lines of the summary. costs: what the offsets cost the groups, empty if nothing.
    """
    chosen = results.returned(outcome.before.items(), return_entries, lambda row: row[0] in outcome.set)
    alike = values_by_key(((entry.group, entry.partition.topic, entry.reason), entry) for entry in outcome.blocked)
    left_out = [*map(blocked_text, alike.values()), *outcome.left_out]
    going_on = list(outcome.going_on.values())
    return {
        "changed": bool(outcome.set),
        "entries": [
            {
                "group": group,
                **partition._asdict(),
                "before": before and before.offset,
                "after": (after := outcome.after[group, partition]) and after.offset,
                "changed": (group, partition) in outcome.set,
            }
            for (group, partition), before in chosen
        ],
        "written": len(outcome.set),
        "blocked": [blocked_text([entry]) for entry in outcome.blocked],
        "left_out": outcome.left_out,
        "kept_groups": outcome.kept_groups,
        "active_groups": outcome.active_groups,
        "still_written": [topic.row() for topic in outcome.still_written],
        "summary": head + summaries.commit_summary(outcome.before, outcome.set, left_out, going_on, costs),
        "diff": results.commit_diff(outcome.before, outcome.after, cluster),
    }
