"""Without its libraries a module says so in one line."""

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
MODULES = sorted(path.stem for path in (ROOT / "plugins/modules").glob("*.py"))
IMPORT_ALL = """
import importlib, sys
sys.modules |= dict.fromkeys(LIBRARIES)  # None: importing it fails
for name in sys.argv[1:]:
    importlib.import_module(f"ansible_collections.streamshift.kafka.plugins.modules.{name}")
"""


@pytest.mark.parametrize("libraries", [["kafka"], ["kafka", "xxhash", "confluent_kafka"]])
def test_modules_can_be_imported_so_that_they_can_say_what_is_missing(libraries):
    script = IMPORT_ALL.replace("LIBRARIES", repr(libraries))
    environment = {**os.environ, "PYTHONPATH": str(ROOT / ".ansible/collections")}
    done = subprocess.run(
        [sys.executable, "-c", script, *MODULES], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_python_without_the_libraries_is_told_by_ansible_in_one_line(tmp_path):
    venv.create(tmp_path / "empty")  # nothing but Python
    python = tmp_path / "empty/bin/python"
    arguments = {"cluster": {"bootstrap_servers": "127.0.0.1:1"}, "groups": ["g"], "snapshot": str(tmp_path / "s.json")}
    said = subprocess.run(
        [
            *(Path(sys.executable).parent / "ansible", "localhost", "--connection", "local"),
            *("--extra-vars", f"ansible_python_interpreter={python}"),
            *("--module-name", "streamshift.kafka.kafka_group_offsets", "--args", json.dumps(arguments)),
        ],
        cwd=ROOT,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    result = json.loads(said.stdout[said.stdout.index("=> {") + 3 :])
    assert said.returncode != 0
    assert result["msg"] == (
        "confluent-kafka >= 2.10 is missing, kafka-python >= 3.0.12, < 3.1 is missing, xxhash >= 3.0 is missing "
        f"for {python}. Install the collection's requirements there (pip install -r requirements.txt), "
        "or set ansible_python_interpreter to a Python that has them."
    )
    assert "exception" not in result
