"""What a session promises to those who work with it. Its beginning and end: tests/integration/test_spark_sessions.py."""

import importlib.metadata
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidInput, SparkFailed
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.spark import SparkOptions
from ansible_collections.streamshift.kafka.plugins.module_utils._records.scanning import Piece, Range, RecordRun, Rows
from ansible_collections.streamshift.kafka.plugins.module_utils._spark import session
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.copy_job import check_speculation
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.java import Java
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.scan_job import CORES, SCHEMA, _batch, scan_frame
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.session import (
    absence,
    kept,
    obstacle,
    open_session,
)

NOWHERE = connection_from({"bootstrap_servers": "127.0.0.1:1"})
VERSION = importlib.metadata.version("pyspark")
RANGES = [Range(TopicPartition("orders", number), 0, 10**6) for number in range(8)]


def test_results_are_the_same_on_every_machine(spark):
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.conf.get("spark.sql.ansi.enabled") == "true"
    assert spark.conf.get(CORES) == "2"
    assert (
        spark.conf.get("spark.speculation") == "false"
    )  # a second attempt at a copy would end the first one's transactions


def test_a_server_that_attempts_tasks_twice_copies_nothing():
    server = SimpleNamespace(conf=SimpleNamespace(get=lambda name, _default: {"spark.speculation": "true"}[name]))
    with pytest.raises(SparkFailed, match="spark.speculation is on at the Spark Connect server"):
        check_speculation(server)


def test_a_batch_is_what_the_schema_says(spark):
    one, two = (Piece(number, TopicPartition(topic, 5), 0, 99) for number, topic in ((3, "orders"), (4, "bills")))
    digests = [bytes([number]) * 16 for number in range(5)]
    bares = [bytes([number + 100]) * 16 for number in range(5)]
    rows = Rows(
        [RecordRun(one, 2, False), RecordRun(two, 2, True), RecordRun(one, 1, False)],
        [7, 8, 0, 2, 2**40], [1, -1, 3, 4, 2**41], digests, bares,
    )  # fmt: skip
    batch = _batch(rows)
    expected = {
        "range": [3, 3, 4, 4, 3],
        "offset": rows.offsets,
        "timestamp": rows.timestamps,
        "log_append_time": [False, False, True, True, False],
        "fingerprint": digests,
        "bare": bares,
    }
    assert batch.to_pydict() == expected
    # Spark takes the types of a batch as they are, or fails.
    frame = spark.range(0, 1, 1, 1).mapInArrow(lambda _batches: iter([batch]), SCHEMA)
    assert [row.asDict() for row in frame.collect()] == [
        dict(zip(expected, values, strict=True)) for values in zip(*expected.values(), strict=True)
    ]


def test_a_scan_is_one_stage_with_some_tasks_for_each_core(spark):
    rows = scan_frame(spark, NOWHERE, RANGES)
    plan = rows._jdf.queryExecution().toString()
    assert "Exchange" not in plan and "MapInArrow" in plan
    assert rows.rdd.getNumPartitions() == 4


def test_nothing_to_read_needs_no_cluster(spark):
    assert scan_frame(spark, NOWHERE, []).collect() == []
    assert scan_frame(spark, NOWHERE, [Range(TopicPartition("orders", 0), 5, 5)]).count() == 0


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"archives": ("/nowhere/env.tar.gz#env",)}, "there is no archive /nowhere/env.tar.gz on this machine"),
        (
            {"work_directory": "/nowhere"},
            "no folder can be made in /nowhere: it is no directory. Set work_directory in spark",
        ),
        ({"java_home": "/nowhere"}, "java_home"),
        ({"master": "spark://127.0.0.1:1"}, "spark://127.0.0.1:1 does not answer. Correct master in spark"),
    ],
)
def test_what_no_session_could_begin_with_is_known_before(options, named):
    assert named in str(obstacle(SparkOptions(**options)))


def test_a_spark_that_the_user_has_described_is_not_called_absent(monkeypatch):
    monkeypatch.setattr(session, "obstacle", lambda _options: "no Java")
    assert absence(SparkOptions()) == "no Java"
    assert absence(SparkOptions(java_home="/nowhere")) is None


def refused(**options):
    """Why no session begins with these options, which is known before."""
    with pytest.raises(InvalidInput) as refusal, open_session(SparkOptions(**options)):
        raise AssertionError
    assert str(refusal.value) == obstacle(SparkOptions(**options))
    return str(refusal.value)


@pytest.mark.parametrize(
    ("directory", "named"), [("", "is not set"), ("/nowhere", "is /nowhere, which is no directory")]
)
def test_yarn_needs_its_configuration(monkeypatch, tmp_path, directory, named):
    monkeypatch.delenv("YARN_CONF_DIR", raising=False)
    monkeypatch.setenv("HADOOP_CONF_DIR", directory)
    told = refused(master="yarn")
    assert f"Spark yarn: HADOOP_CONF_DIR {named}" in told and "directory that has yarn-site.xml" in told
    monkeypatch.setenv("YARN_CONF_DIR", str(tmp_path))
    assert obstacle(SparkOptions(master="yarn")) is None


