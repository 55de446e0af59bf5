"""What the role kafka_sandbox refuses before it starts anything, and how it reads the last words of a broker."""

import signal
import socket
import subprocess
import sys

import pytest

import kafka_sandbox
import sandbox_java
from sandbox_cluster import Wanted
from sandbox_java import SandboxError
from sandbox_processes import cause, free_ports


@pytest.mark.parametrize(
    ("options", "refusal"),
    [
        ({"name": "../else"}, "name of a cluster holds letters"),
        ({"version": "1.0.0"}, "Kafka 1.0.0 is not supported. Choose one of 4.4.0, 4.3.0, 3.9.1, 2.8.2"),
        ({"nodes": 2}, "one node or three, not 2"),
        ({"secured": True, "version": "2.8.2"}, "secured cluster needs Kafka 3.9.1 or newer"),
        ({"ports": [20001, 20002]}, "one port for each of the nodes: 1, not 2"),
        ({"users": {"erna": "secret"}}, "only a secured cluster has users"),
        ({"secured": True, "users": {"er na": "secret"}}, "name of a user"),
        ({"secured": True, "users": {"erna": 'se"cret'}}, "password of a user"),
        ({"secured": True, "users": {"erna": None}}, "password of a user is not empty"),
        ({"secured": "false", "users": {"erna": "secret"}}, "only a secured cluster has users"),
    ],
)
def test_what_cannot_be_meant_is_refused(options, refusal):
    with pytest.raises(SandboxError, match=refusal) as refused:
        Wanted(**{"name": "one"} | options)
    assert "cret" not in str(refused.value)


@pytest.mark.parametrize("command", ["start", "stop"])
def test_a_folder_that_is_no_cluster_is_left_alone(tmp_path, command):
    precious = tmp_path / "inventory" / ".git"
    precious.parent.mkdir()
    precious.write_text("precious")
    with pytest.raises(SandboxError, match=r"inventory has files and no cluster.json"):
        getattr(kafka_sandbox, command)("inventory", tmp_path)
    assert precious.read_text() == "precious"


def test_a_directory_that_cannot_be_made_is_told_in_one_line(tmp_path, capsys):
    file = tmp_path / "file"
    file.touch()
    assert kafka_sandbox.main(["start", "onprem", "--work", f"{file}/clusters"]) == 1
    assert capsys.readouterr().err == f"[Errno 20] Not a directory: '{file}/clusters'\n"


def test_a_start_that_was_killed_and_a_damaged_file_hinder_nobody(tmp_path):
    folder = tmp_path / "onprem"
    folder.mkdir()
    for text in ("", "{"):
        (folder / "cluster.json").write_text(text)
        assert kafka_sandbox.describe("onprem", tmp_path) is None
    (folder / "cluster.json").write_text('{"another": "release"}')
    with pytest.raises(SandboxError, match="Stop this cluster first"):
        kafka_sandbox.start("onprem", tmp_path)
    assert kafka_sandbox.stop("onprem", tmp_path) and not folder.exists()


def test_names_settings_and_passwords_are_texts_as_in_the_file():
    assert Wanted(2026).name == "2026"
    assert Wanted("one", settings={"num.partitions": 3}).settings == {"num.partitions": "3"}
    assert Wanted("one", settings={"sasl.jaas.config": None}, users=None).settings == {"sasl.jaas.config": ""}
    assert Wanted("one", secured=True, users={"alice": 12345}).users == {"alice": "12345"}


@pytest.mark.parametrize(("given", "meant"), [("no", False), ("Yes", True), (1, True), (None, False), (True, True)])
def test_what_a_variable_makes_a_text_of_is_read_as_ansible_reads_it(given, meant):
    wanted = Wanted("one", nodes="3", secured=given)
    assert (wanted.nodes, wanted.secured) == (3, meant)


def java_of(folder, version):
    """A java in a folder's bin that says which one it is, as its own does."""
    program = folder / "bin/java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2024-04-16' >&2\n")
    program.chmod(0o700)
    return program


def test_the_first_java_that_is_new_enough_is_taken(monkeypatch, tmp_path):
    old, new, gone = tmp_path / "old", tmp_path / "new", tmp_path / "gone"
    java_of(old, "1.8.0_442")
    good = str(java_of(new, "17.0.11"))
    for home, path in ((new, old), (old, new), (gone, new)):
        monkeypatch.setenv("JAVA_HOME", str(home))
        monkeypatch.setenv("PATH", f"{path}/bin")
        assert sandbox_java.java.__wrapped__() == good
    monkeypatch.setenv("PATH", f"{old}/bin")
    with pytest.raises(SandboxError, match=rf"JAVA_HOME has no Java that runs \({gone}/bin/java\); PATH has Java 8\. "):
        sandbox_java.java.__wrapped__()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(gone))
    with pytest.raises(SandboxError, match="JAVA_HOME and PATH have none"):
        sandbox_java.java.__wrapped__()


def test_maven_runs_on_the_java_that_was_found(monkeypatch, tmp_path):
    monkeypatch.setattr(sandbox_java, "java", lambda: f"{tmp_path}/bin/java")
    for home, kept in ((str(tmp_path), True), ("/nowhere", False)):
        monkeypatch.setenv("JAVA_HOME", home)
        assert ("JAVA_HOME" in sandbox_java._variables_of_maven()) is kept


def test_free_ports_differ_and_are_free():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ports = free_ports(50)
        assert len(set(ports) - {taken.getsockname()[1]}) == 50


def test_stopping_everything_ends_what_a_killed_starter_has_left(tmp_path):
    """As MirrorMaker of a demo that was killed: known by the configuration that it was started with."""
    ours, other = tmp_path / "demo", tmp_path / "demo-of-others"
    running = {}
    for folder in (ours, other):
        folder.mkdir()
        sleeper = [sys.executable, "-c", "import time; time.sleep(60)", str(folder / "mirror-maker.properties")]
        running[folder] = subprocess.Popen(sleeper)
    try:
        subprocess.run([sys.executable, kafka_sandbox.__file__, "stop", "--work", ours], check=True, timeout=30)
        assert running[ours].wait(timeout=5) == -signal.SIGKILL
        assert running[other].poll() is None
    finally:
        for process in running.values():
            process.kill()
            process.wait()


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("", "it gave no reason"),
        ("main ERROR Reconfiguration failed: No configuration found\n", "it gave no reason"),
        (
            "java.lang.RuntimeException: wrapped\n\tat a.b(C.java)\nCaused by: first\n\tat d\nERROR bye\n",
            "Caused by: first",
        ),
        ("10:00:00,000 ERROR no log folder\nINFO stopping\n", "10:00:00,000 ERROR no log folder"),
    ],
)
def test_the_cause_is_found_in_the_log(said, reason):
    assert cause(said) == reason
