# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Begin a run: it holds the directory of a migration for all of its tasks, and a dry run gets copies of the files."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import typing as t

from .._model import lease as file
from .._model.errors import NOTHING_WRITTEN, InvalidInput, Locked
from .._model.notes import Note, NoteKind
from .._model.option_names import option_name
from .._model.policies import OnLocked
from . import files
from .leases import VARIABLE, process_clause

if t.TYPE_CHECKING:
    from .frame import Module

_RECEIPT = "receipt.json"
SCRATCH = ".kafka-migration"  # how the names of the temporary directories end


def begin_run(module: Module) -> dict[str, t.Any]:
    """-> the module's result: held, environment, reason, scratch. In check mode, only scratch is made."""
    module.closing = NOTHING_WRITTEN
    params = module.params
    directory, mine = params["directory"], lease_of_run(params)
    changed = params["create"] and files.make_directory(directory, check=module.check_mode)
    if not os.path.isdir(directory):  # in check mode, it may be one that would be made
        return _result(module, mine if params["create"] else None, changed=changed)
    try:
        gone = _take(module, mine)
    except Locked as exc:
        if params["on_locked"] == OnLocked.FAIL:
            raise
        return _result(module, reason=str(exc), changed=changed)
    notes = []
    if gone is not None:
        process = process_clause(gone.process, gone.host, gone.started)
        who = "A run without --check takes" if module.check_mode else "This run takes"
        text = f"The last run in {directory} ended without releasing it: {process}. {who} it over."
        notes.append(Note(NoteKind.RUN_TAKEN_OVER, text))
    try:
        return _result(module, mine, changed=changed, notes=notes)
    except BaseException:  # nobody knows then that the directory is held
        if not module.check_mode and (gone is None or gone.run != mine.run):
            files.remove(os.path.join(directory, file.FILE))
        raise


def lease_of_run(params: dict[str, t.Any]) -> file.Lease:
    """The process that the action plugin has named. Raises InvalidInput without it."""
    if params["holder"] is None:
        raise InvalidInput(
            "holder is missing, which the collection's action plugin sets",
            remedy="call the module as streamshift.kafka.kafka_migration_run",
        )
    return file.Lease(**params["holder"], phase=params["phase"])


def _take(module: Module, mine: file.Lease) -> file.Lease | None:
    """Write the lease of this run. -> the one of a run that is gone, which it replaces.

    Raises Locked where ansible-playbook holds the directory already, and not for this task: for another host of the play.
    """
    path = os.path.join(module.params["directory"], file.FILE)
    files.check_writable(path)
    with files.locked(path, mine.run):
        before = files.parsed(path, file.from_json)
        if before is not None and before.run == mine.run and os.environ.get(VARIABLE) != mine.run:
            raise Locked(
                f"this ansible-playbook works in {os.path.dirname(path)} already",
                why="another host of the play uses it, or a task of an earlier run of the play has not ended",
                remedy=f"play the role for one host, or set {option_name('directory')} to another directory for each host",
            )
        files.write_document(path, file.to_json(mine), file.from_json, check=module.check_mode)
    return before


def _result(
    module: Module,
    held: file.Lease | None = None,
    *,
    reason: str | None = None,
    changed: bool,
    notes: t.Sequence[Note] = (),
) -> dict[str, t.Any]:
    params = module.params
    if module.check_mode and _RECEIPT in (params["aside"] or ()):  # a commit looks beside the copy, where no history is
        notes = [*notes, *files.lost_receipt(os.path.join(params["directory"], _RECEIPT))]
    leaves = reason is not None and not module.check_mode  # a dry run goes on beside another run
    return {
        "changed": changed,
        "directory": params["directory"],
        "held": held is not None,
        "environment": {} if held is None else {VARIABLE: held.run},
        "reason": reason,
        "scratch": None if params["aside"] is None or leaves else _scratch(params["directory"], params["aside"]),
        **module.warned(notes),
    }


def _scratch(directory: str, names: t.Iterable[str]) -> str:
    """A temporary directory of this user alone, with copies of those of the files that are there."""
    what = "the temporary directory of a dry run cannot be made"
    with files.failing(what, "free space there, or set TMPDIR to another directory"):
        scratch = tempfile.mkdtemp(suffix=SCRATCH)
        with contextlib.ExitStack() as on_failure:
            on_failure.callback(shutil.rmtree, scratch, ignore_errors=True)
            for name in names:
                content = files.read_bytes(os.path.join(directory, name))
                if content is not None:
                    files.write_new(os.path.join(scratch, name), content)
            on_failure.pop_all()
    return scratch
