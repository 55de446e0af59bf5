"""Offsets in the forms of Spark's Structured Streaming and of Flink SQL."""

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidFile, InvalidInput
from ansible_collections.streamshift.kafka.plugins.module_utils._model.offset_formats import (
    READ,
    OffsetFormat,
    positions_of,
    read_snapshot,
    to_text,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition

STREAMING, FLINK = OffsetFormat.STRUCTURED_STREAMING, OffsetFormat.FLINK_SQL
# As Spark 4.3 writes it.
BATCH = """v1
{"batchWatermarkMs":0,"batchTimestampMs":1795370400000,"conf":{"spark.sql.shuffle.partitions":"200"}}
{"orders":{"1":60,"0":41}}
-
{"clicks":{"0":7}}"""
NAMED = """v2
{"batchWatermarkMs":0,"batchTimestampMs":1795370400000,"conf":{}}
orders_src:{"orders":{"1":60,"0":41}}
1:-
2:{"clicks":{"0":7}}"""
ORDERS = TopicPartition("orders", 0)
OFFSETS = {TopicPartition("clicks", 0): 7, ORDERS: 41, TopicPartition("orders", 1): 60}

START = ("scan.startup.mode", "scan.startup.specific-offsets")

topic_names = st.text(string.ascii_letters + string.digits + "_-", min_size=1, max_size=8)
partitions = st.builds(TopicPartition, topic_names, st.integers(0, 2**31 - 1))
positions = st.dictionaries(partitions, st.none() | st.integers(0, 2**63 - 1), max_size=5)


def read(form, text):
    return positions_of(read_snapshot(text, "/srv/offsets", "etl", form))["etl"]


@given(positions)
def test_offsets_are_read_again(offsets):
    text = to_text(STREAMING, {"etl": offsets})
    known = {partition: offset for partition, offset in offsets.items() if offset is not None}
    if known != offsets:
        assert {topic: set(its) for topic, its in json.loads(text).items()} == {
            topic: {str(each.partition) for each in offsets if each.topic == topic}
            for topic in {each.topic for each in offsets}
        }
    elif known:
        assert read(STREAMING, text) == known


@pytest.mark.parametrize("text", [BATCH, NAMED])
def test_both_versions_of_a_checkpoints_file_are_read_with_all_sources(text):
    assert read(STREAMING, text) == OFFSETS
    assert read(STREAMING, "\ufeff" + text.replace("\n", "\r\n") + "\r\n\r\n") == OFFSETS
    assert read_snapshot(text, "offsets/7", "etl", "structured_streaming").cluster_id is None


def test_a_later_version_of_a_checkpoints_file_is_refused():
    with pytest.raises(InvalidFile, match="is of version v3 of Spark's offset log, and this release reads v1 and v2"):
        read(STREAMING, NAMED.replace("v2", "v3"))


@pytest.mark.parametrize("name", ["", "again:"])
def test_sources_that_are_equally_far_are_one_offset(name):
    """As of a query that joins a topic with itself."""
    lines = (BATCH if not name else NAMED) + f'\n{name}{{"orders":{{"1":60,"2":9}}}}'
    assert read(STREAMING, lines) == {**OFFSETS, TopicPartition("orders", 2): 9}


def test_starting_offsets_name_every_partition_and_are_read():
    text = to_text(STREAMING, {"etl": {**OFFSETS, TopicPartition("orders", 2): None}})
    assert text == '{"clicks":{"0":7},"orders":{"0":41,"1":60,"2":-2}}\n'
    assert read(STREAMING, '{"orders":{"0":41}}') == {ORDERS: 41}


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ('v2\n{}\n{"orders":{"0":41}}', 3, 'it is not source:{"topic"'),
        ('v2\n{}\na:{"orders":{"0":41}}\nb:{"orders":{"0":42}}', 4, "one of which is at 41 and one at 42"),
        ('v2\n{}\na:b:{"orders":{"0":41}}', 3, "Expecting value"),
        ("v2\n{}\na-", 3, "it is not source:"),
        ('v1\n{}\na:{"orders":{"0":41}}', 3, "Expecting value"),
        ("orders,0,41\n", 1, "it is neither v1 or v2"),
        ('v1\n{}\n{"logOffset":3}', 3, "this source of the query is not Kafka"),
        ("v1\n{}\n17", 3, "this source of the query is not Kafka"),
        ('v1\n{}\n{"orders":{"0":41}', 3, "Expecting"),
        (
            'v1\n{}\n{"orders":{"0":41}}\n{"orders":{"0":42}}',
            4,
            "orders-0 is read by two sources of the query, one of which is at 41 and one at 42",
        ),
        ('v1\n{}\n{"orders":{"0":41,"0":42}}', 3, "is there twice"),
        ('v1\n{}\n\n{"orders":{"0":41}}', 3, "Expecting value"),
        ('{"orders":{"0":-2}}', 1, "orders-0 is at -2, which names an end of the log"),
        ('{"orders":{"0":-3}}', 1, "-3 is not an offset"),
        ('{"orders":{"0":"41"}}', 1, "is not an offset"),
        ('{"orders":{"0":9223372036854775808}}', 1, "is not an offset"),
        ('{"orders":{"x":1}}', 1, "'x' of topic orders is no partition"),
        ('{"orders":{"-1":1}}', 1, "is no partition"),
        ('{"orders":{"00":1,"0":2}}', 1, "'00' of topic orders is no partition"),
        ('{"orders":{"0":41}}\n{"clicks":{"0":1}}', 2, "startingOffsets is one line"),
        ('{"format": "streamshift.kafka/snapshot"}', 1, "is not Kafka"),
        ("{" * 100_000, 1, ""),
    ],
)
def test_what_structured_streaming_does_not_write_is_refused_with_its_line(text, line, why):
    with pytest.raises(InvalidFile) as refused:
        read(STREAMING, text)
    assert f"line {line} of /srv/offsets is not what Structured Streaming writes" in str(refused.value)
    assert why in str(refused.value)


