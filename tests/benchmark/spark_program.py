# SPDX-License-Identifier: GPL-3.0-or-later

"""A Spark session that is given work line by line, so that rivals can take turns, each in a process of its own.

    spark_program.py scan [MASTER] | connector JAR... | copy MASTER

It prints how long the session took, and the first job with Arrow; then for each line of JSON the seconds of its work.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
import typing as t
import uuid

from pyspark.sql import SparkSession

from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import BacklogRange
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection, connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.copy_progress import (
    Progress,
    Run,
    progress_groups,
    transactional_number,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.spark import SparkOptions
from ansible_collections.streamshift.kafka.plugins.module_utils._records.claiming import Claimed, claim
from ansible_collections.streamshift.kafka.plugins.module_utils._records.jobs import Job
from ansible_collections.streamshift.kafka.plugins.module_utils._records.scanning import Range
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.copy_job import copy
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.scan_job import scan_frame
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.session import open_session
from tests.benchmark.loads import LARGEST

MASTER = "local[2]"
MEMORY = "2g"
GROUPS = 50

Work = t.Callable[[SparkSession, dict[str, t.Any]], tuple[float, int]]


def scanned(spark: SparkSession, asked: dict[str, t.Any]) -> tuple[float, int]:
    """Count, last offset and fingerprints of a topic, read as the collection does."""
    connection = connection_from({"bootstrap_servers": asked["address"]})
    ranges = [
        Range(TopicPartition(topic, part), 0, asked["records"])
        for topic in asked["topics"]
        for part in range(asked["partitions"])
    ]
    begin = time.perf_counter()
    rows = scan_frame(spark, connection, ranges)
    found = rows.selectExpr("count(*)", "max(offset)", "bit_xor(xxhash64(fingerprint))").collect()[0]
    return time.perf_counter() - begin, found[0]


def connected(spark: SparkSession, asked: dict[str, t.Any]) -> tuple[float, int]:
    """The same with Spark's own connector and hash function, twice, for as many bits."""
    begin = time.perf_counter()
    rows = (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", asked["address"])
        .option("subscribe", ",".join(asked["topics"]))
        .option("kafka.fetch.max.wait.ms", "10")  # with its default the ends of partitions take half a second each
        .load()
    )
    hashes = ("bit_xor(xxhash64(key, value))", "bit_xor(xxhash64(value, key))")
    found = rows.selectExpr("count(*)", "max(offset)", *hashes).collect()[0]
    return time.perf_counter() - begin, found[0]


def copied(spark: SparkSession, asked: dict[str, t.Any]) -> tuple[float, int]:
    """Copy a topic to an empty one as the collection does, for many groups, each at another offset."""
    source = connection_from({"bootstrap_servers": asked["source"]})
    destination = connection_from({"bootstrap_servers": asked["destination"]})
    begin = time.perf_counter()
    jobs = _jobs(destination, asked)
    records = copy(spark, source, destination, jobs)
    return time.perf_counter() - begin, records


def _jobs(destination: Connection, asked: dict[str, t.Any]) -> list[Job]:
    """A run that has claimed the copy, as the module makes it."""
    topic, to, records = asked["topic"], asked["to"], asked["records"]
    boundaries = tuple(range(0, records, max(1, records // GROUPS)))
    ranges = [
        BacklogRange(TopicPartition(topic, part), 0, records, TopicPartition(to, part), 0, boundaries)
        for part in asked["partitions"]
    ]
    run, groups = Run(uuid.uuid4().hex[:12], "here", os.getpid(), 0), tuple(progress_groups(to, ranges))
    claim(destination, to, groups, ranges, run, lambda kept: Claimed({where: Progress(0) for where in kept}, True))
    numbered: dict[int, list[BacklogRange]] = {}
    for each in ranges:
        numbered.setdefault(transactional_number(each.destination), []).append(each)
    return [
        Job(to, number, tuple(its), run, groups, {}, {to: LARGEST}, {to: 1 << 30}) for number, its in numbered.items()
    ]


def main(kind: str, *words: str) -> None:
    works: dict[str, Work] = {"scan": scanned, "connector": connected, "copy": copied}
    out = os.fdopen(os.dup(1), "w")  # a session has the process's output
    begin = time.perf_counter()
    with _session(kind, words) as spark:
        opened = time.perf_counter()
        spark.range(0, 1000, 1, 2).mapInArrow(_same, "id bigint").count()
        first = time.perf_counter()
        print(json.dumps([opened - begin, first - opened]), file=out, flush=True)
        for line in sys.stdin:
            print(json.dumps(works[kind](spark, json.loads(line))), file=out, flush=True)


@contextlib.contextmanager
def _session(kind: str, words: t.Sequence[str]) -> t.Iterator[SparkSession]:
    """The collection's own session; for the connector one with what Spark does by default, as its users have it."""
    if kind != "connector":
        master = words[0] if words else MASTER
        with open_session(SparkOptions(master=master, driver_memory=MEMORY)) as spark:
            yield spark
        return
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    # What the connector logs below this level names classes that newer versions of Spark lack.
    conf = {"spark.log.level": "WARN", "spark.ui.enabled": "false", "spark.jars": ",".join(words)}
    conf["spark.driver.memory"] = MEMORY
    spark = SparkSession.builder.master(MASTER).config(map=dict(conf)).getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


def _same(batches: t.Iterator[t.Any]) -> t.Iterator[t.Any]:
    yield from batches


if __name__ == "__main__":
    main(*sys.argv[1:])
