# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What kafka_offset_translate returns."""

from __future__ import annotations

import typing as t

from .._migration._planning.strategy import Translation
from .._model.left_out import left_out
from .._model.plan import Plan
from .._model.policies import ReturnEntries
from . import results, summaries


def plan_result(made: Translation, previous: Plan | None, return_entries: ReturnEntries) -> dict[str, t.Any]:
    """The result, but for notes and files. previous: the plan before; entries that it has as they are have not changed."""
    plan, known = made.plan, previous.by_key if previous else {}
    lines = left_out(made.not_taken, plan)
    return {
        "kept": made.kept,
        "records_read": made.records_read,
        "index": made.index,
        "entries": [
            {**results.plan_row(entry), "predicted": entry.predicted}
            for entry in results.returned(plan.entries, return_entries, lambda entry: known.get(entry.key) != entry)
        ],
        "counts": results.plan_counts(plan),
        "not_exact": summaries.not_exact(plan),
        "left_out": lines,
        "summary": summaries.plan_summary(plan, made.logs, lines),
    }
