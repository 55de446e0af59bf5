"""The lease is that of the process of ansible-playbook, the parent of the one in which an action runs."""

import os
import re
import socket
import types
from pathlib import Path

import pytest
from ansible.errors import AnsibleUndefinedVariable
from ansible.plugins.action import ActionBase

from ansible_collections.streamshift.kafka.plugins.action.kafka_migration_run import ActionModule
from ansible_collections.streamshift.kafka.plugins.module_utils._migration import processes
from tests.support.playbooks import NOWHERE, Controller, failed

ROOT = Path(__file__).parents[4]


def test_the_module_is_told_whose_process_it_is(monkeypatch):
    given = {}
    monkeypatch.setattr(ActionBase, "run", lambda *_arguments: {})
    monkeypatch.setattr(
        ActionModule, "_execute_module", lambda _self, **arguments: given.update(arguments) or {"changed": True}
    )
    action = ActionModule.__new__(ActionModule)
    action._task = types.SimpleNamespace(
        args={"directory": "/srv/kafka", "holder": {"process": 1}}, _role=None, check_mode=False, async_val=0
    )
    assert action.run(task_vars={"inventory_hostname": "cloud"}).keys() == {"changed", "seconds"}
    holder = given["module_args"].pop("holder")
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", given["module_args"].pop("collection"))
    its = {
        "module_args": {"directory": "/srv/kafka"},
        "task_vars": {"inventory_hostname": "cloud"},
        "wrap_async": False,
    }
    assert given == its
    assert (holder["host"], holder["process"]) == (socket.gethostname(), os.getppid())
    assert not processes.has_ended(holder["process"], holder["ticks"])


PROMOTION = {"source": "onprem", "destination": "cloud", "topics": ["orders"]}
ROLE, FENCE = "streamshift.kafka.topic_promotion", "streamshift.kafka.topic_fence"
DRY = "The role runs in check mode, but ansible-playbook does not."
REAL = "the keyword check_mode lets the tasks of the role run for real."


@pytest.mark.parametrize(
    ("words", "tasks", "said"),
    [
        ([], {"check_mode": True, "roles": [ROLE]}, DRY),
        ([], {"check_mode": True, "roles": [FENCE]}, DRY),
        (["--check"], {"check_mode": False, "roles": [ROLE]}, REAL),
        (["--check"], {"check_mode": False, "roles": [FENCE]}, REAL),
        (["--check"], {"roles": [{"role": ROLE, "check_mode": False}]}, REAL),
        (["--check"], {"tasks": [{"import_role": {"name": ROLE}, "check_mode": False}]}, REAL),
        (["--check"], {"tasks": [{"check_mode": False, "block": [{"include_role": {"name": ROLE}}]}]}, REAL),
        (["--check"], {"tasks": [{"include_role": {"name": ROLE, "apply": {"check_mode": False}}}]}, REAL),
    ],
)
def test_a_role_that_does_not_run_as_ansible_playbook_was_called_is_refused_before_anything_else(
    words, tasks, said, tmp_path
):
    """Only --check makes ansible_check_mode true, by which the tasks of a role know where the files of a dry run are."""
    directory = str(tmp_path / "files")
    given = {f"topic_promotion_{name}": value for name, value in {**PROMOTION, "directory": directory}.items()}
    given |= {"topic_fence_cluster": "cloud", "topic_fence_topics": ["orders"], "topic_fence_directory": directory}
    output = failed(Controller(tmp_path, onprem=NOWHERE, cloud=NOWHERE).run_play(*words, vars=given, **tasks))
    assert said in output and "cannot connect" not in output
    assert not (tmp_path / "files").exists()


def action_of_the_collection(monkeypatch, returned, **task):
    """An action in a task of the role common, whose module returns this."""
    monkeypatch.setattr(ActionBase, "run", lambda *_arguments: {})
    monkeypatch.setattr(ActionModule, "_execute_module", lambda _self, **_arguments: dict(returned))
    action = ActionModule.__new__(ActionModule)
    path = str(ROOT / "roles/common")
    role = types.SimpleNamespace(
        _role_collection="streamshift.kafka", _role_name="streamshift.kafka.common", _role_path=path
    )
    its = {"args": {}, "check_mode": False, "async_val": 0, "changed_when": [], "no_log": False, **task}
    action._task = types.SimpleNamespace(_role=role, **its)
    action._templar = types.SimpleNamespace(
        template=lambda value: value if isinstance(value, bool) else value.replace("{{ role }}", "group_migration")
    )
    return action


