# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""A report or an assessment as Markdown, for a ticket: everything but the table of all group-partitions. Pure."""

from __future__ import annotations

import itertools
import typing as t

from ..._model.verdicts import Verdict
from .safe_text import as_markdown, block_markdown, name_markdown
from .sections import Cell, Section, Story


def markdown(story: Story) -> str:
    """The text of report.md or assessment.md."""
    lines = itertools.chain(_head(story), *map(_section, story.sections))
    return "\n".join(lines) + "\n"


def _head(story: Story) -> t.Iterator[str]:
    """Its title, its result, why it has failed if it has, a table of facts, and the figures."""
    yield f"# {as_markdown(story.title)}"
    yield ""
    yield f"**{as_markdown(story.headline)}**"
    yield ""
    if story.failure:
        yield block_markdown(story.failure)
        yield ""
    figures = [(name, number) for number, name in story.figures]
    facts = story.facts if story.totals else (*story.facts, *figures)
    yield from _table(("", ""), [(as_markdown(name), name_markdown(value)) for name, value in facts])
    if story.totals:
        yield "## Totals"
        yield ""
        counts = [(verdict.value, f"{story.totals.verdicts[verdict]:,}") for verdict in Verdict]
        yield from _table(("", "count"), [*figures[:2], *counts, *figures[2:]])


def _section(section: Section) -> t.Iterator[str]:
    """The lines of the section in Markdown."""
    yield f"{'#' * section.level} {as_markdown(section.title)}"
    yield ""
    for sentence in section.sentences:
        yield as_markdown(sentence)
        yield ""
    if section.lines:
        yield from (f"* {as_markdown(line)}" for line in section.lines)
        yield ""
    if section.rows:
        yield from _table(section.header, (tuple(map(_cell, row)) for row in section.rows))
    if section.rest:
        yield as_markdown(section.rest)
        yield ""
    if section.command:
        yield block_markdown(section.command)
        yield ""


def _cell(cell: Cell) -> str:
    text = cell.text
    if cell.kind != "number":
        text = (name_markdown if cell.kind == "name" else as_markdown)(text)
    more = f" and {cell.more:,} more" if cell.more else ""
    return text + (f" from {', '.join(map(name_markdown, cell.origins))}{more}" if cell.origins else "")


def _table(header: t.Sequence[str], rows: t.Iterable[t.Sequence[str]]) -> t.Iterator[str]:
    """The lines of a table, of cells that are Markdown, and an empty line."""
    yield f"| {' | '.join(header)} |"
    yield f"| {' | '.join('---' for _each in header)} |"
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""
