"""What a backup has of the selected groups and topics, and what a selection is told that it does not have."""

import dataclasses

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration import from_backup as backups
from ansible_collections.streamshift.kafka.plugins.module_utils._migration.from_backup import from_backup
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import InvalidInput, NotFound
from ansible_collections.streamshift.kafka.plugins.module_utils._model.selection import Selection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.snapshot import OpenTransaction
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


def test_what_was_committed_before_a_transaction_that_was_open_is_restored(monkeypatch):
    monkeypatch.setattr(backups, "check_snapshot_cluster", lambda *_given: None)
    backup = dataclasses.replace(SNAPSHOT, open=(OpenTransaction("billing", ORDERS, "transactional id till-1"),))
    taken = from_backup(backup, "backup.json", Connection("cluster", ("127.0.0.1:1",)), Selection(groups=("billing",)))
    assert taken.snapshot.open == () and taken.snapshot.entries == SNAPSHOT.entries
    (note,) = taken.notes()
    assert "billing orders-0. It has what was committed before these transactions" in note.text
