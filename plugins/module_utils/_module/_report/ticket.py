# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The report as Markdown, for a ticket: everything but the table of all group-partitions. Pure."""

from __future__ import annotations

import typing as t

from ..._model.progress import counted
from ..._model.verdicts import Verdict
from .figures import LOST, GroupPartition, offset_text
from .safe_text import as_markdown, block_markdown, name_markdown
from .steps import steps_markdown
from .story import Story
from .totals import group_figures

MOST_GROUPS = 200  # a ticket takes no more than some tens of thousands of characters


def markdown(story: Story) -> str:
    """The text of report.md."""
    parts = (
        _head(story),
        _totals(story),
        steps_markdown(story.occasion.steps),
        _exceptions(story),
        _findings(story),
        _groups(story),
        _notes(story),
        _steps(story),
    )
    return "\n".join(line for part in parts for line in part) + "\n"


def _head(story: Story) -> t.Iterator[str]:
    yield f"# {as_markdown(story.title)}"
    yield ""
    yield f"**{as_markdown(story.headline)}**"
    yield ""
    if story.occasion.failure:
        yield block_markdown(story.occasion.failure)
        yield ""
    yield from table_markdown(("", ""), [(as_markdown(name), name_markdown(value)) for name, value in story.facts])


def _totals(story: Story) -> t.Iterator[str]:
    total = story.totals
    yield "## Totals"
    yield ""
    counts = [(verdict.value, f"{total.verdicts[verdict]:,}") for verdict in Verdict]
    yield from table_markdown(
        ("", "count"),
        [
            ("groups", f"{total.groups:,}"),
            ("group-partitions", f"{total.partitions:,}"),
            *counts,
            ("committed", f"{total.committed:,}"),
            *([("committed by earlier runs", f"{total.earlier:,}")] if total.earlier else []),
            (total.verified_text, f"{total.verified:,}"),
            ("records repeated at most", str(total.repeats)),
            ("records skipped", f"{total.skipped:,}"),
            *([("records absent at the destination", str(total.absent))] if total.absent else []),
            *([(LOST, str(total.lost))] if total.lost else []),
            *([("selected, but not taken", f"{total.not_taken:,}")] if total.not_taken else []),
            *([("lag at the source", f"{total.lag:,}")] if total.lag is not None else []),
        ],
    )


def _exceptions(story: Story) -> t.Iterator[str]:
    yield "## Exceptions"
    yield ""
    for line in story.left_out:
        yield f"- {as_markdown(line)}"
    if story.left_out:
        yield ""
    if not story.exceptions:
        yield as_markdown(story.no_exceptions)
        yield ""
    for kind in story.exceptions:
        yield f"### {as_markdown(kind.title)}: {counted(kind.count, 'group-partition')}"
        yield ""
        yield f"Remedy: {as_markdown(kind.remedy)}"
        yield ""
        header = ("group and partition", "source offset", "destination offset", "repeats at most", "detail")
        yield from table_markdown(header, [_example(row) for row in kind.examples])
        if kind.count > len(kind.examples):
            yield f"... and {kind.count - len(kind.examples):,} more in plan.json."
            yield ""


def _example(row: GroupPartition) -> tuple[str, ...]:
    names = [name_markdown(name) for name in row.origin_names]
    more = f" and {row.more_origins:,} more" if row.more_origins else ""
    origin = f" from {', '.join(names)}{more}" if names else ""
    name = name_markdown(f"{row.group} {row.partition}") + origin
    return name, row.source_offsets, offset_text(row.offset), row.repeats_text, as_markdown(row.detail)


def _findings(story: Story) -> t.Iterator[str]:
    yield "## Verification"
    yield ""
    if not story.problems:
        yield as_markdown(story.no_problems)
        yield ""
    for kind in story.problems:
        yield f"### {as_markdown(kind.kind)}: {counted(kind.count, 'problem')}"
        yield ""
        yield f"Remedy: {as_markdown(kind.remedy)}"
        yield ""
        yield from (f"* {as_markdown(problem.line)}" for problem in kind.examples)
        if kind.count > len(kind.examples):
            yield f"* ... and {kind.count - len(kind.examples):,} more in report.json"
        yield ""


def _groups(story: Story) -> t.Iterator[str]:
    yield "## Groups"
    yield ""
    figures = group_figures(story.rows)
    lags = story.logs.source is not None
    rows = [
        (
            name_markdown(each.group),
            f"{each.partitions:,}",
            *(f"{each.verdicts[verdict]:,}" for verdict in (Verdict.EXACT, Verdict.SAFE, Verdict.BLOCKED)),
            str(each.repeats),
            f"{each.committed:,}",
            *(["-" if each.lag is None else f"{each.lag:,}"] if lags else []),
        )
        for each in figures[:MOST_GROUPS]
    ]
    header = ("group", "partitions", "exact", "safe", "blocked", "repeats at most", "committed")
    yield from table_markdown((*header, "lag at the source") if lags else header, rows)
    if figures[MOST_GROUPS:]:
        yield f"... and {counted(len(figures) - MOST_GROUPS, 'more group')} in report.html."
        yield ""


def _notes(story: Story) -> t.Iterator[str]:
    if story.notes:
        yield "## Notes"
        yield ""
        yield from (f"* {as_markdown(note.text)}" for note in story.notes)
        yield ""


def _steps(story: Story) -> t.Iterator[str]:
    for title, steps, command in (
        ("What to do next", story.next_steps, story.next_command),
        ("The way back", (story.way_back,), story.way_back_command),
    ):
        yield f"## {title}"
        yield ""
        for step in steps:
            yield as_markdown(step)
            yield ""
        if command:
            yield block_markdown(command)
            yield ""


def table_markdown(header: t.Sequence[str], rows: t.Iterable[t.Sequence[str]]) -> t.Iterator[str]:
    """The lines of a table, of cells that are Markdown, and an empty line."""
    yield f"| {' | '.join(header)} |"
    yield f"| {' | '.join('---' for _each in header)} |"
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""
