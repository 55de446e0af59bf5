# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Plans and snapshots as files for other tools, and what the user should know of each."""

from __future__ import annotations

import collections
import typing as t

from .._migration.take_snapshot import with_every_partition
from .._model import offset_formats, snapshot
from .._model.connection import Connection
from .._model.errors import InvalidInput, PlanBlocked
from .._model.grouping import nested
from .._model.notes import Note, NoteKind
from .._model.offset_formats import OffsetFormat
from .._model.plan import Plan
from .._model.snapshot import Snapshot
from .._model.verdicts import Verdict
from .._model.visible_text import group_partition
from .._model.wording import are, counted, first_of, part_of
from . import files, results


class Export(t.NamedTuple):
    """A file for another tool: its path and text, and what the user should know."""

    path: str
    text: str
    notes: list[Note]

    def write(self, check_mode: bool) -> results.Diff | None:
        """Write the file where it differs, but in check mode, and return the diff; None where it does not."""
        before = files.read(self.path)
        if before == self.text:
            return None
        if not check_mode:
            files.write(self.path, self.text)
        return results.file_diff(before, self.text, self.path, results.text_lines, lambda text, _path: text)


def snapshot_text(taken: Snapshot, connection: Connection, form: str) -> str:
    """The text of a snapshot file, in JSON or in the form of another tool."""
    if form == "json":
        return snapshot.to_json(taken)
    groups = offset_formats.positions_of(taken)
    if form == OffsetFormat.STRUCTURED_STREAMING:  # which wants every partition
        groups = {group: with_every_partition(connection, positions) for group, positions in groups.items()}
    return offset_formats.to_text(OffsetFormat(form), groups)


def asked_for(params: t.Mapping[str, t.Any]) -> dict[str, OffsetFormat]:
    """The path and the form of every file that the options csv and export ask for. InvalidInput for two in one place."""
    paths = [(params["csv"], OffsetFormat.CSV), (params["export"], OffsetFormat(params["export_format"]))]
    wanted = [(path, form) for path, form in paths if path]
    taken = {files.absolute(params[option]) for option in ("plan", "snapshot", "receipt") if params[option]}
    for path, _form in wanted:
        files.check_replaceable(path)
        if files.absolute(path) in taken:
            raise InvalidInput(f"{path} is given for two files", remedy="give csv and export paths of their own")
        taken.add(files.absolute(path))
    return dict(wanted)


def export_of(plan: Plan, path: str, form: OffsetFormat) -> Export:
    """Where groups must stand, for another tool.

    What is blocked or uncommitted is not in a CSV file: the stock tool leaves it as it is. Other tools would start somewhere
    else then: raises Refused for a blocked entry, and InvalidInput for several groups.
    """
    blocked = [entry for entry in plan.entries if entry.verdict is Verdict.BLOCKED]
    if blocked and form.is_complete:
        first = blocked[0]
        raise PlanBlocked(
            f"{path} is not written, because {part_of(len(blocked), len(plan.entries), 'group-partition')} of the plan "
            f"{are(len(blocked))} blocked",
            group=first.group,
            **first.partition._asdict(),
            why=f"{first.reason and first.reason.value}: {first.shown_detail}",
            remedy="remove the cause and plan again; without export, the plan alone is written",
        )
    text = offset_formats.to_text(form, nested((entry.key, entry.offset) for entry in plan.entries))
    missing = collections.Counter(entry.verdict.value for entry in plan.entries if entry.offset is None)
    kinds = " and ".join(f"{count:,} {verdict}" for verdict, count in sorted(missing.items()))
    without = f"{counted(missing.total(), 'partition')} without an offset"
    has = [group_partition(*entry.key) for entry in plan.entries if entry.offset is None and entry.expected is not None]
    goes_on = f", as for {first_of(has)}" if has else ""
    said = {
        OffsetFormat.CSV: f"lacks {missing.total():,} of {counted(len(plan.entries), 'group-partition')} ({kinds}): the stock "
        "tool leaves their committed offsets as they are.",
        OffsetFormat.STRUCTURED_STREAMING: f"has -2 for {without}: the query reads all of it.",
        OffsetFormat.FLINK_SQL: f"lacks {without}: Flink reads all of it, unless its group has a committed "
        f"offset there{goes_on}.",
    }
    lacks = [f"{path} {said[form]}"] if missing and form in said else []
    noted = sum(1 for entry in plan.entries if entry.offset is not None and entry.metadata)
    if noted:
        lacks.append(
            f"{path} lacks the metadata of {counted(noted, 'committed offset')}: only kafka_offset_commit writes it."
        )
    return Export(path, text, [Note(NoteKind.EXPORT_INCOMPLETE, line) for line in lacks])
