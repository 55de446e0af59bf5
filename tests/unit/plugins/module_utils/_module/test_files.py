"""Files are whole or not there, private, and one run's alone."""

import calendar
import contextlib
import hashlib
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model import (
    option_names,
    plan,
    receipt,
    removed,
    snapshot,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidFile, Locked, Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Verdict
from ansible_collections.streamshift.kafka.plugins.module_utils._module import digests, files

NOBODY = 65534
COLLECTIONS = Path(__file__).parents[5] / ".ansible/collections"


@pytest.fixture
def unwritable(tmp_path: Path) -> Iterator[Path]:
    """A directory that this user cannot write to; root becomes nobody for it."""
    folder = tmp_path / "unwritable"
    folder.mkdir()
    folder.chmod(0o555)
    if os.getuid():
        yield folder
        return
    here = os.open(folder, os.O_RDONLY)  # nobody may not walk through root's temporary directories
    os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield Path(f"/proc/self/fd/{here}")
    finally:
        os.setresuid(0, 0, 0)
        os.close(here)


def test_text_comes_back(tmp_path):
    path = str(tmp_path / "plan.json")
    assert files.read(path) is None
    files.write(path, "größe\n")
    assert files.read(path) == "größe\n"
    assert Path(path).read_bytes() == "größe\n".encode()


def test_line_ends_stay_as_they_are_so_that_a_digest_is_that_of_the_bytes(tmp_path):
    path = tmp_path / "plan.json"
    path.write_bytes(b"one\r\ntwo\n")
    assert digests.digest(files.read(str(path)) or "") == hashlib.sha256(path.read_bytes()).hexdigest()


def test_files_are_private_whatever_was_there_before(tmp_path):
    path = tmp_path / "plan.json"
    path.write_text("old")
    path.chmod(0o644)
    files.write(str(path), "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("step", ["replace", "fsync"])
def test_a_write_that_fails_half_way_leaves_the_old_file_and_no_other(tmp_path, monkeypatch, step):
    path = tmp_path / "receipt.json"
    files.write(str(path), "old")
    monkeypatch.setattr(os, step, mock.Mock(side_effect=OSError(28, "No space left on device")))
    with pytest.raises(InvalidFile, match="receipt.json cannot be written: .*No space left on device"):
        files.write(str(path), "new")
    assert [each.name for each in tmp_path.iterdir()] == ["receipt.json"]
    assert path.read_text() == "old"


def test_a_process_that_is_killed_while_it_writes_leaves_the_old_file(tmp_path):
    path = tmp_path / "receipt.json"
    files.write(str(path), "old")
    script = (
        "import os, signal; from ansible_collections.streamshift.kafka.plugins.module_utils._module import files\n"
        "os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"files.write({str(path)!r}, 'new' * 1000)"
    )
    assert run(script).wait() == -signal.SIGKILL
    assert path.read_text() == "old"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("1,2,3".encode("utf-16"), "it is UTF-16 text, as PowerShell .*, or save the file as UTF-8"),
        ('"1",2'.encode("utf-16-le"), "it is UTF-16 text, as PowerShell .*, or save the file as UTF-8"),
        ("1,2".encode("utf-16-be"), "it is UTF-16 text"),
        ("\N{LATIN SMALL LETTER E WITH ACUTE}".encode("utf-16"), "it is UTF-16 text"),
        ("\N{LATIN SMALL LETTER E WITH ACUTE},1".encode("latin-1"), "it is not UTF-8 text"),
        (None, "it is a directory"),
    ],
)
def test_what_is_there_and_cannot_be_read_is_told(tmp_path, content, why):
    path = tmp_path / "plan.json"
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    with pytest.raises(InvalidFile, match=f"plan.json cannot be read: {why}"):
        files.read(str(path))


def test_what_a_killed_process_has_left_goes_with_the_next_write(tmp_path):
    path, old = tmp_path / "plan.json", time.time() - 3600
    left = [".plan.json.abc_1234", ".plan.json.x9x9x9x9"]
    others = [".plan.json.swp", ".plan.json.abc_12345", ".receipt.json.abc_1234", "plan.json.abc_1234"]
    for name in (*left, *others):
        (tmp_path / name).write_text("half")
        os.utime(tmp_path / name, (old, old))
    os.utime(tmp_path / left[1])  # somebody may be writing this one now
    files.write(str(path), "new")
    assert {each.name for each in tmp_path.iterdir()} == {"plan.json", left[1], *others}


