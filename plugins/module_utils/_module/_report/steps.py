# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""How long each step of a run took, and how many records it has read in a second: a table with bars, and Markdown. Pure."""

from __future__ import annotations

import typing as t

from .safe_text import as_markdown, name_html


class Step(t.NamedTuple):
    """A step of a run. records: how many it has read or compared, None where it is not known."""

    name: str
    seconds: float
    records: int | None = None

    @property
    def duration(self) -> str:
        """The time that it took."""
        whole = round(self.seconds)
        if whole < 60:
            return f"{self.seconds:.1f} s"
        hours, minutes = divmod(whole // 60, 60)
        return f"{hours} h {minutes} min" if hours else f"{minutes} min {whole % 60} s"

    @property
    def throughput(self) -> str:
        """Records in a second, empty where they are not known."""
        if self.records is None or self.seconds <= 0:
            return ""
        return f"{self.records / self.seconds:,.0f}"


def steps_html(steps: t.Sequence[Step]) -> str:
    """The section of the page, empty where nothing is known."""
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
    if not steps:
        return
    yield "## Steps"
    yield ""
    yield "| step | duration | records | records per second |"
    yield "| --- | --- | --- | --- |"
    for step in steps:
        yield f"| {as_markdown(step.name)} | {step.duration} | {_records(step)} | {step.throughput} |"
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
        f'<tr><td class="name">{name_html(step.name)}</td><td class="number">{step.duration}</td><td>{drawn}</td>'
        f'<td class="number">{_records(step)}</td><td class="number">{step.throughput}</td></tr>\n'
    )


def _records(step: Step) -> str:
    return "" if step.records is None else f"{step.records:,}"


def _total(steps: t.Sequence[Step]) -> str:
    return f"Together: {Step('', sum(step.seconds for step in steps)).duration}."
