# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Numbers, names and times as messages have them."""

from __future__ import annotations

import typing as t

from .visible_text import visible_name

NAMED = 5  # names that a line, a note or an error says
MANY_NAMED = 20  # the same where people do something about each of them


def time_text(seconds: float) -> str:
    """A time for people, in the largest unit of which there are two: "90 s", "5 minutes", "3 hours" or "12 days"."""
    units = ((86_400, "day"), (3_600, "hour"), (60, "minute"))
    size, noun = next((unit for unit in units if seconds >= 2 * unit[0]), (1, ""))
    return counted(int(seconds // size), noun) if noun else f"{seconds:.0f} s"


def part_of(number: int, total: int, noun: str) -> str:
    """How many of them, such as "1 of 4 entries" or "1 of 1 entry"; the verb that follows: are()."""
    return f"{number:,} of {counted(total, noun)}"


def are(number: int) -> str:
    """The verb for so many."""
    return "is" if number == 1 else "are"


def counted(number: int, noun: str) -> str:
    """A number and what it counts, such as "1 record", "2,000,000 records" or "2 entries"."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in "aeiou" else f"{number:,} {noun}s"


def first_of(names: t.Sequence[str], most: int = NAMED, more: str = "more", between: str = ", ") -> str:
    """So many names at most, and how many there are besides, such as "a, b and 3 more"; of clauses, "a; b; and 3 more"."""
    rest = f"{between.lstrip(',')}and {len(names) - most:,} {more}" if names[most:] else ""
    return between.join(names[:most]) + rest


def first_names(names: t.Iterable[str], most: int = NAMED, more: str = "more") -> str:
    """The same of names of groups, which brokers let hold commas and blanks: see visible_name()."""
    return first_of(list(map(visible_name, names)), most, more)
