"""What a backup has of the selected groups and topics, and what a selection is told that it does not have."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration.from_backup import from_backup
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import NotFound
from ansible_collections.streamshift.kafka.plugins.module_utils._model.selection import Selection
from tests.support.module_inputs import SNAPSHOT


@pytest.mark.parametrize(
    ("selection", "said"),
    [
        (
            Selection(groups=("biling",), topics=("order",)),
            r"has no group biling: .*mean billing\?.*; .* on topic order \(correct topics \(did you mean orders\?\)",
        ),
        (Selection(group_patterns=("x",)), "none of the groups of group_patterns: .* Correct group_patterns, or use"),
    ],
)
def test_everything_that_the_backup_does_not_have_is_told_together(selection, said):
    with pytest.raises(NotFound, match=said):
        from_backup(SNAPSHOT, "backup.json", Connection("cluster", ("127.0.0.1:1",)), selection)
