"""On which conditions tasks of a role or a playbook run, without the tasks before them."""

import json

import pytest
import yaml
from jinja2 import Environment

from tests.support.playbooks import ROOT, done


@pytest.fixture
def played(controller):
    """``played(task, **of_the_play)`` -> what a play of this one task prints, which succeeds."""

    def run(task, **of_the_play):
        play = {"name": "Play", "hosts": "cloud", "gather_facts": False, "tasks": [task], **of_the_play}
        playbook = controller.directory.parent / "conditions.json"
        playbook.write_text(json.dumps([play]))
        return done(controller.run(str(playbook))).output

    return run


@pytest.fixture
def runs(played):
    """``runs(file, task, **variables)`` -> whether Ansible would run this task of a file, with these variables."""

    def run(file, name, **variables):
        task = {"name": name, "ansible.builtin.debug": {"msg": "it runs"}, "when": named(file, name)["when"]}
        return "it runs" in played(task, vars=variables)

    return run


def named(file, name):
    """The task of this name, in whatever play or block of the file it is."""
    tasks = [task for each in yaml.safe_load((ROOT / file).read_text()) for task in each.get("tasks", [each])]
    for task in tasks:  # grows meanwhile
        if task.get("name") == name:
            return task
        tasks += task.get("block", [])
    raise LookupError(name)


def evaluated(expression, **variables):
    """For conditions that need nothing of Ansible's own."""
    return Environment(autoescape=False).compile_expression(expression)(**variables)


@pytest.mark.parametrize("returns", [False, True])
def test_the_plan_of_a_return_does_not_replace_the_run_book_of_the_migration(runs, returns):
    its = {"group_migration_runbook": True, "group_migration_phase": "plan", "__group_migration_returns": returns}
    assert runs("roles/group_migration/tasks/migrate.yml", "Write the run-book", **its) is not returns


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
    its["__backlog_migration_commits"] = True
    assert runs("roles/backlog_migration/tasks/migrate.yml", "Set the groups", **its) is sets


def test_a_play_that_ignores_errors_verifies_a_plan_though_the_preview_of_its_commit_has_failed(played, controller):
    its = {
        "role": "group_migration",
        "phase": "migrate",
        "source": "onprem",
        "destination": "cloud",
        "directory": str(controller.directory / "migration"),  # without a plan, so that no cluster is asked
        "steps": ["verify", "commit"],
        "selection": {"groups": ["billing"], "group_patterns": [], "topics": [], "topic_patterns": []},
        "verify_options": {"method": "records", "on_absent": "fail"},
        "commit_options": {"on_blocked": "fail", "on_rewind": "fail", "on_active_group": "fail", "idle_wait": 0},
    }
    task = {
        "name": "Migrate",
        "ansible.builtin.import_role": {"name": "streamshift.kafka.common", "tasks_from": "round"},
        "vars": {f"_common_{name}": value for name, value in its.items()},
    }
    output = played(task, ignore_errors=True)
    for step in ("See what would be written", "Verify the plan before anything is written", "Set the groups"):
        said = output.partition(f"{step}] ")[2].partition("TASK [")[0]
        assert "...ignoring" in said and "plan.json" in said, output


@pytest.mark.parametrize(
    "written, active_groups, has_plan, verified",
    [
        (3, [], True, True),
        (0, ["billing"], True, True),  # it may have no members any more when the commit looks
        (0, [], False, True),
        (0, [], True, False),
    ],
)
def test_a_copied_backlog_is_verified_unless_nothing_may_be_set(written, active_groups, has_plan, verified):
    task = named("roles/backlog_migration/tasks/migrate.yml", "Compare all that was copied on both clusters")
    ahead = {"written": written, "active_groups": active_groups}
    left = {"results": [None, {"stat": {"exists": has_plan}}]}
    its = {"__backlog_migration_ahead": ahead, "__backlog_migration_left": left}
    assert evaluated(task["when"], **its) == verified


@pytest.mark.parametrize("check", [False, True])
def test_an_assessment_reads_no_plan_of_an_earlier_run_in_a_dry_run(check):
    task = named("roles/migration_assessment/tasks/plan.yml", "Let the assessment read it")
    planned = {"__migration_assessment_planned": {"stat": {"exists": True}}, "__migration_assessment_unplanned": []}
    assert evaluated(task["when"], **planned, ansible_check_mode=check) is not check


@pytest.mark.parametrize("check", [False, True])
def test_the_status_needs_no_directory_that_a_dry_run_does_not_make(check):
    task = named("playbooks/migration_status.yml", "Look what has become of the groups")
    status = task["streamshift.kafka.kafka_group_readiness"]["status"].strip("{} ")
    path = evaluated(status, __write_to="new", omit="omitted", ansible_check_mode=check)
    assert path == ("omitted" if check else "new/status.json")
