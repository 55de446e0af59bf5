"""A backlog's copy is verified before any group may be set."""

from pathlib import Path

import pytest
import yaml
from jinja2 import Environment

TASKS = Path(__file__).parents[3] / "roles/backlog_migration/tasks/migrate.yml"


def named(tasks, name):
    for task in tasks:
        if task.get("name") == name:
            return task
        if found := named(task.get("block", []), name):
            return found
    return None


@pytest.mark.parametrize(
    "written, active_groups, has_plan, verified",
    [
        (3, [], True, True),
        (0, ["billing"], True, True),  # it may have no members any more when the commit looks
        (0, [], False, True),
        (0, [], True, False),
    ],
)
def test_it_is_verified_unless_nothing_may_be_set(written, active_groups, has_plan, verified):
    task = named(yaml.safe_load(TASKS.read_text()), "Compare all that was copied on both clusters")
    decide = Environment(autoescape=False).compile_expression(task["when"])
    ahead = {"written": written, "active_groups": active_groups}
    left = {"results": [None, {"stat": {"exists": has_plan}}]}
    assert decide(__backlog_migration_ahead=ahead, __backlog_migration_left=left) == verified
