"""A backlog is copied once, whatever dies meanwhile: who runs the copy, Spark's workers, or the destination's brokers."""

import contextlib
import os
import random
import shutil
import signal
import time
import uuid

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.copy_progress import all_groups
from testbed import clients
from testbed.sandbox import start
from tests.support.consumers import member
from tests.support.copies import Copy, messages
from tests.support.killing import dies_copying
from tests.support.kubernetes import kubernetes, objects
from tests.support.modules import kill, outcome
from tests.support.processes import gone, of_spark, python_workers, running
from tests.support.scanning import MARK
from tests.support.spark import standalone
from tests.support.sparkless import sparkless

RECORDS = 15_000  # of each partition
COMMITS = ((100, 7000, 0, 3), (20, 14_990, 9000, 12_000))
QUICK = {"spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}


@pytest.fixture(scope="module")
def orders(source):
    """A topic with two plain partitions, and two that were written in transactions, one in three of them aborted."""
    topic = f"killed-{os.getpid()}"
    clients.create_topic(source, topic, 4, retention_ms=-1)
    for partition in (0, 1):
        clients.produce(source, topic, messages(partition, RECORDS))
    for partition in (2, 3):
        its = list(messages(partition, RECORDS))
        pieces = [its[at : at + 500] for at in range(0, RECORDS, 500)]
        clients.produce_in_transactions(
            source, topic, [each for piece in pieces for each in ((piece, True), (piece[:100], False))]
        )
    return topic


@pytest.fixture
def mark(monkeypatch):
    """A word in the environment of whatever is spawned from now on."""
    word = uuid.uuid4().hex
    monkeypatch.setenv(MARK, word)
    return word


@pytest.fixture
def copy(source, destination, orders, topic, tmp_path):
    return Copy(tmp_path / "migration", source, destination, orders, topic, COMMITS)


def test_who_runs_it_is_killed(destination, copy, topic, mark):
    copy.backlog(via=dies_copying("copy_steps.CopyRun.make_topics"))
    assert copy.copy_file.exists()
    copy.backlog(via=dies_copying("copy_steps.copy"))
    assert clients.partitions_of(destination, topic) == [0, 1, 2, 3]

    first = copy.begun(seconds=30)
    copy.comes_to(1, first)
    assert kill(first)
    second = copy.begun(seconds=30)  # while workers of the first may live
    copy.comes_to(copy.copied() + 1, second)
    assert kill(second)
    gone(mark)
    assert copy.copied() < copy.all

    copy.backlog(via=dies_copying("copy_backlog.with_expected"))
    assert copy.known().is_done and not copy.plan_file.exists()
    gone(mark)
    copy.check(copy.backlog()["entries"])


def test_progress_is_removed_when_groups_are_past_the_backlog(destination, copy, topic):
    with sparkless():
        copy.backlog()
    (progress,) = all_groups(copy.known())
    assert progress in clients.list_groups(destination)
    copy.commit()
    for group in copy.groups:
        with member(destination, group, [topic]):
            pass
    copy.backlog(via=dies_copying("copy_backlog.remove_progress"))
    assert all(each.restored for each in copy.known().topics)
    assert copy.backlog()["changed"] is True
    assert progress not in clients.list_groups(destination)
    assert copy.backlog()["changed"] is False


def test_workers_are_killed(copy, mark):
    running = copy.begun(seconds=30)
    killed = set()
    for _attempt in range(2):
        copy.comes_to(copy.copied() + 1 if copy.copy_file.exists() else 1, running)
        victim = random.choice([pid for pid in python_workers(mark) if pid not in killed])
        os.kill(victim, signal.SIGKILL)
        killed.add(victim)
    result = outcome(running)
    assert not result.get("failed"), result["msg"]
    gone(mark)
    copy.check(result["entries"])


def test_who_was_frozen_ends_when_another_has_copied_everything(source, destination, orders, copy, mark, tmp_path):
    """As on a machine that was suspended, while somebody has taken its files elsewhere."""
    frozen = copy.begun(seconds=30)
    copy.comes_to(1, frozen)
    processes = [frozen.pid, *(each.pid for each in of_spark(mark))]
    for pid in processes:
        os.kill(pid, signal.SIGSTOP)
    shutil.copytree(copy.directory, tmp_path / "elsewhere")
    other = Copy(tmp_path / "elsewhere", source, destination, orders, copy.to, COMMITS)
    with sparkless():
        entries = other.backlog()["entries"]
    for pid in processes:
        os.kill(pid, signal.SIGCONT)
    said = outcome(frozen)
    assert said["failed"] and "another run copies the same records, and has taken over: process " in said["msg"], said
    gone(mark)
    other.check(entries)
    copy.check(copy.backlog()["entries"])  # it finds that all was copied


def test_brokers_are_killed(source, own_cluster, orders, topic, tmp_path):
    destination = own_cluster("mortal")
    copy = Copy(tmp_path / "migration", source, destination, orders, topic, COMMITS)
    pids, kills, runs = destination.cluster.pids, 0, 1
    running = copy.begun(seconds=30)
    copy.comes_to(1, running)
    while kills < 2:
        time.sleep(random.uniform(1, 4))
        os.kill(pids["broker-1"], signal.SIGKILL)
        os.waitpid(pids["broker-1"], 0)
        kills += 1
        pids = start("mortal", tmp_path).pids
        if running.poll() is not None:
            said = outcome(running)
            assert said["failed"] and "\n" not in said["msg"] and "mortal" in said["msg"], said
            running, runs = copy.begun(seconds=30), runs + 1
    result = outcome(running)
    assert not result.get("failed"), result["msg"]
    copy.check(result["entries"])


def test_a_pod_is_killed_and_replaced(copy, tmp_path, monkeypatch):
    with kubernetes(tmp_path / "spark") as cluster:
        for name, value in cluster.variables.items():
            monkeypatch.setenv(name, value)
        running = copy.begun(seconds=6, spark={"master": cluster.url, "conf": QUICK | cluster.conf})
        copy.comes_to(1, running)
        os.kill(busy_executors(cluster)[0], signal.SIGKILL)
        result = outcome(running)
        assert not result.get("failed"), result["msg"]
        assert objects(cluster) == []
        assert len(list((cluster.folder / "pods").iterdir())) == 3
        copy.check(result["entries"])


def test_of_three_machines_one_is_slow_one_dies_and_one_is_lost(copy, tmp_path):
    """Lost is what a machine is that answers no more: Spark notices when its heartbeats are missing."""
    patience = {"network.timeout": "10s", "network.timeoutInterval": "2s", "executor.heartbeatInterval": "2s"}
    conf = QUICK | {f"spark.{name}": seconds for name, seconds in patience.items()}
    with standalone(tmp_path / "spark", workers=3) as cluster, contextlib.ExitStack() as undo:
        running = copy.begun(seconds=10, spark={"master": cluster.url, "conf": conf})
        for fate in ("slow", "dies", "lost"):
            copy.comes_to(copy.copied() + 1 if copy.copy_file.exists() else 1, running)
            machine = next(its for worker in cluster.workers if len(its := family(worker.pid)) > 3)  # has a task
            for pid in machine:
                undo.callback(signal_if_there, pid, signal.SIGKILL)
                signal_if_there(pid, signal.SIGKILL if fate == "dies" else signal.SIGSTOP)
            if fate == "slow":
                time.sleep(3)
                for pid in machine:
                    signal_if_there(pid, signal.SIGCONT)
        result = outcome(running)
        assert not result.get("failed"), result["msg"]
        copy.check(result["entries"])


def signal_if_there(pid, number):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def family(pid):
    """A process and all that it has begun."""
    return [pid, *(each for child in children(pid) for each in family(child))]


def busy_executors(cluster):
    java = of_spark(str(cluster.folder))
    return [each.pid for each in java if "ExecutorBackend" in each.words and workers(each.pid)]


def workers(executor):
    """The Python processes that have a task of it."""
    return [worker for daemon in children(executor) for worker in children(daemon)]


def children(pid):
    return [each.pid for each in running() if each.parent == pid]