def test_a_file_without_an_offset_is_refused():
    with pytest.raises(InvalidFile, match="/srv/offsets holds no offset"):
        read(STREAMING, "v1\n{}\n-")


def flinks_own(value):
    """KafkaConnectorOptionsUtil.parseSpecificOffsets(): pairs are divided by semicolons, and their members by commas.

    Java's split() leaves out what is empty at the end.
    """
    found = {}
    for pair in value.rstrip(";").split(";"):
        members = dict(member.split(":") for member in pair.rstrip(",").split(","))
        found[int(members["partition"])] = int(members["offset"])
    return found


@given(positions)
def test_flink_reads_one_value_a_topic(offsets):
    text = to_text(FLINK, {"etl": offsets})
    tables = [dict(line.rstrip(",").split(" = ") for line in part.splitlines()) for part in text.split("\n\n") if text]
    found = {}
    for options in tables:
        topic, mode, value = (options[f"'{name}'"].strip("'") for name in ("topic", *START))
        assert (mode, topic in found) == ("specific-offsets", False)
        found[topic] = flinks_own(value)
    assert {TopicPartition(topic, number): at for topic, its in found.items() for number, at in its.items()} == {
        partition: offset for partition, offset in offsets.items() if offset is not None
    }


@pytest.mark.parametrize("form", ["auto", "csv"])
def test_a_group_beside_a_file_that_names_others_is_refused(form):
    text = "g1,orders,0,41\ng2,orders,0,42\n"
    with pytest.raises(InvalidInput, match="names its groups itself, and snapshot_group is g1: it holds offsets of g2"):
        read_snapshot(text, "/srv/offsets", "g1", form)
    assert [group.name for group in read_snapshot("g1,orders,0,41\n", "/srv/offsets", "g1", form).groups] == ["g1"]
    assert len(read_snapshot(text, "/srv/offsets", None, form).groups) == 2


@pytest.mark.parametrize("form", [STREAMING, FLINK])
def test_forms_without_group_names_are_written_for_one_group(form):
    with pytest.raises(InvalidInput, match="is for one group, .* would be for 2: billing, shipping"):
        to_text(form, {"billing": {ORDERS: 1}, "shipping": {ORDERS: 2}})


def test_a_file_without_group_names_is_of_a_group_that_is_named():
    with pytest.raises(InvalidFile, match="Set snapshot_group"):
        read_snapshot(to_text(STREAMING, {"etl": {ORDERS: 1}}), "/srv/offsets", None, STREAMING)


@pytest.mark.parametrize("text", ["", "\ufeff", " \r\n", "\n \r\n"])
@pytest.mark.parametrize("form", ["auto", *READ])
def test_an_empty_file_is_called_empty_whatever_form_was_expected(text, form):
    with pytest.raises(InvalidFile, match="/srv/offsets is empty"):
        read_snapshot(text, "/srv/offsets", "etl", form)
