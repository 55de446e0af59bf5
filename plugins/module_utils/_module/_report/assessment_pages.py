# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""An assessment as an HTML page in the look of the report, and as Markdown. Pure."""

from __future__ import annotations

import itertools

from .assessment_story import AssessmentStory
from .page import whole_page
from .sections import figures_html, head_html, head_markdown, section_html, section_markdown


def assessment_page(story: AssessmentStory) -> str:
    """The text of assessment.html, which loads nothing and runs nothing."""
    head = head_html(story.title, story.level, story.headline, story.facts) + figures_html(story.figures)
    return whole_page(story.title, head + "".join(map(section_html, story.sections)))


def assessment_markdown(story: AssessmentStory) -> str:
    """The text of assessment.md."""
    facts = [*story.facts, *((name, number) for number, name in story.figures)]
    lines = itertools.chain(
        head_markdown(story.title, story.headline, facts), *(section_markdown(section) for section in story.sections)
    )
    return "\n".join(lines) + "\n"
