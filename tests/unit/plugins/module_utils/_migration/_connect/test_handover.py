"""What is stored for the new connector, when it is refused, and that it can be repeated and taken back."""

import dataclasses
import typing as t

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._connect import handover
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._connect.handover import (
    Handover,
    hand_over,
    take_back,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._connect.replicator import (
    Offsets,
    Replicator,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._connect.stores import Changes, StoredOffsets
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connect_receipt import ConnectReceipt
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import BrokerError, Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import Note, NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.replication_policy import ReplicationPolicy
from ansible_collections.streamshift.kafka.plugins.module_utils._model.selection import Selection
from tests.support.identities import known_by_id

SOURCE, DESTINATION = Connection("source", ("s:1",)), Connection("destination", ("d:1",))
FIRST, SECOND, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1), TopicPartition("parcels", 0)
LOG_START, END = 10, 100


@dataclasses.dataclass
class Stored:
    """A store in memory. breaks: whether it dies before it has written."""

    offsets: Offsets
    misplaced: tuple[tuple[TopicPartition, bytes], ...] = ()
    breaks: bool = False
    connector: str = "MirrorSourceConnector"
    source_alias: str = "src"

    def check(self) -> None:
        pass

    def read(self) -> StoredOffsets:
        return StoredOffsets(dict(self.offsets), self.misplaced)

    def write(self, changes: Changes, misplaced: t.Sequence[tuple[TopicPartition, bytes]]) -> None:
        if self.breaks:
            raise BrokerError("gone")
        self.misplaced = tuple(each for each in self.misplaced if each not in misplaced)
        self.offsets = {where: offset for where, offset in (self.offsets | changes).items() if offset is not None}


@dataclasses.dataclass
class Run:
    """Hand-overs one after the other, with one receipt."""

    store: Stored
    receipt: ConnectReceipt = dataclasses.field(
        default_factory=lambda: ConnectReceipt("D", "store", "MirrorSourceConnector", "src")
    )
    replicator: Offsets = dataclasses.field(default_factory=dict)
    saved: int = 0

    def save(self, receipt: ConnectReceipt) -> None:
        self.receipt, self.saved = receipt, self.saved + 1

    def hand_over(self, check: bool = False, **options: t.Any) -> handover.HandoverOutcome:
        task = Handover(
            SOURCE,
            DESTINATION,
            Replicator(DESTINATION, "connect-offsets", "replicator", "replicator"),
            ReplicationPolicy("src", "", "identity"),
            options.pop("selection", Selection()),
            **options,
        )
        return hand_over(task, self.store, self.receipt, None if check else self.save)

    def take_back(self) -> handover.HandoverOutcome:
        return take_back(self.store, self.receipt, Selection(), self.save)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> t.Callable[..., Run]:
    """``run(replicator, stored, misplaced)``: nothing runs, and topics have two partitions with records 10 to 99."""

    def make(
        replicator: Offsets, stored: Offsets | None = None, misplaced: tuple[tuple[TopicPartition, bytes], ...] = ()
    ) -> Run:
        made = Run(Stored(stored or {}, misplaced), replicator=replicator)
        monkeypatch.setattr(handover, "check_stopped", lambda _connection, _groups: None)
        monkeypatch.setattr(handover, "stopped_at", lambda _source, _its, _notes: dict(made.replicator))
        monkeypatch.setattr(handover.topics, "partition_counts", lambda _cluster, names: dict.fromkeys(names, 2))
        monkeypatch.setattr(
            handover.positions,
            "partition_bounds",
            lambda _cluster, places: dict.fromkeys(places, handover.positions.Bounds(LOG_START, END, END)),
        )
        return made

    return make


def test_what_is_predicted_is_done_repeated_without_a_change_and_taken_back(run):
    its = run({FIRST: 50, SECOND: 60}, {SECOND: 40, OTHER: 5})
    predicted = its.hand_over(check=True)
    assert (its.store.offsets, its.saved) == ({SECOND: 40, OTHER: 5}, 0)
    assert its.hand_over() == predicted
    assert (predicted.before, predicted.after) == ({FIRST: None, SECOND: 40}, {FIRST: 50, SECOND: 60})
    assert its.store.offsets == {FIRST: 50, SECOND: 60, OTHER: 5}
    assert its.hand_over().written == 0
    assert its.take_back().written == 2
    assert its.store.offsets == {SECOND: 40, OTHER: 5}
    assert its.take_back().written == 0


def test_a_run_that_was_killed_is_repeated_and_its_first_before_is_what_is_taken_back(run):
    its = run({FIRST: 50}, {FIRST: 40})
    its.store.breaks = True
    with pytest.raises(BrokerError):
        its.hand_over()
    assert its.saved == 1
    its.store.breaks = False
    its.hand_over()
    its.replicator[FIRST] = 70
    its.hand_over()
    assert its.store.offsets == {FIRST: 70}
    its.take_back()
    assert its.store.offsets == {FIRST: 40}


def test_who_has_gone_on_since_stays_where_it_is(run):
    its = run({FIRST: 50})
    its.hand_over()
    its.store.offsets[FIRST] = 80
    for on_rewind in ("fail", "keep", "rewind"):
        again = its.hand_over(on_rewind=on_rewind)
        assert (again.written, again.after) == (0, {FIRST: 80})
    with pytest.raises(Refused, match="orders-0 has 80, and 50 was written: it was copied since"):
        its.take_back()
    assert its.store.offsets == {FIRST: 80}


def test_who_stands_ahead_for_another_reason_is_refused_kept_or_rewound(run):
    its = run({FIRST: 50, SECOND: 60}, {FIRST: 80, SECOND: 61})
    with pytest.raises(Refused, match=r"orders-0: 80 is stored already, .* up to 50 \(2 partitions are ahead\)"):
        its.hand_over()
    assert its.hand_over(on_rewind="keep").written == 0
    assert its.hand_over(on_rewind="rewind").written == 2
    assert its.store.offsets == {FIRST: 50, SECOND: 60}


def test_what_was_taken_back_is_no_reason_to_stay_ahead(run):
    its = run({FIRST: 50})
    its.hand_over()
    its.take_back()
    its.store.offsets[FIRST] = 80
    with pytest.raises(Refused, match="80 is stored already"):
        its.hand_over()


@pytest.mark.parametrize(
    ("offset", "told"),
    [(LOG_START - 2, "records from 9 to 9 have expired"), (END, "position 100 is after the source's last offset 99")],
)
def test_a_position_outside_of_the_log_is_refused_and_its_edges_are_not(run, offset, told):
    its = run({FIRST: offset})
    with pytest.raises(Refused, match=told):
        its.hand_over()
    assert its.saved == 0
    assert run({FIRST: LOG_START - 1, SECOND: END - 1}).hand_over().written == 2


def test_a_position_that_is_stored_already_may_have_expired_since(run):
    assert run({FIRST: 3}, {FIRST: 3}).hand_over().written == 0


def test_everything_that_cannot_be_continued_is_named(run):
    with pytest.raises(Refused, match="2 positions cannot be continued: orders-7 does not exist.*; parcels-0: "):
        run({TopicPartition("orders", 7): 20, OTHER: 0, FIRST: 20}).hand_over()


def test_keys_that_mislead_are_refused_or_removed(run):
    misplaced = ((TopicPartition("mm2-offsets.src.internal", 3), b"key"),)
    its = run({FIRST: 50}, {FIRST: 50}, misplaced)
    with pytest.raises(Refused, match="Connect cannot use 1 key of the connector"):
        its.hand_over()
    predicted = its.hand_over(check=True, on_misplaced="remove")
    assert predicted.misplaced == its.store.misplaced == misplaced
    assert its.hand_over(on_misplaced="remove") == predicted
    assert its.store.misplaced == ()


def test_only_selected_topics_are_handed_over(run):
    heartbeats = TopicPartition("heartbeats", 0)
    its = run({FIRST: 50, OTHER: 50, heartbeats: 50})
    done = its.hand_over(selection=Selection(topics=("orders",)))
    assert set(done.after) == {FIRST}
    done = its.hand_over()
    assert set(done.after) == {FIRST, OTHER}
    said = "Left out by exclude_topic_patterns: heartbeats (called like MirrorMaker 2's). To take them, name them in topics."
    assert done.notes[0] == Note(NoteKind.EXCLUDED, said)


def test_a_receipt_of_another_store_is_refused(run, monkeypatch):
    monkeypatch.setattr(handover.topics, "cluster_id", lambda _cluster: "D")
    known_by_id(monkeypatch, lambda _cluster: "D")
    store = Stored({})
    blank = handover.receipt_of(store, DESTINATION, None)
    assert handover.receipt_of(store, DESTINATION, blank) == blank
    with pytest.raises(Refused, match="the receipt is of MirrorSourceConnector"):
        handover.receipt_of(store, DESTINATION, dataclasses.replace(blank, source_alias="primary"))


def test_partitions_without_a_position_are_named(run):
    its = run({FIRST: 50, OTHER: 50, TopicPartition("parcels", 1): 50})
    (note,) = its.hand_over().notes
    assert note.kind is NoteKind.POSITION_MISSING and note.text.startswith("No position is known of orders-1: ")
