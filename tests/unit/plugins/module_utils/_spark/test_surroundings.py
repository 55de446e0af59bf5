"""What a session changes around itself is put back, and what a killed one has left is removed."""

import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidInput, SparkFailed
from ansible_collections.streamshift.kafka.plugins.module_utils._spark import surroundings
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.surroundings import (
    deadline,
    environment,
    work_folder,
)


def test_a_work_folder_is_its_users_own_and_goes(tmp_path):
    with work_folder(str(tmp_path)) as folder:
        assert folder.parent == tmp_path and folder.stat().st_mode & 0o777 == 0o700
        (folder / "data").write_text("much")
    assert not list(tmp_path.iterdir())


def test_folders_of_living_sessions_stay_and_those_of_dead_ones_go(tmp_path):
    with work_folder(str(tmp_path)) as living, work_folder(str(tmp_path)) as another:
        dead = tmp_path / "streamshift-spark-killed"
        (dead / "blocks").mkdir(parents=True)
        (dead / "lock").touch()
        with work_folder(str(tmp_path)):
            assert not dead.exists() and living.exists() and another.exists()


def test_a_folder_without_a_lock_goes_unless_it_was_just_made(tmp_path):
    """Its session was killed after it made the folder, or while it removed it."""
    old, new = tmp_path / "streamshift-spark-old", tmp_path / "streamshift-spark-new"
    for folder in (old, new):
        folder.mkdir()
    os.utime(old, (time.time() - 3600,) * 2)
    with work_folder(str(tmp_path)):
        assert not old.exists() and new.exists()


def test_nobody_sees_the_lock_before_it_is_held(tmp_path, monkeypatch):
    """Another session would take the newborn one for dead, and remove its folder."""
    seen, flock = [], fcntl.flock

    def watched(file, operation):
        seen.extend(tmp_path.glob("*/lock"))
        flock(file, operation)

    monkeypatch.setattr(surroundings.fcntl, "flock", watched)
    with work_folder(str(tmp_path)) as folder:
        assert seen == [] and [each.name for each in folder.iterdir()] == ["lock"]
        with open(folder / "lock") as lock, pytest.raises(BlockingIOError):
            flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_links_are_not_followed(tmp_path):
    """Anybody may make one in a directory for temporary files, with the name of a session that works elsewhere."""
    name = "streamshift-spark-living"
    elsewhere = tmp_path / "elsewhere" / name
    elsewhere.mkdir(parents=True)
    os.utime(elsewhere, (time.time() - 3600,) * 2)
    ours = tmp_path / "ours"
    ours.mkdir()
    (ours / name).symlink_to(elsewhere)
    mine = subprocess.Popen(["sleep", "60"], env={**os.environ, "SPARK_LOCAL_DIRS": str(elsewhere)})
    try:
        with work_folder(str(ours)):
            assert mine.poll() is None and elsewhere.exists()
    finally:
        mine.kill()
        mine.wait()


def test_processes_of_dead_sessions_end_and_those_of_living_ones_go_on(tmp_path):
    """Java and Python of a killed driver would work for some seconds more, and make the folder anew."""
    dead = tmp_path / "streamshift-spark-killed"
    said = []
    with work_folder(str(tmp_path)) as living:
        dead.mkdir()
        (dead / "lock").touch()
        left, other, mine = (
            subprocess.Popen(["sleep", "60"], env={**os.environ, **its})
            for its in (
                {"SPARK_LOCAL_DIRS": str(dead)},
                {"SPARK_LOCAL_DIRS": str(tmp_path)},
                {"SPARK_LOCAL_DIRS": str(living)},
            )
        )
        try:
            with work_folder(str(tmp_path), said.append):
                assert left.wait(10) == -signal.SIGKILL
                assert other.poll() is None and mine.poll() is None and not dead.exists()
        finally:
            for process in (left, other, mine):
                process.kill()
                process.wait()
    assert said == ["ending 1 process of an earlier run that was killed"]


def test_temporary_files_of_a_session_lie_in_its_folder(tmp_path):
    before = tempfile.gettempdir()
    with work_folder(str(tmp_path)) as folder:
        assert Path(tempfile.mkdtemp()).parent == folder
    assert tempfile.gettempdir() == before and not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    told = f"no folder can be made in {tmp_path}/none: No such file.*work_directory"
    with pytest.raises(InvalidInput, match=told), work_folder(str(tmp_path / "none")):
        pass


PROGRAM = """
import os, pathlib, subprocess, sys
sys.path.insert(0, sys.argv[1])
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.surroundings import output_to
print("before", flush=True)
with output_to(pathlib.Path("log")):
    print("python")
    subprocess.run(["echo", "child"])
    os.write(2, b"error\\n")
print("after")
"""


def test_nothing_but_the_result_is_printed(tmp_path, pytestconfig):
    path = str(pytestconfig.rootpath / ".ansible/collections")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, path], cwd=tmp_path, capture_output=True, check=True, text=True
    )
    assert (done.stdout, done.stderr) == ("before\nafter\n", "")
    assert sorted((tmp_path / "log").read_text().split()) == ["child", "error", "python"]
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o600


def test_environment_variables_come_back(monkeypatch):
    monkeypatch.setenv("ONE", "1")
    monkeypatch.delenv("TWO", raising=False)
    with pytest.raises(ZeroDivisionError), environment(ONE=None, TWO="2"):
        assert ("ONE" in os.environ, os.environ["TWO"]) == (False, "2")
        raise ZeroDivisionError
    assert (os.environ["ONE"], "TWO" in os.environ) == ("1", False)


def nobody():
    return SparkFailed("nobody has answered")


def test_a_deadline_acts_only_when_it_is_missed():
    missed, done = threading.Event(), []
    with pytest.raises(SparkFailed, match="nobody has answered"), deadline(0.05, missed.set, nobody):
        assert missed.wait(5)
        raise ConnectionError
    with pytest.raises(ConnectionError), deadline(60, lambda: done.append("early"), nobody):
        raise ConnectionError
    with deadline(0.05, missed.clear, nobody):
        while missed.is_set():
            time.sleep(0.01)
    assert not done
