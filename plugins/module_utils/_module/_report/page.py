# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The report as one HTML file that loads nothing, and runs nothing but its own script. Pure."""

from __future__ import annotations

import base64
import hashlib
import typing as t

from ..._model.verdicts import Verdict
from .figures import GroupPartition
from .logs import KnownLogs
from .page_data import STATES, VERDICTS, page_data
from .page_script import SCRIPT
from .page_style import STYLE
from .safe_text import as_html, as_script_data
from .sections import figures_html, head_html, section_html
from .story import Story
from .story_sections import closing_sections, figures_of, outcome_sections, steps_section
from .totals import Totals


def html_page(story: Story) -> str:
    """The text of report.html."""
    data = {**page_data(story.rows, story.logs), "verdicts": VERDICTS, "states": STATES}
    sections = (*steps_section(story.occasion.steps), *outcome_sections(story), *closing_sections(story))
    content = (
        head_html(story.title, story.level, story.headline, story.facts, story.occasion.failure),
        _totals(story.totals),
        *map(section_html, sections),
        _tables(story.rows, story.logs),
    )
    script = f"""<script type="application/json" id="data">{as_script_data(data)}</script>
<script>{SCRIPT}</script>
"""
    return whole_page(story.title, "".join(content), script)


def whole_page(title: str, content: str, script: str = "") -> str:
    """An HTML file with the style of the report. content: HTML; script: elements with SCRIPT, and nothing else that runs.

    The Content-Security-Policy names the style and the script by their digests.
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
<title>{as_html(title)}</title>
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


def _totals(total: Totals) -> str:
    counts = [(verdict.value, total.verdicts[verdict]) for verdict in Verdict]
    legend = "".join(
        f'<li><svg viewBox="0 0 1 1" aria-hidden="true"><rect class="{name}" width="1" height="1"/></svg>{count:,} {name}</li>'
        for name, count in counts
    )
    return f"""<h2>Totals</h2>
{figures_html(figures_of(total))}{_bar(counts)}
<ul class="legend">{legend}</ul>
"""


def _bar(counts: t.Sequence[tuple[str, int]]) -> str:
    """The verdicts as parts of one bar."""
    total = sum(count for _name, count in counts)
    told = ", ".join(f"{count:,} {name}" for name, count in counts if count) or "nothing is planned"
    parts, left = [], 0.0
    for name, count in counts:
        if count:
            width = 1000 * count / total
            parts.append(f'<rect class="{name}" x="{left:.3f}" width="{width:.3f}" height="20"/>')
            left += width
    empty = "" if total else '<rect class="none" width="1000" height="20"/>'
    return (
        f'<svg class="bar" viewBox="0 0 1000 20" preserveAspectRatio="none" role="img" aria-label="Verdicts: {told}">'
        f"{''.join(parts)}{empty}</svg>"
    )


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
