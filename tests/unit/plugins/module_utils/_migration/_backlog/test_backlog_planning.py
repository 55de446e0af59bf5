"""What a copy that has begun says of a source that has grown since."""

import dataclasses

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.positions import Bounds
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._backlog import planning
from ansible_collections.streamshift.kafka.plugins.module_utils._model.backlog import Backlog, BacklogRange, Done
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset
from ansible_collections.streamshift.kafka.plugins.module_utils._model.mapping import Mapping, Rule
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import OnUncommitted
from ansible_collections.streamshift.kafka.plugins.module_utils._model.snapshot import (
    Snapshot,
    SnapshotEntry,
    SnapshotGroup,
)
from tests.support.memory_brokers import ORDERS, SOURCE

SNAPSHOT = Snapshot(
    "a", (SnapshotGroup("billing", "classic"),), (SnapshotEntry("billing", ORDERS, CommittedOffset(100, "")),)
)
BEGUN = Backlog(
    "streamshift-copy-1", "a", "b", SNAPSHOT.digest(), (), (BacklogRange(ORDERS, 100, 200, ORDERS, 0, (100,)),)
)


@pytest.fixture
def known(monkeypatch):
    """What a run finds at the source, when it goes on with the copy."""
    monkeypatch.setattr(planning, "check_snapshot_cluster", lambda *_: None)
    monkeypatch.setattr(planning, "check_cluster", lambda *_: None)
    monkeypatch.setattr(planning.preconditions, "check_topics", lambda *_: None)
    monkeypatch.setattr(planning.topics, "partition_counts", lambda _cluster, names: dict.fromkeys(names, 1))
    monkeypatch.setattr(
        planning.positions, "partition_bounds", lambda _cluster, names: dict.fromkeys(names, GROWN[ORDERS])
    )


GROWN = {ORDERS: Bounds(0, 250, 250)}


def test_the_remedy_is_no_second_copy_which_would_be_refused():
    with pytest.raises(Refused, match="orders-0 has grown by 50 offsets.*would never get it") as refused:
        planning.growth(BEGUN, GROWN, SOURCE, allowed=False)
    assert "give the copy up (state: absent" in str(refused.value) and "another directory" not in str(refused.value)
    assert "Then set live to go on without these records" in str(refused.value)


def test_where_it_may_grow_it_goes_on_to_the_end_that_was_fixed():
    (note,) = planning.growth(BEGUN, GROWN, SOURCE, allowed=True)
    assert "what came later is not copied" in note.text


DONE = dataclasses.replace(BEGUN, ranges=(dataclasses.replace(BEGUN.ranges[0], done=Done(9, 9, 9, 0, 0, {100: 0})),))


class TestATopicThatHasGotPartitions:
    """Since the copy was planned; no group has committed an offset on them."""

    @pytest.fixture
    def grown(self, known, monkeypatch):
        """Goes on with a copy, of whose topic the source has three partitions now, and the copy has one."""
        monkeypatch.setattr(planning.topics, "partition_counts", lambda _cluster, names: dict.fromkeys(names, 3))

        def grown(backlog, on_uncommitted, **names):
            options = planning.CopyOptions(on_uncommitted, live=True)
            wanted = planning.entries_of(SNAPSHOT, Mapping(**names), SOURCE)
            return planning.check_known(backlog, SNAPSHOT, wanted, SOURCE, SOURCE, options)

        return grown

    @pytest.mark.parametrize(
        "backlog, on_uncommitted", [(BEGUN, OnUncommitted.IGNORE), *((DONE, each) for each in OnUncommitted)]
    )
    def test_goes_on_without_them_and_names_them(self, grown, backlog, on_uncommitted):
        wanted, bounds, (note,) = grown(backlog, on_uncommitted)
        with pytest.raises(Refused, match="orders-0 has grown by 50 offsets.*, 3 partitions altogether"):
            planning.growth(backlog, bounds, SOURCE, allowed=False)
        assert [draft.source_partition for draft in wanted] == [ORDERS]
        assert note.kind == "source_grown"
        assert note.text.startswith(
            "orders-1 was added at the source since the copy was planned (1 more new partition)"
        )

    @pytest.mark.parametrize("on_uncommitted", [OnUncommitted.START, OnUncommitted.END])
    def test_is_refused_as_grown_where_groups_are_to_be_set_there(self, grown, on_uncommitted):
        with pytest.raises(Refused, match="partition 1: the partition was added since the copy was planned") as refused:
            grown(BEGUN, on_uncommitted)
        assert "on_uncommitted to ignore" in str(refused.value) and "give the topic_map" not in str(refused.value)

    def test_another_name_of_the_topic_is_refused_as_before(self, grown):
        with pytest.raises(Refused, match="planned without orders-0 as new-0.*topic_map"):
            grown(BEGUN, OnUncommitted.IGNORE, topic_rules=(Rule(name="orders", to="new"),))
