"""What is stored for the new connector, when it is refused, and that it can be repeated and taken back."""

import contextlib
import dataclasses
import typing as t
from unittest import mock

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._connect import handover
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._connect.handover import (
    Handover,
    hand_over,
    take_back,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._connect.replicator import (
    LastCopied,
    Offsets,
    Replicator,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._connect.stores import Changes, StoredOffsets
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connect_receipt import (
    ConnectEntry,
    ConnectReceipt,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import Connection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import (
    BrokerError,
    GroupBusy,
    InvalidInput,
    NotAuthorized,
    NotFound,
    Refused,
)
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import Note, NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import OnMisplaced
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
    may_not_remove: bool = False
    connector: str = "MirrorSourceConnector"
    source_alias: str = "src"

    def check(self) -> tuple[Note, ...]:
        return ()

    def read(self) -> StoredOffsets:
        return StoredOffsets(dict(self.offsets), self.misplaced)

    def die(self, *_given: object) -> None:
        raise BrokerError("gone")

    @contextlib.contextmanager
    def broken(self) -> t.Iterator[None]:
        """What the block does dies before its write."""
        self.breaks = True
        with pytest.raises(BrokerError):
            yield
        self.breaks = False

    def check_removal(self, misplaced: t.Sequence[tuple[TopicPartition, bytes]]) -> None:
        assert misplaced
        if self.may_not_remove:
            raise NotAuthorized("needs ACL TOPIC DELETE on mm2-offsets.src.internal")

    def write(self, changes: Changes, misplaced: t.Sequence[tuple[TopicPartition, bytes]]) -> None:
        if self.breaks:
            self.die()
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
    of_group: Offsets = dataclasses.field(default_factory=dict)
    saved: int = 0

    def save(self, receipt: ConnectReceipt) -> None:
        self.receipt, self.saved = receipt, self.saved + 1

    def hands_over(self, position: int) -> None:
        """Replicator has come to this position of the first partition."""
        self.replicator[FIRST] = position
        self.hand_over()

    def dies(self, position: int) -> None:
        """The same, killed before its write."""
        with self.store.broken():
            self.hands_over(position)

    def stores(self, offset: int) -> None:
        """The connector, or somebody else."""
        self.store.offsets[FIRST] = offset

    def hand_over(self, check: bool = False, **options: t.Any) -> handover.HandoverOutcome:
        task = Handover(
            SOURCE,
            DESTINATION,
            Replicator(DESTINATION, "connect-offsets", "replicator", "replicator"),
            ReplicationPolicy("src", "", options.pop("policy", "identity")),
            options.pop("selection", Selection()),
            **options,
        )
        return hand_over(task, self.store, self.receipt, None if check else self.save)

    def take_back(
        self,
        check: bool = False,
        on_misplaced: OnMisplaced = OnMisplaced.FAIL,
        selection: Selection = Selection(),  # noqa: B008
        save: t.Callable[[ConnectReceipt], None] | None = None,
    ) -> handover.HandoverOutcome:
        return take_back(self.store, self.receipt, selection, on_misplaced, None if check else save or self.save)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> t.Callable[..., Run]:
    """``run(replicator, stored, misplaced)``: nothing runs, and topics have two partitions with records 10 to 99."""

    def make(
        replicator: Offsets, stored: Offsets | None = None, misplaced: tuple[tuple[TopicPartition, bytes], ...] = ()
    ) -> Run:
        made = Run(Stored(stored or {}, misplaced), replicator=replicator)
        monkeypatch.setattr(handover, "check_stopped", lambda _connection, _groups: None)
        monkeypatch.setattr(handover.time, "sleep", lambda _seconds: None)
        monkeypatch.setattr(
            handover,
            "read_positions",
            lambda *_asked: LastCopied(dict(made.replicator), made.of_group or made.replicator),
        )
        monkeypatch.setattr(handover.topics, "partition_counts", lambda _cluster, names: dict.fromkeys(names, 2))
        monkeypatch.setattr(
            handover.positions,
            "partition_bounds",
            lambda _cluster, places: dict.fromkeys(places, handover.positions.Bounds(LOG_START, END - 5, END)),
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


@pytest.mark.parametrize(
    ("stored", "story", "restored"),
    [
        pytest.param(40, lambda its: (its.dies(50), its.hands_over(50), its.hands_over(70)), 40, id="killed, and repeated"),
        pytest.param(
            40, lambda its: (its.hands_over(50), its.take_back(), its.stores(30), its.hands_over(50)), 30,
            id="handed over anew",
        ),
        pytest.param(20, lambda its: (its.dies(50), its.stores(30), its.hands_over(50)), 30, id="stored after a killed run"),
        pytest.param(20, lambda its: (its.hands_over(50), its.dies(60), its.hands_over(70)), 20, id="killed between two"),
    ],
)  # fmt: skip
def test_what_was_stored_before_the_first_hand_over_is_what_is_taken_back(run, stored, story, restored):
    its = run({}, {FIRST: stored})
    story(its)
    assert its.store.offsets == its.replicator
    its.take_back()
    assert its.store.offsets == {FIRST: restored}


@pytest.mark.parametrize("stored", [None, 40])
def test_who_goes_on_after_it_was_taken_back_stays_where_it_is(run, stored):
    its = run({FIRST: 50, SECOND: 60}, {} if stored is None else {FIRST: stored})
    its.hand_over()
    its.take_back()
    its.store.offsets[FIRST] = 70
    again = its.take_back()
    assert (again.written, again.after) == (0, {FIRST: 70, SECOND: None})
    assert its.store.offsets == {FIRST: 70}


def test_a_rollback_that_was_killed_before_it_was_saved_is_saved_by_the_next_one(run):
    its = run({FIRST: 50}, {FIRST: 40})
    its.hand_over()
    with pytest.raises(KeyboardInterrupt):
        its.take_back(save=mock.Mock(side_effect=[None, KeyboardInterrupt]))
    assert its.store.offsets == {FIRST: 40}
    assert its.take_back().written == 0
    assert its.receipt.entries == (ConnectEntry(FIRST, 40, None, 40),)
    its.store.offsets[FIRST] = 70  # the connector's own from now on
    assert its.take_back().after == {FIRST: 70}


PINGS = TopicPartition("heartbeats", 0)


@pytest.fixture
def handed_over():
    """Offsets of two topics were handed over, also of one that is left out where nobody names it."""
    entries = (ConnectEntry(PINGS, 3, 7, 7), ConnectEntry(FIRST, 4, 9, 9))
    receipt = ConnectReceipt("D", "store", "MirrorSourceConnector", "src", entries)
    return Run(Stored({FIRST: 9, PINGS: 7}), receipt)


@pytest.mark.parametrize(
    ("selection", "restored"),
    [
        (Selection(), {FIRST: 4, PINGS: 3}),
        (Selection(topics=("orders",)), {FIRST: 4}),
        (Selection(topics=("heartbeats",)), {PINGS: 3}),
        (Selection(topic_patterns=("ord.*",)), {FIRST: 4}),
        (Selection(exclude_topic_patterns=("hear.*",)), {FIRST: 4}),
    ],
    ids=str,
)
def test_only_the_selected_topics_are_restored(handed_over, selection, restored):
    outcome = handed_over.take_back(selection=selection)
    assert (outcome.after, outcome.written) == (restored, len(restored))
    assert handed_over.store.offsets == {FIRST: 9, PINGS: 7, **restored}
    written = {its.partition: its.written for its in handed_over.receipt.entries}
    assert written == {FIRST: 9, PINGS: 7, **dict.fromkeys(restored)}


@pytest.mark.parametrize(
    ("selection", "error", "why"),
    [
        ({"topics": ("order",)}, NotFound, r"topic order is not in the receipt: there .*did you mean orders\?"),
        ({"topic_patterns": ("order",)}, InvalidInput, r"no topic in the receipt is matched by topic_patterns \['order'\]"),
        (
            {"exclude_topic_patterns": ("ord.*", ".*beats")}, InvalidInput,
            "no topic in the receipt is selected: Left out by exclude_t",
        ),
    ],
)  # fmt: skip
def test_a_rollback_of_nothing_is_refused(handed_over, selection, error, why):
    with pytest.raises(error, match=why) as refused:
        handed_over.take_back(selection=Selection(**selection))
    assert refused.value.kind == ("not_found" if error is NotFound else "nothing_selected")
    assert handed_over.saved == 0


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


@pytest.mark.parametrize("back", [False, True])
def test_what_was_stored_before_is_not_taken_for_progress_after_a_run_that_was_killed(run, monkeypatch, back):
    its = run({FIRST: 50}, {FIRST: 70})
    if back:
        its.hand_over(on_rewind="rewind")
        with monkeypatch.context() as patch, pytest.raises(BrokerError):
            patch.setattr(handover, "check_read_back", its.store.die)
            its.take_back()
    else:
        with its.store.broken():
            its.hand_over(on_rewind="rewind")
    assert its.store.offsets == {FIRST: 70}
    with pytest.raises(Refused, match="orders-0: 70 is stored already"):
        its.hand_over(on_rewind="fail")
    its.hand_over(on_rewind="rewind")
    assert its.store.offsets == {FIRST: 50}
    its.store.offsets[FIRST] = 70  # the connector has copied as far
    assert its.hand_over(on_rewind="fail").written == 0


@pytest.mark.parametrize("since", [50, 70])
def test_a_second_hand_over_that_was_killed_before_its_write_takes_nothing_for_progress_either(run, since):
    its = run({}, {FIRST: 40})
    its.hands_over(50)
    its.stores(since)
    its.replicator[FIRST] = 60
    with its.store.broken():
        its.hand_over(on_rewind="rewind")
    if since == 50:  # as the first hand-over has left it: it can be rolled back, also after a rollback that was killed
        with its.store.broken():
            its.take_back()
        assert its.take_back().after == {FIRST: 40}
        return
    with pytest.raises(Refused, match="orders-0: 70 is stored already"):
        its.hand_over(on_rewind="fail")
    its.hand_over(on_rewind="rewind")
    assert its.store.offsets == {FIRST: 60}


def test_progress_counts_again_once_a_hand_over_was_repeated_that_was_killed_after_its_write(run, monkeypatch):
    its = run({}, {FIRST: 40})
    its.hands_over(50)
    with monkeypatch.context() as patch, pytest.raises(BrokerError):
        patch.setattr(handover, "check_read_back", its.store.die)
        its.hands_over(60)
    assert its.hand_over().written == 0
    its.stores(90)  # the connector goes on
    assert its.hand_over(on_rewind="fail").after == {FIRST: 90}


def test_who_stands_ahead_for_another_reason_is_refused_kept_or_rewound(run):
    its = run({FIRST: 50, SECOND: 60}, {FIRST: 80, SECOND: 61})
    with pytest.raises(Refused, match=r"orders-0: 80 is stored already, .* up to 50 \(2 partitions differ\)"):
        its.hand_over()
    assert its.hand_over(on_rewind="keep").written == 0
    assert its.hand_over(on_rewind="rewind").written == 2
    assert its.store.offsets == {FIRST: 50, SECOND: 60}


@pytest.mark.parametrize("since", [None, 20])
def test_who_was_set_back_since_is_set_forward_again_only_if_asked_for(run, since):
    its = run({FIRST: 50})
    its.hand_over()
    its.store.offsets = back = {} if since is None else {FIRST: since}
    said = (
        f"orders-0: {since or 'nothing'} is stored instead of what.*set back to copy again.*Replicator's position again"
    )
    with pytest.raises(Refused, match=said):
        its.hand_over()
    kept = its.hand_over(on_rewind="keep")
    assert (kept.written, kept.after, its.store.offsets) == (0, {FIRST: since}, back)
    if since is not None:
        with pytest.raises(Refused, match="copied since, or set back.* Keep it: MirrorMaker 2 goes on from there"):
            its.take_back()
    assert its.hand_over(on_rewind="rewind").after == its.store.offsets == {FIRST: 50}


def test_what_was_taken_back_is_no_reason_to_stay_ahead(run):
    its = run({})
    its.hands_over(50)
    its.take_back()
    its.stores(80)
    with pytest.raises(Refused, match="80 is stored already"):
        its.hand_over()


def test_a_position_after_the_log_is_refused_and_one_among_records_of_open_transactions_is_not(run):
    """MirrorMaker 2 reads on from any offset up to the high watermark, and Replicator may have copied uncommitted records."""
    its = run({FIRST: END})
    with pytest.raises(Refused, match="position 100 is after the source's last offset 99"):
        its.hand_over()
    assert its.saved == 0
    done = run({FIRST: LOG_START - 1, SECOND: END - 1}).hand_over()
    assert done.written == 2 and [note.kind for note in done.notes] == []


def test_a_copy_that_has_never_held_a_record_is_refused_if_the_source_still_has_what_was_copied(run, monkeypatch):
    """The topics are there, since a promotion has made them, and the destination is not Replicator's."""
    its = run({FIRST: 50, SECOND: LOG_START - 1})
    held = {"source": handover.positions.Bounds(LOG_START, END, END), "destination": handover.positions.Bounds(0, 0, 0)}
    monkeypatch.setattr(handover.positions, "partition_bounds", lambda at, places: dict.fromkeys(places, held[at.name]))
    with pytest.raises(Refused, match="1 position cannot be continued: orders-0 has never held a record, .* up to 50"):
        its.hand_over()
    held["destination"] = handover.positions.Bounds(60, 60, 60)  # all has expired
    assert its.hand_over().written == 2


@pytest.fixture
def copying(run, monkeypatch) -> t.Callable[..., Run]:
    """``copying(grown)``: while the hand-over waits, so many records come to each copy of a topic."""

    def make(grown: int, position: int = 50) -> Run:
        its, ends = run({FIRST: position}), {"source": END, "destination": 70}
        monkeypatch.setattr(
            handover.positions,
            "partition_bounds",
            lambda at, places: dict.fromkeys(places, handover.positions.Bounds(0, ends[at.name], ends[at.name])),
        )
        waited = mock.Mock(side_effect=lambda _seconds: ends.update(destination=70 + grown))
        monkeypatch.setattr(handover.time, "sleep", waited)
        return its

    return make


@pytest.mark.parametrize(("check", "of_group"), [(False, {}), (True, {}), (False, {FIRST: 50})])
def test_a_replicator_whose_positions_move_is_refused_before_anything_is_written(copying, monkeypatch, check, of_group):
    """Its consumers are no members of its group, which may commit later; what it went on to copy was copied twice."""
    its = copying(0)
    monkeypatch.setattr(handover.time, "sleep", lambda _seconds: its.replicator.update({FIRST: 53}))
    its.of_group = of_group
    with pytest.raises(GroupBusy, match="the positions of replicator move: orders-0 from 50 to 53: .* Stop it"):
        its.hand_over(check=check)
    assert (its.saved, its.store.offsets) == (0, {})


def test_a_connector_that_starts_between_two_looks_is_refused(copying, monkeypatch):
    its = copying(0)

    def start(_seconds):
        its.store.check = mock.Mock(side_effect=GroupBusy("it has members"))

    monkeypatch.setattr(handover.time, "sleep", start)
    with pytest.raises(GroupBusy, match="it has members"):
        its.hand_over()
    assert its.saved == 0


def test_records_that_come_to_topics_of_the_tools_own_show_that_it_runs(copying):
    with pytest.raises(GroupBusy, match=r"records still come to the copies .*: src\.orders \(3 records\)"):
        copying(3).hand_over(policy="default")
    assert copying(0).hand_over(policy="default").written == 1


def test_records_that_may_be_of_producers_are_noted(copying):
    (note,) = (note for note in copying(3).hand_over().notes if note.kind is NoteKind.CONNECTOR_MAY_RUN)
    assert note.text.startswith("Records still come to orders (3 records) at the destination. Unless your producers")


@pytest.mark.parametrize("policy", ["identity", "default"])
def test_nobody_has_copied_what_comes_where_the_source_has_nothing_more(copying, policy):
    its = copying(3, position=END - 1)
    assert {note.kind for note in its.hand_over(policy=policy).notes} <= {NoteKind.POSITION_MISSING}
    assert its.hand_over(policy=policy).written == 0


def test_a_position_before_the_log_is_handed_over_and_what_has_expired_is_named(run):
    """Nobody can copy it any more, and MirrorMaker 2 goes on at the start of the log: there is nothing else to do."""
    its = run({FIRST: 4, SECOND: LOG_START - 2, OTHER: 50, OTHER._replace(partition=1): 50})
    done = its.hand_over()
    assert its.store.offsets[FIRST] == 4 and its.store.offsets[SECOND] == LOG_START - 2
    (note,) = done.notes
    assert note.kind is NoteKind.RECORDS_EXPIRED
    assert "expired at the source: orders-0 from 5 to 9, orders-1 from 9 to 9. MirrorMaker 2 goes on" in note.text
    assert its.hand_over().notes == ()  # nothing is named again of what is stored already


def test_everything_that_cannot_be_continued_is_named(run):
    with pytest.raises(Refused, match="2 positions cannot be continued: orders-1: .*; parcels-0: "):
        run({SECOND: END, OTHER: END, FIRST: 20}).hand_over()


@pytest.fixture
def without_parcels(run, monkeypatch) -> Run:
    """The source has two partitions of orders, and no parcels, of which the group has committed nothing either."""
    its = run({FIRST: 50, SECOND: 60, TopicPartition("orders", 7): 9, OTHER: 5})
    its.of_group = {FIRST: 50, SECOND: 60}
    monkeypatch.setattr(
        handover.topics,
        "partition_counts",
        lambda cluster, names: {name: 2 for name in names if cluster is not SOURCE or name != "parcels"},
    )
    return its


def test_positions_of_what_was_deleted_long_ago_are_left_out_and_compared_with_nothing(without_parcels):
    """Keys stay in a compacted topic for ever, and one such refused the whole hand-over."""
    done = without_parcels.hand_over()
    assert set(done.after) == without_parcels.store.offsets.keys() == {FIRST, SECOND}
    told = "Left out, because the source does not have them any more: 2 positions, of orders-7, parcels-0."
    assert done.notes == (Note(NoteKind.EXCLUDED, told),)
    without_parcels.replicator, without_parcels.of_group = {OTHER: 5, TopicPartition("orders", 7): 9}, {}
    with pytest.raises(InvalidInput, match="nothing is left to hand over: Left out, because the source does not have"):
        without_parcels.hand_over()


def test_a_deleted_topic_that_the_user_names_is_refused(without_parcels):
    with pytest.raises(Refused, match="1 position cannot be continued: parcels-0 does not exist at the source"):
        without_parcels.hand_over(selection=Selection(topics=("orders", "parcels")))


def test_what_mirror_maker_2_never_copies_is_left_out_and_what_its_version_decides_is_told(run):
    """Their positions were handed over, and they never got another record, without a word."""
    never = ("__audit", ".hidden", "mm2-offset-syncs.b.internal", "x.checkpoints.internal")
    its = run(
        {FIRST: 50, SECOND: 50}
        | {TopicPartition(topic, at): 50 for topic in (*never, "bill-internal") for at in (0, 1)}
    )
    done = its.hand_over()
    assert {partition.topic for partition in done.after} == {"orders", "bill-internal"}
    assert [note.kind for note in done.notes] == [NoteKind.EXCLUDED, NoteKind.NOT_TOLD]
    assert "MirrorMaker 2 never copies topics of these names: 8 positions, of .hidden-0 to 1" in done.notes[0].text
    assert done.notes[1].text.endswith("see that yours copies bill-internal-0 to 1.")


MISPLACED = ((TopicPartition("mm2-offsets.src.internal", 3), b"key"),)


def test_keys_that_mislead_are_refused_or_removed(run):
    its = run({FIRST: 50}, {FIRST: 50}, MISPLACED)
    with pytest.raises(Refused, match="Connect cannot use 1 key of the connector"):
        its.hand_over()
    predicted = its.hand_over(check=True, on_misplaced=OnMisplaced.REMOVE)
    assert predicted.misplaced == its.store.misplaced == MISPLACED
    assert its.hand_over(on_misplaced=OnMisplaced.REMOVE) == predicted
    assert its.store.misplaced == ()


def test_a_rollback_refuses_keys_that_mislead_before_it_writes_or_removes_them(run):
    its = run({FIRST: 50}, {FIRST: 40})
    its.hand_over()
    its.store.misplaced, saved = MISPLACED, its.saved
    for check in (True, False):
        with pytest.raises(Refused, match="Connect cannot use 1 key of the connector"):
            its.take_back(check=check)
    assert (its.store.offsets, its.saved) == ({FIRST: 50}, saved)
    predicted = its.take_back(check=True, on_misplaced=OnMisplaced.REMOVE)
    assert its.take_back(on_misplaced=OnMisplaced.REMOVE) == predicted and predicted.misplaced == MISPLACED
    assert (its.store.offsets, its.store.misplaced) == ({FIRST: 40}, ())
    its.store.misplaced = MISPLACED  # nothing is written any more
    assert its.take_back().misplaced == ()


@pytest.mark.parametrize("check", [False, True])
def test_keys_that_cannot_be_removed_are_told_before_anything_is_written(run, check):
    """The receipt said that positions were written, and the records were written again, before the ACL was missing."""
    its = run({FIRST: 50}, {FIRST: 40})
    its.hand_over()
    receipt, saved = its.receipt, its.saved
    its.replicator[FIRST] = 60
    its.store.misplaced, its.store.may_not_remove = MISPLACED, True
    for attempt in (its.hand_over, its.take_back):
        with pytest.raises(NotAuthorized, match="needs ACL TOPIC DELETE"):
            attempt(check=check, on_misplaced=OnMisplaced.REMOVE)
    assert (its.store.offsets, its.receipt, its.saved) == ({FIRST: 50}, receipt, saved)


def test_only_selected_topics_are_handed_over(run):
    its = run({FIRST: 50, OTHER: 50, PINGS: 50})
    done = its.hand_over(selection=Selection(topics=("orders",)))
    assert set(done.after) == {FIRST}
    done = its.hand_over()
    assert set(done.after) == {FIRST, OTHER}
    said = "Left out by exclude_topic_patterns: heartbeats (called like MirrorMaker 2's). To take them, name them in topics."
    assert done.notes[0] == Note(NoteKind.EXCLUDED, said)


@pytest.mark.parametrize("own", [None, ("parcels",)])
def test_topics_that_replicator_has_copied_are_handed_over_although_they_are_called_like_mirror_makers(run, own):
    """Nothing said that MirrorMaker 2 copies them again from their start."""
    called = {TopicPartition("iot-heartbeats", 0): 50, TopicPartition("mm2-orders", 0): 50}
    its = run({FIRST: 50, **called, OTHER: 50})
    done = its.hand_over(policy="default", selection=Selection(exclude_topic_patterns=own))
    assert set(done.after) == {FIRST, *called} | ({OTHER} if own is None else set())
    assert its.take_back(selection=Selection(exclude_topic_patterns=("orders",))).after.keys() >= called.keys()


def test_a_hand_over_of_nothing_is_refused(run):
    """It succeeded with 0 positions, and MirrorMaker 2 copied everything again."""
    its = run({FIRST: 50})
    why = r"destination d:1: no topic among those of which a position is known is matched by topic_patterns \['order'\]"
    for check in (True, False):
        with pytest.raises(InvalidInput, match=why):
            its.hand_over(check=check, selection=Selection(topic_patterns=("order",)))
    assert its.saved == 0


def test_a_receipt_of_another_store_is_refused(run, monkeypatch):
    monkeypatch.setattr(handover.topics, "cluster_id", lambda _cluster: "D")
    known_by_id(monkeypatch, lambda _cluster: "D")
    store = Stored({})
    blank = handover.receipt_of(store, DESTINATION, None)
    assert handover.receipt_of(store, DESTINATION, blank) == blank
    with pytest.raises(
        Refused, match="the receipt is of MirrorSourceConnector.* Correct replication_policy, connector,"
    ):
        handover.receipt_of(store, DESTINATION, dataclasses.replace(blank, source_alias="primary"))


def test_partitions_without_a_position_are_named_if_they_are_copied_again(run, monkeypatch):
    """The connector goes on where it is, as in a repeated run, and there is nothing to copy of a partition without records."""
    its = run({FIRST: 50, OTHER: 50, TopicPartition("parcels", 1): 50})
    (note,) = its.hand_over().notes
    assert note.kind is NoteKind.POSITION_MISSING and note.text.startswith("No position is known of orders-1: ")
    its.store.offsets[SECOND] = 70  # MirrorMaker 2 has copied it since
    assert its.hand_over().notes == ()
    del its.store.offsets[SECOND]
    logs = {SECOND: handover.positions.Bounds(END, END, END)}
    held = handover.positions.Bounds(LOG_START, END, END)
    monkeypatch.setattr(
        handover.positions, "partition_bounds", lambda _cluster, places: {each: logs.get(each, held) for each in places}
    )
    assert its.hand_over().notes == ()
