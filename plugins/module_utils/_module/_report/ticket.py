# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The report as Markdown, for a ticket: everything but the table of all group-partitions. Pure."""

from __future__ import annotations

import itertools

from ..._model.verdicts import Verdict
from .sections import head_markdown, section_markdown, table_markdown
from .story import Story
from .story_sections import closing_sections, figures_of, group_section, outcome_sections, steps_section


def markdown(story: Story) -> str:
    """The text of report.md."""
    total = story.totals
    sections = (
        *steps_section(story.occasion.steps),
        *outcome_sections(story),
        group_section(story),
        *closing_sections(story),
    )
    counts = [(verdict.value, f"{total.verdicts[verdict]:,}") for verdict in Verdict]
    figures = [(name, number) for number, name in figures_of(total)]
    lines = itertools.chain(
        head_markdown(story.title, story.headline, story.facts, story.occasion.failure),
        ("## Totals", ""),
        table_markdown(("", "count"), [*figures[:2], *counts, *figures[2:]]),
        *map(section_markdown, sections),
    )
    return "\n".join(lines) + "\n"
