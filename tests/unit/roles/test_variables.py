"""Each variable of a role is used, and each phase has its steps."""

import re

import pytest
import yaml

from tools import role_options

ROOT = role_options.ROOT
Options = role_options.Options


def specified(role: str) -> Options:
    options: Options = yaml.safe_load(role_options.specification(role).read_text())["argument_specs"]["main"]["options"]
    return options


@pytest.mark.parametrize("role", role_options.ROLES)
def test_every_variable_is_used(role):
    folder = ROOT / "roles" / role
    tasks = "".join(
        file.read_text() for file in sorted(folder.glob("*/*.yml")) if file.parent.name in ("tasks", "vars")
    )
    shared = {f"{role}_{name}" for name in role_options.read_for_all()}
    assert [name for name in specified(role) if name not in tasks and name not in shared] == []


def test_no_loop_takes_the_item_of_whoever_includes_the_role_in_a_loop():
    """The user's variables are worked out within the loop, where item would be another one."""
    files = sorted((ROOT / "roles").glob("*/tasks/*.yml"))
    assert [file for file in files if re.search(r"\bitem\b", file.read_text())] == []


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
