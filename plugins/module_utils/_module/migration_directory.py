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
from .._model.documents import utc_text
from .._model.errors import InvalidFile, MigrationError
from .._model.failure_kinds import FailureKind
from .._model.faults import raise_any
from .._model.group_state import same_commit
from .._model.migration_status import DirectoryFiles, GroupRun
from .._model.notes import Note
from .._model.open_run import OpenRun
from .._model.option_names import option_name
from .._model.selection import Selection
from .._model.verdicts import Verdict
from . import digests, files, leases

_File = t.TypeVar("_File")
_MIGRATING = ("migrate", "apply", "cut_over")


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
    returned, objected = read_return(directory), _objected(directory)
    synced = last.synced_until if last else {}
    lines = written.entries if written else ()
    migrated = _carried_out(directory, _MIGRATING, synced, {line.group for line in lines if line.written is not None})
    earlier = _earlier(directory, made, lines)
    return DirectoryFiles(directory, made, written, returned, synced, objected, run, migrated, earlier)


def _parsed(
    directory: str, name: str, parse: t.Callable[[str, str], _File], damaged: list[MigrationError]
) -> _File | None:
    """A file; adds to damaged why it cannot be used."""
    try:
        return files.parsed(os.path.join(directory, name), parse)
    except InvalidFile as exc:
        damaged.append(exc)
        return None


def _readable(folder: str, name: str, parse: t.Callable[[str, str], _File]) -> _File | None:
    """A file that is kept; None also for one that is damaged, which tells nothing."""
    with contextlib.suppress(InvalidFile):
        return files.parsed(os.path.join(folder, name), parse)
    return None


def _kept(directory: str) -> list[str]:
    """The folders of its runs, the newest first."""
    home = os.path.join(directory, history.DIRECTORY)
    names = os.listdir(home) if os.path.isdir(home) else ()
    return [os.path.join(home, name) for name in history.newest_first(names)]


def _earlier(
    directory: str, made: plan.Plan | None, lines: t.Iterable[receipt.ReceiptEntry]
) -> tuple[plan.PlanEntry, ...]:
    """The last kept plan of each group that this one lacks, and the last entries with what these lines have written."""
    lacking = {line.key: line for line in lines}
    planned: set[str] = set()
    found: list[plan.PlanEntry] = []
    for folder in (None, *_kept(directory)):
        # A plan from before a write does not have what was written.
        name = os.path.basename(folder or "~")
        keys = {key for key, line in lacking.items() if utc_text(line.time or 0).replace(":", "") <= name}
        if not keys:
            break
        read = _readable(folder, "plan.json", plan.from_json) if folder else made
        entries = [entry for entry in (read.entries if read else ()) if entry.key in keys or entry.group not in planned]
        matched = {entry.key for entry in entries if entry.key in keys and _has_written(entry, lacking[entry.key])}
        groups = {group for group, _partition in keys} - planned
        if folder:
            found += (entry for entry in entries if entry.key in matched or entry.group in groups)
        planned |= {entry.group for entry in entries}
        lacking = {key: line for key, line in lacking.items() if key not in matched}
    return tuple(found)


def _has_written(entry: plan.PlanEntry, line: receipt.ReceiptEntry) -> bool:
    return line.written is None or entry.offset == line.written.offset  # of what is rolled back, each plan tells enough


def _carried_out(
    home: str, phases: t.Container[str], synced: t.Container[str], groups: set[str] | None = None
) -> dict[str, GroupRun]:
    """The last run there that has carried out its plan of each of these groups, or of all, unless one rolled back later.

    synced: the groups whose rounds go on, which a cut-over has left out.
    """
    records = [(_readable(folder, history.RUN, run_record.from_json), folder) for folder in (home, *_kept(home))]
    runs = [(run, folder) for run, folder in records if run is not None]
    if len(runs) > 1 and runs[0][1] == home and runs[0][0].ended <= runs[1][0].ended:
        del runs[0]  # the plan there may be a later one
    found: dict[str, GroupRun] = {}
    for run, folder in runs:
        if run.phase == "rollback" or (groups is not None and groups <= found.keys()):
            break
        made = _readable(folder, "plan.json", plan.from_json) if run.failure is None and run.phase in phases else None
        planned: dict[str, list[plan.PlanEntry]] = {}
        for entry in made.entries if made else ():
            planned.setdefault(entry.group, []).append(entry)
        failed: set[str] = set()
        with contextlib.suppress(InvalidFile):
            failed = {group for group, _partition in _objected(folder)} if made else failed
        for group in planned.keys() - found.keys():
            entries = tuple(planned[group])
            is_left_out = group in failed or (run.phase == "cut_over" and group in synced)
            is_whole = not is_left_out and all(entry.verdict is not Verdict.BLOCKED for entry in entries)
            found[group] = GroupRun(run.ended, entries, is_whole)
    return found


def _open_run(directory: str) -> OpenRun | None:
    """The run that has not ended there, or the return that has not. Raises InvalidFile."""
    paths = [os.path.join(home, lease.FILE) for home in (directory, os.path.join(directory, "return"))]
    own, returning = (leases.open_run(files.read(path), path) for path in paths)
    return own or (returning and returning._replace(is_of_plan=False))  # a return has a plan of its own


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
    made = files.parsed(os.path.join(home, "plan.json"), plan.from_json)
    returned = files.parsed(os.path.join(home, "receipt.json"), receipt.from_json)
    last = files.parsed(os.path.join(home, "status.json"), status.from_json)
    synced = last.synced_until if last else {}
    unwritten = (
        receipt.ReceiptEntry(
            entry.group,
            entry.partition,
            entry.expected,
            entry.target,
            entry.target,
            tuple(receipt.Origin(at.group, at.partition) for at in entry.source),
            int(run.ended),
        )
        for run in _carried_out(home, ("return", *_MIGRATING), synced).values()
        if run.is_whole
        for entry in run.entries
        if entry.target is not None and same_commit(entry.expected, entry.target)
    )
    written = returned.entries if returned else ()
    lines = sorted((*unwritten, *written), key=lambda line: line.time or 0)
    # Rounds of a return have moved the others at the source, and they go on at the destination.
    is_over = (line for line in lines if (line.time or 0) > synced.get(line.group, -1.0))
    kept = tuple({line.key: line for line in is_over}.values())
    if returned is not None:
        return dataclasses.replace(returned, entries=kept)
    return receipt.Receipt(made.destination_id, kept, traits=made.destination_traits) if made and kept else None


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
