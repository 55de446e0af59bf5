"""Sessions begin and end cleanly wherever Spark runs, whatever dies meanwhile; what is missing is told in one line."""

import os
import shutil
import signal
import subprocess
import sys
import time
import venv
from pathlib import Path

import pytest

from testbed.clients import Message, create_topic, produce, until
from tests.support.kubernetes import kubernetes, objects
from tests.support.processes import python_workers
from tests.support.scanning import Program
from tests.support.spark import connect_server, standalone

RECORDS = 300_000  # a few seconds' reading


@pytest.fixture(scope="module")
def orders(source):
    """A topic with two partitions; all of it as ranges."""
    topic = f"orders-{os.getpid()}"
    create_topic(source, topic, partitions=2)
    produce(source, topic, (Message(b"%d" % n, partition=n % 2) for n in range(RECORDS)))
    return {(topic, partition): (0, RECORDS // 2) for partition in range(2)}


@pytest.fixture(scope="module")
def cluster(shared_clusters):
    """A standalone cluster with two workers."""
    with standalone(shared_clusters / "spark") as running:
        yield running


ALL = {"rows": RECORDS, "distinct": RECORDS}


def test_through_a_spark_connect_server(source, orders, shared_clusters):
    with connect_server(shared_clusters / "connect") as url:
        program = Program(source.connection, orders, remote=url)
        program.opened()
        assert not program.processes("java")
        assert program.outcome() == ALL
        failed = Program(source.connection, {next(iter(orders)): (0, RECORDS)}, remote=url).outcome()
        assert failed["kind"] == "LogChanged"  # whether the broker or the log's end tells it first
        assert all(words in failed["failed"] for words in (", partition 0: ", "225000", "Run again")), failed
        failed = Program(source.connection, orders, remote=url, conf={"spark.executor.memory": "2g"}).outcome()
        assert "spark.executor.memory" in failed["failed"]


def test_a_spark_connect_server_that_wants_a_token(source, orders, shared_clusters):
    with connect_server(shared_clusters / "connect-token", token="s3cret") as url:
        failed = Program(source.connection, orders, remote=url).outcome()
        assert "refuses this client. Correct the token in remote" in failed["failed"]
        failed = Program(source.connection, orders, remote=f"{url}/;token=s3cret-too").outcome()
        assert "s3cret" not in failed["failed"]


@pytest.mark.parametrize(("where", "how"), [("local", signal.SIGKILL), ("standalone", signal.SIGTERM)])
def test_nothing_outlives_a_killed_driver_and_the_next_run_works(
    source, orders, request, monkeypatch, tmp_path, where, how
):
    options = {"work_directory": str(tmp_path)}
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    if where == "standalone":
        options["master"] = request.getfixturevalue("cluster").url
    program = Program(source.connection, orders, **options)
    program.opened()
    time.sleep(1)  # in the middle of its work
    assert program.processes("java") and list(tmp_path.iterdir())
    program.process.send_signal(how)
    program.process.communicate()
    if where == "standalone":  # whose workers are not this machine's to end
        program.gone()
    following = Program(source.connection, orders, **options)
    following.opened()
    assert not program.processes("java")  # known to the next run, and ended
    assert following.outcome() == ALL
    program.gone()
    assert list(tmp_path.iterdir()) == [temporary] and not list(temporary.iterdir())


def test_a_worker_process_that_is_killed_is_replaced(source, orders):
    program = Program(source.connection, orders, master="local[2,4]")
    program.opened()
    kill_soon(lambda: python_workers(program.mark))
    assert program.outcome() == ALL


def test_a_java_process_that_dies_is_told(source, orders):
    program = Program(source.connection, orders)
    program.opened()
    kill_soon(lambda: [each.pid for each in program.processes("bin/java")])
    failed = program.outcome()
    assert failed["kind"] == "SparkFailed" and "Spark's Java process has ended" in failed["failed"]


def kill_soon(find):
    os.kill(until(find, 30, pause=0.02)[0], signal.SIGKILL)


def test_a_master_that_does_not_answer_is_told(source, orders):
    began = time.monotonic()
    failed = Program(source.connection, orders, master="spark://127.0.0.1:1").outcome()
    assert failed["kind"] == "SparkFailed"
    assert failed["failed"].startswith(
        "Spark spark://127.0.0.1:1: Spark's master does not answer. Correct master in spark"
    )
    assert time.monotonic() - began < 120


def test_a_spark_connect_server_that_is_not_there_is_told_at_once(source, orders):
    failed = Program(source.connection, orders, remote="sc://127.0.0.1:1").outcome()
    assert (
        "Spark Connect server 127.0.0.1:1: cannot connect: Connection refused. Correct remote in spark"
        in failed["failed"]
    )


@pytest.fixture
def poor_python(tmp_path):
    """A Python that has what Spark's workers need, and nothing that reading takes."""
    venv.create(tmp_path / "poor", symlinks=True)
    (packages,) = (tmp_path / "poor").glob("lib/python*/site-packages")
    own = Path(next(path for path in sys.path if path.endswith("site-packages")))
    for name in ("pyarrow", "numpy", "numpy.libs"):
        (packages / name).symlink_to(own / name)
    return str(tmp_path / "poor/bin/python")


def test_workers_without_the_packages_are_told_of(source, orders, cluster, poor_python):
    conf = {"spark.pyspark.python": poor_python}
    failed = Program(source.connection, orders, master=cluster.url, conf=conf).outcome()
    assert "Spark workers lack required packages: confluent-kafka >= 2.10 is missing" in failed["failed"]
    assert poor_python in failed["failed"] and "xxhash" in failed["failed"]


def test_no_pod_is_left_after_a_failure(source, orders, tmp_path, monkeypatch):
    with kubernetes(tmp_path / "spark") as own:
        for name, value in own.variables.items():
            monkeypatch.setenv(name, value)
        conf = {**own.conf, "spark.pyspark.python": "/nowhere/bin/python"}
        failed = Program(source.connection, orders, master=own.url, conf=conf).outcome()
        assert "Spark's workers have no Python /nowhere/bin/python. Set spark.pyspark.python" in failed["failed"]
        assert list((own.folder / "pods").iterdir()) and objects(own) == []


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("mount"), reason="only root can make a small disk")
def test_a_full_disk_is_told(source, orders, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(small)], check=False).returncode:
        pytest.skip("this machine allows no mounts")
    try:
        failed = Program(source.connection, orders, work_directory=str(small)).outcome()
        assert "the disk is full where Spark keeps its files. Free some, or set work_directory" in failed["failed"]
    finally:
        subprocess.run(["umount", "--lazy", str(small)], check=True)
