"""A module is run from the files of the collection where that is the same, and packed by Ansible everywhere else."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
PROGRAMS = Path(sys.executable).parent
LIKE_README = {"ansible_connection": "local", "ansible_python_interpreter": "{{ ansible_playbook_python }}"}
# {host: its variables, and whether its modules are packed}
HOSTS = {
    "like_readme": ({**LIKE_README, "ansible_pipelining": True}, False),
    "by_file": ({**LIKE_README, "ansible_pipelining": False}, False),
    "by_path": ({**LIKE_README, "ansible_python_interpreter": f"{PROGRAMS}/../bin/python3"}, False),
    "other_python": ({**LIKE_README, "ansible_python_interpreter": "{{ playbook_dir }}/python"}, True),
    "many_files": ({**LIKE_README, "ansible_python_module_rlimit_nofile": 512}, True),
    "other_user": ({**LIKE_README, "ansible_become": True}, True),
}
CLUSTER = {"bootstrap_servers": "127.0.0.1:1"}
KEY = {"cluster": {**CLUSTER, "ssl_key": "-----BEGIN PRIVATE KEY-----\nMIIsecret\n-----END PRIVATE KEY-----\n"}}
COMMIT = {"cluster": CLUSTER, "plan": ["{{ inventory_hostname }}.json"], "receipt": "receipt.json"}
INFO = {"cluster": CLUSTER, "group_patterns": ["({{ inventory_hostname }}"]}
TASKS = {
    "kafka_offset_commit": {"streamshift.kafka.kafka_offset_commit": COMMIT},
    "kafka_group_info": {"streamshift.kafka.kafka_group_info": INFO, "async": 60, "poll": 1},
}
REFUSED_BY_ANSIBLE = [
    {"streamshift.kafka.kafka_group_info": {**KEY, "unknown": 1}},
    {"streamshift.kafka.kafka_group_info": {**KEY, "unknown": 1}, "async": 60, "poll": 1},
]
# Ansible shows an error of several hosts once: each has its own.
REFUSED = {"kafka_offset_commit": "there is no plan file ['{}.json']", "kafka_group_info": "({}"}


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """What a playbook prints with tracebacks, where other files have the names of Python's and of the collection's."""
    folder = tmp_path_factory.mktemp("play")
    (folder / "json.py").write_text("raise SystemExit('the file of the working directory')")
    (folder / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (folder / "python").chmod(0o700)
    for package in ("ansible", "ansible_collections"):
        (folder / "site" / package).mkdir(parents=True)
        (folder / "site" / package / "__init__.py").write_text("")
    inventory = {"all": {"hosts": {host: variables for host, (variables, _packed) in HOSTS.items()}}}
    (folder / "inventory.json").write_text(json.dumps(inventory))
    play = {"hosts": "all", "gather_facts": False, "ignore_errors": True, "tasks": [*TASKS.values()]}
    play["tasks"] += REFUSED_BY_ANSIBLE
    play["environment"] = {"PYTHONPATH": str(folder / "site")}
    (folder / "playbook.json").write_text(json.dumps([play]))
    environment = {
        **os.environ,
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".ansible/collections"),
        "ANSIBLE_DISPLAY_TRACEBACK": "error",
        "ANSIBLE_NOCOLOR": "1",
    }
    words = [PROGRAMS / "ansible-playbook", "-i", "inventory.json", "playbook.json"]
    run = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout + run.stderr


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("module", TASKS)
def test_the_collection_is_packed_only_where_its_files_may_not_be_used_as_they_are(played, host, module):
    """Also beside PyPI's package ansible, which has an ansible_collections, and with async."""
    said = [error for error in played.split("[ERROR]: Task failed")[1:] if REFUSED[module].format(host) in error]
    (folder,) = {
        found
        for error in said
        for found in re.findall(rf'File "(.+)/ansible_collections/streamshift/kafka/plugins/modules/{module}.py', error)
    }
    assert (folder == str(ROOT / ".ansible/collections")) is not HOSTS[host][1]


def test_no_traceback_shows_a_secret(played):
    assert "Unsupported parameters for (streamshift.kafka.kafka_group_info) module: unknown" in played
    assert "MIIsecret" not in played
