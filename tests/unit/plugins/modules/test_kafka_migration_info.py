# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""kafka_migration_info names all problems together, those of files among them, and changes nothing."""

from __future__ import annotations

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration.preflight import Preflight
from ansible_collections.streamshift.kafka.plugins.module_utils._model import receipt
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import OnActiveGroup
from ansible_collections.streamshift.kafka.plugins.modules import kafka_migration_info
from ansible_collections.streamshift.kafka.tests.unit.plugins.modules.world import DESTINATION, SOURCE, saved, written

IDS = {"source": "S", "destination": "D"}


@pytest.fixture
def look(run_module, monkeypatch):
    """``look(problems=[], **options)`` looks at two clusters; look.asked is what the use case was given."""

    def run(problems=(), check=False, **options):
        def use_case(*given):
            run.asked = given
            return Preflight(IDS, list(problems), ["a note"])

        monkeypatch.setattr(kafka_migration_info.use_case, "look", use_case)
        monkeypatch.setattr(kafka_migration_info.use_case, "lacking_for_proof", lambda _spark: ["no Java"])
        given = {"source": SOURCE, "destination": DESTINATION, "groups": ["billing"], **options}
        return run_module(kafka_migration_info, check=check, **given)

    return run


@pytest.mark.parametrize("check", [False, True])
def test_problems_are_returned_and_no_failure(look, check):
    result = look(["no ACL"], check=check)
    assert not result["changed"] and not result.get("failed")
    assert (result["problems"], result["notes"], result["cluster_ids"]) == (["no ACL"], ["a note"], IDS)


def test_damaged_files_are_problems_beside_all_others(look, tmp_path):
    broken = saved(tmp_path / "p.json", "{")
    problems = look(["no ACL"], plan=broken)["problems"]
    assert len(problems) == 2 and broken in problems[0] and problems[1] == "no ACL"


def test_files_that_will_be_made_are_no_problem(look, tmp_path):
    assert look(plan=str(tmp_path / "p.json"), receipt=str(tmp_path / "r.json"))["problems"] == []
    assert list(tmp_path.glob("*.json")) == []


def test_a_receipt_of_another_cluster_is_a_problem(look, tmp_path):
    elsewhere = receipt.Receipt("other", written().entries)
    path = saved(tmp_path / "r.json", receipt.to_json(elsewhere))
    (problem,) = look(receipt=path)["problems"]
    assert "other" in problem and path in problem


def test_what_spark_lacks_matters_only_to_whom_it_concerns(look):
    assert look(verify="records")["problems"] == ["no Java"]
    assert look(verify="anchors")["problems"] == []


def test_options_reach_the_use_case(look):
    look(commits=False, on_active_group="fail")
    assert look.asked[4:6] == (False, OnActiveGroup.FAIL)
