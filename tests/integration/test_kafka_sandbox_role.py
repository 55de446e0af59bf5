"""The role kafka_sandbox: dry run, run, the same again, and the way back."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.sandbox import describe, names

ROOT = Path(__file__).parents[2]
PLAYBOOK = """\
- hosts: localhost
  gather_facts: false
  tasks:
    - ansible.builtin.include_role:
        name: streamshift.kafka.kafka_sandbox
    - ansible.builtin.copy:
        content: "{{ kafka_sandbox_running | to_json }}"
        dest: "{{ playbook_dir }}/running.json"
        mode: "0600"
      check_mode: false
"""


@pytest.fixture
def play(tmp_path):
    """Run the role with these variables; gives the number of changes, what it says, and kafka_sandbox_running."""
    (tmp_path / "play.yml").write_text(PLAYBOOK)

    def run(*options, **variables):
        command = [Path(sys.executable).parent / "ansible-playbook", tmp_path / "play.yml", *options, "-e"]
        variables = {"kafka_sandbox_directory": str(tmp_path / "clusters")} | {
            f"kafka_sandbox_{name}": value for name, value in variables.items()
        }
        done = subprocess.run(
            [*command, json.dumps(variables)],
            cwd=ROOT,
            env=os.environ | {"ANSIBLE_DISPLAY_SKIPPED_HOSTS": "no"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        changes = len(re.findall(r"kafka_sandbox : Have the clusters \w+\] \*+\nchanged", done.stdout))
        running = tmp_path / "running.json"
        return changes, done.stdout, json.loads(running.read_text()) if done.returncode == 0 else None

    return run


def test_start_and_stop(play, tmp_path):
    folder = tmp_path / "clusters"
    clusters = [{"name": "one"}, {"name": "two", "secured": True, "users": {"erna": "erna-secret"}}]
    assert play("--check", clusters=clusters)[::2] == (1, {})
    assert names(folder) == []

    changes, said, running = play(clusters=clusters)
    assert changes == 1, said
    assert {name: cluster["bootstrap_servers"] for name, cluster in running.items()} == {
        name: describe(name, folder).bootstrap_servers for name in ("one", "two")
    }
    assert running["two"]["users"] == ["admin", "erna", "migrator"]
    passwords = describe("two", folder).users
    assert passwords["erna"] == "erna-secret"
    assert not any(password in said + json.dumps(running) for password in passwords.values())

    for check in ([], ["--check"]):
        assert play(*check, clusters=clusters)[::2] == (0, running)

    assert play("--check", state="stopped")[0] == 1
    assert names(folder) == ["one", "two"]
    assert play(state="stopped", clusters=[{"name": "one"}])[::2] == (1, {})
    assert names(folder) == ["two"]
    assert play(state="stopped")[::2] == (1, {})
    assert play(state="stopped")[::2] == (0, {})
    assert names(folder) == []


def test_a_refusal_is_one_clear_line(play):
    _unused, said, running = play(clusters=[{"name": "old", "version": "2.8.2", "secured": True}])
    assert running is None
    assert '"msg": "old: a secured cluster needs Kafka 3.9.1 or newer, not 2.8.2"' in said
