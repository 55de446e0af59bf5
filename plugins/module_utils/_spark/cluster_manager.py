# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: no other code may import it.
"""What YARN and Kubernetes need before a session is opened: without it, only Spark's log says why nothing happens."""

from __future__ import annotations

import os

from .._model.errors import InvalidInput
from .._model.failure_kinds import FailureKind
from .._model.option_names import option_name
from .._model.spark import SparkOptions

_YARN_FOUND_BY = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")
_DEFAULTS_FOUND_BY = ("SPARK_CONF_DIR", "SPARK_HOME")
_IMAGE = "spark.kubernetes.container.image"
_IMAGES = frozenset({_IMAGE, "spark.kubernetes.executor.container.image"})


def check_cluster_manager(options: SparkOptions) -> None:
    """Raise InvalidInput where YARN cannot be found, or where Kubernetes has no image to run."""
    if options.master == "yarn":
        _check_yarn(options)
    # An image may be named in spark-defaults.conf, too.
    if options.master.startswith("k8s:") and not (
        _IMAGES & options.conf.keys() or any(map(os.getenv, _DEFAULTS_FOUND_BY))
    ):
        raise InvalidInput(
            f"{_IMAGE} is not set",
            cluster=str(options),
            why="Kubernetes runs Spark's executors in an image",
            remedy=f"set it in conf of {option_name('spark')} to an image of this Spark version",
            kind=FailureKind.REQUIREMENT_MISSING,
        )


def _check_yarn(options: SparkOptions) -> None:
    directories = [os.environ[name] for name in _YARN_FOUND_BY if os.environ.get(name)]
    if not any(map(os.path.isdir, directories)):
        raise InvalidInput(
            f"HADOOP_CONF_DIR is {directories[0] + ', which is no directory' if directories else 'not set'}",
            cluster=str(options),
            why="it has to name the directory of YARN's configuration",
            remedy="set it in environment of the play or task, to the directory that has yarn-site.xml",
            kind=FailureKind.REQUIREMENT_MISSING,
        )
