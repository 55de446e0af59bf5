"""Spark reads ranges of real brokers, and its workers' errors come out as the collection's own."""

import os
import shutil
import typing as t

import pytest
from pyspark.errors import PySparkException

from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import BrokerError, MigrationError
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.spark import SparkOptions
from ansible_collections.streamshift.kafka.plugins.module_utils._records.range_reader import read_ranges
from ansible_collections.streamshift.kafka.plugins.module_utils._records.scanning import Range
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.failures import cause_of
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.scan_job import scan_frame
from ansible_collections.streamshift.kafka.plugins.module_utils._spark.session import kept, open_session
from testbed.clients import Message, create_topic, delete_records, grant, produce, produce_in_transactions
from tests.support.consumers import open_transaction
from tests.support.processes import command_lines


@pytest.fixture(scope="module")
def spark() -> t.Iterator[t.Any]:
    with open_session(SparkOptions(master="local[2]")) as session:
        yield session


def why(rows) -> MigrationError:
    """What the action on these rows fails with, as the session's end would tell it."""
    with pytest.raises(PySparkException) as failed:
        rows.count()
    return cause_of(failed.value, "Spark")


def test_every_record_of_every_range_comes_once(spark, source, topic):
    connection = connection_from(source.connection, "source cluster")
    create_topic(source, topic, partitions=3)
    messages = [Message(b"%d" % n, b"k", (("h", b"x"),) if n % 3 else (), 0, n % 3) for n in range(30_000)]
    produce(source, topic, messages)
    create_topic(source, f"{topic}-stamped", message_timestamp_type="LogAppendTime")
    written = produce_in_transactions(source, f"{topic}-stamped", [(messages[:9:3], True), (messages[:3:3], False)] * 2)
    end = written[-1][-1] + 2
    ranges = [Range(TopicPartition(topic, part), part, 10_000 - part) for part in range(3)]
    ranges += [Range(TopicPartition(topic, 0), 90, 110), Range(TopicPartition(f"{topic}-stamped", 0), 0, end)]
    rows = scan_frame(spark, connection, ranges)
    with kept(rows) as known:
        found = known.orderBy("range", "offset").collect()
    expected = []
    for number, each in enumerate(ranges):
        (answer,) = read_ranges(connection, {each.partition: [(each.start, each.end)]})[each.partition]
        expected += [
            (number, its.offset, its.timestamp, its.log_append_time, its.fingerprint, its.bare)
            for its in answer.records
        ]
    assert found == expected
    without = scan_frame(spark, connection, ranges, parts=("value",))
    assert without.count() == len(expected)
    assert without.where("fingerprint <> bare").count() == 0


def test_a_large_partition_is_read_by_all_cores(spark, source, topic):
    connection = connection_from(source.connection, "source cluster")
    create_topic(source, topic)
    produce(source, topic, [Message(b"%d" % number) for number in range(250_000)])
    rows = scan_frame(spark, connection, [Range(TopicPartition(topic, 0), 0, 250_000)])
    assert rows.rdd.getNumPartitions() == 4
    found = rows.selectExpr(
        "count(*)", "count(distinct offset)", "min(offset)", "max(offset)", "count(distinct fingerprint)"
    )
    assert found.collect() == [(250_000, 250_000, 0, 249_999, 250_000)]


def test_aborted_records_are_read_when_asked_for(spark, source, topic):
    connection = connection_from(source.connection, "source cluster")
    create_topic(source, topic)
    produce_in_transactions(source, topic, [([Message(b"1")], True), ([Message(b"2")], False)])
    ranges = [Range(TopicPartition(topic, 0), 0, 4)]
    for committed, offsets in ((True, [0]), (False, [0, 2])):
        assert [row.offset for row in scan_frame(spark, connection, ranges, committed=committed).collect()] == offsets


def test_errors_name_cluster_topic_and_partition(spark, source, topic):
    connection = connection_from(source.connection, "source cluster")
    create_topic(source, topic, partitions=2)
    produce(source, topic, [Message(b"%d" % number, partition=1) for number in range(6)])
    where = TopicPartition(topic, 1)
    place = {"cluster": str(connection), "topic": topic, "partition": 1}
    with open_transaction(source, topic, [Message(b"open", partition=1)]):
        failed = why(scan_frame(spark, connection, [Range(where, 0, 7)]))
        assert isinstance(failed, BrokerError) and failed.what == "the log ends at 6, and 7 was expected"
        assert {name: getattr(failed, name) for name in place} == place
    delete_records(source, topic, {1: 3})
    failed = why(scan_frame(spark, connection, [Range(where, 2, 6)]))
    assert isinstance(failed, BrokerError) and failed.what == "offset 2 is not in the log"
    assert {name: getattr(failed, name) for name in place} == place


def test_workers_that_cannot_reach_the_brokers_say_so(spark):
    nowhere = connection_from({"bootstrap_servers": "127.0.0.1:1", "request_timeout": 2}, "destination cluster")
    failed = why(scan_frame(spark, nowhere, [Range(TopicPartition("orders", 0), 0, 1)]))
    assert str(failed).startswith("destination cluster 127.0.0.1:1: cannot connect: ")
    assert "Connection refused" in str(failed)


@pytest.mark.parametrize("login", ["password", "certificate"])
def test_certificates_and_passwords_reach_the_workers_and_nobody_else(spark, secured, topic, tmp_path, login):
    """The files are gone by the time that records are read, as on a machine that never had them."""
    create_topic(secured, topic)
    produce(secured, topic, [Message(b"1"), Message(b"2")])
    grant(secured, {f"TOPIC READ on {topic}"}, principal=secured.ssl_principal)
    if login == "password":
        options, secret = secured.connection, secured.users["admin"]
    else:
        secret = secured.ssl_key_password
        key = {"ssl_keyfile": secured.paths["encrypted_key"], "ssl_key_password": secret}
        options = {**secured.ssl_connection, **key}
    copies = {name: str(tmp_path / name) for name in ("ssl_cafile", "ssl_certfile", "ssl_keyfile")}
    for name, copy in copies.items():
        shutil.copy(options[name], copy)
    connection = connection_from({**options, **copies}, "source cluster")
    rows = scan_frame(spark, connection, [Range(TopicPartition(topic, 0), 0, 2)])
    for copy in copies.values():
        os.unlink(copy)
    assert rows.count() == 2
    said = [f"{key}={value}" for key, value in spark.sparkContext.getConf().getAll()]
    said += command_lines()
    said.append(rows._jdf.queryExecution().toString())
    assert secret not in "\n".join(said)
