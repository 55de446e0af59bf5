# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""How long each step of a run took, and how many records it has read in a second: a table with bars, and Markdown. Pure."""

from __future__ import annotations

import typing as t

from ..._model.run_record import Step
from .safe_text import as_markdown, name_html

# What a run looks at, and nobody waits for to write.
_MANY = 100_000  # records
_UNTIMED = frozenset({"readiness", "start"})


def steps_html(steps: t.Sequence[Step]) -> str:
    """The section of the page, empty where nothing is known."""
    steps = _timed(steps)
    if not steps:
        return ""
    whole = sum(step.seconds for step in steps)
    lines = "".join(_line(step, whole) for step in steps)
    return f"""<h2>Steps</h2>
<div class="scroll" tabindex="0" role="region" aria-label="Steps">
<table><thead><tr><th scope="col">Step</th><th scope="col" class="number">Duration</th><th scope="col">Share</th>
<th scope="col" class="number">Records</th><th scope="col" class="number">Records per second</th></tr>
</thead><tbody>
{lines}</tbody></table></div>
<p class="soft">{_total(steps)}</p>
"""


def steps_markdown(steps: t.Sequence[Step]) -> t.Iterator[str]:
    """The lines of the section in Markdown, none where nothing is known."""
    steps = _timed(steps)
    if not steps:
        return
    yield "## Steps"
    yield ""
    yield "| step | duration | records | records per second |"
    yield "| --- | --- | --- | --- |"
    for step in steps:
        yield f"| {as_markdown(step.step)} | {_duration(step.seconds)} | {_records(step)} | {_throughput(step)} |"
    yield ""
    yield _total(steps)
    yield ""


def _line(step: Step, whole: float) -> str:
    width = 100 * step.seconds / whole if whole else 0
    drawn = (
        '<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="none" width="100" height="10"/><rect class="taken" width="{width:.2f}" height="10"/></svg>'
    )
    return (
        f'<tr><td class="name">{name_html(step.step)}</td><td class="number">{_duration(step.seconds)}</td><td>{drawn}</td>'
        f'<td class="number">{_records(step)}</td><td class="number">{_throughput(step)}</td></tr>\n'
    )


def _records(step: Step) -> str:
    return "" if step.records is None else f"{step.records:,}"


def _total(steps: t.Sequence[Step]) -> str:
    return f"Together: {_duration(sum(step.seconds for step in steps))}."


def _timed(steps: t.Sequence[Step]) -> list[Step]:
    return [step for step in steps if step.step not in _UNTIMED]


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s"
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {whole % 60} s"


def _throughput(step: Step) -> str:
    """Records in a second, empty where they are not known, or so few that the start of the step takes most of the time."""
    records = step.records or 0
    return "" if records < _MANY or step.seconds <= 0 else f"{records / step.seconds:,.0f}"
