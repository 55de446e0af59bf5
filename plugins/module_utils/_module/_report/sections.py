# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What a page for people is made of, for its two printers, page.py and ticket.py, and the tables of a report. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._model.notes import Note
from ..._model.receipt import Key
from ..._model.run_record import UNTIMED, Step
from ..._model.verdicts import Verdict
from ..._model.wording import counted
from .figures import LOST, NO_LOGS, GroupPartition, KnownLogs, State
from .totals import Totals, group_figures

MOST_ROWS = 200  # groups, or group-partitions of a rollback: a ticket takes some tens of thousands of characters
_MANY = 100_000  # records; of fewer, the start of a step takes most of the time


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

    level: of the heading, 2 or 3. verdict: that the section is about. anchor: its name, for links. for_ticket: it is left out
    of the page, which has a table that sorts in its place.
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
    for_ticket: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Story:
    """All that a report or an assessment shows.

    level: good, warning or bad. facts: what was asked, on which clusters, by which versions. figures: numbers, each with what
    it counts. failure: the message that ended the run.
    totals, rows, logs: of a report, None and nothing for an assessment.
    """

    title: str
    headline: str
    level: str
    facts: tuple[tuple[str, str], ...]
    figures: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]
    failure: str = ""
    totals: Totals | None = None
    rows: tuple[GroupPartition, ...] = ()
    logs: KnownLogs = NO_LOGS
    notes: tuple[Note, ...] = ()


def rest_of(rows: t.Sized, most: int, what: str) -> str:
    """How many there are besides those that are shown, and where they are, empty for none."""
    more = len(rows) - most
    return f"... and {more:,} more {what}." if more > 0 else ""


def figures_of(total: Totals) -> tuple[tuple[str, str], ...]:
    """The totals but for the verdicts: numbers, each with what it counts."""
    return (
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


def restored_section(rows: t.Sequence[GroupPartition], restored: t.Mapping[Key, tuple[int | None, bool]]) -> Section:
    """A line for each group-partition of a rollback, those that were not restored first. restored: see Occasion.

    Of a great many, those come first of which it is known what they had committed.
    """
    ordered = sorted(rows, key=lambda row: (row.key not in restored, row.state is State.ROLLED_BACK))
    cells = [
        (
            Cell(f"{row.group} {row.partition}", "name"),
            Cell(_or_none(restored[row.key][0]) if row.key in restored else "-", "number"),
            Cell(_or_none(row.before) if row.state is State.ROLLED_BACK else "-", "number"),
            Cell(row.state.value),
        )
        for row in ordered[:MOST_ROWS]
    ]
    header = ("group and partition", "was committed", "restored to", "state")
    return Section(
        "Group-partitions", header=header, rows=tuple(cells), rest=rest_of(rows, MOST_ROWS, "in receipt.json")
    )


def _or_none(offset: int | None) -> str:
    return "none" if offset is None else str(offset)


def steps_section(steps: t.Iterable[Step]) -> list[Section]:
    """How long the steps took, nothing where nobody has measured."""
    timed = [step for step in steps if step.step not in UNTIMED]
    whole = sum(step.seconds for step in timed)
    rows = [
        (
            Cell(step.step),
            Cell(_duration(step.seconds), "number", share=step.seconds / whole if whole else 0),
            Cell("" if step.records is None else f"{step.records:,}", "number"),
            Cell(_throughput(step), "number"),
        )
        for step in timed
    ]
    header = ("step", "duration", "records", "records per second")
    return [Section("Steps", header=header, rows=tuple(rows), rest=f"Together: {_duration(whole)}.")] if rows else []


def group_section(rows: t.Sequence[GroupPartition], logs: KnownLogs) -> Section:
    """A line for each group."""
    figures = group_figures(rows, logs)
    lags = logs.source is not None
    cells = [
        (
            Cell(each.group, "name"),
            Cell(f"{each.partitions:,}", "number"),
            *(
                Cell(f"{each.verdicts[verdict]:,}", "number")
                for verdict in (Verdict.EXACT, Verdict.SAFE, Verdict.BLOCKED)
            ),
            Cell(str(each.repeats), "number"),
            Cell(f"{each.committed:,}", "number"),
            *([Cell("-" if each.lag is None else f"{each.lag:,}", "number")] if lags else []),
        )
        for each in figures[:MOST_ROWS]
    ]
    header = ("group", "partitions", "exact", "safe", "blocked", "repeats at most", "committed")
    more = len(figures) - MOST_ROWS
    return Section(
        "Groups",
        header=(*header, "lag at the source") if lags else header,
        rows=tuple(cells),
        for_ticket=True,
        rest=f"... and {counted(more, 'more group')} in report.html." if more > 0 else "",
    )


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s"
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {whole % 60} s"


def _throughput(step: Step) -> str:
    """Records in a second, empty where that says nothing."""
    records = step.records or 0
    return "" if records < _MANY or step.seconds <= 0 else f"{records / step.seconds:,.0f}"
