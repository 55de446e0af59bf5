"""What Replicator has stored is taken as it is, or refused with the very record named."""

import json
import typing as t
from unittest import mock

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration import compacted
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._connect import replicator, stores
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import NotFound, Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.group_state import CommittedOffset, GroupReading
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import Note, NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._records.tables import StoredRecord
from tests.support.mirror_records import FOLDER, Recorded
from tests.support.mirror_records import replicator as recorded

CLUSTER = Connection("destination cluster", ("d:1",))
ORDERS, PAY = TopicPartition("orders", 0), TopicPartition("pay", 0)
GOOD = ("use", "superseded", "forgotten", "use-then-check-source", "other-connector")


def stored_record(each: Recorded) -> StoredRecord:
    where = TopicPartition(each.row["topic"], each.row["partition"])
    return StoredRecord(where, each.row["offset"], each.key, each.value)


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> t.Callable[..., tuple[replicator.Offsets, int]]:
    """``stored(records)``: what the connector replicator has stored, where the topic holds these records."""

    def read(records: t.Sequence[StoredRecord], connector: str = "replicator") -> tuple[replicator.Offsets, int]:
        last = {(record.partition, record.key): record for record in records}
        monkeypatch.setattr(replicator, "last_records", lambda *_asked, committed, remedy: list(last.values()))
        return replicator.stored_by(CLUSTER, "connect-offsets", connector)

    return read


def test_the_newest_position_of_each_partition_is_taken_and_other_connectors_are_not(stored):
    found = stored([stored_record(each) for each in recorded() if each.row["role"] in GOOD])
    expected = json.loads((FOLDER / "replicator_expected.json").read_text())["expected"]
    assert found[0] == {TopicPartition(row["topic"], row["partition"]): row["offset"] for row in expected}


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
    assert len(stored([*good, record._replace(value=None)])[0]) == 1


def test_records_without_a_connector_are_counted(stored):
    strange = [stored_record(each) for each in recorded() if not each.row["key"]]
    good = [stored_record(each) for each in recorded() if each.row["note"] == "plain"]
    assert stored([*good, *(record._replace(value=b"x") for record in strange)])[1] == len(strange) == 2


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


def test_a_topic_that_does_not_exist_is_told_with_the_option_that_names_it(monkeypatch):
    monkeypatch.setattr(compacted.topics, "partition_counts", lambda *_asked: {})
    told = (
        "topic connect-offsets: the topic does not exist. Set replicator.offsets_topic to the topic in which .* store"
    )
    with pytest.raises(NotFound, match=told):
        replicator.stored_by(CLUSTER, "connect-offsets", "replicator")


def test_a_position_that_an_open_transaction_hides_is_refused_and_those_of_others_are_not(monkeypatch):
    """A consumer that reads what is committed would see an older position, and the records since then would be recopied."""
    record = next(stored_record(each) for each in recorded() if each.row["note"] == "plain")
    other = next(stored_record(each) for each in recorded() if each.row["role"] == "other-connector")
    later = record._replace(offset=record.offset + 9, value=b'{"offset":99999}')
    seen = {True: [record], False: [record, other]}
    monkeypatch.setattr(replicator, "last_records", lambda *_asked, committed, remedy: seen[committed])
    assert len(replicator.stored_by(CLUSTER, "connect-offsets", "replicator")[0]) == 1
    seen[False] = [later]
    # To wait never cures what an aborted transaction has left.
    remedy = "Wait until .*, and run again; or start and stop Replicator once, .*position: group"
    with pytest.raises(Refused, match=f"connect-offsets: aborted or open transactions .* {remedy}"):
        replicator.stored_by(CLUSTER, "connect-offsets", "replicator")


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch) -> t.Callable[..., tuple[replicator.Offsets, list[Note]]]:
    """``stopped(stored, group, selected)``: the positions of a replicator with these, and the notes."""

    def compare(
        stored: replicator.Offsets,
        group: replicator.Offsets,
        selected: t.Collection[TopicPartition] = (ORDERS, PAY),
        position: str = "agree",
        protocol_type: str = "",
    ) -> tuple[replicator.Offsets, list[Note]]:
        monkeypatch.setattr(replicator, "may_run", lambda *_whom: (Note(NoteKind.CONNECTOR_MAY_RUN, "look"),))
        monkeypatch.setattr(replicator, "stored_by", lambda *_asked: (stored, 0))
        commits = {partition: CommittedOffset(last + 1) for partition, last in group.items()}
        reading = GroupReading("replicator", True, "Empty", "classic", protocol_type, commits)
        monkeypatch.setattr(replicator.groups, "read_settled_groups", lambda *_asked: {"replicator": reading})
        notes: list[Note] = []
        its = replicator.Replicator(CLUSTER, "connect-offsets", "replicator", "replicator", position)
        told = replicator.read_positions(CLUSTER, its, notes)
        notes += told.compared(CLUSTER, its, selected)
        return told.known, notes

    return compare


@pytest.mark.parametrize(("stored", "told"), [({ORDERS: 5}, "none"), ({ORDERS: 5, PAY: 98}, "98")])
def test_what_the_group_has_consumed_must_be_stored_of_the_selected_topics(stopped, stored, told):
    group = {ORDERS: 5, PAY: 99}
    with pytest.raises(
        Refused, match=f"pay-0: the last record that was copied is {told} by connect-offsets, and 99 by"
    ):
        stopped(stored, group)
    assert stopped(stored, group, (ORDERS,))[0] == stored
    assert stopped(stored, group, position="stored")[0] == stored


def test_a_stored_position_is_noted_that_the_group_has_committed_nothing_for(stopped):
    offsets, notes = stopped({ORDERS: 5, PAY: 9}, {ORDERS: 5})
    assert offsets == {ORDERS: 5, PAY: 9}
    assert [note.kind for note in notes] == [NoteKind.CONNECTOR_MAY_RUN, NoteKind.NOT_COMPARED]
    assert notes[1].text.startswith("Group replicator has committed nothing on pay-0, so")


@pytest.mark.parametrize(("protocol_type", "is_told"), [("", True), ("consumer", False)])
def test_a_replicator_that_runs_is_told_whose_group_has_no_members_either_way(stopped, protocol_type, is_told):
    """MirrorMaker 1's consumers are members, and Connect's workers are no matter of theirs."""
    offsets, notes = stopped({}, {ORDERS: 5}, position="group", protocol_type=protocol_type)
    assert offsets == {ORDERS: 5}
    assert [note.kind for note in notes] == [NoteKind.CONNECTOR_MAY_RUN] * is_told


def test_a_group_that_the_user_may_not_describe_does_not_end_a_hand_over(monkeypatch):
    listed = [mock.Mock(group=name, protocol_type="connect") for name in ("denied", "running", "stopped")]
    # Surely: while a coordinator moves, one list leaves out its groups.
    monkeypatch.setattr(stores.groups, "list_groups", lambda _connection, surely=True: listed if surely else [])

    def read_groups(_connection, _names, skip_denied=False):
        assert skip_denied
        return {name: mock.Mock(has_members=name == "running") for name in ("running", "stopped")}

    monkeypatch.setattr(stores.groups, "read_groups", read_groups)
    (note,) = stores.may_run(CLUSTER, "mirror")
    assert note.text == "Connect runs on destination cluster d:1 (running): see that mirror is stopped there."
