# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The status of migrations: says, returns and writes what has become of the groups of their directories."""

from __future__ import annotations

import collections
import os
import time
import typing as t

from .._control.groups import list_groups
from .._migration.look_at_status import look_at_status
from .._model import documents, metrics, waves
from .._model.connection import Connection
from .._model.documents import utc_text
from .._model.errors import FileMissing, InvalidFile, InvalidInput
from .._model.faults import all_done, all_of
from .._model.migrated_groups import DirectoryFiles
from .._model.migration_status import half_written, incomplete_lines, next_lines, status_table
from .._model.option_names import option_name
from .._model.selection import seen_on
from . import files
from .frame import Module
from .migration_directory import lost_receipts, read_directory

KIND = "migration-status"


def status_result(module: Module, source: Connection, destination: Connection) -> dict[str, t.Any]:
    """The result for the option directories. Raises InvalidFile and InvalidInput before a cluster is asked."""
    params = module.params
    asked = waves.waves_from(params["waves"])
    named = [files.absolute(path) for path in params["directories"]]
    # The others are among those that are named.
    of_waves = [wave for wave in asked if wave.directory is not None and not (named and "{{" in wave.directory)]
    homes = all_of(_directory, of_waves)
    if params["status"]:
        _check_output(params["status"], [*named, *homes])
    to_read = dict.fromkeys([*filter(os.path.lexists, named), *filter(_has_begun, homes)])
    directories: list[DirectoryFiles] = []
    all_done(
        lambda: _check_existing(named, params["migration"], f"{source} to {destination}"),
        lambda: directories.extend(all_of(read_directory, to_read)),
    )
    status = look_at_status(directories, source, destination, params["idle_wait"])
    rows = [group.row() for group in status.groups]
    states = {name: row["state"] for row in reversed(rows) for name in row["source_groups"]}
    named_groups = {group for wave in asked for group in wave.selection.groups}
    existing = {*states, *(_groups_at(source) if status.knows_source else named_groups)} if asked else ()
    # Without the source, nobody knows which groups there are besides.
    unused = waves.unused_patterns(asked, existing, seen_on(source)) if status.knows_source else []
    sorted_waves = waves.sort_groups(asked, existing)
    result = {
        "groups": rows,
        "states": dict(collections.Counter(row["state"] for row in rows)),
        "still_written": [each.row() for each in status.still_written],
        **waves.wave_results(sorted_waves, states),
    }
    _write(module, result, [(each.topic, each.records) for each in status.still_written])
    lines = [f"still written at the source: {each}" for each in status.still_written]
    open_runs = [
        each.open_run.note(half_written(status.groups, each.directory))
        for each in directories
        if each.open_run is not None
    ]
    lost = [note for each in directories for note in lost_receipts(each.directory)]
    told = waves.wave_lines(sorted_waves, states) if asked else []
    return {
        "changed": False,
        **result,
        "table": status_table(status.groups),
        "summary": [*lines, *told, *incomplete_lines(status.groups), *next_lines(status.groups)],
        **module.warned([*open_runs, *lost, *status.notes, *unused]),
    }


def _groups_at(source: Connection) -> set[str]:
    """The groups at the source. One that was migrated may be gone there, because its committed offsets have expired."""
    return {each.group for each in list_groups(source, surely=False)}


def _directory(wave: waves.Wave) -> str:
    directory = wave.directory or ""
    if "{{" in directory:
        raise InvalidInput(
            f"{option_name('waves')}: the directory of the wave {wave.name} is a template, {directory}",
            why="only the run of the wave itself knows what its variables are",
            remedy="write the path out in group_migration_directory of the wave's file, or name the directories of all "
            f"waves in {option_name('directories')}",
        )
    return files.absolute(directory)


def _has_begun(directory: str) -> bool:
    return any(os.path.exists(os.path.join(directory, name)) for name in ("plan.json", "receipt.json"))


def _check_existing(directories: t.Iterable[str], migration: str | None, clusters: str) -> None:
    """Raise InvalidFile that names all directories that are not there. migration: what the default one is called."""
    directories = list(directories)
    missing = [
        f"{path}{files.meant(path, ('plan.json', 'receipt.json'))}" for path in directories if not os.path.lexists(path)
    ]
    if len(directories) == 1 and os.path.basename(missing[0] if missing else "") == migration:
        raise FileMissing(
            f"no migration from {clusters} has run in {missing[0]}, which does not exist",
            remedy=f"correct {option_name('directories')}{files.named_after()}, or run streamshift.kafka.migrate_groups first",
        )
    if missing:
        raise FileMissing(
            f"there is no directory {' and no directory '.join(missing)}",
            why="the status is that of all directories",
            remedy=f"correct {option_name('directories')}{files.named_after()}",
        )


def _check_output(path: str, homes: t.Iterable[str]) -> None:
    """Raise InvalidFile where another file is in the place of the status, or may come there: that of a migration's rounds.

    homes: directories of migrations.
    """
    folder, name = os.path.split(os.path.realpath(path))
    if name == "status.json" and (_has_begun(folder) or folder in map(os.path.realpath, homes)):
        raise InvalidFile(
            f"{path} cannot be written",
            why=f"{folder} is the directory of a migration, whose rounds have a file of this name",
            remedy=f"name another directory in {option_name('status')}",
        )
    if (text := files.read(path)) is not None:
        documents.loads(KIND, text, path)


def _write(module: Module, result: dict[str, t.Any], still_written: list[tuple[str, int]]) -> None:
    params, now = module.params, time.time()
    if module.check_mode:
        return
    if params["status"]:
        head = {"read": utc_text(now), **{name: member for name, member in result.items() if name != "groups"}}
        files.write(params["status"], documents.dumps(KIND, head, result["groups"]))
    if params["metrics"]:
        text = metrics.status_exposition(result["groups"], still_written, now, params["migration"] or "all")
        files.write(params["metrics"], text, files.FOR_ALL)