def test_a_missing_file_names_the_step_that_makes_it(tmp_path):
    with pytest.raises(
        InvalidFile, match="no plan file .*plan.json. Correct the path, or make it with kafka_offset_translate"
    ):
        files.read_required(str(tmp_path / "plan.json"), "plan", "kafka_offset_translate")


def test_what_no_step_can_make_again_is_restored_from_where_it_is(tmp_path):
    def remedy() -> str:
        with pytest.raises(InvalidFile) as missing:
            files.read_required(str(tmp_path / "receipt.json"), "receipt", None)
        return str(missing.value).rpartition("is lost. ")[2]

    assert remedy() == "If it is lost, restore receipt.json from a backup, or correct the path."
    for kept in ("01T090000Z-migrate/receipt.json", "02T090000Z-migrate/receipt.json", "03T090000Z-plan/plan.json"):
        path = tmp_path / f"history/2026-11-{kept}"
        path.parent.mkdir(parents=True)
        path.touch()
    newest = tmp_path / "history/2026-11-02T090000Z-migrate/receipt.json"
    assert remedy() == f"If it is lost, restore receipt.json from {newest} or a backup, or correct the path."


def test_an_unwritable_directory_is_told_before_anything_is_done(unwritable):
    with pytest.raises(InvalidFile, match="is not writable for this user"):
        files.check_writable(str(unwritable / "plan.json"))
    with pytest.raises(InvalidFile, match="cannot be written: .*Permission denied"):
        files.write(str(unwritable / "plan.json"), "text")
    with pytest.raises(InvalidFile, match="the directory .*new/one cannot be used: .* is not writable for this user"):
        files.check_makeable(f"{unwritable}/new/one/plan.json")


@pytest.mark.parametrize("check", [True, False])
def test_a_directory_that_nobody_can_make_is_told_alike_by_a_dry_run(check):
    with pytest.raises(
        InvalidFile, match="/proc/new/one cannot be used: .*( made in /proc: No such|/proc is not writable)"
    ):
        files.make_directory("/proc/new/one", check=check)


def test_a_look_whether_a_file_can_be_made_leaves_nothing_and_sees_that_a_directory_below_a_file_cannot(tmp_path):
    files.check_makeable(str(tmp_path / "new/one/plan.json"))
    files.check_writable(str(tmp_path / "plan.json"))
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(InvalidFile, match="file/new cannot be used: .*/file is no directory. Name another directory"):
        files.check_makeable(str(tmp_path / "file/new/plan.json"))


def test_a_path_that_can_be_no_file_is_told_before_anything_is_done(tmp_path):
    with pytest.raises(InvalidFile, match="missing is no directory. Create it"):
        files.check_writable(str(tmp_path / "missing/plan.json"))
    with pytest.raises(InvalidFile, match="it is a directory"):
        files.check_writable(str(tmp_path))
    with (
        pytest.raises(InvalidFile, match="cannot be used: .*No such file"),
        files.locked(str(tmp_path / "no/plan.json")),
    ):
        pass


