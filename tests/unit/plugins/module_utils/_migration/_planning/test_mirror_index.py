"""Which differences of offsets MirrorMaker 2's notes suggest for a committed offset, and what is read of them."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning import mirror_index
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._planning.mirror_index import MirrorIndex
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.mirror_records import (
    Checkpoint,
    CheckpointKey,
    OffsetSync,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.replication_policy import ReplicationPolicy
from ansible_collections.streamshift.kafka.plugins.module_utils._records.tables import StoredRecord
from tests.support.mirror_records import checkpoint, offset_sync

HERE, THERE = TopicPartition("orders", 0), TopicPartition("src.orders", 0)
INDEX = MirrorIndex(
    {HERE: [OffsetSync(at, at - shift) for at, shift in ((100, 10), (200, 20), (300, 30), (400, 40), (500, 50))]},
    {THERE: [Checkpoint(250, 243, ""), Checkpoint(700, 622, "")]},
)


def test_the_nearest_come_first_and_syncs_before_checkpoints():
    assert INDEX.shifts(320, HERE, THERE) == (30, 20, 40, 50, 7, 78)
    assert INDEX.shifts(300, HERE, THERE)[0] == 30
    assert INDEX.shifts(50, HERE, THERE)[:2] == (10, 20)


def test_what_is_not_noted_suggests_nothing():
    assert INDEX.shifts(320, HERE._replace(partition=1), THERE._replace(partition=1)) == ()


def test_equal_differences_are_tried_once():
    index = MirrorIndex({HERE: [OffsetSync(at, at - 5) for at in range(0, 1000, 100)]}, {THERE: [Checkpoint(9, 4, "")]})
    assert index.shifts(450, HERE, THERE) == (5,)


SOURCE, TARGET = Connection("source", ("s:1",)), Connection("target", ("t:1",))
POLICY = ReplicationPolicy("src", "", "identity")
SYNCS, CHECKPOINTS = POLICY.offset_syncs.name, POLICY.checkpoints.name


@pytest.fixture
def topics(monkeypatch):
    """What the internal topics hold: lists of messages by topic. Their cleanup.policy is not asked for."""
    held = {}

    def records(_connection, topic, committed):
        assert committed
        return [
            StoredRecord(TopicPartition(topic, 0), offset, message.key, message.value)
            for offset, message in enumerate(held[topic])
        ]

    monkeypatch.setattr(
        mirror_index.topics, "partition_counts", lambda _at, names: dict.fromkeys(held.keys() & names, 1)
    )
    monkeypatch.setattr(mirror_index, "all_records", records)
    return held


def test_hints_that_cannot_be_read_are_named_and_the_others_used(topics):
    """They are only hints: the offsets of all groups are found by the records all the same."""
    good, known = offset_sync("orders", 0, 9, 4), checkpoint("billing", "orders", 0, 9, 4)
    topics |= {SYNCS: [good, good._replace(value=good.value[:-1])], CHECKPOINTS: [known, known._replace(key=b"?")]}
    index = mirror_index.read_index(SOURCE, TARGET, POLICY)
    assert (index.syncs, index.checkpoints) == ({HERE: [OffsetSync(9, 4)]}, {HERE: [Checkpoint(9, 4, "")]})
    assert [note.kind for note in index.notes] == [NoteKind.OFFSET_SYNCS_MISSING, NoteKind.CHECKPOINT_MISSING]
    assert index.notes[0].text == (
        f"source s:1: 1 record of {SYNCS} cannot be read, and what they hold counts as missing: "
        f"{SYNCS}-0 at offset 1: this is no offset-sync of MirrorMaker 2, because it ends too early."
    )


def test_an_older_checkpoint_does_not_count_where_the_last_one_cannot_be_read(topics):
    """The group may have been moved back since, and would skip records."""
    topics[CHECKPOINTS] = [
        checkpoint("billing", "orders", 0, 9, 4),
        checkpoint("fraud", "orders", 0, 8, 3),
        checkpoint("billing", "orders", 0, 5, 1, version=1),
    ]
    notes = []
    found = mirror_index.read_checkpoints(TARGET, CHECKPOINTS, notes)
    assert found == {CheckpointKey("fraud", HERE): Checkpoint(8, 3, "")}
    (note,) = notes
    assert "at offset 2: this is no checkpoint of MirrorMaker 2, because its version is 1" in note.text


def test_a_checkpoint_that_cannot_be_read_is_no_matter_once_a_later_one_has_replaced_it(topics):
    """Compaction takes it sooner or later, and nothing is missing."""
    broken, good = (checkpoint("billing", "orders", 0, 9, 4, version=version) for version in (1, 0))
    notes = []
    for last in (good, good._replace(value=None)):
        topics[CHECKPOINTS] = [broken, last]
        mirror_index.read_checkpoints(TARGET, CHECKPOINTS, notes)
    assert notes == []
    keyless = good._replace(key=b"")
    topics[CHECKPOINTS] = [broken, keyless, keyless, broken, good]
    mirror_index.read_checkpoints(TARGET, CHECKPOINTS, notes)
    (note,) = notes
    assert f"2 records of {CHECKPOINTS} cannot be read" in note.text and "at offset 2: " in note.text


def test_what_brokers_do_not_tell_of_a_checkpoints_topic_is_not_told_as_a_fact(monkeypatch):
    monkeypatch.setattr(mirror_index, "cleanup_policy", lambda _cluster, _topic: None)
    (note,) = mirror_index.forgetful(TARGET, CHECKPOINTS)
    assert note.text == (
        f"target t:1: the brokers do not tell the cleanup.policy of {CHECKPOINTS}. Unless it is compact, groups may lack "
        "checkpoints."
    )
