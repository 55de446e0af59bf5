"""The end of a run keeps whole folders, the last ones, touches nothing that is not its own, and releases the directory."""

import datetime
import json
import os
import re
import subprocess
import time
from pathlib import Path

import jsonschema
import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model import (
    history,
    lease,
    receipt,
    run_record,
    status,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.lease import Lease
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._module import run_end
from ansible_collections.streamshift.kafka.plugins.modules import kafka_migration_run
from tests.support.held import lease_of, room_for
from tests.support.reported import ENTRIES, entry, texts_of

# Bytes that are no text: a run that fails because a file is damaged needs its history, too.
CONTENTS = {"plan.json": b"plan", "receipt.json": b"\xff damaged"}
HOLDER = {"host": "controller", "namespace": "pid:[1]", "process": 4711, "ticks": 903114, "started": 0.0}
NEWS = {"commit": {"changed": True}}
# What the end of a run puts beside the files that it keeps.
OF_THE_END = ["run.json", "SHA256SUMS"]


@pytest.fixture
def home(tmp_path):
    """A directory with files of a migration, and others."""
    folder = tmp_path / "migration"
    folder.mkdir()
    for name, content in {**CONTENTS, "lease.json.old": b"", "report.html": b"another run's"}.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture
def keep(run_module, home):
    """Keep the files of a run in home."""

    def kept(phase="migrate", check=False, failed=False, **options):
        results = {"commit": {"failed": True, "msg": "no"}} if failed else NEWS
        given = {"directory": str(home), "phase": phase, "holder": HOLDER, "report": False, "results": results}
        return run_module(kafka_migration_run, state="ended", check=check, **{**given, **options})

    return kept


def folder_of(result):
    """The name of the folder that the run has made in the history."""
    return os.path.basename(result["folder"])


def kept_in(home):
    return sorted(os.listdir(home / "history"))


def earlier(home, *names):
    for name in names:
        (home / "history" / name).mkdir(parents=True)
        (home / "history" / name / "plan.json").write_text(name)


def test_the_files_of_a_run_are_kept_for_their_owner_alone(keep, home):
    result = keep()
    folder = home / "history" / folder_of(result)
    assert not result["changed"] and result["kept"] == [*CONTENTS, *OF_THE_END] and result["removed"] == []
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.name not in OF_THE_END} == CONTENTS
    assert {path.stat().st_mode & 0o777 for path in (folder, folder.parent)} == {0o700}
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    made = datetime.datetime.strptime(folder.name, "%Y-%m-%dT%H%M%SZ-migrate").replace(tzinfo=datetime.UTC)
    assert datetime.datetime.now(datetime.UTC) - made < datetime.timedelta(minutes=1)
    # Later runs replace the files, and not what is kept.
    (home / "plan.json").write_bytes(b"next")
    keep()
    assert (folder / "plan.json").read_bytes() == b"plan"


def test_the_checksums_of_a_folder_tell_which_file_has_changed(keep, home):
    folder = Path(keep()["folder"])
    check = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
    first = subprocess.run(check, cwd=folder, capture_output=True, text=True, check=True)
    assert first.stdout.splitlines() == ["plan.json: OK", "receipt.json: OK", "run.json: OK"]
    (folder / "receipt.json").write_bytes(b"edited")
    second = subprocess.run(check, cwd=folder, capture_output=True, text=True, check=False)
    assert second.returncode == 1 and "receipt.json: FAILED" in second.stdout


@pytest.mark.parametrize(
    ("phase", "results", "said"),
    [
        ("migrate", {"plan": {"changed": True}, "preview": {"changed": True}, "verify": {"failed": True}}, True),
        ("migrate", {"plan": {"changed": True}, "commit": {"failed": True, "failure": {}}}, True),
        ("migrate", {"commit": {"failed": True, "changed": False, "rc": -9}}, False),  # it was killed
        ("migrate", {"commit": {"failed": True, "changed": True}}, False),  # it has failed after its first write
        ("migrate", {"commit": {"changed": True}, "read back": {"failed": True}}, False),
        ("promote", {"promotion": {"changed": True, "failed": True}}, False),
        ("sync", {"plan": {"failed": True}}, False),  # earlier rounds may have written
        ("migrate", {"plan": {"changed": True}, "commit": {}}, False),  # nothing has failed
    ],
)
def test_a_run_that_fails_before_it_writes_to_a_cluster_says_so(keep, phase, results, said):
    assert ("Nothing was written to a cluster." in keep(phase=phase, results=results)["said"]) == said


