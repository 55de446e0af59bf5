"""Each module starts from the archive that Ansible packs, in the plain interpreter; other tests have its code loaded."""

import json
from pathlib import Path

import pytest

from tests.support.playbooks import ProgramController, done

MODULES = sorted(file.stem for file in (Path(__file__).parents[4] / "plugins/modules").glob("kafka_*.py"))


@pytest.mark.long
def test_every_module_reads_its_options_from_the_archive(tmp_path):
    tasks = [{f"streamshift.kafka.{name}": {}, "ignore_errors": True} for name in MODULES]
    playbook = tmp_path / "packed.yml"
    playbook.write_text(json.dumps([{"hosts": "kafka_clusters", "gather_facts": False, "tasks": tasks}]))
    played = done(ProgramController(tmp_path, here={}).run(str(playbook)))
    assert len(MODULES) > 10
    assert played.output.count('"msg": "missing required arguments') == len(MODULES), played.output
