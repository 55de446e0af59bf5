"""What Replicator has stored is taken as it is, or refused with the very record named."""

import json
import typing as t

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._connect import replicator
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import NotFound, Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._records.tables import StoredRecord
from tests.support.mirror_records import FOLDER, Recorded
from tests.support.mirror_records import replicator as recorded

CLUSTER = Connection("destination cluster", ("d:1",))
GOOD = ("use", "superseded", "forgotten", "use-then-check-source", "other-connector")


def stored_record(each: Recorded) -> StoredRecord:
    where = TopicPartition(each.row["topic"], each.row["partition"])
    return StoredRecord(where, each.row["offset"], each.key, each.value)


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> t.Callable[..., replicator.Stored]:
    """``stored(records)``: what the connector replicator has stored, where the topic holds these records."""

    def read(records: t.Sequence[StoredRecord], connector: str = "replicator") -> replicator.Stored:
        last = {(record.partition, record.key): record for record in records}
        monkeypatch.setattr(replicator, "last_records", lambda *_asked, committed: list(last.values()))
        return replicator.stored_by(CLUSTER, "connect-offsets", connector)

    return read


def test_the_newest_position_of_each_partition_is_taken_and_other_connectors_are_not(stored):
    found = stored([stored_record(each) for each in recorded() if each.row["role"] in GOOD])
    expected = json.loads((FOLDER / "replicator_expected.json").read_text())["expected"]
    assert found.offsets == {TopicPartition(row["topic"], row["partition"]): row["offset"] for row in expected}


@pytest.mark.parametrize(
    "each",
    [
        each
        for each in recorded()
        if each.row["role"] not in (*GOOD, "superseded-across-partitions", "conflict") and each.row["key"]
    ],
    ids=lambda each: each.row["note"],
)
def test_a_damaged_record_is_named_until_a_tombstone_removes_it(stored, each):
    good = [stored_record(it) for it in recorded() if it.row["note"] == "plain"]
    record = stored_record(each)
    where = (
        f"destination cluster d:1, topic connect-offsets, partition {record.partition.partition}: the record at offset "
    )
    with pytest.raises(Refused, match=f"^{where}{record.offset} tells no position") as refused:
        stored([*good, record])
    assert repr((record.key or b"")[:50])[2:-1] in str(refused.value) or repr((record.value or b"")[:50])[2:-1] in str(
        refused.value
    )
    assert len(stored([*good, record._replace(value=None)]).offsets) == 1


def test_records_without_a_connector_are_counted(stored):
    strange = [stored_record(each) for each in recorded() if not each.row["key"]]
    good = [stored_record(each) for each in recorded() if each.row["note"] == "plain"]
    assert stored([*good, *(record._replace(value=b"x") for record in strange)]).unknown == len(strange) == 2


def test_two_positions_of_one_partition_are_refused_and_both_named(stored):
    both = [
        stored_record(each) for each in recorded() if each.row["role"] in ("superseded-across-partitions", "conflict")
    ]
    told = "several positions for foo-16: 100 in connect-offsets-21 at 0, 60 in connect-offsets-12 at 0"
    with pytest.raises(Refused, match=told):
        stored(both)


def test_a_connector_that_is_not_there_is_told_from_those_that_are(stored):
    with pytest.raises(NotFound, match="no position of replicatr is there: it holds those of jdbc-src, replicator"):
        stored(
            [stored_record(each) for each in recorded() if each.row["note"] in ("plain", "JDBC source connector")],
            "replicatr",
        )
