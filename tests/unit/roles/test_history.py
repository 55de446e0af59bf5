"""Which runs keep their files, and what becomes of a run whose files cannot be kept."""

import json
import re
import sys
from pathlib import Path

import pytest

from tests.support.playbooks import done, failed
from tests.support.reported import ENTRIES, texts_of

MEGABYTE = 2**20


@pytest.fixture
def home(controller):
    """A directory with the files of a run inside one cluster."""
    folder = controller.directory / "kafka-clones/onprem"
    folder.mkdir(parents=True)
    (folder / "plan.json").write_text("plan")
    (folder / "receipt.json").write_text("receipt")
    return folder


def common(tasks_from, home, **variables):
    its = {"role": "group_clone", "phase": "clone", "directory": str(home), "keep_history": 20, **variables}
    return {
        "name": f"Play {tasks_from}",
        "ansible.builtin.include_role": {"name": "streamshift.kafka.common", "tasks_from": tasks_from},
        "vars": {f"_common_{name}": value for name, value in its.items()},
    }


@pytest.fixture
def end(controller, home):
    """Play the end of a run that holds its directory, with these results of its tasks. python: runs the modules.

    first: tasks before the run. then: of the run, before its end.
    """

    def play(*, python=None, words=(), first=(), then=(), **variables):
        results = {step: variables.pop(step) for step in ("plan", "commit", "groups", "rollback") if step in variables}
        plain = {"source": "onprem", "destination": "onprem", "selection": {}, **variables}
        block = {
            "name": "Run",
            "environment": "{{ __common_begun.environment | default({}) }}",
            "block": [common("begin", home), *then],
            "always": [common("end", home, results=results, **plain)],
        }
        extra = {} if python is None else {"ansible_python_interpreter": str(python)}
        return controller.run_play(*words, hosts="onprem", vars=extra, tasks=[*first, block])

    return play


FAILED = {"failed": True, "msg": "no broker answers"}
ROLES = Path(__file__).parents[3] / "roles"


def test_no_run_tells_the_results_of_an_earlier_run_of_its_play():
    texts = [path.read_text() for path in (*ROLES.glob("*/tasks/*.yml"), ROLES / "common/vars/main.yml")]
    told = {
        name
        for text in texts
        for results in re.findall(r"_common_results:\n((?: +[\w ]+: .*\n)+)", text)
        for name in re.findall(r": (__\w+)\n", results)
    }
    forgotten = {
        name
        for text in texts
        for facts in re.findall(r"- name: Forget .*\n +ansible.builtin.set_fact:.*\n((?: +[#_].*\n)+)", text)
        for name in re.findall(r"(__\w+):", facts)
    }
    assert len(told) > 20 and told <= forgotten


def test_a_round_that_fails_does_not_tell_the_results_of_the_round_before_it(controller):
    its = {"role": "mirror_maker_group_sync", "steps": ["snapshot"], "commit_options": {"on_blocked": "fail"}}
    given = {f"_common_{name}": value for name, value in its.items()}
    given |= {"__common_begun": {"held": True}, "__common_round": 2, "_common_source": "onprem"}
    before = {"__common_commit": {"written": 3}, "__common_plan": {"changed": True}}
    following = {"ansible.builtin.include_role": {"name": "streamshift.kafka.common", "tasks_from": "next_round"}}
    said = "{{ [ansible_failed_result.msg, __common_commit, __common_plan, __common_snapshot is failed] | to_json }}"
    task = {
        "name": "Go on",
        "block": [{"name": "Do a round", **following, "vars": given}],
        "rescue": [
            {"name": "Tell", "ansible.builtin.copy": {"content": said, "dest": str(controller.directory / "told")}}
        ],
    }
    first = {"name": "Have results", "ansible.builtin.set_fact": before}
    extra = {
        "mirror_maker_group_sync_groups": ["billing"],
        "mirror_maker_group_sync_directory": str(controller.directory),
    }
    done(controller.run_play("-e", json.dumps(extra), hosts="onprem", tasks=[first, task]))
    message, *results = json.loads((controller.directory / "told").read_text())
    assert "cannot connect" in message and results == [{}, {}, True]


COMMITTED = {"plan": {"changed": False}, "commit": {"changed": True}}


@pytest.mark.parametrize(
    ("results", "words", "kept"), [(COMMITTED, [], 1), (COMMITTED, ["--check"], 0), ({"plan": FAILED}, [], 1)]
)
def test_a_run_keeps_its_files_if_it_has_changed_something_or_failed(end, controller, results, words, kept):
    assert done(end(**results, words=words)).changed == 0
    assert len(controller.history()) == kept


def test_an_end_that_fails_is_told_also_where_the_run_names_its_report_later(end):
    later = {"name": "Later", "ansible.builtin.set_fact": {"__common_names_report": True}}
    output = done(end(plan={"changed": True}, keep_history=-1, first=[later])).output
    assert "The run has not ended as it should. group_clone_keep_history is -1" in output


def test_the_report_of_a_plan_tells_what_a_commit_would_refuse(end, home):
    for name, text in texts_of(ENTRIES[:2]).items():
        (home / name).write_text(text)
    refusal = {"failed": True, "msg": "offset 46 is before 99", "failure": {}}
    then = [{"name": "Look", "ansible.builtin.set_fact": {"__common_refusal": refusal}}]
    done(end(plan={"changed": True, "digest": "4b8"}, phase="plan", report=True, then=then))
    assert "offset 46 is before 99" in (home / "report.md").read_text()


def test_a_run_begins_when_it_begins_and_not_with_rounds_of_an_earlier_play(end, controller, home):
    facts = {"name": "Rounds", "ansible.builtin.set_fact": {"__common_begun": {}, "__common_started": "1000.0"}}
    done(end(plan={"changed": True}, first=[facts]))
    assert json.loads((controller.history()[0] / "run.json").read_text())["started"] > 1000


@pytest.fixture
def full(tmp_path):
    """A Python whose files cannot grow beyond 4 MB, as on a file system that is full in the middle of a folder."""
    python = tmp_path / "python"
    python.write_text(f'#!/bin/bash\nulimit -f {4 * MEGABYTE // 1024}\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    return python


@pytest.mark.parametrize("ending", ["succeeds", "fails"])
def test_a_full_file_system_leaves_no_part_of_a_folder_and_the_run_ends_as_it_would_have(
    end, controller, home, full, ending
):
    earlier = home / "history/2026-01-01T000000Z-clone"
    earlier.mkdir(parents=True)
    (home / "receipt.json").write_text("x" * 5 * MEGABYTE)
    reason = "the reason of the run"
    then = [{"name": "Fail", "ansible.builtin.fail": {"msg": reason}}] if ending == "fails" else []
    played = end(plan={"changed": True}, python=full, then=then)
    output = done(played).output if ending == "succeeds" else failed(played)
    assert (reason in output) == (ending == "fails")
    assert "Warning: this run is missing from the history, and otherwise ends as usual: " in output
    assert f"the files of this run cannot be kept in {home}/history/" in output and "File too large" in output
    assert "set group_clone_keep_history to 0" in output
    assert controller.history() == [earlier]
    # The files of the run are what they were, and nobody holds the directory any more.
    assert sorted(file.name for file in home.iterdir()) == ["history", "plan.json", "receipt.json"]
    assert (home / "receipt.json").stat().st_size == 5 * MEGABYTE
