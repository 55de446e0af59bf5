# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What was asked for and is not done: the one list of it, a line each, for the screen, the report and handlers."""

from __future__ import annotations

import itertools
import typing as t

from .option_names import with_option_names
from .plan import Plan, PlanEntry
from .records import TopicPartition
from .verdicts import NOT_IN_BACKUP, Verdict
from .visible_text import visible_name


def left_out(not_taken: t.Iterable[str], plan: Plan | None = None) -> list[str]:
    """What was selected and not taken, and what the plan leaves alone without blocking it, in the user's words.

    What a backup does not have was not asked for, and stays as the group has committed it.

    not_taken: lines with the names of options, such as those of a snapshot. A commit adds what it leaves out itself.
    """
    taken = [with_option_names(line) for line in not_taken]
    entries = plan.entries if plan else ()
    asked = [entry for entry in entries if not (entry.expected and entry.detail.startswith(NOT_IN_BACKUP))]
    return [*taken, *entry_lines(asked, Verdict.UNCOMMITTED)]


def entry_lines(plan_entries: t.Iterable[PlanEntry], verdict: Verdict) -> list[str]:
    """The entries of this verdict, a line for each group, topic and detail."""
    entries = sorted((entry for entry in plan_entries if entry.verdict is verdict), key=_alike)
    lines = []
    for (group, _topic, _detail), alike in itertools.groupby(entries, _alike):
        same = list(alike)
        lines.append(
            f"{visible_name(group)} {partitions_text([e.partition for e in same])}: {verdict}, {same[0].shown_detail}"
        )
    return lines


def partitions_text(partitions: t.Iterable[TopicPartition]) -> str:
    """Partitions in few words, such as "orders-0 to 11, audit-3": numbers that follow each other are a range."""
    told = []
    for topic, topic_partitions in itertools.groupby(sorted(partitions), lambda partition: partition.topic):
        numbers = [partition.partition for partition in topic_partitions]
        for _offset, run in itertools.groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
            first, *others = [number for _index, number in run]
            told.append(f"{topic}-{first}" + (f" to {others[-1]}" if others else ""))
    return ", ".join(told)


def _alike(entry: PlanEntry) -> tuple[str, str, str]:
    return entry.group, entry.partition.topic, entry.detail
