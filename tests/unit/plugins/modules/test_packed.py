"""Each module starts from the archive that Ansible packs, in the plain interpreter; other tests have its code loaded."""

from pathlib import Path

import pytest

from tests.support.playbooks import ProgramController, done

MODULES = sorted(file.stem for file in (Path(__file__).parents[4] / "plugins/modules").glob("kafka_*.py"))


@pytest.mark.long
def test_every_module_reads_its_options_from_the_archive(tmp_path):
    tasks = [{f"streamshift.kafka.{name}": {}, "ignore_errors": True} for name in MODULES]
    played = done(ProgramController(tmp_path, here={}).run_play(hosts="kafka_clusters", tasks=tasks))
    assert len(MODULES) > 10
    assert played.output.count('"msg": "missing required arguments') == len(MODULES), played.output