def test_a_run_is_noted_in_numbers_beside_its_report_and_in_its_folder(keep, home):
    (home / "receipt.json").unlink()
    results = {
        "plan": {"seconds": 2, "changed": True, "records_read": 66, "digest": "4b8", "counts": {"exact": 3}},
        "commit": {"seconds": 0.5, "failed": True, "msg": "billing", "failure": {"kind": "group_in_use"}},
    }
    its = {"role": "group_migration", "collection": "0.2.0", "started": time.time() - 9}
    folder = Path(keep(report=True, results=results, on_mismatch="leave_out", **its)["folder"])
    text = (home / "run.json").read_text()
    assert (folder / "run.json").read_text() == text
    noted = json.loads(text)
    jsonschema.validate(noted, json.loads((Path(__file__).parents[4] / "docs/schemas/run.schema.json").read_text()))
    assert run_record.to_json(run_record.from_json(text, "run.json")) == text
    its = noted["role"], noted["phase"], noted["plan"], noted["verdicts"]
    assert its == ("group_migration", "migrate", "4b8", {"exact": 3})
    assert noted["failure"] == {"step": "commit", "kind": "group_in_use"} and "billing" not in text
    assert round(noted["ended"] - noted["started"]) == 9 and noted["versions"]["streamshift.kafka"] == "0.2.0"
    assert noted["versions"].keys() >= {"ansible-core", "Python", "kafka-python", "confluent-kafka"}
    plan = {"step": "plan", "seconds": 2.0, "changed": True, "failed": False, "counts": {"records_read": 66}}
    assert noted["entries"][0] == plan


def test_check_mode_predicts_and_changes_nothing(keep, home):
    predicted = keep(check=True)
    assert predicted["folder"] and not (home / "history").exists()
    real = keep()
    assert {**predicted, "folder": None, "dry_run": False} == {**real, "folder": None}


def test_a_directory_without_files_gets_no_history(keep, tmp_path):
    (tmp_path / "empty").mkdir()
    result = keep(directory=str(tmp_path / "empty"))
    assert (result["changed"], result["folder"]) == (False, None) and list((tmp_path / "empty").iterdir()) == []


def test_the_oldest_ones_go_and_rounds_are_counted_apart(keep, home):
    old = [f"2026-01-0{day}T000000Z-{phase}" for day in range(1, 8) for phase in ("migrate", "sync")]
    foreign = ["mine", "2026-01-01-migrate", "2026-01-01T000000Z-Migrate"]
    earlier(home, *old, *foreign)
    assert keep("cut_over", keep=3)["removed"] == [name for name in old if name.endswith("-migrate")][:-2]
    assert keep("sync", keep=20)["removed"] == [name for name in old if name.endswith("-sync")][:-4]
    left = kept_in(home)
    assert len(left) == 3 + history.MOST_ROUNDS + len(foreign) and set(foreign) < set(left)
    last = {folder_of(keep(phase, keep=1)) for phase in ("sync", "plan")}
    assert set(kept_in(home)) == {*last, *foreign}


@pytest.mark.parametrize("phase", history.ROUND_PHASES)
def test_rounds_push_no_other_run_out(keep, home, phase):
    others = [f"2026-01-0{day}T000000Z-apply" for day in range(1, 4)]
    earlier(home, *others)
    for _number in range(history.MOST_ROUNDS + 2):
        keep(phase, keep=20)
    assert set(others) < set(kept_in(home)) and len(kept_in(home)) == len(others) + history.MOST_ROUNDS


def test_runs_that_fail_and_write_nothing_push_no_other_run_out(keep, home):
    waves = [f"2026-01-0{day}T000000Z-migrate" for day in range(1, 4)]
    earlier(home, *waves)
    (home / "history" / waves[-1] / "receipt.json").write_bytes(CONTENTS["receipt.json"])
    for number in range(history.MOST_FAILED + 2):
        (home / "plan.json").write_text(f"plan {number}")  # is no write on a cluster
        name = folder_of(keep("rollback", keep=5, failed=True))
        assert "Z-rollback-failed" in name
    left = kept_in(home)
    assert set(waves) < set(left) and len(left) == len(waves) + history.MOST_FAILED and name in left
    assert len(keep("sync", keep=1, failed=True)["removed"]) == history.MOST_FAILED
    assert set(waves) < set(kept_in(home))


