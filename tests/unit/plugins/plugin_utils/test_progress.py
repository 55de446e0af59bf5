"""What a module says of its progress is seen while it works, in playbooks that play as users play theirs."""

import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
PROGRAM = Path(sys.executable).parent / "ansible-playbook"
DEADLINE = 60.0  # seconds

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
from ansible_collections.streamshift.kafka.plugins.module_utils._module.progress_file import progress_spec, reporter

spec = {**progress_spec(), "go": {"type": "path"}, "fail": {"type": "bool"}, "value": {}}
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


class Playing:
    """A playbook while it is played, and the lines that were read of what it says."""

    def __init__(self, directory: Path, words: list[str], separate: bool) -> None:
        environment = {
            "ANSIBLE_ACTION_PLUGINS": str(directory / "action"),
            "ANSIBLE_LIBRARY": str(directory / "library"),
        }
        self.process = subprocess.Popen(
            [PROGRAM, "-i", directory / "inventory.yml", directory / "playbook.yml", *words],
            cwd=ROOT,
            env={**os.environ, "ANSIBLE_NOCOLOR": "1", **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if separate else subprocess.STDOUT,
        )
        self.lines: list[str] = []

    def wait_for(self, line: str) -> None:
        """Read on until this line has come."""
        assert self.process.stdout
        deadline, rest = time.monotonic() + DEADLINE, b""
        while line not in self.lines:
            assert select.select([self.process.stdout], [], [], deadline - time.monotonic())[0], self.lines
            read = os.read(self.process.stdout.fileno(), 65536)
            assert read, "\n".join(self.lines)
            *lines, rest = (rest + read).split(b"\n")
            self.lines += [each.decode() for each in lines]

    def end(self) -> str:
        """All that was said."""
        rest, _nothing = self.process.communicate(timeout=DEADLINE)
        self.lines += rest.decode().splitlines()
        return "\n".join(self.lines)


@pytest.fixture
def play(tmp_path):
    """``play(*words, args={}, **keywords)``: start a playbook whose one task is the module, with these keywords."""
    for folder, text in (("action", ACTION), ("library", MODULE)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "slow.py").write_text(text)
    host = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    (tmp_path / "inventory.yml").write_text(json.dumps({"all": {"hosts": {"cloud": host}}}))
    started = []

    def start(*words, separate=False, args=None, **keywords):
        tasks = [{"name": "Work", "slow": args or {}, "register": "done", **keywords}]
        tasks += [{"name": "Tell", "ansible.builtin.debug": {"msg": "told {{ done.value }} {{ done.keys() | sort }}"}}]
        plays = [{"name": "Play", "hosts": "cloud", "gather_facts": False, "tasks": tasks}]
        (tmp_path / "playbook.yml").write_text(json.dumps(plays))
        started.append(Playing(tmp_path, list(words), separate))
        return started[-1]

    yield start
    for playing in started:
        playing.process.kill()
        playing.process.communicate()


def shown(said):
    """The lines of progress, in order."""
    return [line for line in said.splitlines() if line.startswith("[cloud] ")]


@pytest.mark.parametrize("words", [[], ["--check"]], ids=["run", "check"])
def test_lines_are_seen_while_the_module_works_and_before_its_result(play, tmp_path, words):
    playing = play(*words, args={"go": str(tmp_path / "go")})
    playing.wait_for(SEEN[0])
    (tmp_path / "go").touch()
    said = playing.end()
    assert playing.process.returncode == 0, said
    assert shown(said) == SEEN
    assert said.index(SEEN[1]) < said.index("changed: [cloud]")


def test_the_result_is_what_it_is_without_the_lines(play):
    with_lines = play(args={"value": "$5"}).end()
    without = play(args={"value": "$5"}, no_log=True).end()
    told = [line for line in with_lines.splitlines() if "told $5" in line]
    assert shown(with_lines) == SEEN
    assert told and told == [line for line in without.splitlines() if "told $5" in line]
    assert "progress" not in told[0]


def test_lines_of_a_loop_say_which_item_they_are_about(play):
    playing = play(loop=["wave1", {"groups": ["billing"]}], loop_control={"loop_var": "wave"})
    said = playing.end()
    lines = [line for line in said.splitlines() if "is done" in line]
    assert lines == ["[cloud: wave1] half of it is done", "[cloud] half of it is done"]


def test_nothing_is_shown_of_a_task_that_shall_not_be_shown(play):
    playing = play(no_log=True)
    said = playing.end()
    assert playing.process.returncode == 0 and "changed: [cloud]" in said
    assert not shown(said) and "half" not in said


def test_a_module_that_fails_keeps_its_message(play):
    playing = play(args={"fail": True})
    said = playing.end()
    assert playing.process.returncode != 0
    assert shown(said) == SEEN
    assert "this cannot be done" in said[said.index(SEEN[1]) :]


def test_a_module_in_the_background_works_without_lines(play):
    playing = play(**{"async": 60, "poll": 1})
    said = playing.end()
    assert playing.process.returncode == 0, said
    assert "told" in said and not shown(said)


def test_standard_output_is_left_to_ansible(play):
    playing = play(separate=True)
    output, errors = (each.decode() for each in playing.process.communicate(timeout=DEADLINE))
    assert shown(errors) == SEEN and not shown(output)
    assert "changed: [cloud]" in output


def test_a_runner_with_a_local_connection_shows_them_too(play):
    playing = play(delegate_to="127.0.0.1", vars={"ansible_connection": "local"})
    assert shown(playing.end()) == SEEN
    assert playing.process.returncode == 0


NOBODY = {"become_user": "nobody", "become_method": "ansible.builtin.su", "become_flags": "-s /bin/sh"}
EVERYBODYS_PYTHON = "/usr/bin/python3"


def can_become_nobody():
    """Whether this user needs no password for that, and Ansible can work there."""
    enough = "import sys; sys.exit(sys.version_info < (3, 11))"
    command = ["su", "-s", "/bin/sh", "nobody", "-c", f'{EVERYBODYS_PYTHON} -c "{enough}"']
    return os.getuid() == 0 and bool(shutil.which("su")) and not subprocess.run(command, check=False).returncode


@pytest.mark.skipif(not can_become_nobody(), reason="a password or a Python is missing")
def test_another_user_who_cannot_write_the_lines_works_without_them(play):
    playing = play(become=True, vars={"ansible_python_interpreter": EVERYBODYS_PYTHON}, **NOBODY)
    said = playing.end()
    assert playing.process.returncode == 0, said
    assert "changed: [cloud]" in said and not shown(said)
