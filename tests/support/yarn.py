"""A real YARN cluster on this machine: a resource manager and node managers, out of Hadoop's jars."""

import contextlib
import sys
import typing as t
from pathlib import Path
from xml.sax.saxutils import escape

from sandbox_java import LOGGING, java
from testbed.sandbox import Process, end, free_ports, spawn
from tests.support.maven import fetched
from tests.support.spark import HOME, SparkCluster, said

HADOOP = "3.5.0"  # the version that pyspark brings
JARS = (
    ("org.apache.hadoop", "hadoop-client-minicluster", HADOOP),
    ("org.bouncycastle", "bcpkix-jdk18on", "1.82"),  # Hadoop needs this and the next, and does not name them
    ("log4j", "log4j", "1.2.17"),
    LOGGING,
)
PACKAGE = "org.apache.hadoop.yarn.server"
MANAGER = ("address", "scheduler.address", "resource-tracker.address", "admin.address", "webapp.address")
NODE = ("address", "localizer.address", "collector-service.address", "webapp.address")


@contextlib.contextmanager
def yarn(folder: Path, nodes: int = 2, python: str = sys.executable) -> t.Iterator[SparkCluster]:
    """A cluster of node managers with two cores and 2 GB each, whose Python is the given one."""
    jars = fetched(f"yarn-{HADOOP}", *JARS)
    ports = iter(free_ports(len(MANAGER) + nodes * len(NODE)))  # at once, because nothing holds them yet
    manager = {
        "fs.defaultFS": "file:///",
        "hadoop.tmp.dir": str(folder / "tmp"),
        "yarn.scheduler.minimum-allocation-mb": "64",
        "yarn.resourcemanager.scheduler.class": f"{PACKAGE}.resourcemanager.scheduler.fifo.FifoScheduler",
        **{f"yarn.resourcemanager.{name}": f"127.0.0.1:{next(ports)}" for name in MANAGER},
    }
    configuration = folder / "configuration"
    for name in ("core-site.xml", "yarn-site.xml"):
        _site(configuration / name, manager)
    begun = [_spawn(folder, "resourcemanager.ResourceManager", jars, python, manager)]
    try:
        for number in range(1, nodes + 1):
            own = folder / f"node{number}"
            node = {
                "yarn.nodemanager.local-dirs": str(own / "local"),
                "yarn.nodemanager.log-dirs": str(own / "logs"),
                "yarn.nodemanager.resource.cpu-vcores": "2",
                "yarn.nodemanager.resource.memory-mb": "2048",
                "yarn.nodemanager.vmem-check-enabled": "false",
                "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "100",
                **{f"yarn.nodemanager.{name}": f"127.0.0.1:{next(ports)}" for name in NODE},
            }
            begun.append(_spawn(own, "nodemanager.NodeManager", jars, python, manager | node))
        for number, process in enumerate(begun[1:], 1):
            said(process, folder / f"node{number}/program.log", "Registered with ResourceManager")
        conf = {
            "spark.authenticate": "true",  # YARN makes the secret and hands it to executors
            "spark.driver.host": "127.0.0.1",
            "spark.executor.instances": "2",
            "spark.executor.memory": "512m",
            "spark.yarn.am.memory": "256m",
            "spark.yarn.jars": f"local:{HOME}/jars/*",  # else each session sends all of them
            "spark.yarn.stagingDir": (folder / "staging").as_uri(),
        }
        yield SparkCluster("yarn", begun[1:], folder, conf, {"HADOOP_CONF_DIR": str(configuration)})
    finally:
        end(begun)


def _spawn(folder: Path, main: str, jars: Path, python: str, properties: t.Mapping[str, str]) -> Process:
    """The file of its settings tells whose it is: see sharing.py."""
    settings = folder / "settings.xml"
    _site(settings, properties)
    quick = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Djava.io.tmpdir={folder}"]
    variables = [f"JAVA_HOME={Path(java()).parents[1]}", f"PYSPARK_PYTHON={python}"]
    command = ["env", *variables, java(), *quick, "-cp", f"{jars}/*", f"{PACKAGE}.{main}", "-conf", str(settings)]
    return spawn(command, str(settings), folder / "program.log")


def _site(file: Path, properties: t.Mapping[str, str]) -> None:
    """A file of settings as Hadoop reads it."""
    rows = "".join(
        f"<property><name>{escape(name)}</name><value>{escape(value)}</value></property>\n"
        for name, value in properties.items()
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"<configuration>\n{rows}</configuration>\n")
