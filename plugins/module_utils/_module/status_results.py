# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The status of migrations: reads their directories, and says, returns and writes what has become of their groups."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import glob
import os
import time
import typing as t

from .._control.groups import list_groups
from .._migration._committing.look_at_status import look_at_status
from .._migration._committing.rollback import without_left_out
from .._migration.selected_groups import seen_on
from .._model import (
    documents,
    history,
    lease,
    metrics,
    offset_formats,
    plan,
    receipt,
    report,
    run_record,
    status,
    waves,
)
from .._model.connection import Connection
from .._model.documents import utc_text
from .._model.errors import InvalidFile, MigrationError
from .._model.failure_kinds import FailureKind
from .._model.faults import all_done, all_of, raise_any
from .._model.group_state import same_commit
from .._model.migration_status import DirectoryFiles, half_written, incomplete_lines, next_lines, status_table
from .._model.notes import Note
from .._model.open_run import OpenRun
from .._model.option_names import option_name
from .._model.selection import Selection
from . import digests, files, leases
from .frame import Module
from .status_files import write_metrics

KIND = "migration-status"
_File = t.TypeVar("_File")
_MIGRATING = ("migrate", "apply", "cut_over")
_ROUNDS = "sync"  # the phase after which groups are committed, and go on at the source


def status_result(module: Module, source: Connection, destination: Connection) -> dict[str, t.Any]:
    """The result for the option directories. Raises InvalidFile and InvalidInput before a cluster is asked."""
    params = module.params
    asked = waves.waves_from(params["waves"])
    _check_output(params["status"])
    named = [files.absolute(path) for path in params["directories"]]
    begun = [files.absolute(wave.directory) for wave in asked if wave.directory is not None]
    to_read = dict.fromkeys([*filter(os.path.lexists, named), *filter(_has_begun, begun)])
    directories: list[DirectoryFiles] = []
    all_done(lambda: _check_existing(named), lambda: directories.extend(all_of(_read, to_read)))
    found = look_at_status(directories, source, destination, params["idle_wait"])
    rows = [group.row() for group in found.groups]
    states = {name: row["state"] for row in reversed(rows) for name in row["source_groups"]}
    named_groups = {group for wave in asked for group in wave.selection.groups}
    existing = {*states, *(_groups_at(source) if found.knows_source else named_groups)} if asked else ()
    # Without the source, nobody knows which groups there are besides.
    unused = waves.unused_patterns(asked, existing, seen_on(source)) if found.knows_source else []
    sorted_waves = waves.sort_groups(asked, existing)
    result = {
        "groups": rows,
        "states": dict(collections.Counter(row["state"] for row in rows)),
        "still_written": [each.row() for each in found.still_written],
        **waves.wave_results(sorted_waves, states),
    }
    _write(module, result, [(each.topic, each.records) for each in found.still_written])
    lines = [f"still written at the source: {each}" for each in found.still_written]
    open_runs = [
        each.open_run.note(half_written(found.groups, each.directory))
        for each in directories
        if each.open_run is not None
    ]
    told = waves.wave_lines(sorted_waves, states) if asked else []
    return {
        "changed": False,
        **result,
        "table": status_table(found.groups),
        "summary": [*lines, *told, *incomplete_lines(found.groups), *next_lines(found.groups)],
        **module.warned([*open_runs, *found.notes, *unused]),
    }


def _groups_at(source: Connection) -> set[str]:
    """The groups at the source. One that was migrated may be gone there, because its committed offsets have expired."""
    return {each.group for each in list_groups(source, surely=False)}


def _has_begun(directory: str) -> bool:
    return any(os.path.exists(os.path.join(directory, name)) for name in ("plan.json", "receipt.json"))


def _check_existing(directories: t.Iterable[str]) -> None:
    """Raise InvalidFile that names all directories that are not there."""
    missing = [
        f"{path}{files.meant(path, ('plan.json', 'receipt.json'))}" for path in directories if not os.path.lexists(path)
    ]
    if missing:
        raise InvalidFile(
            f"there is no directory {' and no directory '.join(missing)}",
            why="the status is that of all directories",
            remedy=f"correct {option_name('directories')}{files.named_after()}",
            kind=FailureKind.FILE_MISSING,
        )


def _read(directory: str) -> DirectoryFiles:
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
    found = files.parsed(os.path.join(directory, "report.json"), report.objections)
    made = files.read(os.path.join(directory, "plan.json"))
    is_of_plan = found is not None and made is not None and found.plan == digests.digest(made)
    return frozenset(found.lines) if found and is_of_plan else frozenset()


def read_return(directory: str) -> receipt.Receipt | None:
    """The receipt of the return of a migration, without what rounds have set and nobody has cut over. Raises InvalidFile.

    With entries for what the return has found as it has to be, as where nobody has consumed anything since the migration.
    """
    home = os.path.join(directory, "return")
    found = _found_by_return(home)
    returned = files.parsed(os.path.join(home, "receipt.json"), receipt.from_json) or found
    if returned is None:
        return None
    # Rounds of a return have moved these groups at the source, and they go on at the destination.
    still_synced, last_end = _synced(files.parsed(os.path.join(home, "status.json"), status.from_json))
    lines = [line for line in returned.entries if line.group not in still_synced or (line.time or 0) > last_end]
    lines += [line for line in (found.entries if found else ()) if line.key not in returned.by_key]
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
        kept = (os.path.join(glob.escape(each), history.DIRECTORY, "*") for each in homes)
        folders = (*homes, *(folder for pattern in kept for folder in glob.iglob(pattern)))
        for folder in folders:
            with contextlib.suppress(InvalidFile):
                snapshot = files.parsed(os.path.join(folder, "snapshot.json"), offset_formats.read_snapshot)
                yield from snapshot.names() if snapshot else ()
            with contextlib.suppress(InvalidFile):
                made = files.parsed(os.path.join(folder, "plan.json"), plan.from_json)
                yield from made.names() if made else ()

    return without_left_out(written, selection, known)


def _synced(last: status.Status | None) -> tuple[frozenset[str], float]:
    """The groups that the last round has synced, and when it ended, as Unix time; no group after any other run."""
    if last is None or last.phase != _ROUNDS:
        return frozenset(), 0.0
    return frozenset(row["group"] for row in last.groups), last.ended


def _check_output(path: str | None) -> None:
    """Raise InvalidFile where another file is in the place of the status, such as that of a migration's rounds."""
    text = files.read(path) if path else None
    if path and text is not None:
        documents.loads(KIND, text, path)


def _write(module: Module, result: dict[str, t.Any], still_written: list[tuple[str, int]]) -> None:
    params, now = module.params, time.time()
    if module.check_mode:
        return
    if params["status"]:
        head = {"read": utc_text(now), **{name: its for name, its in result.items() if name != "groups"}}
        files.write(params["status"], documents.dumps(KIND, head, result["groups"]))
    if params["metrics"]:
        text = metrics.status_exposition(result["groups"], still_written, now, params["migration"] or "all")
        write_metrics(params["metrics"], text)
