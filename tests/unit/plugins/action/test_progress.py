"""The modules whose progress is shown are called as all others: by their full name, with defaults of their action group."""

import re
from pathlib import Path

import pytest

from tests.support.playbooks import NOWHERE, Controller, done, failed

# The files that each must be given, and what it says of them before it asks any cluster for anything.
FILES = {
    "kafka_backlog_copy": (("snapshot", "copy", "plan"), "there is no snapshot file {snapshot}."),
    "kafka_group_offsets": (("snapshot",), "no group is selected"),
    "kafka_offset_translate": (("snapshot", "plan"), "there is no snapshot file {snapshot}."),
    "kafka_offset_verify": (("plan",), "there is no plan file {plan}."),
    "kafka_topic_promotion": (("plan", "receipt"), "no topic is selected"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


@pytest.fixture(scope="module")
def outputs(folder):
    """What a play says at -vvv of each module, by its name, without the files that it must be given."""
    tasks = []
    for module, (kinds, _message) in FILES.items():
        clusters = ("cluster",) if module == "kafka_group_offsets" else ("source", "destination")
        files = {kind: f"{folder}/{kind}.json" for kind in kinds}
        defaults = {"group/streamshift.kafka.kafka": dict.fromkeys(clusters, NOWHERE)}
        tasks.append({"name": module, f"streamshift.kafka.{module}": files, "module_defaults": defaults})
    output = done(Controller(folder, cloud=NOWHERE).run_play("-vvv", ignore_errors=True, tasks=tasks)).output
    return {task.partition("]")[0]: task for task in output.split("TASK [")[1:]}


@pytest.mark.parametrize("module", FILES)
def test_defaults_of_the_action_group_hold_and_the_message_is_the_modules(module, folder, outputs):
    kinds, message = FILES[module]
    assert message.format(**{kind: f"{folder}/{kind}.json" for kind in kinds}) in outputs[module]
    # The action plugin has given it a file for its progress, and has left nothing of it.
    (file,) = set(re.findall(r'"progress_file": "(.+?)"', outputs[module]))
    assert not Path(file).parent.exists()


def test_a_module_that_is_killed_leaves_a_message_that_says_so(tmp_path):
    """As the kernel does where memory is short."""
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nkill -KILL $$\n")
    python.chmod(0o700)
    task = {"streamshift.kafka.kafka_group_info": {"cluster": NOWHERE}}
    play = {"vars": {"ansible_python_interpreter": str(python)}, "tasks": [task]}
    said = failed(Controller(tmp_path, cloud=NOWHERE).run_play(**play))
    assert "kafka_group_info was killed, as the kernel does" in said
    assert "Run the same again" in said and "deserialization" not in said.split("fatal:")[0]
