"""Real clusters, each started by the first test that wants it and stopped after the last one, whatever happens.

Several pytest processes share them. On all of them a test uses topics and groups of its own: see the fixture topic.
"""

import os
import subprocess
import sys
import typing as t
import uuid
from pathlib import Path

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection, connection_from
from testbed.clients import create_topic, grant, revoke
from testbed.sandbox import start, stop
from tests.support import sharing
from tests.support.assessments import schema_registry
from tests.support.clusters import KafkaCluster
from tests.support.modules import Migration
from tests.support.playbooks import Controller
from tests.support.promotion import Promotion
from tests.support.replication_tool import copied_topic
from tests.support.sharing import join, leave
from tests.support.sparkless import sparkless

Start = t.Callable[..., KafkaCluster]
Settings = dict[str, str | int]


@pytest.fixture(scope="session", autouse=True)
def shared_clusters(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Path]:
    """The folder of the clusters. The last pytest process that leaves stops them, and whatever else tests have started."""
    own = tmp_path_factory.getbasetemp()
    base = own.parent if os.environ.get("PYTEST_XDIST_WORKER") else own
    join(base)
    guard = [sys.executable, sharing.__file__, str(base), str(os.getpid())]  # for a process that is killed
    subprocess.Popen(guard, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    yield base / "clusters"
    leave(base, os.getpid())


@pytest.fixture(scope="session")
def source(shared_clusters: Path) -> KafkaCluster:
    """Kafka 4.3.0."""
    return KafkaCluster(start("source", shared_clusters))


@pytest.fixture(scope="session")
def destination(shared_clusters: Path) -> KafkaCluster:
    """Another Kafka 4.3.0."""
    return KafkaCluster(start("destination", shared_clusters))


@pytest.fixture(scope="session")
def secured(shared_clusters: Path) -> KafkaCluster:
    """Kafka 4.3.0 with SASL_SSL, SSL and an authorizer."""
    return KafkaCluster(start("secured", shared_clusters, secured=True))


@pytest.fixture
def rights_on_copies(shared_clusters: Path, secured: KafkaCluster) -> t.Iterator[None]:
    """No other test changes what the holder of the client certificate may do with the names that all copies share."""
    with sharing.alone(shared_clusters / "rights-on-copies.lock"):
        yield


@pytest.fixture
def granted(secured: KafkaCluster) -> t.Iterator[t.Callable[..., None]]:
    """``granted(right, ...)`` lets the user migrator do what texts such as "GROUP READ on billing" say, for this test."""
    given: list[str] = []

    def run(*rights: str) -> None:
        given.extend(rights)
        grant(secured, rights)

    yield run
    revoke(secured, given)


@pytest.fixture(scope="session")
def kafka39(shared_clusters: Path) -> KafkaCluster:
    """Kafka 3.9.1."""
    return KafkaCluster(start("kafka39", shared_clusters, version="3.9.1"))


@pytest.fixture(scope="session")
def old(shared_clusters: Path) -> KafkaCluster:
    """Kafka 2.8.2 with ZooKeeper."""
    return KafkaCluster(start("old", shared_clusters, version="2.8.2"))


@pytest.fixture(scope="session")
def kafka11(shared_clusters: Path) -> KafkaCluster:
    """Kafka 1.1.1."""
    return KafkaCluster(start("kafka11", shared_clusters, version="1.1.1", memory="300m"))


@pytest.fixture(scope="session")
def kafka011(shared_clusters: Path) -> KafkaCluster:
    """Kafka 0.11.0.3."""
    return KafkaCluster(start("kafka011", shared_clusters, version="0.11.0.3", memory="300m"))


@pytest.fixture(params=["source", "kafka39", "old"])
def cluster(request: pytest.FixtureRequest) -> KafkaCluster:
    """Each version in turn: Kafka 4.3.0, 3.9.1 and 2.8.2."""
    found: KafkaCluster = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def connection(cluster: KafkaCluster) -> Connection:
    """To each version in turn."""
    return connection_from(cluster.connection, "source cluster")


@pytest.fixture
def newest(source: KafkaCluster) -> Connection:
    """To Kafka 4.3.0."""
    return connection_from(source.connection, "source cluster")


@pytest.fixture
def own_cluster(tmp_path: Path) -> t.Iterator[Start]:
    """``own_cluster(name, **options of start())`` starts a cluster that a single test may break."""
    begun: list[str] = []

    def run(name: str, **options: t.Any) -> KafkaCluster:
        begun.append(name)
        return KafkaCluster(start(name, tmp_path, **options))

    yield run
    for name in begun:
        stop(name, tmp_path)


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A name that no other test uses, for topics and groups (add a suffix for more); nothing is created."""
    words = "".join(letter if letter.isalnum() else "-" for letter in request.node.name)[:60].strip("-")
    return f"{words}-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def orders(source: KafkaCluster, destination: KafkaCluster, topic: str) -> str:
    """A topic with ten records in each of two partitions, copied; a group of its name stands at 5 and 10."""
    return copied_topic(source, destination, topic, 10, 5, 10)


@pytest.fixture
def both(source: KafkaCluster, destination: KafkaCluster, topic: str) -> t.Callable[..., str]:
    """``both(settings at the source, at the destination)`` makes a topic on both clusters; a suffix gives another one."""

    def make(
        at_source: Settings | None = None, at_destination: Settings | None = None, partitions: int = 1, suffix: str = ""
    ) -> str:
        for cluster, settings in ((source, at_source), (destination, at_destination)):
            create_topic(cluster, topic + suffix, partitions, **{"retention_ms": -1} | (settings or {}))
        return topic + suffix

    return make


@pytest.fixture
def migration(source: KafkaCluster, destination: KafkaCluster, tmp_path: Path) -> Migration:
    """The modules in a directory of their own."""
    return Migration(tmp_path / "migration", source, destination)


@pytest.fixture
def promotion(source: KafkaCluster, destination: KafkaCluster, tmp_path: Path) -> Promotion:
    """The module that promotes topics, in a directory of its own."""
    return Promotion(tmp_path, source, destination)


@pytest.fixture
def controller(source: KafkaCluster, destination: KafkaCluster, tmp_path: Path) -> Controller:
    """An inventory with both clusters."""
    return Controller(tmp_path / "infrastructure", onprem=source, cloud=destination)


@pytest.fixture
def registry() -> t.Iterator[dict[str, str]]:
    """A schema registry, as the option that names it."""
    with schema_registry() as options:
        yield options


@pytest.fixture
def without_spark() -> t.Iterator[None]:
    """What is done on the brokers does not need Spark, whose start would be most of the time."""
    with sparkless():
        yield
