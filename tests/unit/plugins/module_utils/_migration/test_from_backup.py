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

IDENTIFIED = dataclasses.replace(SNAPSHOT, traits=Traits(topic_ids={ORDERS.topic: "one"}))


@pytest.fixture(autouse=True)
def _the_cluster_is_that_of_the_backup(monkeypatch):
    monkeypatch.setattr(backups, "check_snapshot_cluster", lambda *_given: None)


def take(backup=IDENTIFIED, groups=("billing",), **selection):
    return from_backup(backup, "backup.json", Connection("cluster", ("127.0.0.1:1",)), Selection(groups, **selection))


def opened(group, *partitions, backup=IDENTIFIED):
    """The backup was made while these transactions were open."""
    its = tuple(OpenTransaction(group, each, "transactional id till-1") for each in partitions)
    return dataclasses.replace(backup, open=its)


@pytest.mark.parametrize(
    ("selection", "error", "said"),
    [
        (
            {"groups": ("biling",), "topics": ("order",)},
            NotFound,
            r"group biling is not in backup.json: .*mean billing\?.*; topic order is not in .*mean orders\?\), or use another",
        ),
        (
            {"groups": (), "group_patterns": ("x",)},
            InvalidInput,
            r"no group in backup.json is matched by group_patterns \['x'\]: .*there is only billing. .*, or use another backup",
        ),
        (
            {"topic_patterns": ("order",)},
            InvalidInput,
            r"no topic among .* in backup.json is matched by topic_patterns \['order'\]: .* orders\.\* .*there is only orders",
        ),
    ],
)
def test_everything_that_the_backup_does_not_have_is_told_together(selection, error, said):
    with pytest.raises(error, match=said):
        take(**selection)


@pytest.mark.parametrize("traits", [NO_TRAITS, Traits(topic_ids={ORDERS.topic: None})], ids=["CSV", "old brokers"])
def test_topics_of_which_the_backup_has_no_id_are_named(traits):
    (note,) = take(dataclasses.replace(SNAPSHOT, traits=traits)).notes()
    assert note.kind is NoteKind.NOT_TOLD
    assert "backup.json has no id of these topics" in note.text and " orders. " in note.text
    assert take().notes() == []


def test_a_group_that_had_committed_nothing_is_refused_or_told():
    backup = dataclasses.replace(IDENTIFIED, groups=(*IDENTIFIED.groups, SnapshotGroup("new", "classic")))
    for groups in (("new",), ("billing", "new")):
        with pytest.raises(
            NotFound, match=r"group new had committed nothing when the backup was made: .*Use an earlier"
        ):
            take(backup, groups)
    assert take(backup, (), group_patterns=(".*",)).snapshot.left_out == ("new: it has no committed offsets",)
    assert take(opened("new", ORDERS, backup=backup), ("new",)).snapshot.left_out == ()


def test_a_partition_whose_first_commit_was_in_a_transaction_never_goes_to_the_end():
    """The transaction may have committed since the backup, and records after it are unconsumed."""
    first = TopicPartition(ORDERS.topic, 7)
    taken = take(opened("billing", ORDERS, first))
    assert [each.partition for each in taken.snapshot.open] == [first] and taken.snapshot.entries == SNAPSHOT.entries
    again, blocked = taken.notes()
    assert "billing orders-0. It has what was committed before" in again.text
    assert "billing orders-7. It has nothing from before" in blocked.text and "blocks these partitions" in blocked.text
    wanted = drafts.with_uncommitted(drafts.from_snapshot(taken.snapshot, Mapping()), {ORDERS.topic: 8})
    ends = [draft.uncommitted(OnUncommitted.END, 0, 1000, "no commit") for draft in wanted if draft.committed is None]
    made = {entry.partition: entry for entry in drafts.without_open(ends, taken.snapshot, Mapping())}
    assert made[first].reason is Reason.OPEN_TRANSACTION and made[first].offset is None
    assert "wait" not in made[first].detail and "use another backup" in made[first].detail
    assert all(entry.verdict is Verdict.REQUESTED for partition, entry in made.items() if partition != first)
