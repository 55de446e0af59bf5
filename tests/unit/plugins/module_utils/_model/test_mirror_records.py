"""Whatever is in an internal topic is read as what it is, or refused."""

import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import DamagedRecord
from ansible_collections.streamshift.kafka.plugins.module_utils._model.mirror_records import (
    Checkpoint,
    CheckpointKey,
    OffsetSync,
    read_checkpoint,
    read_offset_sync,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from tests.support.mirror_records import recorded

READERS = [read_checkpoint, read_offset_sync]
OFFSETS = st.integers(0, (1 << 63) - 1)


def test_every_recorded_checkpoint_is_read():
    records = recorded("checkpoint")
    assert len(records) > 40
    for each in records:
        group, topic, partition, source, target, metadata = each.row["decoded"]
        expected = CheckpointKey(group, TopicPartition(topic, partition)), Checkpoint(source, target, metadata)
        assert read_checkpoint(each.key, each.value) == expected, each.run


def test_every_recorded_offset_sync_is_read():
    records = recorded("offset-sync")
    assert len(records) > 250
    for each in records:
        topic, partition, source, target = each.row["decoded"]
        expected = TopicPartition(topic, partition), OffsetSync(source, target)
        assert read_offset_sync(each.key, each.value) == expected, each.run


@pytest.mark.parametrize("read", READERS)
@given(key=st.none() | st.binary(max_size=40), value=st.none() | st.binary(max_size=60))
@example(key=b"", value=b"")
@example(key=b"\x00\x01\xff\x00\x01a\x00\x00\x00\x00", value=None)  # not UTF-8
@example(key=b"\x7f\xff", value=None)  # longer than the key
@example(key=b"\xff\xff\x00\x01a\x00\x00\x00\x00", value=None)  # a length below 0
def test_anything_else_is_refused_and_nothing_else_happens(read, key, value):
    try:
        read(key, value)
    except DamagedRecord as exc:
        assert "MirrorMaker 2" in str(exc)


@given(
    st.text(max_size=20), st.text(min_size=1, max_size=20), st.integers(0, (1 << 31) - 1), OFFSETS, OFFSETS, st.text()
)
def test_what_was_written_as_a_checkpoint_is_read_and_one_byte_more_or_less_is_not(
    group, topic, partition, source, target, metadata
):
    key = _string(group) + _string(topic) + struct.pack(">i", partition)
    value = struct.pack(">hqq", 0, source, target) + _string(metadata)
    expected = CheckpointKey(group, TopicPartition(topic, partition)), Checkpoint(source, target, metadata)
    assert read_checkpoint(key, value) == expected
    assert read_checkpoint(key, None) == (expected[0], None)
    for damaged in ((key[:-1], value), (key + b"\0", value), (key, value[:-1]), (key, value + b"\0")):
        with pytest.raises(DamagedRecord):
            read_checkpoint(*damaged)


def test_a_later_version_is_refused_by_its_number():
    with pytest.raises(DamagedRecord, match="its version is 1, and this release reads version 0"):
        read_checkpoint(b"\0\x01g\0\x01t\0\0\0\0", struct.pack(">hqqh", 1, 5, 5, 0))


def _string(text: str) -> bytes:
    content = text.encode()
    return struct.pack(">h", len(content)) + content
