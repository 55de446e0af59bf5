# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""An assessment as an HTML page in the look of the report, and as Markdown. Pure."""

from __future__ import annotations

import typing as t

from .assessment_story import AssessmentStory, Section
from .page import whole_page
from .safe_text import as_html, as_markdown, name_html, name_markdown
from .ticket import table_markdown


def assessment_page(story: AssessmentStory) -> str:
    """The text of assessment.html, which loads nothing and runs nothing."""
    facts = "".join(f"<dt>{as_html(name)}</dt><dd>{name_html(value)}</dd>\n" for name, value in story.facts)
    figures = "".join(f"<li><strong>{number}</strong> <span>{name}</span></li>" for number, name in story.figures)
    head = f"""<h1>{name_html(story.title)}</h1>
<div class="result {story.level}"><strong>{as_html(story.headline)}</strong></div>
<dl class="facts">
{facts}</dl>
<ul class="figures">{figures}</ul>
"""
    return whole_page(story.title, head + "".join(map(_section, story.sections)))


def _section(section: Section) -> str:
    title = as_html(section.title)
    anchor = f' id="{as_html(section.anchor)}"' if section.anchor else ""
    begin = f"<h{section.level}{anchor}>{title}</h{section.level}>\n"
    begin += "".join(f"<p>{as_html(sentence)}</p>\n" for sentence in section.sentences)
    if section.rows:
        header = "".join(f'<th scope="col">{as_html(name)}</th>' for name in section.header)
        rows = "".join(f"<tr>{_cells(section, row)}</tr>\n" for row in section.rows)
        begin += f"""<div class="scroll" tabindex="0" role="region" aria-label="{title}">
<table><thead><tr>{header}</tr></thead><tbody>
{rows}</tbody></table></div>
"""
    return begin + (f"<p>{as_html(section.rest)}</p>\n" if section.rest else "")


def _cells(section: Section, row: t.Sequence[str]) -> str:
    first, *between, last = row
    begin = f'<td class="name">{name_html(first)}</td>' if section.named else f"<td>{as_html(first)}</td>"
    if section.leads:
        begin = f'<td class="code"><a href="#{as_html(first)}">{as_html(first)}</a></td>'
    middle = "".join(f"<td>{as_html(cell)}</td>" for cell in between)
    return f'{begin}{middle}<td class="detail">{name_html(last)}</td>'


def assessment_markdown(story: AssessmentStory) -> str:
    """The text of assessment.md."""
    return "\n".join(_lines(story)) + "\n"


def _lines(story: AssessmentStory) -> t.Iterator[str]:
    yield f"# {as_markdown(story.title)}"
    yield ""
    yield f"**{as_markdown(story.headline)}**"
    yield ""
    facts = [(as_markdown(name), name_markdown(value)) for name, value in story.facts]
    yield from table_markdown(("", ""), [*facts, *((name, number) for number, name in story.figures)])
    for section in story.sections:
        yield f"{'#' * section.level} {as_markdown(section.title)}"
        yield ""
        for sentence in section.sentences:
            yield as_markdown(sentence)
            yield ""
        if section.rows:
            rows = (
                [
                    name_markdown(cell) if section.named and not number else as_markdown(cell)
                    for number, cell in enumerate(row)
                ]
                for row in section.rows
            )
            yield from table_markdown(section.header, rows)
        if section.rest:
            yield as_markdown(section.rest)
            yield ""
