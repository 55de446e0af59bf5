# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The report as one HTML file that loads nothing, and runs nothing but its own script. Pure."""

from __future__ import annotations

import base64
import hashlib
import typing as t

from ..._model.progress import counted
from ..._model.verdicts import Verdict
from .figures import LOST, GroupPartition, offset_text
from .logs import KnownLogs
from .page_data import STATES, VERDICTS, page_data
from .page_script import SCRIPT
from .page_style import STYLE
from .safe_text import as_html, as_script_data, name_html
from .steps import steps_html
from .story import Exceptions, Problems, Story
from .totals import Totals


def html_page(story: Story) -> str:
    """The text of report.html."""
    data = {**page_data(story.rows, story.logs), "verdicts": VERDICTS, "states": STATES}
    sections = (
        _head(story),
        _totals(story.totals),
        steps_html(story.occasion.steps),
        _exceptions(story),
        _findings(story),
        _notes(story),
        _to_do("What to do next", story.next_steps, story.next_command),
        _to_do("The way back", (story.way_back,), story.way_back_command),
        _tables(story.rows, story.logs),
    )
    script = f"""<script type="application/json" id="data">{as_script_data(data)}</script>
<script>{SCRIPT}</script>
"""
    return whole_page(story.title, "".join(sections), script)


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


def _head(story: Story) -> str:
    facts = "".join(f"<dt>{as_html(name)}</dt><dd>{name_html(value)}</dd>\n" for name, value in story.facts)
    failure = f"<p>{name_html(story.occasion.failure)}</p>" if story.occasion.failure else ""
    return f"""<h1>{name_html(story.title)}</h1>
<div class="result {story.level}"><strong>{as_html(story.headline)}</strong>{failure}</div>
<dl class="facts">
{facts}</dl>
"""


def _totals(total: Totals) -> str:
    figures = (
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
    )
    items = "".join(f"<li><strong>{number}</strong> <span>{name}</span></li>" for number, name in figures)
    counts = [(verdict.value, total.verdicts[verdict]) for verdict in Verdict]
    legend = "".join(
        f'<li><svg viewBox="0 0 1 1" aria-hidden="true"><rect class="{name}" width="1" height="1"/></svg>{count:,} {name}</li>'
        for name, count in counts
    )
    return f"""<h2>Totals</h2>
<ul class="figures">{items}</ul>
{_bar(counts)}
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


def _exceptions(story: Story) -> str:
    lines = "".join(f"<li>{as_html(line)}</li>\n" for line in story.left_out)
    begin = "<h2>Exceptions</h2>\n" + (f"<ul>\n{lines}</ul>\n" if lines else "")
    if not story.exceptions:
        return f"{begin}<p>{as_html(story.no_exceptions)}</p>\n"
    return f"{begin}{''.join(map(_exception, story.exceptions))}"


def _exception(kind: Exceptions) -> str:
    repeats = ""
    if kind.verdict is Verdict.SAFE:
        repeats = f", {kind.repeats.clause('record', 'repeated')}"
    more = kind.count - len(kind.examples)
    rest = f"<p>... and {more:,} more: filter the table of group-partitions by verdict.</p>\n" if more else ""
    lines = "".join(map(_example, kind.examples))
    title = as_html(kind.title)
    size = f"{counted(kind.count, 'group-partition')}{repeats}"
    return f"""<h3><span class="verdict is-{kind.verdict.value}">{title}: {size}</span></h3>
<p>Remedy: {as_html(kind.remedy)}</p>
<div class="scroll" tabindex="0" role="region" aria-label="{title}">
<table><thead><tr><th scope="col">Group and partition</th><th scope="col" class="number">Source offset</th>
<th scope="col" class="number">Destination offset</th><th scope="col" class="number">Repeats at most</th>
<th scope="col">Detail</th></tr>
</thead><tbody>
{lines}</tbody></table></div>
{rest}"""


def _example(row: GroupPartition) -> str:
    source = "".join(f'<span class="from">from {name_html(name)}</span>' for name in row.origin_names)
    if row.more_origins:
        source += f'<span class="from">and {row.more_origins:,} more</span>'
    return (
        f'<tr><td class="name">{name_html(f"{row.group} {row.partition}")}{source}</td>'
        f'<td class="number">{row.source_offsets}</td>'
        f'<td class="number">{offset_text(row.offset)}</td><td class="number">{row.repeats_text}</td>'
        f'<td class="detail">{name_html(row.detail)}</td></tr>\n'
    )


def _findings(story: Story) -> str:
    if not story.problems:
        return f"<h2>Verification</h2>\n<p>{as_html(story.no_problems)}</p>\n"
    return f"<h2>Verification</h2>\n{''.join(map(_problem, story.problems))}"


def _problem(kind: Problems) -> str:
    lines = "".join(f"<li>{name_html(problem.line)}</li>\n" for problem in kind.examples)
    more = kind.count - len(kind.examples)
    rest = f"<li>... and {more:,} more in report.json.</li>\n" if more else ""
    return f"""<h3>{as_html(kind.kind)}: {counted(kind.count, "problem")}</h3>
<p>Remedy: {as_html(kind.remedy)}</p>
<ul>
{lines}{rest}</ul>
"""


def _notes(story: Story) -> str:
    if not story.notes:
        return ""
    lines = "".join(f"<li>{name_html(note.text)}</li>\n" for note in story.notes)
    return f"<h2>Notes</h2>\n<ul>\n{lines}</ul>\n"


def _to_do(title: str, steps: t.Sequence[str], command: str) -> str:
    told = "".join(f"<p>{name_html(step)}</p>\n" for step in steps)
    block = "\n".join(as_html(line) for line in command.split("\n"))
    return f"<h2>{title}</h2>\n{told}" + (f'<pre tabindex="0"><code>{block}</code></pre>\n' if command else "")


def _tables(rows: t.Sequence[GroupPartition], logs: KnownLogs) -> str:
    drawn = ""
    if logs.source is not None or logs.destination is not None:
        drawn = """<p class="soft">Below an offset: the log from its start to its end, as it was when this report was made,
and a line at the offset. Lag: offsets from the source offset to the end of the source's log.</p>
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
