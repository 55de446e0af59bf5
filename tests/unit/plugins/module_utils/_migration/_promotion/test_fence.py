"""A fence looks whether its topics are quiet: no records come any more, and no transaction can be committed any more."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._control.positions import Bounds
from ansible_collections.streamshift.kafka.plugins.module_utils._control.producers import Writer
from ansible_collections.streamshift.kafka.plugins.module_utils._migration._promotion import fence
from ansible_collections.streamshift.kafka.plugins.module_utils._model.acls import Acl
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connection import connection_from
from ansible_collections.streamshift.kafka.plugins.module_utils._model.errors import Refused
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import NoteKind
from ansible_collections.streamshift.kafka.plugins.module_utils._model.policies import OnLockout, OnStillWritten
from ansible_collections.streamshift.kafka.plugins.module_utils._model.records import TopicPartition
from ansible_collections.streamshift.kafka.plugins.module_utils._model.selection import Selection
from ansible_collections.streamshift.kafka.plugins.module_utils._model.topic_receipt import PromotionReceipt

OLD = connection_from({"bootstrap_servers": ["127.0.0.1:1"]}, "old")
ORDERS = TopicPartition("orders", 0)
QUIET, OPEN = Bounds(0, 10_000, 10_000), Bounds(0, 500, 10_000)


@pytest.fixture
def look(monkeypatch):
    """``look(*readings)``: what is seen of these bounds, one after the other; all of them are asked for."""

    def seen(*readings):
        left = list(readings)
        monkeypatch.setattr(fence.topics, "partition_counts", lambda _cluster, names: dict.fromkeys(names, 1))
        monkeypatch.setattr(fence.positions, "partition_bounds", lambda _cluster, _all: {ORDERS: left.pop(0)})
        monkeypatch.setattr(
            fence.producers,
            "last_writers",
            lambda _cluster, partitions, in_transaction=False: (
                {ORDERS: (Writer(7, 1_764_072_000_000, "flink-1"),)} if partitions else {}
            ),
        )
        passing = fence.look_beyond(OLD, ["orders"], 0.0)
        assert not left
        return passing

    return seen


@pytest.mark.parametrize(
    ("others", "stands", "notes"),
    [
        pytest.param(["mm2-offset-syncs.cloud.internal"], False, [NoteKind.ACL_LOCKOUT], id="MirrorMaker 2 reads"),
        pytest.param(["mm2-offset-syncs.cloud.internal"], True, [], id="nothing is added"),
        pytest.param(["mm2-offsets.cloud.internal", "heartbeats"], False, [], id="MirrorMaker 2 writes"),
        pytest.param([], False, [], id="no MirrorMaker 2"),
    ],
)
def test_a_fence_says_that_mirror_maker_2_may_copy_it(monkeypatch, others, stands, notes):
    denied = Acl("TOPIC", "orders", "LITERAL", "User:*", "*", "WRITE", "DENY")
    monkeypatch.setattr(fence.topics, "list_topics", lambda _cluster: ["orders", *others])
    monkeypatch.setattr(fence.topics, "cluster_id", lambda _cluster: "O")
    monkeypatch.setattr(fence, "list_acls", lambda _cluster: frozenset({denied} if stands else ()))
    monkeypatch.setattr(fence.survey, "may_be_open", lambda _cluster, _acls: False)
    monkeypatch.setattr(fence.trial, "check", lambda *_plan: None)
    receipt = PromotionReceipt("O", acls={denied: False})
    options = fence.FenceOptions(("User:*",), (), OnLockout.FAIL)
    its = OLD, Selection(topics=("orders",)), options, receipt
    _plan, _names, told = fence.plan_fence(*its, is_made=False)
    assert [note.kind for note in told] == notes
    assert all("before the fence is made" in note.text for note in told)
    _plan, _names, told = fence.plan_fence(*its, is_made=True)  # after which nobody can do anything before
    assert [note.kind for note in told] == [NoteKind.NOT_TOLD] * len(notes)
    assert all("Unless it is false, set it to false now. Look for these" in note.text for note in told)
    assert all("moved and MirrorMaker 2 itself." in note.text for note in told)
    named = fence.FenceOptions(("User:billing",), ("User:audit",), OnLockout.FAIL)
    for note in fence.plan_fence(OLD, Selection(topics=("orders",)), named, receipt, is_made=True)[2]:
        assert "sync.topic.acls.enabled" in note.text and "keep out the clients that have moved. Unless" in note.text


def test_a_transaction_that_stays_open_is_not_quiet(look):
    passing = look(OPEN, OPEN, OPEN, OPEN)
    with pytest.raises(Refused) as refused:
        fence.told(OLD, passing, OnStillWritten.FAIL)
    said = str(refused.value)
    assert (refused.value.kind, refused.value.topic) == ("still_written", "orders")
    assert "orders partition 0 from offset 500 on by flink-1" in said
    assert "abort --topic orders --partition 0 --start-offset 500" in said and "Wait until" in said
    (note,) = fence.told(OLD, passing, OnStillWritten.NOTE)
    assert "orders partition 0 from offset 500 on by flink-1" in note.text


def test_a_transaction_that_ends_meanwhile_is_none(look):
    ended = Bounds(0, 10_001, 10_001)
    assert look(OPEN, OPEN, ended, ended) == ([], [])


@pytest.mark.parametrize(
    "readings",
    [
        pytest.param((QUIET, QUIET), id="nothing is written"),
        pytest.param((OPEN, Bounds(0, 10_001, 10_001), Bounds(0, 10_001, 10_001)), id="ended at the first look"),
    ],
)
def test_quiet_topics_are_told_nothing_of(look, readings):
    assert fence.told(OLD, look(*readings), OnStillWritten.FAIL) == []


def test_a_topic_that_grows_has_no_open_transaction_because_its_ends_are_read_one_after_the_other(look):
    readings = [Bounds(0, 100 * look_number + 90, 100 * look_number + 95) for look_number in range(4)]
    passing = look(*readings)
    assert [each.records for each in passing.grown] == [100] and not passing.undecided
    with pytest.raises(Refused, match="producers still write despite the fence"):
        fence.told(OLD, passing, OnStillWritten.FAIL)


@pytest.mark.parametrize(
    ("selection", "lifted"),
    [
        (Selection(), ["heartbeats", "orders", "pay"]),
        (Selection(exclude_topic_patterns=("pay.*",)), ["heartbeats", "orders"]),
        (Selection(topic_patterns=(".*",), exclude_topic_patterns=("pay.*",)), ["orders"]),
        (Selection(topics=("heartbeats",)), ["heartbeats"]),
    ],
)
def test_a_fence_is_lifted_from_what_is_selected(monkeypatch, selection, lifted):
    monkeypatch.setattr(fence, "list_acls", lambda _cluster: frozenset())
    acls = [Acl("TOPIC", name, "LITERAL", "User:*", "*", "WRITE", "DENY") for name in ("orders", "pay", "heartbeats")]
    stays, notes = fence.not_lifted(OLD, selection, PromotionReceipt("O", acls=dict.fromkeys(acls, False)))
    assert sorted({acl.name for acl in acls} - {acl.name for acl in stays}) == lifted
    assert [note.kind for note in notes] == [NoteKind.ACL_CHANGED] * bool(stays)