@pytest.mark.parametrize("receipt", history.RECEIPTS)
def test_a_run_that_has_written_before_it_failed_is_one_of_the_others(keep, home, receipt):
    (home / "receipt.json").unlink()
    assert keep(failed=True)["folder"].endswith("Z-migrate-failed")
    (home / receipt).write_text("before the first write")
    assert keep(failed=True)["folder"].endswith("Z-migrate")
    assert "-failed" in keep(failed=True)["folder"]  # it has written nothing since
    (home / receipt).unlink()  # is lost, and restored
    assert "-failed" in keep(failed=True)["folder"]
    (home / receipt).write_text("before the first write")
    assert "-failed" in keep(failed=True)["folder"]
    assert "-failed" not in keep()["folder"]


@pytest.mark.parametrize("later", [{}, {"start": {"failed": True, "msg": "no", "failure": {}, "seconds": 1.0}}])
def test_the_first_run_that_reads_back_what_an_earlier_one_could_not_is_kept_as_one_of_the_others(keep, home, later):
    good = {"commit": {"seconds": 1.0}, "read back": {"seconds": 1.0}}
    bad = {**NEWS, "read back": {"failed": True, "msg": "no", "failure": {}, "seconds": 1.0}}
    keep()
    assert keep("apply", results=good)["folder"] is None
    (home / "receipt.json").write_text("of the run that fails")
    assert keep("apply", results=bad)["folder"].endswith("Z-apply")
    assert keep("plan", results={"plan": {"changed": True}})["folder"].endswith("Z-plan")
    assert keep("sync", results=good)["folder"] is None
    assert keep("apply", results=good | later)["folder"].endswith("Z-apply")
    assert keep("apply", results=good)["folder"] is None


def test_a_run_that_changes_nothing_is_kept_if_one_that_was_killed_before_it_has_written(keep, home):
    unchanged = {"commit": {"changed": False}}
    keep()
    assert keep(results=unchanged)["folder"] is None
    (home / "receipt.json").write_text("of a run that was killed")
    assert keep("sync", results=unchanged)["folder"] is None
    assert (Path(keep(results=unchanged)["folder"]) / "receipt.json").read_text() == "of a run that was killed"
    assert keep(results=unchanged)["folder"] is None


def test_the_files_of_every_role_are_kept(keep, home):
    roles = Path(__file__).parents[4] / "roles"
    # An assessment is about clusters, and works in the directory of no migration.
    tasks = [file for file in sorted(roles.glob("*/tasks/*.yml")) if "migration_assessment" not in file.parts]
    texts = "".join(file.read_text() for file in tasks)
    named = set(re.findall(r"[a-z-]+\.json\b", texts)) - {"lease.json", "runbook.json"}  # neither says what was
    assert {"connect-receipt.json", "topics.json", "copy.json"} < named
    for name in named:
        (home / name).write_text(name)
    assert named <= set(keep()["kept"])


def test_the_last_runs_stay_after_the_clock_went_back(keep, home):
    """Each new folder is named after the newest one, so what goes is what is oldest, and the last name is the last run's."""
    of_the_future = [f"2999-01-01T00000{second}Z-migrate" for second in range(3)]
    earlier(home, *of_the_future)
    made = [folder_of(keep(keep=4)) for _run in range(3)]
    assert made == [f"2999-01-01T00000{second}Z-migrate" for second in (3, 4, 5)]
    assert kept_in(home) == [of_the_future[2], *made]
    assert keep(keep=1)["removed"] == [of_the_future[2], *made]
    now = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    assert history.folder_name(now, "sync", made) == "2999-01-01T000006Z-sync"
    assert history.folder_name(now, "sync", ["mine"]) == "2026-01-01T000000Z-sync"


@pytest.mark.parametrize("phases", [("migrate", "cut_over", "apply"), ("plan",) * 12, ("sync", "plan", "rollback")])
def test_runs_that_end_in_one_second_sort_as_they_ended(phases):
    when = datetime.datetime(2026, 11, 24, 22, 59, 58, tzinfo=datetime.UTC)
    names: list[str] = []
    for phase in phases:
        names += [history.folder_name(when, phase, names, failed=True)]
        names += [history.folder_name(when, phase, names, failed=False)]
    assert names == sorted(set(names)) and names[0] == f"2026-11-24T225958Z-{phases[0]}-failed"
    assert all(map(history.is_folder_name, names))


