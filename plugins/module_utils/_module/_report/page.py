# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""A report or an assessment as one HTML file that loads nothing, and runs nothing but the report's script. Pure."""

from __future__ import annotations

import base64
import hashlib
import typing as t

from ..._model.verdicts import Verdict
from .figures import GroupPartition, KnownLogs
from .page_data import STATES, VERDICTS, page_data
from .page_script import SCRIPT
from .page_style import STYLE
from .safe_text import as_html, as_script_data, name_html
from .sections import Cell, Section, Story
from .totals import Totals


def html_page(story: Story) -> str:
    """The text of report.html or assessment.html.

    The Content-Security-Policy names the style and the script by their digests.
    """
    script = ""
    content = _head(story) + "".join(_section(section) for section in story.sections if not section.for_ticket)
    if story.totals:
        data = {**page_data(story.rows, story.logs), "verdicts": VERDICTS, "states": STATES}
        content += _tables(story.rows, story.logs)
        script = f"""<script type="application/json" id="data">{as_script_data(data)}</script>
<script>{SCRIPT}</script>
"""
    policy = "; ".join(
        (
            "default-src 'none'",
            f"style-src '{_source(STYLE)}'",
            f"script-src '{_source(SCRIPT)}'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{as_html(story.title)}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
{content}</main>
{script}</body>
</html>
"""


def _source(text: str) -> str:
    """A text as a source of a Content-Security-Policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _head(story: Story) -> str:
    """Its title, its result, why it has failed if it has, the facts, and the figures."""
    facts = "".join(f"<dt>{as_html(name)}</dt><dd>{name_html(value)}</dd>\n" for name, value in story.facts)
    why = f"<p>{name_html(story.failure)}</p>" if story.failure else ""
    items = "".join(
        f"<li><strong>{number}</strong> <span>{as_html(name)}</span></li>" for number, name in story.figures
    )
    return f"""<h1>{name_html(story.title)}</h1>
<div class="result {story.level}"><strong>{as_html(story.headline)}</strong>{why}</div>
<dl class="facts">
{facts}</dl>
{"<h2>Totals</h2>" if story.totals else ""}
<ul class="figures">{items}</ul>
{_verdicts(story.totals) if story.totals else ""}"""


def _verdicts(total: Totals) -> str:
    """How many have each verdict, as a bar and its legend."""
    counts = [(verdict.value, total.verdicts[verdict]) for verdict in Verdict]
    planned = [(name, count) for name, count in counts if count]
    told = ", ".join(f"{count:,} {name}" for name, count in planned) or "nothing is planned"
    whole = sum(count for _name, count in planned)
    parts = [(name, count / whole) for name, count in planned] or [("none", 1.0)]
    legend = "".join(
        f'<li><svg viewBox="0 0 1 1" aria-hidden="true"><rect class="{name}" width="1" height="1"/></svg>{count:,} {name}</li>'
        for name, count in counts
    )
    return f"""{_bar(parts, f'role="img" aria-label="Verdicts: {told}"')}
<ul class="legend">{legend}</ul>
"""


def _bar(parts: t.Iterable[tuple[str, float]], seen: str) -> str:
    """Parts of a whole: the class of each, and its share from 0 to 1. seen: attributes for those who do not see it."""
    drawn, left = "", 0.0
    for name, share in parts:
        drawn += f'<rect class="{name}" width="{100 * share:.2f}" x="{100 * left:.2f}" height="10"/>'
        left += share
    return f'<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" {seen}>{drawn}</svg>'


def _section(section: Section) -> str:
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
        rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>\n" for row in section.rows)
        made += f"""<div class="scroll" tabindex="0" role="region" aria-label="{title}">
<table><thead><tr>{header}</tr></thead><tbody>
{rows}</tbody></table></div>
"""
    made += f"<p>{as_html(section.rest)}</p>\n" if section.rest else ""
    if section.command:
        block = "\n".join(as_html(line) for line in section.command.split("\n"))
        made += f'<pre tabindex="0"><code>{block}</code></pre>\n'
    return made


def _cell(cell: Cell) -> str:
    if cell.kind == "section":
        return f'<td class="code"><a href="#{as_html(cell.text)}">{as_html(cell.text)}</a></td>'
    text = as_html(cell.text) if cell.kind == "number" else name_html(cell.text)
    text += "".join(f'<span class="from">from {name_html(name)}</span>' for name in cell.origins)
    text += f'<span class="from">and {cell.more:,} more</span>' if cell.more else ""
    if cell.share is not None:
        text += _bar([("taken", cell.share), ("none", 1 - cell.share)], 'aria-hidden="true"')
    return f'<td class="{cell.kind}">{text}</td>' if cell.kind else f"<td>{text}</td>"


def _tables(rows: t.Sequence[GroupPartition], logs: KnownLogs) -> str:
    drawn = ""
    if logs.source is not None or logs.destination is not None:
        drawn = """<p class="soft">Below an offset: the log from its start to its end, as it was when this report was made,
and a line at the offset. Lag: offsets from the source offset to the log's end, without those that have expired.</p>
"""
    merged = ""
    if any(len(row.source) > 1 for row in rows):
        merged = """<p class="soft">Rows that come from several source partitions, as of a repartitioned topic, show the lag
and the unconsumed records of all these source partitions together, each row the same ones. The lags of groups and in the
totals count them once.</p>
"""
    return f"""<h2>Groups</h2>
<div id="groups"><p>The tables need JavaScript. Without it, read plan.json, and report.md beside this file.</p></div>
<h2>Group-partitions</h2>
<p class="soft">Unconsumed: records from the committed offset on, as the verification has counted them at the source;
≥ if it has read only a part of the log. Destination before: what was committed there before the first write of this
migration.</p>
{merged}{drawn}<div id="partitions"></div>
"""
