"""kafka_group_readiness returns how far groups are, and replaces the status and the metrics, of a failed round too."""

import dataclasses
import json
import os
import re

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration.look_at_status import MigrationStatus
from ansible_collections.streamshift.kafka.plugins.module_utils._model import lease, receipt, report
from ansible_collections.streamshift.kafka.plugins.module_utils._model import plan as file
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_lag import GroupLag
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import GroupListing
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import (
    Evidence,
    Plan,
    PlanEntry,
    SourcePosition,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.readiness import Readiness
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import CertificateName, Reason, Verdict
from ansible_collections.streamshift.kafka.plugins.module_utils._module import status_results
from ansible_collections.streamshift.kafka.plugins.module_utils._module.digests import digest
from ansible_collections.streamshift.kafka.plugins.modules import kafka_group_readiness
from tests.support.held import lease_of

CLUSTERS = {"source": {"bootstrap_servers": ["127.0.0.1:1"]}, "destination": {"bootstrap_servers": ["127.0.0.1:2"]}}


NO_ENTRIES = file.to_json(Plan("a", "b", "c", ()))


@pytest.fixture
def look(run_module, monkeypatch, tmp_path):
    """``look(**options)`` looks at one group that is ready; look.in_use says whether somebody uses it at the destination."""
    (tmp_path / "plan.json").write_text(NO_ENTRIES)

    def use_case(plan, _receipt, _source, _destination, since, now):
        look.asked, look.plan = look.asked + 1, plan
        its = Readiness(
            "billing", ("billing",), GroupLag(3), 0, {Verdict.EXACT: 1}, (), 0, look.in_use_at_source, look.in_use
        )
        return [Readiness(*(getattr(its, name) for name in its.__slots__[:-1]), since.get("billing", now))]

    def look(**options):
        paths = {"plan": str(tmp_path / "plan.json"), "status": str(tmp_path / "status.json")}
        return run_module(kafka_group_readiness, **CLUSTERS, **{**paths, **options})

    look.asked, look.in_use, look.in_use_at_source = 0, False, True
    monkeypatch.setattr(kafka_group_readiness.use_case, "look_at_readiness", use_case)
    return look


def test_the_status_and_the_metrics_say_what_the_result_says(look, tmp_path):
    metrics, path = tmp_path / "kafka.prom", tmp_path / "status.json"
    result = look(metrics=str(metrics), changed_offsets=2, migration="onprem-to-cloud")
    assert (result["changed"], result["not_ready"], result["not_started"]) == (False, [], ["billing"])
    status = json.loads(path.read_text())
    assert (status["entries"], status["changed"], status["failure"]) == (result["readiness"], 2, None)
    assert 'streamshift_kafka_group_ready{migration="onprem-to-cloud",group="billing"} 1' in metrics.read_text()
    assert [file.stat().st_mode & 0o777 for file in (metrics, path)] == [0o644, 0o600]


def test_a_cut_over_is_no_good_round_and_hides_none_because_it_may_fail_after_its_look(look, tmp_path):
    def last_good():
        return json.loads((tmp_path / "status.json").read_text())["last_good"]

    look(phase="cut_over")
    assert last_good() is None
    look(phase="sync")
    good = last_good()
    look(phase="cut_over")
    assert last_good() == good > 0


def test_check_mode_writes_nothing(look, tmp_path):
    assert look(check=True)["not_ready"] == []
    assert not (tmp_path / "status.json").exists()


def test_a_group_stays_ready_since_the_first_round_and_a_damaged_status_is_only_told(look, tmp_path):
    status = json.loads((look() and (tmp_path / "status.json")).read_text())
    status["rounds"][0]["ready_since"] = "2020-01-01T00:00:00Z"
    (tmp_path / "status.json").write_text(json.dumps(status))
    assert look()["readiness"][0]["ready_since"] == "2020-01-01T00:00:00Z"
    (tmp_path / "status.json").write_text("{")
    result = look()
    assert result["readiness"][0]["ready_since"] != "2020-01-01T00:00:00Z"
    assert result["warnings"] and result["note_kinds"]


def test_what_rounds_of_another_wave_have_left_is_kept(look, tmp_path):
    """Both share the directory: without this, consumers of a group that is only in rounds were said to be startable."""

    def known():
        return {its.pop("group"): its for its in json.loads((tmp_path / "status.json").read_text())["rounds"]}

    look(phase="sync")
    billing = known()["billing"]
    assert billing["synced_until"] > 0 and billing["ready_since"]
    (tmp_path / "status.json").write_text((tmp_path / "status.json").read_text().replace("billing", "shop"))
    look(phase="cut_over", metrics=str(tmp_path / "kafka.prom"))
    assert known()["shop"] == billing and known()["billing"]["synced_until"] is None
    assert "shop" not in (tmp_path / "kafka.prom").read_text()
    look(phase="sync")
    assert known()["shop"] == billing and known()["billing"]["synced_until"] >= billing["synced_until"]


def test_consumers_that_do_not_start_are_waited_for_and_named(look, monkeypatch):
    monkeypatch.setattr(kafka_group_readiness.use_case, "_PAUSE", 0.01)
    look.in_use_at_source = False
    assert look(wait_for_start=0.05)["not_started"] == ["billing"]
    assert look.asked > 1
    look.asked, look.in_use = 0, True
    assert look(wait_for_start=60)["not_started"] == []
    assert look.asked == 1
    look.asked, look.in_use = 0, False
    assert look(wait_for_start=60, wait_for_groups=[])["not_started"] == ["billing"]
    assert look.asked == 1


def test_what_a_plan_is_not_asked_with_is_refused(look):
    assert "waves has no meaning without directories" in look(waves=[{"name": "first", "groups": ["billing"]}])["msg"]


def test_a_path_that_no_node_exporter_reads_is_refused(look, tmp_path):
    result = look(metrics=str(tmp_path / "kafka.txt"))
    assert result["failed"]
    assert ".prom" in result["msg"]
    assert look.asked == 0


def verified_plan():
    """The texts of a plan, and of a report that objects to its one entry."""
    at = TopicPartition("orders", 0)
    evidence = Evidence(certificate=CertificateName.NOTHING_CONSUMED)
    planned = PlanEntry(
        "billing", at, 5, Verdict.EXACT, (SourcePosition("billing", at, 5),), evidence=evidence, repeats=0
    )
    text = file.to_json(Plan("a", "b", "c", (planned,)))
    flaw = report.Flaw(report.ProblemKind.SKIPPED, "2 unconsumed records are skipped")
    finding = report.Finding("billing", ((at, 5),), ((at, 5),), problems=(flaw,))
    return text, report.to_json(report.Report("a", "b", None, (finding,), digest(text)))


def test_an_offset_that_failed_verification_counts_as_blocked(look, tmp_path):
    text, objections = verified_plan()
    (tmp_path / "report.json").write_text(objections)
    refused = look(report=str(tmp_path / "report.json"))
    assert refused["failed"] and "is about a plan with the digest" in refused["msg"] and look.asked == 0
    (tmp_path / "plan.json").write_text(text)
    look(report=str(tmp_path / "report.json"))
    (found,) = look.plan.entries
    assert (found.verdict, found.reason, found.offset) == (Verdict.BLOCKED, Reason.VERIFICATION_FAILED, None)


@pytest.fixture
def status(run_module, monkeypatch, tmp_path):
    """``status(**options)`` reads the directory of the test; the clusters know nothing, and status.asked has what was read."""

    def use_case(directories, _source, _destination, _pause):
        status.asked.append([each.directory for each in directories])
        status.objected = [set(each.objected) for each in directories]
        return MigrationStatus([], [], [])

    def status(**options):
        return run_module(kafka_group_readiness, **CLUSTERS, **{"directories": [str(tmp_path)], **options})

    status.asked = []
    monkeypatch.setattr(status_results, "look_at_status", use_case)
    monkeypatch.setattr(status_results, "list_groups", lambda _source, surely: [GroupListing("shop", "", "", "")])
    return status


def test_directories_that_cannot_be_meant_are_refused_before_a_cluster_is_asked(status, tmp_path):
    assert "there is no plan file and no receipt file in" in status()["msg"]
    missing = status(directories=[str(tmp_path / "a"), str(tmp_path), str(tmp_path / "b")])["msg"]
    assert f"there is no directory {tmp_path}/a and no directory {tmp_path}/b" in missing
    first = status(directories=[str(tmp_path / "all/onprem-to-cloud")], migration="onprem-to-cloud")["msg"]
    told = f" has run in {tmp_path}/all/onprem-to-cloud, which does not exist. Correct directories, or run streamshift.kafka"
    assert told in first
    for name in ("receipt.json", "plan.json"):
        (tmp_path / name).write_text("{")
    all_of_it = status(directories=[str(tmp_path / "a"), str(tmp_path)])["msg"]
    for wrong in ("no directory {}/a", "{}/plan.json is damaged", "{}/receipt.json is damaged"):
        assert wrong.format(tmp_path) in all_of_it
    refused = status(directories=[str(tmp_path / "receipt.json")])
    assert "receipt.json is no directory" in refused["msg"] and "has plan.json and receipt.json" in refused["msg"]
    assert "exclusive" in status(plan=str(tmp_path / "plan.json"))["msg"]
    assert "wait_for_start has no meaning without plan" in status(wait_for_start=5)["msg"]
    assert "selects no group" in status(waves=[{"name": "first"}])["msg"]
    assert status.asked == []


def test_the_status_of_rounds_is_not_overwritten(status, tmp_path):
    (tmp_path / "plan.json").write_text(NO_ENTRIES)
    (tmp_path / "rounds.json").write_text('{"format": "streamshift.kafka/status", "version": 1, "entries": []}')
    assert "is not a migration-status file" in status(status=str(tmp_path / "rounds.json"))["msg"]
    mine = tmp_path / "mine.json"
    assert status(status=str(mine), check=True)["groups"] == [] and not mine.exists()
    assert not status(status=str(mine)).get("failed") and not status(status=str(mine)).get("failed")
    assert json.loads(mine.read_text())["states"] == {}


@pytest.mark.parametrize(
    ("home", "is_refused"),
    [
        pytest.param("", True, id="that is read"),
        pytest.param("link", True, id="by another path"),
        pytest.param("other", True, id="of another migration"),
        pytest.param("wave", True, id="of a wave that has not begun"),
        pytest.param("status", False, id="of no migration"),
    ],
)
def test_the_directory_of_a_migration_gets_no_status_that_its_rounds_would_take_for_theirs(
    status, tmp_path, home, is_refused
):
    for folder in ("other", "wave", "status"):
        (tmp_path / folder).mkdir()
    (tmp_path / "link").symlink_to(tmp_path)
    for folder in ("", "other"):
        (tmp_path / folder / "plan.json").write_text(file.to_json(Plan("a", "b", "c", ())))
    waves = [{"name": "first", "groups": ["shop"], "directory": str(tmp_path / "wave")}]
    given = {"directories": [], "waves": [*waves, {**waves[0], "name": "second", "directory": str(tmp_path)}]}
    path = tmp_path / home / "status.json"
    for options in (given, {}) if home != "wave" else (given,):
        result = status(status=str(path), **options)
        assert (f"{path} cannot be written: " in result.get("msg", "")) is is_refused
        assert not is_refused or "Name another directory in status." in result["msg"]
    assert path.exists() is not is_refused and bool(status.asked) is not is_refused
    assert not status(directories=[str(tmp_path)]).get("failed")


def test_what_failed_verification_is_known_as_long_as_the_plan_is_the_same(status, tmp_path):
    text, objections = verified_plan()
    (tmp_path / "report.json").write_text(objections)
    (tmp_path / "plan.json").write_text(text)
    assert not status().get("failed") and status.objected == [{("billing", TopicPartition("orders", 0))}]
    (tmp_path / "plan.json").write_text(NO_ENTRIES)
    assert not status().get("failed") and status.objected == [set()]


def test_a_template_is_no_directory_of_a_wave_that_has_not_begun(status, tmp_path):
    directory = "/srv/{{ group_migration_source }}-billing"
    waves = [{"name": "first", "groups": ["billing"], "directory": directory}]
    refused = status(waves=waves, directories=[])["msg"]
    assert f"waves: the directory of the wave first is a template, {directory}" in refused
    assert "Write the path out in group_migration_directory" in refused and status.asked == []
    # Whoever names the directories has said where the files are.
    (tmp_path / "plan.json").write_text(NO_ENTRIES)
    assert not status(waves=waves).get("failed") and status.asked == [[str(tmp_path)]]


def test_the_directory_of_a_wave_that_has_not_begun_is_no_mistake(status, tmp_path):
    (tmp_path / "plan.json").write_text(NO_ENTRIES)
    waves = [
        {"name": "first", "groups": ["shop"], "directory": str(tmp_path / "nowhere")},
        {"name": "second", "groups": ["other"], "group_patterns": ["sop.*"], "directory": str(tmp_path)},
    ]
    result = status(waves=waves)
    assert status.asked == [[str(tmp_path)]], "each directory once"
    assert result["waves"][0]["states"] == {"open": 1}
    assert result["summary"] == [
        "wave first: 1 group: 1 open",
        "wave second: 0 groups",
        "wave second names groups that do not exist: other",
    ]
    assert result["note_kinds"] == ["rule_unused"]
    assert result["notes"][0].startswith("wave second: No group that this user may describe on source cluster")


def test_a_receipt_that_only_the_history_has_is_told(status, tmp_path):
    (tmp_path / "plan.json").write_text(NO_ENTRIES)
    kept = tmp_path / "history/2026-11-26T020000Z-migrate"
    kept.mkdir(parents=True)
    (kept / "receipt.json").write_text(receipt.to_json(receipt.Receipt("b")))
    result = status()
    assert (
        result["note_kinds"] == ["receipt_lost"]
        and f"{kept}/receipt.json is: copy it to its place" in result["notes"][0]
    )


@pytest.mark.parametrize("home", ["", "return"])
def test_a_run_that_was_killed_is_told(status, tmp_path, home):
    (tmp_path / "plan.json").write_text(NO_ENTRIES)
    (tmp_path / home).mkdir(exist_ok=True)
    held = tmp_path / home / lease.FILE
    ours = lease_of(os.getpid())
    held.write_text(lease.to_json(ours))
    (note,) = status()["warnings"]
    assert "A run works in" in note and "may change this status" in note
    held.write_text(lease.to_json(dataclasses.replace(ours, host="elsewhere")))
    (note,) = status()["warnings"]
    assert "has not said that it has ended" in note and "if so, remove lease.json" in note
    held.write_text(lease.to_json(dataclasses.replace(ours, ticks=1, phase="cut_over")))
    result = status()
    (note,) = result["warnings"]
    assert "(phase cut_over)" in note
    assert f"The last run in {held.parent} was stopped before its end: process {os.getpid()} on" in note
    assert "It has written nothing: run it again." in note and result["note_kinds"] == ["run_open"]
    (held.parent / "receipt.json").write_text(receipt.to_json(receipt.Receipt("b")))
    assert "before any consumers start" in status()["warnings"][0]
    held.unlink()
    assert not status().get("warnings")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({}, "a run works there now: process .* Wait until it has made a plan, or leave"),
        ({"host": "elsewhere"}, "has not said that it has ended: process .* remove lease.json, and run it again, or leave"),
        ({"ticks": 1}, "was stopped before it had made a plan: process .* Run it again, or leave"),
    ],
)  # fmt: skip
def test_a_run_that_has_made_no_plan_yet_is_told(status, tmp_path, change, told):
    (tmp_path / lease.FILE).write_text(lease.to_json(dataclasses.replace(lease_of(os.getpid()), **change)))
    assert re.search(told, status()["msg"]) and status.asked == []
