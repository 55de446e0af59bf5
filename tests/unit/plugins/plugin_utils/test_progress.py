"""What a module says of its progress is seen while it works, in playbooks that play as users play theirs."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
PROGRAM = Path(sys.executable).parent / "ansible-playbook"

ACTION = """
from ansible_collections.streamshift.kafka.plugins.plugin_utils._progress import ProgressActionModule


class ActionModule(ProgressActionModule):
    pass
"""
# It waits in the middle of its work until the test has seen how far it is.
MODULE = """\
#!/usr/bin/python
import pathlib
import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.streamshift.kafka.plugins.module_utils._module.frame import reporter

spec = {"progress_file": {"type": "path"}, "go": {"type": "path"}, "fail": {"type": "bool"}, "value": {}}
module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
say = reporter(module.params["progress_file"])
say("half of it is done")
deadline = time.monotonic() + 30
while module.params["go"] and not pathlib.Path(module.params["go"]).exists():
    if time.monotonic() > deadline:
        module.fail_json(msg="nobody has seen the line")
    time.sleep(0.05)
say("nearly ready")
if module.params["fail"]:
    module.fail_json(msg="this cannot be done")
module.exit_json(changed=True, check=module.check_mode, value=module.params["value"])
"""
SEEN = ["[cloud] half of it is done", "[cloud] nearly ready"]


HOST = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The module, its action, and an inventory."""
    made = tmp_path_factory.mktemp("progress")
    for name, text in (("action", ACTION), ("library", MODULE)):
        (made / name).mkdir()
        (made / name / "slow.py").write_text(text)
    (made / "inventory.yml").write_text(json.dumps({"all": {"hosts": {"cloud": HOST}}}))
    return made


def start(folder, tasks, *words, stderr=subprocess.STDOUT):
    """A playbook of these tasks, which is played now."""
    play = {"name": "Play", "hosts": "cloud", "gather_facts": False, "tasks": tasks}
    (folder / "playbook.yml").write_text(json.dumps([play]))
    environment = {"ANSIBLE_ACTION_PLUGINS": str(folder / "action"), "ANSIBLE_LIBRARY": str(folder / "library")}
    environment |= {"ANSIBLE_NOCOLOR": "1", "PYTHONUNBUFFERED": "1"}  # both outputs in the order of a terminal
    return subprocess.Popen(
        [PROGRAM, "-i", folder / "inventory.yml", folder / "playbook.yml", *words],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
    )


def played(folder, tasks):
    """What a playbook of these tasks says."""
    process = start(folder, tasks)
    output, _nothing = process.communicate()
    assert process.returncode == 0, output
    return output


def shown(said):
    """The lines of progress, in order."""
    return [line for line in said.splitlines() if line.startswith("[cloud] ")]


TASKS = {
    "plain": {"args": {"value": "$5"}},
    "hidden": {"args": {"value": "$5"}, "no_log": True},
    "loop": {"loop": ["wave1", {"groups": ["billing"]}], "loop_control": {"loop_var": "wave"}},
    "failing": {"args": {"fail": True}, "ignore_errors": True},
    "background": {"async": 60, "poll": 1},
    "delegated": {"delegate_to": "127.0.0.1", "vars": {"ansible_connection": "local"}},
}


@pytest.fixture(scope="module")
def said(folder):
    """What a play says of each of these tasks, by its name, and then of the result of the task in ``NAME's result``."""
    tasks = []
    for name, keywords in TASKS.items():
        result = {"msg": "told {{ done.value | default }} {{ done.keys() | sort }}"}
        tasks += [
            {"name": name, "slow": {}, "register": "done", **keywords},
            {"name": f"{name}'s result", "ansible.builtin.debug": result},
        ]
    # A task's lines of progress come before its banner.
    parts = re.split(r"TASK \[(\w+)'s result\].*", played(folder, tasks))
    names, works, results = parts[1::2], parts[:-1:2], parts[2::2]
    return dict(zip(names, works, strict=True)) | {
        f"{name}'s result": result for name, result in zip(names, results, strict=True)
    }


@pytest.mark.parametrize("words", [[], ["--check"]], ids=["run", "check"])
def test_lines_are_seen_while_the_module_works_and_standard_output_is_left_to_ansible(folder, tmp_path, words):
    go = tmp_path / "go"
    lines = []
    with start(folder, [{"name": "Work", "slow": {"go": str(go)}}], *words, stderr=subprocess.PIPE) as process:
        for line in process.stderr:
            lines.append(line)
            if line.rstrip() == SEEN[0]:
                go.touch()
        output = process.stdout.read()
    assert process.returncode == 0, output
    assert shown("".join(lines)) == SEEN and not shown(output)
    assert "changed: [cloud]" in output


def test_lines_come_before_the_result_which_is_what_it_is_without_them(said):
    assert shown(said["plain"]) == SEEN
    assert said["plain"].index(SEEN[1]) < said["plain"].index("changed: [cloud]")
    told = [
        [line for line in said[f"{name}'s result"].splitlines() if "told $5" in line] for name in ("plain", "hidden")
    ]
    assert told[0] and told[0] == told[1]
    assert "progress" not in told[0][0]


def test_lines_of_a_loop_say_which_item_they_are_about(said):
    lines = [line for line in said["loop"].splitlines() if "is done" in line]
    assert lines == ["[cloud: wave1] half of it is done", "[cloud] half of it is done"]


def test_nothing_is_shown_of_a_task_that_shall_not_be_shown(said):
    assert "changed: [cloud]" in said["hidden"]
    assert not shown(said["hidden"]) and "half" not in said["hidden"]


def test_a_module_that_fails_keeps_its_message(said):
    assert shown(said["failing"]) == SEEN
    assert "this cannot be done" in said["failing"].partition(SEEN[1])[2]


def test_a_module_in_the_background_works_without_lines(said):
    assert "changed: [cloud]" in said["background"] and not shown(said["background"])


def test_a_runner_with_a_local_connection_shows_them_too(said):
    assert shown(said["delegated"]) == SEEN


NOBODY = {"become_user": "nobody", "become_method": "ansible.builtin.su", "become_flags": "-s /bin/sh"}
EVERYBODYS_PYTHON = "/usr/bin/python3"


def can_become_nobody():
    """Whether this user needs no password for that, and Ansible can work there."""
    enough = "import sys; sys.exit(sys.version_info < (3, 11))"
    command = ["su", "-s", "/bin/sh", "nobody", "-c", f'{EVERYBODYS_PYTHON} -c "{enough}"']
    return os.getuid() == 0 and bool(shutil.which("su")) and not subprocess.run(command, check=False).returncode


@pytest.mark.skipif(not can_become_nobody(), reason="a password or a Python is missing")
def test_another_user_who_cannot_write_the_lines_works_without_them(folder):
    keywords = {"become": True, "vars": {"ansible_python_interpreter": EVERYBODYS_PYTHON}, **NOBODY}
    said = played(folder, [{"name": "Work", "slow": {}, **keywords}])
    assert "changed: [cloud]" in said and not shown(said)
