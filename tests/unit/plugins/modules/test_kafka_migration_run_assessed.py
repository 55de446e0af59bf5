"""The files of an assessment are whole or not there, and a dry run makes none."""

import os

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model import assessment
from ansible_collections.streamshift.kafka.plugins.module_utils._model.assessment import Assessment
from ansible_collections.streamshift.kafka.plugins.module_utils._model.risks import Risk, RiskKind
from ansible_collections.streamshift.kafka.plugins.modules import kafka_migration_run
from tests.support.held import room_for

FILES = ["assessment.html", "assessment.json", "assessment.md", "groups.csv", "topics.csv"]


@pytest.fixture
def assessed(run_module, tmp_path):
    """``assessed(number of risks, most bytes of a file, **options)`` -> the result of the module."""

    def run(risks, room=1 << 40, **options):
        found = tuple(Risk(RiskKind.TOPIC_UNREAD, "0 offsets are in its logs.", None, f"t{n}") for n in range(risks))
        part = tmp_path / "part.json"
        part.write_text(assessment.to_json(Assessment({"read": "2026-11-26T15:00:00Z"}, risks=found)))
        given = {"state": "assessed", "directory": str(tmp_path / "a"), "parts": [str(part)]}
        with room_for(room):
            return run_module(kafka_migration_run, **given, **options)

    return run


def test_a_dry_run_says_the_same_and_makes_no_file(assessed, tmp_path):
    predicted = assessed(3, check=True)
    assert predicted["changed"] and not (tmp_path / "a").exists()
    assert assessed(3) == predicted and sorted(os.listdir(tmp_path / "a")) == FILES
    assert not assessed(3)["changed"]


def test_a_full_disk_leaves_no_part_of_a_file(assessed, tmp_path):
    assessed(1)
    before = {name: (tmp_path / "a" / name).read_bytes() for name in FILES}
    result = assessed(400, room=50_000)
    assert result["failed"] and "cannot be written" in result["msg"] and "File too large" in result["msg"]
    assert {name: (tmp_path / "a" / name).read_bytes() for name in sorted(os.listdir(tmp_path / "a"))} == before


def test_a_damaged_assessment_is_replaced(assessed, tmp_path):
    assessed(1)
    (tmp_path / "a/assessment.json").write_text("{")
    assert assessed(1)["changed"] and "0 offsets" in (tmp_path / "a/assessment.json").read_text()
