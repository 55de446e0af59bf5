"""What a backup has of the selected groups and topics, and what a selection is told that it does not have."""

import dataclasses

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration import drafts
from ansible_collections.streamshift.kafka.plugins.module_utils._migration import from_backup as backups
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.from_backup import from_backup
from ansible_collections.streamshift.kafka.plugins.module_utils._model.cluster_identity import NO_TRAITS, Traits
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidInput, NotFound
from ansible_collections.streamshift.kafka.plugins.module_utils._model.mapping import Mapping
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import OnUncommitted
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.selection import Selection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.snapshot import OpenTransaction, SnapshotGroup
from ansible_collections.streamshift.kafka.plugins.module_utils._model.verdicts import Reason, Verdict
from tests.support.module_inputs import ORDERS, SNAPSHOT


@pytest.mark.parametrize(
    ("selection", "error", "said"),
    [
        (
            Selection(groups=("biling",), topics=("order",)),
            NotFound,
            r"group biling is not in backup.json: .*mean billing\?.*; topic order is not in .*mean orders\?\), or use another",
        ),
        (
            Selection(group_patterns=("x",)),
            InvalidInput,
            r"no group in backup.json is matched by group_patterns \['x'\]: .*there is only billing. .*, or use another backup",
        ),
        (
            Selection(groups=("billing",), topic_patterns=("order",)),
            InvalidInput,
            r"no topic among .* in backup.json is matched by topic_patterns \['order'\]: .* orders\.\* .*there is only orders",
        ),
    ],
)
def test_everything_that_the_backup_does_not_have_is_told_together(selection, error, said):
    with pytest.raises(error, match=said):
        from_backup(SNAPSHOT, "backup.json", Connection("cluster", ("127.0.0.1:1",)), selection)


IDENTIFIED = dataclasses.replace(SNAPSHOT, traits=Traits(topic_ids={ORDERS.topic: "one"}))


@pytest.mark.parametrize("traits", [NO_TRAITS, Traits(topic_ids={ORDERS.topic: None})], ids=["CSV", "old brokers"])
def test_topics_of_which_the_backup_has_no_id_are_named(monkeypatch, traits):
    monkeypatch.setattr(backups, "check_snapshot_cluster", lambda *_given: None)
    given = Connection("cluster", ("127.0.0.1:1",)), Selection(groups=("billing",))
    (note,) = from_backup(dataclasses.replace(SNAPSHOT, traits=traits), "b.csv", *given).notes()
    assert (
        note.kind is NoteKind.NOT_TOLD and "b.csv has no id of these topics" in note.text and " orders. " in note.text
    )
    assert from_backup(IDENTIFIED, "b.json", *given).notes() == []


def test_a_group_that_had_committed_nothing_is_refused_or_told(monkeypatch):
    monkeypatch.setattr(backups, "check_snapshot_cluster", lambda *_given: None)
    backup = dataclasses.replace(IDENTIFIED, groups=(*IDENTIFIED.groups, SnapshotGroup("new", "classic")))
    cluster = Connection("cluster", ("127.0.0.1:1",))
    for groups in (("new",), ("billing", "new")):
        with pytest.raises(
            NotFound, match=r"group new had committed nothing when the backup was made: .*Use an earlier"
        ):
            from_backup(backup, "backup.json", cluster, Selection(groups=groups))
    taken = from_backup(backup, "backup.json", cluster, Selection(group_patterns=(".*",)))
    assert taken.snapshot.left_out == ("new: it has no committed offsets",)
    opened = dataclasses.replace(backup, open=(OpenTransaction("new", ORDERS, "transactional id till-1"),))
    assert from_backup(opened, "backup.json", cluster, Selection(groups=("new",))).snapshot.left_out == ()


def test_what_was_committed_before_a_transaction_that_was_open_is_restored(monkeypatch):
    monkeypatch.setattr(backups, "check_snapshot_cluster", lambda *_given: None)
    backup = dataclasses.replace(IDENTIFIED, open=(OpenTransaction("billing", ORDERS, "transactional id till-1"),))
    taken = from_backup(backup, "backup.json", Connection("cluster", ("127.0.0.1:1",)), Selection(groups=("billing",)))
    assert taken.snapshot.open == () and taken.snapshot.entries == SNAPSHOT.entries
    (note,) = taken.notes()
    assert "billing orders-0. It has what was committed before" in note.text


def test_a_partition_whose_first_commit_was_in_a_transaction_never_goes_to_the_end(monkeypatch):
    """The transaction may have committed since the backup, and records after it are unconsumed."""
    monkeypatch.setattr(backups, "check_snapshot_cluster", lambda *_given: None)
    first = TopicPartition(ORDERS.topic, 7)
    backup = dataclasses.replace(
        IDENTIFIED, open=tuple(OpenTransaction("billing", each, "transactional id till-1") for each in (ORDERS, first))
    )
    taken = from_backup(backup, "backup.json", Connection("cluster", ("127.0.0.1:1",)), Selection(groups=("billing",)))
    again, blocked = taken.notes()
    assert "billing orders-0. It has what was committed before" in again.text
    assert "billing orders-7. It has nothing from before" in blocked.text and "blocks these partitions" in blocked.text
    wanted = drafts.with_uncommitted(drafts.from_snapshot(taken.snapshot, Mapping()), {ORDERS.topic: 8})
    ends = [draft.uncommitted(OnUncommitted.END, 0, 1000, "no commit") for draft in wanted if draft.committed is None]
    made = {entry.partition: entry for entry in drafts.without_open(ends, taken.snapshot, Mapping())}
    assert made[first].reason is Reason.OPEN_TRANSACTION and made[first].offset is None
    assert "wait" not in made[first].detail and "use another backup" in made[first].detail
    assert all(entry.verdict is Verdict.REQUESTED for partition, entry in made.items() if partition != first)