@pytest.mark.parametrize("failed", [False, True])
def test_a_role_adds_to_a_failure_how_to_go_on(monkeypatch, failed):
    action = action_of_the_collection(monkeypatch, {"failed": failed, "msg": "It is in use."})
    result = action.run(task_vars={"__common_after_failure": "Run {{ role }} again."})
    assert result["msg"] == ("It is in use. Run group_migration again." if failed else "It is in use.")


def test_a_fault_of_a_variable_that_a_role_names_does_not_hide_the_failure(monkeypatch):
    action = action_of_the_collection(monkeypatch, {"failed": True, "msg": "It is in use."})

    def undefined(_value):
        raise AnsibleUndefinedVariable("'x' is undefined")

    action._option_names = lambda _variables: {}
    action._templar = types.SimpleNamespace(template=undefined)
    assert action.run(task_vars={"__common_after_failure": "Run {{ x }}."})["msg"] == "It is in use."


def test_a_dry_run_tells_its_modules_which_directory_is_the_users(monkeypatch):
    action = action_of_the_collection(monkeypatch, {}, check_mode=True)
    names = {"directory": "group_migration_directory"}
    action._option_names = lambda _variables: names
    held = {"__common_begun": {"scratch": "/tmp/copy"}, "ansible_check_mode": True}
    given = []
    monkeypatch.setattr(ActionModule, "_execute_module", lambda _self, **its: given.append(its["module_args"]) or {})
    for more in ({}, {"_common_directory": "/srv/wave"}):
        action.run(task_vars={**held, **more})
    assert [args["option_names"] for args in given] == [
        names | {"/tmp/copy": "/tmp/copy"},
        names | {"/tmp/copy": "/srv/wave"},
    ]


@pytest.mark.parametrize(("has_news", "closes", "written"), [(False, False, 3), (True, False, 0), (True, True, 3)])
def test_a_run_without_news_leaves_to_handlers_what_the_last_one_with_news_has_done(
    monkeypatch, has_news, closes, written
):
    told = {"has_news": has_news, "written": 0, "said": ["Report: new"], "verification_failed": False}
    action = action_of_the_collection(monkeypatch, told, args={"state": "ended"})
    before = {"written": 3, "said": ["Report: old"], "verification_failed": True}
    result = action.run(task_vars={"streamshift_kafka_run": before, "__common_closes": closes})
    assert (result["written"], result["said"]) == (written, ["Report: new"])
    assert result["verification_failed"] is False


ROUND = {"role": "mirror_maker_group_sync", "phase": "sync", "directory": "/srv/kafka", "has_news": True}
GOOD = {**ROUND, "failure": None, "digest": "4b8", "verdicts": {"exact": 3}, "written": 3, "summary": ["3 changed"]}
STOPPED = {**ROUND, "failure": {"msg": "no broker answers"}, "may_start": [], "left_out": []}
EMPTY = {"digest": None, "verdicts": {}, "written": 0, "summary": []}


@pytest.mark.parametrize(
    ("own", "before", "told"),
    [
        ({}, GOOD, ("4b8", {"exact": 3}, 3, ["3 changed"])),
        ({"digest": "5c9", "verdicts": {"safe": 1}, "summary": ["1 safe"]}, GOOD, ("5c9", {"safe": 1}, 3, ["1 safe"])),
        ({"written": None}, GOOD, ("4b8", {"exact": 3}, None, ["3 changed"])),  # half-way, nobody knows
        ({}, {**GOOD, "directory": "/srv/other"}, (None, {}, 0, [])),
        ({"phase": "migrate"}, {**GOOD, "phase": "migrate"}, (None, {}, 0, [])),
    ],
)
def test_a_round_that_fails_leaves_to_handlers_what_good_ones_have_planned_and_written(monkeypatch, own, before, told):
    action = action_of_the_collection(monkeypatch, {**STOPPED, **EMPTY, **own}, args={"state": "ended"})
    result = action.run(task_vars={"streamshift_kafka_run": before})
    assert tuple(result[name] for name in EMPTY) == told
    assert result["failure"] == {"msg": "no broker answers"}
