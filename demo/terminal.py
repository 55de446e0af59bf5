"""Lines for the terminal: steps with the time that has passed, and tables."""

from __future__ import annotations

import sys
import time
import typing as t

_begin = time.monotonic()


def step(text: str) -> None:
    """Say what has been done."""
    print(f"{time.monotonic() - _begin:6.1f} s  {text}", flush=True)


def title(text: str) -> None:
    """Begin another part."""
    print(f"\n{_bold('── ' + text)}", flush=True)


def table(head: t.Sequence[str], rows: t.Sequence[t.Sequence[str | int]]) -> None:
    """Print columns as wide as they need to be: numbers at the right, the rest at the left. A row of none is a line."""
    shown = [[f"{cell:,}" if isinstance(cell, int) else cell for cell in row] for row in rows]
    widths = [max(len(line[column]) for line in [head, *shown] if line) for column in range(len(head))]
    right = [any(isinstance(row[column], int) for row in rows if row) for column in range(len(head))]
    line = "─" * (sum(widths) + 2 * len(widths))
    print(_bold(_row(head, widths, right)), line, sep="\n")
    for cells in shown:
        print(_row(cells, widths, right) if cells else line)
    sys.stdout.flush()


def _row(cells: t.Sequence[str], widths: t.Sequence[int], right: t.Sequence[bool]) -> str:
    placed = zip(cells, widths, right, strict=True)
    return " ".join(
        f" {cell.rjust(width) if at_right else cell.ljust(width)} " for cell, width, at_right in placed
    ).rstrip()


def _bold(text: str) -> str:
    return f"\033[1m{text}\033[0m" if sys.stdout.isatty() else text
