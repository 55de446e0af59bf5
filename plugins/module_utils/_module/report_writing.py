# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Write the report of a run, report.html and report.md, from run.json and the other files of its directory."""

from __future__ import annotations

import dataclasses
import datetime
import os
import typing as t

from ansible.module_utils.common.validation import check_type_list

from .._migration.log_bounds import read_log_bounds
from .._model import run_record
from .._model.errors import InvalidInput
from .._model.history import REPORT_FILES, RUN
from .._model.policies import OnMismatch
from . import files, options
from ._report.figures import KnownLogs, group_partitions
from ._report.migration_files import NAMES, MigrationFiles, read_files
from ._report.occasion import Occasion
from ._report.page import html_page
from ._report.story import story
from ._report.ticket import markdown
from .directions import Asked, RoleSettings
from .migration_directory import is_in_return
from .results import note_results
from .run_outcome import RunOutcome

if t.TYPE_CHECKING:
    from .frame import Module


def write_report(module: Module, outcome: RunOutcome, made: t.Callable[[], run_record.RunRecord]) -> dict[str, t.Any]:
    """-> the members html, markdown, headline, notes and note_kinds of the module's result. In check mode, write nothing.

    made: what the run has done, asked for when both clusters have been. Where nothing is known of the run, what run.json says.
    """
    params = module.params
    folder = files.absolute(params["directory"])
    paths = {name: os.path.join(folder, name) for name in (*REPORT_FILES, RUN)}
    for path in paths.values():
        files.check_writable(path)
    texts = {name: files.read(os.path.join(folder, name)) for name in NAMES if name in params["files"]}
    present = {name: text for name, text in texts.items() if text is not None}
    others = [name for name in present if params["state"] == "ended" and name in outcome.not_made]
    for name in others:
        del present[name]
    migration = read_files(present, folder, OnMismatch(params["on_mismatch"]))
    if others:
        why = (
            f"This run ended before it had made a plan. So the report leaves out {', '.join(others)} of an earlier run."
        )
        migration = dataclasses.replace(migration, left_out=(*migration.left_out, why))
    logs = _logs(params, migration)
    last = None if outcome.results or params["state"] == "ended" else _last_run(paths[RUN], outcome, migration)
    run = last or made()
    told = story(migration, _occasion(params, migration, outcome, run), logs)
    if not module.check_mode:
        files.write(paths["report.html"], html_page(told))
        files.write(paths["report.md"], markdown(told))
        if params["state"] == "ended":
            files.write_document(paths[RUN], run_record.to_json(run), run_record.from_json)
    return {
        "html": paths["report.html"],
        "markdown": paths["report.md"],
        "headline": told.headline,
        **note_results(told.notes),
    }


def _last_run(path: str, outcome: RunOutcome, migration: MigrationFiles) -> run_record.RunRecord | None:
    """What run.json says, None where there is none, and where it is about another plan or another phase."""
    run = files.parsed(path, run_record.from_json)
    if run is None or run.plan not in (None, migration.digests.get("plan.json")):
        return None
    return run if outcome.phase in ("", run.phase) else None


def _occasion(
    params: dict[str, t.Any], migration: MigrationFiles, outcome: RunOutcome, run: run_record.RunRecord
) -> Occasion:
    if run.failure is not None and not outcome.results:
        msg = f"The step {run.failure.step} failed ({run.failure.kind or 'see its message'})."
        outcome = dataclasses.replace(outcome, results={run.failure.step: {"failed": True, "msg": msg}})
    refusal = " ".join((params["refusal"] or ("see the output of this run." if run.refused else "")).split("\n"))
    asked = Asked(
        files.absolute(params["directory"]),
        **{name: params[name] or "" for name in ("role", "source", "destination")},
        returns=is_of_return(params),
        refused=bool(refusal),
        source_lost=migration.plan is not None and not migration.plan.source_id,
        settings=RoleSettings(**(params["settings"] or {})),
    )
    return Occasion(
        asked,
        outcome,
        run,
        datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
        selection=_selection(params["selection"]),
        refusal=refusal,
        ran_by=params["ran_by"] or "",
        files=[name for name in NAMES if name in params["files"]],
    )


def is_of_return(params: dict[str, t.Any]) -> bool:
    """Whether the run returns groups, or rolls a return back: the files of that are in the directory of the migration."""
    return params["returns"] or is_in_return(os.path.join(params["directory"], "receipt.json"))


def _logs(params: dict[str, t.Any], migration: MigrationFiles) -> KnownLogs:
    """The logs of the clusters that are given, those that an offset of this migration is in."""
    rows = group_partitions(migration)
    at_source = {at.partition for row in rows for at in row.source if at.offset is not None}
    at_destination = {row.partition for row in rows if row.offset is not None}
    wanted = {"source": (migration.source, at_source), "destination": (migration.destination, at_destination)}
    connections = {side: options.connection(params, f"{side}_cluster") for side in wanted if params[f"{side}_cluster"]}
    read = {side: read_log_bounds(connection, *wanted[side]) for side, connection in connections.items()}
    ranges = {side: bounds.ranges for side, bounds in read.items()}
    return KnownLogs(**ranges, notes=tuple(bounds.note for bounds in read.values() if bounds.note))


def _selection(given: dict[str, t.Any]) -> dict[str, list[str]]:
    """The selection as lists of texts, in the order of the options. A text or number is the list that Ansible makes of it."""
    for name, chosen in given.items():
        if name not in options.SELECTION or not isinstance(chosen, list | str | int | float):
            raise InvalidInput(
                f"selection has {name!r}, which is not a list of {', '.join(options.SELECTION)}",
                remedy="give the selection that the role was given",
            )
    lists = {name: [str(each) for each in check_type_list(chosen)] for name, chosen in given.items()}
    return {name: lists[name] for name in options.SELECTION if lists.get(name)}
