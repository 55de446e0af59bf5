# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
# ruff: noqa: F401 - others import these names from here
# pylint: disable=unused-import
"""The names of PySpark that this package uses, and what it takes to use them.

Where one is missing, modules still start; check_packages() says what is missing before any of the names is used.
pyarrow and pandas come with PySpark's first use: only functions that run on workers import pyarrow, and there.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import logging
import os
import re
import sys
import typing as t
from pathlib import Path

from .._model.errors import InvalidInput, RequirementMissing
from .._model.missing import SPARK, stand_ins, unmet
from .._model.option_names import option_name
from .._model.spark import SparkOptions

if t.TYPE_CHECKING:
    from py4j.protocol import Py4JError
    from pyspark import SparkContext, StatusTracker, StorageLevel
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame, SparkSession

_YARN_FOUND_BY = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")
_DEFAULTS_FOUND_BY = ("SPARK_CONF_DIR", "SPARK_HOME")
_IMAGE = "spark.kubernetes.container.image"
_IMAGES = frozenset({_IMAGE, "spark.kubernetes.executor.container.image"})
HOMES = {
    "Py4JError": "py4j.protocol",
    "PySparkException": "pyspark.errors",
    **dict.fromkeys(("SparkContext", "StatusTracker", "StorageLevel"), "pyspark"),
    **dict.fromkeys(("DataFrame", "SparkSession"), "pyspark.sql"),
}


def __getattr__(name: str) -> t.Any:
    """A name of PySpark (PEP 562), imported when it is used first: most runs of the modules need no Spark."""
    if name not in HOMES:
        raise AttributeError(name)
    try:
        attribute = getattr(importlib.import_module(HOMES[name]), name)
    except ImportError as exc:
        attribute = stand_ins(exc)(name)
    globals()[name] = attribute
    return attribute


def errors() -> tuple[type[Exception], ...]:
    """What Spark's calls raise, also where the session or its Java process is gone."""
    own = (__getattr__("PySparkException"), __getattr__("Py4JError"))
    # What stands for a name that cannot be imported is no exception, and nothing raises it.
    return (*(each for each in own if issubclass(each, Exception)), ConnectionError)


# Py4J writes what Java has not answered to the root logger, even when a session is over and nobody waits for the answer.
# Whoever does wait is told by an exception.
logging.getLogger().addFilter(lambda record: "py4j" not in Path(record.pathname).parts)


def check_packages() -> None:
    """Raise InvalidInput that names what this Python lacks."""
    if found := unmet(SPARK):
        raise RequirementMissing(
            f"Spark cannot be used: {', '.join(found)} for {sys.executable}",
            remedy="install the collection's requirements there (pip install -r requirements-spark.txt)",
        )


def check_home() -> None:
    """Raise InvalidInput where SPARK_HOME, from which pyspark starts Java, has no Spark of pyspark's version."""
    home = os.environ.get("SPARK_HOME")
    if not home:
        return
    # Vendors add to versions: 4.0.1-amzn-0 in Java, 4.0.1+amzn.0 in Python. A Spark built in place has no jars.
    wanted = ".".join(re.findall(r"\d+", importlib.metadata.version("pyspark"))[:3])
    cores = " ".join(jar.name for jar in Path(home, "jars").glob("spark-core_*.jar"))
    found = re.findall(r"spark-core_[\d.]+-(\d+\.\d+\.\d+)", cores)
    if not os.access(Path(home, "bin/spark-submit"), os.X_OK):
        what = "has no bin/spark-submit that can be run"
    elif found and found[0].split(".")[:2] != wanted.split(".")[:2]:  # patch releases go together
        what = f"has Spark {found[0]}"
    else:
        return
    raise RequirementMissing(
        f"SPARK_HOME is {home}, which {what}",
        why=f"pyspark {wanted} starts Spark from it",
        remedy=f"set it in environment of the play or task to the directory of Spark {wanted}, or to an empty text",
    )


def check_cluster_manager(options: SparkOptions) -> None:
    """Raise InvalidInput where YARN cannot be found, or where Kubernetes has no image to run."""
    if options.master == "yarn":
        _check_yarn(options)
    # An image may be named in spark-defaults.conf, too.
    if options.master.startswith("k8s:") and not (
        _IMAGES & options.conf.keys() or any(map(os.getenv, _DEFAULTS_FOUND_BY))
    ):
        raise RequirementMissing(
            f"{_IMAGE} is not set",
            cluster=str(options),
            why="Kubernetes runs Spark's executors in an image",
            remedy=f"set it in conf of {option_name('spark')} to an image of this Spark version",
        )


def _check_yarn(options: SparkOptions) -> None:
    directories = [os.environ[name] for name in _YARN_FOUND_BY if os.environ.get(name)]
    if not any(map(os.path.isdir, directories)):
        raise RequirementMissing(
            f"HADOOP_CONF_DIR is {directories[0] + ', which is no directory' if directories else 'not set'}",
            cluster=str(options),
            why="it has to name the directory of YARN's configuration",
            remedy="set it in environment of the play or task, to the directory that has yarn-site.xml",
        )