def test_of_a_directory_that_is_full_in_the_middle_no_part_stays_and_nothing_older_goes(keep, home):
    earlier(home, "2026-01-01T000000Z-migrate")
    (home / "receipt.json").write_bytes(b"x" * 100_000)
    with room_for(50_000):
        (said,) = keep(keep=1)["said"]
    assert said.startswith("Warning: this run is missing from the history")
    assert "the files of this run cannot be kept in" in said and "File too large" in said
    assert "To keep no history, set keep to 0." in said
    assert kept_in(home) == ["2026-01-01T000000Z-migrate"] == keep(keep=1)["removed"]


def test_what_killed_runs_have_left_is_no_folder_and_goes_with_the_next_one(keep, home):
    earlier(home, ".2026-01-01T000000Z-migrate.k3j2h1_x", ".2026-01-01T000000Z-sync.leaving", ".mine")
    result = keep(keep=1)
    assert result["removed"] == []  # they are no folders of a run
    assert kept_in(home) == [".mine", folder_of(result)]


@pytest.mark.parametrize("kind", ["file", "link"])
def test_a_history_that_is_none_is_refused(keep, home, tmp_path, kind):
    if kind == "file":
        (home / "history").write_text("")
    else:
        (tmp_path / "elsewhere").mkdir()
        (home / "history").symlink_to(tmp_path / "elsewhere")
    result = keep()
    assert f"{home}/history cannot be used" in result["said"][0] and "failed" not in result
    assert not list(tmp_path.glob("elsewhere/*"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"keep": -1}, "keep is -1"),
        ({"phase": "../up"}, "phase is '../up'"),
        ({"phase": ""}, "phase is ''"),
        ({"scratch": "/home/mia"}, "scratch is /home/mia, which no run has made"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_written(keep, home, options, said):
    result = keep(report=True, **options)
    assert result["failed"] and said in result["msg"] and not (home / "history").exists()


LEASE = Lease(**HOLDER)


@pytest.fixture
def held(home):
    """The lease of this run on home."""
    file = home / "lease.json"
    file.write_text(lease.to_json(LEASE))
    return file


def test_a_run_releases_its_directory_and_a_round_does_not(keep, held):
    assert not keep(release=False)["released"] and held.exists()
    assert keep()["released"] and not held.exists()


def test_an_end_that_is_refused_holds_no_directory_up(keep, held):
    assert keep(keep=-1)["failed"] and not held.exists()


def test_a_fault_of_the_collection_holds_no_directory_up(keep, held, tmp_path, monkeypatch):
    scratch = tmp_path / "copy.kafka-migration"
    scratch.mkdir()
    monkeypatch.setattr(run_end, "write_report", {}.__getitem__)
    with pytest.raises(TypeError):
        keep(report=True, scratch=str(scratch))
    assert not held.exists() and not scratch.exists()


def test_another_runs_directory_stays_held_and_gets_nothing(keep, home, held):
    held.write_text(lease.to_json(lease_of(os.getpid())))
    result = keep(report=True)
    assert result["said"] == [] and held.exists() and not result["released"]
    assert not (home / "history").exists() and (home / "report.html").read_bytes() == b"another run's"


def test_a_report_that_cannot_be_written_is_no_failure_and_that_of_another_run_is_not_kept(keep, home):
    result = keep(report=True)  # the receipt is damaged
    assert result["said"][0].startswith("No report was written: ") and result["html"] is None
    assert result["kept"] == [*CONTENTS, *OF_THE_END]
    (home / "receipt.json").unlink()
    result = keep(report=True, on_mismatch="leave_out")
    assert result["said"] == [f"Report: {home}/report.html"]
    assert {"report.html", "report.md"} < set(result["kept"])


@pytest.fixture
def known(home):
    """The status file of a round before."""
    (home / "status.json").write_text(status.to_json(status.Status("sync", 1.0, 2.0, 3, None, 2.0, ())))
    return home / "status.json"


def test_a_round_that_fails_leaves_its_reason_in_the_status_and_in_the_metrics(keep, home, known):
    its = {"status": str(known), "metrics": str(home / "kafka.prom"), "started": 4.0}
    keep("sync", **its)  # one that has not failed has told its status itself
    assert json.loads(known.read_text())["failure"] is None and not (home / "kafka.prom").exists()
    assert keep("sync", failed=True, **its)["notes"] == []
    told = json.loads(known.read_text())
    assert (told["failure"], told["last_good"]) == ("no", 2.0)
    assert 'migration="migration"' in (home / "kafka.prom").read_text()


def test_a_cut_over_that_fails_after_its_last_look_leaves_the_last_good_round_and_says_what_it_has_committed(
    keep, home, known
):
    known.write_text(status.to_json(status.Status("cut_over", 4.0, 9.0, 66, None, 2.0)))
    results = {"commit": {"changed": True, "written": 66}, "refused": {"failed": True, "msg": "fraud: moved"}}
    its = {"status": str(known), "metrics": str(home / "kafka.prom"), "started": 4.0}
    assert keep("cut_over", results=results, **its)["notes"] == []
    told = json.loads(known.read_text())
    assert (told["failure"], told["changed"], told["last_good"]) == ("fraud: moved", 66, 2.0)
    metrics = (home / "kafka.prom").read_text()
    assert 'last_round_changed_offsets{migration="migration"} 66' in metrics
    assert 'last_good_round_timestamp_seconds{migration="migration"} 2' in metrics


@pytest.mark.parametrize(
    ("phase", "until"), [("sync", {"billing": True, "shop": 2.0}), ("cut_over", {"billing": 2.0, "shop": 2.0})]
)
def test_a_round_that_fails_has_synced_what_it_has_written_and_a_cut_over_undoes_no_round(
    keep, home, known, phase, until
):
    rounds = tuple(status.GroupRounds(group, None, 2.0) for group in ("billing", "shop"))
    known.write_text(status.to_json(status.Status("sync", 1.0, 2.0, 3, None, 2.0, rounds=rounds)))
    orders, offset = TopicPartition("orders", 0), CommittedOffset(4)
    written = {"billing": 4, "shop": 3}
    lines = [receipt.ReceiptEntry(group, orders, None, offset, offset, (), at) for group, at in written.items()]
    (home / "receipt.json").write_text(receipt.to_json(receipt.Receipt("D", tuple(lines))))
    assert keep(phase, failed=True, status=str(known), started=4.5)["notes"] == []
    found = status.from_json(known.read_text(), "").synced_until
    assert {group: time > 4.5 or time for group, time in found.items()} == until


def test_a_reason_that_cannot_be_written_is_noted(keep, home):
    result = keep("sync", failed=True, status=str(home / "nowhere/status.json"))
    assert result["note_kinds"] == ["status_unusable"] and "failed" not in result


def test_a_dry_run_leaves_the_status_as_it_is(keep, known):
    before = known.read_text()
    keep("sync", failed=True, check=True, status=str(known))
    assert known.read_text() == before


@pytest.mark.parametrize(
    ("has_snapshot", "groups", "way_back"),
    [(False, ["orders-app"], False), (False, ["billing"], True), (True, ["orders-app"], False)],
)
def test_a_run_that_fails_before_its_plan_does_not_report_the_plan_of_another(
    keep, home, has_snapshot, groups, way_back
):
    texts = texts_of(ENTRIES[:2], committed=True)
    results = {"snapshot": {"failed": True, "msg": "no broker answers"}}
    if has_snapshot:
        texts["snapshot.json"] = texts_of([entry("orders-app", "orders", 0)])["snapshot.json"]
        results = {"snapshot": {"changed": True}, "topics": {"failed": True, "msg": "no ACL", "failure": {}}}
    for name, text in texts.items():
        (home / name).write_text(text)
    its = {"role": "group_migration", "source": "onprem", "destination": "cloud", "on_mismatch": "leave_out"}
    result = keep(report=True, results={**results, "plan": {}}, selection={"groups": groups}, **its)
    ticket = (home / "report.md").read_text().replace("\\", "")
    assert result["headline"] == "The run failed, and changed no committed offset. It has made no plan."
    assert "Nothing was verified." in ticket and "verified |" in ticket and "SHA-256" not in ticket
    assert ("streamshift.kafka.rollback" in ticket) is way_back
    others = "" if has_snapshot else "snapshot.json, "
    assert f"leaves out {others}plan.json, report.json of an earlier run" in ticket
    assert "Not there" not in ticket
