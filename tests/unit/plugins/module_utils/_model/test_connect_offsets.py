"""Keys and values byte for byte as Connect has written them; of damaged ones nothing is guessed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._connect.topic import connect_partition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connect_offsets import (
    ConnectorKey,
    mirror_source_key,
    mirror_source_partition,
    offset_value,
    read_key,
    read_offset,
    replicator_partition,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import DamagedRecord
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from tests.support.mirror_records import FOLDER, recorded, replicator

STORED = [each for each in recorded("connect-offset") if each.value is not None]
SOURCES = [each for each in STORED if (each.key or b"").startswith(b'["MirrorSourceConnector"')]
EXPECTED = json.loads((FOLDER / "replicator_expected.json").read_text())


def test_every_recorded_key_is_in_the_partition_that_is_computed():
    assert len(STORED) > 90
    for each in STORED:
        assert connect_partition(each.key, each.row["partitions"]) == each.row["partition"], each.row


def test_every_recorded_position_of_mirror_maker_is_read_and_written_again_as_it_was():
    assert len(SOURCES) > 40
    for each in SOURCES:
        key = read_key(each.key)
        alias, partition = mirror_source_partition(key)
        assert mirror_source_key(key.connector, alias, partition) == each.key
        assert offset_value(read_offset(each.value)) == each.value


def test_replicators_positions_are_those_of_the_newest_good_record_of_each_key():
    found = {}
    for each in replicator():
        if each.row["role"] not in ("use", "superseded", "forgotten", "use-then-check-source"):
            continue
        key = read_key(each.key)
        found[replicator_partition(key)] = read_offset(each.value)
    wanted = {TopicPartition(row["topic"], row["partition"]): row for row in EXPECTED["expected"]}
    positions = {partition: offset for partition, offset in found.items() if offset is not None}
    assert {partition: positions[partition] for partition in wanted} == {
        at: row["offset"] for at, row in wanted.items()
    }
    for partition, row in wanted.items():
        key = mirror_source_key("MirrorSourceConnector", EXPECTED["cluster"], partition)
        assert key.decode() == row["key"]
        assert offset_value(row["offset"]).decode() == row["value"]
        assert connect_partition(key, 25) == row["mm2_partition_of_25"]


@pytest.mark.parametrize(
    "each",
    [
        each
        for each in replicator()
        if each.row["role"] in ("invalid", "invalid-or-warn", "foreign-format", "illegal-topic")
    ],
    ids=lambda each: each.row["note"],
)
def test_a_damaged_record_of_replicator_is_refused(each):
    with pytest.raises(DamagedRecord):
        replicator_partition(read_key(each.key))
        read_offset(each.value)


def test_a_position_of_another_connector_is_known_by_its_name():
    others = [each for each in replicator() if each.row["role"] == "other-connector"]
    assert len(others) > 4
    assert all(read_key(each.key).connector != "replicator" for each in others)


@pytest.mark.parametrize(
    "value",
    [
        b'{"offset":"5"}',
        b'{"offset":7.0}',
        b'{"offset":-1}',
        b'{"offset":true}',
        b'{"offset":1,"offset":2}',
        b"[5]",
        b"5",
    ],
)
def test_no_offset_is_guessed(value):
    with pytest.raises(DamagedRecord, match="value"):
        read_offset(value)


@given(st.none() | st.binary(max_size=60))
def test_whatever_is_in_the_topic_nothing_else_is_raised(content):
    for read in (read_key, read_offset):
        try:
            read(content)
        except DamagedRecord as exc:
            assert "\n" not in str(exc)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["topic", "partition", "cluster", "offset"]), inner)
    ),
    max_leaves=6,
)


@given(_JSON)
def test_json_of_any_shape_is_read_or_refused(document):
    content = json.dumps(document).encode()
    for read in (
        read_offset,
        lambda key: replicator_partition(read_key(key)),
        lambda key: mirror_source_partition(read_key(key)),
    ):
        try:
            read(content)
        except DamagedRecord:
            continue


@given(st.dictionaries(st.sampled_from(["topic", "partition", "cluster"]), _JSON))
def test_a_partition_of_any_shape_is_read_or_refused(members):
    for read in (replicator_partition, mirror_source_partition):
        try:
            read(ConnectorKey("connector", members))
        except DamagedRecord as exc:
            assert str(exc)


@given(st.integers(0, (1 << 63) - 1))
def test_no_digit_of_an_offset_is_lost(offset):
    assert read_offset(offset_value(offset)) == offset
