"""A Spark cluster, whoever manages it, does what this machine does alone, also with workers to whom Python's packages are sent.

One migration that needs Spark for every topic: a wide search, a tail that is counted, a repartitioned topic.
"""

import importlib.metadata
import os
import shutil
import sys
import tarfile
import time
import venv
from unittest import mock

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._verification import comparison
from testbed.clients import Message, commit, create_topic, produce
from tests.support.kubernetes import kubernetes
from tests.support.modules import Migration
from tests.support.replication_tool import copy, repartition
from tests.support.spark import standalone
from tests.support.yarn import yarn

RECORDS = 6000  # more than the client counts after an offset
COMMITS = (1, 2500)
BEGIN = time.time_ns() // 1_000_000 - RECORDS
LOCAL = {"master": "local[2,4]"}
QUICK = {  # for two cores and few records
    "spark.sql.shuffle.partitions": "2",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
PACKAGES = ("confluent-kafka", "numpy", "pyarrow", "xxhash")  # as docs/spark.md names them; they need no others


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory):
    """A Python without any packages."""
    folder = tmp_path_factory.mktemp("python") / "bare"
    venv.create(folder, symlinks=True)
    return str(folder / "bin/python")


def on(*kinds):
    return pytest.mark.parametrize("cluster", kinds, indirect=True, ids=lambda kind: kind.__name__)


@pytest.fixture(scope="module")
def cluster(request, shared_clusters, bare_python):
    """A cluster with two machines, whose own Python is bare."""
    folder = shared_clusters / f"spark-{request.param.__name__}"
    with request.param(folder, python=bare_python) as running, pytest.MonkeyPatch.context() as patch:
        for name, value in running.variables.items():
            patch.setenv(name, value)
        yield running


@pytest.fixture
def applications(cluster):
    """How many applications the cluster has run so far, on all of its machines."""
    return lambda: len(list(cluster.folder.glob("work*/app-*")) + list(cluster.folder.glob("node*/logs/application_*")))


@pytest.fixture(scope="module")
def topics(source, destination):
    """Their kinds and names. Groups stand on all of them, called after COMMITS."""
    topics = {name: f"cluster-{os.getpid()}-{name}" for name in ("stamped", "twice", "keyed")}
    for name, topic in topics.items():
        keyed = name == "keyed"
        create_topic(source, topic, partitions=3 if keyed else 1)
        stamped = {"message_timestamp_type": "LogAppendTime"} if name == "stamped" else {}
        create_topic(destination, topic, partitions=2 if keyed else 1, **stamped)
        messages = [Message(b"%d" % at, b"k%d" % (at % 9), timestamp=BEGIN + at) for at in range(RECORDS)]
        produce(source, topic, [each._replace(partition=at % 3 * keyed) for at, each in enumerate(messages)])
    copy(source, destination, topics["stamped"], junk=3)
    copy(source, destination, topics["twice"], again=RECORDS)
    repartition(source, destination, [topics["keyed"]], topics["keyed"], 2)
    for consumed in COMMITS:
        at = {(topics["stamped"], 0): consumed, (topics["twice"], 0): consumed}
        at |= {(topics["keyed"], partition): consumed // (partition + 2) for partition in range(3)}
        commit(source, f"{topics['stamped']}-{consumed}", at)
    return topics


@pytest.fixture(scope="module")
def plan(topics):
    """Make the plan of a migration, all of it with little searching and by Spark."""

    def make(migration, spark):
        options = {"search_limit": 300, "repartitioned": [topics["keyed"]], "spark": spark}
        return migration.translate(**options)

    return make


@pytest.fixture(scope="module")
def local(source, destination, topics, plan, tmp_path_factory):
    """The migration, planned in local mode."""
    migration = Migration(tmp_path_factory.mktemp("local") / "migration", source, destination)
    migration.snapshot(*(f"{topics['stamped']}-{consumed}" for consumed in COMMITS))
    plan(migration, LOCAL)
    return migration


@pytest.fixture
def elsewhere(source, destination, local, tmp_path):
    """The same migration, not planned yet."""
    migration = Migration(tmp_path / "migration", source, destination)
    shutil.copy(local.snapshot_file, migration.snapshot_file)
    return migration


@on(standalone, yarn)
def test_a_plan_is_the_same_to_the_byte(local, elsewhere, topics, plan, cluster, applications):
    before = applications()
    entries = plan(elsewhere, {"master": cluster.url, "conf": QUICK | cluster.conf})["entries"]
    assert applications() > before
    assert elsewhere.plan_file.read_bytes() == local.plan_file.read_bytes()
    # Without Spark, none of these could have been said.
    told = {
        (entry["group"].rpartition("-")[2], entry["topic"], entry["partition"]): (entry["verdict"], entry["reason"])
        for entry in entries
    }
    for consumed in map(str, COMMITS):
        assert told[consumed, topics["stamped"], 0] == ("exact", None)
        assert told[consumed, topics["twice"], 0] == ("exact", "recopied")
        assert {told[consumed, topics["keyed"], partition][0] for partition in range(2)} <= {"exact", "safe"}


def packed(folder, *packages):
    """A virtual environment with these packages of the running one, as venv-pack packs it."""
    venv.create(folder / "env", symlinks=True)
    (site,) = (folder / "env").glob("lib/python*/site-packages")
    for package in packages:
        for file in importlib.metadata.files(package):
            if ".." not in file.parts:  # else it is a program, in bin
                (site / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file.locate(), site / file)
    with tarfile.open(folder / "env.tar.gz", "w:gz", compresslevel=1) as archive:
        archive.add(folder / "env", ".")
    return f"{folder / 'env.tar.gz'}#env"


def prove(migration, report, spark):
    """What a verification of the committed offsets says, and its report."""
    with mock.patch.object(comparison, "FEW", 0):  # else so few records would be counted without Spark
        migration.commit()
        result = migration.verify(method="records", report=str(report), spark=spark)
        migration.roll_back()  # the next cluster plans what the first one has planned
    return {key: value for key, value in result.items() if key != "invocation"}, report.read_bytes()


@pytest.fixture(scope="module")
def proof(local, tmp_path_factory):
    """The verification in local mode."""
    return prove(local, tmp_path_factory.mktemp("proof") / "report", LOCAL)


@on(standalone, yarn, kubernetes)
def test_a_proof_is_the_same_to_the_byte_where_an_archive_brings_what_workers_lack(
    local, proof, cluster, bare_python, tmp_path, monkeypatch
):
    monkeypatch.setattr(sys, "executable", bare_python)  # what workers would run without the archive
    spark = {"master": cluster.url, "conf": QUICK | cluster.conf, "archives": [packed(tmp_path, *PACKAGES)]}
    said, report = prove(local, tmp_path / "report", spark)
    assert (said["problems"], said["verified"]) == ([], len(COMMITS) * 4)
    assert (said, report) == proof
