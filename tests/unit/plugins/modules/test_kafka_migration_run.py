"""A run holds its directory from its first task to its last; another one is refused, or leaves, until the first has ended."""

import dataclasses
import json
import os
import re
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration import processes
from ansible_collections.streamshift.kafka.plugins.module_utils._model import plan as file
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import Locked
from ansible_collections.streamshift.kafka.plugins.module_utils._model.plan import Plan
from ansible_collections.streamshift.kafka.plugins.module_utils._module import files
from ansible_collections.streamshift.kafka.plugins.module_utils._module.leases import VARIABLE
from ansible_collections.streamshift.kafka.plugins.modules import kafka_group_readiness, kafka_migration_run
from tests.support.held import lease_of

ROOT = Path(__file__).parents[4]
SCHEMA = json.loads((ROOT / "docs/schemas/lease.schema.json").read_text())
Call = Callable[..., dict[str, Any]]


def holder(process: int) -> dict[str, Any]:
    """What the action plugin says of a process of ansible-playbook."""
    return {name: its for name, its in dataclasses.asdict(lease_of(process)).items() if name != "phase"}


@pytest.fixture
def playbook() -> Iterator[subprocess.Popen[bytes]]:
    """A process that stands for the ansible-playbook of another run."""
    process = subprocess.Popen(["sleep", "60"])
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def lease(run_module, tmp_path) -> Call:
    """``lease(holder, **options)`` runs the module for this run, or for another one."""

    def call(its: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
        given = {"directory": str(tmp_path / "home"), "holder": its or holder(os.getpid()), **options}
        if options.get("state") == "ended":
            given |= {"phase": "migrate", "report": False}
        result: dict[str, Any] = run_module(kafka_migration_run, **given)
        return result

    return call


def test_a_run_holds_its_directory_until_it_releases_it(lease, tmp_path, monkeypatch):
    taken = lease()
    assert (taken["changed"], taken["held"], taken["reason"]) == (True, True, None)
    home = tmp_path / "home"
    assert home.stat().st_mode & 0o777 == 0o700
    assert (home / "lease.json").stat().st_mode & 0o777 == 0o600
    written = json.loads((home / "lease.json").read_text())
    jsonschema.Draft202012Validator(SCHEMA).validate(written)
    assert written["process"] == os.getpid()
    refused = lease()
    assert "this ansible-playbook works in" in refused["msg"] and "another host of the play" in refused["msg"]
    assert refused["failure"]["kind"] == "locked"
    assert "one host, or set directory to another directory for each host." in refused["msg"]
    assert lease(on_locked="leave")["environment"] == {}
    monkeypatch.setenv(*next(iter(taken["environment"].items())))
    again = lease()  # within the tasks of the run
    assert (again["changed"], again["held"], again["environment"]) == (False, True, taken["environment"])
    assert lease(state="ended")["released"] is True
    assert list(home.iterdir()) == []
    assert lease(state="ended")["released"] is False


def test_another_run_is_named_and_fails_or_leaves(lease, playbook):
    assert lease(holder(playbook.pid))["held"]
    refused = lease()
    assert refused["failed"]
    assert refused["failure"]["kind"] == "locked"
    assert f"now: process {playbook.pid} on {socket.gethostname()}, which started at " in refused["msg"]
    assert refused["msg"].endswith("Wait until it has ended.\nNothing was written to a cluster.")
    left = lease(on_locked="leave")
    assert (left["changed"], left["held"], left["environment"]) == (False, False, {})
    assert left["reason"] == refused["msg"].partition("\n")[0]
    lease(state="ended")  # another run's lease stays
    assert lease()["failed"]


def test_a_dry_run_notes_a_receipt_that_only_the_history_has(lease, tmp_path):
    kept = tmp_path / "home/history/2026-11-01T090000Z-migrate/receipt.json"
    kept.parent.mkdir(parents=True)
    kept.write_text("{}")
    aside = {"aside": ["plan.json", "receipt.json"]}
    (note,) = lease(_ansible_check_mode=True, **aside)["notes"]
    assert f"receipt.json is not there, and {kept} is: copy it to its place" in note
    assert lease(**aside)["notes"] == []  # the commit says it
    lease(state="ended")
    (tmp_path / "home/receipt.json").write_text("{}")
    assert lease(_ansible_check_mode=True, **aside)["notes"] == []


def test_a_begin_that_fails_leaves_neither_a_copy_nor_a_lease(lease, tmp_path, monkeypatch):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    plan = tmp_path / "home/plan.json"
    plan.mkdir(parents=True)
    assert "plan.json" in lease(aside=["plan.json"])["msg"]
    assert list(temporary.iterdir()) == []
    assert list((tmp_path / "home").iterdir()) == [plan]


def test_the_directory_of_a_run_that_was_killed_is_taken_over(lease, playbook):
    lease(holder(playbook.pid))
    its = holder(playbook.pid)
    playbook.kill()
    playbook.wait()
    taken = lease()
    assert taken["held"]
    assert f"ended without releasing it: process {its['process']}" in str(taken["warnings"])
    assert taken["note_kinds"] == ["run_taken_over"]
    lease(state="ended")
    assert lease()["note_kinds"] == []


@pytest.mark.parametrize("boot", ["8d3c3a4e-0000-4000-8000-000000000000", None])
def test_a_machine_of_the_same_name_is_another_one(lease, playbook, boot):
    """All machines call their first namespace the same, and those of one image may have one host name."""
    its = holder(playbook.pid)
    namespace, _at, own = its["namespace"].partition("@")
    assert own == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    lease({**its, "namespace": f"{namespace}@{boot}" if boot else namespace})
    playbook.kill()
    playbook.wait()
    refused = lease()
    assert refused["failed"] and "or was started again, remove " in refused["msg"]


def test_a_process_that_has_ended_and_was_not_waited_for_holds_nothing(lease, playbook):
    lease(holder(playbook.pid))
    playbook.kill()
    deadline = time.monotonic() + 10
    while processes.start_ticks(playbook.pid) is not None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert lease()["held"]


def test_an_id_that_was_given_again_is_another_process(lease, playbook):
    its = holder(playbook.pid)
    lease({**its, "ticks": its["ticks"] - 100})
    assert lease()["note_kinds"] == ["run_taken_over"]


@pytest.mark.parametrize("elsewhere", [{"host": "another"}, {"namespace": "pid:[1]"}])
def test_the_lease_of_another_machine_or_container_is_only_named(lease, playbook, elsewhere, tmp_path):
    its = holder(playbook.pid) | elsewhere
    playbook.kill()
    playbook.wait()
    lease(its)
    refused = lease()
    assert f"now: process {its['process']} on {its['host']}" in refused["msg"]
    assert f"container is gone or was started again, remove {tmp_path}/home/lease.json" in refused["msg"]
    (tmp_path / "home/lease.json").unlink()
    assert lease()["held"]


def test_whatever_writes_in_the_directory_checks_the_lease(lease, playbook, tmp_path, monkeypatch, run_module):
    home = tmp_path / "home"
    environment = lease(holder(playbook.pid))["environment"]
    (home / "plan.json").write_text(file.to_json(Plan("a", "b", "c", ())))
    monkeypatch.setattr(kafka_group_readiness.use_case, "look_at_readiness", lambda *_given: [])
    cluster = {"bootstrap_servers": ["127.0.0.1:1"]}
    paths = {name: str(home / f"{name}.json") for name in ("plan", "status")}
    status = {"source": cluster, "destination": cluster, **paths}
    with pytest.raises(Locked, match=f"another run works in {home} now"), files.locked(str(home / "plan.json")):
        pass
    assert f"another run works in {home} now" in run_module(kafka_group_readiness, **status)["msg"]
    assert not (home / "status.json").exists()
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with files.locked(str(home / "plan.json")):
        pass
    assert "failed" not in run_module(kafka_group_readiness, **status)
    monkeypatch.setenv(VARIABLE, "another/run")
    with pytest.raises(Locked), files.locked(str(home / "plan.json")):
        pass


def test_no_other_module_writes_without_asking():
    parts = [ROOT / "plugins/module_utils/_module" / name for name in ("plan_verification.py", "promoting.py")]
    sources = {path.stem: path.read_text() for path in [*(ROOT / "plugins/modules").glob("*.py"), *parts]}
    writing = {
        name for name, text in sources.items() if re.search(r"files\.(write|write_document|saver|remove)\(", text)
    }
    assert len(writing) >= 8
    assert {name for name in writing if "files.locked(" not in sources[name]} == set()


def test_a_task_that_works_in_the_directory_without_a_lease_counts_as_another_run(lease, tmp_path):
    (tmp_path / "home").mkdir()
    with files.locked(str(tmp_path / "home/plan.json")):
        assert lease()["failure"]["kind"] == "locked"
        assert lease(on_locked="leave")["held"] is False
    (run,) = lease()["environment"].values()
    with files.locked(str(tmp_path / "home/plan.json"), run):
        released = lease(state="ended")
        assert "until this run ends" in str(released["warnings"]) and released["note_kinds"] == ["lease_stays"]
    assert lease(state="ended")
    assert not (tmp_path / "home/lease.json").exists()


def test_a_run_that_is_refused_takes_no_lock_that_the_holder_may_need(lease, playbook, tmp_path):
    its = holder(playbook.pid)
    (run,) = lease(its)["environment"].values()
    with files.locked(str(tmp_path / "home/plan.json"), run):  # a module of the other run
        assert f"now: process {playbook.pid} on " in lease()["msg"]


def test_check_mode_writes_nothing_and_says_the_same(lease, playbook, tmp_path):
    missing = lease(_ansible_check_mode=True)
    assert not (tmp_path / "home").exists()
    assert missing == lease()
    assert not lease(state="ended", _ansible_check_mode=True)["released"]
    assert (tmp_path / "home/lease.json").exists()
    lease(state="ended")
    assert lease(_ansible_check_mode=True)["held"]
    assert not (tmp_path / "home/lease.json").exists()


def test_a_directory_that_is_missing_is_not_made_for_a_rollback(lease, tmp_path):
    result = lease(create=False)
    assert (result["changed"], result["held"], result["reason"]) == (False, False, None)
    assert not (tmp_path / "home").exists()


def test_a_directory_that_cannot_be_made_is_told_with_the_variable(lease, tmp_path):
    (tmp_path / "taken").write_text("")
    names = {"directory": "group_migration_directory"}
    refused = lease(directory=str(tmp_path / "taken/home"), option_names=names)
    assert f"the directory {tmp_path}/taken/home cannot be used: {tmp_path}/taken is no directory" in refused["msg"]
    assert refused["msg"].endswith("Name another group_migration_directory.\nNothing was written to a cluster.")
    assert lease(directory=str(tmp_path / "taken/home"))["msg"].endswith(
        "Name another directory.\nNothing was written to a cluster."
    )


def test_all_that_is_missing_of_a_path_is_made_for_this_user_alone(lease, tmp_path):
    deep = tmp_path / "kafka-migrations/onprem-to-cloud"
    assert lease(directory=str(deep))["changed"]
    assert [path.stat().st_mode & 0o777 for path in (deep.parent, deep)] == [0o700, 0o700]


@pytest.mark.parametrize("text", ["{", '{"format": "streamshift.kafka/lease", "version": 1, "entries": []}'])
def test_a_damaged_lease_is_refused_and_named(lease, tmp_path, text):
    (tmp_path / "home").mkdir()
    (tmp_path / "home/lease.json").write_text(text)
    refused = lease()
    assert f"the lease file {tmp_path}/home/lease.json is damaged" in refused["msg"]
    assert "Remove it, if no run works in the directory." in refused["msg"]


@pytest.mark.parametrize(
    ("member", "value", "told"),
    [
        *(("process", value, "is not the id of a process") for value in (0, -1, True, 1 << 40, "4711")),
        *(("started", value, "is not a time") for value in (-1, True, 1e300, float("nan"), "now")),
    ],
)
def test_what_is_no_process_or_no_time_is_damaged(lease, tmp_path, member, value, told):
    lease()
    path = tmp_path / "home/lease.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), member: value}))
    assert told in lease()["msg"]


@pytest.mark.parametrize("check", [False, True])
def test_a_directory_that_this_user_cannot_write_to_is_told(lease, tmp_path, monkeypatch, check):
    (tmp_path / "home").mkdir()

    def refuse(**_where):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files.tempfile, "TemporaryFile", refuse)  # root may write anywhere
    refused = lease(_ansible_check_mode=check)
    assert (
        f"{tmp_path}/home/lease.json cannot be written: the directory {tmp_path}/home is not writable" in refused["msg"]
    )
    assert refused["msg"].endswith("\nNothing was written to a cluster.")
    assert refused["failure"]["kind"] == "file_unusable"


def test_where_the_system_tells_nothing_a_process_that_is_there_holds(lease, playbook, monkeypatch):
    monkeypatch.setattr(processes, "_stat", lambda _process: None)  # as without /proc
    lease({**holder(playbook.pid), "ticks": None, "started": None})
    assert f"process {playbook.pid} on {socket.gethostname()}. Wait" in lease()["msg"]
    playbook.kill()
    playbook.wait()
    assert lease()["held"]


def test_the_module_is_called_with_its_action_plugin(run_module, tmp_path):
    refused = run_module(kafka_migration_run, directory=str(tmp_path))
    assert "holder is missing" in refused["msg"]
