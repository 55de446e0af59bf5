"""Passwords of Kafka come to lie in no file, on no command line, in no environment.

Neither while a large job runs, nor after it was killed.
"""

import contextlib
import socket
import time

import pytest

from tests.support.kubernetes import kubernetes, objects
from tests.support.processes import of_spark
from tests.support.scanning import JOBS, Program
from tests.support.spark import SparkCluster
from tests.support.yarn import yarn

RANGES = 5_000  # with such names the function for the workers would be larger than 1 MiB, and pyspark would write it to a file
SECRET = b"s3cret-of-kafka"
SECONDS = 180.0  # on a busy machine


@pytest.fixture
def silent_broker():
    """A listener that never says a word, so that workers are busy with it for a while."""
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as listener:
        listener.settimeout(SECONDS)
        yield listener


def tellers(folder):
    """The files below a folder that hold the secret, and how many there are in all."""
    contents = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return [path for path, content in contents.items() if SECRET in content], len(contents)


@contextlib.contextmanager
def no_cluster(folder):
    """This machine alone does the work."""
    yield SparkCluster("local[2,1]", [], folder)


@pytest.mark.parametrize(("job", "where"), [*((job, no_cluster) for job in JOBS), ("scan", yarn), ("scan", kubernetes)])
def test_no_file_and_no_process_tells_a_password(silent_broker, tmp_path, monkeypatch, job, where):
    work, events, temporary = (tmp_path / name for name in ("work", "events", "temporary"))
    for folder in (work, events, temporary):
        folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    connection = {
        "bootstrap_servers": [f"127.0.0.1:{silent_broker.getsockname()[1]}"],
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_username": "me",
        "sasl_password": SECRET.decode(),
    }
    ranges = {(f"{number:0240}", 0): (0, 100) for number in range(RANGES)}
    with where(tmp_path / "cluster") as cluster:
        for name, value in cluster.variables.items():
            monkeypatch.setenv(name, value)
        conf = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": events.as_uri(), **cluster.conf}
        program = Program(connection, ranges, job, conf=conf, work_directory=str(work), master=cluster.url)
        try:
            program.opened()
            reader, _address = silent_broker.accept()  # a worker has the password, and uses it
            with reader:
                time.sleep(0.5)
                telling, count = tellers(tmp_path)
                assert telling == [] and count > 5
                running = of_spark(str(tmp_path))
                assert list(events.iterdir()) and any("pyspark.daemon" in each.words for each in running)
                assert not [each for each in running if SECRET.decode() in each.words + each.environment]
        finally:
            program.kill()
        telling, count = tellers(tmp_path)
        assert telling == [] and count > 5
        program.gone(SECONDS)
        if where is kubernetes:
            assert objects(cluster) == []  # Java has ended in an orderly way