def run(script: str, **options: object) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(COLLECTIONS)}
    return subprocess.Popen([sys.executable, "-c", script], env=environment, text=True, **options)  # type: ignore[call-overload,no-any-return]


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that works in the directory."""
    script = (
        "import time; from ansible_collections.streamshift.kafka.plugins.module_utils._module import files\n"
        f"with files.locked({str(tmp_path / 'plan.json')!r}):\n"
        "    print('locked', flush=True); time.sleep(60)"
    )
    process = run(script, stdout=subprocess.PIPE)
    assert process.stdout
    assert process.stdout.readline() == "locked\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_second_run_in_a_directory_is_refused_at_once_and_let_in_when_the_first_is_killed(tmp_path, holder):
    begin = time.monotonic()
    with pytest.raises(Locked, match="another run works in") as refused, files.locked(str(tmp_path / "receipt.json")):
        pass
    assert time.monotonic() - begin < 1
    # It says whom to wait for.
    started = re.search(
        rf": process {holder.pid} on {re.escape(socket.gethostname())}, which started at (.+)\. Wait",
        str(refused.value),
    )
    assert started, refused.value
    assert abs(calendar.timegm(time.strptime(started[1], "%Y-%m-%dT%H:%M:%SZ")) - time.time()) < 60
    holder.kill()
    holder.wait()
    with files.locked(str(tmp_path / "receipt.json")):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_lock_is_that_of_one_directory_and_ends_with_its_block(tmp_path):
    (tmp_path / "other").mkdir()
    plan, other = (str(tmp_path / name) for name in ("plan.json", "other/plan.json"))
    for _time in range(2):
        with pytest.raises(ZeroDivisionError), files.locked(plan), files.locked(other):
            raise ZeroDivisionError


def test_a_file_system_without_locks_is_told(tmp_path, monkeypatch):
    of_nfs = OSError(9, "Bad file descriptor")  # for a directory
    monkeypatch.setattr(files.fcntl, "flock", mock.Mock(side_effect=of_nfs))
    with pytest.raises(InvalidFile, match="cannot be locked: .*Bad file descriptor"), files.locked(str(tmp_path / "x")):
        pass


def test_a_pipe_or_a_device_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "plan.json")
    (tmp_path / "receipt.json").symlink_to("/dev/zero")
    (tmp_path / "copy.json").symlink_to("plan.json")
    began = time.monotonic()
    for name in ("plan.json", "receipt.json", "copy.json"):
        with pytest.raises(InvalidFile, match=f"{name} cannot be read: it is no regular file"):
            files.read(str(tmp_path / name))
    assert time.monotonic() - began < 5


def test_a_symbolic_link_leads_only_to_a_file_of_this_user_or_root(tmp_path, monkeypatch):
    (tmp_path / "real.json").write_text("text")
    (tmp_path / "plan.json").symlink_to("real.json")
    assert files.read(str(tmp_path / "plan.json")) == "text"
    if os.geteuid() == 0:
        os.chown(tmp_path / "real.json", 12345, 12345)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(InvalidFile, match=r"plan.json cannot be read: it is a symbolic link to a file of another user"):
        files.read(str(tmp_path / "plan.json"))
    assert files.read(str(tmp_path / "real.json")) == "text"


def test_links_that_lead_nowhere_or_in_a_circle(tmp_path):
    (tmp_path / "plan.json").symlink_to("nothing")
    (tmp_path / "circle").symlink_to("circle")
    assert files.read(str(tmp_path / "plan.json")) is None
    with pytest.raises(InvalidFile, match="circle cannot be read: .*symbolic links"):
        files.read(str(tmp_path / "circle"))


def test_a_path_leads_where_the_operating_system_goes(tmp_path, monkeypatch):
    (tmp_path / "mnt/deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to("mnt/deep")
    assert files.absolute(f"{tmp_path}/link/../plan.json") == f"{tmp_path}/mnt/plan.json"
    assert files.absolute(f"{tmp_path}/link/..") == f"{tmp_path}/mnt"
    assert files.absolute(f"{tmp_path}/link/plan.json") == f"{tmp_path}/link/plan.json"  # as it was named
    monkeypatch.chdir(tmp_path)
    assert files.absolute("link/") == f"{tmp_path}/link"


def test_a_file_that_is_too_large_is_not_read_whole(tmp_path):
    with open(tmp_path / "plan.json", "wb") as file:
        file.truncate(10 * files.LARGEST)
    with pytest.raises(InvalidFile, match="plan.json cannot be read: it is larger than 1073741824 bytes"):
        files.read(str(tmp_path / "plan.json"))


P = TopicPartition("orders", 0)
C = CommittedOffset(7)


@pytest.mark.parametrize(
    ("form", "value"),
    [
        *(
            (receipt, receipt.Receipt("id", (receipt.ReceiptEntry(group, where, None, offset, None),)))
            for group, where, offset in (("", P, C), ("g", TopicPartition("", 0), C), ("g", P, CommittedOffset(-1)))
        ),
        (receipt, receipt.Receipt("id", (), (snapshot.SnapshotEntry("g", P, C),) * 2)),
        (removed, removed.Removed("id", (removed.RemovedGroup("", "classic", False),), ())),
        (snapshot, snapshot.Snapshot("id", (), (snapshot.SnapshotEntry("g", P, CommittedOffset(7, "m" * 32_768)),))),
        (plan, plan.Plan("a", "b", "d", (plan.PlanEntry("", P, None, Verdict.UNCOMMITTED, ()),))),
    ],
)
def test_what_its_reader_would_call_damaged_is_not_written_and_the_earlier_file_stays(tmp_path, form, value):
    path = tmp_path / "file.json"
    path.write_text("earlier")
    for check in (True, False):
        with pytest.raises(Refused, match=r"file.json was not written: no later run could read it: .*report this"):
            files.write_document(str(path), form.to_json(value), form.from_json, check=check)
    assert (path.read_text(), os.listdir(tmp_path)) == ("earlier", ["file.json"])


def test_a_document_is_written_as_it_is_but_not_in_a_check_nor_where_no_later_run_could_read_it(tmp_path, monkeypatch):
    path, text = tmp_path / "receipt.json", receipt.to_json(receipt.Receipt("é" * 50))
    files.write_document(str(path), text, receipt.from_json, check=True)
    assert not path.exists()
    monkeypatch.setattr(files, "MOST_WRITTEN", len(text))  # as many characters, and fewer bytes
    told = r"receipt.json was not written: it would have \d+ bytes.* fewer groups at a time"
    for check in (True, False):
        with pytest.raises(Refused, match=told):
            files.write_document(str(path), text, receipt.from_json, check=check)
    assert not path.exists()
    monkeypatch.setattr(files, "MOST_WRITTEN", len(text.encode()))
    files.write_document(str(path), text, receipt.from_json)
    assert path.read_text() == text


def test_only_what_no_module_reads_again_is_written_without_its_reader():
    """Pages, archives, metrics, a status for others, and the forms of other tools, which check what they write themselves.

    And what was read just before: a plan in which only its verification is new.
    """
    plugins = Path(__file__).parents[5] / "plugins"
    lines = [line.strip() for file in sorted(plugins.rglob("*.py")) for line in file.read_text().splitlines()]
    assert sorted(line for line in lines if "files.write(" in line) == [
        "files.write(archive, _packed(made))",
        'files.write(params["metrics"], metrics.exposition(made, name), files.FOR_ALL)',
        'files.write(params["metrics"], text, files.FOR_ALL)',
        'files.write(params["status"], documents.dumps(KIND, head, result["groups"]))',
        "files.write(path, text)",
        "files.write(path, text)  # read just now: only how entries were verified is new",
        'files.write(paths["report.html"], html_page(told))',
        'files.write(paths["report.md"], markdown(told))',
        "files.write(paths[name], texts[name])",
        "files.write(self.path, self.text)",
    ]


def test_a_receipt_in_a_directory_that_is_not_there_is_told_by_the_directory(tmp_path, monkeypatch):
    """Neither a backup nor the history helps whoever has named another directory, or other clusters."""
    path = str(tmp_path / "onprem-to-clowd" / "receipt.json")
    monkeypatch.setattr(option_names, "_variables", {})
    with pytest.raises(InvalidFile, match=f"there is no directory {tmp_path}/onprem-to-clowd. Correct the path.$"):
        files.check_rollback_file(path, "receipt")
    for name in ("onprem-to-cloud", "onprem-to-clout"):
        (tmp_path / name).mkdir()
    (tmp_path / "onprem-to-cloud" / "receipt.json").touch()  # the other has none
    with pytest.raises(
        InvalidFile, match=rf"onprem-to-clowd \(did you mean {tmp_path}/onprem-to-cloud\?\). Correct the path.$"
    ):
        files.check_rollback_file(path, "receipt")
    with pytest.raises(InvalidFile, match=rf"did you mean {tmp_path}/onprem-to-cloud\?"):  # that of the other direction
        files.check_rollback_file(str(tmp_path / "cloud-to-onprem" / "receipt.json"), "receipt")
    names = "directory", "source", "destination"
    option_names.set_variables({name: f"group_migration_{name}" for name in names})
    with pytest.raises(InvalidFile) as missing:
        files.read_required(path, "receipt", None)
    assert str(missing.value).endswith(
        "Correct group_migration_directory, or group_migration_source and group_migration_destination, after which it is "
        "called by default."
    )
    os.mkdir(tmp_path / "onprem-to-clowd")
    with pytest.raises(InvalidFile, match="no run in this directory has written anything"):
        files.check_rollback_file(path, "receipt")


@pytest.mark.parametrize(("kinds", "refused"), [(["report", "plan"], False), ([], True), (["snapshot"], True)])
def test_a_document_is_replaced_by_one_of_its_kind_alone(tmp_path, kinds, refused):
    path = tmp_path / "report.json"
    # Damaged, and named all the same.
    path.write_text('{"format": "streamshift.kafka/report", "version": 1, "entries": [')
    with pytest.raises(InvalidFile, match="it is a report file") if refused else contextlib.nullcontext():
        files.check_replaceable(str(path), *kinds)
    path.write_text("orders,0,7\n")
    files.check_replaceable(str(path), *kinds)
