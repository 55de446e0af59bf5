# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What a page for people is made of, and its two printers: HTML and Markdown. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._model.verdicts import Verdict
from .safe_text import as_html, as_markdown, block_markdown, name_html, name_markdown


class Cell(t.NamedTuple):
    """A cell of a table. kind: name, number, detail (a long text), section (its text is the anchor of one), or empty.

    origins: names of where it comes from. more: how many of them besides. share: of the whole, from 0 to 1, which the page
    draws; None for nothing to draw.
    """

    text: str
    kind: t.Literal["name", "number", "detail", "section", ""] = ""
    origins: tuple[str, ...] = ()
    more: int = 0
    share: float | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Section:
    """A heading, and below it sentences, lines of a list, a table, what is left out of it, and a command.

    level: of the heading, 2 or 3. verdict: that the section is about. anchor: its name, for links.
    """

    title: str
    level: int = 2
    sentences: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    header: tuple[str, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    rest: str = ""
    command: str = ""
    verdict: Verdict | None = None
    anchor: str = ""


def section_html(section: Section) -> str:
    """The section as HTML."""
    title = as_html(section.title)
    heading = f'<span class="verdict is-{section.verdict.value}">{title}</span>' if section.verdict else title
    anchor = f' id="{as_html(section.anchor)}"' if section.anchor else ""
    made = f"<h{section.level}{anchor}>{heading}</h{section.level}>\n"
    made += "".join(f"<p>{name_html(sentence)}</p>\n" for sentence in section.sentences)
    if section.lines:
        made += "<ul>\n" + "".join(f"<li>{name_html(line)}</li>\n" for line in section.lines) + "</ul>\n"
    if section.rows:
        classes = [' class="number"' if cell.kind == "number" else "" for cell in section.rows[0]]
        header = "".join(
            f'<th scope="col"{class_attribute}>{as_html(name)}</th>'
            for name, class_attribute in zip(section.header, classes, strict=True)
        )
        rows = "".join(f"<tr>{''.join(map(_cell_html, row))}</tr>\n" for row in section.rows)
        made += f"""<div class="scroll" tabindex="0" role="region" aria-label="{title}">
<table><thead><tr>{header}</tr></thead><tbody>
{rows}</tbody></table></div>
"""
    made += f"<p>{as_html(section.rest)}</p>\n" if section.rest else ""
    if section.command:
        block = "\n".join(as_html(line) for line in section.command.split("\n"))
        made += f'<pre tabindex="0"><code>{block}</code></pre>\n'
    return made


def _cell_html(cell: Cell) -> str:
    if cell.kind == "section":
        return f'<td class="code"><a href="#{as_html(cell.text)}">{as_html(cell.text)}</a></td>'
    text = as_html(cell.text) if cell.kind == "number" else name_html(cell.text)
    text += "".join(f'<span class="from">from {name_html(name)}</span>' for name in cell.origins)
    text += f'<span class="from">and {cell.more:,} more</span>' if cell.more else ""
    if cell.share is not None:
        text += (
            '<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
            '<rect class="none" width="100" height="10"/>'
            f'<rect class="taken" width="{100 * cell.share:.2f}" height="10"/></svg>'
        )
    return f'<td class="{cell.kind}">{text}</td>' if cell.kind else f"<td>{text}</td>"


def section_markdown(section: Section) -> t.Iterator[str]:
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
        yield from table_markdown(section.header, (tuple(map(_cell_markdown, row)) for row in section.rows))
    if section.rest:
        yield as_markdown(section.rest)
        yield ""
    if section.command:
        yield block_markdown(section.command)
        yield ""


def _cell_markdown(cell: Cell) -> str:
    text = cell.text
    if cell.kind != "number":
        text = (name_markdown if cell.kind == "name" else as_markdown)(text)
    more = f" and {cell.more:,} more" if cell.more else ""
    return text + (f" from {', '.join(map(name_markdown, cell.origins))}{more}" if cell.origins else "")


def head_markdown(title: str, headline: str, facts: t.Iterable[tuple[str, str]], failure: str = "") -> t.Iterator[str]:
    """The lines of a page's head: its title, its result, why it has failed if it has, and a table of facts."""
    yield f"# {as_markdown(title)}"
    yield ""
    yield f"**{as_markdown(headline)}**"
    yield ""
    if failure:
        yield block_markdown(failure)
        yield ""
    yield from table_markdown(("", ""), [(as_markdown(name), name_markdown(value)) for name, value in facts])


def head_html(title: str, level: str, headline: str, facts: t.Iterable[tuple[str, str]], failure: str = "") -> str:
    """The same as HTML. level: good, warning or bad."""
    rows = "".join(f"<dt>{as_html(name)}</dt><dd>{name_html(value)}</dd>\n" for name, value in facts)
    why = f"<p>{name_html(failure)}</p>" if failure else ""
    return f"""<h1>{name_html(title)}</h1>
<div class="result {level}"><strong>{as_html(headline)}</strong>{why}</div>
<dl class="facts">
{rows}</dl>
"""


def figures_html(figures: t.Iterable[tuple[str, str]]) -> str:
    """Numbers, each with what it counts, as HTML."""
    items = "".join(f"<li><strong>{number}</strong> <span>{as_html(name)}</span></li>" for number, name in figures)
    return f'<ul class="figures">{items}</ul>\n'


def table_markdown(header: t.Sequence[str], rows: t.Iterable[t.Sequence[str]]) -> t.Iterator[str]:
    """The lines of a table, of cells that are Markdown, and an empty line."""
    yield f"| {' | '.join(header)} |"
    yield f"| {' | '.join('---' for _each in header)} |"
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""
