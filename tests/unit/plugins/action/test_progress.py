"""The modules whose progress is shown are called as all others: by their full name, with defaults of their action group."""

import json
import re
import sys
from pathlib import Path

import pytest

from tests.support.playbooks import ansible_playbook

ROOT = Path(__file__).parents[4]
# The files that each must be given, and what it says of them before it asks any cluster for anything.
FILES = {
    "kafka_backlog_copy": (("snapshot", "copy", "plan"), "there is no snapshot file {snapshot}."),
    "kafka_group_offsets": (("snapshot",), "no group is selected"),
    "kafka_offset_translate": (("snapshot", "plan"), "there is no snapshot file {snapshot}."),
    "kafka_offset_verify": (("plan",), "there is no plan file {plan}."),
    "kafka_topic_promotion": (("plan", "receipt"), "no topic is selected"),
}
NOWHERE = {"bootstrap_servers": ["127.0.0.1:1"]}


@pytest.mark.parametrize("module", FILES)
def test_defaults_of_the_action_group_hold_and_the_message_is_the_modules(module, tmp_path):
    kinds, message = FILES[module]
    files = {kind: str(tmp_path / f"{kind}.json") for kind in kinds}
    clusters = ("cluster",) if module == "kafka_group_offsets" else ("source", "destination")
    playbook = tmp_path / "playbook.yml"
    its = {
        "name": "Play",
        "hosts": "localhost",
        "connection": "local",
        "gather_facts": False,
        "module_defaults": {"group/streamshift.kafka.kafka": dict.fromkeys(clusters, NOWHERE)},
        "tasks": [{"name": "Work", f"streamshift.kafka.{module}": files}],
    }
    playbook.write_text(json.dumps([its]))
    code, output = ansible_playbook(playbook, "-vvv", "-e", f"ansible_python_interpreter={sys.executable}")
    assert code != 0
    assert message.format(**files) in output
    # The action plugin has given it a file for its progress, and has left nothing of it.
    (file,) = set(re.findall(r'"progress_file": "(.+?)"', output))
    assert not Path(file).parent.exists()
