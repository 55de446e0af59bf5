"""Which runs keep their files, and what becomes of a run whose files cannot be kept."""

import json
import sys

import pytest

from tests.support.playbooks import Controller, done, failed

NOWHERE = {"bootstrap_servers": ["127.0.0.1:1"]}
MEGABYTE = 2**20


@pytest.fixture
def controller(tmp_path):
    return Controller(tmp_path / "infrastructure", onprem=NOWHERE)


@pytest.fixture
def home(controller):
    """A directory with the files of a reset."""
    folder = controller.directory / "kafka-resets/onprem"
    folder.mkdir(parents=True)
    (folder / "plan.json").write_text("plan")
    (folder / "receipt.json").write_text("receipt")
    return folder


def common(tasks_from, home, **variables):
    its = {"role": "group_reset", "phase": "reset", "directory": str(home), "keep_history": 20, **variables}
    return {
        "name": f"Play {tasks_from}",
        "ansible.builtin.include_role": {"name": "streamshift.kafka.common", "tasks_from": tasks_from},
        "vars": {f"common_{name}": value for name, value in its.items()},
    }


@pytest.fixture
def end(controller, home):
    """Play the end of a run that holds its directory, with these results of its tasks. python: runs the modules."""

    def play(*, python=None, words=(), then=(), **variables):
        results = {step: variables.pop(step) for step in ("plan", "commit", "groups", "rollback") if step in variables}
        plain = {"source": "onprem", "destination": "onprem", "selection": {}, **variables}
        block = {
            "name": "Run",
            "environment": "{{ __common_begun.environment | default({}) }}",
            "block": [common("begin", home), *then],
            "always": [common("end", home, results=results, **plain)],
        }
        extra = {} if python is None else {"ansible_python_interpreter": str(python)}
        play = {"name": "Play", "hosts": "onprem", "gather_facts": False, "vars": extra, "tasks": [block]}
        playbook = controller.directory.parent / "end.json"
        playbook.write_text(json.dumps([play]))
        return controller.run(str(playbook), *words)

    return play


FAILED = {"failed": True, "msg": "no broker answers"}


@pytest.mark.parametrize(
    ("results", "kept"),
    [
        ({"plan": {"changed": False}, "commit": {"changed": True}}, 1),
        ({"plan": FAILED}, 1),
        ({"plan": {"changed": False}, "commit": {}}, 0),
        ({}, 0),
    ],
)
def test_a_run_keeps_its_files_if_it_has_changed_something_or_failed(end, controller, results, kept):
    assert done(end(**results)).changed == 0
    assert len(controller.history()) == kept
    assert done(end(**results, words=["--check"])).changed == 0
    assert len(controller.history()) == kept


def test_the_report_of_another_run_is_not_kept(end, controller, home):
    (home / "report.md").write_text("another run's")
    output = done(end(plan={"changed": True}, report=True, selection={"group": ["billing"]})).output
    assert "No report was written." in output
    assert (home / "report.md").read_text() == "another run's"
    done(end(plan={"changed": True}, report=True))
    assert [(folder / "report.md").exists() for folder in controller.history()] == [False, True]


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
    earlier = home / "history/2026-01-01T000000Z-reset"
    earlier.mkdir(parents=True)
    (home / "receipt.json").write_text("x" * 5 * MEGABYTE)
    reason = "the reason of the run"
    then = [{"name": "Fail", "ansible.builtin.fail": {"msg": reason}}] if ending == "fails" else []
    played = end(plan={"changed": True}, python=full, then=then)
    output = done(played).output if ending == "succeeds" else failed(played)
    assert (reason in output) == (ending == "fails")
    assert "Warning: this run is missing from the history, and otherwise ends as usual." in output
    assert f"the files of this run cannot be kept in {home}/history/" in output and "File too large" in output
    assert "set group_reset_keep_history to 0" in output
    assert controller.history() == [earlier]
    # The files of the run are what they were, and nobody holds the directory any more.
    assert sorted(file.name for file in home.iterdir()) == ["history", "plan.json", "receipt.json"]
    assert (home / "receipt.json").stat().st_size == 5 * MEGABYTE
