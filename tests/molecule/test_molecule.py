"""Four of the users' stories, played by molecule on real brokers; tests/integration has the others."""

import os
import re
import sys
from pathlib import Path

import pytest

from tests.support.loaded_python import loaded_python

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(sys.executable).parent
FOLDER = ROOT / ".cache/molecule"
# Beside the scenarios is one that starts and stops the clusters which the others share.
SCENARIOS = sorted(file.parent.name for file in ROOT.glob("extensions/molecule/*/molecule.yml"))


@pytest.mark.timeout(1800)
@pytest.mark.flaky(reruns=0)  # it takes minutes
def test_every_scenario(run_tool):
    assert set(SCENARIOS) > {"default"}
    # Molecule's own choice is one directory for all checkouts of the same name.
    python = loaded_python()
    molecule = {"MOLECULE_EPHEMERAL_DIRECTORY": str(FOLDER), "STORY_PYTHON": python}
    molecule["PATH"] = f"{Path(python).parent}:{PROGRAMS}:{os.environ['PATH']}"
    try:
        said = run_tool("molecule", "test", "--all", **molecule)
    except BaseException as failed:
        # The time limit, too, ends molecule before it has stopped its clusters.
        run_tool("molecule", "destroy", "--all", **molecule)
        if isinstance(failed, pytest.fail.Exception):
            # First and last, for whoever sees only a part.
            tasks = failed_tasks(str(failed.msg))
            pytest.fail(f"The tasks that failed:\n{tasks}\n\nAll of it:\n{failed.msg}\n\nOnce more:\n{tasks}", False)
        raise
    recap = said.partition("SCENARIO RECAP")[2]
    assert all(scenario in recap for scenario in SCENARIOS), said
    # The next run must find neither clusters nor files of migrations.
    assert list(FOLDER.rglob("*.json")) == []


def failed_tasks(said: str) -> str:
    """The tasks that failed, out of a long output."""
    tasks = re.split(r"^(?=TASK |PLAY |INFO )", said, flags=re.MULTILINE)
    return "".join(task for task in tasks if re.search(r"^(fatal|failed): |\[ERROR\]", task, re.MULTILINE))


def test_failed_tasks_are_found_in_the_output():
    said = (
        "INFO     [one > check] Executing\nTASK [Good] ***\nok: [here]\n\n"
        'TASK [Bad] ***\n[ERROR]: Task failed: no\nfatal: [here]: FAILED! => {"msg": "no"}\n\n'
        "TASK [Bad, too] ***\nfailed: [here] (item=1) => {}\n\nPLAY RECAP ***\nhere : ok=1 failed=2\n"
    )
    assert re.findall(r"TASK \[(.*)\]", failed_tasks(said)) == ["Bad", "Bad, too"]
