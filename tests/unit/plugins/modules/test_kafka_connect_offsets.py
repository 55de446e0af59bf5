"""kafka_connect_offsets picks the store that the options name, hands over, and saves the receipt that comes back."""

import pytest

from ansible_collections.streamshift.kafka.plugins.module_utils._migration._connect.handover import HandoverOutcome
from ansible_collections.streamshift.kafka.plugins.module_utils._model import connect_receipt
from ansible_collections.streamshift.kafka.plugins.module_utils._model.connect_receipt import ConnectReceipt
from ansible_collections.streamshift.kafka.plugins.module_utils._model.notes import Note, NoteKind
from ansible_collections.streamshift.kafka.plugins.modules import kafka_connect_offsets
from tests.support.module_inputs import DESTINATION, ORDERS, SOURCE, warned

RECEIPT = ConnectReceipt("D", "connect-offsets", "MirrorSourceConnector", "src")
OUTCOME = HandoverOutcome(
    {ORDERS: None}, {ORDERS: 9}, 1, ((ORDERS, b"misplaced"),), (Note(NoteKind.KEYS_UNKNOWN, "look"),)
)


@pytest.fixture
def hand_over(run_module, monkeypatch, tmp_path):
    """``hand_over(**options)`` hands a partition over; hand_over.asked is the store, and what the use case was given."""

    def run(check=False, diff=False, **options):
        def done(*given):
            run.asked = given
            if given[-1] is not None:
                given[-1](RECEIPT)
            return OUTCOME

        use_case = kafka_connect_offsets.use_case
        monkeypatch.setattr(use_case, "hand_over", done)
        monkeypatch.setattr(use_case, "take_back", done)
        monkeypatch.setattr(use_case, "receipt_of", lambda store, _destination, found: found or RECEIPT)
        given = {
            "source": SOURCE,
            "destination": DESTINATION,
            "topics": ["orders"],
            "replication_policy": {"source_alias": "src"},
            "receipt": str(tmp_path / "r.json"),
            **options,
        }
        return run_module(kafka_connect_offsets, check=check, diff=diff, **given)

    return run


def test_what_was_handed_over_is_told(hand_over, tmp_path):
    result = hand_over(diff=True)
    assert result["changed"] and (result["written"], result["misplaced"]) == (1, 1)
    assert result["entries"] == [{"topic": "orders", "partition": 0, "before": None, "after": 9}]
    assert "orders-0: none" in result["diff"]["before"] and "orders-0: 9" in result["diff"]["after"]
    assert "look" in warned(result) and result["note_kinds"] == ["keys_unknown"]
    assert (tmp_path / "r.json").exists()


def test_check_mode_says_the_same_and_saves_nothing(hand_over, tmp_path):
    predicted = hand_over(check=True, diff=True)
    assert not (tmp_path / "r.json").exists() and hand_over.asked[-1] is None
    assert {**predicted, "invocation": None} == {**hand_over(diff=True), "invocation": None}


def test_the_method_chooses_the_store(hand_over, monkeypatch):
    hand_over()
    assert type(hand_over.asked[1]).__name__ == "TopicStore"
    for topic in ("mm2-offsets.src.internal", "mm2-offsets-src-internal"):
        hand_over(offsets_topic=topic)
        assert hand_over.asked[1].worker_group == "src-mm2"
    hand_over(offsets_topic="connect-offsets", worker_group="connect-cluster")
    assert hand_over.asked[1].worker_group == "connect-cluster"
    hand_over(method="rest", rest={"url": "http://127.0.0.1:1"})
    assert type(hand_over.asked[1]).__name__ == "RestStore"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"method": "rest", "rest": {"url": "http://127.0.0.1:1"}, "worker_group": "w"}, "are for method topic"),
        ({"method": "rest"}, "method is rest, and rest is missing. Give it the url of a worker"),
        ({"connector": "mirror"}, "connector is mirror, and nothing says where its workers store offsets"),
        (
            {"connector": "mirror", "offsets_topic": "mm2-offsets.src.internal"},
            "Set offsets_topic and worker_group, or method to rest",
        ),
        ({"offsets_topic": "connect-offsets"}, "Set worker_group to the group.id of these workers"),
        (
            {"replicator": {"topic_rename_format": "${topic}.copy"}},
            "Correct replication_policy, or set topic_rename_format of replicator to",
        ),
        (
            {"replication_policy": {"source_alias": "src", "name": "default"}},
            "Set topic_rename_format of replicator to Replicator's own topic.rename.format, or correct replication_policy",
        ),
        ({"state": "rolled_back"}, "r.json"),
    ],
)
def test_what_cannot_be_meant_is_refused(hand_over, options, said):
    result = hand_over(**options)
    assert result["failed"] and said in result["msg"] and not hasattr(hand_over, "asked")


def test_a_rollback_is_given_the_receipt(hand_over, tmp_path):
    (tmp_path / "r.json").write_text(connect_receipt.to_json(RECEIPT))
    assert hand_over(state="rolled_back")["changed"]
    assert hand_over.asked[1] == RECEIPT and hand_over.asked[2].topics == ("orders",)
