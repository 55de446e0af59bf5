"""Groups are asked about open transactions only where brokers do not tell them unasked."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._committing import writing
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset, GroupReading
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition

CLOUD = Connection("destination cluster", ("broker:9092",))
ORDERS, CLICKS, NEW = (TopicPartition(topic, 0) for topic in ("orders", "clicks", "new"))


@pytest.fixture
def asked(monkeypatch):
    """The group billing has committed for orders alone. What it was asked for besides, in each reading."""
    its = []

    def read_groups(_connection, names, beside=None):
        its.append({group: sorted(partitions) for group, partitions in (beside or {}).items()})
        return {name: GroupReading(name, True, "Empty", "", "", {ORDERS: CommittedOffset(5)}) for name in names}

    monkeypatch.setattr(writing.groups, "read_groups", read_groups)
    return its


@pytest.mark.parametrize(
    ("expected", "readings"),
    [
        pytest.param({ORDERS: CommittedOffset(3)}, [{}], id="something is committed"),
        pytest.param(
            {ORDERS: CommittedOffset(3), CLICKS: None}, [{"billing": [CLICKS]}], id="nothing is thought to be"
        ),
        pytest.param({CLICKS: CommittedOffset(3)}, [{}, {"billing": [CLICKS]}], id="it has vanished"),
        pytest.param(
            {CLICKS: CommittedOffset(3), NEW: None},
            [{"billing": [NEW]}, {"billing": [CLICKS, NEW]}],
            id="the second reading, which counts, has both",
        ),
    ],
)
def test_transactions_are_asked_about_where_nothing_is_committed(asked, expected, readings):
    wanted = {("billing", partition): target for partition, target in expected.items()}
    found = writing.read_named_groups(CLOUD, {"billing"}, wanted)
    assert asked == readings and found["billing"].offsets[ORDERS] == CommittedOffset(5)
    assert writing.read_named_groups(CLOUD, ()) == {}
