# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""The assessment of an estate: what modules find becomes parts, and the parts become files for people and programs."""

from __future__ import annotations

import dataclasses
import os
import typing as t

from .._control.connect_rest import ConnectRest
from .._control.schema_registry import SchemaRegistry
from .._migration.assess_groups import AssessOptions, assess_groups
from .._migration.list_groups import GroupOverviews
from .._model import assessment, plan
from .._model.assessment import Assessment
from .._model.connection import Connection
from .._model.faults import all_of
from .._model.risks import Risk, RiskKind
from .._model.selection import Selection
from . import files, options
from ._report.assessment_story import assessment_story
from ._report.page import html_page
from ._report.ticket import markdown
from .frame import Module

_NAMES = ("assessment.json", "groups.csv", "topics.csv", "assessment.md", "assessment.html")


def registry(params: dict[str, t.Any]) -> SchemaRegistry | None:
    """The registry that the option describes, None for none. Raises InvalidInput for a URL that is none."""
    given = params["schema_registry"]
    return given and SchemaRegistry(**given)


def workers(params: dict[str, t.Any]) -> list[ConnectRest]:
    """The workers that the option describes. Raises InvalidInput for a URL that is none."""
    return all_of(lambda worker: ConnectRest(**worker), params["connect"])


def write_part(path: str, part: Assessment) -> None:
    """Write what one module has found, for the step that writes the assessment."""
    files.write_document(path, assessment.to_json(part), assessment.from_json)


def group_part(
    params: dict[str, t.Any], connection: Connection, listed: GroupOverviews, asked: Selection
) -> Assessment:
    """What kafka_group_info finds of a cluster."""
    every = not asked.groups and asked.group_patterns == (".*",) and not listed.left_out
    assess_options = options.filled(
        AssessOptions,
        params,
        read_records=params["read_records"] or params["schema_registry"] is not None,
        registry=registry(params),
        workers=workers(params),
        every=every,
        by_patterns=bool(asked.group_patterns),
    )
    return assess_groups(connection, listed, assess_options)


def write_assessment(module: Module) -> dict[str, t.Any]:
    """-> the result of kafka_migration_run with state=assessed. Raises InvalidFile for a part that is missing or damaged.

    Without parts, it only looks whether the files can be written: nobody wants to know that after all the work.
    """
    params = module.params
    folder = files.absolute(params["directory"])
    paths = {name: os.path.join(folder, name) for name in _NAMES}
    files.make_directory(folder, check=True)
    for path in paths.values() if os.path.isdir(folder) else ():
        files.check_writable(path)
    if not params["parts"]:
        return {"changed": False, "directory": folder}
    parts = [files.parsed_required(path, assessment.from_json, "assessment", None) for path in params["parts"]]
    unseen = [Risk(RiskKind.NOT_VISIBLE, text) for text in params["not_visible"]]
    entries: tuple[plan.PlanEntry, ...] = ()
    if params["plan"]:
        entries = files.parsed_required(params["plan"], plan.from_json, "plan", None).entries
    names = {name: params[name] for name in ("source", "destination")}
    whole = assessment.merged([Assessment(names), *parts, Assessment({}, risks=tuple(unseen))], entries)
    files.make_directory(folder, check=module.check_mode)
    previous = files.parsed_or_none(paths["assessment.json"], assessment.from_json)  # a damaged one is replaced
    whole = whole if previous is None else _same_time(whole, previous)
    story = assessment_story(whole)
    texts = {
        "assessment.json": assessment.to_json(whole),
        "groups.csv": assessment.groups_csv(whole),
        "topics.csv": assessment.topics_csv(whole),
        "assessment.md": markdown(story),
        "assessment.html": html_page(story),
    }
    changed = [name for name in _NAMES if files.read(paths[name]) != texts[name]]
    for name in changed:
        if name == "assessment.json":
            files.write_document(paths[name], texts[name], assessment.from_json, check=module.check_mode)
        elif not module.check_mode:
            files.write(paths[name], texts[name])
    return {
        "changed": bool(changed),
        "directory": folder,
        "headline": story.headline,
        "risks": whole.counts,
        "html": paths["assessment.html"],
        "markdown": paths["assessment.md"],
    }


def _same_time(now: Assessment, before: Assessment) -> Assessment:
    """The assessment with the time of the one before, if nothing else differs: what says the same stays as it is."""
    earlier = dataclasses.replace(now, head=now.head | {"read": before.head.get("read")})
    return earlier if assessment.to_json(earlier) == assessment.to_json(before) else now
