"""A file of a checkpoint is read as Spark itself reads it, in both of its versions."""

import json

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidFile
from ansible_collections.streamshift.kafka.plugins.module_utils._model.streaming_offsets import read_streaming_offsets

ORDERS, CLICKS = '{"orders":{"0":41,"1":60}}', '{"clicks":{"0":7}}'
HEAD = '{"batchWatermarkMs":0,"batchTimestampMs":1760000000000,"conf":{}}'


def sparks_own(spark, text, folder):
    """The offsets of each source, as OffsetSeqLog.deserialize() tells them; none of a source that has none yet."""
    jvm = spark._jvm
    log = jvm.org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqLog(spark._jsparkSession, folder, True)
    read = log.deserialize(jvm.java.io.ByteArrayInputStream(bytearray(text.encode())))
    values = read.offsetsMap().values() if text.startswith("v2") else read.offsets()
    found = {}
    for each in jvm.scala.jdk.javaapi.CollectionConverters.asJava(values.toSeq()):
        if each.isDefined():
            for topic, partitions in json.loads(each.get().json()).items():
                found |= {(topic, int(partition)): offset for partition, offset in partitions.items()}
    return found


@pytest.mark.parametrize(
    "lines",
    [
        ["v1", HEAD, ORDERS, "-", CLICKS],
        ["v1", "", ORDERS, ORDERS],
        ["v2", HEAD, f"orders_src:{ORDERS}", f"1:{CLICKS}", "2:-"],
        ["v2", HEAD, f"0:{ORDERS}", f"1:{ORDERS}"],
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_spark_reads_the_same(spark, tmp_path, lines, end):
    text = end.join(lines)
    assert read_streaming_offsets(text, "/srv/offsets") == sparks_own(spark, text, str(tmp_path / "offsets"))


@pytest.mark.parametrize("lines", [["v2", HEAD, ORDERS[1:-1].replace(":", "")], ["v3", HEAD, f"0:{ORDERS}"]])
def test_spark_refuses_the_same(spark, tmp_path, lines):
    with pytest.raises(InvalidFile):
        read_streaming_offsets("\n".join(lines), "/srv/offsets")
    with pytest.raises(Exception, match=r"Invalid|version|malformed|format|UNSUPPORTED"):
        sparks_own(spark, "\n".join(lines), str(tmp_path / "offsets"))
