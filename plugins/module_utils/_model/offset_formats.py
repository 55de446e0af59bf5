# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Offsets in the forms of other tools: which forms there are, and what each of them needs."""

from __future__ import annotations

import enum
import typing as t

from . import flink_offsets, stock_csv, streaming_offsets
from .errors import InvalidFile, InvalidInput
from .group_state import CommittedOffset
from .grouping import nested
from .option_names import option_name
from .records import TopicPartition
from .selection import Selection
from .snapshot import Snapshot, SnapshotEntry, SnapshotGroup, from_json, is_json
from .wording import first_names

# Offsets of one group; None for a partition on which it has committed none.
Positions: t.TypeAlias = "t.Mapping[TopicPartition, int | None]"


class OffsetFormat(enum.StrEnum):
    """The forms, by their names in options."""

    CSV = "csv"
    STRUCTURED_STREAMING = "structured_streaming"
    FLINK_SQL = "flink_sql"

    @property
    def is_complete(self) -> bool:
        """Does a partition that is not in the file start somewhere else than the group, so that none may be missing?"""
        return self is not OffsetFormat.CSV


# The forms of snapshots. Flink's options say where a job has started, so a snapshot of them would move a group back.
READ = (OffsetFormat.CSV, OffsetFormat.STRUCTURED_STREAMING)
# Of the forms without names of groups.
_WRITE = {
    OffsetFormat.STRUCTURED_STREAMING: streaming_offsets.to_starting_offsets,
    OffsetFormat.FLINK_SQL: flink_offsets.to_table_options,
}


def positions_of(snapshot: Snapshot) -> dict[str, dict[TopicPartition, int | None]]:
    """The offsets of each group of a snapshot, none for a group that has committed none."""
    offsets: dict[str, dict[TopicPartition, int | None]] = {group.name: {} for group in snapshot.groups}
    return offsets | nested((entry[:2], entry.committed.offset) for entry in snapshot.entries)


def read_snapshot(text: str, path: str, group: str | None = None, form: str = "auto") -> Snapshot:
    """Read a snapshot of any form; auto tells JSON, which begins with a brace, from CSV. InvalidFile otherwise.

    group: whose offsets a file holds that names no group. InvalidInput for one beside a file that names others.
    """
    text = text.removeprefix(stock_csv.BYTE_ORDER_MARK)
    if not text.strip():
        raise InvalidFile(f"{path} is empty", remedy="correct the path, or make the file again")
    told = _form_of(text, form)
    taken = from_json(text, path) if told == "json" else from_text(OffsetFormat(told), text, path, group)
    others = sorted({each.name for each in taken.groups} - {group})
    if group and others:
        raise InvalidInput(
            f"{path} names its groups itself, and {option_name('snapshot_group')} is {group}",
            why=f"it holds offsets of {first_names(others)}",
            remedy=f"remove {option_name('snapshot_group')} to take all of them, or remove the lines of the other groups",
        )
    return taken


def read_backup(text: str, path: str, selection: Selection) -> Snapshot:
    """The same of a file of which a selection is taken. A file that names no group is of the only one that is selected."""
    if not lacks_group(text):
        return read_snapshot(text, path)
    if len(selection.groups) != 1 or selection.group_patterns:
        raise stock_csv.without_group(path, f"select its group alone, by {option_name('groups')}")
    return read_snapshot(text, path, selection.groups[0])


def lacks_group(text: str, form: str = "auto") -> bool:
    """Is it CSV that does not say whose offsets it holds?"""
    is_csv = _form_of(text, form) == OffsetFormat.CSV
    return is_csv and not stock_csv.names_groups(text)


def _form_of(text: str, form: str) -> str:
    if form != "auto":
        return form
    return "json" if is_json(text) else OffsetFormat.CSV


def line_numbers(
    text: str, path: str, group: str | None = None, form: str = "auto"
) -> dict[tuple[str, TopicPartition], int]:
    """In which line of a file of CSV each group and partition is; nothing for the other forms, which are not read by line.

    The arguments are those of read_snapshot().
    """
    text = text.removeprefix(stock_csv.BYTE_ORDER_MARK)
    if _form_of(text, form) != OffsetFormat.CSV:
        return {}
    return {entry[:2]: number for number, entry in stock_csv.entries_by_line(text, path, group).items()}


def to_text(form: OffsetFormat, groups: t.Mapping[str, Positions]) -> str:
    """The text of a file. groups: the offsets of each group, by its name.

    Raises InvalidInput for several groups in a form that has no group names.
    """
    if form is OffsetFormat.CSV:
        return stock_csv.to_csv(groups)
    if len(groups) != 1:
        raise InvalidInput(
            f"a file of the form {form} is for one group, because it names none, and this would be for {len(groups)}",
            why=first_names(sorted(groups)) if groups else "no group is selected",
            remedy="select one group, and use a file for each",
        )
    (positions,) = groups.values()
    return _WRITE[form](positions)


def from_text(form: OffsetFormat, text: str, path: str, group: str | None) -> Snapshot:
    """Read a file of READ, without a byte order mark and not blank, as a snapshot. InvalidFile names the line.

    group: whose offsets these are. It need not exist anywhere. Only CSV of four columns names the groups itself.
    """
    if form is OffsetFormat.CSV:
        entries = list(stock_csv.entries_by_line(text, path, group).values())
    else:
        if not group:
            raise InvalidFile(
                f"{path} does not say whose offsets it holds",
                remedy=f"set {option_name('snapshot_group')} to the name that they get in the plan; the group need not exist",
            )
        positions = streaming_offsets.read_streaming_offsets(text, path)
        entries = [SnapshotEntry(group, partition, CommittedOffset(offset)) for partition, offset in positions.items()]
    names = sorted({entry.group for entry in entries})
    return Snapshot(None, tuple(SnapshotGroup(name, "unknown") for name in names), tuple(sorted(entries)))
