"""On which conditions tasks of a role run, worked out by Ansible without the tasks before them."""

import json
from pathlib import Path

import pytest
import yaml

from tests.support.playbooks import NOWHERE, Controller, done

ROLES = Path(__file__).parents[3] / "roles"


@pytest.fixture
def runs(tmp_path):
    """``runs(file, task, **variables)`` -> whether this task of a block in this file of a role would run."""
    controller = Controller(tmp_path / "infrastructure", onprem=NOWHERE)

    def played(file, name, **variables):
        *_tasks, block = yaml.safe_load((ROLES / file).read_text())
        (task,) = [task for task in block["block"] if task["name"] == name]
        task = {"name": name, "ansible.builtin.debug": {"msg": "it runs"}, "when": task["when"]}
        play = {"name": "Play", "hosts": "onprem", "gather_facts": False, "vars": variables, "tasks": [task]}
        playbook = tmp_path / "conditions.json"
        playbook.write_text(json.dumps([play]))
        return "it runs" in done(controller.run(str(playbook))).output

    return played


@pytest.mark.parametrize("returns", [False, True])
def test_the_plan_of_a_return_does_not_replace_the_run_book_of_the_migration(runs, returns):
    its = {"group_migration_runbook": True, "group_migration_phase": "plan", "__group_migration_returns": returns}
    assert runs("group_migration/tasks/migrate.yml", "Write the run-book", **its) is not returns


@pytest.mark.parametrize(
    ("results", "sets"),
    [
        ({"verified": {"verified": 3}, "ahead": {"written": 3}}, True),
        ({"verified": {"skipped": True}, "ahead": {"written": 0}}, True),
        ({}, True),
        ({"verified": {"failed": True}, "ahead": {"written": 3}}, False),
        ({"ahead": {"failed": True}}, False),
    ],
)
def test_a_play_that_ignores_errors_sets_no_group_to_what_was_not_verified(runs, results, sets):
    its = {f"__backlog_migration_{name}": result for name, result in results.items()}
    assert (
        runs("backlog_migration/tasks/migrate.yml", "Set the groups", __backlog_migration_commits=True, **its) is sets
    )
