# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The status file and the metrics of rounds and of a cut-over, also of one that has failed."""

from __future__ import annotations

import os
import time
import typing as t

from .._model import metrics, receipt
from .._model import status as file
from .._model.errors import InvalidInput, MigrationError
from .._model.faults import all_of
from .._model.notes import Note, NoteKind
from .._model.option_names import option_name
from . import files

if t.TYPE_CHECKING:
    from .frame import Module


def check_status_paths(params: dict[str, t.Any]) -> None:
    """Raise InvalidInput for a status or a metrics file that cannot be written, or that no node exporter would read."""
    # A status of rounds and one of all migrations can be made again, and either module says so where it finds the other one.
    kinds = {"status": [file.KIND, "migration-status"], "metrics": []}
    all_of(lambda name: files.check_replaceable(params[name], *kinds[name]), filter(params.get, kinds))
    if params["metrics"] and not params["metrics"].endswith(".prom"):
        raise InvalidInput(
            f"{option_name('metrics')} is {params['metrics']}, and node exporters read only files whose names end in .prom",
            remedy="correct the path",
        )


class LastStatus(t.NamedTuple):
    """What the status file says before this round; without a file that can be read, a status of no groups.

    started: when this round has started. now: the time, both as Unix time.
    """

    status: file.Status
    started: float
    now: float
    notes: list[Note]


def last_status(path: str | None, started: float | None) -> LastStatus:
    """Read the status file. started: by default, now."""
    now = time.time()
    begin = now if started is None else started
    damaged: list[MigrationError] = []
    last = files.parsed_or_none(path or None, file.from_json, damaged)
    notes = [Note(NoteKind.STATUS_UNUSABLE, f"{exc} The groups count as ready from now on.") for exc in damaged]
    if now < begin or (last is not None and now < last.ended):
        text = "The clock of this machine has gone back since the last round: durations and ready_since may be wrong."
        notes.append(Note(NoteKind.CLOCK_WENT_BACK, text))
    return LastStatus(last or file.Status(file.ROUNDS, begin, begin, 0, None, None), begin, now, notes)


def write_status(module: Module, made: file.Status, directory: str) -> None:
    """Replace the status file and the metrics. directory: of the migration, whose name they have without the option."""
    params = module.params
    if module.check_mode:
        return
    if params["status"]:
        with files.locked(params["status"]):
            files.write_document(params["status"], file.to_json(made), file.from_json)
    if params["metrics"]:
        name = params["migration"] or os.path.basename(files.absolute(directory))
        files.write(params["metrics"], metrics.exposition(made, name), files.FOR_ALL)


def write_failure(module: Module, phase: str, reason: str, changed: int) -> list[Note]:
    """Write down why a round has failed, with the groups of the round before. -> notes, also on why that was not possible.

    changed: the offsets that it has written before it failed, as far as that is known.
    """
    params = module.params
    try:
        check_status_paths(params)
        last = last_status(params["status"], params["started"])
        before = last.status
        made = file.Status(phase, last.started, last.now, changed, reason, before.last_good, before.groups)
        written = _written(params["directory"], last) if phase == file.ROUNDS else []
        write_status(module, made.with_rounds((*before.rounds, *written)), params["directory"])
    except MigrationError as exc:
        return [Note(NoteKind.STATUS_UNUSABLE, f"The reason of the failure is not in the status file: {exc}")]
    return last.notes


def _written(directory: str, last: LastStatus) -> list[file.GroupRounds]:
    """What is to be known of the groups that this round has written before it failed. A damaged receipt tells nothing."""
    made = files.parsed_or_none(os.path.join(directory, "receipt.json"), receipt.from_json)
    groups = {line.group for line in (made.entries if made else ()) if (line.time or 0) >= int(last.started)}
    return [file.GroupRounds(group, last.status.ready_since.get(group), last.now) for group in sorted(groups)]
