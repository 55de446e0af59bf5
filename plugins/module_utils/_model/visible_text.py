# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What people read of names that a cluster tells: brokers take any characters in the names of groups and in metadata. Pure."""

from __future__ import annotations

import functools
import re
import typing as t
import unicodedata

# Control characters, characters that no eye sees, those that turn the direction of a text around, and blanks of other widths.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
_APART = re.compile(r"[ ,'\"]")  # what is beside and between the names of a list
_WIDEST = 60  # columns of a terminal that a cell of a table moves the cells of other rows at most
_OVER = frozenset({"Mn", "Me"})  # drawn over the character before


def visible(text: str) -> str:
    r"""The text with escapes (`\u202e`) in place of characters that cannot be seen or that change how others are shown."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escaped(char) if char != " " and unicodedata.category(char) in _UNSEEN else char for char in text)


@functools.lru_cache(1 << 12)
def visible_name(name: str) -> str:
    """The same of a name, in quotes where it might be taken for several names, or its ends would not be seen."""
    return quoted(name) if _APART.search(visible(name)) else visible(name)


def group_partition(group: str, partition: object) -> str:
    """What a line of a diff or a list is about, such as: billing orders-0."""
    return f"{visible_name(group)} {partition}"


def quoted(text: str) -> str:
    r"""The same in quotes, for what a user has written: its backslashes stay as they are, such as `\1`.

    With both kinds of quotes in it, a single one is doubled, as in YAML.
    """
    shown = visible(text)
    if "'" in shown and '"' not in shown:
        return f'"{shown}"'
    return "'" + shown.replace("'", "''") + "'"


def quoted_list(texts: t.Iterable[str]) -> str:
    """Several of them, as a list in YAML."""
    return f"[{', '.join(map(quoted, texts))}]"


def names_text(names: t.Iterable[str]) -> str:
    """Names of groups, which may hold commas and blanks, as one text that can be taken apart by eye."""
    return ", ".join(map(visible_name, names))


def shown_width(text: str) -> int:
    """How many columns of a terminal the text takes, as visible() shows it."""
    shown = visible(text)
    if shown.isascii():
        return len(shown)
    return sum(
        0 if unicodedata.category(char) in _OVER else 1 + (unicodedata.east_asian_width(char) in "WF") for char in shown
    )


def table(head: t.Sequence[str], rows: t.Iterable[t.Sequence[str]], numbers: t.Container[str] = ()) -> list[str]:
    """A header and a line for each row, in columns. numbers: the heads of those whose cells end at the right.

    A cell that is wider than any column may be moves the rest of its own row alone.
    """
    lines = [head, *rows]
    widths = [min(max(map(shown_width, column)), _WIDEST) for column in zip(*lines, strict=True)]
    return ["  ".join(map(_aligned, line, widths, (name in numbers for name in head))).rstrip() for line in lines]


def _aligned(cell: str, width: int, is_number: bool) -> str:
    return cell.rjust(width) if is_number else visible(cell) + " " * (width - shown_width(cell))


def unbroken(cell: str) -> str:
    """A cell of a table without blanks: Ansible, where it shows results as YAML, breaks long lines at a single blank."""
    return cell.replace(" ", "_")


def shortened(text: str, most: int) -> str:
    """The first characters of a text, so many at most, and how many there are besides: nobody takes a part for the whole."""
    more = len(text) - most
    return f"{text[:most]}... ({more:,} more characters)" if more > 0 else text


def _escaped(char: str) -> str:
    code = ord(char)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
