"""A module prints its result alone, whatever becomes of Java."""

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from unittest import mock

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._spark import spark_library

ASK = """
from py4j.java_gateway import GatewayParameters, JavaGateway
gateway = JavaGateway(gateway_parameters=GatewayParameters(port=int({port})))
try:
    gateway.jvm.java.lang.System.nanoTime()
except Exception as exc:
    print(type(exc).__name__)
"""
ROOT = Path(__file__).parents[5]
LIBRARY = "ansible_collections.streamshift.kafka.plugins.module_utils._spark.spark_library"


@pytest.fixture
def dying_java():
    """The port of what takes each question and then is gone."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            while True:
                try:
                    connection, _address = server.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(1)

        threading.Thread(target=answer, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize(("imported", "quiet"), [(f"import {LIBRARY}", True), ("", False)])
def test_a_java_process_that_is_gone_is_told_by_an_exception_and_not_on_stderr(dying_java, imported, quiet):
    program = f"{imported}\n{ASK.format(port=dying_java)}"
    run = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(ROOT / ".ansible/collections")},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert run.stdout.strip().endswith("Error")
    assert (not run.stderr) is quiet


@pytest.mark.parametrize("name", spark_library.HOMES)
def test_each_name_is_there_when_it_is_used_first(name):
    assert getattr(spark_library, name).__name__.rpartition(".")[2] == name


def test_where_pyspark_cannot_be_imported_the_reason_is_told_by_its_first_use(monkeypatch):
    for name in spark_library.HOMES:
        monkeypatch.delitem(vars(spark_library), name, raising=False)
    broken = mock.Mock(side_effect=ImportError("pyspark.sql is broken"))
    monkeypatch.setattr(spark_library.importlib, "import_module", broken)
    try:
        with pytest.raises(ImportError, match=r"pyspark[.]sql is broken"):
            try:
                spark_library.SparkSession()
            except spark_library.errors():
                pytest.fail("this is no error of a session")
    finally:
        for name in spark_library.HOMES:
            vars(spark_library).pop(name, None)
