"""What holds a directory for a run tells the modules so, and releases it however the run ends."""

import typing as t

import pytest
import yaml

from tools.role_options import ROOT

ENVIRONMENT = "{{ __common_begun.environment | default({}) }}"
FILES = sorted((ROOT / "roles").glob("*/tasks/*.yml"))
BEGINS = {"begin.yml", "begin"}
ENDS = {"end.yml", "end"}
Task = dict[str, t.Any]


def called(task: Task) -> str | None:
    """The file, or the entry point of the role common, that a task includes."""
    for word, value in task.items():
        if word.rpartition(".")[2] in ("import_tasks", "include_tasks"):
            return str(value)
        if word.rpartition(".")[2] in ("import_role", "include_role") and value["name"] == "streamshift.kafka.common":
            return str(value["tasks_from"])
    return None


def blocks(tasks: list[Task]) -> t.Iterator[Task]:
    for task in tasks:
        if "block" in task:
            yield task
            for part in ("block", "rescue", "always"):
                yield from blocks(task.get(part, []))


HOLDING = [
    pytest.param(block, id=f"{file.parents[1].name}-{file.stem}")
    for file in FILES
    for block in blocks(yaml.safe_load(file.read_text()))
    if BEGINS & {called(task) for task in block["block"]}
]


def test_every_role_that_writes_files_holds_its_directory():
    # A rollback, a round, rounds, a cut-over, and four roles of their own, one in three files.
    assert len(HOLDING) == 10


@pytest.mark.parametrize("block", HOLDING)
def test_the_tasks_in_between_know_their_run(block):
    assert called(block["block"][0]) in BEGINS
    assert block["environment"] == ENVIRONMENT


@pytest.mark.parametrize("block", HOLDING)
def test_the_directory_is_released_however_the_run_ends(block):
    releases = [task for task in block["always"] if called(task) in ENDS]
    assert len(releases) == 1
    assert "when" not in releases[0]


def conditions(task: Task) -> list[str]:
    when = task["when"]
    return when if isinstance(when, list) else [when]


@pytest.mark.parametrize("file", ["common/tasks/next_round.yml", "topic_promotion/tasks/round.yml"])
def test_a_role_that_ends_before_its_always_releases_the_directory_first(file):
    *_tasks, release, end = yaml.safe_load((ROOT / "roles" / file).read_text())
    assert end["ansible.builtin.meta"] == "end_role"
    assert called(release) in ENDS
    assert conditions(release) == conditions(end)
    assert not any("now(" in condition for condition in conditions(end))  # the time goes on between both


def calls(tasks: list[Task], given: dict[str, t.Any]) -> t.Iterator[tuple[str, dict[str, t.Any]]]:
    """What includes roles/common, with all variables that it gives."""
    for task in tasks:
        its = given | task.get("vars", {})
        for part in ("block", "rescue", "always"):
            yield from calls(task.get(part, []), its)
        for word in ("import_role", "include_role"):
            if task.get(f"ansible.builtin.{word}", {}).get("name") == "streamshift.kafka.common":
                yield task["name"], its


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parents[1].name}-{file.stem}")
def test_each_call_of_the_shared_tasks_says_for_which_role(file):
    """The vars of a role alone would be those of another one, if several roles of a play run in turns."""
    role = file.parents[1].name
    # The rounds of topic_promotion are in the block of its main.yml.
    given = {"_common_role": role} if (role, file.stem) == ("topic_promotion", "round") else {}
    found = list(calls(yaml.safe_load(file.read_text()), given))
    assert [name for name, its in found if its.get("_common_role") != role] == []
