"""Real Spark clusters on this machine, out of the classes that come with pyspark."""

import contextlib
import functools
import os
import re
import sys
import typing as t
from pathlib import Path
from unittest import mock

import pyspark
from pyspark.sql import SparkSession

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog import copy_differences, copy_steps
from ansible_collections.streamshift.kafka.plugins.module_utils._model.progress import Say, silent
from ansible_collections.streamshift.kafka.plugins.module_utils._model.spark import SparkOptions
from ansible_collections.streamshift.kafka.plugins.module_utils._spark import session
from testbed.clients import until
from testbed.sandbox import Process, alive, end, last_words, spawn

HOME = Path(pyspark.__file__).parent
SECONDS = 90.0


class SparkCluster(t.NamedTuple):
    """Its workers, whose children are executors. conf and variables: Spark properties and environment that sessions need."""

    url: str
    workers: list[Process]
    folder: Path
    conf: t.Mapping[str, str] = {}
    variables: t.Mapping[str, str] = {}


@contextlib.contextmanager
def one_session() -> t.Iterator[None]:
    """Modules that are run in this process share one session, which the first that wants one opens.

    To start Spark takes longer than what most tests let it do; test_spark_sessions.py has its beginning and end. While it is
    open, this process has other environment variables and another folder for temporary files: whatever is to outlive the
    session has to be started before.
    """
    original = session.open_session
    with contextlib.ExitStack() as stack:
        opened = functools.cache(lambda: stack.enter_context(original(SparkOptions(master="local[2,4]"))))

        @contextlib.contextmanager
        def shared(options: SparkOptions, _say: Say = silent) -> t.Iterator[SparkSession]:
            spark = opened()
            with session._translated(options, Path(os.devnull)):
                yield spark

        for module in (session, copy_steps, copy_differences):
            stack.enter_context(mock.patch.object(module, "open_session", shared))
        yield


@contextlib.contextmanager
def standalone(folder: Path, workers: int = 2, python: str = sys.executable) -> t.Iterator[SparkCluster]:
    """A standalone cluster of workers with one core and 1 GB each, whose Python is the given one."""
    begun: list[Process] = []
    try:
        master = _spawn(folder, "master", "org.apache.spark.deploy.master.Master", "--port", "0", "--webui-port", "0")
        begun.append(master)
        url = said(master, folder / "master.log", r"Starting Spark master at (spark://\S+)")
        for number in range(1, workers + 1):
            words = ("--webui-port", "0", "--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"work{number}"))
            begun.append(
                _spawn(folder, f"worker{number}", "org.apache.spark.deploy.worker.Worker", *words, url, python=python)
            )
        for number, worker in enumerate(begun[1:], 1):
            said(worker, folder / f"worker{number}.log", "Successfully registered with master")
        yield SparkCluster(url, begun[1:], folder)
    finally:
        end(begun)


@contextlib.contextmanager
def connect_server(folder: Path, token: str | None = None, python: str = sys.executable) -> t.Iterator[str]:
    """A Spark Connect server with two cores of its own; its URL. token: what it wants to be shown."""
    conf = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": 0,  # it would silently take the next one if another program had taken ours
        "spark.master": "local[2,4]",
        "spark.ui.enabled": "false",
        "spark.local.dir": folder / "local",
        "spark.sql.warehouse.dir": folder / "warehouse",
    }
    if token:
        conf["spark.connect.authenticate.token"] = token
    settings = folder / "connect.properties"
    folder.mkdir(parents=True, exist_ok=True)
    settings.write_text("".join(f"{name} {value}\n" for name, value in conf.items()))
    main = "org.apache.spark.sql.connect.service.SparkConnectServer"
    words = ["--properties-file", str(settings), "--class", main, "spark-internal"]
    command = ["env", *_variables(folder, python, "1g"), str(HOME / "bin/spark-submit"), *words]
    server = spawn(command, str(settings), folder / "connect.log")
    try:
        address = said(server, folder / "connect.log", r"Spark Connect server started at: (\S+)\n")
        yield f"sc://{address}"
    finally:
        end([server])


def _spawn(folder: Path, name: str, main: str, *words: str, python: str = sys.executable) -> Process:
    """A program of Spark. The file of its settings, in which there are none, tells whose it is: see sharing.py."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = folder / f"{name}.properties"
    settings.touch()
    own = ["--host", "127.0.0.1", "--properties-file", str(settings)]
    command = ["env", *_variables(folder, python, "256m"), str(HOME / "bin/spark-class"), main, *own, *words]
    return spawn(command, str(settings), folder / f"{name}.log")


def _variables(folder: Path, python: str, memory: str) -> list[str]:
    return [
        f"SPARK_HOME={HOME}",
        "SPARK_LOCAL_IP=127.0.0.1",
        f"SPARK_DAEMON_MEMORY={memory}",
        "SPARK_DAEMON_JAVA_OPTS=-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        f"PYSPARK_PYTHON={python}",
        f"PYSPARK_DRIVER_PYTHON={python}",
        f"TMPDIR={folder}",
    ]


def said(process: Process, log: Path, pattern: str) -> str:
    """Wait for a line of a log; its first group, if there is one."""

    def line() -> re.Match[str] | None:
        found = re.search(pattern, log.read_text(errors="replace"))
        assert found or alive(process), last_words(log)
        return found

    found = t.cast(re.Match[str], until(line, SECONDS, lambda: last_words(log)))
    return found[1] if found.groups() else found[0]