def test_kubernetes_needs_an_image(monkeypatch, tmp_path):
    for name in ("SPARK_CONF_DIR", "SPARK_HOME"):
        monkeypatch.delenv(name, raising=False)
    master = "k8s://https://127.0.0.1:1"
    told = refused(master=master)
    assert f"Spark {master}: spark.kubernetes.container.image is not set" in told
    assert "Set it in conf of spark to an image" in told
    for image in ("spark.kubernetes.container.image", "spark.kubernetes.executor.container.image"):
        assert obstacle(SparkOptions(master=master, conf={image: "spark:4"})) is None
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert obstacle(SparkOptions(master=master)) is None


@pytest.mark.parametrize(
    ("core", "named"),
    [
        (None, "has no bin/spark-submit that can be run"),
        ("spark-core_2.12-3.5.1.jar", "has Spark 3.5.1"),
        (f"spark-core_2.13-{VERSION}1.jar", None),  # a patch release
        (f"spark-core_2.13-{VERSION}-amzn-0.jar", None),
        ("of-a-build-in-place.jar", None),
    ],
)
def test_a_spark_home_of_another_spark_is_known_before(monkeypatch, tmp_path, core, named):
    if core:
        for name in ("bin/spark-submit", f"jars/{core}"):
            (tmp_path / name).parent.mkdir()
            (tmp_path / name).touch(0o700)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    if named is None:
        assert obstacle(SparkOptions()) is None
        return
    told = refused()
    assert f"SPARK_HOME is {tmp_path}, which {named}: pyspark {VERSION} starts Spark from it" in told
    assert f"directory of Spark {VERSION}, or to an empty text" in told
    assert "SPARK_HOME" not in str(obstacle(SparkOptions(remote="sc://127.0.0.1:1")))


def test_an_empty_spark_home_is_none(monkeypatch, tmp_path):
    monkeypatch.setenv("SPARK_HOME", "")
    assert obstacle(SparkOptions()) is None
    assert (
        session._variables(SparkOptions(), Java(tmp_path, 17, "17.0.1", small=False), tmp_path, {})["SPARK_HOME"]
        is None
    )


def test_archives_may_lie_elsewhere():
    assert obstacle(SparkOptions(archives=("hdfs://namenode/env.tar.gz#env",))) is None


def test_what_is_kept_is_evaluated_once(spark, tmp_path):
    file = tmp_path / "evaluated"

    def tell(batches):
        with open(file, "a") as log:
            log.write("x")
        yield from batches

    with kept(spark.range(0, 100, 1, 1).mapInArrow(tell, "id bigint")) as rows:
        assert (rows.count(), rows.agg({"id": "sum"}).collect()[0][0]) == (100, 4950)
    assert Path(file).read_text() == "x"


HELD = {
    SparkContext: ("_active_spark_context", "_gateway", "_jvm"),
    SparkSession: ("_instantiatedSession", "_activeSession"),
}


@pytest.fixture
def held(monkeypatch):
    """``held(name=value)`` is what pyspark holds of a session, None for all that is not named; afterwards the old values."""

    def held(**values):
        for owner, names in HELD.items():
            for name in names:
                monkeypatch.setattr(owner, name, values.get(name))

    return held


def nothing_is_held():
    return all(getattr(owner, name) is None for owner, names in HELD.items() for name in names)


def test_nothing_is_left_of_a_session_whose_java_was_killed_while_it_began(held, monkeypatch):
    def lost(*_args):
        raise Py4JNetworkError("Answer from Java side is empty")

    java = subprocess.Popen(["sleep", "60"], stdin=subprocess.PIPE)
    java.kill()
    held(
        _active_spark_context=SimpleNamespace(stop=lost, _jvm=None, _jsc=None),
        _gateway=SimpleNamespace(proc=java, shutdown=lost),
        _jvm=object(),
        _instantiatedSession=object(),
        _activeSession=object(),
    )
    monkeypatch.setattr(SparkSession, "builder", SimpleNamespace(getOrCreate=lost))
    session._end(kill=False)
    assert nothing_is_held()


def test_a_java_that_hangs_before_it_can_be_reached_is_given_up(held, monkeypatch, tmp_path):
    held()
    java = tmp_path / "java/bin/java"
    java.parent.mkdir(parents=True)
    java.write_text(
        "#!/usr/bin/env bash\n"
        f"case $* in *-version*) printf '    java.home = {tmp_path}/java\\n    java.version = 17.0.1\\n';;\n"
        "*) exec sleep 60;; esac\n"
    )
    java.chmod(0o700)
    monkeypatch.setattr(session.workers, "APPEAR_WITHIN", 1)
    options = SparkOptions(java_home=str(tmp_path / "java"), work_directory=str(tmp_path))
    with pytest.raises(SparkFailed, match="has not started within 1 s"), session.open_session(options):
        pass
    assert nothing_is_held()
    assert not list(tmp_path.glob("streamshift-spark-*"))
