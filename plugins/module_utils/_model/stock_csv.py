# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The CSV of `kafka-consumer-groups --reset-offsets`: what --from-file reads, and --export writes."""

from __future__ import annotations

import csv
import io
import typing as t

from . import documents
from .errors import FileDamaged, InvalidFile, InvalidInput
from .group_state import CommittedOffset
from .records import LEGAL_TOPIC, TopicPartition
from .snapshot import SnapshotEntry
from .wording import counted

BYTE_ORDER_MARK = "\ufeff"


def to_csv(groups: t.Mapping[str, t.Mapping[TopicPartition, int | None]]) -> str:
    """The lines, sorted: no header, topic, partition and offset for one group, the group before them for several.

    InvalidInput for a group whose name the tool, which reads line by line, or entries_by_line() would not read again.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    rows = [(group, *place) for group, positions in sorted(groups.items()) for place in sorted(positions.items())]
    for group, partition, offset in rows:
        if offset is None:
            continue
        if any(char in group for char in "\n\r\0") or group.startswith(BYTE_ORDER_MARK):
            raise InvalidInput(
                f"the name of group {group!r} has a line break, a NUL or a byte order mark, which CSV cannot hold",
                remedy="leave the group out, or write no CSV",
            )
        writer.writerow([*([] if len(groups) == 1 else [group]), *partition, offset])
    return out.getvalue()


def names_groups(text: str) -> bool:
    """Does the first line have another number of columns than three?"""
    try:
        return len(_cells(text.removeprefix(BYTE_ORDER_MARK).split("\n", 1)[0].removesuffix("\r"))) != 3
    except ValueError:  # told by whoever reads the line
        return True


def without_group(path: str, way: str = "") -> InvalidFile:
    """The refusal of a file of three columns whose group is not known. way: how the user names it, where that is possible."""
    return FileDamaged(
        f"{path} has three columns (topic, partition, offset), which do not say whose offsets they are",
        remedy=f"{way and f'{way}, or '}use a file with four columns (group, topic, partition, offset)",
    )


def entries_by_line(text: str, path: str, group: str | None) -> dict[int, SnapshotEntry]:
    """What each line says, from 1 on; a file of three columns needs the name of its group. InvalidFile that names the line.

    text: is not blank. Windows line ends and blank lines at the end are what editors leave. Blanks around numbers, a plus sign
    and a comma at the end of a line are read as kafka-consumer-groups reads them. Anything else is refused.
    """
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    while not lines[-1].strip():
        lines.pop()
    entries: dict[int, SnapshotEntry] = {}
    lines_of: dict[tuple[str, TopicPartition], int] = {}
    columns = 0
    for number, line in enumerate(lines, 1):
        try:
            cells = _cells(line)
            columns = columns or len(cells)
            entry = entries[number] = _entry(cells, columns, group)
        except ValueError as exc:
            raise FileDamaged(
                f"line {number} of {path} is not topic, partition, offset with or without a group before them",
                why=str(exc),
                remedy="correct the line",
            ) from exc
        except LookupError as exc:
            raise without_group(path) from exc
        first = lines_of.setdefault(entry[:2], number)
        if first != number:
            raise FileDamaged(
                f"{path} has two lines for group {entry.group} and {entry.partition}, lines {first} and {number}",
                remedy="remove one of them",
            )
    return entries


def _cells(line: str) -> list[str]:
    if "\r" in line:
        raise ValueError("it has a carriage return; end lines with a line feed")
    try:
        cells = next(csv.reader([line], strict=True), [])
    except csv.Error as exc:
        raise ValueError("its quotation marks are not closed, or something follows them") from exc
    if any(cell.startswith(BYTE_ORDER_MARK) for cell in cells):
        raise ValueError("a cell begins with a byte order mark; two files may have been joined")
    return cells[:-1] if len(cells) > 3 and not cells[-1].strip() else cells  # a comma at the end


def _entry(cells: list[str], columns: int, group: str | None) -> SnapshotEntry:
    """What one line says. ValueError for what is wrong with it, LookupError for one of a group that is not known."""
    if not cells:
        raise ValueError("it is blank")
    if len(cells) != columns:
        raise ValueError(f"it has {counted(len(cells), 'column')}, and the first line has {columns}")
    if columns not in (3, 4):
        raise ValueError(f"it has {counted(columns, 'column')}; commas separate columns")
    if columns == 3 and not group:
        raise LookupError
    name, topic, number, offset = [group or "", *cells] if columns == 3 else cells
    if not name or not topic:
        raise ValueError("a name is empty")
    if not LEGAL_TOPIC.fullmatch(topic):
        raise ValueError(f"{topic!r} cannot be the name of a topic")
    partition = TopicPartition(documents.name_of(topic), documents.partition_of(_number(number)))
    return SnapshotEntry(documents.name_of(name), partition, CommittedOffset(documents.offset_of(_number(offset))))


def _number(text: str) -> int:
    digits = text.strip(" \t").removeprefix("+")
    if not (digits.isascii() and digits.isdigit()):
        raise ValueError(f"{text!r} is no number from 0 on")
    if len(digits) > 19:
        raise ValueError(f"{digits} is larger than any offset")
    return int(digits)
