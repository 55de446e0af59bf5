"""Sandboxes as their users see them: they start, survive the death of a broker, and leave nothing."""

import os
import signal
import socket
from pathlib import Path

import pytest

from testbed.clients import Message, create_topic, produce, read
from testbed.sandbox import SandboxError, alive, describe, names, start, stop
from tests.support.processes import command_lines


def test_a_started_cluster_is_left_alone_and_a_stopped_one_is_gone(tmp_path):
    first = start("one", tmp_path)
    again = start("one", tmp_path)
    create_topic(first, "compressed", compression_type="gzip")
    produce(first, "compressed", [Message(b"x" * 1000)], compression_type="lz4")
    assert [*Path(first.folder).glob("*lz4*")]  # a library that the broker has unpacked, which goes with the folder
    assert (first.changed, again.changed) == (True, False)
    assert first == again == describe("one", tmp_path)
    assert stop("one", tmp_path) is True
    assert stop("one", tmp_path) is False
    assert not any(alive(process) for process in first.processes())
    assert list(tmp_path.iterdir()) == []
    assert describe("one", tmp_path) is None


def test_a_dead_broker_of_three_comes_back_with_its_data(own_cluster, tmp_path, topic):
    cluster = own_cluster("three", nodes=3)
    create_topic(cluster, topic, min_insync_replicas=3)
    produce(cluster, topic, [Message(b"kept")])
    pids = cluster.cluster.pids
    os.kill(pids["broker-2"], signal.SIGKILL)
    os.waitpid(pids["broker-2"], 0)
    assert describe("three", tmp_path) is None
    restarted = start("three", tmp_path, nodes=3)
    assert restarted.changed
    assert {name: pid for name, pid in restarted.pids.items() if pids[name] == pid}.keys() == {"broker-1", "broker-3"}
    assert [record.value for record in read(cluster, topic)] == [b"kept"]


def test_other_options_for_an_existing_cluster_are_refused(own_cluster, tmp_path):
    own_cluster("one")
    with pytest.raises(SandboxError, match=r"one exists already, with other version, settings\. Stop it first"):
        start("one", tmp_path, version="3.9.1", settings={"num.partitions": 3})


@pytest.mark.parametrize("version", ["4.3.0", "2.8.2"])
def test_a_taken_port_is_named_and_nothing_stays(tmp_path, version):
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(SandboxError, match="(?s)broker-1 of Kafka .* ended while starting: .*Address already in use"),
    ):
        start("late", tmp_path, version=version, ports=[taken.getsockname()[1]])
    assert names(tmp_path) == ["late"]  # its logs are there to be read
    assert command_lines(str(tmp_path)) == []
    stop("late", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_setting_is_named(tmp_path):
    with pytest.raises(SandboxError, match="Invalid value often for configuration log.retention.check.interval.ms"):
        start("wrong", tmp_path, settings={"log.retention.check.interval.ms": "often"})
    assert command_lines(str(tmp_path)) == []


def test_passwords_are_in_one_private_file_only(secured):
    folder = Path(secured.cluster.folder)
    password = secured.users["migrator"]
    holders = {file.name for file in folder.rglob("*") if file.is_file() and password.encode() in file.read_bytes()}
    assert holders == {"cluster.json", "broker-1.properties"}
    assert {(folder / name).stat().st_mode & 0o077 for name in holders} == {0}
    assert password not in repr(secured.cluster) + str(secured.cluster.shown())
    assert not any(password in words for words in command_lines(str(folder)))
