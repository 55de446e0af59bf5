# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What a page for people is made of, for its two printers: page.py and ticket.py. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._model.notes import Note
from ..._model.verdicts import Verdict
from .figures import NO_LOGS, GroupPartition, KnownLogs
from .totals import Totals


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
