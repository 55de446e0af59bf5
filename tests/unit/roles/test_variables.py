# SPDX-License-Identifier: GPL-3.0-or-later

"""The roles' variables are the modules' options: the same names, types, choices and defaults."""

from __future__ import annotations

import re

import pytest
import yaml

from tools import role_docs

ROOT = role_docs.ROOT
Options = role_docs.Options

# A snapshot alone harms nobody; a new group inside one cluster should have committed nothing; a reset was asked for.
OTHER_DEFAULTS = {
    "on_active_source": "fail",
    "idle_wait": 5,
    "group_clone_on_advance": "fail",
    "group_reset_on_rewind": "rewind",
    "group_migration_on_new_records": "fail",
    "group_migration_on_still_written": "note",
}
NO_DEFAULT = {"group_migration_wait_for_replication"}  # it depends on the phase
NOT_OFFERED = {"group_migration_strategy": {"reset"}}  # the role group_reset does that
OPTIONS = [
    pytest.param(role, variable, option, id=f"{role}-{module}.{variable}")
    for role in role_docs.ROLES
    for module, variable, option in role_docs.passed_on(role)
]


def specified(role: str) -> Options:
    options: Options = yaml.safe_load(role_docs.specification(role).read_text())["argument_specs"]["main"]["options"]
    return options


def said(option: Options, inner: str) -> Options:
    return {
        "type": option["type"],
        "elements": option.get("elements"),
        "choices": sorted(option.get("choices") or []),
        "default": option.get("default"),
        "options": {name: said(each, inner) for name, each in (option.get(inner) or {}).items()},
    }


@pytest.mark.parametrize(("role", "name", "option"), OPTIONS)
def test_every_option_of_the_modules_is_a_variable_of_the_role(role, name, option):
    default = OTHER_DEFAULTS.get(f"{role}_{name}", OTHER_DEFAULTS.get(name))
    expected = said(option, "suboptions") | ({"default": default} if default is not None else {})
    if f"{role}_{name}" in NO_DEFAULT:
        expected["default"] = None
    expected["choices"] = sorted(set(expected["choices"]) - NOT_OFFERED.get(f"{role}_{name}", set()))
    assert said(specified(role)[f"{role}_{name}"], "options") == expected


@pytest.mark.parametrize("role", role_docs.ROLES)
def test_every_variable_is_used(role):
    folder = ROOT / "roles" / role
    tasks = "".join(
        file.read_text() for file in sorted(folder.glob("*/*.yml")) if file.parent.name in ("tasks", "vars")
    )
    assert [name for name in specified(role) if name not in tasks] == []


def test_topics_are_promoted_in_every_phase_that_commits_or_plans():
    role = ROOT / "roles/group_migration"
    (block,) = yaml.safe_load((role / "tasks/migrate.yml").read_text())
    phases = set(specified("group_migration")["group_migration_phase"]["choices"]) - {"rollback"}
    states = block["vars"]["__group_migration_promotion"]
    assert set(states) == phases == set(block["vars"]["__group_migration_steps"])
    # Only where nothing is planned anew, the plan of an earlier run is applied.
    steps = block["vars"]["__group_migration_steps"]
    assert {phase for phase, state in states.items() if state == "applied"} == {
        phase for phase in phases if "plan" not in steps[phase]
    }
    assert {phase for phase, state in states.items() if state == "planned"} == {
        phase for phase in phases if "commit" not in steps[phase]
    }


def test_no_role_decides_by_lines_for_people():
    """Whoever rewords a message must not change what a role does."""
    decides = re.compile(r"\.(summary|not_exact|left_out)\b\s*([!=]=|in\b|\|\s*(select|reject|regex_\w+)\b)")
    assert [
        f"{file.relative_to(ROOT)}: {line.strip()}"
        for file in sorted(ROOT.glob("roles/*/*/*.yml"))
        for line in file.read_text().splitlines()
        if decides.search(line)
    ] == []
