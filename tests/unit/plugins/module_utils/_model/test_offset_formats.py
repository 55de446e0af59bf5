# Copyright (c) 2026 The streamshift.kafka authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Offsets in the forms of Spark's Structured Streaming and of Flink SQL."""

from __future__ import annotations

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidFile, InvalidInput
from ansible_collections.streamshift.kafka.plugins.module_utils._model.offset_formats import (
    OffsetFormat,
    from_text,
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
ORDERS = TopicPartition("orders", 0)
OFFSETS = {TopicPartition("clicks", 0): 7, ORDERS: 41, TopicPartition("orders", 1): 60}

topic_names = st.text(string.ascii_letters + string.digits + "._-", min_size=1, max_size=8)  # Kafka allows no others
partitions = st.builds(TopicPartition, topic_names, st.integers(0, 2**31 - 1))
positions = st.dictionaries(partitions, st.none() | st.integers(0, 2**63 - 1), max_size=5)


def read(form, text):
    return positions_of(from_text(form, text, "/srv/offsets", "etl"))["etl"]


@given(positions, st.sampled_from([STREAMING, FLINK]))
def test_offsets_are_read_again(offsets, form):
    text = to_text(form, {"etl": offsets})
    known = {partition: offset for partition, offset in offsets.items() if offset is not None}
    if form is STREAMING and known != offsets:
        assert {topic: set(its) for topic, its in json.loads(text).items()} == {
            topic: {str(each.partition) for each in offsets if each.topic == topic}
            for topic in {each.topic for each in offsets}
        }
    elif known:
        assert read(form, text) == known


def test_a_checkpoints_file_is_read_with_all_its_sources():
    assert read(STREAMING, BATCH) == OFFSETS
    assert read(STREAMING, "\ufeff" + BATCH.replace("\n", "\r\n") + "\r\n\r\n") == OFFSETS
    assert read_snapshot(BATCH, "offsets/7", "etl", "structured_streaming").cluster_id is None


def test_starting_offsets_name_every_partition_and_are_read():
    text = to_text(STREAMING, {"etl": {**OFFSETS, TopicPartition("orders", 2): None}})
    assert text == '{"clicks":{"0":7},"orders":{"0":41,"1":60,"2":-2}}\n'
    assert read(STREAMING, '{"orders":{"0":41}}') == {ORDERS: 41}


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("v2\n{}\n{}", 1, "it is neither v1"),
        ("orders,0,41\n", 1, "it is neither v1"),
        ('v1\n{}\n{"logOffset":3}', 3, "this source of the query is not Kafka"),
        ("v1\n{}\n17", 3, "this source of the query is not Kafka"),
        ('v1\n{}\n{"orders":{"0":41}', 3, "Expecting"),
        ('v1\n{}\n{"orders":{"0":41}}\n{"orders":{"0":42}}', 4, "orders-0 is read by two sources"),
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


@pytest.mark.parametrize(
    ("form", "text"), [(STREAMING, ""), (STREAMING, "v1\n{}\n-"), (FLINK, ""), (FLINK, "'topic' = 'a'")]
)
def test_a_file_without_an_offset_is_refused(form, text):
    with pytest.raises(InvalidFile, match="/srv/offsets (is empty|holds no offset)"):
        read(form, text)


def flinks_own(value):
    """KafkaConnectorOptionsUtil.parseSpecificOffsets(): pairs are divided by semicolons, and their members by commas."""
    found = {}
    for pair in value.split(";"):
        members = dict(member.split(":") for member in pair.split(","))
        found[int(members["partition"])] = int(members["offset"])
    return found


def test_flink_reads_one_value_a_topic():
    text = to_text(FLINK, {"etl": {**OFFSETS, TopicPartition("orders", 2): None}})
    options = [dict(line.rstrip(",").split(" = ") for line in part.splitlines()) for part in text.split("\n\n")]
    assert [each["'scan.startup.mode'"] for each in options] == ["'specific-offsets'"] * 2
    assert {each["'topic'"]: flinks_own(each["'scan.startup.specific-offsets'"].strip("'")) for each in options} == {
        "'clicks'": {0: 7},
        "'orders'": {0: 41, 1: 60},
    }


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("'topic' = 'orders',\n'connector' = 'kafka'", 2, "it sets connector"),
        ("'topic' = 'orders;clicks'", 1, "it names several topics"),
        ("'topic' = 'orders'\norders", 2, "it is not 'name' = 'value'"),
        ("'scan.startup.specific-offsets' = 'partition:0,offset:1'", 1, "no 'topic' is named before it"),
        (
            "'topic' = 'o',\n'scan.startup.specific-offsets' = 'partition:0,offset:-1'",
            2,
            "'partition:0,offset:-1' is not",
        ),
        ("'topic' = 'o',\n'scan.startup.specific-offsets' = 'offset:1,partition:0'", 2, "is not partition:NUMBER"),
        ("'topic' = 'o',\n'scan.startup.specific-offsets' = 'partition:0,offset:1;partition:0,offset:2'", 2, "twice"),
        (
            "'topic' = 'o',\n'scan.startup.specific-offsets' = 'partition:0,offset:9999999999999999999'",
            2,
            "not an offset",
        ),
        ("'topic' = 'o',\n'scan.startup.mode' = 'earliest-offset'", 2, "the mode is earliest-offset"),
    ],
)
def test_what_is_no_startup_option_of_flink_is_refused_with_its_line(text, line, why):
    with pytest.raises(InvalidFile) as refused:
        read(FLINK, text)
    assert f"line {line} of /srv/offsets is no option of Flink SQL" in str(refused.value)
    assert why in str(refused.value)


@pytest.mark.parametrize("form", [STREAMING, FLINK])
def test_forms_without_group_names_are_of_one_group_that_is_named(form):
    with pytest.raises(InvalidInput, match="is for one group, .* would be for 2: billing, shipping"):
        to_text(form, {"billing": {ORDERS: 1}, "shipping": {ORDERS: 2}})
    with pytest.raises(InvalidFile, match="Set snapshot_group"):
        from_text(form, to_text(form, {"etl": {ORDERS: 1}}), "/srv/offsets", None)


@pytest.mark.parametrize("text", ["", "\ufeff", " \r\n"])
def test_an_empty_file_is_called_empty_whatever_form_was_expected(text):
    with pytest.raises(InvalidFile, match="/srv/offsets is empty"):
        read_snapshot(text, "/srv/offsets")
