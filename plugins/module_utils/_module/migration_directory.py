# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What the directory of a migration knows: its plan and receipt, its return, the run that is open, the names its runs knew."""

from __future__ import annotations

import contextlib
import dataclasses
import glob
import os
import typing as t

from .._migration._committing.rollback import without_left_out
from .._model import history, lease, offset_formats, plan, receipt, report, run_record, status
from .._model.errors import InvalidFile, MigrationError
from .._model.failure_kinds import FailureKind
from .._model.faults import raise_any
from .._model.group_state import same_commit
from .._model.migration_status import DirectoryFiles
from .._model.notes import Note
from .._model.open_run import OpenRun
from .._model.option_names import option_name
from .._model.selection import Selection
from . import digests, files, leases

_File = t.TypeVar("_File")
_MIGRATING = ("migrate", "apply", "cut_over")
_ROUNDS = "sync"  # the phase after which groups are committed, and go on at the source


def read_directory(directory: str) -> DirectoryFiles:
    """Raises InvalidFile for what is no directory, for one without a plan and a receipt, and for a damaged file."""
    if os.path.exists(directory) and not os.path.isdir(directory):
        raise InvalidFile(
            f"{directory} is no directory",
            why="the status is that of all files of a migration",
            remedy=f"name the directory that has plan.json and receipt.json in {option_name('directories')}",
        )
    damaged: list[MigrationError] = []
    made = _parsed(directory, "plan.json", plan.from_json, damaged)
    written = _parsed(directory, "receipt.json", receipt.from_json, damaged)
    last = _parsed(directory, "status.json", status.from_json, damaged)
    raise_any(damaged)
    run = _open_run(directory)
    if made is None and written is None:
        lost = (
            "no run has planned or written anything there, or the files are lost",
            f"correct {option_name('directories')}",
        )
        why, remedy = run.before_plan if run else lost
        raise InvalidFile(
            f"there is no plan file and no receipt file in {directory}",
            why=why,
            remedy=f"{remedy}, or leave the directory out",
            kind=FailureKind.FILE_MISSING,
        )
    synced, until = _synced(last)
    returned, objected = read_return(directory), _objected(directory)
    migrated = _ended(directory, _MIGRATING)
    return DirectoryFiles(directory, made, written, returned, synced, until, objected, run, migrated)


def _parsed(
    directory: str, name: str, parse: t.Callable[[str, str], _File], damaged: list[MigrationError]
) -> _File | None:
    """A file; adds to damaged why it cannot be used."""
    try:
        return files.parsed(os.path.join(directory, name), parse)
    except InvalidFile as exc:
        damaged.append(exc)
        return None


def _open_run(directory: str) -> OpenRun | None:
    """The run that has not ended there, or the return that has not. Raises InvalidFile."""
    paths = [os.path.join(home, lease.FILE) for home in (directory, os.path.join(directory, "return"))]
    runs = (leases.open_run(files.read(path), path) for path in paths)
    return next((run for run in runs if run is not None), None)


def _objected(directory: str) -> frozenset[receipt.Key]:
    """What has failed the verification of the plan that is there. Raises InvalidFile."""
    objections = files.parsed(os.path.join(directory, "report.json"), report.objections)
    made = files.read(os.path.join(directory, "plan.json"))
    is_of_plan = objections is not None and made is not None and objections.plan == digests.digest(made)
    return frozenset(objections.lines) if objections and is_of_plan else frozenset()


def read_return(directory: str) -> receipt.Receipt | None:
    """The receipt of the return of a migration, without what rounds have set and nobody has cut over. Raises InvalidFile.

    With entries for what the return has found as it has to be, as where nobody has consumed anything since the migration.
    """
    home = os.path.join(directory, "return")
    unwritten = _found_by_return(home)
    returned = files.parsed(os.path.join(home, "receipt.json"), receipt.from_json) or unwritten
    if returned is None:
        return None
    # Rounds of a return have moved these groups at the source, and they go on at the destination.
    still_synced, last_end = _synced(files.parsed(os.path.join(home, "status.json"), status.from_json))
    lines = [line for line in returned.entries if line.group not in still_synced or (line.time or 0) > last_end]
    lines += [line for line in (unwritten.entries if unwritten else ()) if line.key not in returned.by_key]
    return dataclasses.replace(returned, entries=tuple(lines))


def _ended(home: str, phases: t.Container[str]) -> float:
    """When the last run there has ended, as Unix time, if it was one of these phases and has succeeded; else 0."""
    kept = os.path.join(home, history.DIRECTORY)
    names = os.listdir(kept) if os.path.isdir(kept) else ()
    # A run without news has no folder there, and one without a report no file here.
    folders = [home, *(os.path.join(kept, name) for name in history.newest_first(names)[:1])]
    runs = [files.parsed(os.path.join(folder, history.RUN), run_record.from_json) for folder in folders]
    last = max((run for run in runs if run is not None), key=lambda run: run.ended, default=None)
    return last.ended if last is not None and last.failure is None and last.phase in phases else 0.0


def _found_by_return(home: str) -> receipt.Receipt | None:
    """What the last run there had not to write, if it was a return that has succeeded. Raises InvalidFile."""
    ended = _ended(home, ("return",))
    made = files.parsed(os.path.join(home, "plan.json"), plan.from_json) if ended else None
    if made is None:
        return None
    lines = (
        receipt.ReceiptEntry(
            entry.group,
            entry.partition,
            entry.expected,
            entry.target,
            entry.target,
            tuple(receipt.Origin(at.group, at.partition) for at in entry.source),
            int(ended),
        )
        for entry in made.entries
        if entry.target is not None and same_commit(entry.expected, entry.target)
    )
    return receipt.Receipt(made.destination_id, tuple(lines), traits=made.destination_traits)


def _synced(last: status.Status | None) -> tuple[frozenset[str], float]:
    """The groups that the last round has synced, and when it ended, as Unix time; no group after any other run."""
    if last is None or last.phase != _ROUNDS:
        return frozenset(), 0.0
    return frozenset(row["group"] for row in last.groups), last.ended


def to_undo(
    selection: Selection | None, written: receipt.Receipt | None, path: str | None
) -> tuple[Selection | None, list[Note]]:
    """As rollback.without_left_out(), by the snapshots and plans of all runs in the directory of this receipt that are kept.

    A return takes the names of its migration, and knows those of that, too. A file that is damaged tells nothing.
    """
    if selection is None or written is None or path is None:
        return selection, []
    home = os.path.dirname(path)
    homes = (home, os.path.dirname(home)) if os.path.basename(home) == "return" else (home,)

    def known() -> t.Iterator[str]:
        kept = (os.path.join(glob.escape(home), history.DIRECTORY, "*") for home in homes)
        folders = (*homes, *(folder for pattern in kept for folder in glob.iglob(pattern)))
        for folder in folders:
            with contextlib.suppress(InvalidFile):
                snapshot = files.parsed(os.path.join(folder, "snapshot.json"), offset_formats.read_snapshot)
                yield from snapshot.names() if snapshot else ()
            with contextlib.suppress(InvalidFile):
                made = files.parsed(os.path.join(folder, "plan.json"), plan.from_json)
                yield from made.names() if made else ()

    return without_left_out(written, selection, known)
