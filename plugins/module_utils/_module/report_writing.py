# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""Write the report of a run, report.html and report.md, from the files of its directory."""

from __future__ import annotations

import datetime
import os
import platform
import typing as t

from ansible.module_utils.ansible_release import __version__ as ansible_version

from .._migration.log_bounds import read_log_bounds
from .._model.errors import InvalidInput
from .._model.policies import OnMismatch
from . import files, options
from ._report.figures import group_partitions
from ._report.logs import KnownLogs
from ._report.migration_files import NAMES, MigrationFiles, read_files
from ._report.occasion import Occasion
from ._report.page import html_page
from ._report.story import story
from ._report.ticket import markdown
from .note_results import note_results
from .run_outcome import RunOutcome

if t.TYPE_CHECKING:
    from .masking import Module

SELECTION = ("groups", "group_patterns", "exclude_group_patterns", "topics", "topic_patterns", "exclude_topic_patterns")


def write_report(module: Module, outcome: RunOutcome) -> dict[str, t.Any]:
    """-> the members html, markdown, headline, notes and note_kinds of the module's result. In check mode, write nothing."""
    params = module.params
    folder = os.path.abspath(params["directory"])
    paths = {name: os.path.join(folder, name) for name in ("report.html", "report.md")}
    for path in paths.values():
        files.check_writable(path)
    texts = {name: files.read(os.path.join(folder, name)) for name in NAMES if name in params["files"]}
    present = {name: text for name, text in texts.items() if text is not None}
    migration = read_files(present, folder, OnMismatch(params["on_mismatch"]))
    told = story(migration, _occasion(params, folder, outcome), _logs(params, migration))
    if not module.check_mode:
        files.write(paths["report.html"], html_page(told))
        files.write(paths["report.md"], markdown(told))
    return {
        "html": paths["report.html"],
        "markdown": paths["report.md"],
        "headline": told.headline,
        **note_results(told.notes),
    }


def _occasion(params: dict[str, t.Any], folder: str, outcome: RunOutcome) -> Occasion:
    is_rollback = outcome.phase == "rollback"
    return Occasion(
        folder,
        datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
        role=params["role"] or "",
        phase=outcome.phase,
        returns=params["returns"],
        source=params["source"] or "",
        destination=params["destination"] or "",
        selection=_selection(params["selection"]),
        versions={"ansible-core": ansible_version, "Python": platform.python_version()},
        failure=outcome.failure["msg"] if outcome.failure is not None else "",
        ran_by=params["ran_by"] or "",
        written=outcome.written,
        left_out=[] if is_rollback else outcome.in_use,
        steps=[] if is_rollback else outcome.steps,
        files=[name for name in NAMES if name in params["files"]],
    )


def _logs(params: dict[str, t.Any], migration: MigrationFiles) -> KnownLogs:
    """The logs of the clusters that are given, those that an offset of this migration is in."""
    rows = group_partitions(migration)
    at_source = {at.partition for row in rows for at in row.source if at.offset is not None}
    at_destination = {row.partition for row in rows if row.offset is not None}
    clusters = (
        ("source_cluster", migration.source, at_source),
        ("destination_cluster", migration.destination, at_destination),
    )
    connections = {name: options.connection(params, name) for name, _id, _wanted in clusters if params[name]}
    read = {
        name: read_log_bounds(connections[name], cluster, wanted)
        for name, cluster, wanted in clusters
        if name in connections
    }
    source, destination = (read[name].ranges if name in read else None for name, _id, _wanted in clusters)
    return KnownLogs(source, destination, tuple(its.note for its in read.values() if its.note))


def _selection(given: dict[str, t.Any]) -> dict[str, list[str]]:
    """The selection as lists of texts, in the order of SELECTION."""
    for name, chosen in given.items():
        if name not in SELECTION or not isinstance(chosen, list):
            raise InvalidInput(
                f"selection has {name!r}, which is not a list of {', '.join(SELECTION)}",
                remedy="give the selection that the role was given",
            )
    return {name: [str(each) for each in given[name]] for name in SELECTION if given.get(name)}
