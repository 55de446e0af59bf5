"""What a copy that has begun says of a source that has grown since."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.positions import Bounds
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog import planning
from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import Backlog, BacklogRange
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.mapping import Mapping
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.snapshot import (
    Snapshot,
    SnapshotEntry,
    SnapshotGroup,
)

ORDERS = TopicPartition("orders", 0)
CLUSTER = connection_from({"bootstrap_servers": ["127.0.0.1:1"]}, "source cluster")
SNAPSHOT = Snapshot(
    "a", (SnapshotGroup("billing", "classic"),), (SnapshotEntry("billing", ORDERS, CommittedOffset(100, "")),)
)
BEGUN = Backlog(
    "streamshift-copy-1", "a", "b", SNAPSHOT.digest(), (), (BacklogRange(ORDERS, 100, 200, ORDERS, 0, (100,)),)
)


@pytest.fixture
def known(monkeypatch):
    """Goes on with the copy, whose source has 50 more offsets."""
    monkeypatch.setattr(planning, "check_snapshot_cluster", lambda *_: None)
    monkeypatch.setattr(planning, "check_cluster", lambda *_: None)
    monkeypatch.setattr(planning.preconditions, "check_topics", lambda *_: None)
    monkeypatch.setattr(planning.topics, "partition_counts", lambda _cluster, names: dict.fromkeys(names, 1))
    monkeypatch.setattr(planning.positions, "partition_bounds", lambda *_: {ORDERS: Bounds(0, 250, 250)})

    def known(**options):
        wanted = planning.entries_of(SNAPSHOT, Mapping(), CLUSTER)
        return planning.check_known(BEGUN, SNAPSHOT, wanted, CLUSTER, CLUSTER, planning.CopyOptions(**options))[1]

    return known


def test_the_remedy_is_no_second_copy_which_would_be_refused(known):
    with pytest.raises(Refused, match="orders-0 has grown by 50 offsets") as refused:
        known()
    assert "give the copy up (state: absent)" in str(refused.value) and "another directory" not in str(refused.value)


def test_with_live_it_goes_on_to_the_end_that_was_fixed(known):
    (note,) = known(live=True)
    assert "what came later is not copied" in note.text
