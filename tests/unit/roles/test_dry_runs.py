"""A dry run neither needs nor reads files that only a real run makes."""

from pathlib import Path

import pytest
import yaml
from jinja2 import Environment

ROOT = Path(__file__).parents[3]


def named(path, name):
    for play in yaml.safe_load((ROOT / path).read_text()):
        for task in play.get("tasks", [play]):
            if task.get("name") == name:
                return task
    raise LookupError(name)


def evaluated(expression, **variables):
    return Environment(autoescape=False).compile_expression(expression)(**variables)


@pytest.mark.parametrize("check", [False, True])
def test_an_assessment_reads_no_plan_of_an_earlier_run(check):
    task = named("roles/migration_assessment/tasks/plan.yml", "Let the assessment read it")
    planned = {"__migration_assessment_planned": {"stat": {"exists": True}}, "__migration_assessment_unplanned": []}
    assert evaluated(task["when"], **planned, ansible_check_mode=check) is not check


@pytest.mark.parametrize("check", [False, True])
def test_the_status_needs_no_directory_that_is_not_made(check):
    task = named("playbooks/migration_status.yml", "Look what has become of the groups")
    status = task["streamshift.kafka.kafka_group_readiness"]["status"].strip("{} ")
    path = evaluated(status, __write_to="new", omit="omitted", ansible_check_mode=check)
    assert path == ("omitted" if check else "new/status.json")
