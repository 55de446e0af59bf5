# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What a report tells, as the sections and the figures that report.html and report.md print. Pure."""

from __future__ import annotations

import typing as t

from ..._model.progress import counted
from ..._model.run_record import UNTIMED, Step
from ..._model.verdicts import Verdict
from .figures import LOST
from .sections import Cell, Section
from .story import Story
from .totals import Totals, group_figures

MOST_GROUPS = 200  # a ticket takes no more than some tens of thousands of characters
_MANY = 100_000  # records; of fewer, the start of a step takes most of the time


def figures_of(total: Totals) -> list[tuple[str, str]]:
    """The totals but for the verdicts: numbers, each with what it counts."""
    return [
        (f"{total.groups:,}", "groups"),
        (f"{total.partitions:,}", "group-partitions"),
        (f"{total.committed:,}", "committed"),
        *([(f"{total.earlier:,}", "committed by earlier runs")] if total.earlier else []),
        (f"{total.verified:,}", total.verified_text),
        (str(total.repeats), "records repeated at most"),
        *([(f"{total.lag:,}", "lag at the source")] if total.lag is not None else []),
        (f"{total.skipped:,}", "records skipped"),
        *([(str(total.absent), "records absent at the destination")] if total.absent else []),
        *([(str(total.lost), LOST)] if total.lost else []),
        *([(f"{total.not_taken:,}", "selected, but not taken")] if total.not_taken else []),
    ]


def steps_section(steps: t.Iterable[Step]) -> list[Section]:
    """How long the steps took, nothing where nobody has measured."""
    timed = [step for step in steps if step.step not in UNTIMED]
    whole = sum(step.seconds for step in timed)
    rows = [
        (
            Cell(step.step),
            Cell(_duration(step.seconds), "number", share=step.seconds / whole if whole else 0),
            Cell("" if step.records is None else f"{step.records:,}", "number"),
            Cell(_throughput(step), "number"),
        )
        for step in timed
    ]
    header = ("step", "duration", "records", "records per second")
    return [Section("Steps", header=header, rows=tuple(rows), rest=f"Together: {_duration(whole)}.")] if rows else []


def outcome_sections(story: Story) -> t.Iterator[Section]:
    """The exceptions, and what the verification has found."""
    yield Section("Exceptions", lines=story.left_out, rest="" if story.exceptions else story.no_exceptions)
    yield from story.exceptions
    yield Section("Verification", sentences=() if story.problems else (story.no_problems,))
    yield from story.problems


def closing_sections(story: Story) -> t.Iterator[Section]:
    """The notes, what to do next, and the way back."""
    if story.notes:
        yield Section("Notes", lines=tuple(note.text for note in story.notes))
    yield Section("What to do next", sentences=story.next_steps, command=story.next_command)
    yield Section("The way back", sentences=(story.way_back,), command=story.way_back_command)


def group_section(story: Story) -> Section:
    """A line for each group."""
    figures = group_figures(story.rows)
    lags = story.logs.source is not None
    rows = [
        (
            Cell(each.group, "name"),
            Cell(f"{each.partitions:,}", "number"),
            *(
                Cell(f"{each.verdicts[verdict]:,}", "number")
                for verdict in (Verdict.EXACT, Verdict.SAFE, Verdict.BLOCKED)
            ),
            Cell(str(each.repeats), "number"),
            Cell(f"{each.committed:,}", "number"),
            *([Cell("-" if each.lag is None else f"{each.lag:,}", "number")] if lags else []),
        )
        for each in figures[:MOST_GROUPS]
    ]
    header = ("group", "partitions", "exact", "safe", "blocked", "repeats at most", "committed")
    more = len(figures) - MOST_GROUPS
    return Section(
        "Groups",
        header=(*header, "lag at the source") if lags else header,
        rows=tuple(rows),
        rest=f"... and {counted(more, 'more group')} in report.html." if more > 0 else "",
    )


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s"
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {whole % 60} s"


def _throughput(step: Step) -> str:
    """Records in a second, empty where that says nothing."""
    records = step.records or 0
    return "" if records < _MANY or step.seconds <= 0 else f"{records / step.seconds:,.0f}"
