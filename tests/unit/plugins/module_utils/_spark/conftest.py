"""One Spark session for all tests of this folder that want one: starting it costs seconds. A process has one at a time."""

import typing as t

import pytest
from pyspark.sql import SparkSession

from ansible_collections.streamshift.kafka.plugins.module_utils._model.spark import SparkOptions
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.session import open_session

OPTIONS = SparkOptions(master="local[2]", conf={"spark.sql.shuffle.partitions": "2"})


@pytest.fixture(scope="package")
def spark() -> t.Iterator[SparkSession]:
    """Two cores, two shuffle partitions, UTC."""
    with open_session(OPTIONS) as session:
        yield session
