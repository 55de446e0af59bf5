# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Names and messages inside HTML, JSON and Markdown: they show what they are, and never act as code. Pure."""

from __future__ import annotations

import html
import json
import re
import typing as t

from ..._model.visible_text import visible

# Markup, links that Markdown makes of bare addresses and of numbers, and what makes a heading or a list at the beginning of a
# line. An underscore inside a word is none of them, nor are parentheses without brackets: people copy these texts into tickets.
_SPECIAL = re.compile(
    r"[\\`*\[\]|~$]|(?<![^\W_])_|_(?![^\W_])|(?<=www)\.|:(?=//)|#(?=#*(?:\s|\d|$))|^[+-]|(?<=^\d)[.)]", re.IGNORECASE
)


def as_html(text: str) -> str:
    """The text as HTML, in attributes too."""
    return html.escape(visible(text))


def name_html(text: str) -> str:
    """A name as HTML: what is written from right to left does not turn around what follows it."""
    return f"<bdi>{as_html(text)}</bdi>"


def as_script_data(value: t.Any) -> str:
    """JSON that may stand inside a script element: it cannot end the element, nor open a comment in it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def as_markdown(text: str) -> str:
    """A sentence as Markdown, in which nothing is a link, a mention, markup or the end of a table's cell."""
    plain = visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "&#64;")
    return _SPECIAL.sub(r"\\\g<0>", plain)


def name_markdown(text: str) -> str:
    """A name as code in Markdown, also in a table's cell."""
    shown = visible(text) or " "
    if "\\|" in shown:  # in a table, no code can hold this: some programs end the cell here
        return as_markdown(shown)
    fence = _fence(shown, 1)
    space = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{space}{shown}{space}{fence}".replace("|", "\\|")


def block_markdown(text: str) -> str:
    """Lines as a block of code in Markdown."""
    fence = _fence(text, 3)
    lines = "\n".join(visible(line) for line in text.split("\n"))
    return f"{fence}\n{lines}\n{fence}"


def _fence(text: str, least: int) -> str:
    """More backticks than any run of them in the text, and so many at least."""
    return max(["`" * least, *(f"{run}`" for run in re.findall("`+", text))], key=len)
